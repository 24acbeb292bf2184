/** Figures, times and names as people read them, in the language of their browser. */

const formats = new Map();

function cached(kind, options, language) {
  const key = kind.name + JSON.stringify([options, language]);
  if (!formats.has(key)) formats.set(key, new kind(language, options));
  return formats.get(key);
}

/** Returns the number of decimal places that sums of a currency have. */
export function digitsOf(currency) {
  return cached(Intl.NumberFormat, { style: "currency", currency }).resolvedOptions().maximumFractionDigits;
}

/** Returns an exact decimal text with all its digits, and at least those of its currency. */
export function money(text, currency) {
  const scale = (text.split(".")[1] || "").length;
  const digits = digitsOf(currency);
  const options = { minimumFractionDigits: digits, maximumFractionDigits: Math.max(digits, scale) };
  return cached(Intl.NumberFormat, options).format(text);
}

let [showsExact, roundingMode] = [false, "halfEven"];

/** Makes every amount of a list that is formatted from now on exact, or rounded to its currency. */
export const showExact = (exact_) => { showsExact = exact_; };

/** Rounds every amount of a list as statements do; `rounding`: of the settings. */
export const setRounding = (rounding) => { roundingMode = rounding === "half-up" ? "halfExpand" : "halfEven"; };

/** Returns an amount of a list, rounded as statements are to the decimals of its currency; a change with its sign. */
export function amount(text, currency, isChange = false) {
  if (showsExact) return money(text, currency);
  const digits = digitsOf(currency);
  const options = {
    minimumFractionDigits: digits, maximumFractionDigits: digits, roundingMode,
    signDisplay: isChange ? "exceptZero" : "negative",
  };
  return cached(Intl.NumberFormat, options).format(text);
}

/** Returns sums by currency in one line: 1,234.50 EUR, 20.00 GBP. */
export const amounts = (sums) =>
  Object.keys(sums).sort().map((currency) => `${amount(sums[currency], currency)} ${currency}`).join(", ");

/** Returns a count, or a number with at most some decimal places. */
export const count = (number, maximumFractionDigits = 0) =>
  cached(Intl.NumberFormat, { maximumFractionDigits }).format(number);

/** Returns a figure of an axis, whose ticks are `step` apart: in short from ten thousand on, as 150K. */
export function short(number, ticks, step) {
  const most = Math.max(...ticks.map(Math.abs));
  const unit = most < 10_000 ? 1 : 1000 ** Math.floor(Math.log10(most) / 3);
  const [, fraction = ""] = String(Number((step / unit).toPrecision(3))).split(".");
  const places = fraction.length;
  const shown = { minimumFractionDigits: unit === 1 ? places : 0, maximumFractionDigits: places };
  return cached(Intl.NumberFormat, { notation: unit === 1 ? "standard" : "compact", ...shown }).format(number);
}

/** Returns who owes a balance, in words. */
export const owed = (balance) =>
  Number(balance) > 0 ? "owed by the agency" : Number(balance) < 0 ? "in favour of the agency" : "nothing is owed";

/** Returns an exact decimal text with all its digits. */
export const exact = (text) =>
  cached(Intl.NumberFormat, { minimumFractionDigits: (text.split(".")[1] || "").length }).format(text);

/** Returns a share as whole percent. */
export const percent = (share) => cached(Intl.NumberFormat, { style: "percent" }).format(share);

/** Returns a change as whole percent with its sign. */
export const change = (share) =>
  cached(Intl.NumberFormat, { style: "percent", signDisplay: "exceptZero" }).format(share);

/** Returns a size in bytes. */
export function size(bytes) {
  const [unit, divisor] = bytes < 1e6 ? ["kilobyte", 1e3] : ["megabyte", 1e6];
  return cached(Intl.NumberFormat, { style: "unit", unit, maximumFractionDigits: 1 }).format(bytes / divisor);
}

let marketplace = "UTC", zone = marketplace;

/** Returns the name of the time zone that is shown. */
export const zoneName = () => zone;

/** Makes every time that is formatted from now on one of UTC, or of the marketplace's zone. */
export const showUtc = (utc) => { zone = utc ? "UTC" : marketplace; };

/** Sets the marketplace's time zone, in which times are shown at first. */
export const setZone = (name) => { marketplace = zone = name; };

/** Returns the marketplace's time zone. */
export const marketplaceZone = () => marketplace;

/** Returns an instant in a time zone, to the minute. */
export const time = (text, timeZone = zone) =>
  cached(Intl.DateTimeFormat, { dateStyle: "medium", timeStyle: "short", timeZone }).format(new Date(text));

