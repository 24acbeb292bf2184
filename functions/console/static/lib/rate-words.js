/** The rules of rate cards as people read them. */
import { decimalText } from "./decimal.js";
import * as format from "./format.js";
import { isolated, locationText } from "./names.js";

/** The conditions of a rule, in the order in which they count: their words, and what makes a value readable. */
export const CONDITIONS = {
  product: ["Product", isolated],
  category: ["Category", isolated],
  location: ["Location", locationText],
  currency: ["Currency", isolated],
};

/** The name of a charge that a rule does not name. */
export const COMMISSION = "commission";

const REFUNDS = { keep: "kept on refunds", keep_fixed: "the fixed part kept on refunds" };
const BASES = { net: "without tax", goods: "without tax and shipping" };
const MODES = { graduated: "each part at its own rate", volume: "all at the rate reached" };
const SPANS = { month: "a month", quarter: "a quarter of the calendar", year: "a calendar year" };

const decimal = (value) => format.exact(decimalText(value));

/** Returns what a condition of a rule takes, as a list; empty if it takes everything. */
export const listOf = (value) => [value ?? []].flat();

/** Returns the charges of a rule: without any, its own entries are those of the commission. */
export const chargesOf = ({ charges, percent, fixed, minimum, maximum }) =>
  charges ?? [{ name: COMMISSION, percent, fixed, minimum, maximum }];

/** Returns the events that a rule is for, in words. */
export const conditionsIn = (rule) =>
  Object.entries(CONDITIONS).filter(([name]) => listOf(rule[name]).length)
    .map(([name, [label, words]]) => `${label} ${listOf(rule[name]).map(words).join(" or ")}`).join(", ") ||
  "All events";

/** Returns the charges of a rule in words. */
export const wordsOf = (rule) => chargesOf(rule).map((one) => `${one.name}: ${chargeWords(one)}`).join("; ");

/** Returns a charge in words, without its name. */
export function chargeWords(charge) {
  const { amount, tiers, percent, fixed, minimum, maximum, decimals, refund, per } = charge;
  if (amount) return `${decimal(amount)} a month${charge.part_months === "by_days" ? ", by days in parts of one" : ""}`;
  if (per) return `${decimal(minimum)} a month at least`;
  const base = BASES[charge.of] ?? "";
  if (tiers) return [tierWords(tiers), base].filter(Boolean).join(", ");
  return [
    decimalText(percent) && [`${decimal(percent)} %`, base].filter(Boolean).join(" "),
    fixed && `${decimal(fixed)} ${charge.fixed_per === "order" ? "an order" : "an item"}`,
    minimum && `${decimal(minimum)} at least`,
    maximum && `${decimal(maximum)} at most`,
    decimals !== undefined && decimals !== null && `rounded to ${format.count(decimals)} decimal places`,
    REFUNDS[refund],
  ].filter(Boolean).join(", ");
}

/** Returns tiers in words: the percentages by turnover, of whom and in which span it counts, and how. */
export function tierWords({ per, of, mode, steps }) {
  const rates = steps.map(({ from, percent }) => `${decimal(percent)} % from ${decimal(from)}`);
  const whose = of === "group" ? "turnover of the group" : "turnover";
  return `${rates.join(", ")} of ${whose} in ${SPANS[per]}, ${MODES[mode]}`;
}
