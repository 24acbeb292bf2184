/** What needs attention: money first, then what keeps statements, events and reports waiting; one row for each. */
import { html } from "../vendor/htm-preact.js";
import { get, withQuery } from "../lib/api.js";
import { sum } from "../lib/decimal.js";
import * as format from "../lib/format.js";
import { AccountName, AgencyLink, RunLink, reportAddress, statementAddress } from "../lib/links.js";
import { STAFF, may } from "../lib/me.js";
import { DUE, overdue, urgent } from "../lib/overdue.js";
import { Link, Pending } from "../lib/parts.js";
import { address } from "../lib/routes.js";

const RUNS = 48;
const ACCOUNTS = 300;
const UNDECIDED = ["open", "held", "proposed"];

/** Returns what the rows are made of, all that the reader may see of it. */
export async function needsAttention(agency) {
  const list = (path, more) => get(withQuery(path, { limit: 100, agency, ...more }));
  const staff = may(...STAFF);
  const [open, periods, disputed, held, ...rest] = await Promise.all([
    list("/receivables", { limit: ACCOUNTS }), get("/periods?limit=12"), list("/statements", { status: "disputed" }),
    list("/held"),
    ...(staff
      ? [
        list("/drafts"), get(withQuery("/reports", { limit: RUNS })), get("/operations"),
        get("/documents?kind=rate-card&limit=1"),
      ]
      : []),
  ]);
  const [drafts, reports, operations, rateCards] = rest;
  return { open, periods: periods.items, disputed, held, drafts, reports, operations, rateCards };
}

/** Returns the sums of items by currency, of those that have the figure. */
function sums(items, figure) {
  const found = {};
  for (const one of items) {
    const value = figure(one);
    const { currency } = one.event ?? one;
    if (value !== undefined) (found[currency] ??= []).push(value);
  }
  return Object.fromEntries(Object.entries(found).map(([currency, values]) => [currency, sum(values)]));
}

/** Returns a row of a list: how many of what, their sums, and what to do. Nothing if the list is empty. */
const row = ({ items, next }, one, more, todo, figure) =>
  items.length > 0 && {
    many: `${format.count(items.length)}${next ? " or more" : ""}`, text: items.length === 1 ? one : more, todo,
    ...(figure && { sums: sums(items, figure) }),
  };

/** Returns the row of overdue statements: that of the oldest is named. */
function overdueRow({ items, next }) {
  const late = items.flatMap(({ agency, currency, statements }) =>
    statements.filter((one) => one.status === "overdue").map((one) => ({ ...one, agency, currency })));
  const [oldest] = late.toSorted((one, other) => (one.due_on < other.due_on ? -1 : 1));
  const todo = oldest && html`
    ${may(...STAFF) ? "Record the payment, or remind them. The oldest:" : "Pay it. The oldest:"}
    ${" "}<${Link} to=${statementAddress(oldest)}><${AccountName} ...${oldest} /><//>,
    ${" "}due on ${format.day(oldest.due_on)}`;
  return row({ items: late, next }, "statement is overdue", "statements are overdue", todo, (one) => one.open);
}

function draftRows({ items, next }) {
  const failed = items.filter((one) => one.checks.some(({ level }) => level === "failed"));
  const waiting = items.filter((one) => !failed.includes(one) && UNDECIDED.includes(one.state));
  const link = (text) => html`<${Link} to=${address(["close"])}>${text}<//>`;
  const commission = (one) => one.commission_exact;
  return [
    row({ items: failed, next }, "draft has a failed check", "drafts have failed checks",
      link("Mend what the checks name"), commission),
    row({ items: waiting, next }, "draft waits for a decision", "drafts wait for a decision",
      link("Release them, or hold them back"), commission),
  ];
}

/** Returns the row of events that the default rate charged; without any rate card, that rate is the rule. */
function defaultRow(reports, rateCards) {
  const runs = rateCards.items.length ? reports.items.filter((one) => one.default_rate_events) : [];
  const events = runs.reduce((before, one) => before + one.default_rate_events, 0);
  return events > 0 && {
    many: format.count(events),
    text: `${events === 1 ? "event was" : "events were"} charged by the default rate in the last ${RUNS} runs`,
    todo: html`Add a rule to a rate card: no rule covers them. The last run:
      ${" "}<${RunLink} run=${runs[0].run} />`,
  };
}

/** Returns the rows, the most urgent first. */
function rowsOf({ open, periods, disputed, held, drafts, reports, operations, rateCards }, accounts) {
  const unregistered = { items: accounts.filter((one) => !one.registered) };
  const due = overdue(periods);
  const show = (to, text) => html`<${Link} to=${to}>${text}<//>`;
  const operator = show(address(["operations"]), "Show operations");
  return [
    overdueRow(open),
    row(disputed, "statement is disputed", "statements are disputed",
      show(address(["statements"], { status: "disputed" }), "Correct or resolve"), (one) => one.closing),
    ...(drafts ? draftRows(drafts) : []),
    row(held, "event is held", "events are held",
      operations ? show(address(["operations"]), "Show why") : "They wait for their sale or a registration.",
      ({ event }) => event.amount),
    ...(operations ? urgent(operations).map((one) => one && { ...one, todo: operator }) : []),
    row({ items: due }, "period is over, and its statements are not made yet",
      "periods are over, and their statements are not made yet",
      due.map((one) => `${format.month(one.period)}: ${DUE[one.state]}`).join("; ")),
    reports?.items[0]?.counters === "drift" && {
      text: "The live counters differ from the last run",
      todo: show(reportAddress(reports.items[0].run), "Show the run"),
    },
    row(unregistered, "account's agency is not registered", "accounts' agencies are not registered",
      unregistered.items.length > 0 && html`Register <${AgencyLink} ...${unregistered.items[0]} />`),
    reports && defaultRow(reports, rateCards),
  ].filter(Boolean);
}

/** The rows; a line if there is none. `accounts`: those that are loaded of the overview. */
export function Attention({ value, problem, again, accounts }) {
  const rows = value && rowsOf(value, accounts);
  return html`
    <section aria-label="What needs attention" class="card attention">
      <h2>What needs attention</h2>
      ${!rows && html`<${Pending} problem=${problem} retry=${again} />`}
      ${rows?.length === 0 && html`<p>Nothing needs attention.</p>`}
      ${rows?.length > 0 && html`
        <ul class="plain">
          ${rows.map(({ many, text, sums: money, todo }) => html`
            <li key=${text}>
              <div class="bar between">
                <p>${many && html`<strong>${many}</strong> `}${text}</p>
                ${money && html`<p class="sums">${format.amounts(money)}</p>`}
              </div>
              <p class="note">${todo}</p>
            </li>`)}
        </ul>`}
    </section>`;
}
