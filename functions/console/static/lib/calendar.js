/** Days and months of UTC as texts, such as 2026-11-05 and 2026-11. */

const QUARTER_HOUR = 900_000;
const DAY = 96 * QUARTER_HOUR;

/** Returns whether a text is a day of the calendar. */
export const isDay = (text) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));

/** Returns whether a text is a month of the calendar. */
export const isMonth = (text) => /^\d{4}-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));

/** Returns the day of an instant. */
export const dayOf = (instant) => instant.slice(0, "2026-11-05".length);

/** Returns the month of an instant or of a day. */
export const monthOf = (text) => text.slice(0, "2026-11".length);

/** Returns the present day. */
export const today = () => dayOf(new Date().toISOString());

/** Returns the month that is some months after another. */
export function laterMonth(month, months) {
  const [year, number] = month.split("-").map(Number);
  return monthOf(new Date(Date.UTC(year, number - 1 + months)).toISOString());
}

/** Returns the day that is some days after another. */
export const laterDay = (day, days) => dayOf(new Date(Date.parse(day) + days * DAY).toISOString());

/** Returns the instant, in seconds, of a text: an instant, or a day or month, which begins at midnight UTC. */
export const seconds = (text) => Date.parse(text) / 1000;

/** Returns the months from one to before another. */
export function months(from, to) {
  const all = [];
  for (let month = from; month < to; month = laterMonth(month, 1)) all.push(month);
  return all;
}

/** Returns the days from one to before another. */
export const days = (from, to) =>
  Array.from({ length: (Date.parse(to) - Date.parse(from)) / DAY }, (_, index) => laterDay(from, index));

/** Returns the instant at which the quarter-hour ends that begins at another. */
export const quarterHourEnd = (start) => new Date(Date.parse(start) + QUARTER_HOUR).toISOString();

/** Returns the instants at which the quarter-hours from an instant or a day to before another begin. */
export function quarterHours(from, to) {
  const all = [];
  for (let at = Date.parse(from); at < Date.parse(to); at += QUARTER_HOUR) all.push(new Date(at).toISOString());
  return all;
}
