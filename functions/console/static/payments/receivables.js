/** Receivables: what agencies owe, what of it is overdue, and what they paid; by currency, age and agency. */
import { html, useState } from "../vendor/htm-preact.js";
import { useNames } from "../lib/agencies.js";
import { laterDay, today } from "../lib/calendar.js";
import { Filters } from "../lib/filters.js";
import * as format from "../lib/format.js";
import { AgencyName, accountStatementAddress, agencyColumn } from "../lib/links.js";
import { List } from "../lib/list.js";
import { may } from "../lib/me.js";
import { byCurrency, lateAgencies, rowOf } from "../lib/open-items.js";
import { Amount, Link, Money, Pending, Table, useLoaded } from "../lib/parts.js";
import { receivables } from "../lib/receivables.js";
import { address } from "../lib/routes.js";
import { Remind, REMINDERS } from "./remind.js";

const AGE_TEXTS = {
  not_due: "Not due", days_1_30: "1–30 days overdue", days_31_60: "31–60 days", days_61_90: "61–90 days",
  days_over_90: "More than 90 days",
};

/** The page. */
export function Receivables({ query }) {
  const { currency, on } = query;
  const { value, problem, again } = useLoaded(() => receivables(undefined, on), on ?? "");
  const [chosen, setChosen] = useState([]);
  const [asked, setAsked] = useState(null);
  const [reminded, setReminded] = useState([]);
  const day = html`
    <${Filters} parts=${["receivables"]} query=${query} label="Day" read=${(fields) => ({ ...fields, currency })}>
      <label>At the end of a day that is over
        <input type="date" name="on" defaultValue=${on} max=${laterDay(today(), -1)} />
      </label>
    <//>`;
  if (!value) return html`${day}<${Pending} problem=${problem} retry=${again} />`;
  const all = byCurrency(value.items.map(rowOf), value.totals);
  const shown = all.filter((one) => !currency || one.currency === currency);
  const choose = (keys, isChosen) => {
    const others = chosen.filter((one) => !keys.includes(one));
    setChosen(isChosen ? [...others, ...keys] : others);
  };
  const rows = shown.flatMap((one) => one.rows).filter(({ key }) => chosen.includes(key));
  const done = (agencies) => {
    setReminded([...reminded, ...agencies]);
    setChosen([]);
  };
  return html`
    ${day}
    ${on && html`<p class="note">What was open at the end of ${format.day(on)}: by the documents that were issued and
      the payments that were recorded until then. It is the same for ever.
      ${" "}<${Link} to=${address(["receivables"], { currency })}>What is open now<//></p>`}
    ${all.length > 1 && html`
      <nav class="switch" aria-label="Currency">
        ${["", ...all.map((one) => one.currency)].map((one) => html`
          <${Link} key=${one} to=${address(["receivables"], { currency: one, on })}
            aria-current=${one === (currency ?? "") ? "true" : undefined}>${one || "All"}<//>`)}
      </nav>`}
    ${!all.length && html`<p class="empty">Nothing is open: no statement, and no payment.</p>`}
    ${reminded.length > 0 && html`
      <p class="proven" role="status">
        Reminded: ${reminded.map((one, index) => html`${index > 0 && ", "}<${AgencyName} key=${one} agency=${one} />`)}.
        The messages are on the pages of the agencies.
      </p>`}
    ${shown.map((one) => html`
      <${Currency} key=${one.currency} ...${one} ...${{ chosen, choose, setAsked, on }} />`)}
    <p>
      <${Link} to=${address(["payouts"])}>Payouts<//>: what the marketplace owes to agencies whose sales it collects.
    </p>
    ${rows.length > 0 && html`
      <section class="selection" aria-label="Selection">
        <p>${format.count(rows.length)} chosen</p>
        <p class="bar">
          <button type="button" class="first" onClick=${() => setAsked(lateAgencies(rows))}>Remind them</button>
          <button type="button" onClick=${() => setChosen([])}>Choose none</button>
        </p>
      </section>`}
    ${asked && html`<${Remind} agencies=${asked} onSent=${done} onClose=${() => setAsked(null)} />`}`;
}

const many = (number, one, more) => `${format.count(number)} ${number === 1 ? one : more}`;

function Currency({ currency, rows, chosen, choose, setAsked, on, ...sums }) {
  const { open, overdue, credits, unallocated, paid, ages, late, oldestDue } = sums;
  const owing = rows.filter((one) => Number(one.open) > 0).length;
  const sumOf = (value) => html`<${Amount} value=${value} currency=${currency} />`;
  return html`
    <section aria-labelledby=${`in-${currency}`}>
      <h2 id=${`in-${currency}`}>${currency}</h2>
      <div class="cards">
        <section class="card total">
          <h3>Owed</h3>
          <p class="figure">${sumOf(open)}</p>
          <p class="note">
            by ${many(owing, "agency", "agencies")}.
            ${Number(credits) < 0 && html` Open credits of agencies: ${sumOf(credits)}.`}
            ${Number(unallocated) !== 0 && html` Payments that clear nothing: ${sumOf(unallocated)}.`}
          </p>
        </section>
        <section class="card total">
          <h3>Overdue</h3>
          <p class=${`figure ${late.length ? "down" : ""}`}>${sumOf(overdue)}</p>
          <p class="note">
            ${late.length
              ? `${many(late.length, "statement", "statements")}, the oldest due on ${format.day(oldestDue)}`
              : "nothing"}
          </p>
        </section>
        <section class="card total">
          <h3>${on ? `Paid from ${on.slice(0, 7)}-01 to ${on}` : "Paid this month"}</h3>
          <p class="figure">${sumOf(paid)}</p>
          <p class="note">payments less payouts, of all agencies</p>
        </section>
      </div>
      ${rows.length > 0 && html`
        <${Aging} ages=${ages} currency=${currency} />
        <${Accounts} ...${{ currency, rows, chosen, choose, setAsked, on }} />`}
    </section>`;
}

/** What is owed by how long it has been due, as bars and figures. */
function Aging({ ages, currency }) {
  const most = Math.max(...ages.map(([, value]) => Number(value)), 0) || 1;
  return html`
    <${Table} caption=${`What is owed in ${currency}, by age`}
      head=${[["Age"], ["", "wide"], ["Statements", "n"], ["Amount", "n"]]}>
      ${ages.map(([age, value, statements]) => html`
        <tr key=${age}>
          <th scope="row" class="short">${AGE_TEXTS[age]}</th>
          <td class="age wide">
            <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
              <rect class=${age === "not_due" ? "" : "late"} width=${(100 * Number(value)) / most} height="10" />
            </svg>
          </td>
          <td class="n">${format.count(statements)}</td>
          <${Money} value=${value} currency=${currency} />
        </tr>`)}
    <//>`;
}

/** The accounts of a currency with open items. Those with overdue statements can be chosen and reminded. */
function Accounts({ currency, rows, chosen, choose, setAsked, on }) {
  const names = useNames();
  const reminds = !on && may(...REMINDERS);
  const late = rows.filter((one) => one.late.length);
  const columns = [
    ...(reminds ? [{ key: "pick", title: "", value: null, kind: "pick", cell: pick(chosen, choose) }] : []),
    agencyColumn(names, {
      head: true,
      cell: ({ agency }) => html`
        <${Link} to=${accountStatementAddress(agency, { currency })}><${AgencyName} agency=${agency} /><//>`,
    }),
    ...["Open", "Overdue", "Credits"].map((title) => ({ key: title.toLowerCase(), title, type: "money" })),
    { key: "unallocated", title: "Unallocated", type: "money", hidden: true },
    { key: "balance", title: "Balance", type: "money", hidden: true },
    ...Object.entries(AGE_TEXTS).map(([key, title]) =>
      ({ key, title, type: "money", value: ({ aging }) => aging[key], hidden: true })),
    { key: "oldestDue", title: "Oldest due", type: "day" },
    { key: "lastMonth", title: "Last paid in", type: "month" },
    { key: "lastPaid", title: "Last paid", type: "money" },
    ...(reminds ? [{ key: "remind", title: "", value: null, cell: remind(setAsked) }] : []),
  ];
  return html`
    <${List} name=${`receivables-${currency}`} caption=${`Agencies with open items in ${currency}, most overdue first`}
      columns=${columns} rows=${rows} size="25" />
    ${reminds && late.length > 1 && html`
      <p class="bar">
        <button type="button" disabled=${late.every((one) => chosen.includes(one.key))}
          onClick=${() => choose(late.map((one) => one.key), true)}>
          Choose all with overdue statements
        </button>
      </p>`}
    ${!reminds && !on && late.length > 0 && html`<p class="note">People of finance and support send reminders.</p>`}`;
}

const pick = (chosen, choose) => ({ key, agency, late }) => late.length > 0 && html`
  <input type="checkbox" aria-label=${`Choose ${agency}`} checked=${chosen.includes(key)}
    onChange=${(event) => choose([key], event.target.checked)} />`;

const remind = (setAsked) => (one) => one.late.length > 0 && html`
  <button type="button" aria-label=${`Remind ${one.agency}`} onClick=${() => setAsked(lateAgencies([one]))}>
    Remind
  </button>`;
