/** The fields of a rate card: its span, its rules, their charges and tiers. */
import { html, useState } from "../vendor/htm-preact.js";
import { decimalText } from "../lib/decimal.js";
import { CURRENCY, NumberField } from "../lib/fields.js";
import * as format from "../lib/format.js";
import { spelled } from "../lib/numbers.js";
import { OR } from "./rate-card-content.js";
import { COMMISSION, chargesOf, listOf } from "../lib/rate-words.js";

const LISTED = { maxlength: 1000, size: 14, placeholder: "all", title: `Several are separated by ${OR}` };
const CONDITIONS = {
  product: ["Product", LISTED], category: ["Category", LISTED], location: ["Location", LISTED],
  currency: ["Currency", { ...CURRENCY, placeholder: "all" }],
};
const SUM = { size: 8, words: spelled };
const PERCENT = { ...SUM, most: "100" };
const KINDS = {
  percent: "a percentage and fees", tiers: "tiers by turnover", fee: "a fee of the month",
  least: "a minimum of the month",
};
const BASES = [["amount", "the whole amount"], ["net", "without tax"], ["goods", "without tax and shipping"]];
const BASE = ["of", "Charged of", BASES];
const CHOICES = {
  percent: [
    BASE,
    ["fixed_per", "Fixed once per", [["item", "item"], ["order", "order"]]],
    ["refund", "Refunds give back", [
      ["share", "their share"], ["keep", "nothing"], ["keep_fixed", "all but the fixed part"],
    ]],
    ["decimals", "Rounded on each sale", [["", "no"], ...[0, 1, 2, 3, 4, 5, 6].map((one) => [`${one}`, `to ${one}`])]],
  ],
  tiers: [
    BASE,
    ["tiers_per", "Turnover of", [["month", "the month"], ["quarter", "the quarter"], ["year", "the year"]]],
    ["tiers_of", "Turnover by", [["account", "agency"], ["group", "group of agencies"]]],
    ["tiers_mode", "Rates apply", [["graduated", "each to its part"], ["volume", "the reached one to all"]]],
  ],
  fee: [["part_months", "First and last month", [["whole", "whole"], ["by_days", "by days"]]]],
  least: [],
};
const NUMBERS = {
  percent: [["percent", "Percent", PERCENT], ["fixed", "Fixed", SUM], ["minimum", "Minimum", SUM],
    ["maximum", "Maximum", SUM]],
  tiers: [],
  fee: [["amount", "Fee", { ...SUM, required: true }]],
  least: [["minimum", "Minimum", { ...SUM, required: true }]],
};
const MOST_CHARGES = 8;

const kindOf = ({ tiers, amount, per }) => (tiers ? "tiers" : amount ? "fee" : per ? "least" : "percent");

const identified = (one) => ({ id: crypto.randomUUID(), one });

/** Returns a list of a form: its items with their ids, and what adds one and removes one. */
function useItems(items) {
  const [listed, setListed] = useState(() => items.map(identified));
  const add = (one) => setListed([...listed, identified(one)]);
  const remove = (id) => setListed(listed.filter((other) => other.id !== id));
  return [listed, add, remove];
}

/** The fields of a version of a rate card, which begin with a content. */
export function Fields({ content }) {
  const [rules, add, remove] = useItems(content.rules);
  return html`
    <label>In force from (${format.zoneName()})
      <input name="valid_from" type="datetime-local" required defaultValue=${format.localTime(Date.now())} />
    </label>
    <label>Until, not included; empty: without an end
      <input name="valid_to" type="datetime-local"
        defaultValue=${content.valid_to && format.localTime(content.valid_to)} />
    </label>
    ${rules.map(({ id, one }, index) => html`
      <${Rule} key=${id} number=${index + 1} rule=${one} onRemove=${rules.length > 1 && (() => remove(id))} />`)}
    <p><button type="button" onClick=${() => add({})}>Add a rule</button></p>`;
}

function Rule({ number, rule, onRemove }) {
  const [charges, add, remove] = useItems(chargesOf(rule));
  return html`
    <fieldset>
      <legend>Rule ${number}</legend>
      <div class="bar">
        ${Object.entries(CONDITIONS).map(([name, [label, more]]) => html`
          <label key=${name}>${label}
            <input name=${name} autocomplete="off" defaultValue=${listOf(rule[name]).join(` ${OR} `)} ...${more} />
          </label>`)}
        ${onRemove && html`
          <button type="button" aria-label=${`Remove rule ${number}`} onClick=${onRemove}>Remove</button>`}
      </div>
      ${charges.map(({ id, one }, index) => html`
        <${Charge} key=${id} charge=${one} place=${`charge ${index + 1} of rule ${number}`}
          onRemove=${charges.length > 1 && (() => remove(id))} />`)}
      ${charges.length < MOST_CHARGES && html`
        <p><button type="button" onClick=${() => add({ name: "" })}>Add a charge to rule ${number}</button></p>`}
    </fieldset>`;
}

function Charge({ charge, place, onRemove }) {
  const [kind, setKind] = useState(kindOf(charge));
  const { per, of, mode } = charge.tiers ?? {};
  const begun = { ...charge, tiers_per: per, tiers_of: of, tiers_mode: mode };
  return html`
    <div class="bar" role="group" aria-label=${place}>
      <label>Charge
        <input name="charge" required maxlength="40" size="12" autocomplete="off"
          defaultValue=${charge.name ?? COMMISSION} />
      </label>
      <label>Kind
        <select name="kind" value=${kind} onChange=${(event) => setKind(event.target.value)}>
          ${Object.entries(KINDS).map(([name, words]) => html`<option key=${name} value=${name}>${words}</option>`)}
        </select>
      </label>
      ${NUMBERS[kind].map(([name, label, more]) => html`
        <${NumberField} key=${`${kind} ${name}`} ...${{ label, name, ...more }} value=${decimalText(charge[name])} />`)}
      ${CHOICES[kind].map(([name, label, choices]) => html`
        <label key=${`${kind} ${name}`}>${label}
          <select name=${name} defaultValue=${`${begun[name] ?? choices[0][0]}`}>
            ${choices.map(([value, words]) => html`
              <option key=${value} value=${value} selected=${`${begun[name] ?? choices[0][0]}` === value}>
                ${words}
              </option>`)}
          </select>
        </label>`)}
      ${kind === "tiers" && html`<${Steps} steps=${charge.tiers?.steps ?? [{ from: "0" }, {}]} place=${place} />`}
      ${onRemove && html`
        <button type="button" aria-label=${`Remove ${place}`} onClick=${onRemove}>Remove the charge</button>`}
    </div>`;
}

function Steps({ steps, place }) {
  const [listed, add, remove] = useItems(steps);
  return html`
    ${listed.map(({ id, one }, index) => html`
      <div key=${id} class="bar" role="group" aria-label=${`Tier ${index + 1} of ${place}`}>
        <${NumberField} label=${index ? "From" : "From (0)"} name="from" value=${decimalText(one.from)} ...${SUM}
          required />
        <${NumberField} label="Percent" name="percent" value=${decimalText(one.percent)} ...${PERCENT} required />
        ${listed.length > 1 && html`
          <button type="button" aria-label=${`Remove tier ${index + 1} of ${place}`}
            onClick=${() => remove(id)}>Remove</button>`}
      </div>`)}
    <button type="button" onClick=${() => add({})}>Add a tier</button>`;
}
