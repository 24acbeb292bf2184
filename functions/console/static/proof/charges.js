/** The charges of a statement by name, from its lines, and what it charges of the whole period, computed again. */
import { compare, difference, negative, product, quotient, same, sum } from "../lib/decimal.js";
import { expect, refuse } from "./proving.js";

/** The name of a charge that has no other. */
export const COMMISSION = "commission";
const SHARE_PLACES = 20;
const COLUMNS = ["from", "to", "percent", "turnover", "commission"];

/** Returns the charges of a line: names and amounts. Those of tiers are no part of its commission. */
export function chargesOf({ charges, commission }) {
  if (!charges) return [[COMMISSION, commission]];
  return charges.split(";").filter((entry) => !entry.includes("@")).map((entry) => entry.split(":"));
}

/** Returns the turnover of lines by the name of a charge and the definition of its tiers. */
export function turnoverOf(lines) {
  const found = new Map();
  for (const entry of lines.flatMap(({ charges }) => (charges ? charges.split(";") : []))) {
    const [charge, ...definition] = entry.split("@");
    const [name, turnover] = charge.split(":");
    const key = JSON.stringify([name, definition.join("@")]);
    if (definition.length) found.set(key, sum([found.get(key) ?? "0", turnover]));
  }
  return found;
}

/** Returns sums by name without those of 0; if all are 0, that of the commission. */
export function withoutZeros(sums) {
  const found = [...sums].filter(([, amount]) => !same(amount, "0"));
  return found.length ? found : [[COMMISSION, "0"]];
}

/** Checks what a document charges of the whole period; `turnover`: of its lines. */
export function checkPeriodCharges({ period_charges: charges, cancels }, turnover) {
  for (const charge of charges) {
    const { name, definition, amount } = charge;
    const exact = definition.split("/")[1].match(/^(account$|group=)/) ? ofTiers(charge, turnover) : ofMonth(charge);
    if (!same(amount, cancels ? negative(exact) : exact)) expect(`${name} (${definition})`, amount, exact);
  }
  return charges.map(({ name, amount }) => `${name}: ${amount}`).join("; ") || "There are none";
}

/** Returns a monthly fee, whole or by days, or what is missing to a minimum. */
function ofMonth({ definition, days, of_days: ofDays, commission }) {
  const [, kind, amount] = definition.split("/");
  if (kind === "fee") return amount;
  if (kind === "fee_by_days") return quotient(product(amount, `${days}`), `${ofDays}`, SHARE_PLACES);
  const missing = difference(amount, commission);
  return missing.startsWith("-") ? "0" : missing;
}

/** Returns what tiers come to, less what was charged before; refuses other tiers than those of the turnover. */
function ofTiers({ name, definition, turnover, stack, tiers, charged_before: before }, counted) {
  const own = counted.get(JSON.stringify([name, definition])) ?? "0";
  if (definition.startsWith("month/") && !same(own, turnover)) expect(`The turnover of ${name}`, turnover, own);
  const place = stack.findIndex(([one]) => one === definition);
  if (place < 0) refuse(`${definition} is not among what lies on each other`);
  const [start, whole] = [sum(["0", ...stack.slice(0, place).map(([, one]) => one)]), stack[place][1]];
  const bounds = [start, sum([start, whole]), sum(stack.map(([, one]) => one))];
  const found = sharesOf(parsed(definition), bounds, turnover, whole);
  expect(`The number of tiers of ${name}`, tiers.length, found.length);
  tiers.forEach((tier, row) => COLUMNS.forEach((column, index) => {
    const right = found[row][index];
    const isRight = right === null || tier[column] === null ? right === tier[column] : same(right, tier[column]);
    if (!isRight) expect(`${column} of ${name}`, tier[column], right);
  }));
  return difference(sum(["0", ...found.map((row) => row[4])]), before);
}

function parsed(definition) {
  const [, , mode, ...steps] = definition.split("/");
  const pairs = steps.map((step) => step.split("="));
  return { mode, steps: pairs.map(([from, percent], index) => [from, pairs[index + 1]?.[0] ?? null, percent]) };
}

/** Returns the tiers of a turnover between bounds, with what they charge: of a group's, an account's share. */
function sharesOf({ mode, steps }, [start, end, total], own, whole) {
  const reached = (turnover) => steps.findLast(([from]) => compare(from, turnover) <= 0) ?? steps[0];
  const charged = (step, turnover) => [...step, turnover, product(turnover, product(step[2], "0.01"))];
  if (same(whole, "0")) {
    return same(own, "0") ? [] : [charged(reached(mode === "volume" ? total : start), own)];
  }
  const parts = mode === "volume"
    ? [[reached(total), whole]]
    : steps.map((step, index) => [step, difference(within(step, end, index), within(step, start, index))]);
  return parts.filter(([, turnover]) => !same(turnover, "0")).map(([step, turnover]) => {
    const row = charged(step, turnover);
    return same(own, whole) ? row : [...step, share(row[3], own, whole), share(row[4], own, whole)];
  });
}

/** Returns a turnover within the bounds of a step; the first one has no lower bound. */
function within([from, to], turnover, index) {
  const below = to !== null && compare(turnover, to) > 0 ? to : turnover;
  return index > 0 && compare(below, from) < 0 ? from : below;
}

/** Returns the part of a figure that is an account's: of a whole below 0, too. */
function share(figure, own, whole) {
  const [part, divisor] = whole.startsWith("-") ? [negative(own), negative(whole)] : [own, whole];
  return quotient(product(figure, part), divisor, SHARE_PLACES);
}
