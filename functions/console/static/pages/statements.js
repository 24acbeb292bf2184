/** Statements: all that the reader may see, by period, agency and status. */
import { html } from "../vendor/htm-preact.js";
import { get } from "../api.js";
import * as format from "../format.js";
import { STAFF, may, reader } from "../me.js";
import { Link, Money, More, SaveAllButton, Status, Table, fieldsOf, useLoaded, usePages } from "../parts.js";
import { useOpenStatements } from "../receivables.js";
import { address, navigate } from "../routes.js";
import { AgencyField, withAgency } from "./agency-field.js";
import { AgencyName } from "./agency-link.js";
import { accountStatementAddress } from "./receivables.js";

const HEAD = [
  ["Number"], ["Period"], ["Agency"], ["Currency"], ["Net sales", "n"], ["Commission", "n"], ["Tax", "n"],
  ["Closing", "n"], ["Status"],
];
const PAYMENT = [["Open", "n"], ["Payment"]];
const COLUMNS = ["number", "period", "agency", "currency", "net", "commission", "tax", "payments", "closing", "status"];
const STATUSES = ["not_issued", "issued", "accepted", "disputed", "resolved", "cancelled"];

/** Returns the address of a statement's page. */
export const statementAddress = ({ period, agency, currency }) => address(["statements", period, agency, currency]);

const closeAddress = (period) => address(period ? ["close", period] : ["close"]);

/** The page. */
export function Statements({ query }) {
  const { period, agency, status } = query;
  const list = usePages("/statements", { period, agency, status });
  const own = agency || reader().agencies[0];
  const open = useOpenStatements(own);
  return html`
    <${Filter} query=${query} />
    ${!status && may(...STAFF) && html`
      <p class="note">Drafts without a statement: <${Link} to=${closeAddress(period)}>close the period<//>.</p>`}
    ${own && html`
      <p class="note">What is owed, and by when: <${Link} to=${accountStatementAddress(own)}>the account statement<//>.
      </p>`}
    ${list.items.length > 0 && html`
      <${StatementTable} items=${list.items} open=${open} />
      <${SaveAllButton} name="statements" columns=${COLUMNS} list=${list} />`}
    ${list.empty && html`
      <p class="empty">
        ${period || agency || status
          ? html`No statement matches. <${Link} to=${address(["statements"])}>Show all statements<//>.`
          : "There are no statements yet. The statements of a month are made some days after it ends."}
      </p>`}
    <${More} list=${list} />`;
}

/** A table of statements. `open`: the open ones of their agency by number; without it, nothing is shown of payments. */
export const StatementTable = ({ items, open }) => html`
  <${Table} caption="Statements, the newest period first" head=${open ? [...HEAD, ...PAYMENT] : HEAD}>
    ${items.map((one) => row(one, open))}
  <//>`;

const row = (one, open) => html`
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
    ${open && payment(open.get(one.number), one.currency)}
  </tr>`;

const payment = (one, currency) => html`
  <${Money} value=${one?.open} currency=${currency} />
  <td>${one && html`<${Status} value=${one.status} />`}</td>`;

function Filter({ query }) {
  const { value: periods } = useLoaded(() => get("/periods?limit=100"), "");
  const sealed = (periods?.items || []).filter((one) => one.state === "sealed").map((one) => one.period);
  const send = async (event) => navigate(address(["statements"], await withAgency(fieldsOf(event))));
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
        <${AgencyField} value=${query.agency} />`}
      <button>Show</button>
    </form>`;
}
