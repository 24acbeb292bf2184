/**
 * An agency, in tabs: its figures now and by period, day and quarter-hour, its statements, rate cards, messages and
 * registration.
 */
import { html } from "../vendor/htm-preact.js";
import { accountPath, get, withQuery } from "../api.js";
import {
  dayOf, days, isDay, isMonth, laterDay, laterMonth, monthOf, months, quarterHourEnd, quarterHours,
} from "../calendar.js";
import { BarChart } from "../chart.js";
import * as format from "../format.js";
import { Link, Money, More, Name, NoEvents, Pending, SaveButton, Table, Time, useLoaded, usePages } from "../parts.js";
import { useOpenStatements } from "../receivables.js";
import { address } from "../routes.js";
import { agencyAddress } from "./agency-link.js";
import { LiveChanges } from "./live-changes.js";
import { Messages } from "./messages.js";
import { RateCards } from "./rate-cards.js";
import { Recording } from "./recording.js";
import { Registration, registrationOf } from "./registration.js";
import { StatementTable, statementAddress } from "./statements.js";

const FIGURES = ["gross", "refunds", "net", "commission", "payments"];
const HEAD = [
  ["Events", "n"], ["Sales", "n"], ["Refunds", "n"], ["Net sales", "n"], ["Commission", "n"], ["Payments", "n"],
];
const TABS = { "": "Figures", statements: "Statements", rates: "Rate cards" };
const PERIODS_SHOWN = 24;
const TRIES = 10;
const PAUSE = 1000;

/** The page. */
export function Agency({ agency, query }) {
  const { value, problem, again } = useLoaded(() => known(agency), agency);
  if (!value) return html`<${Pending} problem=${problem} retry=${again} />`;
  const [accounts, registration] = value;
  const account = accounts.find((one) => one.currency === query.currency) || accounts[0];
  const { currency = account?.currency } = registration?.content || {};
  const follow = ({ receipt }) => receipt && followed(agency, accounts).then(again, again);
  const isKnown = account || registration;
  const tabs = { ...TABS, ...(isKnown && { messages: "Messages" }), ...(registration && { registration: "Registration" }) };
  const tab = query.tab in tabs ? query.tab : "";
  return html`
    ${!registration && html`<${Registration} ...${{ agency, registration, again }} />`}
    <${Recording} agency=${agency} currencies=${accounts.map((one) => one.currency)}
      currency=${account?.currency || currency} onRecorded=${follow} />
    <nav class="tabs" aria-label="Parts of this page">
      ${Object.entries(tabs).map(([name, title]) => html`
        <${Link} key=${name} to=${agencyAddress(agency, { currency: query.currency, tab: name })}
          aria-current=${name === tab ? "page" : undefined}>${title}<//>`)}
    </nav>
    ${tab === "" && html`<${Figures} ...${{ accounts, account, query, again }} />`}
    ${tab === "statements" && html`
      <${Statements} agency=${agency} version=${accounts.map((one) => one.version).join()} />`}
    ${tab === "rates" && html`
      <${RateCards} agency=${agency} group=${registration?.content.group} currency=${currency} />`}
    ${tab === "messages" && html`<${Messages} kind="agencies" subject=${agency} />`}
    ${tab === "registration" && html`<${Registration} ...${{ agency, registration, again }} />`}`;
}

function Figures({ accounts, account, query: { day, month }, again }) {
  if (!account) return html`<${NoEvents}>No event of this agency is recorded yet.<//>`;
  const spans = { day: isDay(day) && day, month: isMonth(month) && month };
  return html`
    <${Account} ...${{ accounts, account, spans, again }} key=${`${account.currency} ${account.version}`} />`;
}

/** Returns the accounts of an agency, and its registration if there is one. */
async function known(agency) {
  const { items } = await get(withQuery("/accounts", { agency }));
  if (items.some((one) => one.registered === false)) return [items, null];
  return [items, await registrationOf(agency)];
}

/** Waits until the figures of an agency show a new event: they follow within seconds. */
async function followed(agency, before) {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const { items } = await get(withQuery("/accounts", { agency }));
    if (JSON.stringify(items) !== JSON.stringify(before)) return;
    await new Promise((resolve) => { setTimeout(resolve, PAUSE); });
  }
}

