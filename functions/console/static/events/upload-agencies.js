/** The upload of a file of agencies: checked line by line, then registered where a registration differs. */
import { html, useRef, useState } from "../vendor/htm-preact.js";
import { forgetAgencies } from "../lib/agencies.js";
import { inTurns } from "../lib/api.js";
import * as format from "../lib/format.js";
import { Failure, Name, Status } from "../lib/parts.js";
import { MOST_SHOWN, agenciesOf, contentOf, inTheWordsOfTheApi, register } from "./files.js";
import { Messages, Progress, counted } from "./upload-parts.js";

/** Returns the state of a check or of the sending, what does either, what stops the sending, and a reset. */
function useFile() {
  const [state, setState] = useState({});
  const isStopped = useRef(false);
  const check = async (form) => {
    setState({ busy: true });
    try {
      setState({ found: await agenciesOf(await contentOf(form.get("file"))) });
    } catch (refused) {
      setState({ problem: refused });
    }
  };
  const send = async () => {
    const { found } = state;
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
  return [state, { check, send, stop: () => { isStopped.current = true; }, forget: () => setState({}) }];
}

/** The upload: a form that checks the file, what it holds, and the registration of its agencies. */
export function UploadAgencies() {
  const [{ busy, problem, found, result, done }, { check, send, stop, forget }] = useFile();
  const onSubmit = (event) => {
    event.preventDefault();
    if (!busy) check(new FormData(event.target));
  };
  return html`
    <form onSubmit=${onSubmit} onInput=${forget}>
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
      <${Progress} done=${done} of=${found.items.length} onStop=${stop} />`}
    ${result && html`
      <p role="status">${Object.entries(result.counts).map(([name, many]) => html`
        <span key=${name}><${Status} value=${name} /> ${format.count(many)} </span>`)}</p>
      ${result.refused.map(({ row, problem: refused }) => html`
        <p key=${row.line} class="mark">
          line ${row.line}: <${Name}>${row.agency}<//>: refused: <${Name}>${refused.message}<//>
        </p>`)}`}
    ${problem && html`<${Failure} problem=${inTheWordsOfTheApi(problem)} />`}`;
}
