/** Questions: the named queries of the warehouse that routes answer, for days that one chooses. */
import { html, useMemo } from "../vendor/htm-preact.js";
import { useNames } from "../lib/agencies.js";
import { get, withQuery } from "../lib/api.js";
import { isDay, laterDay, laterMonth, monthOf } from "../lib/calendar.js";
import { compare, difference, larger, sum } from "../lib/decimal.js";
import { AgencyField, Filters } from "../lib/filters.js";
import { AgencyLink, agencyColumn } from "../lib/links.js";
import { List } from "../lib/list.js";
import { STAFF, may } from "../lib/me.js";
import { Command, Link, Name, Pending, useLoaded } from "../lib/parts.js";
import { Problem } from "../lib/problem.js";
import { address } from "../lib/routes.js";
import { spanOf } from "./locations.js";

const MOST_DAYS = 366;
const TOP = 10;
const SUMS = ["gross", "refunds", "net", "commission"];

const figure = (key, title, more) => ({ key, title, type: "money", ...more });
const FIGURES = [
  { key: "currency", title: "Currency" },
  { key: "events", title: "Events", type: "number" },
  figure("gross", "Sales", { hidden: true }),
  figure("refunds", "Refunds", { hidden: true }),
  figure("net", "Net sales"),
  figure("commission", "Commission"),
];
const AMOUNTS = [
  figure("lowest", "Lowest sale"),
  figure("highest", "Highest sale"),
  figure("latest", "Latest sale"),
  { key: "latest_at", title: "Latest at", type: "time", hidden: true },
];
const account = (names) => agencyColumn(names, { head: true, cell: (one) => html`<${AgencyLink} ...${one} />` });
/** The column of what sales are split by; `others`: what is beyond the number that a run names. */
const named = (key, title) => {
  const text = (one) => one[key] ?? (one.others ? "All others" : `No ${key}`);
  return {
    key, title, head: true, kind: "long", text,
    cell: (one) => (one[key] ? html`<${Name}>${one[key]}<//>` : html`<em>${text(one)}</em>`),
  };
};

/**
 * The questions, by the names of the queries. `load(span, agency)` promises the rows. `lacks`: that no query has this
 * name. `roles`: who may ask it, if not everybody.
 */
const QUESTIONS = {
  totals: {
    title: "Totals by agency",
    text: "What each agency sold, and its commission, by currency. Events count when they were recorded.",
    load: async (span, agency) => (await accounts({ ...overview(span), agency })).map(now),
    columns: (names) => [account(names), ...FIGURES],
    sort: { by: "commission", down: true },
  },
  periods: {
    title: "Totals by period",
    text: "The same for each period that begins or ends within these days, as statements count it.",
    load: periods,
    columns: (names) => [account(names), { key: "period", title: "Period", type: "month" }, ...FIGURES],
    sort: { by: "period", down: true },
  },
  "top-agencies": {
    title: "Top agencies",
    text: `The ${TOP} agencies with the most commission in each currency.`,
    roles: STAFF,
    load: async (span, agency) => ranked((await accounts({ ...overview(span), agency })).map(now)),
    columns: (names) => [account(names), { key: "place", title: "Place", type: "number" }, ...FIGURES],
    sort: { by: "place" },
  },
  "agencies-that-sell-less": {
    title: "Agencies that sell less",
    text: "Those whose net sales are below those of as many days before.",
    load: async (span, agency) => less(await accounts({ ...overview(span), agency })),
    columns: (names) => [
      account(names), { key: "currency", title: "Currency" },
      figure("before", "Net sales before"), figure("net", "Net sales"), figure("difference", "Difference"),
    ],
    sort: { by: "difference" },
  },
  "commission-by-product": {
    title: "Commission by product",
    text: "Net sales and commission of each product in sealed quarter-hours, with the lowest, the highest and the "
      + "latest amount of a sale. Corrections count under the product that they name.",
    load: (span, agency) => sales("product", span, agency),
    columns: () => [named("product", "Product"), ...FIGURES, ...AMOUNTS],
    sort: { by: "commission", down: true },
  },
  "commission-by-category": {
    title: "Commission by category",
    text: "The same by category. Corrections count in the category of their sale.",
    lacks: true,
    load: (span, agency) => sales("category", span, agency),
    columns: () => [named("category", "Category"), ...FIGURES, ...AMOUNTS],
    sort: { by: "commission", down: true },
  },
};
/** The named queries that need single events or customers, which no route adds up. */
const FOR_SQL = ["commission-by-product-and-week", "refunds-by-age", "customers", "cohorts", "rate-card"];