/** The figures of one currency: now, and by the spans that the address names. */
function Account({ accounts, account, spans, again }) {
  const { agency, currency } = account;
  const load = () => Promise.all([get(accountPath(agency, currency)), get(accountPath(agency, currency, "balance"))]);
  const now = useLoaded(load, "");
  return html`
    ${accounts.length > 1 && html`
      <nav class="switch" aria-label="Currencies">
        ${accounts.map((one) => html`
          <${Link} key=${one.currency} to=${agencyAddress(agency, { currency: one.currency })}
            aria-current=${one === account ? "true" : undefined}>${one.currency}<//>`)}
      </nav>`}
    ${now.value
      ? html`<${Now} account=${now.value[0]} balance=${now.value[1]} again=${again} />`
      : html`<${Pending} problem=${now.problem} retry=${now.again} />`}
    <${LiveChanges} account=${account} />
    <${Spans} account=${account} spans=${spans} />`;
}

function Now({ account, balance, again }) {
  const { currency, last_updated: updated } = account;
  const { statement } = balance;
  return html`
    <div class="cards">
      <section class="card total">
        <h2>Balance in ${currency}</h2>
        <p class="figure">${format.money(balance.balance, currency)}</p>
        <p>${format.owed(balance.balance)}</p>
        <p class="note">
          ${statement && html`
            The last statement,
            ${" "}<${Link} to=${statementAddress({ ...account, period: statement.period })}>${statement.number}<//>,
            closed at ${format.money(statement.closing, currency)}. `}
          Not on a statement yet: commission ${format.money(balance.unbilled.commission, currency)},
          tax ${format.money(balance.unbilled.tax, currency)},${" "}
          ${balance.collects === "marketplace" && html`
            net sales of ${format.money(balance.unbilled.proceeds, currency)} that the marketplace has collected,
            ${" "}`}
          payments ${format.money(balance.unbilled.payments, currency)}.
        </p>
      </section>
      <section class="card total">
        <h2>Commission, lifetime</h2>
        <p class="figure">${format.money(account.commission, currency)}</p>
        <p class="note">on net sales of ${format.money(account.net, currency)}</p>
      </section>
      <section class="card total">
        <h2>Events</h2>
        <p class="figure">${format.count(account.events)}</p>
        <p class="note">
          from ${format.count(account.customers)} ${account.customers === 1 ? "customer" : "customers"}
        </p>
      </section>
    </div>
    <p class="bar"><span class="note">The newest event was recorded <${Time} at=${updated} />.</span>
      <button type="button" onClick=${again}>Update</button></p>`;
}

/** Returns what the address asks for: the quarter-hours of a day, the days of a month, or the periods. */
function spansOf({ day, month }) {
  if (day) return { span: "quarter_hour", part: "quarter-hours", from: day, to: laterDay(day, 1), name: "start" };
  if (month) {
    return { span: "day", part: "days", from: `${month}-01`, to: `${laterMonth(month, 1)}-01`, name: "day" };
  }
  return { span: "period", part: "periods", name: "period" };
}

const LABELS = {
  quarter_hour: ["Quarter-hour", "by quarter-hour"], day: ["Day", "by UTC day"], period: ["Period", "by period"],
};