/** Returns an instant as the date and time of a form, in the time zone that is shown: 2026-11-05T09:00. */
export const localTime = (instant) =>
  cached(Intl.DateTimeFormat, { dateStyle: "short", timeStyle: "short", timeZone: zone }, "sv")
    .format(new Date(instant)).replace(" ", "T");

/** Returns the instant of the date and time of a form, in the time zone that is shown. */
export function instant(local) {
  const target = Date.parse(`${local}Z`);
  // Twice: near a change of the clocks, the first guess can have the other offset.
  const nearer = (guess) => guess + target - Date.parse(`${localTime(guess)}Z`);
  return new Date(nearer(nearer(target))).toISOString();
}

/** Returns a day of UTC, in seconds, without its year. */
export const shortDay = (seconds) =>
  cached(Intl.DateTimeFormat, { day: "numeric", month: "short", timeZone: "UTC" }).format(new Date(seconds * 1000));

/** Returns the days of UTC from one instant to before another: 1 – 25 Nov 2026. */
export const dayRange = (from, to) =>
  cached(Intl.DateTimeFormat, { dateStyle: "medium", timeZone: "UTC" })
    .formatRange(new Date(from), new Date(Math.max(Date.parse(from), Date.parse(to) - 1)));

/** Returns the time of day of an instant in UTC; empty for midnight. */
export const clockUtc = (instant_) =>
  instant_.includes("T00:00:00")
    ? ""
    : cached(Intl.DateTimeFormat, { timeStyle: "short", timeZone: "UTC" }).format(new Date(instant_));

/** Returns a run's name, such as 2026-10-23T0130-0200, as the span that it sealed; another text as it is. */
export function run(name, timeZone = zone) {
  const [, on, ...digits] = /^([\d-]{10})T(\d\d)(\d\d)-(\d\d)(\d\d)$/.exec(name) ?? [];
  if (!on) return name;
  const [from, to] = [digits.slice(0, 2), digits.slice(2)].map((parts) => new Date(`${on}T${parts.join(":")}Z`));
  return cached(Intl.DateTimeFormat, { dateStyle: "medium", timeStyle: "short", timeZone }).formatRange(from, to);
}

/** Returns an instant in UTC, for texts that are kept: Oct 30, 2026, 2:45 PM UTC. */
export const timeUtc = (instant_) => `${time(instant_, "UTC")} UTC`;

/** Returns the beginning of a quarter-hour by its name in the ledger, such as 202610301445, in UTC. */
export const quarterHourUtc = (name) =>
  timeUtc(name.replace(/^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)$/, "$1-$2-$3T$4:$5:00Z"));

/** Returns a month of UTC, in seconds, in short. */
export const shortMonth = (seconds) =>
  cached(Intl.DateTimeFormat, { month: "short", year: "numeric", timeZone: "UTC" }).format(new Date(seconds * 1000));

/** Returns the time of day of an instant, in seconds. */
export const shortTime = (seconds) =>
  cached(Intl.DateTimeFormat, { timeStyle: "short", timeZone: zone }).format(new Date(seconds * 1000));

/** Returns a period such as 2026-11 as its month's name and year; another text as it is. */
export function month(period) {
  const begins = new Date(`${period}-01`);
  if (Number.isNaN(begins.valueOf())) return period;
  return cached(Intl.DateTimeFormat, { month: "long", year: "numeric", timeZone: "UTC" }).format(begins);
}

/** Returns a word of the API, such as partly_paid, as text. */
export const words = (name) => name.replaceAll("_", " ");

/** Returns a name of the API as the title of what it names: Refers to. */
export const title = (name) => name[0].toUpperCase() + words(name.slice(1));

const EVENT_TYPES = {
  "sale.recorded": "Sale", "sale.voided": "Void", "sale.refunded": "Refund", "adjustment.recorded": "Adjustment",
  "payment.recorded": "Payment", "view.recorded": "View",
};

/** Returns a type of event as people read it: Sale for sale.recorded; another type as it is. */
export const eventType = (type) => EVENT_TYPES[type] ?? type;

/** Returns a day, such as 2026-12-04, as people read it. */
export const day = (text) =>
  cached(Intl.DateTimeFormat, { dateStyle: "medium", timeZone: "UTC" }).format(new Date(text));

/** Returns an IBAN as it is printed: in groups of four. */
export const iban = (text) => text.replace(/\s/g, "").replace(/.{4}(?=.)/g, "$& ");
