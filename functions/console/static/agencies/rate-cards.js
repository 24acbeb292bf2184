/** The rate cards that an agency's events can pay, the history of each, and a calculator. */
import { html, useState } from "../vendor/htm-preact.js";
import { get, segment } from "../lib/api.js";
import { CURRENCY, NumberField, numberOf } from "../lib/fields.js";
import * as format from "../lib/format.js";
import { List } from "../lib/list.js";
import { may } from "../lib/me.js";
import { rateCard } from "../lib/names.js";
import { Link, Name, Pending, Table, fieldsOf, useLoaded } from "../lib/parts.js";
import { address } from "../lib/routes.js";
import { charge, ruleFor } from "./charge.js";
import { WriteRateCard } from "./rate-card-form.js";
import { CONDITIONS, chargeWords, chargesOf, listOf, wordsOf } from "../lib/rate-words.js";

const HISTORY_COLUMNS = [
  { key: "version", title: "Version", type: "number", head: true },
  { key: "valid_from", title: "Valid from", type: "time" },
  { key: "written_at", title: "Written", type: "time" },
  { key: "written_by", title: "By", type: "person", kind: "long" },
];
/** A column of what a rule is limited to, if anything. */
const narrowing = (key) => {
  const [title, words] = CONDITIONS[key];
  const text = (rule) => listOf(rule[key]).map(words).join(" or ") || "all";
  return { key, title, kind: "long", value: text, text, cell: (rule) => html`<${Name}>${text(rule)}<//>` };
};
const COLUMNS = [
  ...Object.keys(CONDITIONS).map(narrowing),
  { key: "charges", title: "Charges", kind: "long", value: wordsOf, text: wordsOf,
    cell: (rule) => chargesOf(rule).map((one) => html`
      <div key=${one.name}><${Name}>${one.name}<//>: ${chargeWords(one)}</div>`) },
];
const TEXTS = [["Product", "product"], ["Category", "category"], ["Location", "location", "GB#London"]];

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
    ${rateCards?.map((one) => html`
      <${RateCard} key=${`${one.document} ${one.version}`} rateCard=${one} agency=${agency} />`)}
    <${WriteRateCard} agency=${agency} group=${group} onDone=${again} />
    ${may("finance") && html`
      <p><${Link} to=${address(["rerate"], { agency })}>Re-rate events of this agency<//></p>`}
    ${rateCards?.length > 0 && html`<${Calculator} ...${{ agency, rateCards, currency }} />`}`;
}

function RateCard({ rateCard: { document, version, rules }, agency }) {
  const [open, setOpen] = useState(false);
  const name = rateCard(document, agency);
  return html`
    <${List} name=${document} caption=${`${name}, version ${version}, in force`} size="25"
      columns=${COLUMNS} rows=${rules} />
    <details onToggle=${(event) => setOpen(event.target.open)}>
      <summary>History: ${name}</summary>
      ${open && html`<${History} document=${document} name=${name} />`}
    </details>`;
}

const History = ({ document, name }) => html`
  <${List} name=${`${document} versions`} caption=${`${name}: its versions, the newest first`} size="25"
    columns=${HISTORY_COLUMNS} path=${`/documents/${segment(document)}/versions`} />`;

/** What a sale would be charged now: the first rate card with a rule for it, and each step. */
function Calculator({ agency, rateCards, currency }) {
  const [sale, setSale] = useState(null);
  const send = (event) => {
    const { amount, quantity, tax, shipping, ...texts } = fieldsOf(event);
    const [of, items, ...parts] = [amount, quantity, tax, shipping].map(numberOf);
    setSale({ ...texts, amount: of, quantity: items, tax: parts[0], shipping: parts[1] });
  };
  const rules = sale ? rateCards.map((one) => [one, ruleFor(one.rules, sale)]) : [];
  const [used, rule] = rules.find(([, found]) => found) || [];
  return html`
    <h3>Calculator</h3>
    <form class="bar" onSubmit=${send}>
      <${NumberField} label="Amount" name="amount" value="100.00" signed required />
      <label>Currency
        <input name="currency" required ...${CURRENCY} autocomplete="off" defaultValue=${currency} />
      </label>
      <${NumberField} label="Items" name="quantity" value="1" required size="5" />
      <${NumberField} label="Tax in it" name="tax" signed size="8" />
      <${NumberField} label="Shipping in it" name="shipping" signed size="8" />
      ${TEXTS.map(([label, name, placeholder]) => html`
        <label key=${name}>${label} <input name=${name} autocomplete="off" placeholder=${placeholder} /></label>`)}
      <button>Calculate</button>
    </form>
    ${sale && !rule && html`
      <p role="status">No rule of these rate cards covers this sale. It pays the default rate of the deployment.</p>`}
    ${rule && html`
      <${Table} caption=${`${rateCard(used.document, agency)}, version ${used.version}`}
        head=${[["Step"], [sale.currency, "n"]]}>
        ${charge(rule, sale).map(([words, value]) => html`
          <tr key=${words}><th scope="row"><${Name}>${words}<//></th><td class="n">${format.exact(value)}</td></tr>`)}
      <//>`}`;
}
