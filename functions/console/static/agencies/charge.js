/** What a rate card charges for a sale: the rule that covers it, and each charge step by step. */
import { compare, decimalText, difference, larger, negative, product, rounded, sum } from "../lib/decimal.js";
import * as format from "../lib/format.js";
import { reader } from "../lib/me.js";
import { chargesOf, listOf, tierWords } from "../lib/rate-words.js";

const NEEDS = { net: ["tax"], goods: ["tax", "shipping"] };
const PARTS = { net: " without tax", goods: " without tax and shipping" };

/**
 * Returns the most specific rule that covers a sale and charges something for it, or undefined.
 *
 * A sale has `amount`, `currency`, `quantity`, `category`, `location`, `product`, `tax` and `shipping`, all texts; only
 * the first three must not be empty.
 */
export function ruleFor(rules, sale) {
  const ranked = rules.filter((rule) => chargesOf(rule).some(({ per }) => !per))
    .map((rule) => [rankOf(rule, sale), rule]).filter(([rank]) => rank >= 0);
  return ranked.sort(([one], [other]) => other - one)[0]?.[1];
}

/** Returns how specific a rule is for a sale: by product, category, location, currency; -1 if it does not cover it. */
function rankOf(rule, sale) {
  const fits = ["product", "category", "currency"].every((name) =>
    !listOf(rule[name]).length || listOf(rule[name]).includes(sale[name]));
  const depths = listOf(rule.location).filter((one) => `${sale.location}#`.startsWith(`${one}#`))
    .map((one) => one.split("#").length);
  if (!fits || (rule.location && !depths.length)) return -1;
  return (listOf(rule.product).length ? 2e6 : 0) + (listOf(rule.category).length ? 1e6 : 0)
    + Math.max(0, ...depths) * 2 + (rule.currency ? 1 : 0);
}

/** Returns the steps of the commission by a rule: pairs of words and the exact value after the step. */
export function charge(rule, sale) {
  const charges = chargesOf(rule).filter(({ per }) => !per);
  const several = charges.length > 1;
  const found = charges.map((one) => [one, one.tiers ? turnover(one, sale) : stepsOf(one, sale)]);
  const steps = found.flatMap(([{ name }, listed]) =>
    listed.map(([words, value]) => [several ? `${name}: ${words}` : words, value]));
  const fixed = found.filter(([one]) => !one.tiers).map(([, listed]) => listed.at(-1)[1]);
  return several || !fixed.length ? [...steps, ["all charges together", sum(["0", ...fixed])]] : steps;
}

const basisOf = ({ of }, { amount, ...parts }) =>
  (NEEDS[of] ?? []).reduce((left, name) => difference(left, parts[name] || "0"), amount);

const turnover = (one, sale) =>
  [[`counts as turnover${PARTS[one.of] ?? ""}: ${tierWords(one.tiers)}`, basisOf(one, sale)]];

function stepsOf(one, sale) {
  const basis = basisOf(one, sale);
  const percent = decimalText(one.percent) || "0";
  const [fixed, least, most] = ["fixed", "minimum", "maximum"].map((name) => decimalText(one[name]));
  const back = sale.amount.startsWith("-");
  const signed = (value) => (back ? negative(value) : value);
  let value = product(product(basis, percent), "0.01");
  const steps = [[`${percent} % of ${basis}${PARTS[one.of] ?? ""}`, value]];
  const step = (words, next) => {
    value = next;
    steps.push([words, value]);
  };
  const round = (exact) =>
    (Number.isInteger(one.decimals) ? rounded(exact, one.decimals, reader()?.rounding === "half-up") : exact);
  const hasItems = /[1-9]/.test(sale.amount);
  const items = one.fixed_per === "order" ? "1" : sale.quantity;
  if (hasItems && fixed) {
    const words = one.fixed_per === "order" ? "once for the order" : `for each of ${items}`;
    step(`and ${fixed} ${words}`, sum([value, signed(product(fixed, items))]));
  }
  if (hasItems && least) step(`${least} at least`, signed(larger(signed(value), least)));
  if (hasItems && most) step(`${most} at most`, signed(negative(larger(negative(signed(value)), negative(most)))));
  if (Number.isInteger(one.decimals)) step(`rounded to ${format.count(one.decimals)} decimal places`, round(value));
  const kept = one.refund === "keep" ? signed(value) : one.refund === "keep_fixed" && fixed && product(fixed, items);
  if (hasItems && back && kept && compare(kept, "0") > 0) {
    step(`${kept} of it is kept`, sum([value, negative(larger(negative(round(kept)), value))]));
  }
  return steps;
}
