/** Agencies: all that are registered. */
import { html, useState } from "../vendor/htm-preact.js";
import { matching } from "../agencies.js";
import { may } from "../me.js";
import { Link, More, Name, SaveAllButton, SaveButton, Status, Table, usePages } from "../parts.js";
import { address } from "../routes.js";
import { useAgencies } from "./agency-field.js";
import { AgencyLink } from "./agency-link.js";
import { RegisterAnother } from "./registration.js";

const HEAD = [["Agency"], ["Country"], ["Currency"], ["Group"], ["Status"]];
const SHOWN = 100;
const COLUMNS = ["agency", "legal_name", "country", "currency", "group", "status", "valid_from"];

/** The page. */
export function Agencies() {
  const list = usePages("/agencies", {});
  const [text, setText] = useState("");
  const all = useAgencies();
  const found = text.trim() ? matching(all, text).slice(0, SHOWN) : list.items;
  return html`
    <${RegisterAnother} />
    ${may("finance") && html`
      <p><${Link} to=${address(["upload"], { kind: "agencies" })}>Upload a file of agencies<//></p>`}
    ${list.items.length > 0 && html`
      <div class="bar">
        <label>Find by name or id
          <input type="search" autocomplete="off" onInput=${(event) => setText(event.target.value)} />
        </label>
      </div>`}
    ${found.length > 0 && html`
      <${Table} caption="Registered agencies" head=${HEAD}>${found.map(row)}<//>
      ${text.trim()
        ? html`<${SaveButton} name="agencies" columns=${COLUMNS} items=${found} />`
        : html`<${SaveAllButton} name="agencies" columns=${COLUMNS} list=${list} />`}`}
    ${list.items.length > 0 && !found.length && html`<p class="empty">No agency has this name or id.</p>`}
    ${list.empty && html`
      <p class="empty">
        No agency is registered yet. Finance registers them here.
        ${" "}<${Link} to=${address(["accounts"])}>Accounts<//> shows all agencies that have events.
      </p>`}
    ${!text.trim() && html`<${More} list=${list} />`}`;
}

const row = (one) => html`
  <tr key=${one.agency}>
    <th scope="row" class="long"><${AgencyLink} agency=${one.agency} /></th>
    <td>${one.country}</td>
    <td>${one.currency}</td>
    <td class="long"><${Name}>${one.group}<//></td>
    <td><${Status} value=${one.status} /></td>
  </tr>`;
