/** The upload of a file of sales or of agencies: checked by the API as the commands do, shown, then sent. */
import { html, useRef, useState } from "../vendor/htm-preact.js";
import { forgetAgencies } from "../lib/agencies.js";
import { inTurns } from "../lib/api.js";
import * as format from "../lib/format.js";
import { Failure, Link, Money, Name, Status, Table } from "../lib/parts.js";
import { address } from "../lib/routes.js";
import {
  MAPS, MOST_SHOWN, add, agenciesOf, answered, contentOf, inTheWordsOfTheApi, mapOf, nothing, partsOf, reasonsOf,
  sendBatches, register, sumsOf,
} from "./files.js";

const PROPOSED = "proposed";
const OWN = "own";
const HEAD = [["Month"], ["Currency"], ["Type"], ["Events", "n"], ["Amount", "n"]];
const counted = (many, name) => `${format.count(many)} ${name}${many === 1 ? "" : "s"}`;

/** The page. Of `query`, `kind` is what the file holds to begin with. */
export function Upload({ query }) {
  const [kind, setKind] = useState(query.kind === "agencies" ? "agencies" : "sales");
  return html`
    <p>The file is read as the commands read it: <code>quarterhour csv</code>, <code>quarterhour agencies</code>.
      Nothing is recorded before you have seen what it holds. A file that is sent twice adds nothing.</p>
    <p class="bar">
      <label>The file holds
        <select value=${kind} onChange=${(event) => setKind(event.target.value)}>
          <option value="sales">Sales and other events</option>
          <option value="agencies">Agencies</option>
        </select>
      </label>
    </p>
    <${kind === "sales" ? Sales : Agencies} key=${kind} />`;
}

/** The lines of a file without a result, with the messages of the command. */
const Messages = ({ messages, many, things }) => many > 0 && html`
  <div class="mark">
    <p><strong>${counted(many, things)}</strong></p>
    <ul class="plain">
      ${messages.map(({ line, reason }) => html`<li key=${line + reason}>line ${line}: <${Name}>${reason}<//></li>`)}
      ${many > messages.length && html`
        <li key="more">... and ${counted(many - messages.length, `more ${things}`)}</li>`}
    </ul>
  </div>`;

const Progress = ({ done, of, onStop }) => html`
  <p class="bar">
    <progress aria-label="Progress" value=${done} max=${of}></progress>
    <button type="button" onClick=${onStop}>Stop</button>
  </p>`;

/** The values that a map asks for and that are missing: pairs of name and meaning. */
const askedBy = ({ errors = [] }) => errors.filter(({ field }) => field.startsWith("settings."))
  .map(({ field, expected }) => [field.slice("settings.".length), expected.replace(/: text of at most .*/, "")]);

function Sales() {
  const [state, setState] = useState({});
  const [map, setMap] = useState(PROPOSED);
  const [asked, setAsked] = useState([]);
  const [proposal, setProposal] = useState();
  const isStopped = useRef(false);
  const { busy, problem, file, summary, result, done, of } = state;

  const check = async (form) => {
    isStopped.current = false;
    setState({ busy: true });
    try {
      const chosen = form.get("file");
      const content = await contentOf(chosen);
      let own = map;
      if (map === OWN) own = await form.get("own").text();
      if (map === PROPOSED) {
        const proposed = proposal ?? await mapOf(content, chosen.name);
        const [shipped] = proposed.shipped;
        if (shipped) setMap(shipped);
        else setProposal(proposed);
        if (!shipped && !proposal && proposed.questions.length) {
          setState({});
          return;
        }
        own = shipped ?? answered(proposed, answersIn(form, proposed));
      }
      const settings = Object.fromEntries(asked.map(([name]) => [name, form.get(`set ${name}`).trim()]));
      const request = { map: own, settings };
      const found = nothing();
      for await (const part of partsOf(content, request)) {
        add(found, part);
        if (isStopped.current) {
          setState({});
          return;
        }
        setState({ busy: true, done: part.at, of: content.size });
      }
      setState({ file: { content, request }, summary: found });
    } catch (refused) {
      const more = askedBy(refused);
      if (more.length) setAsked(more);
      setState({ problem: more.length && !asked.length ? undefined : refused });
    }
  };
  const send = async (before) => {
    isStopped.current = false;
    const now = before ?? { counts: {}, refused: [], from: undefined, at: 0 };
    const { content, request } = file;
    const shown = { file, summary, result: now, of: content.size };
    setState({ ...shown, busy: true, done: now.at });
    try {
      for await (const part of partsOf(content, request, now.from)) {
        await sendBatches(now, part.items);
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
  const onSubmit = (event) => {
    event.preventDefault();
    if (!busy) check(new FormData(event.target));
  };
  const changed = ({ target }) => {
    if (summary) setState({});
    if (target.name === "file") setProposal();
  };
  const choose = (event) => {
    setMap(event.target.value);
    setAsked([]);
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
        <button class=${summary ? "" : "first"} disabled=${busy}>Check the file</button>
      </div>
      <p class="note">The map says which column is which field. The first check proposes one, as
        ${" "}<code>quarterhour csv FILE --guess</code> does, and asks what the file does not decide.</p>
      ${map === PROPOSED && proposal && html`<${Proposed} proposal=${proposal} />`}
    </form>
    ${busy && html`<${Progress} ...${{ done, of }} onStop=${() => { isStopped.current = true; }} />`}
    ${summary && html`<${Summary} summary=${summary} />`}
    ${summary && !result && summary.events > 0 && html`
      <p class="bar">
        <button type="button" class="first" disabled=${busy} onClick=${() => send()}>
          Send ${counted(summary.events, "event")}
        </button>
        ${summary.bad > 0 && " The bad rows are left out: correct them, and send the file again."}
      </p>`}
    ${result && html`<${Sent} result=${result} busy=${busy} />`}
    ${problem && html`<${Failure} problem=${inTheWordsOfTheApi(problem)} />`}
    ${result && !busy && !result.isDone && html`
      <p><button type="button" class="first" onClick=${() => send(result)}>Continue</button></p>`}`;
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

