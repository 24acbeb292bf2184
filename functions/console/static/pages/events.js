/** Events: those recorded in a span, by agency, source, order, customer and type; or one by its source and id. */
import { html } from "../vendor/htm-preact.js";
import { dayOf, isDay, laterDay, today } from "../calendar.js";
import { referenceIn } from "../extra.js";
import * as format from "../format.js";
import { STAFF, may } from "../me.js";
import {
  Link, Money, More, Name, SaveAllButton, Table, Time, fieldsOf, usePages,
} from "../parts.js";
import { address, navigate } from "../routes.js";
import { AgencyField, withAgency } from "./agency-field.js";
import { AgencyName } from "./agency-link.js";

const DAYS_SHOWN = 7;
const BEFORE_ALL = "1970-01-01";
const HEAD = [
  ["Recorded"], ["Event"], ["Type"], ["Agency"], ["Order"], ["Customer"], ["Currency"], ["Amount", "n"],
  ["Commission", "n"],
];
const COLUMNS = [
  "recorded_at", "source", "id", "type", "agency", "currency", "amount", "commission_rate", "commission", "order_id",
  "customer", "refers_to", "period", "extra",
];
const TYPES = [
  "sale.recorded", "sale.refunded", "sale.voided", "adjustment.recorded", "payment.recorded", "view.recorded",
];
const INSTANT = {
  pattern: "\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}:\\d{2}([.]\\d+)?Z)?",
  title: "A day such as 2026-11-05, or an instant such as 2026-11-05T09:00:00Z",
};
const TEXTS = [["source", "Source"], ["order", "Order"], ["customer", "Customer"]];

/** Returns the address of the page of an event. */
export const eventAddress = ({ source, id }) => address(["events", source, id]);

/** A link to the page of an event, by its source and id. */
export const EventLink = ({ source, id }) => html`
  <${Link} to=${eventAddress({ source, id })}><${Name}>${source}<//> <${Name}>${id}<//><//>`;

/** The reference of an event, such as a payment's, if its sender gave one. */
export function Reference({ extra }) {
  const reference = referenceIn(extra);
  return reference && html`<div class="note">Reference <${Name}>${reference}<//></div>`;
}

/** Returns the span of an address: from its days, or else the last days; of an order or a customer, everything. */
function spanOf({ from, to = laterDay(today(), 1), order, customer }) {
  if (from) return { from, to };
  if (order || customer) return { from: BEFORE_ALL, to };
  return { from: isDay(dayOf(to)) ? laterDay(dayOf(to), -DAYS_SHOWN) : to, to };
}

/** The page. */
export function Events({ query }) {
  return html`
    <${One} />
    <${Filter} query=${query} />
    <${List} ...${query} ...${spanOf(query)} />`;
}

function List({ agency, source, order, customer, type, from, to }) {
  const list = usePages("/events", { agency, source, order, customer, type, from, to });
  return html`
    ${list.items.length > 0 && html`
      <${Table} caption="Events in the order of recording" head=${HEAD}>${list.items.map(row)}<//>
      <${SaveAllButton} name="events" columns=${COLUMNS} list=${list} />`}
    ${list.empty && html`
      <p class="empty">
        No event matches from ${from} to ${to} (UTC, the end not included). Choose another span or fewer filters.
      </p>`}
    <${More} list=${list} />`;
}

const row = (one) => html`
  <tr key=${one.partition + one.position}>
    <td class="short"><${Time} at=${one.recorded_at} /></td>
    <th scope="row" class="long"><${EventLink} ...${one} /><${Reference} ...${one} /></th>
    <td>${format.eventType(one.type)}</td>
    <td class="long"><${AgencyName} agency=${one.agency} /></td>
    <td class="long"><${Name}>${one.order_id}<//></td>
    <td class="long"><${Name}>${one.customer}<//></td>
    <td>${one.currency}</td>
    <${Money} value=${one.amount} currency=${one.currency} />
    <${Money} value=${one.commission} currency=${one.currency} />
  </tr>`;

const One = () => html`
  <form class="bar" aria-label="One event" onSubmit=${(event) => navigate(eventAddress(fieldsOf(event)))}>
    <label>Source of the event <input name="source" required autocomplete="off" /></label>
    <label>Id of the event <input name="id" required autocomplete="off" /></label>
    <button>Open the event</button>
  </form>`;

const Filter = ({ query }) => html`
  <form class="bar" aria-label="Events of a span" key=${JSON.stringify(query)}
    onSubmit=${async (event) => navigate(address(["events"], await withAgency(fieldsOf(event))))}>
    <label>From (UTC), such as 2026-11-05 or 2026-11-05T09:00:00Z
      <input name="from" ...${INSTANT} defaultValue=${query.from} autocomplete="off" />
    </label>
    <label>To, not included <input name="to" ...${INSTANT} defaultValue=${query.to} autocomplete="off" /></label>
    ${may(...STAFF) && html`<${AgencyField} value=${query.agency} />`}
    ${TEXTS.map(([name, text]) => html`
      <label key=${name}>${text} <input name=${name} defaultValue=${query[name]} autocomplete="off" /></label>`)}
    <label>Type
      <select name="type">
        <option value="">All</option>
        ${TYPES.map((one) => html`
          <option key=${one} value=${one} selected=${one === query.type}>${format.eventType(one)}</option>`)}
      </select>
    </label>
    <button>Show</button>
  </form>
  <p class="note">Without a span: the events of the last seven days, but all events of an order or a customer.</p>`;
