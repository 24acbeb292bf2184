/** What is late: periods without statements, reports, and messages that wait; in words. */
import * as format from "./format.js";

const MINUTE = 60;

/** The state of a period that is over and has no statements yet, in words. */
export const DUE = { closed: "waiting to begin", running: "being made" };

/** Returns how late the reports are, in words. */
export const lateness = ({ delay_seconds: seconds, delay_firings: firings }) =>
  `${format.count(seconds / MINUTE)} min (runs of the schedule meanwhile: ${format.count(firings, 1)})`;

/** Returns those of some periods that are over and have no statements yet. */
export const overdue = (periods) => periods.filter((one) => one.state in DUE);

/** Returns what of the state of the operation needs attention: texts, some with how many. */
export function urgent({ queues, reports }) {
  const messages = (kind, one, more) => {
    const of = queues.filter(({ queue }) => queue.endsWith(kind));
    const many = of.reduce((sum, { waiting, in_flight: inFlight }) => sum + waiting + inFlight, 0);
    return many > 0 && { many: format.count(many), text: many === 1 ? one : more };
  };
  return [
    reports.late && { text: `Reports are late: the oldest quarter-hour has waited for ${lateness(reports)}` },
    messages("-parked", "record is set aside", "records are set aside"),
    messages("dead-letters", "dead letter waits", "dead letters wait"),
  ];
}
