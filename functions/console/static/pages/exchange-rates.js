/** Exchange rates: those in force, and the history of one with a chart. */
import { html, useState } from "../vendor/htm-preact.js";
import { segment } from "../api.js";
import { StepChart } from "../chart.js";
import * as format from "../format.js";
import { Link, More, Name, SaveButton, Table, Time, usePages } from "../parts.js";
import { address } from "../routes.js";
import { EnterRates } from "./enter-rates.js";

const HEAD = [["Currency"], ["Rate", "n"], ["Base currency"], ["Since"], ["Source"]];
const CAPTION = "Exchange rates in force: units of each currency for one unit of the base currency";
const HISTORY_HEAD = [["Since"], ["Rate", "n"], ["Base currency"], ["Source"]];
const COLUMNS = ["units_per_base", "base", "as_of", "source"];
const HISTORY_SHOWN = 366;

/** The page of all rates. */
export function ExchangeRates() {
  const [turn, setTurn] = useState(0);
  return html`<${List} key=${turn} onEntered=${() => setTurn((before) => before + 1)} />`;
}

function List({ onEntered }) {
  const list = usePages("/exchange-rates", {});
  const items = list.items.toSorted((one, other) => (one.currency < other.currency ? -1 : 1));
  return html`
    ${items.length > 0 && html`
      <${Table} caption=${CAPTION} head=${HEAD}>
        ${items.map((one) => html`
          <tr key=${one.currency}>
            <th scope="row"><${Link} to=${address(["exchange-rates", one.currency])}>${one.currency}<//></th>
            <${Facts} rate=${one} />
            <td class="short"><${Time} at=${one.as_of} /></td>
            <td class="long"><${Name}>${one.source}<//></td>
          </tr>`)}
      <//>
      <${SaveButton} name="exchange-rates" columns=${["currency", ...COLUMNS]} items=${items} />`}
    ${list.empty && html`
      <p class="empty">There is no exchange rate yet. Finance enters them here, an operator with
        ${" "}<code>quarterhour rates</code>.</p>`}
    <${More} list=${list} />
    ${!list.busy && !list.problem && html`<${EnterRates} items=${items} onDone=${onEntered} />`}`;
}

/** The page of one currency: all its rates, the newest first. */
export function ExchangeRate({ currency }) {
  const list = usePages(`/exchange-rates/${segment(currency)}/history`, { last: HISTORY_SHOWN });
  const { items } = list;
  // Rates of different base currencies do not compare, so the line begins with the first rate of the present base.
  const other = items.findIndex((one) => one.base !== items[0].base);
  const shown = items.slice(0, other < 0 ? items.length : other).toReversed();
  return html`
    ${items.length > 0 && html`
      <${StepChart} label=${`Units of ${currency} for one ${items[0].base || "unit of the base currency"}`}
        until=${new Date().toISOString()} values=${shown.map((one) => [one.as_of, one.units_per_base])} />
      <${Table} caption=${`Rates of ${currency}, the newest first`} head=${HISTORY_HEAD}>
        ${items.map((one) => html`
          <tr key=${one.as_of}>
            <th scope="row" class="short"><${Time} at=${one.as_of} /></th>
            <${Facts} rate=${one} />
            <td class="long"><${Name}>${one.source}<//></td>
          </tr>`)}
      <//>
      <${SaveButton} name=${currency} columns=${COLUMNS} items=${items} />`}
    <${More} list=${list} />`;
}

/** The cells of a rate and its base currency, which is not named if the deployment named none. */
const Facts = ({ rate }) => html`
  <td class="n">${format.exact(rate.units_per_base)}</td><td>${rate.base || "not named"}</td>`;
