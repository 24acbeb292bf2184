/** The overview: this span and the last to the same point, by currency and agency, and what needs attention. */
import { html, useMemo, useState } from "../vendor/htm-preact.js";
import { accountPath, get, withQuery } from "../lib/api.js";
import { days as daysOf, dayOf, isDay, laterDay, monthOf, seconds } from "../lib/calendar.js";
import { GrowthChart, Sparkline } from "../lib/chart.js";
import { compare, difference, negative, quotient, sum } from "../lib/decimal.js";
import * as format from "../lib/format.js";
import { AgencyLink, RunLink, statementAddress } from "../lib/links.js";
import { STAFF, may } from "../lib/me.js";
import {
  Amount, Day, Link, Money, More, Name, NoEvents, Pending, Table, Time, fieldsOf, useLoaded, usePages,
} from "../lib/parts.js";
import { address, navigate } from "../lib/routes.js";
import { Attention, needsAttention } from "./attention.js";
import { ByCharge } from "./by-charge.js";

const ACCOUNTS = 100;
const PAGES = 20;
const LISTED = 5;
const DAY = 86_400;
const BASE_PLACES = 12;
const RANGES = { week: "Week", month: "Month", quarter: "Quarter", year: "Year" };
const HEAD = [["Agency"], ["Now", "n"], ["Before", "n wide"], ["Change", "n wide"], ["%", "n"], ["Days"]];

/** Returns the parameters of the span in an address: the days `from` and `to`, or a range; without both, the month. */
export function spanOf({ range, from, to }) {
  if (isDay(from) && isDay(to) && from <= to) return { from, to: laterDay(to, 1) };
  return { range: range in RANGES ? range : "month" };
}

/** The page. */
export function Overview({ query }) {
  const { agency, currency } = query;
  const span = spanOf(query);
  const attention = useLoaded(() => needsAttention(agency), agency);
  const list = usePages("/overview", { agency, ...span, limit: ACCOUNTS }, PAGES);
  const to = (more) => address([], { ...(span.range ? span : { from: query.from, to: query.to }), agency, ...more });
  if (list.empty && !list.problem) return html`<${Nothing} attention=${attention} />`;
  return html`
    <${Ranges} ...${{ query, span, to }} />
    ${list.items.length > 0
      ? html`<${Figures} ...${{ list, span, currency, agency, to, attention }} />`
      : html`<${Pending} problem=${list.problem} retry=${list.more} />`}`;
}

/** What needs attention while no sale is recorded: all events can be held. */
const Nothing = ({ attention }) => html`
  <${Attention} ...${attention} accounts=${[]} />
  <${NoEvents}>No sale is recorded yet.<//>
  <${LastRun} reports=${attention.value?.reports} />`;