function Spans({ account, spans }) {
  const { agency, currency, last_updated: updated } = account;
  const chosen = spansOf(spans);
  const { span, part, from, to: end, name } = chosen;
  const path = withQuery(accountPath(agency, currency, part), { from, to: end, limit: 1000 });
  const { value, problem, again } = useLoaded(() => get(path), path);
  const to = (more) => agencyAddress(agency, { currency, ...more });
  const items = value?.items || [];
  const [head, by] = LABELS[span];
  const title = `Commission in ${currency} ${by}`;
  return html`
    <nav class="switch" aria-label="Spans">
      <${Link} to=${to({})} aria-current=${span === "period" ? "true" : undefined}>All periods<//>
      ${span === "period"
        ? html`
          <${Link} to=${to({ month: monthOf(updated) })}>${format.month(monthOf(updated))} by day<//>
          <${Link} to=${to({ day: dayOf(updated) })}>${dayOf(updated)} by quarter-hour<//>`
        : html`<${Nearby} ...${spans} to=${to} />`}
    </nav>
    ${!value && html`<${Pending} problem=${problem} retry=${again} />`}
    ${value && !items.length && html`
      <p class="empty">There are no figures in this span, or they are kept no longer.
        ${" "}<${Link} to=${to({})}>Show all periods<//>.</p>`}
    ${items.length > 0 && html`
      <section class="card">
        <h2>${title}</h2>
        <${BarChart} label=${title} currency=${currency} span=${span} starts=${startsOf(chosen, items)}
          values=${items.map((one) => [one[name], one.commission])} />
      </section>
      <${Table} label=${title} head=${[[head], ...HEAD, ["Details"]]}>
        ${items.toReversed().map((one) => html`
          <tr key=${one[name]}>
            <th scope="row" class="short"><${Start} span=${span} start=${one[name]} to=${to} /></th>
            <td class="n">${format.count(one.events)}</td>
            ${FIGURES.map((figure) => html`<${Money} key=${figure} value=${one[figure]} currency=${currency} />`)}
            <td class="short"><${MadeOf} account=${account} span=${span} start=${one[name]} /></td>
          </tr>`)}
      <//>
      <${SaveButton} name=${part} columns=${[name, "events", ...FIGURES]} items=${items} />`}`;
}

/** Links to the span that holds the one shown, and to those before and after it. */
function Nearby({ day, month, to }) {
  if (day) {
    const [before, after] = [laterDay(day, -1), laterDay(day, 1)];
    return html`
      <${Link} to=${to({ month: monthOf(day) })}>${format.month(monthOf(day))}<//>
      <${Link} to=${to({ day: before })}>${before}<//>
      <${Link} to=${to({ day })} aria-current="true">${day}<//>
      <${Link} to=${to({ day: after })}>${after}<//>`;
  }
  const [before, after] = [laterMonth(month, -1), laterMonth(month, 1)];
  return html`
    <${Link} to=${to({ month: before })}>${format.month(before)}<//>
    <${Link} to=${to({ month })} aria-current="true">${format.month(month)}<//>
    <${Link} to=${to({ month: after })}>${format.month(after)}<//>`;
}

/** The beginning of a span, linked to the spans within it. */
function Start({ span, start, to }) {
  if (span === "quarter_hour") return html`<${Time} at=${start} />`;
  if (span === "day") return html`<${Link} to=${to({ day: start })}>${start}<//>`;
  return html`<${Link} to=${to({ month: start })}>${format.month(start)}<//>`;
}

/** A link to what the figures of a span are made of: the events of a quarter-hour, a period's statement. */
function MadeOf({ account: { agency, currency }, span, start }) {
  if (span === "period") {
    return html`<${Link} to=${statementAddress({ agency, currency, period: start })}>Statement<//>`;
  }
  if (span === "day") return html`<${Link} to=${agencyAddress(agency, { currency, day: start })}>Quarter-hours<//>`;
  return html`<${Link} to=${address(["events"], { agency, from: start, to: quarterHourEnd(start) })}>Events<//>`;
}

/** Returns the beginnings of all spans of a chart, those without figures included. */
function startsOf({ span, from, to }, items) {
  if (span === "quarter_hour") return quarterHours(from, to);
  if (span === "day") return days(from, to);
  const last = laterMonth(items[items.length - 1].period, 1);
  return months(items[Math.max(0, items.length - PERIODS_SHOWN)].period, last);
}

function Statements({ agency, version }) {
  const list = usePages("/statements", { agency, limit: 12 });
  const open = useOpenStatements(agency, version);
  return html`
    ${list.items.length > 0 && html`<${StatementTable} items=${list.items} open=${open} />`}
    ${list.empty && html`
      <p class="empty">
        This agency has no statements yet. The statements of a month are made some days after it ends.
      </p>`}
    <${More} list=${list} />`;
}
