/** The overview: this period and the last by currency and agency, commission by day, and what needs attention. */
import { html, useEffect, useRef, useState } from "../vendor/htm-preact.js";
import { accountPath, each, get, withQuery } from "../api.js";
import { laterMonth } from "../calendar.js";
import { DailyChart } from "../chart.js";
import { difference, sum } from "../decimal.js";
import * as format from "../format.js";
import { STAFF, may } from "../me.js";
import { Failure, Link, Money, More, Name, Pending, Table, useLoaded, usePages } from "../parts.js";
import { address } from "../routes.js";
import { AgencyLink } from "./agency.js";
import { reportAddress } from "./reports.js";
import { statementAddress } from "./statements.js";

const ACCOUNTS = 100;
const VIEWS = "XXX";
const HEAD = [["Agency"], ["Currency"], ["Last period", "n"], ["This period", "n"], ["Change", "n"]];

/** The page. */
export function Overview({ query: { agency } }) {
  const { value: periods, problem, again } = useLoaded(() => get("/periods?limit=1"), "");
  const list = usePages("/accounts", { agency, limit: ACCOUNTS });
  const [current] = periods?.items || [];
  if (!current) {
    if (!periods) return html`<${Pending} problem=${problem} retry=${again} />`;
    return html`<p class="empty">No event is recorded yet. Send the first one with <code>POST /events</code>.</p>`;
  }
  const accounts = list.items.filter((one) => one.currency !== VIEWS);
  return html`
    <${Attention} agency=${agency} accounts=${accounts} />
    <${Figures} accounts=${accounts} period=${current.period} partly=${Boolean(list.more)} />
    <${More} list=${list} />`;
}

/** Returns the months of each account as they arrive: commission by period, by the account's path. */
function useMonths(accounts, from, to) {
  const [state, setState] = useState({ months: {} });
  const begun = useRef(new Set());
  useEffect(() => {
    const missing = accounts.filter((one) => !begun.current.has(keyOf(one)));
    missing.forEach((one) => begun.current.add(keyOf(one)));
    each(missing, async (one) => {
      const path = accountPath(one.agency, one.currency, "periods");
      const { items } = await get(withQuery(path, { from, to }));
      const found = Object.fromEntries(items.map((item) => [item.period, item.commission]));
      setState((before) => ({ ...before, months: { ...before.months, [keyOf(one)]: found } }));
    }).catch((problem) => setState((before) => ({ ...before, problem })));
  }, [accounts.length]);
  return state;
}

const keyOf = ({ agency, currency }) => `${currency}#${agency}`;

function Figures({ accounts, period, partly }) {
  const last = laterMonth(period, -1);
  const { months, problem } = useMonths(accounts, last, laterMonth(period, 1));
  const rows = accounts
    .filter((one) => months[keyOf(one)])
    .map((one) => {
      const found = months[keyOf(one)];
      const [now, before] = [found[period] || "0", found[last] || "0"];
      return { ...one, now, before, change: difference(now, before) };
    })
    .sort((one, other) => Math.abs(other.change) - Math.abs(one.change));
  const currencies = [...new Set(rows.map((one) => one.currency))].sort();
  const whole = rows.length === accounts.length;
  return html`
    ${problem && html`<${Failure} problem=${problem} />`}
    ${!whole && !problem && html`
      <p role="status">${format.count(rows.length)} of ${format.count(accounts.length)} accounts…</p>`}
    <div class="cards">
      ${currencies.map((currency) => html`
        <${Total} key=${currency} currency=${currency} period=${period} last=${last} partly=${partly}
          rows=${rows.filter((one) => one.currency === currency)} />`)}
    </div>
    ${whole && currencies.length > 0 && html`
      <${Days} accounts=${accounts} currencies=${currencies}
        from=${`${last}-01`} to=${`${laterMonth(period, 1)}-01`} />`}
    ${rows.length > 0 && html`
      <h2>Agencies by change</h2>
      <${Table} caption=${`Commission in ${format.month(last)} and, so far, in ${format.month(period)}`} head=${HEAD}>
        ${rows.map((one) => html`
          <tr key=${keyOf(one)}>
            <th scope="row" class="long"><${AgencyLink} ...${one} /></th>
            <td>${one.currency}</td>
            <${Figure} value=${one.before} of=${one} period=${last} />
            <${Figure} value=${one.now} of=${one} period=${period} />
            <${Money} value=${one.change} currency=${one.currency} />
          </tr>`)}
      <//>`}`;
}

