/**
 * An agency, in tabs: its figures now and by period, day and quarter-hour, its statements, rate cards, messages and
 * registration.
 */
import { html, useMemo } from "../vendor/htm-preact.js";
import { registrationOf } from "../lib/agencies.js";
import { accountPath, get, withQuery } from "../lib/api.js";
import {
  dayOf, days, isDay, isMonth, laterDay, laterMonth, monthOf, months, quarterHourEnd, quarterHours,
} from "../lib/calendar.js";
import { BarChart } from "../lib/chart.js";
import * as format from "../lib/format.js";
import { accountStatementAddress, agencyAddress, statementAddress } from "../lib/links.js";
import { List } from "../lib/list.js";
import { Messages } from "../lib/messages.js";
import { Amount, Link, NoEvents, Pending, Time, useLoaded } from "../lib/parts.js";
import { address } from "../lib/routes.js";
import { Recording, followed } from "../recording/recording.js";
import { StatementList } from "../statements/statement-list.js";
import { LiveChanges } from "./live-changes.js";
import { RateCards } from "./rate-cards.js";
import { Registration } from "./registration.js";
import { SoFar, chargedSoFar } from "./so-far.js";

const FIGURES = {
  gross: "Sales", refunds: "Refunds", net: "Net sales", commission: "Commission", payments: "Payments",
};
const TABS = { "": "Figures", statements: "Statements", rates: "Rate cards" };
const PERIODS_SHOWN = 24;

/** The page. */
export function Agency({ agency, query }) {
  const { value, problem, again } = useLoaded(() => known(agency), agency);
  if (!value) return html`<${Pending} problem=${problem} retry=${again} />`;
  const [accounts, registration] = value;
  const account = accounts.find((one) => one.currency === query.currency) || accounts[0];
  const { currency = account?.currency } = registration?.content || {};
  const follow = ({ receipt }) => receipt && followed(agency, accounts).then(again, again);
  const isKnown = account || registration;
  const more = { ...(isKnown && { messages: "Messages" }), ...(registration && { registration: "Registration" }) };
  const tabs = { ...TABS, ...more };
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
        <p class="figure"><${Amount} value=${account.commission} currency=${currency} /></p>
        <p class="note">on net sales of <${Amount} value=${account.net} currency=${currency} /></p>
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
  const rows = useMemo(() => items.map((one) => ({ ...one, commission: chargedSoFar(one), currency })), [value]);
  const [head, by] = LABELS[span];
  const title = `Commission in ${currency} ${by}`;
  return html`
    <nav class="switch" aria-label="Spans">
      <${Link} to=${to({})} aria-current=${span === "period" ? "true" : undefined}>All periods<//>
      ${span === "period"
        ? html`
          <${Link} to=${to({ month: monthOf(updated) })}>${format.month(monthOf(updated))} by day<//>
          <${Link} to=${to({ day: dayOf(updated) })}>${format.day(dayOf(updated))} by quarter-hour<//>`
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
          values=${rows.map((one) => [one[name], one.commission])} />
      </section>
      ${span === "period" && html`<${SoFar} period=${items.at(-1)} currency=${currency} />`}
      <${List} name=${part} caption=${`Figures in ${currency} ${by}`} rows=${rows}
        columns=${columnsOf({ account, span, name, head, to })} sort=${{ by: name, down: true }} />`}`;
}

/** Returns the columns of the figures of spans. */
const TYPES = { quarter_hour: "time", day: "day", period: "month" };

const columnsOf = ({ account, span, name, head, to }) => [
  {
    key: name, title: head, head: true, kind: "short", type: TYPES[span],
    cell: (one) => html`<${Start} span=${span} start=${one[name]} to=${to} />`,
  },
  { key: "events", title: "Events", type: "number" },
  ...Object.entries(FIGURES).map(([key, text]) => ({ key, title: text, type: "money" })),
  {
    key: "details", title: "Details", value: null, kind: "short",
    cell: (one) => html`<${MadeOf} account=${account} span=${span} start=${one[name]} />`,
  },
];

/** Links to the span that holds the one shown, and to those before and after it. */
function Nearby({ day, month, to }) {
  if (day) {
    const [before, after] = [laterDay(day, -1), laterDay(day, 1)];
    return html`
      <${Link} to=${to({ month: monthOf(day) })}>${format.month(monthOf(day))}<//>
      <${Link} to=${to({ day: before })}>${format.day(before)}<//>
      <${Link} to=${to({ day })} aria-current="true">${format.day(day)}<//>
      <${Link} to=${to({ day: after })}>${format.day(after)}<//>`;
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
  if (span === "day") return html`<${Link} to=${to({ day: start })}>${format.day(start)}<//>`;
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

const Statements = ({ agency, version }) => html`
  <p class="note">
    <${Link} to=${accountStatementAddress(agency)}>Account statement<//>: what is open, and each payment.
  </p>
  <${StatementList} parameters=${{ agency }} owner=${agency} version=${version} size="25" empty=${html`
    <p class="empty">
      This agency has no statements yet. The statements of a month are made some days after it ends.
    </p>`} />`;
