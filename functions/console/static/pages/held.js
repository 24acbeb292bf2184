/** Held events: what each waits for, its content, and what finance decides about it. */
import { html, useState } from "../vendor/htm-preact.js";
import { problemOf } from "../advice.js";
import { heldPath, put } from "../api.js";
import * as format from "../format.js";
import { List } from "../list.js";
import { may, reader } from "../me.js";
import { useNames } from "../agencies.js";
import { Dialog, Name, Person, Status, Time, useSending } from "../parts.js";
import { address, navigate } from "../routes.js";
import { AgencyLink, agencyColumn } from "./agency-link.js";
import { EventLink, typeColumn } from "./events.js";
import { Runbooks } from "./runbook.js";

const APPROVAL = "needs_approval";
const REASONS = {
  "": "anything",
  [APPROVAL]: "a second person",
  unknown_sale: "its sale",
  unregistered_agency: "the registration of its agency",
  closed_agency: "its closed agency",
};
const DECISIONS = {
  approve: {
    decision: "release", title: "Approve the event", action: "Approve",
    note: "It is recorded within 15 minutes, under both names, once it waits for nothing else.",
  },
  release: {
    decision: "release", title: "Release the event", action: "Release",
    note: "It is recorded within 15 minutes without what it waits for. A correction then refers to no sale.",
  },
  discard: {
    decision: "discard", title: "Discard the event", action: "Discard",
    note: "It is never recorded. Its source and id stay taken, and its sender gets your reason.",
  },
};
const MADE = { approved: "Approved", released: "Released" };

/** The section of a page that lists held events. `reason`: only those that wait for it. */
export function Held({ reason = "" }) {
  const [turn, setTurn] = useState(0);
  const [asking, setAsking] = useState(null);
  const choose = (event) => navigate(address(["operations"], { reason: event.target.value }));
  return html`
    <h2>Held events</h2>
    <p class="bar">
      <label>Waiting for
        <select value=${reason} onChange=${choose}>
          ${Object.entries(REASONS).map(([value, text]) => html`<option key=${value} value=${value}>${text}</option>`)}
        </select>
      </label>
    </p>
    <${List} key=${turn} name="held" caption="Events that wait for something, the oldest first" size="25"
      columns=${columnsOf(useNames(), setAsking)} path="/held" parameters=${{ reason }}
      empty=${html`<p class="empty">No event is held${reason && ` for this`}.</p>`} />
    ${asking && html`
      <${Decide} ...${asking} onDone=${() => setTurn(turn + 1)} onClose=${() => setAsking(null)} />`}
    <${Runbooks} names=${["held-overdue"]} />`;
}

const columnsOf = (names, ask) => [
  { key: "held_at", title: "Held since", type: "time" },
  { key: "source", title: "Source", kind: "long", hidden: true },
  {
    key: "id", title: "Event", head: true, kind: "long", text: ({ source, id }) => `${source} ${id}`,
    cell: ({ source, id }) => html`<${Name}>${source}<//> <${Name}>${id}<//>`,
  },
  typeColumn(({ event }) => event.type),
  agencyColumn(names, {
    value: ({ event }) => event.agency, text: ({ event: { agency } }) => `${names.get(agency) ?? ""} ${agency}`.trim(),
    cell: ({ event }) => html`<${AgencyLink} agency=${event.agency} />`,
  }),
  {
    key: "amount", title: "Amount", type: "money", currencyOf: ({ event }) => event.currency,
    value: ({ event }) => event.amount, cell: ({ event }) => html`<${Figures} event=${event} />`,
  },
  { key: "reason", title: "Why", kind: "long", cell: (held) => html`<${Why} held=${held} />` },
  ...(may("finance")
    ? [{ key: "decide", title: "", value: null, cell: (held) => html`<${Decisions} held=${held} ask=${ask} />` }]
    : []),
];

/** The buttons of the decisions that the reader can make about an event. */
const Decisions = ({ held, ask }) => offered(held).map((name) => html`
  <button key=${name} type="button" aria-label=${`${DECISIONS[name].action} ${held.source} ${held.id}`}
    onClick=${() => ask({ held, name })}>${DECISIONS[name].action}</button>`);

/** Returns what the reader can decide: nobody approves what they have recorded, and some events need their sale. */
function offered({ reason, event, approved, released }) {
  const own = event.recorded_by === reader().name && (reason === APPROVAL || approved);
  const decided = reason === APPROVAL ? approved : released?.waived === reason;
  const needsSale = reason === "unknown_sale" && (event.type === "sale.voided" || event.rerating);
  if (own || decided || needsSale) return ["discard"];
  return [reason === APPROVAL ? "approve" : "release", "discard"];
}

const Figures = ({ event: { amount, commission, currency } }) => html`
  ${format.money(amount, currency)} ${currency}
  ${commission && html`<div class="note">Commission ${format.money(commission, currency)}</div>`}`;

/** Why an event is held, who recorded it, what was decided, and a link to the sale that it refers to. */
function Why({ held }) {
  const { reason, source, problems, event } = held;
  const sale = { source: event.refers_to_source || source, id: event.refers_to };
  return html`
    <${Status} value=${reason} />
    ${problems.map((one, index) => html`<div key=${index}><${Name}>${problemOf(one)}<//></div>`)}
    ${event.recorded_by && html`
      <div>Recorded by <${Person} by=${event.recorded_by} />: <${Name}>${event.reason}<//></div>`}
    ${Object.entries(MADE).filter(([name]) => held[name]).map(([name, text]) => html`
      <div key=${name}>${text} by <${Person} by=${held[name].by} /> <${Time} at=${held[name].at} />:
        ${" "}<${Name}>${held[name].reason}<//></div>`)}
    ${sale.id && html`
      <div>Its sale: <${EventLink} ...${sale} /></div>`}`;
}

/** Shows the whole event, asks for a reason, and sends a decision. */
function Decide({ held, name, onDone, onClose }) {
  const { decision, title, action, note } = DECISIONS[name];
  const send = (form) => put(heldPath(held), { decision, reason: form.get("reason").trim() });
  const sending = useSending(send, onDone);
  const facts = Object.entries({ source: held.source, id: held.id, ...held.event });
  return html`
    <${Dialog} ...${{ title, action, onClose }} ...${sending}>
      <p>${note}</p>
      <dl class="facts">
        ${facts.map(([fact, value]) => html`
          <div key=${fact}>
            <dt>${format.words(fact)}</dt>
            <dd><${Name}>${typeof value === "string" ? value : JSON.stringify(value)}<//></dd>
          </div>`)}
      </dl>
      <label>Reason <input name="reason" required maxlength="200" autocomplete="off" autofocus /></label>
    <//>`;
}
