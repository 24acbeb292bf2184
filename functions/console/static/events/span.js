/** The days of a page about sales. */
import { get } from "../lib/api.js";
import { laterDay, laterMonth, monthOf, today } from "../lib/calendar.js";

/** Returns the first and the last day of an address; without them, those of the present period and the one before. */
export async function spanOf({ from, to }) {
  if (from && to) return { from, to };
  const { items: [current] } = await get("/periods?limit=1");
  const period = current?.period || monthOf(today());
  return { from: `${laterMonth(period, -1)}-01`, to: laterDay(`${laterMonth(period, 1)}-01`, -1) };
}
