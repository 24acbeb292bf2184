/** Reports: the runs by day, the newest first. */
import { html } from "../vendor/htm-preact.js";
import { dayOf } from "../calendar.js";
import * as format from "../format.js";
import { Link, More, SaveAllButton, Status, Table, Time, fieldsOf, usePages } from "../parts.js";
import { address, navigate } from "../routes.js";

const HEAD = [["Run"], ["From"], ["To"], ["Quarter-hours", "n"], ["Lines", "n"], ["Live counters"]];
const COLUMNS = ["run", "from", "to", "planned_at", "buckets", "lines", "counters", "manifest_sha256"];

/** Returns the address of a run's page. */
export const reportAddress = (run) => address(["reports", run]);

/** The page. */
export function Reports({ query }) {
  const { date } = query;
  const list = usePages("/reports", { date });
  // No run crosses midnight UTC.
  const days = [...new Set(list.items.map((one) => dayOf(one.run)))];
  const runsOf = (day) => list.items.filter((one) => dayOf(one.run) === day);
  const send = (event) => navigate(address(["reports"], fieldsOf(event)));
  return html`
    <form class="bar" onSubmit=${send} key=${date}>
      <label>Day, in UTC <input name="date" type="date" defaultValue=${date} /></label>
      <button>Show</button>
    </form>
    ${days.map((day) => html`<${Day} key=${day} day=${day} runs=${runsOf(day)} />`)}
    ${days.length > 0 && html`
      <${SaveAllButton} name="reports" columns=${COLUMNS} list=${list} />`}
    ${list.empty && html`
      <p class="empty">
        ${date
          ? html`No run sealed a quarter-hour of this day. <${Link} to=${address(["reports"])}>Show all runs<//>.`
          : "Nothing is sealed yet. A report seals each quarter-hour after its end, as often as the schedule says."}
      </p>`}
    <${More} list=${list} />`;
}

function Day({ day, runs }) {
  const lines = runs.reduce((many, one) => many + one.lines, 0);
  return html`
    <${Table} caption=${`${day}, UTC: ${format.count(lines)} lines`} head=${HEAD}>
      ${runs.map((one) => html`
        <tr key=${one.run}>
          <th scope="row" class="short"><${Link} to=${reportAddress(one.run)}>${one.run}<//></th>
          <td><${Time} at=${one.from} /></td>
          <td><${Time} at=${one.to} /></td>
          <td class="n">${format.count(one.buckets)}</td>
          <td class="n">${format.count(one.lines)}</td>
          <td><${Status} value=${one.counters} /></td>
        </tr>`)}
    <//>`;
}
