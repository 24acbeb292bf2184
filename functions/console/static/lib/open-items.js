/** Open items of accounts: their sums, running statements, reminders and payouts. It requests and shows nothing. */
import { compare, difference, negative, sum } from "./decimal.js";
import { unmistakable } from "./numbers.js";

/** How long something has been due, as the API names it. */
export const AGES = ["not_due", "days_1_30", "days_31_60", "days_61_90", "days_over_90"];

/** The text of a reminder to begin with: {agency} and {statements} stand for those of each agency. */
export const REMINDER = `To {agency}:

these statements are overdue.

{statements}

Please pay them. If something is wrong, write to us here.`;

const VIEWS = "XXX";
const EURO = "EUR";
const BY_MARKETPLACE = "marketplace";
const OVERDUE = "overdue";

const isZero = (value) => !/[1-9]/.test(value);
const isCredit = ({ open }) => open.startsWith("-");
const byText = (one, other) => (one < other ? -1 : Number(one > other));

/** Returns whether an account is that of a page's views: it has no money, and is named by its page, not an agency. */
export const isViews = ({ currency }) => currency === VIEWS;

/** Returns those accounts that have money. */
export const withMoney = (accounts) => accounts.filter((one) => !isViews(one));

/**
 * Returns an account of the API with what a list shows of it: its key, what is overdue, its overdue statements
 * (`late`), the oldest due date of those that the agency owes, and the last month with payments and their sum.
 */
export function rowOf(account) {
  const owed = account.statements.filter((one) => !isCredit(one));
  const late = owed.filter((one) => one.status === OVERDUE).map((one) => ({ ...one, currency: account.currency }));
  return {
    ...account, key: `${account.currency} ${account.agency}`, late,
    overdue: sum(AGES.slice(1).map((age) => account.aging[age])),
    oldestDue: owed.map((one) => one.due_on).filter(Boolean).sort()[0],
    lastMonth: account.last_paid?.period, lastPaid: account.last_paid?.payments,
  };
}

/**
 * Returns what is open by currency: the rows, those with most overdue first, and their sums. `totals`: those of the
 * API, whose currencies are there, too, if something was `paid` this month.
 */
export function byCurrency(rows, totals) {
  const payments = Map.groupBy(totals.filter((one) => !isZero(one.paid)), (one) => one.currency);
  const open = Map.groupBy(rows, (one) => one.currency);
  return [...new Set([...open.keys(), ...payments.keys()])].sort().map((currency) => {
    const some = open.get(currency) ?? [];
    const total = (figure) => sum(some.map(figure));
    return {
      currency,
      rows: some.toSorted((one, other) => compare(other.overdue, one.overdue) || compare(other.open, one.open)
        || byText(one.agency, other.agency)),
      open: total((one) => one.open), overdue: total((one) => one.overdue), credits: total((one) => one.credits),
      unallocated: total((one) => one.unallocated),
      paid: sum((payments.get(currency) ?? []).map((one) => one.paid)),
      ages: AGES.map((age) => [age, total((one) => one.aging[age]),
        some.flatMap((one) => one.statements).filter((one) => one.age === age).length]),
      late: some.flatMap((one) => one.late),
      oldestDue: some.flatMap((one) => one.late).map((one) => one.due_on).sort()[0],
    };
  });
}

/**
 * Returns the running statement of an account from a day on: the balance brought forward, and the entries by date, each
 * with the change of what the agency owes and the balance after it.
 *
 * `statements`: those of the account, of all time, with their documents. `payments`: its payments, as events.
 * `balance`: what the agency owes after all of them; the balances before are computed from it. `dayOf`: returns the day
 * of an instant.
 */
