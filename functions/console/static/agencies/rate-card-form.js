/** The form in which finance writes the next version of a rate card: when it begins, and its rules. */
import { html, useState } from "../vendor/htm-preact.js";
import { getOr, put, segment } from "../lib/api.js";
import { decimalText } from "../lib/decimal.js";
import { CURRENCY, NumberField, numberOf } from "../lib/fields.js";
import * as format from "../lib/format.js";
import { may } from "../lib/me.js";
import { rateCard } from "../lib/names.js";
import { spelled } from "../lib/numbers.js";
import { Pending, useLoaded } from "../lib/parts.js";
import { NewVersion } from "./new-version.js";

const DEFAULT = "rate-card:default";
const NEW = { version: 0, content: { rules: [{}] } };
const SUM = { number: true, size: 8, words: spelled };
const COLUMNS = {
  category: ["Category", { maxlength: 200, size: 14, placeholder: "all" }],
  location: ["Location", { maxlength: 200, size: 14, placeholder: "all" }],
  currency: ["Currency", { ...CURRENCY, placeholder: "all" }],
  percent: ["Percent", { ...SUM, required: true, most: "100" }],
  fixed: ["Fixed per item", SUM],
  minimum: ["Minimum", SUM],
  maximum: ["Maximum", SUM],
};

const documentPath = (document) => `/documents/${segment(document)}`;

/** Returns the latest version of a rate card, which may be in force only later; an empty one if there is none. */
const latestOf = (document) => getOr(documentPath(document), NEW);

/** Returns the rate cards that can apply to an agency, in the order of precedence. */
function documentsOf(agency, group) {
  const own = /^(default|\*|group\/.*)$/s.test(agency) ? [] : [`rate-card:${agency}`];
  return [...own, ...(group ? [`rate-card:group/${group}`] : []), DEFAULT];
}

/** The buttons with which finance writes a rate card of an agency in a group, or in none. */
export function WriteRateCard({ agency, group, onDone }) {
  const [document, setDocument] = useState(null);
  if (!may("finance")) return null;
  return html`
    <p class="bar">
      ${documentsOf(agency, group).map((one) => html`
        <button key=${one} type="button" onClick=${() => setDocument(one)}>
          New version: ${rateCard(one, agency)}
        </button>`)}
    </p>
    ${document && html`
      <${Write} key=${document} ...${{ document, agency, onDone }} onClose=${() => setDocument(null)} />`}`;
}

function Write({ document, agency, onDone, onClose }) {
  const { value: latest, problem, again } = useLoaded(() => latestOf(document), document);
  if (!latest) return html`<${Pending} problem=${problem} retry=${again} />`;
  return html`
    <${NewVersion} ...${{ latest, onDone, onClose, contentOf, factsOf }} fields=${Fields} wide
      title=${`New version of a rate card: version ${latest.version + 1}`} action="Save"
      read=${() => latestOf(document)} write=${(body) => put(documentPath(document), body)}>
      <p>${rateCard(document, agency)}, for ${scopeOf(document)}. The most specific rule counts: by category, then
        location, then currency. Recorded events keep their terms.</p>
    <//>`;
}

function scopeOf(document) {
  if (document === DEFAULT) return "every agency";
  return document.startsWith("rate-card:group/") ? "each agency of the group" : "this agency alone";
}

/** Returns the content of a version that a form holds; what is empty is left out. */
function contentOf(form) {
  const columns = Object.entries(COLUMNS).map(([name, [, { number }]]) =>
    [name, form.getAll(name).map((text) => (number ? numberOf(text) : text.trim()))]);
  const rules = form.getAll("percent").map((_, index) =>
    Object.fromEntries(columns.map(([name, texts]) => [name, texts[index]]).filter(([, one]) => one)));
  const kept = form.get("refund_fixed") ? {} : { refund_fixed: false };
  return { valid_from: format.instant(form.get("valid_from")), rules, ...kept };
}

/** Returns what a rate card says, as people read it: for which events, and what it charges. */
const factsOf = ({ valid_from: validFrom, rules, refund_fixed: refundFixed }) => [
  ["In force from", format.time(validFrom)],
  ...(refundFixed === false ? [["Refunds", "do not give back the fixed fee"]] : []),
  ...rules.map((rule) => [wordsOf(rule, ["category", "location", "currency"]) || "All events", chargeOf(rule)]),
];

const chargeOf = (rule) => wordsOf(rule, ["percent", "fixed", "minimum", "maximum"]);

const wordsOf = (rule, names) =>
  names.filter((name) => decimalText(rule[name])).map((name) => {
    const [label, { number }] = COLUMNS[name];
    return `${label} ${number ? format.exact(decimalText(rule[name])) : rule[name]}`;
  }).join(", ");

function Fields({ content }) {
  const [rules, setRules] = useState(() => content.rules.map(identified));
  const now = format.localTime(Date.now());
  return html`
    <label>In force from (${format.zoneName()})
      <input name="valid_from" type="datetime-local" required defaultValue=${now} />
    </label>
    <label class="check">
      <input name="refund_fixed" type="checkbox" defaultChecked=${content.refund_fixed !== false} />
      Refunds give back the fixed fee
    </label>
    ${rules.map(({ id, rule }, index) => html`
      <fieldset key=${id} class="bar">
        <legend>Rule ${index + 1}</legend>
        ${Object.entries(COLUMNS).map(([name, [label, { number, ...more }]]) => (number
          ? html`<${NumberField} key=${name} ...${{ label, name }} value=${decimalText(rule[name])} ...${more} />`
          : html`
            <label key=${name}>${label}
              <input name=${name} autocomplete="off" defaultValue=${rule[name]} ...${more} />
            </label>`))}
        ${rules.length > 1 && html`
          <button type="button" aria-label=${`Remove rule ${index + 1}`}
            onClick=${() => setRules(rules.filter((one) => one.id !== id))}>Remove</button>`}
      </fieldset>`)}
    <p><button type="button" onClick=${() => setRules([...rules, identified({})])}>Add a rule</button></p>`;
}

const identified = (rule) => ({ id: crypto.randomUUID(), rule });
