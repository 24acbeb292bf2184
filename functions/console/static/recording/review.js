/** What a form of finance would record, in words, and what is unusual about it. */
import { html, useEffect, useRef } from "../vendor/htm-preact.js";
import { useLegalName } from "../lib/agencies.js";
import { dayOf } from "../lib/calendar.js";
import { difference, same, sum } from "../lib/decimal.js";
import * as format from "../lib/format.js";
import { agencyText } from "../lib/names.js";
import { spelledMoney } from "../lib/numbers.js";
import { Name } from "../lib/parts.js";
import { KINDS, sumOf } from "./kinds.js";

const USUAL_AGE_DAYS = 90;
const DAY = 86_400_000;
const NONE = [];

/** What would be recorded, in words, and what is unusual about it. The button `onChange` goes back to the form. */
export function Review({
  kind, agency, currency, isNew, balance, recent, since, data, time, reason, reference, statements, busy, onChange,
}) {
  const place = useRef();
  const legal = useLegalName(agency);
  useEffect(() => place.current.focus(), []);
  const { says, change, typed } = KINDS[kind];
  const after = sum([balance, change(data)]);
  const inWords = (figures) => says({ agency: agencyText(agency, legal), currency, ...figures });
  const recorded = (one) => `${format.time(one.recorded_at)}: ${inWords(one)}`;
  const owed = (value) => `${sumOf(value, currency)}, ${format.owed(value)}`;
  const unusual = [
    ...since.map((one) => `Recorded since your review: ${recorded(one)}`),
    ...recent.filter((one) => !since.includes(one) && isLike(one, data, time))
      .map((one) => `The same is already recorded for this day: ${recorded(one)}`),
    ...(kind === "payment" ? beyondBalance(data, balance, after) : []),
    ...(time ? unusualTime(Date.parse(time), Date.now()) : []),
    ...(isNew ? [`The agency has no account in ${currency}. This opens one, which the agency sees.`] : []),
  ];
  const facts = [
    ...typed(data).map(([name, value]) => [name, spelledMoney(value, currency)]),
    ["Statement", kind === "payment" && statementAfter(data, statements)],
    ["Date", time ? `${format.time(time)} (${format.zoneName()})` : "now"], ["Balance now", owed(balance)],
    [kind === "payment" ? "Balance after" : "Balance after, before tax", owed(after)],
    ["Reference", reference], ["Reason", reason],
  ];
  return html`
    <section ref=${place} tabindex="-1" aria-label="What will be recorded">
      <p><strong>${inWords(data)}</strong></p>
      <dl class="facts">
        ${facts.filter(([, fact]) => fact).map(([name, fact]) => html`
          <div key=${name}><dt>${name}</dt><dd><${Name}>${fact}<//></dd></div>`)}
      </dl>
      <p class="note">The balance includes what is on no statement yet.</p>
      <p>The event is permanent, and staff see that you recorded it. To correct it, record the opposite.</p>
      ${unusual.length > 0 && html`
        <div key=${unusual.join()} class="mark">
          ${unusual.map((one) => html`<p key=${one}>${one}</p>`)}
          <label class="check"><input type="checkbox" required /> I have checked this, and it is right.</label>
        </div>`}
      <p><button type="button" disabled=${busy} onClick=${onChange}>Change it</button></p>
    </section>`;
}

/** Returns what a payment leaves open of its statement, in words; nothing if no statement is open. */
function statementAfter({ amount, statement }, statements) {
  const one = statements.find(({ number }) => number === statement);
  if (!one) return statements.length > 0 && "none: the oldest statements are paid first";
  const rest = difference(one.open, amount);
  if (!/[1-9]/.test(rest)) return `${statement}, which is paid then`;
  const left = sumOf(rest.replace("-", ""), one.currency);
  return rest.startsWith("-") === one.open.startsWith("-")
    ? `${statement}, of which ${left} stays open`
    : `${statement}, which is paid then; the other ${left} pays the oldest statements`;
}

/** Returns that a payment is more than its receiver is owed, if it is: then the balance changes its side. */
function beyondBalance({ amount }, balance, after) {
  const [byAgency, owes] = [!amount.startsWith("-"), Number(balance) > 0];
  if (byAgency && after.startsWith("-")) {
    return [owes ? "This is more than the agency owes." : "The agency owes nothing in this currency."];
  }
  if (!byAgency && Number(after) > 0) {
    return [Number(balance) < 0 ? "This is more than the agency is owed." : "Nothing is owed to the agency."];
  }
  return NONE;
}

/** Returns whether a recorded event has the figures of a form, for the same statement and day. */
function isLike(one, { amount, commission = one.commission, statement = "" }, time) {
  const on = (instant) => dayOf(format.localTime(instant));
  return same(one.amount, amount) && same(one.commission, commission) && (one.statement ?? "") === statement
    && on(one.time ?? one.recorded_at) === on(time || new Date());
}

function unusualTime(time, now) {
  if (time > now) return ["The date is in the future."];
  return time < now - USUAL_AGE_DAYS * DAY ? [`The date is more than ${USUAL_AGE_DAYS} days ago.`] : NONE;
}
