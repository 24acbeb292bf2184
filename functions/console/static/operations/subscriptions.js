/** Subscriptions: where notifications go, how far each is, and its deliveries. */
import { html } from "../vendor/htm-preact.js";
import { segment } from "../lib/api.js";
import { AgencyName, Runbooks } from "../lib/links.js";
import { List } from "../lib/list.js";
import { Link, Name } from "../lib/parts.js";
import { address } from "../lib/routes.js";

/** Where a subscription sends to: the bus has no address. */
const Target = ({ to }) => (to ? html`<${Name}>${to}<//>` : "the EventBridge bus");

/** The agency whose news a subscription gets, or of which a delivery tells; there may be none. */
const AGENCY = {
  key: "agency", title: "Agency", kind: "long",
  cell: ({ agency }) => agency && html`<${AgencyName} agency=${agency} />`,
};
const COLUMNS = [
  {
    key: "name", title: "Name", head: true,
    cell: ({ name }) => html`<${Link} to=${address(["subscriptions", name])}><${Name}>${name}<//><//>`,
  },
  {
    key: "address", title: "Address", kind: "long", cell: ({ address: to }) => html`<${Target} to=${to} />`,
  },
  AGENCY,
  { key: "status", title: "Status", type: "status" },
  { key: "last_outcome", title: "Latest attempt", type: "status" },
  { key: "failing_since", title: "Failing since", type: "time" },
  { key: "retry_at", title: "Next attempt", type: "time", hidden: true },
  { key: "kinds", title: "Kinds", kind: "long", value: ({ kinds }) => kinds.join(", "), hidden: true },
];

const OF_DELIVERIES = [
  { key: "timestamp", title: "Happened", type: "time" },
  { key: "type", title: "What", head: true },
  AGENCY,
  { key: "outcome", title: "Latest attempt", type: "status" },
  { key: "http_status", title: "Answer", type: "number" },
  { key: "attempts", title: "Attempts", type: "number" },
  { key: "at", title: "Attempted", type: "time", hidden: true },
  { key: "id", title: "Id", kind: "long", hidden: true },
];

/** The page of all subscriptions. */
export const Subscriptions = () => html`
  <p>
    Each gets what happens as signed webhooks, in order and at least once. Programs and finance write them by the API.
  </p>
  <${List} name="subscriptions" caption="Subscriptions" columns=${COLUMNS} path="/subscriptions" empty=${html`
    <p class="empty">There is no subscription yet. Create one with <code>PUT /subscriptions/…</code>.</p>`} />
  <${Runbooks} names=${["subscriptions-disabled"]} />`;

/** The page of a subscription: its deliveries. */
export const Subscription = ({ name }) => html`
  <${List} name="deliveries" caption="Deliveries of the last 31 days, the newest first" columns=${OF_DELIVERIES}
    path=${`/subscriptions/${segment(name)}/deliveries`}
    empty=${html`<p class="empty">Nothing was sent to it yet.</p>`} />`;
