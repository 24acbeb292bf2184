/** Connections: what shops and payment providers have delivered, and how finance writes them. */
import { html, useState } from "../vendor/htm-preact.js";
import { connectionPath, get } from "../lib/api.js";
import * as format from "../lib/format.js";
import { Runbooks } from "../lib/links.js";
import { List } from "../lib/list.js";
import { may } from "../lib/me.js";
import { Command, Link, Name, Pending, Time, useLoaded } from "../lib/parts.js";
import { address, navigate } from "../lib/routes.js";
import { Connect, Delete, Rotate, factsOf } from "./connection-forms.js";
import { ParkedDeliveries } from "./parked-deliveries.js";

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
const COUNTS = {
  delivered: "Deliveries", recorded: "Events recorded", duplicate: "Duplicates", held: "Held",
  parked: "Deliveries parked", refused_signatures: "Signatures refused",
};

/** The page of all connections. */
export function Connections() {
  const [asking, setAsking] = useState(false);
  const show = ({ name }) => navigate(address(["connections", name]));
  return html`
    <p>
      Shops and payment providers send their own webhooks to them. Programs write them by the API, too.
    </p>
    ${may("finance") && html`
      <p class="bar"><button type="button" onClick=${() => setAsking(true)}>Connect a provider</button></p>`}
    <${List} name="connections" caption="Connections" columns=${COLUMNS} path="/connections"
      empty=${html`<p class="empty">There is no connection yet.</p>`} />
    ${asking && html`<${Connect} onDone=${show} onClose=${() => setAsking(false)} />`}
    <${Runbooks} names=${["deliveries-parked"]} />`;
}

const DIALOGS = { change: Connect, rotate: Rotate, remove: Delete };

/** The page of a connection: what it is, what it has delivered, and its parked deliveries. */
export function Connection({ name }) {
  const { value: connection, problem, again } = useLoaded(() => get(connectionPath(name)), name);
  const [asking, setAsking] = useState(null);
  if (!connection) return html`<${Pending} problem=${problem} retry=${again} />`;
  const dialog = DIALOGS[asking];
  const done = asking === "remove" ? () => navigate(address(["connections"])) : again;
  const onClose = () => {
    setAsking(null);
    if (asking !== "remove") again();
  };
  return html`
    ${connection.url && html`<${Command} text="Address to enter at the provider" command=${connection.url} />`}
    <${Facts} connection=${connection} />
    ${may("finance") && html`
      <div class="bar">
        <button type="button" onClick=${() => setAsking("change")}>Change</button>
        <button type="button" onClick=${() => setAsking("rotate")}>New secret</button>
        <button type="button" onClick=${() => setAsking("remove")}>Delete</button>
      </div>`}
    ${dialog && html`<${dialog} connection=${connection} onDone=${done} onClose=${onClose} />`}
    <${ParkedDeliveries} key=${connection.version} name=${name} again=${again} />
    <${Runbooks} names=${["deliveries-parked"]} />`;
}

const Facts = ({ connection: { state, secret_rotates_until: until, ...connection } }) => html`
  <dl class="facts">
    ${factsOf(connection).filter(([, fact]) => fact).map(([name, fact]) => html`
      <div key=${name}><dt>${name}</dt><dd><${Name}>${fact}<//></dd></div>`)}
    ${until && html`<div><dt>The secret before counts until</dt><dd><${Time} at=${until} /></dd></div>`}
    <div>
      <dt>Last delivery</dt><dd>${state.last_delivery ? html`<${Time} at=${state.last_delivery} />` : "none"}</dd>
    </div>
    ${state.delay_seconds !== null && html`
      <div><dt>Its delay</dt><dd>${format.count(state.delay_seconds)} s</dd></div>`}
    ${Object.entries(COUNTS).map(([key, title]) => html`
      <div key=${key}><dt>${title}</dt><dd>${format.count(state[key])}</dd></div>`)}
    ${Object.entries(state.excluded).map(([rule, number]) => html`
      <div key=${rule}><dt>Left out: <${Name}>${rule}<//></dt><dd>${format.count(number)}</dd></div>`)}
  </dl>`;
