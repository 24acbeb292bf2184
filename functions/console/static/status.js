/** The colour and the words of every status: of statements, payments, drafts, held events, runs, periods and agencies. */

const COLOURS = {
  good: ["accepted", "resolved", "paid", "released", "releasing", "verified", "passed", "done"],
  warn: [
    "attention", "warning", "proposed", "cancel_proposed", "cancelling", "partly_paid",
    "needs_approval", "unknown_sale", "unregistered_agency", "closed_agency",
  ],
  bad: ["disputed", "not_issued", "cancelled", "held", "overdue", "drift", "failed", "late", "paused"],
  plain: ["issued", "open", "new", "pending", "closed", "running", "sealed", "active", "unknown", "to_do"],
};
const WORDS = { unknown: "not checked", drift: "differs" };

/** Returns the colour of a status: good, warn, bad or plain; undefined of one that nobody has named here. */
export const colourOf = (value) => Object.keys(COLOURS).find((colour) => COLOURS[colour].includes(value));

/** Returns a status in words. */
export const statusWords = (value) => WORDS[value] ?? value.replaceAll("_", " ");
