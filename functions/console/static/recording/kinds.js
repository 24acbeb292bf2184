/** What finance can record by hand: the fields of each kind, the data of its event, and the event in words. */
import { html, useState } from "../vendor/htm-preact.js";
import { negative } from "../lib/decimal.js";
import { NumberField, numberOf } from "../lib/fields.js";
import * as format from "../lib/format.js";
import { isolated } from "../lib/names.js";
import { Name } from "../lib/parts.js";

/** The kinds by name: the title of the form, the type of the event, and what depends on the kind. */
export const KINDS = {
  payment: {
    title: "Record a payment", type: "payment.recorded", fields: PaymentFields, data: paymentData, says: paymentSays,
    change: ({ amount }) => negative(amount), typed: ({ amount }) => [["Amount in words", amount.replace("-", "")]],
  },
  adjustment: {
    title: "Record an adjustment", type: "adjustment.recorded", fields: AdjustmentFields, data: adjustmentData,
    says: adjustmentSays, change: ({ commission }) => commission,
    typed: ({ commission, amount }) => [["Commission in words", commission], ["Net sales in words", amount]],
  },
};

/** Returns a sum with its currency. */
export const sumOf = (value, currency) => `${format.money(value, currency)} ${currency}`;

/**
 * Who paid, for which statement, and how much: the oldest open statement and what is open of it, unless something else
 * is chosen. `statements`: the open ones in the currency, the oldest first.
 */
function PaymentFields({ places, statements, words }) {
  const [chosen, setChosen] = useState({});
  const isCredit = ({ open }) => open.startsWith("-");
  const payer = chosen.payer ?? (statements[0] && isCredit(statements[0]) ? "marketplace" : "agency");
  const fitting = statements.filter((one) => isCredit(one) === (payer === "marketplace"));
  const { statement } = chosen;
  const paid = statement === "" ? undefined : fitting.find(({ number }) => number === statement) ?? fitting[0];
  return html`
    <label>Who paid
      <select name="payer" autofocus value=${payer} onChange=${({ target }) => setChosen({ payer: target.value })}>
        <option value="agency">The agency paid</option><option value="marketplace">The agency was paid</option>
      </select>
    </label>
    ${fitting.length > 0 && html`
      <label>Statement
        <select name="statement" value=${paid?.number ?? ""}
          onChange=${({ target }) => setChosen({ payer, statement: target.value })}>
          ${fitting.map((one) => html`
            <option key=${one.number} value=${one.number}>
              ${one.number}, ${format.month(one.period)}: ${sumOf(one.open.replace("-", ""), one.currency)},
              ${" "}${format.words(one.status)}
            </option>`)}
          <option key="" value="">no statement: the oldest is paid first</option>
        </select>
      </label>`}
    <${NumberField} key=${paid?.number ?? ""} label="Amount" name="amount" ...${{ places, words }} nonzero
      required value=${paid?.open.replace("-", "")} />`;
}

function paymentData({ amount, payer, statement }) {
  const value = payer === "agency" ? numberOf(amount) : negative(numberOf(amount));
  return { amount: value, ...(statement && { statement }) };
}

function paymentSays({ agency, amount, currency, statement }) {
  const about = statement ? ` for statement ${isolated(statement)}` : "";
  return amount.startsWith("-")
    ? `The marketplace paid ${sumOf(negative(amount), currency)} to agency ${agency}${about}.`
    : `Agency ${agency} paid ${sumOf(amount, currency)} to the marketplace${about}.`;
}

function AdjustmentFields({ places, sale, words }) {
  const [named, setNamed] = useState({});
  const name = (field) => (event) => setNamed({ ...named, [field]: event.target.value });
  const text = (label, field, other) => html`
    <label>${label}
      <input name=${field} maxlength="200" autocomplete="off" onInput=${name(field)}
        required=${Boolean(named[other])} />
    </label>`;
  return html`
    <${NumberField} label="Commission; below 0, the agency owes less" name="commission" words=${words} signed autofocus
      required />
    <${NumberField} label="Net sales; 0 adjusts the commission alone" name="amount" ...${{ places, words }} signed
      required value="0" />
    ${sale
      ? html`<p>It refers to the sale <${Name}>${sale.source} ${sale.id}<//>, which stays as it is.</p>`
      : html`
        ${text("Source of the sale that it refers to, if any", "refers_to_source", "refers_to")}
        ${text("Id of that sale", "refers_to", "refers_to_source")}`}`;
}

function adjustmentData({ amount, commission, ...named }, sale) {
  const { refers_to, refers_to_source } = sale ? { refers_to: sale.id, refers_to_source: sale.source } : named;
  const figures = { amount: numberOf(amount), commission: numberOf(commission) };
  return { ...figures, ...(refers_to && { refers_to, refers_to_source }) };
}

function adjustmentSays({ agency, amount, commission, currency, refers_to, refers_to_source }) {
  const isZero = (value) => !/[1-9]/.test(value);
  const moved = (value) => (isZero(value)
    ? "stays as it is"
    : `${value.startsWith("-") ? "falls" : "rises"} by ${sumOf(value.replace("-", ""), currency)}`);
  const about = refers_to ? `, for the sale ${isolated(`${refers_to_source} ${refers_to}`)}` : "";
  const sales = isZero(amount) ? "" : ` Its amount of net sales ${moved(amount)}.`;
  return `The commission of agency ${agency} ${moved(commission)}${about}.${sales}`;
}
