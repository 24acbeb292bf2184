/** Connections: what shops and payment providers have delivered, and the deliveries that are parked. */
import { html } from "../vendor/htm-preact.js";
import { segment } from "../lib/api.js";
import { Runbooks } from "../lib/links.js";
import { List } from "../lib/list.js";
import { Link, Name } from "../lib/parts.js";
import { address } from "../lib/routes.js";

/** Counts of a connection's state, each a column of its own. */
const count = (key, title, hidden = false) => ({
  key, title, type: "number", hidden, value: ({ state }) => state[key],
});
const COLUMNS = [
  {
    key: "name", title: "Name", head: true,
    cell: ({ name }) => html`<${Link} to=${address(["connections", name])}><${Name}>${name}<//><//>`,
  },
  { key: "provider", title: "Provider" },
  { key: "last_delivery", title: "Last delivery", type: "time", value: ({ state }) => state.last_delivery },
  count("delay_seconds", "Delay, s"),
  count("delivered", "Deliveries"),
  count("recorded", "Recorded"),
  count("duplicate", "Duplicates", true),
  count("held", "Held", true),
  count("parked", "Parked"),
  count("refused_signatures", "Refused"),
  { key: "url", title: "URL", kind: "long", hidden: true },
];

const OF_PARKED = [
  { key: "received_at", title: "Received", type: "time" },
  { key: "topic", title: "What", head: true },
  { key: "reason", title: "Reason", kind: "long" },
  { key: "bytes", title: "Bytes", type: "number", hidden: true },
  { key: "id", title: "Id", kind: "long", hidden: true },
];

/** The page of all connections. */
export const Connections = () => html`
  <p>
    Shops and payment providers send their own webhooks to them. Programs and finance write them by the API.
  </p>
  <${List} name="connections" caption="Connections" columns=${COLUMNS} path="/connections" empty=${html`
    <p class="empty">There is no connection yet. Create one with <code>PUT /connections/…</code>.</p>`} />
  <${Runbooks} names=${["deliveries-parked"]} />`;

/** The page of a connection: its parked deliveries. */
export const Connection = ({ name }) => html`
  <${List} name="parked" caption="Parked deliveries" columns=${OF_PARKED}
    path=${`/connections/${segment(name)}/parked`}
    empty=${html`<p class="empty">Nothing is parked.</p>`} />
  <${Runbooks} names=${["deliveries-parked"]} />`;
