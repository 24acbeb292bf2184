/** Exchange rates: those in force, and the history of one with a chart. */
import { html, useState } from "../vendor/htm-preact.js";
import { all, get, segment, withQuery } from "../lib/api.js";
import { StepChart } from "../lib/chart.js";
import * as format from "../lib/format.js";
import { List } from "../lib/list.js";
import { Link, Pending, useLoaded } from "../lib/parts.js";
import { address } from "../lib/routes.js";
import { EnterRates } from "./enter-rates.js";

const CAPTION = "Exchange rates in force: units of each currency for one unit of the base currency";
const HISTORY_SHOWN = 366;
const CURRENCY = {
  key: "currency", title: "Currency", head: true,
  cell: ({ currency }) => html`<${Link} to=${address(["exchange-rates", currency])}>${currency}<//>`,
};
const SINCE = { key: "as_of", title: "Since", type: "time" };
const FACTS = [
  {
    key: "units_per_base", title: "Rate", type: "number", value: (one) => one.units_per_base,
    cell: (one) => format.exact(one.units_per_base),
  },
  { key: "base", title: "Base currency", cell: ({ base }) => base || "not named" },
];
const SOURCE = { key: "source", title: "Source", kind: "long" };

/** The page of all rates. */
export function ExchangeRates() {
  const [turn, setTurn] = useState(0);
  const { value: items, problem, again } = useLoaded(() => all("/exchange-rates"), turn);
  if (!items) return html`<${Pending} problem=${problem} retry=${again} />`;
  return html`
    <${List} name="exchange-rates" caption=${CAPTION} columns=${[CURRENCY, ...FACTS, SINCE, SOURCE]}
      rows=${items} sort=${{ by: "currency", down: false }} empty=${html`
        <p class="empty">There is no exchange rate yet. Finance enters them here, an operator with
          ${" "}<code>quarterhour rates</code>.</p>`} />
    <${EnterRates} items=${items} onDone=${() => setTurn((before) => before + 1)} />`;
}

/** The page of one currency: all its rates, the newest first. */
export function ExchangeRate({ currency }) {
  const path = `/exchange-rates/${segment(currency)}/history`;
  const load = (next, limit) => get(withQuery(path, { last: Math.max(HISTORY_SHOWN, limit), next }));
  return html`
    <${List} name=${currency} caption=${`Rates of ${currency}, the newest first`}
      columns=${[{ ...SINCE, head: true }, ...FACTS, SOURCE]} path=${path} load=${load}
      sort=${{ by: "as_of", down: true }}
      above=${(items) => html`<${Steps} currency=${currency} items=${items} />`} />`;
}

/** The rates as a line. Those of different base currencies do not compare, so it begins with the present base. */
function Steps({ currency, items }) {
  const other = items.findIndex((one) => one.base !== items[0].base);
  const shown = items.slice(0, other < 0 ? items.length : other).toReversed();
  const label = `Units of ${currency} for one ${items[0].base || "unit of the base currency"}`;
  return html`
    <section class="card">
      <h2>${label}</h2>
      <${StepChart} label=${label} until=${new Date().toISOString()}
        values=${shown.map((one) => [one.as_of, one.units_per_base])} />
    </section>`;
}
