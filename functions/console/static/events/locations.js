/** Sales by location: from countries down to the most exact locations that events name. */
import { html, useMemo } from "../vendor/htm-preact.js";
import { get, segment, withQuery } from "../lib/api.js";
import { days, isDay, laterDay, laterMonth, monthOf, today } from "../lib/calendar.js";
import { BarChart } from "../lib/chart.js";
import { sum } from "../lib/decimal.js";
import { Filters } from "../lib/filters.js";
import { List } from "../lib/list.js";
import { locationNames } from "../lib/names.js";
import { Link, Name, Pending, useLoaded } from "../lib/parts.js";
import { Problem } from "../lib/problem.js";
import { address } from "../lib/routes.js";

const MOST_DAYS = 366;
const FIGURES = { gross: "Sales", refunds: "Refunds", net: "Net sales", commission: "Commission" };

/** Returns the first and the last day of an address; without them, those of the present period and the one before. */
export async function spanOf({ from, to }) {
  if (from && to) return { from, to };
  const { items: [current] } = await get("/periods?limit=1");
  const period = current?.period || monthOf(today());
  return { from: `${laterMonth(period, -1)}-01`, to: laterDay(`${laterMonth(period, 1)}-01`, -1) };
}

/** The page: the present period and the one before, unless the address names days. */
export function Locations({ query }) {
  const { value: span, problem, again } = useLoaded(() => spanOf(query), `${query.from} ${query.to}`);
  if (!span) return html`<${Pending} problem=${problem} retry=${again} />`;
  return html`
    <${Path} query=${query} />
    <${Days} query=${query} span=${span} />
    <${Sales} query=${query} span=${span} />`;
}

/** Links to the locations that hold the one shown. */
function Path({ query: { location = "", ...span } }) {
  const parts = location ? location.split("#") : [];
  const names = location ? locationNames(location) : [];
  return html`
    <nav class="bar path" aria-label="Locations">
      <${Link} to=${address(["locations"], span)} aria-current=${location ? undefined : "true"}>All countries<//>
      ${names.map((name, index) => {
        const to = parts.slice(0, index + 1).join("#");
        return html`
          <${Link} key=${to} to=${address(["locations"], { ...span, location: to })}
            aria-current=${to === location ? "true" : undefined}><${Name}>${name}<//><//>`;
      })}
    </nav>`;
}

const Days = ({ query, span }) => html`
  <${Filters} parts=${["locations"]} query=${span} read=${(chosen) => ({ ...query, ...chosen })}>
    <label>First day (UTC) <input type="date" name="from" defaultValue=${span.from} required /></label>
    <label>Last day <input type="date" name="to" defaultValue=${span.to} required /></label>
  <//>`;

/** Returns the sales of each day and location of a span, from all pages. */
async function salesOf(location, { from, to }) {
  if (!isDay(from) || !isDay(to) || from > to || to > laterDay(from, MOST_DAYS - 1)) {
    const detail = `Choose a first and a last day, at most ${MOST_DAYS} days in all.`;
    throw new Problem(0, "These days cannot be shown", detail);
  }
  const path = location ? `/locations/${segment(location)}` : "/locations";
  const level = location ? String(location.split("#").length + 1) : "1";
  const all = [];
  let next;
  do {
    const page = await get(withQuery(path, { from, to: laterDay(to, 1), level, limit: 1000, next }));
    for (const { day, location: at, sales } of page.items) {
      all.push(...sales.map((one) => ({ ...one, day, location: at })));
    }
    next = page.next;
  } while (next);
  return all;
}

/** Returns the exact sums of sales by a key, in the order in which the keys first occur. */
function summed(sales, key) {
  const groups = {};
  for (const one of sales) (groups[key(one)] ??= []).push(one);
  return Object.values(groups).map((group) => ({
    ...group[0],
    events: group.reduce((before, one) => before + one.events, 0),
    ...Object.fromEntries(Object.keys(FIGURES).map((name) => [name, sum(group.map((one) => one[name]))])),
  }));
}

function Sales({ query, span }) {
  const { location = "" } = query;
  const { value, problem, again } = useLoaded(() => salesOf(location, span), `${location} ${JSON.stringify(span)}`);
  const rows = useMemo(() => summed(value ?? [], (one) => `${one.currency}#${one.location}`), [value]);
  if (!value) return html`<${Pending} problem=${problem} retry=${again} />`;
  if (!value.length) {
    return html`<p class="empty">No sale of these days names a location here. Events name it in <code>location</code>;
      a report writes the figures when it seals a quarter-hour. Choose other days, or
      ${" "}<${Link} to=${address(["locations"])}>show all countries<//>.</p>`;
  }
  const currencies = [...new Set(value.map((one) => one.currency))].sort();
  const currency = currencies.includes(query.currency) ? query.currency : currencies[0];
  const daily = summed(value.filter((one) => one.currency === currency), (one) => one.day);
  const to = (more) => address(["locations"], { ...query, ...more });
  return html`
    ${currencies.length > 1 && html`
      <nav class="switch" aria-label="Currencies of the chart">
        ${currencies.map((one) => html`
          <${Link} key=${one} to=${to({ currency: one })} aria-current=${one === currency ? "true" : undefined}>
            ${one}<//>`)}
      </nav>`}
    <section class="card">
      <h2>Net sales in ${currency} by UTC day</h2>
      <${BarChart} label=${`Net sales in ${currency} by UTC day`} currency=${currency} span="day"
        starts=${days(span.from, laterDay(span.to, 1))} values=${daily.map((one) => [one.day, one.net])} />
    </section>
    <${List} name="locations" caption="Sales by location, of the quarter-hours that are sealed" rows=${rows}
      columns=${columnsOf(location, to)} sort=${{ by: "net", down: true }} />`;
}

const columnsOf = (shown, to) => [
  {
    key: "location", title: "Location", head: true, kind: "long",
    text: ({ location }) => [...locationNames(location), location].join(" "),
    cell: ({ location }) => html`<${Location} ...${{ shown, location, to }} />`,
  },
  { key: "currency", title: "Currency" },
  { key: "events", title: "Events", type: "number" },
  ...Object.entries(FIGURES).map(([key, title]) => ({ key, title, type: "money" })),
];

/** A location, linked to those within it; without a link for sales that name nothing below the location shown. */
const Location = ({ shown, location, to }) =>
  location === shown
    ? html`<${Name}>${locationNames(location).at(-1)}<//> itself`
    : html`<${Link} to=${to({ location })}><${Name}>${locationNames(location).at(-1)}<//><//>`;
