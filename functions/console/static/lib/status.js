/** The colour and the words of every status: of statements, payments, drafts, held events, runs and agencies. */

const COLOURS = {
  good: ["accepted", "resolved", "paid", "released", "releasing", "verified", "passed", "done", "delivered"],
  warn: [
    "attention", "warning", "proposed", "cancel_proposed", "cancelling", "partly_paid",
    "needs_approval", "unknown_sale", "unregistered_agency", "closed_agency",
    "bad_status", "redirected", "timed_out", "disconnected", "bad_answer", "bad_certificate", "tls_failed",
    "unknown_host", "refused_address", "no_secret", "bus_failed",
  ],
  bad: ["disputed", "cancelled", "held", "overdue", "drift", "failed", "late", "paused", "disabled"],
  plain: ["issued", "open", "new", "pending", "closed", "running", "sealed", "active", "none", "unknown", "to_do"],
};
const WORDS = { none: "not registered", unknown: "not checked" };

/** Returns the colour of a status: good, warn, bad or plain; undefined of one that nobody has named here. */
export const colourOf = (value) => Object.keys(COLOURS).find((colour) => COLOURS[colour].includes(value));

/** Returns a status in words. */
export const statusWords = (value) => WORDS[value] ?? value.replaceAll("_", " ");
