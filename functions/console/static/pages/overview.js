/** The overview: this period and the last by currency and agency, commission by day, and what needs attention. */
import { html, useMemo, useState } from "../vendor/htm-preact.js";
import { get, withQuery } from "../api.js";
import { laterMonth } from "../calendar.js";
import { DailyChart } from "../chart.js";
import { compare, difference, sum } from "../decimal.js";
import * as format from "../format.js";
import { STAFF, may } from "../me.js";
import { Link, Money, More, Name, NoEvents, Pending, Table, Time, useFirst, useLoaded, usePages } from "../parts.js";
import { address } from "../routes.js";
import { AgencyLink } from "./agency-link.js";
import { DUE, overdue, urgent } from "./operations.js";
import { reportAddress } from "./reports.js";
import { statementAddress } from "./statements.js";

const ACCOUNTS = 100;
const PAGES = 20;
const RUNS = 48;
const HEAD = [["Agency"], ["Last period", "n"], ["This period", "n"], ["Change", "n"]];

/** The page. */
export function Overview({ query: { agency } }) {
  const periods = useLoaded(() => get("/periods?limit=12"), "");
  const attention = useLoaded(() => needsAttention(agency), agency);
  if (!periods.value) return html`<${Pending} problem=${periods.problem} retry=${periods.again} />`;
  const [current] = periods.value.items;
  if (!current) return html`<${Nothing} attention=${attention} periods=${[]} />`;
  return html`<${Month} ...${{ agency, period: current.period, periods: periods.value.items, attention }} />`;
}

/** What needs attention while no sale is recorded: all events can be held. */
const Nothing = ({ attention, periods }) => html`
  <${Attention} ...${attention} periods=${periods} accounts=${[]} />
  <${NoEvents}>No sale is recorded yet.<//>`;

/** The overview of a period and the last, of as many accounts as are loaded. */
function Month({ agency, period, periods, attention }) {
  const list = usePages("/overview", { agency, period, limit: ACCOUNTS }, PAGES);
  if (list.empty && !list.problem) return html`<${Nothing} attention=${attention} periods=${periods} />`;
  // What needs attention is above the figures: shown later, it would move them.
  const begun = list.items.length > 0 && (attention.value || attention.problem);
  if (!begun) return html`<${Pending} problem=${list.problem} retry=${list.more} />`;
  return html`
    <${Attention} ...${attention} periods=${periods} accounts=${list.items} />
    <${Figures} pages=${list.pages} accounts=${list.items} period=${period} />
    <p role="status">${progress(list)}</p>
    ${!list.busy && html`<${Agencies} accounts=${list.items} period=${period} />`}
    <${More} list=${list} />`;
}

function progress({ items, busy, more }) {
  const many = format.count(items.length);
  if (busy) return `The first ${many} accounts are added up. More follow…`;
  if (more) return `The first ${many} accounts are added up.`;
  return items.length === 1 ? "1 account is added up." : `All ${many} accounts are added up.`;
}

const currenciesOf = (accounts) => [...new Set(accounts.map((one) => one.currency))].sort();

function Figures({ pages, accounts, period }) {
  const last = laterMonth(period, -1);
  const currencies = currenciesOf(accounts);
  return html`
    <div class="cards">
      ${currencies.map((currency) => html`
        <${Total} key=${currency} currency=${currency} period=${period} last=${last}
          accounts=${accounts.filter((one) => one.currency === currency)} />`)}
    </div>
    <${Days} pages=${pages} currencies=${currencies} from=${`${last}-01`} to=${`${laterMonth(period, 1)}-01`} />`;
}

function Total({ currency, period, last, accounts }) {
  const [now, before] = ["now", "before"].map((when) => sum(accounts.map((one) => one[when].commission)));
  return html`
    <section class="card">
      <h2>Commission in ${currency}</h2>
      <p class="figure">${format.money(now, currency)}</p>
      <p>${format.month(period)} so far</p>
      <p class="note">${format.month(last)}: ${format.money(before, currency)}${trend(now, before)}</p>
    </section>`;
}

/** Returns the share of a sum in the one before, in words; empty if one of them is no part of the other. */
export const trend = (now, before) =>
  (Number(before) > 0 && Number(now) >= 0 ? `; now ${format.percent(Number(now) / Number(before))} of it` : "");

function Days({ pages, currencies, from, to }) {
  const [chosen, setCurrency] = useState();
  const currency = chosen || currencies[0];
  const days = useMemo(() => byDay(pages, currency), [pages, currency]);
  return html`
    <h2>Commission by day</h2>
    ${currencies.length > 1 && html`
      <p class="bar"><label>Currency
        <select value=${currency} onChange=${(event) => setCurrency(event.target.value)}>
          ${currencies.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}
        </select>
      </label></p>`}
    <${DailyChart} label=${`Commission in ${currency} by day, UTC`} ...${{ currency, days, from, to }} />`;
}

/** Returns the commission of each day in a currency, of the accounts of all pages. */
function byDay(pages, currency) {
  const days = {};
  for (const one of pages.flatMap((page) => page.days)) {
    if (one.currency === currency) (days[one.day] ??= []).push(one.commission);
  }
  return Object.keys(days).sort().map((day) => [day, sum(days[day])]);
}

/** The agencies by change: those of each currency on their own, because sums of two currencies do not compare. */
const Agencies = ({ accounts, period }) => html`
  <h2>Agencies by change</h2>
  ${currenciesOf(accounts).map((currency) => html`
    <${AgenciesOf} key=${currency} ...${{ accounts, currency, period }} />`)}`;

