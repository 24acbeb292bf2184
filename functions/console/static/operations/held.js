/** Held events: what each waits for, its content, and what finance decides about one or several. */
import { html, useState } from "../vendor/htm-preact.js";
import { problemOf } from "../lib/advice.js";
import { useNames } from "../lib/agencies.js";
import { heldPath, inTurns, put } from "../lib/api.js";
import * as format from "../lib/format.js";
import { AgencyLink, AgencyName, EventLink, Runbooks, agencyColumn, typeColumn } from "../lib/links.js";
import { List } from "../lib/list.js";
import { may, reader } from "../lib/me.js";
import { locationText } from "../lib/names.js";
import { Dialog, Name, Person, Status, Time, useSending } from "../lib/parts.js";
import { address, navigate } from "../lib/routes.js";

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
    note: "Recorded within 15 minutes under both names, once nothing else is missing.",
  },
  release: {
    decision: "release", title: "Release the event", action: "Release",
    note: `Recorded within 15 minutes without what is missing. It counts on the statement of this month. A refund or an
      adjustment of an unknown sale then refers to no sale.`,
  },
  discard: {
    decision: "discard", title: "Discard the event", action: "Discard",
    note: "Never recorded, even if sent again under the same id. The sender gets your reason.",
  },
};
const MADE = { approved: "Approved", released: "Released" };

/** The section of a page that lists held events. `reason`: only those that wait for it. */
export function Held({ reason = "" }) {
  const [turn, setTurn] = useState(0);
  const [asking, setAsking] = useState(null);
  const [chosen, setChosen] = useState(new Map());
  const pick = (some, isOn) => setChosen((before) => {
    const next = new Map(before);
    for (const held of some) {
      if (isOn) next.set(keyOf(held), held);
      else next.delete(keyOf(held));
    }
    return next;
  });
  const done = () => {
    setChosen(new Map());
    setTurn((before) => before + 1);
  };
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
      columns=${columnsOf(useNames(), setAsking, chosen, pick)} path="/held" parameters=${{ reason }}
      above=${(rows) => may("finance") && rows.length > 1 && html`
        <p class="bar"><button type="button" onClick=${() => pick(rows, true)}>
          Choose all ${format.count(rows.length)}
        </button></p>`}
      empty=${html`<p class="empty">No event is held${reason && ` for this`}.</p>`} />
    ${chosen.size > 0 && html`
      <${Selection} events=${[...chosen.values()]} ask=${setAsking} clear=${() => setChosen(new Map())} />`}
    ${asking && html`<${Decide} ...${asking} onDone=${done} onClose=${() => setAsking(null)} />`}
    <${Runbooks} names=${["held-overdue"]} />`;
}

const keyOf = ({ source, id }) => JSON.stringify([source, id]);

const columnsOf = (names, ask, chosen, pick) => [
  ...(may("finance")
    ? [{
        key: "pick", title: "", value: null, kind: "pick",
        cell: (held) => html`
          <input type="checkbox" aria-label=${`Choose ${held.source} ${held.id}`} checked=${chosen.has(keyOf(held))}
            onChange=${({ target }) => pick([held], target.checked)} />`,
      }]
    : []),
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
    onClick=${() => ask({ events: [held], name })}>${DECISIONS[name].action}</button>`);

/** What is chosen, and the decisions that the reader can make about it, each with the number of its events. */
const Selection = ({ events, ask, clear }) => html`
  <section class="selection" aria-label="Selection">
    <p><strong>${format.count(events.length)} chosen</strong></p>
    <div class="bar">
      ${Object.keys(DECISIONS).map((name) => [name, events.filter((held) => offered(held).includes(name))])
        .filter(([, some]) => some.length > 0)
        .map(([name, some]) => html`
          <button key=${name} type="button" onClick=${() => ask({ events: some, name })}>
            ${DECISIONS[name].action} ${format.count(some.length)}
          </button>`)}
      <button type="button" onClick=${clear}>Choose none</button>
    </div>
  </section>`;

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

/** Shows the whole event, or the names of several; asks for a reason, and sends a decision about each. */
function Decide({ events, name, onDone, onClose }) {
  const { decision, title, action, note } = DECISIONS[name];
  const [left, setLeft] = useState(events);
  const send = async (form) => {
    const body = { decision, reason: form.get("reason").trim() };
    const refused = new Map();
    await inTurns(left, (held) => put(heldPath(held), body).catch((problem) => refused.set(held, problem)));
    if (refused.size < left.length) onDone();
    if (!refused.size) return;
    setLeft([...refused.keys()]);
    throw refused.values().next().value;
  };
  const sending = useSending(send, () => {});
  const [only] = events.length === 1 ? events : [];
  const many = `${format.count(left.length)} ${left.length === 1 ? "event" : "events"}`;
  return html`
    <${Dialog} title=${only ? title : `${action} ${many}`} ...${{ action, onClose }} ...${sending}>
      <p>${note}</p>
      ${only ? html`<${Facts} held=${only} />` : html`
        <ul class="plain">
          ${left.map((held) => html`
            <li key=${keyOf(held)}>
              <${Name}>${held.source}<//> <${Name}>${held.id}<//>: ${format.eventType(held.event.type)} of
              ${" "}<${AgencyName} agency=${held.event.agency} />, <${Figures} event=${held.event} />
            </li>`)}
        </ul>`}
      ${left.length < events.length && html`
        <p role="status">${format.count(events.length - left.length)} of ${format.count(events.length)} done.</p>`}
      <label>Reason <input name="reason" required maxlength="200" autocomplete="off" autofocus /></label>
    <//>`;
}

const money = (value, { currency }) => format.money(value, currency);
/** How the facts of a held event are shown that are no plain texts. */
const FACTS = {
  type: (value) => format.eventType(value),
  agency: (value) => html`<${AgencyName} agency=${value} />`,
  amount: money,
  commission: money,
  location: locationText,
  time: (value) => html`<${Time} at=${value} />`,
  recorded_by: (value) => html`<${Person} by=${value} />`,
};

const Facts = ({ held: { source, id, event } }) => html`
  <dl class="facts">
    ${Object.entries({ source, id, ...event }).map(([fact, value]) => html`
      <div key=${fact}>
        <dt>${fact === "reason" ? "Its reason" : format.title(fact)}</dt>
        <dd>${FACTS[fact]?.(value, event)
          ?? html`<${Name}>${typeof value === "string" ? value : JSON.stringify(value)}<//>`}</dd>
      </div>`)}
  </dl>`;