/** A figure that links to the statement, or the preview, which it is a part of. */
const Figure = ({ value, of, period }) => html`
  <td class="n"><${Link} to=${statementAddress({ ...of, period })}>${format.money(value, of.currency)}<//></td>`;

function Total({ currency, period, last, rows, partly }) {
  const [now, before] = [sum(rows.map((one) => one.now)), sum(rows.map((one) => one.before))];
  return html`
    <section class="card">
      <h2>Commission in ${currency}</h2>
      <p class="figure">${format.money(now, currency)}</p>
      <p>${format.month(period)} so far${partly && `, of the first ${format.count(rows.length)} accounts`}</p>
      <p class="note">${format.month(last)}: ${format.money(before, currency)}${trend(now, before)}</p>
    </section>`;
}

const trend = (now, before) => (Number(before) ? `; now ${format.percent(Number(now) / Number(before))} of it` : "");

function Days({ accounts, currencies, from, to }) {
  const [currency, setCurrency] = useState(currencies[0]);
  const ours = accounts.filter((one) => one.currency === currency);
  const { value: days, problem, again } = useLoaded(() => byDay(ours, from, to), `${currency} ${ours.length}`);
  return html`
    <h2>Commission by day</h2>
    ${currencies.length > 1 && html`
      <p class="bar"><label>Currency
        <select value=${currency} onChange=${(event) => setCurrency(event.target.value)}>
          ${currencies.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}
        </select>
      </label></p>`}
    ${days
      ? html`<${DailyChart} label=${`Commission in ${currency} by day, UTC`} ...${{ currency, days, from, to }} />`
      : html`<${Pending} problem=${problem} retry=${again} />`}`;
}

async function byDay(accounts, from, to) {
  const days = {};
  await each(accounts, async (one) => {
    const { items } = await get(withQuery(accountPath(one.agency, one.currency, "days"), { from, to }));
    for (const { day, commission } of items) (days[day] ??= []).push(commission);
  });
  return Object.keys(days).sort().map((day) => [day, sum(days[day])]);
}

function Attention({ agency, accounts }) {
  const list = (path, more) => get(withQuery(path, { limit: 100, ...more }));
  const load = () => Promise.all([
    list("/held", { agency }), list("/disputes", { agency }), list("/statements", { agency, status: "not_issued" }),
    list("/periods", { limit: 12 }), may(...STAFF) ? list("/reports", { limit: 1 }) : { items: [] },
  ]);
  const { value, problem, again } = useLoaded(load, agency);
  if (!value) return html`<${Pending} problem=${problem} retry=${again} />`;
  const [held, disputes, notIssued, periods, reports] = value;
  const unregistered = accounts.filter((one) => one.registered === false);
  const due = periods.items.filter((one) => ["closed", "running"].includes(one.state));
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
    [many(held, "event is held", "events are held"), held.items.slice(0, 5).map((one) => html`
      <${Name}>${one.source} ${one.id}<//>: ${format.words(one.reason)}`)],
    [many({ items: unregistered }, "account's agency is not registered", "accounts' agencies are not registered"),
      unregistered.slice(0, 5).map((one) => html`<${Name}>${one.agency}<//> ${one.currency}`)],
    [many({ items: due }, "period is over and not stated yet", "periods are over and not stated yet"),
      due.map((one) => html`${format.month(one.period)}: ${one.state}`)],
    [run?.counters === "drift" && "The live counters differ from the last run", [lastRun]],
  ].filter(([text]) => text);
  return html`
    <section aria-label="What needs attention" class="card">
      <h2>What needs attention</h2>
      ${!listed.length && html`<p>Nothing.</p>`}
      <ul class="plain">
        ${listed.map(([text, examples]) => html`
          <li key=${text}>${text}<ul>${examples.map((one, index) => html`<li key=${index}>${one}</li>`)}</ul></li>`)}
      </ul>
      ${run && html`<p class="note">Proof: the counters of the last run, ${lastRun}, are ${run.counters}.</p>`}
    </section>`;
}
