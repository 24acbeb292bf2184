/** Statements: all that the reader may see, by period, agency and status. */
import { html } from "../vendor/htm-preact.js";
import { useNames } from "../lib/agencies.js";
import { get } from "../lib/api.js";
import { AgencyField, Filters } from "../lib/filters.js";
import * as format from "../lib/format.js";
import { agencyColumn } from "../lib/links.js";
import { List } from "../lib/list.js";
import { STAFF, may, reader } from "../lib/me.js";
import { Link, useLoaded } from "../lib/parts.js";
import { useOpenStatements } from "../lib/receivables.js";
import { address } from "../lib/routes.js";
import { statusWords } from "../lib/status.js";
import { accountStatementAddress } from "../payments/receivables.js";

const STATUSES = ["not_issued", "issued", "accepted", "disputed", "resolved", "cancelled"];
const NONE_YET = "There are no statements yet. The statements of a month are made some days after it ends.";

/** Returns the address of a statement's page. */
export const statementAddress = ({ period, agency, currency }) => address(["statements", period, agency, currency]);

const closeAddress = (period) => address(period ? ["close", period] : ["close"]);

/** The page. */
export function Statements({ query }) {
  const { period, agency, status } = query;
  const own = agency || reader().agencies?.[0];
  const empty = html`
    <p class="empty">
      ${period || agency || status
        ? html`No statement matches. <${Link} to=${address(["statements"])}>Show all statements<//>.` : NONE_YET}
    </p>`;
  return html`
    <${Filter} query=${query} />
    ${!status && may(...STAFF) && html`
      <p class="note">Drafts without a statement: <${Link} to=${closeAddress(period)}>close the period<//>.</p>`}
    ${own && html`
      <p class="note">What is owed, and by when: <${Link} to=${accountStatementAddress(own)}>the account statement<//>.
      </p>`}
    <${StatementList} parameters=${{ period, agency, status }} owner=${own} empty=${empty} />`;
}

/**
 * A list of statements. `parameters`: which. `owner`: their agency, of which the payments are shown; without it,
 * nothing is shown of payments. They are read again when `version` changes. `size`: that of a part of an agency's page,
 * which does not repeat the agency.
 */
export function StatementList({ parameters, owner, version, empty, size }) {
  const open = useOpenStatements(owner, version);
  const columns = columnsOf(useNames(), open, Boolean(size));
  return html`
    <${List} name="statements" caption="Statements, the newest period first" columns=${columns} path="/statements"
      ...${{ parameters, empty, size }} />`;
}

const columnsOf = (names, open, isPart) => [
  {
    key: "number", title: "Number", head: true, kind: "short",
    cell: (one) => html`<${Link} to=${statementAddress(one)}>${one.number}<//>`,
  },
  { key: "period", title: "Period", type: "month" },
  agencyColumn(names, isPart ? { hidden: true } : {}),
  { key: "currency", title: "Currency" },
  { key: "net", title: "Net sales", type: "money" },
  { key: "commission", title: "Commission", type: "money" },
  { key: "tax", title: "Tax", type: "money" },
  { key: "payments", title: "Payments", type: "money", hidden: true },
  { key: "closing", title: "Closing", type: "money" },
  { key: "status", title: "Status", type: "status" },
  ...(open?.size
    ? [
      { key: "open", title: "Open", type: "money", value: ({ number }) => open.get(number)?.open },
      { key: "payment", title: "Payment", type: "status", value: ({ number }) => open.get(number)?.status },
    ]
    : []),
];

function Filter({ query }) {
  const { value: periods } = useLoaded(() => get("/periods?limit=100"), "");
  const sealed = (periods?.items || []).filter((one) => one.state === "sealed").map((one) => one.period);
  const known = query.period && !sealed.includes(query.period) ? [query.period, ...sealed] : sealed;
  const options = (values, chosen, text) => values.map((value) => html`
    <option key=${value} value=${value} selected=${value === chosen}>${text(value)}</option>`);
  return html`
    <${Filters} parts=${["statements"]} query=${query}>
      <label>Period
        <select name="period">
          <option value="">All</option>${options(known, query.period, format.month)}
        </select>
      </label>
      <label>Status
        <select name="status">
          <option value="">All</option>${options(STATUSES, query.status, statusWords)}
        </select>
      </label>
      ${may(...STAFF) && html`
        <${AgencyField} value=${query.agency} />`}
    <//>`;
}