/** The page: one question, for the days of the address or those of two periods. */
export function Questions({ query }) {
  const { value: span, problem, again } = useLoaded(() => spanOf(query), `${query.from} ${query.to}`);
  const asked = Object.keys(QUESTIONS).filter((name) => !QUESTIONS[name].roles || may(...QUESTIONS[name].roles));
  const ask = asked.includes(query.ask) ? query.ask : asked[0];
  if (!span) return html`<${Pending} problem=${problem} retry=${again} />`;
  const { agency } = query;
  return html`
    <nav class="switch" aria-label="Questions">
      ${asked.map((name) => html`
        <${Link} key=${name} to=${address(["questions"], { ...query, ask: name })}
          aria-current=${name === ask ? "true" : undefined}>${QUESTIONS[name].title}<//>`)}
    </nav>
    <${Filters} parts=${["questions"]} query=${{ ...span, agency }} read=${(chosen) => ({ ...query, ...chosen })}>
      <label>First day (UTC) <input type="date" name="from" defaultValue=${span.from} required /></label>
      <label>Last day <input type="date" name="to" defaultValue=${span.to} required /></label>
      ${may(...STAFF) && html`<${AgencyField} value=${agency} />`}
    <//>
    <${Answer} key=${ask} ...${{ ask, span, agency }} />
    ${may(...STAFF) && html`
      <p class="note">Questions on single events and customers need the warehouse:
        ${FOR_SQL.map((name) => html`${" "}<code key=${name}>${name}</code>`)}. To read what they answer, run
        ${" "}<code>quarterhour sql --list</code>.</p>`}`;
}

function Answer({ ask, span, agency }) {
  const { title, text, lacks, load, columns, sort } = QUESTIONS[ask];
  const { value, problem, again } = useLoaded(async () => load(checked(span), agency), JSON.stringify([span, agency]));
  const names = useNames();
  const shown = useMemo(() => columns(names), [names]);
  if (!value) return html`<${Pending} problem=${problem} retry=${again} />`;
  return html`
    <p>${text}</p>
    ${may(...STAFF) && !lacks && html`
      <${Command} text="The same of all sealed data" command=${`quarterhour sql --query ${ask} FOLDER`} />`}
    <${List} name=${ask} caption=${title} rows=${value} columns=${shown} sort=${sort} empty=${EMPTY} />`;
}

const EMPTY = html`<p class="empty">Nothing in these days. Figures by product begin with the first run that this version
  has sealed. Choose other days.</p>`;

function checked({ from, to }) {
  if (isDay(from) && isDay(to) && from <= to && to <= laterDay(from, MOST_DAYS - 1)) return { from, to };
  const detail = `Choose a first and a last day, at most ${MOST_DAYS} days in all.`;
  throw new Problem(0, "These days cannot be shown", detail);
}

const overview = ({ from, to }) => ({ from, to: laterDay(to, 1) });

/** Returns the items of all pages of a list. */
async function all(path, parameters) {
  const items = [];
  let next;
  do {
    const page = await get(withQuery(path, { ...parameters, limit: path === "/overview" ? 100 : 1000, next }));
    items.push(...page.items);
    next = page.next;
  } while (next);
  return items;
}

/** Returns the accounts of an overview that have events in its span or in the one before. */
const accounts = async (parameters) =>
  (await all("/overview", parameters)).filter((one) => one.now.events || one.before.events);

const now = ({ agency, currency, now: figures }) => ({ ...figures, agency, currency });

async function periods({ from, to }, agency) {
  const rows = [];
  for (let period = monthOf(from); period <= monthOf(to); period = laterMonth(period, 1)) {
    const found = await accounts({ period, agency });
    rows.push(...found.filter((one) => one.now.events).map((one) => ({ ...now(one), period })));
  }
  return rows;
}

/** Returns the first accounts of each currency by commission, with their places; equal ones share a place. */
function ranked(rows) {
  const ordered = [...rows].sort((one, other) => compare(other.commission, one.commission));
  const groups = {};
  for (const one of ordered) (groups[one.currency] ??= []).push(one);
  return Object.keys(groups).sort().flatMap((currency) => groups[currency]
    .map((one, _, group) => {
      const place = 1 + group.findIndex((other) => !compare(other.commission, one.commission));
      return { ...one, place };
    })
    .filter(({ place }) => place <= TOP));
}

const less = (rows) => rows
  .map(({ agency, currency, now: { net }, before: { net: before } }) =>
    ({ agency, currency, net, before, difference: difference(net, before) }))
  .filter((one) => one.difference.startsWith("-"));

/** Returns what was sold in a span of each product or category, by currency. */
async function sales(by, { from, to }, agency) {
  const items = await all("/sales", { from, to: laterDay(to, 1), by, agency });
  const groups = new Map();
  for (const { day, sales: sold, ...name } of items) {
    for (const one of sold) {
      const key = JSON.stringify([name, one.currency]);
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push({ ...one, ...name });
    }
  }
  return [...groups.values()].map(added);
}

/** Returns the exact sums of some figures of the same product, with the lowest, the highest and the latest amount. */
export function added(group) {
  const sold = group.filter((one) => one.latest_at);
  const last = sold.reduce((before, one) => (one.latest_at >= before.latest_at ? one : before), { latest_at: "" });
  const most = (key, better) => sold.map((one) => one[key]).reduce(better, sold[0]?.[key] ?? "");
  return {
    ...group[0],
    events: group.reduce((before, one) => before + one.events, 0),
    ...Object.fromEntries(SUMS.map((key) => [key, sum(group.map((one) => one[key]))])),
    lowest: most("lowest", (one, other) => (compare(other, one) < 0 ? other : one)),
    highest: most("highest", larger),
    latest: last.latest ?? "",
    latest_at: last.latest_at,
  };
}
