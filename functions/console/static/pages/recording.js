/** What finance records by hand: payments, and adjustments of commissions. Each is recorded once. */
import { html, useState } from "../vendor/htm-preact.js";
import { eventPath, getOr, record } from "../api.js";
import { negative } from "../decimal.js";
import * as format from "../format.js";
import { may, reader } from "../me.js";
import { CURRENCY, Dialog, Link, Name, useConflict } from "../parts.js";
import { address } from "../routes.js";
import { EventLink, eventAddress } from "./events.js";

const SOURCE = "finance";
const EXACT = 10;
const KEPT = "recording ";
const LONGEST_KEPT = 3_600_000;
const KINDS = {
  payment: { title: "Record a payment", type: "payment.recorded", fields: PaymentFields, data: paymentData },
  adjustment: {
    title: "Record an adjustment", type: "adjustment.recorded", fields: AdjustmentFields, data: adjustmentData,
  },
};

/**
 * Returns the id of the next event about a subject: the one that was sent, if nobody knows yet whether it is recorded.
 * The tab keeps that one for an hour, so that a form that is sent again after a reload is the same event.
 */
function idFor(subject) {
  const { id, at } = JSON.parse(window.sessionStorage.getItem(KEPT + subject) || "{}");
  return at > Date.now() - LONGEST_KEPT ? id : crypto.randomUUID();
}

const keepId = (subject, id) =>
  window.sessionStorage.setItem(KEPT + subject, JSON.stringify({ id, at: Date.now() }));

const forgetId = (subject) => window.sessionStorage.removeItem(KEPT + subject);

/**
 * The buttons of what finance may record for an agency, and what became of the last event.
 *
 * `sale`: the sale that an adjustment refers to; with it, there is no payment. `onRecorded` gets the outcome.
 */
export function Recording({ agency, currency, sale, onRecorded }) {
  const [kind, setKind] = useState(null);
  const [outcome, setOutcome] = useState(null);
  if (!may("finance")) return null;
  const onDone = (recorded) => {
    setOutcome(recorded);
    onRecorded(recorded);
  };
  const ask = (next) => {
    setOutcome(null);
    setKind(next);
  };
  return html`
    <p class="bar">
      ${!sale && html`<button type="button" onClick=${() => ask("payment")}>Record a payment</button>`}
      <button type="button" onClick=${() => ask("adjustment")}>
        ${sale ? "Adjust the commission" : "Record an adjustment"}
      </button>
    </p>
    ${outcome && html`<${Outcome} outcome=${outcome} />`}
    ${kind && html`<${Ask} ...${{ kind, agency, currency, sale, onDone }} onClose=${() => setKind(null)} />`}`;
}

function Outcome({ outcome: { source, id, verdict, held } }) {
  if (held) {
    const waits = held.problems.map(({ field, problem, expected }) => html`
      ${" "}<${Name}>${field} ${problem}<//>. It waits for <${Name}>${expected}<//>.`);
    return html`<p class="mark" role="status">It is held, and not in any figure yet:${waits}</p>`;
  }
  const link = html`<${EventLink} source=${source} id=${id} />`;
  if (verdict === "duplicate") {
    return html`
      <p class="mark" role="status">It was already recorded: ${link}. Nothing was recorded again. If you meant another
        event, record it once more.</p>`;
  }
  return html`<p class="proven" role="status">It is recorded: ${link}. The figures follow within seconds.</p>`;
}

