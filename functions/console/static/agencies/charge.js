/** What a rate card charges for a sale: the rule that covers it, and the commission step by step. */
import { decimalText, larger, negative, product, sum } from "../lib/decimal.js";

/**
 * Returns the most specific rule that covers a sale, or undefined.
 *
 * A sale has `amount`, `currency`, `quantity`, `category` and `location`, all texts; the last two may be empty.
 */
export function ruleFor(rules, sale) {
  const covering = rules.filter((rule) => covers(rule, sale));
  return covering.sort((one, other) => rank(other) - rank(one))[0];
}

const covers = (rule, sale) =>
  [undefined, null, sale.category].includes(rule.category) &&
  [undefined, null, sale.currency].includes(rule.currency) &&
  (!rule.location || `${sale.location}#`.startsWith(`${rule.location}#`));

const rank = ({ category, location, currency }) =>
  (category ? 1e6 : 0) + (location ? location.split("#").length * 2 : 0) + (currency ? 1 : 0);

/** Returns the steps of the commission by a rule: pairs of words and the exact value after the step. */
export function charge(rule, { amount, quantity }) {
  const names = ["percent", "fixed", "minimum", "maximum"];
  const [percent, fixed, least, most] = names.map((name) => decimalText(rule[name]));
  const back = amount.startsWith("-");
  const signed = (value) => (back ? negative(value) : value);
  let value = product(product(amount, percent), "0.01");
  const steps = [[`${percent} % of ${amount}`, value]];
  if (!/[1-9]/.test(amount)) return steps;
  const step = (words, next) => {
    value = next;
    steps.push([words, value]);
  };
  if (fixed) step(`and ${fixed} for each of ${quantity}`, sum([value, signed(product(fixed, quantity))]));
  if (least) step(`${least} at least`, signed(larger(signed(value), least)));
  if (most) step(`${most} at most`, signed(negative(larger(negative(signed(value)), negative(most)))));
  if (fixed && back && rule.refund_fixed === false) {
    const fee = product(fixed, quantity);
    step(`${fee} of it is kept, as the fixed fee`, sum([value, negative(larger(negative(fee), value))]));
  }
  return steps;
}
