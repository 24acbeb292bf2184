/** Events: those recorded in a span, by agency, source, order, customer and type. */
import { html } from "../vendor/htm-preact.js";
import { useNames } from "../lib/agencies.js";
import { get, withQuery } from "../lib/api.js";
import { dayOf, isDay, laterDay, today } from "../lib/calendar.js";
import { referenceIn } from "../lib/extra.js";
import { InstantField } from "../lib/fields.js";
import { AgencyField, Filters } from "../lib/filters.js";
import * as format from "../lib/format.js";
import { EventLink, Reference, agencyColumn, typeColumn } from "../lib/links.js";
import { List } from "../lib/list.js";
import { STAFF, may } from "../lib/me.js";
import { Link } from "../lib/parts.js";
import { address } from "../lib/routes.js";
import { newestFirst } from "./newest.js";

const DAYS_SHOWN = 7;
const BEFORE_ALL = "1970-01-01";
const TYPES = [
  "sale.recorded", "sale.refunded", "sale.voided", "adjustment.recorded", "payment.recorded", "view.recorded",
];
const TEXTS = [["source", "Source"], ["order", "Order"], ["customer", "Customer"]];
const columnsOf = (names) => [
  { key: "recorded_at", title: "Recorded", type: "time" },
  { key: "source", title: "Source", kind: "long", hidden: true },
  {
    key: "id", title: "Event", head: true, kind: "long", text: ({ source, id, extra }) =>
      [source, id, referenceIn(extra)].filter(Boolean).join(" "),
    cell: (one) => html`<${EventLink} ...${one} /><${Reference} ...${one} />`,
  },
  typeColumn(),
  agencyColumn(names),
  { key: "order_id", title: "Order", kind: "long" },
  { key: "customer", title: "Customer", kind: "long", hidden: true },
  { key: "currency", title: "Currency" },
  { key: "amount", title: "Amount", type: "money" },
  { key: "commission_rate", title: "Commission rate", kind: "n", hidden: true },
  { key: "commission", title: "Commission", type: "money" },
  { key: "refers_to", title: "Refers to", kind: "long", hidden: true },
  { key: "period", title: "Period", type: "month", hidden: true },
  { key: "extra", title: "Extra", kind: "long", hidden: true },
];

/** Returns the span of an address: from its days, or else the last days; of an order or a customer, everything. */
function spanOf({ from, to = laterDay(today(), 1), order, customer }) {
  if (from) return { from, to };
  if (order || customer) return { from: BEFORE_ALL, to };
  return { from: isDay(dayOf(to)) ? laterDay(dayOf(to), -DAYS_SHOWN) : to, to };
}

/** Returns a bound of the address in words; a text that is no day or instant as it is. */
function shownAt(at) {
  if (Number.isNaN(Date.parse(at))) return at;
  return isDay(at) ? format.day(at) : format.time(at, "UTC");
}

/** The page. */
export function Events({ query }) {
  const { agency, source, order, customer, type } = query;
  const { from, to } = spanOf(query);
  const parameters = { agency, source, order, customer, type, from, to };
  const read = (span) => get(withQuery("/events", { ...parameters, ...span }));
  const load = newestFirst(read, from, to, order || customer);
  return html`
    <${Filter} query=${query} />
    ${may("finance") && html`<p><${Link} to=${address(["upload"])}>Upload a file of sales<//></p>`}
    <${List} name="events" caption="Events, the newest first" columns=${columnsOf(useNames())} path="/events"
      parameters=${parameters} load=${load} sort=${{ by: "recorded_at", down: true }}
      empty=${html`
        <p class="empty">
          No event matches from ${shownAt(from)} to ${shownAt(to)} (UTC, the end not included). Choose another span or
          fewer filters.
        </p>`} />`;
}

const instants = ({ from, to, ...more }) => ({
  ...more, from: from && format.instant(from), to: to && format.instant(to),
});

const Filter = ({ query }) => html`
  <${Filters} parts=${["events"]} query=${query} label="Events of a span" read=${instants}>
    <${InstantField} label=${`From (${format.zoneName()})`} name="from" at=${query.from} />
    <${InstantField} label="To, not included" name="to" at=${query.to} />
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
  <//>
  <p class="note">Without a span: the events of the last seven days, but all events of an order or a customer.</p>`;
