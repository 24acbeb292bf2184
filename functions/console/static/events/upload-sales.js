/** The upload of a file of sales: read by a map, shown by month, then sent part by part. */
import { html, useRef, useState } from "../vendor/htm-preact.js";
import { download } from "../lib/csv.js";
import * as format from "../lib/format.js";
import { reader } from "../lib/me.js";
import { Failure, Link, Money, Name, Status, Table } from "../lib/parts.js";
import { address } from "../lib/routes.js";
import {
  add, contentOf, fileOfBad, inTheWordsOfTheApi, kindsOf, nothing, partsOf, reasonsOf, sendBatches, sumsOf, toSend,
} from "./files.js";
import { MapFields, Proposed, useMap } from "./upload-map.js";
import { Messages, Progress, counted } from "./upload-parts.js";

const HEAD = [["Month"], ["Currency"], ["Type"], ["Events", "n"], ["Amount", "n"]];

/** The values that a map asks for and that are missing: pairs of name and meaning. */
const askedBy = ({ errors = [] }) => errors.filter(({ field }) => field.startsWith("settings."))
  .map(({ field, expected }) => [field.slice("settings.".length), expected.replace(/: text of at most .*/, "")]);

/**
 * Returns the state of a file, what sets it, and what begins a check, checks, sends or stops. `summary`: what the file
 * holds; `result`: what became of its events so far.
 */
function useFile() {
  const [state, setState] = useState({});
  const isStopped = useRef(false);
  const begin = () => {
    isStopped.current = false;
    setState({ busy: true });
  };
  const check = async (content, request) => {
    const summary = nothing();
    for await (const part of partsOf(content, request)) {
      add(summary, part);
      if (isStopped.current) return setState({});
      setState({ busy: true, done: part.at, of: content.size });
    }
    return setState({ file: { content, request }, summary });
  };
  const send = async () => {
    isStopped.current = false;
    const { file, summary } = state;
    const now = state.result ?? { counts: {}, refused: [], from: undefined, at: 0 };
    const shown = { file, summary, result: now, of: file.content.size };
    setState({ ...shown, busy: true, done: now.at });
    try {
      for await (const part of partsOf(file.content, file.request, now.from)) {
        await sendBatches(now, toSend(summary, part));
        now.from = { at: part.at, next: part.next };
        now.at = part.at;
        now.isDone = !part.next;
        if (isStopped.current) break;
        setState({ ...shown, busy: true, done: part.at });
      }
      setState({ ...shown });
    } catch (failure) {
      setState({ ...shown, problem: failure });
    }
  };
  return [state, setState, { begin, check, send, stop: () => { isStopped.current = true; } }];
}

/** The upload: a form that checks the file, what it holds, and the sending of its events. */
export function UploadSales() {
  const [state, setState, { begin, check, send, stop }] = useFile();
  const map = useMap();
  const [isFinal, setFinal] = useState(false);
  const { busy, problem, summary, result, done, of } = state;
  const maySend = summary && !summary.refused.size && (isFinal || !summary.mustNotChange);
  const read = async (form) => {
    begin();
    try {
      const content = await contentOf(form.get("file"));
      const request = await map.requestOf(form, content);
      if (request) await check(content, request);
      else setState({});
    } catch (refused) {
      const more = askedBy(refused);
      if (more.length) map.setAsked(more);
      setState({ problem: more.length && !map.asked.length ? undefined : refused });
    }
  };
  const changed = ({ target }) => {
    if (summary) setState({});
    setFinal(false);
    if (target.name === "file") map.forget();
  };
  return html`
    <${Form} ...${{ map, busy, read, changed }} isChecked=${Boolean(summary)} />
    ${busy && html`<${Progress} ...${{ done, of }} onStop=${stop} />`}
    ${summary && html`<${Summary} summary=${summary} />`}
    ${summary && !result && summary.events > 0 && html`
      ${summary.mustNotChange && html`
        <div class="mark">
          <p>This file must never change: <${Name}>${summary.mustNotChange}<//>.</p>
          <label class="check">
            <input type="checkbox" checked=${isFinal} onChange=${(event) => setFinal(event.target.checked)} />
            This file never changes.
          </label>
        </div>`}
      <p class="bar">
        <button type="button" class="first" disabled=${busy || !maySend} onClick=${send}>
          Send ${counted(summary.events, "event")}
        </button>
        ${summary.many > 0 && " The bad rows are left out: correct them, and send the file again."}
      </p>`}
    ${summary && html`<${Refused} sources=${summary.refused} />`}
    ${result && html`<${Sent} result=${result} busy=${busy} />`}
    ${problem && html`<${Failure} problem=${inTheWordsOfTheApi(problem)} />`}
    ${result && !busy && !result.isDone && html`
      <p><button type="button" class="first" onClick=${send}>Continue</button></p>`}`;
}

