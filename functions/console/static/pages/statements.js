/** Statements: all that the reader may see, by period, agency and status; and the drafts that staff decide about. */
import { html } from "../vendor/htm-preact.js";
import { get } from "../api.js";
import * as format from "../format.js";
import { STAFF, may } from "../me.js";
import { Link, Money, More, SaveButton, Status, Table, fieldsOf, useLoaded, usePages } from "../parts.js";
import { address, navigate } from "../routes.js";
import { AgencyName } from "./agency-link.js";
import { Drafts } from "./drafts.js";

const HEAD = [
  ["Number"], ["Period"], ["Agency"], ["Currency"], ["Net sales", "n"], ["Commission", "n"], ["Tax", "n"],
  ["Closing", "n"], ["Status"],
];
const COLUMNS = ["number", "period", "agency", "currency", "net", "commission", "tax", "payments", "closing", "status"];
const STATUSES = ["not_issued", "issued", "accepted", "disputed", "resolved", "cancelled"];

/** Returns the address of a statement's page. */
export const statementAddress = ({ period, agency, currency }) => address(["statements", period, agency, currency]);

/** The page. */
export function Statements({ query }) {
  const { period, agency, status } = query;
  const list = usePages("/statements", { period, agency, status });
  return html`
    <${Filter} query=${query} />
    ${!status && may(...STAFF) && html`<${Drafts} ...${{ period, agency }} />`}
    ${list.items.length > 0 && html`
      <${StatementTable} items=${list.items} />
      <${SaveButton} name="statements" columns=${COLUMNS} items=${list.items} />`}
    ${list.empty && html`
      <p class="empty">
        ${period || agency || status
          ? html`No statement matches. <${Link} to=${address(["statements"])}>Show all statements<//>.`
          : "There are no statements yet. The statements of a month are made some days after it ends."}
      </p>`}
    <${More} list=${list} />`;
}

/** A table of statements. */
export const StatementTable = ({ items }) => html`
  <${Table} caption="Statements, the newest period first" head=${HEAD}>${items.map(row)}<//>`;

const row = (one) => html`
  <tr key=${statementAddress(one)}>
    <th scope="row" class="short"><${Link} to=${statementAddress(one)}>${one.number}<//></th>
    <td class="short">${one.period}</td>
    <td class="long"><${AgencyName} agency=${one.agency} /></td>
    <td>${one.currency}</td>
    <${Money} value=${one.net} currency=${one.currency} />
    <${Money} value=${one.commission} currency=${one.currency} />
    <${Money} value=${one.tax} currency=${one.currency} />
    <${Money} value=${one.closing} currency=${one.currency} />
    <td><${Status} value=${one.status} /></td>
  </tr>`;

function Filter({ query }) {
  const { value: periods } = useLoaded(() => get("/periods?limit=100"), "");
  const sealed = (periods?.items || []).filter((one) => one.state === "sealed").map((one) => one.period);
  const send = (event) => navigate(address(["statements"], fieldsOf(event)));
  const options = (values, chosen, text) => values.map((value) => html`
    <option key=${value} value=${value} selected=${value === chosen}>${text(value)}</option>`);
  return html`
    <form class="bar" onSubmit=${send} key=${JSON.stringify(query)}>
      <label>Period
        <select name="period">
          <option value="">All</option>${options(sealed, query.period, format.month)}
        </select>
      </label>
      <label>Status
        <select name="status">
          <option value="">All</option>${options(STATUSES, query.status, format.words)}
        </select>
      </label>
      ${may(...STAFF) && html`
        <label>Agency <input name="agency" defaultValue=${query.agency} autocomplete="off" /></label>`}
      <button>Show</button>
    </form>`;
}
