/** Accounts: each agency and currency with its lifetime totals. */
import { html } from "../vendor/htm-preact.js";
import * as format from "../format.js";
import { Money, More, Name, NoEvents, SaveAllButton, Table, usePages } from "../parts.js";
import { AgencyLink } from "./agency-link.js";

const HEAD = [["Agency or page"], ["Currency"], ["Events", "n"], ["Net sales", "n"], ["Commission", "n"]];
const VIEWS = "XXX"; // The currency of an account of page views, which is named by its page, not an agency.
const COLUMNS = ["agency", "currency", "events", "gross", "refunds", "net", "commission", "payments"];

/** The page. */
export function Accounts({ query: { agency } }) {
  const list = usePages("/accounts", { agency });
  if (list.empty) return html`<${NoEvents}>No event is recorded yet.<//>`;
  return html`
    ${list.items.length > 0 && html`
      <${Table} caption="Lifetime totals" head=${HEAD}>
        ${list.items.map((one) => html`
          <tr key=${`${one.agency}#${one.currency}`}>
            <th scope="row" class="long">
              ${one.currency === VIEWS ? html`<${Name}>${one.agency}<//>` : html`<${AgencyLink} ...${one} />`}
            </th>
            <td>${one.currency === VIEWS ? "page views" : one.currency}</td>
            <td class="n">${format.count(one.events)}</td>
            ${one.currency === VIEWS
              ? html`<td></td><td></td>`
              : html`
                <${Money} value=${one.net} currency=${one.currency} />
                <${Money} value=${one.commission} currency=${one.currency} />`}
          </tr>`)}
      <//>
      <${SaveAllButton} name="accounts" columns=${COLUMNS} list=${list} />`}
    <${More} list=${list} />`;
}
