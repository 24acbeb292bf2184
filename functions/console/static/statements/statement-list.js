/** A list of statements, with what is open of those of one agency. */
import { html } from "../vendor/htm-preact.js";
import { useNames } from "../lib/agencies.js";
import { agencyColumn, statementAddress } from "../lib/links.js";
import { List } from "../lib/list.js";
import { Link, useLoaded } from "../lib/parts.js";
import { openStatements } from "../lib/receivables.js";

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

/**
 * Returns the open statements of an agency by number; undefined until they are read, or without an agency. They are
 * read again when `version` changes.
 */
function useOpenStatements(agency, version = "") {
  const load = async () => (agency ? await openStatements(agency) : null);
  const { value } = useLoaded(load, `${agency} ${version}`);
  return value ? new Map(value.map((one) => [one.number, one])) : undefined;
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
