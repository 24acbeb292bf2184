/** The panel that proves a run or a statement in the browser: its result in one sentence, then the evidence. */
import { html, useEffect, useRef, useState } from "../vendor/htm-preact.js";
import { download } from "../lib/csv.js";
import * as format from "../lib/format.js";
import { Failure, Name, Status, Table } from "../lib/parts.js";
import { certificate } from "./certificate.js";

const HEAD = [["Step"], ["Outcome"], ["What was compared"]];

/** Returns a number of things in words: 1 line, 13 lines. */
export const counted = (many, thing) => `${format.count(many)} ${thing}${many === 1 ? "" : "s"}`;

/** Returns the state of a proof, what begins it, and what follows it for as many linked steps as `pause` says. */
function useProof(begin, pause) {
  const [state, setState] = useState({ steps: [] });
  const source = useRef();
  const follow = async () => {
    setState((before) => ({ ...before, busy: true }));
    try {
      for (let linked = 0; !pause || linked < pause;) {
        const { value, done } = await source.current.next();
        if (done) return setState((before) => ({ ...before, busy: false, done, at: new Date().toISOString() }));
        setState((before) => ({ ...before, steps: [...before.steps, value] }));
        if (value.linked) linked += 1;
      }
      return setState((before) => ({ ...before, busy: false, at: new Date().toISOString() }));
    } catch (problem) {
      return setState({ steps: [], problem });
    }
  };
  const again = () => {
    source.current = begin();
    setState({ steps: [] });
    return follow();
  };
  useEffect(() => () => { source.current?.return(); }, []);
  return [state, again, follow];
}

/**
 * The panel. `begin`: returns the steps of the proof, one after the other. `pause`: the number of linked steps after
 * which it waits. `result`: returns what is proven in one sentence, from the steps and whether they are all.
 * `notProven`, `command`: for the certificate, whose file is named after `name`. `children`: more evidence.
 */
export function Proof({ subject, name, label, begin, pause, result, notProven, command, children }) {
  const [{ steps, busy, problem, done, at }, again, follow] = useProof(begin, pause);
  const failed = steps.filter((one) => one.outcome === "failed");
  const sentence = at && !busy && sentenceOf(failed, () => result(steps, done));
  const save = () => {
    const page = window.location.origin + window.location.pathname;
    const facts = { subject, address: page, at, result: sentence, steps, notProven, command };
    download(`proof-${name}.html`, certificate(facts), "text/html");
  };
  return html`
    <h2>Proof</h2>
    <p class="bar">
      <button type="button" class="first" disabled=${busy} onClick=${again}>
        ${busy ? "Verifying…" : label}
      </button>
      ${sentence && html`<button type="button" onClick=${save}>Download the certificate</button>`}
    </p>
    ${problem && html`<${Failure} problem=${problem} retry=${again} />`}
    <div role="status">
      ${sentence && html`<p class=${failed.length ? "mark" : "proven"}><${Name}>${sentence}<//></p>`}
      ${busy && html`<p class="note">Steps that are done: ${format.count(steps.length)}.</p>`}
    </div>
    ${sentence && html`
      <p class="note">Your browser compared the files with their hashes, and added up their lines.</p>
      <h3>What this does not prove</h3>
      <ul>${notProven.map((text) => html`<li key=${text}>${text}</li>`)}</ul>
      <p class="note">With the files in one folder, this command repeats it: <code>${command}</code></p>`}
    ${steps.length > 0 && !busy && !done && html`
      <p><button type="button" onClick=${follow}>Follow the chain further</button></p>`}
    <${Evidence} steps=${steps} open=${failed.length > 0}>${children}<//>`;
}

/** The steps with their outcomes, and more evidence. */
const Evidence = ({ steps, open, children }) => html`
  <details class="evidence" open=${open}>
    <summary>Evidence</summary>
    ${steps.length > 0 && html`
      <${Table} caption="The steps of the proof" head=${HEAD}>
        ${steps.map((one, index) => html`
          <tr key=${index}>
            <th scope="row" class="long">${one.text}</th>
            <td><${Status} value=${one.outcome} /></td>
            <td class="long"><${Name}>${one.detail}<//></td>
          </tr>`)}
      <//>`}
    ${children}
  </details>`;

/** Returns what was proven, or what is wrong, in one sentence. */
function sentenceOf(failed, result) {
  if (!failed.length) return `Proven: ${result()}.`;
  const [{ wrong }, ...more] = failed;
  const others = more.length ? ` More steps that failed: ${format.count(more.length)}.` : "";
  return `Not proven: ${wrong.replace(/\.$/, "")}.${others}`;
}
