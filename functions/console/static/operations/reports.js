/** Reports: the runs, the newest first, or those of a day. */
import { html } from "../vendor/htm-preact.js";
import { dayOf } from "../lib/calendar.js";
import { Filters } from "../lib/filters.js";
import * as format from "../lib/format.js";
import { RunLink } from "../lib/links.js";
import { List } from "../lib/list.js";
import { Link } from "../lib/parts.js";
import { address } from "../lib/routes.js";

const COLUMNS = [
  {
    key: "run", title: "Run", head: true, kind: "short",
    text: ({ run }) => `${run} ${format.run(run)}`, cell: ({ run }) => html`<${RunLink} run=${run} />`,
  },
  // No run crosses midnight UTC.
  { key: "day", title: "Day (UTC)", type: "day", value: ({ run }) => dayOf(run), hidden: true },
  { key: "from", title: "From", type: "time", hidden: true },
  { key: "to", title: "To", type: "time", hidden: true },
  { key: "planned_at", title: "Planned", type: "time" },
  { key: "quarter_hours", title: "Quarter-hours", type: "number" },
  { key: "lines", title: "Lines", type: "number" },
  { key: "counters", title: "Live counters", type: "status" },
  { key: "manifest_sha256", title: "Manifest, SHA-256", kind: "long", hidden: true },
];

/** The page. */
export const Reports = ({ query }) => html`
  <${Filters} parts=${["reports"]} query=${query}>
    <label>Day, in UTC <input name="date" type="date" defaultValue=${query.date} /></label>
  <//>
  <${List} name="reports" caption="Runs, the newest first" columns=${COLUMNS} path="/reports"
    parameters=${{ date: query.date }} empty=${html`
      <p class="empty">
        ${query.date
          ? html`No run sealed a quarter-hour of this day. <${Link} to=${address(["reports"])}>Show all runs<//>.`
          : "Nothing is sealed yet. A report seals each quarter-hour after its end, as often as the schedule says."}
      </p>`} />`;
