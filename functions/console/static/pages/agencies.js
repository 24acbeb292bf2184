/** Agencies: all that are registered. */
import { html } from "../vendor/htm-preact.js";
import { Link, More, Name, SaveButton, Status, Table, usePages } from "../parts.js";
import { address } from "../routes.js";
import { AgencyLink } from "./agency-link.js";
import { RegisterAnother } from "./registration.js";

const HEAD = [["Agency"], ["Country"], ["Currency"], ["Group"], ["Status"]];
const COLUMNS = ["agency", "legal_name", "country", "currency", "group", "status", "valid_from"];

/** The page. */
export function Agencies() {
  const list = usePages("/agencies", {});
  return html`
    <${RegisterAnother} />
    ${list.items.length > 0 && html`
      <${Table} caption="Registered agencies" head=${HEAD}>${list.items.map(row)}<//>
      <${SaveButton} name="agencies" columns=${COLUMNS} items=${list.items} />`}
    ${list.empty && html`
      <p class="empty">
        No agency is registered yet. Finance registers them here.
        ${" "}<${Link} to=${address(["accounts"])}>Accounts<//> shows all agencies that have events.
      </p>`}
    <${More} list=${list} />`;
}

const row = (one) => html`
  <tr key=${one.agency}>
    <th scope="row" class="long"><${AgencyLink} agency=${one.agency} /></th>
    <td>${one.country}</td>
    <td>${one.currency}</td>
    <td class="long"><${Name}>${one.group}<//></td>
    <td><${Status} value=${one.status} /></td>
  </tr>`;
