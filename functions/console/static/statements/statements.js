/** Statements: all that the reader may see, by period, agency and status. */
import { html } from "../vendor/htm-preact.js";
import { get } from "../lib/api.js";
import { AgencyField, Filters } from "../lib/filters.js";
import * as format from "../lib/format.js";
import { accountStatementAddress } from "../lib/links.js";
import { STAFF, may, reader } from "../lib/me.js";
import { Link, useLoaded } from "../lib/parts.js";
import { address } from "../lib/routes.js";
import { statusWords } from "../lib/status.js";
import { StatementList } from "./statement-list.js";

const STATUSES = ["issued", "accepted", "disputed", "resolved", "cancelled"];
const NONE_YET = "There are no statements yet. The statements of a month are made some days after it ends.";

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
    <p class="note">You received a statement or a certificate? <${Link} to=${address(["verify"])}>Verify it<//>.</p>
    <${StatementList} parameters=${{ period, agency, status }} owner=${own} empty=${empty} />`;
}

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