/** What a file holds. */
const Summary = ({ summary }) => html`
  <p role="status">${counted(summary.rows, "row")}, ${counted(summary.events, "event")},
    ${" "}${counted(summary.bad, "bad row")}</p>
  <${Messages} messages=${summary.messages} many=${summary.bad} things="bad row" />
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
function Sent({ result: { counts, refused, isDone }, busy }) {
  const left = Object.entries(counts).filter(([name]) => !["recorded", "duplicate"].includes(name))
    .reduce((before, [, many]) => before + many, 0);
  return html`
    <p role="status">${busy ? "Sending. " : isDone ? "All is sent. " : "Not all is sent. "}
      ${Object.entries(counts).map(([name, many]) => html`
        <span key=${name}><${Status} value=${name} /> ${format.count(many)} </span>`)}</p>
    ${counts.held > 0 && html`<p>Held events wait: see <${Link} to=${address(["operations"])}>Operations<//>.</p>`}
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

function Agencies() {
  const [state, setState] = useState({});
  const isStopped = useRef(false);
  const { busy, problem, found, result, done } = state;

  const check = async (form) => {
    setState({ busy: true });
    try {
      setState({ found: await agenciesOf(await contentOf(form.get("file"))) });
    } catch (refused) {
      setState({ problem: refused });
    }
  };
  const send = async () => {
    isStopped.current = false;
    const now = { counts: {}, refused: [] };
    let many = 0;
    setState({ found, result: now, busy: true, done: 0 });
    await inTurns(found.items, async (row) => {
      const became = await register(row).catch((refused) => {
        now.refused.push({ row, problem: refused });
        return "refused";
      });
      now.counts[became] = (now.counts[became] ?? 0) + 1;
      many += 1;
      setState({ found, result: now, busy: true, done: many });
    }, () => isStopped.current);
    forgetAgencies();
    setState({ found, result: { ...now, isDone: many === found.items.length } });
  };
  const onSubmit = (event) => {
    event.preventDefault();
    if (!busy) check(new FormData(event.target));
  };
  return html`
    <form onSubmit=${onSubmit} onInput=${() => setState({})}>
      <div class="bar">
        <label>File (CSV or NDJSON, plain or gzipped) <input name="file" type="file" required /></label>
        <button class=${found ? "" : "first"} disabled=${busy}>Check the file</button>
      </div>
    </form>
    ${found && html`
      <p role="status">${counted(found.items.length, "valid line")}, ${counted(found.bad.length, "bad line")}</p>
      <${Messages} messages=${found.bad.slice(0, MOST_SHOWN)} many=${found.bad.length} things="bad line" />
      ${found.bad.length > 0 && html`
        <p>Nothing is sent while a line is invalid. Correct the file, and check it again.</p>`}
      ${found.bad.length === 0 && found.items.length > 0 && !result?.isDone && !busy && html`
        <p><button type="button" class="first" onClick=${send}>
          ${result ? "Continue" : `Register ${format.count(found.items.length)} of them, if they differ`}
        </button></p>`}`}
    ${busy && found && html`
      <${Progress} done=${done} of=${found.items.length} onStop=${() => { isStopped.current = true; }} />`}
    ${result && html`
      <p role="status">${Object.entries(result.counts).map(([name, many]) => html`
        <span key=${name}><${Status} value=${name} /> ${format.count(many)} </span>`)}</p>
      ${result.refused.map(({ row, problem: refused }) => html`
        <p key=${row.line} class="mark">
          line ${row.line}: <${Name}>${row.agency}<//>: refused: <${Name}>${refused.message}<//>
        </p>`)}`}
    ${problem && html`<${Failure} problem=${inTheWordsOfTheApi(problem)} />`}`;
}
