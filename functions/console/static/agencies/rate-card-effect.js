/** What a version of a rate card changes: the sales of last month by it, and a beginning in a month that is closed. */
import { html } from "../vendor/htm-preact.js";
import { all, post } from "../lib/api.js";
import * as format from "../lib/format.js";
import { ReratingSums, Time } from "../lib/parts.js";

/** Returns the first instants of last month and of this one. */
function lastMonth() {
  const [year, month] = format.localTime(Date.now()).split("-").map(Number);
  const first = (at) => format.instant(`${at.toISOString().slice(0, 7)}-01T00:00`);
  return { from: first(new Date(Date.UTC(year, month - 2))), to: first(new Date(Date.UTC(year, month - 1))) };
}

/** Returns what a content of a rate card would change for an agency: the preview of last month, and closed months. */
export async function effectOf(document, agency, content) {
  const span = lastMonth();
  const [preview, periods] = await Promise.all([
    post("/rerating", { rate_card: document, agency, content, ...span }), all("/periods"),
  ]);
  const open = periods.filter((one) => one.state === "open").map((one) => one.from).sort();
  const isClosed = open.length > 0 && Date.parse(content.valid_from) < Date.parse(open[0]);
  return { ...span, ...preview, closedBefore: isClosed && open[0] };
}

/** The effect, as `effectOf` returns it. */
export const Effect = ({ from, accounts, closedBefore }) => html`
  ${closedBefore && html`
    <div class="mark">
      <p>It begins in a month that is closed: the first open one begins at <${Time} at=${closedBefore} />. Recorded
        events keep their terms, and statements their figures; only events that are recorded from now on, of that time,
        are priced by it.</p>
      <label class="check"><input type="checkbox" required /> I mean this beginning.</label>
    </div>`}
  ${accounts.length === 0 && html`
    <p class="note">This agency has no sale of ${format.month(monthOf(from))} that it would price.</p>`}
  ${accounts.length > 0 && html`
    <${ReratingSums} caption=${`What this agency was charged in ${format.month(monthOf(from))}, and by this version`}
      accounts=${accounts} />
    <p class="note">What is recorded stays as it is. The differences are those of the same sales.</p>`}`;

const monthOf = (at) => format.localTime(at).slice(0, 7);