function AgenciesOf({ accounts, currency, period }) {
  const last = laterMonth(period, -1);
  const ordered = useMemo(() => accounts
    .filter((one) => one.currency === currency)
    .map((one) => ({ ...one, change: difference(one.now.commission, one.before.commission) }))
    .sort((one, other) => compare(other.change.replace("-", ""), one.change.replace("-", ""))), [accounts, currency]);
  const [first, next] = useFirst(ordered);
  const caption = `Commission in ${currency}, in ${format.month(last)} and, so far, in ${format.month(period)}`;
  return html`
    <${Table} caption=${caption} head=${HEAD}>
      ${first.map((one) => html`
        <tr key=${one.agency}>
          <th scope="row" class="long"><${AgencyLink} ...${one} /></th>
          <${Figure} value=${one.before.commission} of=${one} period=${last} />
          <${Figure} value=${one.now.commission} of=${one} period=${period} />
          <${Money} value=${one.change} currency=${currency} />
        </tr>`)}
    <//>
    ${next}`;
}

/** A figure that links to the statement, or the preview, which it is a part of. */
const Figure = ({ value, of, period }) => html`
  <td class="n"><${Link} to=${statementAddress({ ...of, period })}>${format.money(value, of.currency)}<//></td>`;

function needsAttention(agency) {
  const list = (path, more) => get(withQuery(path, { limit: 100, ...more }));
  return Promise.all([
    list("/held", { agency }), list("/disputes", { agency }), list("/statements", { agency, status: "not_issued" }),
    ...(may(...STAFF)
      ? [
        list("/reports", { limit: RUNS }), list("/documents", { kind: "rate-card", limit: 1 }), get("/operations"),
        list("/drafts", { agency }),
      ]
      : []),
  ]);
}

function Attention({ value, problem, again, periods, accounts }) {
  if (!value) return html`<${Pending} problem=${problem} retry=${again} />`;
  const nothing = { items: [] };
  const [held, disputes, notIssued, reports = nothing, rateCards = nothing, operations, drafts = nothing] = value;
  const unregistered = accounts.filter((one) => !one.registered);
  const due = overdue(periods);
  // Without any rate card, the default rate is the rule and not the exception.
  const byDefault = reports.items.filter((one) => rateCards.items.length && one.default_rate_events);
  const eventsByDefault = byDefault.reduce((sum_, one) => sum_ + one.default_rate_events, 0);
  const [run] = reports.items;
  const lastRun = run && html`<${Link} to=${reportAddress(run.run)}>${run.run}<//>`;
  const many = ({ items, next }, one, more) =>
    items.length ? `${format.count(items.length)}${next ? " or more" : ""} ${items.length === 1 ? one : more}` : "";
  const listed = [
    [many(disputes, "line is disputed", "lines are disputed"), disputes.items.slice(0, 5).map((one) => html`
      <${Link} to=${statementAddress(one)}><${Name}>${one.agency}<//> ${one.currency} ${one.period}<//>:
      ${" "}<${Name}>${one.opened.reason}<//>`)],
    [many(notIssued, "statement is not issued", "statements are not issued"),
      [html`<${Link} to=${address(["statements"], { status: "not_issued" })}>Show them<//>`]],
    [many(drafts, "draft has no statement", "drafts have no statements"), [
      ...drafts.items.slice(0, 5).map((one) => html`
        <${Name}>${one.agency}<//> ${one.currency} ${one.period}: ${format.words(one.state)}`),
      html`<${Link} to=${address(["close"])}>Decide about them<//>`,
    ]],
    [many(held, "event is held", "events are held"), [
      ...held.items.slice(0, 5).map((one) => html`<${Name}>${one.source} ${one.id}<//>: ${format.words(one.reason)}`),
      ...(operations ? [html`<${Link} to=${address(["operations"])}>Show why<//>`] : []),
    ]],
    [many({ items: unregistered }, "account's agency is not registered", "accounts' agencies are not registered"),
      unregistered.slice(0, 5).map((one) => html`<${AgencyLink} ...${one} /> ${one.currency}`)],
    [many({ items: due }, "period is over, and its statements are not made yet",
      "periods are over, and their statements are not made yet"),
    due.map((one) => html`${format.month(one.period)}: ${DUE[one.state]}`)],
    [eventsByDefault && `${format.count(eventsByDefault)} ${eventsByDefault === 1 ? "event was" : "events were"} ` +
      `charged by the default rate in the last ${RUNS} runs: no rate card has a rule for them`,
    byDefault.slice(0, 5).map((one) => html`
      <${Link} to=${reportAddress(one.run)}>${one.run}<//>: ${format.count(one.default_rate_events)}`)],
    [run?.counters === "drift" && "The live counters differ from the last run", [lastRun]],
    ...(operations ? urgent(operations) : []),
  ].filter(([text]) => text);
  return html`
    <section aria-label="What needs attention" class="card">
      <h2>What needs attention</h2>
      ${!listed.length && html`<p>Nothing.</p>`}
      <ul class="plain">
        ${listed.map(([text, examples]) => html`
          <li key=${text}>${text}<ul>${examples.map((one, index) => html`<li key=${index}>${one}</li>`)}</ul></li>`)}
      </ul>
      ${run && html`
        <p class="note">
          Last run: ${lastRun}, planned <${Time} at=${run.planned_at} />. The live counters compared with it:
          ${" "}${format.words(run.counters)}.
        </p>`}
    </section>`;
}