/** The choice of a span: links to those of the calendar, and a form for days of one's own. */
function Ranges({ query, span, to }) {
  const own = !span.range;
  const send = (event) => navigate(to({ range: "", ...fieldsOf(event) }));
  return html`
    <div class="bar ranges">
      <nav class="switch" aria-label="Span">
        ${Object.entries(RANGES).map(([name, text]) => html`
          <${Link} key=${name} to=${to({ range: name, from: "", to: "", currency: query.currency })}
            aria-current=${name === span.range ? "true" : undefined}>${text}<//>`)}
      </nav>
      <details open=${own}>
        <summary>Own days</summary>
        <form class="bar" onSubmit=${send} key=${`${query.from} ${query.to}`}>
          ${[["from", "First day (UTC)"], ["to", "Last day"]].map(([name, text]) => html`
            <label key=${name}>${text}
              <input type="date" name=${name} defaultValue=${own ? query[name] : ""} required />
            </label>`)}
          <button>Show</button>
        </form>
      </details>
    </div>`;
}

/** Returns a span of the API in words: its days, and the time of day at which it ends. */
function spanText(from, to) {
  const ends = format.clockUtc(to);
  return `${format.dayRange(from, to)}${ends && `, to ${ends} UTC`}`;
}

/** What is compared with what. */
function Compared({ page }) {
  const { from, to, before_from: beforeFrom, before_to: beforeTo, before_complete: complete } = page;
  if (from === to) return html`<span>No whole day of this span has passed yet.</span>`;
  return html`
    <span>
      ${spanText(from, to)}, compared with ${spanText(beforeFrom, beforeTo)}. Events count when they were recorded.
      ${!complete && " Some days of the earlier span are kept no longer, so there is no comparison."}
    </span>`;
}

const currenciesOf = (accounts) => [...new Set(accounts.map((one) => one.currency))].sort();

/** Returns the currency in which most of some accounts have events now, the first of several. */
function usual(accounts) {
  const many = (currency) => accounts.filter((one) => one.currency === currency && one.now.events > 0).length;
  return currenciesOf(accounts).reduce((most, one) => (many(one) > many(most) ? one : most));
}

const total = (accounts, when, figure) => sum(accounts.map((one) => one[when][figure]));

function Figures({ list, span, currency, agency, to, attention }) {
  const { items, pages } = list;
  const [page] = pages;
  const currencies = currenciesOf(items);
  const chosen = currencies.includes(currency) ? currency : usual(page.items);
  const of = items.filter((one) => one.currency === chosen);
  const { value: rates } = useLoaded(() => get("/exchange-rates?limit=1000"), "");
  const sums = sumsBy(items, currencies);
  const all = rates && inBase(sums, rates.items);
  return html`
    <div class="bar between note">
      <${Compared} page=${page} />
      <span role="status">${progress(list)}</span>
    </div>
    <${Totals} ...${{ sums, all, page }} statementOf=${span.range === "month" && !may(...STAFF) && items[0].agency} />
    <section class="card" aria-label="Commission day by day">
      <div class="bar between">
        <h2>Commission in ${chosen}</h2>
        ${currencies.length > 1 && html`
          <nav class="switch" aria-label="Currency">
            ${currencies.map((one) => html`
              <${Link} key=${one} to=${to({ currency: one })} aria-current=${one === chosen ? "true" : undefined}>
                ${one}<//>`)}
          </nav>`}
      </div>
      <${Growth} ...${{ pages, page, span, currency: chosen }} />
    </section>
    <${ByCharge} accounts=${of} currency=${chosen} month=${span.range === "month" && monthOf(page.from)}
      agency=${agency} />
    <${Attention} ...${attention} accounts=${items} />
    ${!list.busy && may(...STAFF) && html`
      <${Agencies} ...${{ accounts: of, currency: chosen, page, span, key: chosen }} />`}
    <${More} list=${list} />
    ${all && html`<${RatesNote} ...${all} />`}
    <${LastRun} reports=${attention.value?.reports} />`;
}

function progress({ items, busy, more }) {
  const many = format.count(items.length);
  if (busy) return `The first ${many} accounts are added up. More follow…`;
  if (more) return `The first ${many} accounts are added up.`;
  return items.length === 1 ? "1 account is added up." : `All ${many} accounts are added up.`;
}

/** Returns the sums of each currency: now, before, and the net sales. */
const sumsBy = (items, currencies) => currencies.map((currency) => {
  const of = items.filter((one) => one.currency === currency);
  const [now, before, net] = [["now", "commission"], ["before", "commission"], ["now", "net"]]
    .map(([when, figure]) => total(of, when, figure));
  return { currency, now, before, net };
});

/**
 * The commission of each currency, and of all in the base currency. `statementOf`: the agency to whose statements of
 * the month the figures lead, if any.
 */
const Totals = ({ sums, all, page, statementOf }) => html`
  <div class="cards">
    ${all && html`
      <${Total} title=${`All in ${all.currency}`} page=${page} ...${all}>
        ${all.missing.length
          ? html`Without ${all.missing.join(", ")}: <${Link} to=${address(["exchange-rates"])}>there is no rate<//>`
          : "At the rates in force now"}
      <//>`}
    ${sums.map((one) => html`
      <${Total} key=${one.currency} title=${`Commission in ${one.currency}`} ...${{ page, statementOf, ...one }}>
        On net sales of <${Amount} value=${one.net} currency=${one.currency} />
      <//>`)}
  </div>`;

/** The exchange rates of a sum in the base currency. */
const RatesNote = ({ currency, used }) => html`
  <p class="rates">All in ${currency} is added up at the rates in force now:
    ${used.map((one, index) => html`
      <span key=${one.currency}>${index > 0 && ","} 1 ${currency} = ${format.exact(one.units_per_base)} ${one.currency}
        ${" "}(<${Name}>${one.source}<//>, <${Time} at=${one.as_of} />)</span>`)}.</p>`;

function Total({ title, currency, now, before, page, statementOf: agency, children }) {
  const change = page.before_complete && trend(now, before);
  return html`
    <section class="card total">
      <h2>${title}</h2>
      <p class="figure">
        <${Figure} of=${{ agency, currency }} value=${now} month=${agency && monthOf(page.from)} />
      </p>
      ${page.before_complete && html`
        <p>${change && html`<strong class=${change.startsWith("-") ? "down" : "up"}>${change}</strong>${" "}`}
          against <${Amount} value=${before} currency=${currency} /></p>`}
      <p class="note">${children}</p>
    </section>`;
}

/** Returns the change from a sum to another in percent; empty if one of them is no part of the other. */
export const trend = (now, before) =>
  (Number(before) > 0 && Number(now) >= 0 ? format.change(Number(now) / Number(before) - 1) : "");

/**
 * Returns everything in the base currency, at the rates in force now: now, before, the rates that are used, and the
 * currencies that have none; null without rates, or with that currency alone.
 */
function inBase(sums, rates) {
  const base = rates.find((one) => one.base)?.base;
  if (!base || sums.every((one) => one.currency === base)) return null;
  const found = Object.fromEntries(rates.filter((one) => one.base === base).map((one) => [one.currency, one]));
  const known = sums.filter(({ currency }) => currency === base || found[currency]);
  const used = known.filter(({ currency }) => currency !== base).map(({ currency }) => found[currency]);
  if (!used.length) return null;
  const all = (when) => sum(known.map(({ currency, ...of }) =>
    (currency === base ? of[when] : quotient(of[when], found[currency].units_per_base, BASE_PLACES))));
  const missing = sums.filter((one) => !known.includes(one)).map((one) => one.currency);
  return { currency: base, now: all("now"), before: all("before"), used, missing };
}

/** Returns the commission of each day in a currency, of the accounts of all pages. */
function byDay(pages, currency) {
  const days = {};
  for (const one of pages.flatMap((page) => page.days)) {
    if (one.currency === currency) (days[one.day] ??= []).push(one.commission);
  }
  return Object.fromEntries(Object.entries(days).map(([day, values]) => [day, sum(values)]));
}

/** Returns the days of a span, each with its commission and the sum up to its end. */
function grown(from, to, found) {
  const last = to.includes("T00:00:00") ? dayOf(to) : laterDay(dayOf(to), 1);
  let all = "0";
  return daysOf(dayOf(from), last).map((day) => {
    const value = found[day] ?? "0";
    all = sum([all, value]);
    return { day, value, all };
  });
}

function Growth({ pages, page, span, currency }) {
  const found = useMemo(() => byDay(pages, currency), [pages, currency]);
  const now = grown(page.from, page.to, found);
  const before = page.before_complete ? grown(page.before_from, page.before_to, found) : [];
  const start = seconds(page.from);
  const dayText = (day) => format.shortDay(seconds(day));
  const many = Math.max(now.length, before.length);
  if (!now.length) return null;
  const ends = format.clockUtc(page.to);
  const points = [
    { seconds: start, text: dayText(now[0].day), now: "0", ...(before.length > 0 && { before: "0" }) },
    ...Array.from({ length: many }, (_, index) => ({
      seconds: start + (index + 1) * DAY,
      text: ends && index === now.length - 1
        ? `To ${dayText(now[index].day)}, ${ends} UTC`
        : `To the end of ${dayText((now[index] ?? before[index]).day)}`,
      now: now[index]?.all,
      before: before[index]?.all,
    })),
  ];
  const names = span.range
    ? { now: `This ${span.range}`, before: `Last ${span.range}` }
    : { now: "These days", before: "As many days before" };
  const label = `Commission in ${currency}, added up day by day`;
  return html`
    <${GrowthChart} key=${`${currency} ${page.from} ${many}`} ...${{ label, currency, points, names }} />
    <details>
      <summary>The same as a table</summary>
      <${Table} caption=${label}
        head=${[["Day"], ["Commission", "n"], ["Added up", "n"], ["Day before"], ["Added up", "n"]]}>
        ${Array.from({ length: many }, (_, index) => [now[index], before[index]]).map(([one, last], index) => html`
          <tr key=${index}>
            <th scope="row" class="short"><${Day} on=${one?.day} /></th>
            <${Money} value=${one?.value} currency=${currency} /><${Money} value=${one?.all} currency=${currency} />
            <td class="short"><${Day} on=${last?.day} /></td><${Money} value=${last?.all} currency=${currency} />
          </tr>`)}
      <//>
    </details>`;
}

/** The agencies with the most commission in a currency, and those that lost most of it. */
function Agencies({ accounts, currency, page, span }) {
  const [top, falling] = useMemo(() => {
    const all = accounts.map((one) => ({ ...one, change: difference(one.now.commission, one.before.commission) }));
    const most = (figure) => (one, other) =>
      compare(figure(other), figure(one)) || (one.agency < other.agency ? -1 : 1);
    return [
      all.filter((one) => Number(one.now.commission) > 0).sort(most((one) => one.now.commission)),
      all.filter((one) => one.change.startsWith("-")).sort(most((one) => negative(one.change))),
    ];
  }, [accounts]);
  return html`
    <div class="board even">
      <${Ranked} title=${`Top agencies in ${currency}`} accounts=${top} page=${page} span=${span}
        empty="No commission in this span yet." />
      ${page.before_complete && html`
        <${Ranked} title=${`Falling agencies in ${currency}`} accounts=${falling} page=${page} span=${span}
          empty="No agency has less than before." />`}
    </div>`;
}

function Ranked({ title, accounts, page, span, empty }) {
  const [many, setMany] = useState(LISTED);
  const first = accounts.slice(0, many);
  const months = span.range === "month" ? { now: monthOf(page.from), before: monthOf(page.before_from) } : {};
  return html`
    <section class="card">
      <h2>${title}</h2>
      ${!first.length && html`<p class="note">${empty}</p>`}
      ${first.length > 0 && html`
        <${Table} label=${title} head=${HEAD}>
          ${first.map((one) => html`
            <tr key=${one.agency}>
              <th scope="row" class="long"><${AgencyLink} ...${one} /></th>
              <td class="n"><${Figure} of=${one} value=${one.now.commission} month=${months.now} /></td>
              <td class="n wide">
                ${page.before_complete
                  && html`<${Figure} of=${one} value=${one.before.commission} month=${months.before} />`}
              </td>
              <${Money} kind="wide" value=${page.before_complete ? one.change : undefined} currency=${one.currency}
                change />
              <td class="n">${page.before_complete && trend(one.now.commission, one.before.commission)}</td>
              <td><${Days} account=${one} page=${page} /></td>
            </tr>`)}
        <//>`}
      ${many < accounts.length && html`
        <p><button type="button" onClick=${() => setMany(many + LISTED)}>Show more</button></p>`}
    </section>`;
}

/** A figure; that of a month leads to the statement of the whole month, or its preview. */
function Figure({ of, value, month: period }) {
  const amount = html`<${Amount} value=${value} currency=${of.currency} />`;
  return period ? html`<${Link} to=${statementAddress({ ...of, period })}>${amount}<//>` : amount;
}

/** The commission of an account on each day of a span, as a small line. */
function Days({ account: { agency, currency }, page: { from, to } }) {
  const path = withQuery(accountPath(agency, currency, "days"), {
    from: dayOf(from), to: to.includes("T00:00:00") ? dayOf(to) : laterDay(dayOf(to), 1), limit: 1000,
  });
  const { value } = useLoaded(() => get(path), path);
  const found = Object.fromEntries((value?.items || []).map((one) => [one.day, one.commission]));
  return html`<${Sparkline} values=${value ? grown(from, to, found).map((one) => one.value) : []} />`;
}

/** The last run, and whether the live counters agree with it; nothing for people of agencies. */
function LastRun({ reports }) {
  const [run] = reports?.items || [];
  return run && html`
    <p class="note">
      Last run: <${RunLink} run=${run.run} />, planned <${Time} at=${run.planned_at} />.
      The live counters compared with it: ${format.words(run.counters)}.
    </p>`;
}
