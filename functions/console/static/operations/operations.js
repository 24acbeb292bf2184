/** Operations: what waits for an operator, how late the reports are, and their schedule, which finance may change. */
import { html, useState } from "../vendor/htm-preact.js";
import { get, put } from "../lib/api.js";
import * as format from "../lib/format.js";
import { RunbookLink, Runbooks } from "../lib/links.js";
import { List } from "../lib/list.js";
import { may } from "../lib/me.js";
import { DUE, lateness, overdue } from "../lib/overdue.js";
import { Conflict, Dialog, Pending, Person, Status, Time, useConflict, useLoaded } from "../lib/parts.js";
import { Held } from "./held.js";
import { Proposals } from "./proposals.js";

const QUEUES = {
  "records-parked": "what cannot be counted, kept as a snapshot or billed",
  "dead-letters": "records of a stream that were given up, and report runs",
  "intake-parked": "events of the queue or the bus that were refused",
  "intake-dead-letters": "messages of the queue or the bus that were given up, and are not recorded",
  "notifications-dead-letters": "notifications that were given up, and are not sent",
};
const QUEUES_COLUMNS = [
  {
    key: "queue", title: "Queue, with its runbook", head: true, kind: "short",
    cell: ({ queue }) => html`<${RunbookLink} name=${queue} />`,
  },
  { key: "holds", title: "What it holds", kind: "long", value: ({ queue }) => QUEUES[queue] },
  { key: "waiting", title: "Waiting", type: "number" },
  { key: "in_flight", title: "In flight", type: "number" },
];
const CHANGES_COLUMNS = [
  { key: "version", title: "Version", type: "number" },
  { key: "at", title: "Changed", type: "time", head: true },
  { key: "from", title: "From", value: ({ from }) => setting(from) },
  { key: "to", title: "To", value: ({ to }) => setting(to) },
  { key: "by", title: "By", type: "person", kind: "long" },
  { key: "reason", title: "Reason", kind: "long" },
];

/** The page. */
export const Operations = ({ query }) => html`
  <${Proposals} />
  <${Held} reason=${query.reason} />
  <${State} />
  <${Schedule} />`;

function State() {
  const load = () => Promise.all([get("/operations"), get("/periods?limit=12")]);
  const { value, problem, again } = useLoaded(load, "");
  if (!value) return html`<${Pending} problem=${problem} retry=${again} />`;
  const [{ queues, reports }, periods] = value;
  return html`
    <${Reports} reports=${reports} due=${overdue(periods.items)} />
    <h2>Records set aside: parked, and dead letters</h2>
    <${List} name="queues" caption="Messages by queue, as SQS counts them" size="25" columns=${QUEUES_COLUMNS}
      rows=${queues} rowClass=${(one) => (one.waiting + one.in_flight ? "due" : undefined)} />`;
}

const Reports = ({ reports, due }) => html`
  <section aria-label="Reports" class="card">
    <h2>Reports</h2>
    ${reports.sealed_until
      ? html`<p>Everything before <${Time} at=${reports.sealed_until} /> is sealed.</p>`
      : html`<p>No event is recorded yet, so nothing has to be sealed.</p>`}
    <p>${reports.late && html`<${Status} value="late" /> `}
      ${reports.delay_seconds
        ? `The oldest quarter-hour that could be sealed has waited for ${lateness(reports)}.`
        : "No quarter-hour waits to be sealed."}</p>
    ${due.map((one) => html`
      <p key=${one.period}>
        ${format.month(one.period)} is over, and its statements are not made yet (${DUE[one.state]}).
      </p>`)}
    <${Runbooks} names=${["report-late", "statements-overdue"]} />
  </section>`;

/** Returns a setting of the schedule in words. */
const setting = ({ expression, paused }) => `${expression}${paused ? ", paused" : ""}`;

const CHANGES = {
  pause: {
    button: "Pause",
    title: "Pause the reports",
    note: () => `No report runs until somebody resumes the schedule. Nothing is lost: the next report seals what has
      closed meanwhile. After two runs that did not take place, the alarm report-late goes off.`,
    body: () => ({ paused: true }),
  },
  resume: {
    button: "Resume",
    title: "Resume the reports",
    note: ({ desired }) => `Reports run again by ${desired.expression}. The next one seals what has closed meanwhile.`,
    body: () => ({ paused: false }),
  },
  change: {
    button: "Change",
    title: "Change the schedule",
    note: ({ deployed }) => `Reports run by this expression from now on, in UTC, and no deployment changes it. The
      deployed one is ${deployed}. Two runs are at least 15 minutes and at most 9 days apart.`,
    body: (form) => ({ expression: form.get("expression").trim() }),
  },
  release: {
    button: "Use the deployed one",
    title: "Use the deployed schedule",
    note: ({ deployed }) => `Reports run by ${deployed} from now on, and by what each later deployment sets.`,
    body: () => ({ expression: null }),
  },
};

