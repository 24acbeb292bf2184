/** What finance records by hand: payments, and adjustments of commissions. Each is recorded once. */
import { html, useState } from "../vendor/htm-preact.js";
import { record } from "../api.js";
import { negative } from "../decimal.js";
import * as format from "../format.js";
import { may } from "../me.js";
import { CURRENCY, Dialog, Link, Name, useSending } from "../parts.js";
import { EventLink, eventAddress } from "./events.js";

const SOURCE = "finance";
const EXACT = 10;
const KEPT = "recording ";
const KINDS = {
  payment: { title: "Record a payment", type: "payment.recorded", fields: PaymentFields, data: paymentData },
  adjustment: {
    title: "Record an adjustment", type: "adjustment.recorded", fields: AdjustmentFields, data: adjustmentData,
  },
};

/** Returns the id of the next event about a subject: the tab keeps it, so what is sent after a reload is the same. */
function keptId(subject) {
  const kept = window.sessionStorage.getItem(KEPT + subject) || crypto.randomUUID();
  window.sessionStorage.setItem(KEPT + subject, kept);
  return kept;
}

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
    const waits = held.problems.map(({ field, problem, expected }) => `${field} ${problem}. It waits for ${expected}.`);
    return html`<p class="mark" role="status">It is held, and not in any figure yet: ${waits.join(" ")}</p>`;
  }
  return html`
    <p class="proven" role="status">
      ${verdict === "duplicate" ? "It was already recorded" : "It is recorded"}:
      ${" "}<${EventLink} source=${source} id=${id} />. The figures follow within seconds.
    </p>`;
}

/** The dialog. The event's id is kept until it is recorded: what another dialog sends again is recorded once. */
function Ask({ kind, agency, sale, onDone, onClose, ...more }) {
  const { title, type, fields, data } = KINDS[kind];
  const subject = JSON.stringify([agency, sale?.source, sale?.id]);
  const [id] = useState(() => keptId(subject));
  const [currency, setCurrency] = useState(sale?.currency || more.currency || "");
  const send = async (form) => {
    const values = Object.fromEntries([...form].map(([name, value]) => [name, value.trim()]));
    const { reason, reference, time } = values;
    const outcome = await record({
      specversion: "1.0", source: SOURCE, id, type, subject: agency,
      ...(time && { time: format.instant(time) }),
      data: { currency, reason, ...(reference && { extra: { reference } }), ...data(values, sale) },
    }).catch((problem) => {
      if (problem.status === 409) forgetId(subject);
      throw problem;
    });
    forgetId(subject);
    return outcome;
  };
  const sending = useSending(send, onDone);
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
      ${sending.problem?.status === 409 && html`
        <p>This form was already recorded, before your changes:
          ${" "}<${Link} to=${eventAddress({ source: SOURCE, id })}>show the recorded event<//>.</p>`}
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
