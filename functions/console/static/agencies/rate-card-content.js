/** The content of a rate card that its form holds. */
import * as format from "../lib/format.js";
import { readNumber } from "../lib/numbers.js";

/** Separates several values of a condition. */
export const OR = "|";

const CONDITIONS = ["product", "category", "location", "currency"];
const USUAL = { of: "amount", fixed_per: "item", refund: "share", decimals: "", part_months: "whole" };

/**
 * Returns the content of a rate card that a form holds; what is empty or usual is left out.
 *
 * The fields are in the order of the form: the first condition begins a rule, the name begins a charge, the start of a
 * tier begins a tier.
 */
export function contentOf(form) {
  const content = { valid_from: format.instant(form.get("valid_from")) };
  if (form.get("valid_to")) content.valid_to = format.instant(form.get("valid_to"));
  const rules = [];
  for (const [name, text] of form) {
    if (name === "product") rules.push({ charges: [] });
    if (rules.length) addTo(rules.at(-1), name, text.trim());
  }
  return { ...content, rules: rules.map(shortened) };
}

function addTo(rule, name, text) {
  if (CONDITIONS.includes(name)) {
    const several = text.split(OR).map((one) => one.trim()).filter(Boolean);
    if (several.length) rule[name] = several.length > 1 ? several : several[0];
  } else if (name === "charge") {
    rule.charges.push({ name: text });
  } else {
    addToCharge(rule.charges.at(-1), name, text);
  }
}

function addToCharge(charge, name, text) {
  if (name === "kind") {
    if (text === "tiers") charge.tiers = { steps: [] };
    if (text === "fee" || text === "least") charge.per = "month";
  } else if (name.startsWith("tiers_")) {
    charge.tiers[name.slice("tiers_".length)] = text;
  } else if (name === "from") {
    charge.tiers.steps.push({ from: (readNumber(text) ?? "") });
  } else if (name === "percent" && charge.tiers) {
    charge.tiers.steps.at(-1).percent = (readNumber(text) ?? "");
  } else if (name === "decimals") {
    if (text) charge.decimals = Number(text);
  } else {
    const value = name in USUAL ? text : (readNumber(text) ?? "");
    if (value && value !== USUAL[name]) charge[name] = value;
  }
}

/** Returns a rule in its short form, if it has one: that of a percentage alone. */
function shortened({ charges, ...conditions }) {
  const [{ name, percent, ...more }, ...others] = charges;
  const isPlain = name === "commission" && percent && !others.length && !Object.keys(more).length;
  return isPlain ? { ...conditions, percent } : { ...conditions, charges };
}
