/** Accounts: each agency and currency with its lifetime totals. */
import { html } from "../vendor/htm-preact.js";
import { useNames } from "../lib/agencies.js";
import { AgencyLink, agencyColumn } from "../lib/links.js";
import { List } from "../lib/list.js";
import { isViews } from "../lib/open-items.js";
import { Name, NoEvents } from "../lib/parts.js";

const EMPTY = html`<${NoEvents}>No event is recorded yet.<//>`;
/** A column of sums, which page views do not have. */
const figure = (key, title, more) => ({
  key, title, type: "money", value: (one) => (isViews(one) ? "" : one[key]), ...more,
});

const columnsOf = (names) => [
  agencyColumn(names, {
    title: "Agency or page", head: true,
    cell: (one) => (isViews(one) ? html`<${Name}>${one.agency}<//>` : html`<${AgencyLink} ...${one} />`),
  }),
  { key: "currency", title: "Currency", cell: (one) => (isViews(one) ? "page views" : one.currency) },
  { key: "events", title: "Events", type: "number" },
  figure("gross", "Sales", { hidden: true }),
  figure("refunds", "Refunds", { hidden: true }),
  figure("net", "Net sales"),
  figure("commission", "Commission"),
  figure("payments", "Payments", { hidden: true }),
];

/** The page. */
export const Accounts = ({ query: { agency } }) => html`
  <${List} name="accounts" caption="Lifetime totals" columns=${columnsOf(useNames())} path="/accounts"
    parameters=${{ agency }} empty=${EMPTY} />`;