export function runningStatement({ statements, payments, balance, from, dayOf }) {
  const entries = [
    ...statements.flatMap((statement) => statement.documents.map((document) => ({
      date: document.issued_on ?? dayOf(statement.recorded_until), change: document.amount, statement, document,
    }))),
    ...payments.map((payment) => ({
      date: dayOf(payment.time ?? payment.recorded_at), change: negative(payment.amount), payment,
    })),
  ].filter(({ date }) => date >= from).sort((one, other) => byText(one.date, other.date)
    || Number(Boolean(one.payment)) - Number(Boolean(other.payment))
    || (one.payment ? byText(one.payment.recorded_at, other.payment.recorded_at) : 0));
  const opening = entries.reduce((before, { change }) => difference(before, change), balance);
  let after = opening;
  return {
    opening,
    entries: entries.map((one) => {
      after = sum([after, one.change]);
      return { ...one, balance: after };
    }),
  };
}

/** Returns those agencies that have overdue statements among some rows, each once: with `late`, in all currencies. */
export const lateAgencies = (rows) =>
  [...Map.groupBy(rows.filter(({ late }) => late.length), ({ agency }) => agency)]
    .map(([agency, some]) => ({ agency, late: some.flatMap(({ late }) => late) }));

/** Returns the text of a reminder to an agency. Its amounts are the same to readers of every language. */
export function reminderFor(text, { agency, name = agency, late }) {
  const amount = (value, currency) => `${unmistakable(value, "en")} ${currency}`;
  const lines = late.map((one) =>
    `Statement ${one.number} of ${one.period}: ${amount(one.open, one.currency)}, due on ${one.due_on}`);
  const totals = [...Map.groupBy(late, ({ currency }) => currency)].filter(([, some]) => some.length > 1)
    .map(([currency, some]) => `In total: ${amount(sum(some.map(({ open }) => open)), currency)}`);
  const values = { agency: name, statements: [...lines, ...totals].join("\n") };
  return text.replace(/\{(agency|statements)\}/g, (_, field) => values[field]);
}

/** Returns why the payout of a credit is not made, in words; `payee` and `disputed`: as `planPayouts` has them. */
function obstacleOf({ number, currency, proceeds }, { collects, iban, payout_hold: hold } = {}, disputed) {
  if (hold) return `Payouts to the agency are held: ${hold}`;
  if (disputed.includes(number)) return "The statement is disputed.";
  if (collects !== BY_MARKETPLACE && isZero(proceeds)) {
    return "The agency collects: its credit reduces what it owes next, or --refund pays it.";
  }
  if (currency !== EURO) return "A SEPA credit transfer moves euros alone.";
  return iban ? undefined : "The registration has no IBAN.";
}

/**
 * Returns the open credits of accounts: `paid`, those that a payout run would pay, and `left`, the others, each with
 * the reason. `payee`: the registration in force now. `minimum`: the least sum of an account's credits that is paid.
 * `disputed`: the numbers of statements.
 */
export function planPayouts(accounts, minimum, disputed = []) {
  const credits = accounts.flatMap(({ agency, currency, statements, payee }) => {
    const some = statements.filter(isCredit)
      .map((one) => ({ ...one, agency, currency, amount: negative(one.open), iban: payee?.iban }));
    const payable = some.filter((one) => !obstacleOf(one, payee, disputed));
    const isSmall = compare(sum(payable.map((one) => one.amount)), minimum) < 0;
    const small = isSmall ? "The credits of the account are below the minimum. The next run adds them up again." : null;
    return some.map((one) => ({ ...one, reason: obstacleOf(one, payee, disputed) ?? small }));
  });
  return { paid: credits.filter((one) => !one.reason), left: credits.filter((one) => one.reason) };
}

/** Returns past payouts by run, the newest first: the day that the bank was to pay, their number, and their sums. */
export const payoutRuns = (payments, dayOf) =>
  [...Map.groupBy(payments, ({ reason }) => reason.replace(/^payout /, ""))].map(([run, some]) => ({
    run, transfers: some.length, date: dayOf(some[0].time ?? some[0].recorded_at),
    sums: Object.fromEntries([...Map.groupBy(some, ({ currency }) => currency)]
      .map(([currency, those]) => [currency, negative(sum(those.map(({ amount }) => amount)))])),
  })).sort((one, other) => byText(other.date, one.date) || byText(other.run, one.run));