/** The dialog. An event that was sent keeps its id until it is known to be recorded: sent again, it is the same. */
function Ask({ kind, agency, sale, onDone, onClose, ...more }) {
  const { title, type, fields, data } = KINDS[kind];
  const subject = JSON.stringify([reader().name, kind, agency, sale?.source, sale?.id]);
  const [id] = useState(() => idFor(subject));
  const [currency, setCurrency] = useState(sale?.currency || more.currency || "");
  const send = async (form) => {
    const values = Object.fromEntries([...form].map(([name, value]) => [name, value.trim()]));
    const { reason, reference, time } = values;
    keepId(subject, id);
    const outcome = await record({
      specversion: "1.0", source: SOURCE, id, type, subject: agency,
      ...(time && { time: format.instant(time) }),
      data: { currency, reason, ...(reference && { extra: { reference } }), ...data(values, sale) },
    }).catch((problem) => {
      // An operator has discarded the event of this id.
      if (problem.status === 422 && problem.errors.some((one) => one.field === "id")) forgetId(subject);
      throw problem;
    });
    forgetId(subject);
    return outcome;
  };
  const read = async () => {
    const recorded = await getOr(eventPath({ source: SOURCE, id }), null);
    if (recorded) forgetId(subject);
    return { recorded };
  };
  const [sending, conflict] = useConflict(send, read, onDone);
  const digits = /^[A-Z]{3}$/.test(currency) ? format.digitsOf(currency) : 2;
  return html`
    <${Dialog} ...${{ onClose, ...sending }} title=${sale ? "Adjust the commission" : title} action="Record">
      <p>For agency <${Name}>${agency}<//>. The event is permanent, and staff see that you recorded it. To correct it,
        record the opposite.</p>
      <label>Currency
        <input name="currency" required ...${CURRENCY} autocomplete="off" value=${currency} readonly=${Boolean(sale)}
          onInput=${(event) => setCurrency(event.target.value)} />
      </label>
      <${fields} digits=${digits} sale=${sale} />
      <label>Date and time (${format.zoneName()}); empty: now
        <input name="time" type="datetime-local" />
      </label>
      <label>Reference <input name="reference" maxlength="200" autocomplete="off" /></label>
      <label>Reason <input name="reason" required maxlength="200" autocomplete="off" /></label>
      ${conflict?.recorded && html`
        <p>This form was already recorded, before your changes:
          ${" "}<${Link} to=${eventAddress({ source: SOURCE, id })}>show the recorded event<//>. To record another
          event, close this dialog and open it again.</p>`}
      ${conflict && !conflict.recorded && html`
        <p>This form was already sent, before your changes, and is held.
          ${" "}<${Link} to=${address(["operations"])}>Show held events<//>. Let an operator discard it before you
          record another.</p>`}
    <//>`;
}

/** The field of a sum with so many decimal places at most; `signed`: it may be below 0. */
const Sum = ({ label, name, digits, signed, ...more }) => html`
  <label>${label}
    <input name=${name} required inputmode="decimal" autocomplete="off" ...${more}
      pattern=${`${signed ? "-?" : ""}[0-9]{1,20}${digits ? `([.][0-9]{1,${digits}})?` : ""}`}
      title=${`A number such as ${signed ? "-" : ""}12${digits ? ".50" : ""}, with ${digits} decimal places at most`} />
  </label>`;

function PaymentFields({ digits }) {
  return html`
    <label>Who paid
      <select name="payer" autofocus>
        <option value="agency">The agency paid</option><option value="marketplace">The agency was paid</option>
      </select>
    </label>
    <${Sum} label="Amount" name="amount" digits=${digits} />`;
}

function paymentData({ amount, payer }) {
  return { amount: payer === "agency" ? amount : negative(amount) };
}

function AdjustmentFields({ digits, sale }) {
  const [named, setNamed] = useState({});
  const name = (field) => (event) => setNamed({ ...named, [field]: event.target.value });
  const text = (label, field, other) => html`
    <label>${label}
      <input name=${field} maxlength="200" autocomplete="off" onInput=${name(field)}
        required=${Boolean(named[other])} />
    </label>`;
  return html`
    <${Sum} label="Commission; below 0, the agency owes less" name="commission" digits=${EXACT} signed autofocus />
    <${Sum} label="Net sales; 0 adjusts the commission alone" name="amount" digits=${digits} signed defaultValue="0" />
    ${sale
      ? html`<p>It refers to the sale <${Name}>${sale.source} ${sale.id}<//>, which stays as it is.</p>`
      : html`
        ${text("Source of the sale that it refers to, if any", "refers_to_source", "refers_to")}
        ${text("Id of that sale", "refers_to", "refers_to_source")}`}`;
}

function adjustmentData({ amount, commission, ...named }, sale) {
  const { refers_to, refers_to_source } = sale ? { refers_to: sale.id, refers_to_source: sale.source } : named;
  return { amount, commission, ...(refers_to && { refers_to, refers_to_source }) };
}