function Schedule() {
  const { value: schedule, problem, again } = useLoaded(() => get("/schedule?limit=1"), "");
  const [closed, setClosed] = useState(0);
  // What was seen may have changed while a dialog was open, so its end reads the schedule and its changes again.
  const close = () => {
    again();
    setClosed((before) => before + 1);
  };
  return html`
    <h2>Schedule</h2>
    ${schedule
      ? html`<${Setting} ...${{ schedule, close }} />`
      : html`<${Pending} problem=${problem} retry=${again} />`}
    <${Changes} key=${closed} />`;
}

/** The schedule as it is and as it should be, and the buttons that change it. */
function Setting({ schedule, close }) {
  const [asking, setAsking] = useState(null);
  const { expression, state, firings, desired: { overridden, ...desired } } = schedule;
  const asDesired = expression === desired.expression && (state === "paused") === desired.paused;
  const onClose = () => {
    setAsking(null);
    close();
  };
  return html`
    <dl class="facts">
      <div><dt>Actual</dt><dd><code>${expression}</code> <${Status} value=${state} /></dd></div>
      <div><dt>Desired</dt><dd><code>${desired.expression}</code>${desired.paused && ", paused"}</dd></div>
      <div><dt>Set by</dt><dd>${overridden ? "a request: no deployment changes it" : "the deployment"}</dd></div>
      <div><dt>Next runs</dt><dd>
        ${firings.length ? firings.map((at) => html`<div key=${at}><${Time} at=${at} /></div>`) : "none"}
      </dd></div>
    </dl>
    ${!asDesired && html`
      <p class="mark">The actual schedule differs from the desired one. The watch corrects that within 15 minutes.</p>`}
    ${may("finance") && html`
      <p class="bar">
        ${[desired.paused ? "resume" : "pause", "change", ...(overridden ? ["release"] : [])].map((name) => html`
          <button key=${name} type="button" onClick=${() => setAsking(name)}>${CHANGES[name].button}</button>`)}
      </p>`}
    <${Runbooks} names=${["report-late"]} />
    ${asking && html`<${Change} ...${CHANGES[asking]} ...${{ schedule, onClose }} />`}`;
}

const Changes = () => html`
  <${List} name="changes" caption="Changes of the schedule, the newest first" size="25" columns=${CHANGES_COLUMNS}
    path="/schedule" empty=${html`<p class="note">Nobody has changed the schedule: it is as deployed.</p>`} />`;

function Change({ title, button, note, body, schedule, onClose }) {
  const changeOf = (form) => ({ ...body(form), reason: form.get("reason").trim() });
  const send = (form) => put("/schedule", { ...changeOf(form), seen: schedule.version });
  const read = async (form) => ({ change: changeOf(form), now: await get("/schedule") });
  const [sending, conflict] = useConflict(send, read, () => {});
  const isChange = button === CHANGES.change.button;
  return html`
    <${Dialog} title=${title} action=${button} onClose=${onClose} ...${sending} isStale=${!!conflict}>
      <p>${note(schedule)}</p>
      ${isChange && html`
        <label>Expression
          <input name="expression" required maxlength="72" autocomplete="off"
            defaultValue=${schedule.desired.expression} />
        </label>
        <p class="note">
          Such as <code>rate(1 hour)</code> or <code>cron(0,30 6-20 ? * MON-FRI *)</code>, in UTC.
        </p>`}
      <label>Reason <input name="reason" required maxlength="200" autocomplete="off" /></label>
      ${conflict && html`
        <${Conflict} rows=${rowsOf(conflict, schedule)} label="Keep theirs and close" onTheirs=${onClose}>
          You saw <code>${setting(schedule.desired)}</code>.
          ${" "}<${Person} by=${conflict.now.items[0].by} /> changed it <${Time} at=${conflict.now.items[0].at} />.
        <//>`}
    <//>`;
}

const rowsOf = ({ now, change }, { desired, deployed }) => {
  const yours = { ...desired, ...change };
  return [
    ["Schedule", setting(now.desired), setting({ ...yours, expression: yours.expression ?? deployed })],
    ["Reason", now.items[0].reason, change.reason],
  ];
};
