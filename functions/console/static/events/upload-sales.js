/** The upload of a file of sales: read by a map, shown by month, then sent part by part. */
import { html, useRef, useState } from "../vendor/htm-preact.js";
import * as format from "../lib/format.js";
import { Failure, Link, Money, Name, Status, Table } from "../lib/parts.js";
import { address } from "../lib/routes.js";
import {
  MAPS, add, answered, contentOf, inTheWordsOfTheApi, kindsOf, mapOf, nothing, partsOf, reasonsOf, sendBatches, sumsOf,
  toSend,
} from "./files.js";
import { Messages, Progress, counted } from "./upload-parts.js";

const PROPOSED = "proposed";
const OWN = "own";
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

/**
 * Returns the map of the file, what it asks for, and `requestOf(form, content)`: the map with its settings, or nothing
 * as long as the proposed map has questions without answers.
 */
function useMap() {
  const [map, setMap] = useState(PROPOSED);
  const [asked, setAsked] = useState([]);
  const [proposal, setProposal] = useState();
  const proposedFor = async (form, content) => {
    const proposed = proposal ?? await mapOf(content, form.get("file").name);
    const [shipped] = proposed.shipped;
    if (shipped) setMap(shipped);
    else setProposal(proposed);
    if (!shipped && !proposal && proposed.questions.length) return undefined;
    return shipped ?? answered(proposed, answersIn(form, proposed));
  };
  const requestOf = async (form, content) => {
    let own = map;
    if (map === OWN) own = await form.get("own").text();
    if (map === PROPOSED) own = await proposedFor(form, content);
    const settings = Object.fromEntries(asked.map(([name]) => [name, form.get(`set ${name}`).trim()]));
    return own === undefined ? undefined : { map: own, settings };
  };
  const choose = (event) => {
    setMap(event.target.value);
    setAsked([]);
  };
  return { map, asked, proposal, setAsked, choose, requestOf, forget: () => setProposal() };
}

/** The upload: a form that checks the file, what it holds, and the sending of its events. */
export function UploadSales() {
  const [state, setState, { begin, check, send, stop }] = useFile();
  const map = useMap();
  const { busy, problem, summary, result, done, of } = state;
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
    if (target.name === "file") map.forget();
  };
  return html`
    <${Form} ...${{ ...map, busy, read, changed }} isChecked=${Boolean(summary)} />
    ${busy && html`<${Progress} ...${{ done, of }} onStop=${stop} />`}
    ${summary && html`<${Summary} summary=${summary} />`}
    ${summary && !result && summary.events > 0 && html`
      <p class="bar">
        <button type="button" class="first" disabled=${busy} onClick=${send}>
          Send ${counted(summary.events, "event")}
        </button>
        ${summary.many > 0 && " The bad rows are left out: correct them, and send the file again."}
      </p>`}
    ${result && html`<${Sent} result=${result} busy=${busy} />`}
    ${problem && html`<${Failure} problem=${inTheWordsOfTheApi(problem)} />`}
    ${result && !busy && !result.isDone && html`
      <p><button type="button" class="first" onClick=${send}>Continue</button></p>`}`;
}

/** The form: the file, its map, and what the map asks for. `read` gets it; `changed` is called with each input. */
function Form({ map, asked, proposal, setAsked, choose, busy, read, changed, isChecked }) {
  const onSubmit = (event) => {
    event.preventDefault();
    if (!busy) read(new FormData(event.target));
  };
  return html`
    <form onSubmit=${onSubmit} onInput=${changed}>
      <div class="bar">
        <label>File (CSV, plain or gzipped) <input name="file" type="file" required /></label>
        <label>Map
          <select value=${map} onChange=${choose}>
            <option value=${PROPOSED}>proposed for the file</option>
            ${MAPS.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}
            <option value=${OWN}>a file of your own</option>
          </select>
        </label>
        ${map === OWN && html`
          <label>File of the map (TOML)
            <input name="own" type="file" accept=".toml" required onChange=${() => setAsked([])} />
          </label>`}
        ${asked.map(([name, meaning]) => html`
          <label key=${name}>${name}: ${meaning}
            <input name=${`set ${name}`} required maxlength="1000" autocomplete="off" />
          </label>`)}
        <button class=${isChecked ? "" : "first"} disabled=${busy}>Check the file</button>
      </div>
      <p class="note">The map says which column is which field. The first check proposes one, as
        ${" "}<code>quarterhour csv FILE --guess</code> does, and asks what the file does not decide.</p>
      ${map === PROPOSED && proposal && html`<${Proposed} proposal=${proposal} />`}
    </form>`;
}

const answerTo = ({ line }) => `answer ${line}`;

/** Returns the answers in a form to the questions of a proposed map, by their lines. */
const answersIn = (form, { questions }) =>
  Object.fromEntries(questions.map((one) => [one.line, form.get(answerTo(one))]));

/** The map that is proposed for a file: its questions, what to check, and the map itself. */
const Proposed = ({ proposal: { map, questions, checks, unused } }) => html`
  <fieldset>
    <legend>The proposed map</legend>
    <div class="bar">
      ${questions.map((one) => html`
        <label key=${one.line}>${one.question} (${one.name})
          <select name=${answerTo(one)} required>
            <option value="">Choose</option>
            ${one.answers.map((answer) => html`<option key=${answer} value=${answer}>${answer}</option>`)}
          </select>
        </label>`)}
    </div>
    ${(checks.length > 0 || unused.length > 0) && html`
      <p class="note">To check:</p>
      <ul class="plain note">
        ${checks.map((one) => html`<li key=${one}><${Name}>${one}<//></li>`)}
        ${unused.length > 0 && html`<li key="unused">columns that are not used: <${Name}>${unused.join(", ")}<//></li>`}
      </ul>`}
    <details>
      <summary>The map</summary>
      <pre tabindex="0">${map}</pre>
    </details>
  </fieldset>`;

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
