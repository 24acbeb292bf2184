/** The parked deliveries of a connection: why each is, what it holds, and what finance does about them. */
import { html, useState } from "../vendor/htm-preact.js";
import { connectionPath, get, parkedPath, post, remove } from "../lib/api.js";
import * as format from "../lib/format.js";
import { List } from "../lib/list.js";
import { may } from "../lib/me.js";
import { Dialog, Failure, Modal, Name, Pending, Time, useLoaded, useSending } from "../lib/parts.js";

const COLUMNS = [
  { key: "received_at", title: "Received", type: "time" },
  { key: "topic", title: "What", head: true },
  { key: "reason", title: "Reason", kind: "long" },
  { key: "bytes", title: "Bytes", type: "number", hidden: true },
  { key: "id", title: "Id", kind: "long", hidden: true },
];
const DIALOGS = { show: Content, discard: Discard };

/** The section of a connection's page. `again` loads the connection again. */
export function ParkedDeliveries({ name, again }) {
  const [turn, setTurn] = useState(0);
  const [{ what, delivery }, setAsking] = useState({});
  const reload = () => {
    setTurn((before) => before + 1);
    again();
  };
  const ask = {
    key: "do", title: "", value: null,
    cell: (one) => html`
      <button type="button" aria-label=${`Show ${one.id}`}
        onClick=${() => setAsking({ what: "show", delivery: one })}>Show</button>
      <button type="button" aria-label=${`Discard ${one.id}`}
        onClick=${() => setAsking({ what: "discard", delivery: one })}>Discard</button>`,
  };
  const dialog = DIALOGS[what];
  return html`
    <h2>Parked deliveries</h2>
    <${List} key=${turn} name="parked" caption="Parked deliveries" size="25" path=${connectionPath(name, "parked")}
      columns=${may("finance") ? [...COLUMNS, ask] : COLUMNS}
      above=${() => may("finance") && html`<${Apply} name=${name} reload=${reload} />`}
      empty=${html`<p class="empty">Nothing is parked.</p>`} />
    ${dialog && html`
      <${dialog} name=${name} delivery=${delivery} onDone=${reload} onClose=${() => setAsking({})} />`}`;
}

/** The button that applies all of them again, and what became of it. */
function Apply({ name, reload }) {
  const [number, setNumber] = useState(null);
  const { busy, problem, onSend } = useSending(
    () => post(connectionPath(name, "parked")), ({ parked }) => setNumber(parked),
  );
  return html`
    <div class="bar">
      <button type="button" disabled=${busy} onClick=${() => onSend()}>Apply all again</button>
      ${number !== null && html`
        <span role="status">${format.count(number)} are being applied.</span>
        <button type="button" onClick=${reload}>Show what is left</button>`}
    </div>
    ${problem && html`<${Failure} problem=${problem} />`}`;
}

/** What was delivered, which may name customers. */
function Content({ name, delivery, onClose }) {
  const { value, problem, again } = useLoaded(() => get(parkedPath(name, delivery.id)), delivery.id);
  return html`
    <${Modal} label="content" onClose=${onClose} class="wide">
      <h2 id="content">Delivery of <${Time} at=${delivery.received_at} /></h2>
      <p><${Name}>${delivery.reason}<//></p>
      ${value ? html`<pre tabindex="0"><code>${indented(value.content)}</code></pre>`
        : html`<${Pending} problem=${problem} retry=${again} />`}
      <form method="dialog" class="bar"><button>Close</button></form>
    <//>`;
}

/** Returns a content of JSON with line breaks: its numbers as they were sent, as a browser would round them. */
function indented(content) {
  let depth = 0;
  return content.replace(/"(?:[^"\\]|\\.)*"|[{}[\],]|:\s*|\s+/g, (part) => {
    const line = () => `\n${"  ".repeat(depth)}`;
    if (part.startsWith('"')) return part;
    if (part.startsWith(":")) return ": ";
    if (part === "{" || part === "[") {
      depth += 1;
      return part + line();
    }
    if (part === "}" || part === "]") {
      depth = Math.max(0, depth - 1);
      return line() + part;
    }
    return part === "," ? part + line() : "";
  });
}

/** The dialog that discards a parked delivery. */
function Discard({ name, delivery, onDone, onClose }) {
  const sending = useSending(() => remove(parkedPath(name, delivery.id)), onDone);
  return html`
    <${Dialog} title="Discard the delivery" action="Discard" onClose=${onClose} ...${sending}>
      <p>What it holds is never recorded, unless the provider delivers it again. Nobody can restore it.</p>
      <p><${Name}>${delivery.reason}<//></p>
    <//>`;
}
