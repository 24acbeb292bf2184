/** Days and months of UTC as texts, such as 2026-11-05 and 2026-11. */

const HOUR = 3_600_000;

/** Returns whether a text is a day of the calendar. */
export const isDay = (text) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));

/** Returns whether a text is a month of the calendar. */
export const isMonth = (text) => /^\d{4}-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));

/** Returns the month that is some months after another. */
export function laterMonth(month, months) {
  const [year, number] = month.split("-").map(Number);
  return new Date(Date.UTC(year, number - 1 + months)).toISOString().slice(0, 7);
}

/** Returns the day that is some days after another. */
export const laterDay = (day, days) => new Date(Date.parse(day) + days * 24 * HOUR).toISOString().slice(0, 10);

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
  Array.from({ length: (Date.parse(to) - Date.parse(from)) / 24 / HOUR }, (_, index) => laterDay(from, index));

/** Returns the instants at which the quarter-hours of a day begin. */
export const quarterHours = (day) =>
  Array.from({ length: 96 }, (_, index) => new Date(Date.parse(day) + (index * HOUR) / 4).toISOString());
