/** The close of a period: its drafts as rows that can be sorted, filtered and added up, and work in turns. */
import { difference, sum } from "../lib/decimal.js";
import { matching, sorted } from "../lib/rows.js";

const UNDECIDED = ["new", "open", "held", "proposed"];
const HELD = "held";
const MANY = 1000; // More than a draft has checks.

/** The sums of money of a row, by column. Those of a preview are missing until it is loaded. */
export const SUMS = ["net", "commission", "tax", "closing", "last"];

/** Returns the key of an account in lists. */
export const keyOf = ({ agency, currency }) => `${currency} ${agency}`;

/** Returns the checks of a draft that keep it from being released: a hold does not, as a release lifts it. */
export const failedOf = (checks) => checks.filter((one) => one.level === "failed" && one.check !== HELD);

/** The failed checks that a release with a reason lifts. */
const CONFIRMABLE = ["tax_percent", "tax_place", "invoice_profile"];

/** Returns the checks of a draft that a person who releases it confirms with a reason. */
export const toConfirm = (checks) => failedOf(checks).filter((one) => CONFIRMABLE.includes(one.check));

/** Returns the checks of a draft that only warn. */
export const warningsOf = (checks) => checks.filter((one) => one.level === "warning");

/**
 * Returns the row of a draft. `name`: the legal name, if it is registered. `last`: the commission of the period before,
 * if there is one. `preview`: commission, tax and closing balance of its statement, if they are loaded; until then the
 * commission is the exact one, which the statement rounds.
 */
export function rowOf(draft, { name, last, preview }) {
  const { checks } = draft;
  const commission = preview?.commission ?? draft.commission_exact;
  return {
    ...draft, key: keyOf(draft), name, commission, last,
    tax: preview?.tax ?? undefined, closing: preview?.closing ?? undefined,
    change: last === undefined ? undefined : difference(commission, last),
    failed: failedOf(checks).length, unconfirmed: toConfirm(checks).length, warnings: warningsOf(checks).length,
  };
}

/** Returns the decision that a person can make now to release a row: release, agree, or none. */
export function releaseOf({ state, failed, unconfirmed, last_decision: first }, person) {
  if (failed > unconfirmed || !UNDECIDED.includes(state)) return null;
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

/** The columns of drafts, as rows.js has them. */
export const COLUMNS = [
  {
    key: "agency", title: "Agency", value: (row) => row.name || row.agency,
    text: ({ name, agency }) => [name, agency].filter(Boolean).join(" "),
  },
  { key: "net", title: "Net sales", type: "money" },
  { key: "commission", title: "Commission", type: "money" },
  { key: "last", title: "Last period", type: "money" },
  { key: "change", title: "Change", type: "money" },
  { key: "tax", title: "Tax", type: "money" },
  { key: "closing", title: "Closing", type: "money" },
  { key: "checks", title: "Checks", type: "number", value: ({ failed, warnings }) => failed * MANY + warnings },
  { key: "state", title: "State" },
];
/** What the text of a filter is looked for in. */
const FOUND_IN = [
  ...COLUMNS.filter(({ key }) => ["agency", "state"].includes(key)),
  { key: "checks", text: ({ checks }) => checks.flatMap((one) => [one.level, one.message]).join(" ") },
];

/** Returns those rows that a filter shows to a person. All words of `text` are in the name, agency, state or checks. */
export const filtered = (rows, { text = "", currency, show }, person) => matching(
  rows.filter((row) => (!currency || row.currency === currency) && (SHOWN[show]?.(row, person) ?? true)),
  FOUND_IN, text,
);

/** Returns the rows of each currency, as sums of two currencies do not compare: [{currency, rows}], by currency. */
export function grouped(rows, sort) {
  const ordered = sorted(sorted(rows, COLUMNS, { by: "agency", down: false }), COLUMNS, sort);
  return [...Map.groupBy(ordered, (row) => row.currency)].toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([currency, some]) => ({ currency, rows: some }));
}

/** Returns the sums of rows of one currency. One that is not known of every row is undefined; `last` can be partial. */
export const sumsOf = (rows) => Object.fromEntries(SUMS.map((name) => {
  const known = rows.map((row) => row[name]).filter((value) => value !== undefined);
  return [name, known.length === rows.length || (name === "last" && known.length) ? sum(known) : undefined];
}));

/** Returns how a sum stands to one before, as a share of it; undefined if that says nothing. */
export const growth = (change, before) =>
  change === undefined || !Number(before) ? undefined : Number(change) / Math.abs(Number(before));
