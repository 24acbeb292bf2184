/** The figures of a statement, a preview or a draft. */
import { html } from "../vendor/htm-preact.js";
import { sum } from "../lib/decimal.js";
import * as format from "../lib/format.js";
import { Money, Table } from "../lib/parts.js";

/** The figures in the order in which they are added up; of those with `true`, zero is left out. */
const FIGURES = [
  ["opening", "Opening balance"],
  ["sales", "Sales"], ["gross", "Sales"], ["voids", "Voids", true], ["refunds", "Refunds", true],
  ["adjustments", "Adjustments", true],
  ["net", "Net sales"],
  ["commission_exact", "Commission before rounding"], ["commission", "+ Commission, rounded"], ["tax", "+ Tax"],
  ["payable", "Payable for this period"], ["proceeds", "− Net sales, collected by the marketplace", true],
  ["payments", "− Payments", true],
  ["closing", "Closing balance"],
];
const SUMS = ["net", "payable", "closing"];

/** The figures of a statement or a preview, with all their digits. */
export function Figures({ statement }) {
  const { currency, commission, tax, closing } = statement;
  const figures = { payable: sum([commission, tax]), ...statement };
  const isShown = ([name, , isOptional]) => figures[name] && (!isOptional || /[1-9]/.test(figures[name]));
  return html`
    <${Table} caption=${`Figures in ${currency}. Closing balance: ${format.owed(closing)}`}
      head=${[["Figure"], ["Amount", "n"]]}>
      ${FIGURES.filter(isShown).map(([name, text]) => html`
        <tr key=${name} class=${SUMS.includes(name) ? "sum" : ""}>
          <th scope="row">${text}</th>
          <${Money} value=${figures[name]} currency=${currency} />
        </tr>`)}
    <//>`;
}
