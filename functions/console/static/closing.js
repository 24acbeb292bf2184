/** The close of a period: its drafts as rows that can be sorted, filtered and added up, and work in turns. */
import { compare, difference, sum } from "./decimal.js";

const UNDECIDED = ["new", "open", "held", "proposed"];
const HELD = "held";

/** The sums of money of a row, by column. Those of a preview are missing until it is loaded. */
export const SUMS = ["net", "commission", "tax", "closing", "last"];

/** Returns the key of an account in lists. */
export const keyOf = ({ agency, currency }) => `${currency} ${agency}`;

/** Returns the checks of a draft that keep it from being released: a hold does not, as a release lifts it. */
export const failedOf = (checks) => checks.filter((one) => one.level === "failed" && one.check !== HELD);

/** Returns the checks of a draft that only warn. */
export const warningsOf = (checks) => checks.filter((one) => one.level === "warning");

/**
 * Returns the row of a draft. `name`: the legal name, if it is registered. `last`: the exact commission of the period
 * before, if there is one. `preview`: tax and closing balance, if they are loaded.
 */
export function rowOf(draft, { name, last, preview }) {
  const { commission_exact: commission, checks } = draft;
  return {
    ...draft, key: keyOf(draft), name, commission, last,
    tax: preview?.tax, closing: preview?.closing,
    change: last === undefined ? undefined : difference(commission, last),
    failed: failedOf(checks).length, warnings: warningsOf(checks).length,
  };
}

/** Returns the decision that a person can make now to release a row: release, agree, or none. */
export function releaseOf({ state, failed, last_decision: first }, person) {
  if (failed || !UNDECIDED.includes(state)) return null;
  if (state !== "proposed") return "release";
  return first.by === person ? null : "agree";
}

/** Returns whether a row can be held. */
export const canHold = ({ state }) => UNDECIDED.includes(state) && state !== HELD;

/** The ways to choose rows: those that a person can release, and those that need something else. */
const SHOWN = {
  ready: (row, person) => releaseOf(row, person) !== null,
  warning: (row) => row.warnings > 0,
  failed: (row) => row.failed > 0,
  held: (row) => row.state === HELD,
  proposed: (row) => row.state === "proposed",
  releasing: (row) => row.state === "releasing",
};

/** Returns how many rows each way to choose shows to a person, by name; `all` is first. */
export const countsOf = (rows, person) => [
  ["all", rows.length],
  ...Object.entries(SHOWN).map(([name, fits]) => [name, rows.filter((row) => fits(row, person)).length]),
];

/** Returns those rows that a filter shows to a person. All words of `text` are in the name, agency, state or checks. */
export function filtered(rows, { text = "", currency, show }, person) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const textOf = ({ name, agency, state, checks }) =>
    [name, agency, state, ...checks.flatMap((one) => [one.level, one.message])].join(" ").toLowerCase();
  return rows.filter((row) => (!currency || row.currency === currency) && (SHOWN[show]?.(row, person) ?? true)
    && (!words.length || words.every((word) => textOf(row).includes(word))));
}

const TEXTS = {
  agency: (row) => row.name || row.agency,
  state: (row) => row.state,
};
const order = new Intl.Collator(undefined, { numeric: true }).compare;

function comparison(by) {
  if (by === "checks") return (row, other) => row.failed - other.failed || row.warnings - other.warnings;
  if (TEXTS[by]) return (row, other) => order(TEXTS[by](row), TEXTS[by](other));
  return (row, other) => compare(row[by], other[by]);
}

/**
 * Returns the rows of each currency, as sums of two currencies do not compare: [{currency, rows}], by currency.
 * Rows without a figure are the last in both directions, equal ones are by name.
 */
export function grouped(rows, { by, down }) {
  const compared = comparison(by);
  const isKnown = (row) => !SUMS.includes(by) && by !== "change" || row[by] !== undefined;
  const ordered = (some) => some.toSorted((row, other) => {
    if (!isKnown(row) || !isKnown(other)) return isKnown(other) - isKnown(row);
    return (down ? -1 : 1) * compared(row, other) || order(TEXTS.agency(row), TEXTS.agency(other));
  });
  return [...Map.groupBy(rows, (row) => row.currency)].toSorted(([one], [other]) => order(one, other))
    .map(([currency, some]) => ({ currency, rows: ordered(some) }));
}

/** Returns the sums of rows of one currency. One that is not known of every row is undefined; `last` can be partial. */
export const sumsOf = (rows) => Object.fromEntries(SUMS.map((name) => {
  const known = rows.map((row) => row[name]).filter((value) => value !== undefined);
  return [name, known.length === rows.length || (name === "last" && known.length) ? sum(known) : undefined];
}));

/** Returns how a sum stands to one before, as a share of it; undefined if that says nothing. */
export const growth = (change, before) =>
  change === undefined || !Number(before) ? undefined : Number(change) / Math.abs(Number(before));

/** Calls `work` for each item, some at once, until all are done or `stopped` returns true. */
export async function inTurns(items, atOnce, work, stopped = () => false) {
  let next = 0;
  const turn = async () => {
    while (next < items.length && !stopped()) {
      const item = items[next];
      next += 1;
      await work(item);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, turn));
}
