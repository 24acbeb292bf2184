/** The rate cards that an agency's events can pay, the history of each, and a calculator. */
import { html, useState } from "../vendor/htm-preact.js";
import { get, segment } from "../api.js";
import { charge, ruleFor } from "../charge.js";
import { decimalText } from "../decimal.js";
import { CURRENCY, NumberField, numberOf } from "../fields.js";
import * as format from "../format.js";
import { may } from "../me.js";
import { Link, More, Name, Pending, Table, Time, fieldsOf, useLoaded, usePages } from "../parts.js";
import { address } from "../routes.js";
import { WriteRateCard } from "./rate-card-form.js";

const HEAD = [
  ["Category"], ["Location"], ["Currency"], ["Percent", "n"], ["Fixed per item", "n"], ["Minimum", "n"],
  ["Maximum", "n"],
];
const HISTORY_HEAD = [["Version"], ["Valid from"], ["Written"], ["By"]];
const TEXTS = [["Category", "category"], ["Location", "location", "GB#London"]];

/** The rate cards in force for an agency in a group, or in none; and the calculator, which begins with a currency. */
export function RateCards({ agency, group, currency }) {
  const path = `/agencies/${segment(agency)}/rate-cards`;
  const { value, problem, again } = useLoaded(() => get(path), path);
  const rateCards = value?.items;
  return html`
    <h2>Rate cards</h2>
    ${!rateCards && html`<${Pending} problem=${problem} retry=${again} />`}
    ${rateCards && !rateCards.length && html`
      <p class="note">You can see no rate card in force. An event that names no commission rate is charged the
        default rate.</p>`}
    ${rateCards?.map((one) => html`<${RateCard} key=${`${one.document} ${one.version}`} rateCard=${one} />`)}
    <${WriteRateCard} agency=${agency} group=${group} onDone=${again} />
    ${may("finance") && html`
      <p><${Link} to=${address(["rerate"], { agency })}>Re-rate events of this agency<//></p>`}
    ${rateCards?.length > 0 && html`<${Calculator} rateCards=${rateCards} currency=${currency} />`}`;
}

function RateCard({ rateCard: { document, version, rules } }) {
  const [open, setOpen] = useState(false);
  return html`
    <${Table} caption=${`${format.isolated(document)}, version ${version}, in force`} head=${HEAD}>
      ${rules.map((rule, index) => html`
        <tr key=${index}>
          <td class="long"><${Name}>${rule.category ?? "all"}<//></td>
          <td class="long"><${Name}>${rule.location ?? "all"}<//></td>
          <td>${rule.currency ?? "all"}</td>
          ${["percent", "fixed", "minimum", "maximum"].map((name) => html`
            <td key=${name} class="n">${decimalText(rule[name]) && format.exact(decimalText(rule[name]))}</td>`)}
        </tr>`)}
    <//>
    ${rules.some((rule) => rule.refund_fixed === false) && html`
      <p class="note">Refunds do not give back the fixed fee.</p>`}
    <details onToggle=${(event) => setOpen(event.target.open)}>
      <summary>History of <${Name}>${document}<//></summary>
      ${open && html`<${History} document=${document} />`}
    </details>`;
}

function History({ document }) {
  const list = usePages(`/documents/${segment(document)}/versions`, { limit: 20 });
  return html`
    <${Table} caption=${`Versions of ${format.isolated(document)}, the newest first`} head=${HISTORY_HEAD}>
      ${list.items.map((one) => html`
        <tr key=${one.version}>
          <th scope="row">${format.count(one.version)}</th>
          <td><${Time} at=${one.valid_from} /></td>
          <td><${Time} at=${one.written_at} /></td>
          <td class="long"><${Name}>${one.written_by}<//></td>
        </tr>`)}
    <//>
    <${More} list=${list} />`;
}

/** What a sale would be charged now: the first rate card with a rule for it, and each step. */
function Calculator({ rateCards, currency }) {
  const [sale, setSale] = useState(null);
  const send = (event) => {
    const { amount, quantity, ...texts } = fieldsOf(event);
    setSale({ ...texts, amount: numberOf(amount), quantity: numberOf(quantity) });
  };
  const rules = sale ? rateCards.map((one) => [one, ruleFor(one.rules, sale)]) : [];
  const [rateCard, rule] = rules.find(([, found]) => found) || [];
  return html`
    <h3>Calculator</h3>
    <form class="bar" onSubmit=${send}>
      <${NumberField} label="Amount" name="amount" value="100.00" signed required />
      <label>Currency
        <input name="currency" required ...${CURRENCY} autocomplete="off" defaultValue=${currency} />
      </label>
      <${NumberField} label="Items" name="quantity" value="1" required size="5" />
      ${TEXTS.map(([label, name, placeholder]) => html`
        <label key=${name}>${label} <input name=${name} autocomplete="off" placeholder=${placeholder} /></label>`)}
      <button>Calculate</button>
    </form>
    ${sale && !rule && html`
      <p role="status">No rule of these rate cards covers this sale. It pays the default rate of the deployment.</p>`}
    ${rule && html`
      <${Table} caption=${`By ${format.isolated(rateCard.document)}, version ${rateCard.version}`}
        head=${[["Step"], [sale.currency, "n"]]}>
        ${charge(rule, sale).map(([words, value]) => html`
          <tr key=${words}><th scope="row">${words}</th><td class="n">${format.exact(value)}</td></tr>`)}
      <//>`}`;
}