/** The form: the file and its `map`. `read` gets it; `changed` is called with each input. */
function Form({ map, busy, read, changed, isChecked }) {
  const onSubmit = (event) => {
    event.preventDefault();
    if (!busy) read(new FormData(event.target));
  };
  return html`
    <form onSubmit=${onSubmit} onInput=${changed}>
      <div class="bar">
        <label>File (CSV, plain or gzipped) <input name="file" type="file" required /></label>
        <${MapFields} ...${map} />
        <button class=${isChecked ? "" : "first"} disabled=${busy}>Check the file</button>
      </div>
      <p class="note">The map says which column is which field. The first check proposes one, as
        ${" "}<code>quarterhour csv FILE --guess</code> does, and asks what the file does not decide.</p>
      <${Proposed} ...${map} />
    </form>`;
}

/** The sources from which the reader may not record events, which would all be rejected. */
const Refused = ({ sources }) => sources.size > 0 && html`
  <div class="mark">
    <p><strong>These events would be rejected.</strong> People may upload sales only from sources that the settings open
      to them: ${reader().upload_sources.join(", ") || "there is none"}. Of the file, ${[...sources].join(", ")}
      ${" "}${sources.size === 1 ? "is" : "are"} not among them. Choose another source, or let it be opened:
      ${" "}<code>upload_sources</code> in the settings.</p>
  </div>`;

const KINDS_HEAD = [["Rows"], ["Number", "n"], ["Without a readable amount", "n"], ["Currency"], ["Amount", "n"]];

/** The rows of each kind with their sums, which add up to the file. */
const Kinds = ({ summary }) => html`
  <${Table} caption="What becomes of the rows; the sums add up to the file" head=${KINDS_HEAD}>
    ${kindsOf(summary).flatMap(([kind, { rows, unread, amounts }]) =>
      (Object.keys(amounts).length ? Object.entries(amounts) : [["", ""]]).map(([currency, amount], index) => html`
        <tr key=${`${kind} ${currency}`} class=${kind === "file" ? "sum" : ""}>
          <th scope="row"><${Name}>${kind}<//></th>
          <td class="n">${index ? "" : format.count(rows)}</td><td class="n">${index ? "" : format.count(unread)}</td>
          <td>${currency}</td>
          ${currency ? html`<${Money} value=${amount} currency=${currency} exact />` : html`<td></td>`}
        </tr>`))}
  <//>`;

/** Returns the counts of a summary in the words of the command. */
function countsOf({ kinds, events, problems }) {
  const [{ rows }, bad, made] = [kinds.get("file"), kinds.get("bad").rows, kinds.get("events").rows];
  const excluded = rows - bad - made;
  return [
    counted(rows, "row"), counted(events, "event"), ...(excluded ? [`${format.count(excluded)} excluded`] : []),
    counted(bad, "bad row"), ...(problems ? [`${counted(problems, "problem")} of the file`] : []),
  ].join(", ");
}

/** What a file holds. */
const Summary = ({ summary }) => html`
  <p role="status">${countsOf(summary)}</p>
  <${Messages} messages=${summary.messages} many=${summary.many} things="bad row" />
  ${summary.texts.length > 0 && html`
    <p class="bar">
      <button type="button" onClick=${() => download("bad-rows.csv", fileOfBad(summary))}>Download the bad rows</button>
      Correct them in that file, and send it with the same map.
    </p>`}
  <${Kinds} summary=${summary} />
  ${summary.events > 0 && html`
    <${Table} caption="The events by month, currency and type" head=${HEAD}>
      ${sumsOf(summary).map(({ month, currency, type, events, amount }) => html`
        <tr key=${[month, currency, type].join(" ")}>
          <th scope="row">${month ? format.month(month) : "when it is recorded"}</th>
          <td>${currency}</td><td>${type}</td><td class="n">${format.count(events)}</td>
          ${currency ? html`<${Money} value=${amount} currency=${currency} exact />` : html`<td></td>`}
        </tr>`)}
    <//>`}`;

/** What became of the events that were sent. */
function Sent({ result: { counts, refused, early, isDone }, busy }) {
  const left = Object.entries(counts).filter(([name]) => !["recorded", "duplicate"].includes(name))
    .reduce((before, [, many]) => before + many, 0);
  return html`
    <p role="status">${busy ? "Sending. " : isDone ? "All is sent. " : "Not all is sent. "}
      ${Object.entries(counts).map(([name, many]) => html`
        <span key=${name}><${Status} value=${name} /> ${format.count(many)} </span>`)}</p>
    ${counts.held > 0 && html`<p>Held events wait: see <${Link} to=${address(["operations"])}>Operations<//>.</p>`}
    ${early > 0 && html`
      <p role="note">${counted(early, "event")} before the first period with statements: on no statement.</p>`}
    ${left > 0 && html`
      <div class="mark">
        <p><strong>${counted(left, "event")} not recorded</strong></p>
        <ul class="plain">
          ${refused.map((one, index) => html`
            <li key=${index}><${Name}>${one.source} ${one.id}<//>: <${Status} value=${one.verdict} />
              ${" "}<${Name}>${reasonsOf(one)}<//></li>`)}
          ${left > refused.length && html`<li key="more">and ${format.count(left - refused.length)} more</li>`}
        </ul>
      </div>`}`;
}
