/** What is open of the statements of agencies, and what they have paid, as the API says it. */
import { accountPath, all, get, inTurns, withQuery } from "./api.js";
import { laterDay, today } from "./calendar.js";

/** The most accounts of a page. */
const MOST = 1000;
/** The days in which a person looks for what was recorded by hand: a second payment of the same is rarely later. */
const RECENT_DAYS = 7;

const isPaid = ({ payments }) => /[1-9]/.test(payments);

/**
 * Returns the accounts with something open, of an agency or without one of all, and their sums by currency: now, or at
 * the end of a day that is over.
 */
export async function receivables(agency, on) {
  const found = { items: [], totals: [] };
  for (let next, more = true; more; more = Boolean(next)) {
    const page = await get(withQuery("/receivables", { agency, on, limit: MOST, next }));
    found.items.push(...page.items);
    found.totals.push(...page.totals);
    ({ next } = page);
  }
  return found;
}

/** Returns the accounts with something open: of an agency, or without one of all. */
export const openAccounts = async (agency) => (await receivables(agency)).items;

/** Returns the open statements of an agency, each with its currency: by currency, the oldest first. */
export const openStatements = async (agency) =>
  (await openAccounts(agency)).flatMap(({ currency, statements }) => statements.map((one) => ({ currency, ...one })));

/**
 * Returns the payments of an account that were recorded from a day on, as events. Only the events of days with payments
 * are read, so the payments of a day that add up to 0 are left out, unless `every` event of the agency is looked at.
 */
export async function paymentsSince({ agency, currency }, from, every = false) {
  const isOfAccount = (one) => one.currency === currency;
  if (every) {
    const span = { from, to: laterDay(today(), 1) };
    return (await all("/events", { agency, type: "payment.recorded", ...span })).filter(isOfAccount);
  }
  const days = await all(accountPath(agency, currency, "days"), { from, to: laterDay(today(), 1) });
  const found = [];
  await inTurns(days.filter(isPaid), async ({ day }) => {
    const span = { from: day, to: laterDay(day, 1) };
    found.push(...await all("/events", { agency, type: "payment.recorded", ...span }));
  });
  return found.filter(isOfAccount);
}

/** Returns the events of a type that were recorded for an account in the last days, up to this moment. */
export const recentOf = async ({ agency, currency }, type) =>
  (await all("/events", { agency, type, from: laterDay(today(), -RECENT_DAYS), to: laterDay(today(), 1) }))
    .filter((one) => one.currency === currency);

/** Returns the payments that `quarterhour payouts` has recorded from a day on, as events. */
export const payoutsSince = (from) =>
  all("/events", { source: "quarterhour/payouts", type: "payment.recorded", from, to: laterDay(today(), 1) });
