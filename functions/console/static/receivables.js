/** What is open of the statements of agencies, and what they have paid, as the API says it. */
import { accountPath, all, get, inTurns, withQuery } from "./api.js";
import { laterDay, laterMonth, today } from "./calendar.js";
import { useLoaded } from "./parts.js";

const MOST = 1000;

const isPaid = ({ payments }) => /[1-9]/.test(payments);

/** Returns the accounts with something open: of an agency, or without one of all. */
export const openAccounts = (agency) => all("/receivables", { agency });

/** Returns the open statements of an agency, each with its currency: by currency, the oldest first. */
export const openStatements = async (agency) =>
  (await openAccounts(agency)).flatMap(({ currency, statements }) => statements.map((one) => ({ currency, ...one })));

/**
 * Returns the open statements of an agency by number; undefined until they are read, or without an agency. They are
 * read again when `version` changes.
 */
export function useOpenStatements(agency, version = "") {
  const load = async () => (agency ? await openStatements(agency) : null);
  const { value } = useLoaded(load, `${agency} ${version}`);
  return value ? new Map(value.map((one) => [one.number, one])) : undefined;
}

/** Returns the day and the amount of the last day on which an account has payments; undefined if there is none. */
export async function lastPayment({ agency, currency }) {
  const { items } = await get(withQuery(accountPath(agency, currency, "periods"), { limit: MOST }));
  const last = items.findLast(isPaid);
  if (!last) return undefined;
  // What is recorded soon after a month can still count in it.
  const span = { from: `${last.period}-01`, to: `${laterMonth(last.period, 2)}-01`, limit: MOST };
  const days = await get(withQuery(accountPath(agency, currency, "days"), span));
  const day = days.items.findLast(isPaid);
  return day ? { day: day.day, amount: day.payments } : { day: last.period, amount: last.payments };
}

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

/** Returns the payments that `quarterhour payouts` has recorded from a day on, as events. */
export const payoutsSince = (from) =>
  all("/events", { source: "quarterhour/payouts", type: "payment.recorded", from, to: laterDay(today(), 1) });
