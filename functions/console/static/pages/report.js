/** One run: its sums, its files with their hashes, and its proof, which the browser makes from the files. */
import { html, useEffect, useRef, useState } from "../vendor/htm-preact.js";
import { get, runPath } from "../api.js";
import * as format from "../format.js";
import {
  Failure, Link, LinksNote, Money, Name, Pending, SaveButton, Status, Table, Time, useFirst, useLoaded,
} from "../parts.js";
import { FIGURES, proofOf } from "../proof.js";
import { address } from "../routes.js";
import { AgencyName } from "./agency-link.js";
import { Messages } from "./messages.js";
import { reportAddress } from "./reports.js";

const LINKS = 10;
const SHOWN = 100;
const SUMS_HEAD = [
  ["Agency"], ["Currency"], ["Events", "n"], ["Sales", "n"], ["Refunds", "n"], ["Commission", "n"], ["Payments", "n"],
];
const STEPS_HEAD = [["Step"], ["Outcome"], ["What was compared"]];
const OUTCOMES = { passed: "passed", failed: "failed", unknown: "not checked" };

/** The page. */
export function Report({ run }) {
  const { value: report, problem, again } = useLoaded(() => get(runPath(run)), run);
  if (!report) return html`<${Pending} problem=${problem} retry=${again} />`;
  const { manifest } = report;
  return html`
    <p class="note">
      Lines: ${format.count(report.lines)}.
      ${report.default_rate_events > 0
        && ` Events charged by the default rate: ${format.count(report.default_rate_events)}.`}
      ${" "}Quarter-hours: ${format.count(report.buckets)},
      from <${Time} at=${report.from} /> to <${Time} at=${report.to} />.
      Planned <${Time} at=${report.planned_at} />. The live counters compared with these lines:
      ${" "}<${Status} value=${report.counters} />
    </p>
    ${manifest?.previous && html`
      <p>The run before: <${Link} to=${reportAddress(manifest.previous.run)}>${manifest.previous.run}<//></p>`}
    <${Proof} run=${run} />
    ${manifest && html`<${Sums} manifest=${manifest} />`}
    <${Files} report=${report} />
    <${Messages} kind="reports" subject=${run} />`;
}

/** The button that proves the run, and the steps with their outcomes. */
function Proof({ run }) {
  const [state, setState] = useState({ steps: [] });
  const steps = useRef();
  const follow = async () => {
    setState((before) => ({ ...before, busy: true }));
    try {
      for (let left = LINKS; left;) {
        const { value, done } = await steps.current.next();
        if (done) return setState((before) => ({ ...before, busy: false, done }));
        setState((before) => ({ ...before, steps: [...before.steps, value] }));
        if (value.linked) left -= 1;
      }
      return setState((before) => ({ ...before, busy: false }));
    } catch (problem) {
      return setState({ steps: [], problem });
    }
  };
  const begin = () => {
    steps.current = proofOf(run);
    setState({ steps: [] });
    return follow();
  };
  useEffect(() => () => { steps.current?.return(); }, []);
  return html`
    <h2>Proof</h2>
    <p class="note">
      Your browser downloads the files, compares them with their hashes, adds up their lines, and follows the chain of
      manifests.
    </p>
    <p class="bar">
      <button type="button" class="first" disabled=${state.busy} onClick=${begin}>
        ${state.busy ? "Verifying…" : "Verify this run"}
      </button>
    </p>
    ${state.problem && html`<${Failure} problem=${state.problem} retry=${begin} />`}
    <div role="status">${state.steps.length > 0 && !state.busy && html`<${ProofResult} ...${state} />`}</div>
    ${state.steps.length > 0 && html`
      <${Table} caption="The steps of the proof" head=${STEPS_HEAD}>
        ${state.steps.map((one, index) => html`
          <tr key=${index}>
            <th scope="row" class="long">${one.text}</th>
            <td><span class=${`tag ${one.outcome}`}>${OUTCOMES[one.outcome]}</span></td>
            <td class="long"><${Name}>${one.detail}<//></td>
          </tr>`)}
      <//>`}
    ${state.steps.length > 0 && !state.busy && !state.done && html`
      <p><button type="button" onClick=${follow}>Follow the chain further</button></p>`}`;
}

function ProofResult({ steps, done }) {
  const failed = steps.filter((one) => one.outcome === "failed").length;
  if (failed) return html`<p class="mark"><strong>Not proven.</strong> Steps that failed: ${format.count(failed)}.</p>`;
  if (steps.some((one) => one.outcome === "unknown")) return html`<p class="mark">Proven as far as you may read.</p>`;
  const linked = steps.filter((one) => one.linked).length;
  return html`
    <p class="proven"><strong>Proven.</strong>
      ${done
        ? " The chain leads to the first run."
        : ` Its chain was followed through the last ${format.count(linked)} runs before it.`}
    </p>`;
}

function Sums({ manifest }) {
  const { run, accounts, from, to } = manifest;
  const [first, next] = useFirst(accounts, SHOWN);
  if (!accounts.length) return html`<p class="empty">Nothing was recorded in these quarter-hours.</p>`;
  return html`
    <h2>Sums</h2>
    <${Table} caption="Exact sums by account, as the manifest has them" head=${SUMS_HEAD}>
      ${first.map((one) => html`
        <tr key=${`${one.currency}#${one.agency}`}>
          <th scope="row" class="long"><${AgencyName} agency=${one.agency} /></th>
          <td>${one.currency}</td>
          <td class="n">
            <${Link} to=${address(["events"], { agency: one.agency, from, to })}>${format.count(one.events)}<//>
          </td>
          ${FIGURES.map((name) => html`<${Money} key=${name} value=${one[name]} currency=${one.currency} exact />`)}
        </tr>`)}
    <//>
    ${next}
    <${SaveButton} name=${run} columns=${["agency", "currency", "events", ...FIGURES]} items=${accounts}
      label="Download all as CSV" />`;
}

const Files = ({ report }) => html`
  <h2>Files</h2>
  <${Table} caption="Each file with its hash" head=${[["File"], ["Size", "n"], ["SHA-256"]]}>
    ${report.files.map((file) => html`
      <tr key=${file.key}>
        <th scope="row" class="long"><a href=${file.url} target="_blank" rel="noopener">${file.key}</a></th>
        <td class="n">${format.size(file.size)}</td>
        <td class="long"><code>${file.sha256}</code></td>
      </tr>`)}
  <//>
  <${LinksNote} seconds=${report.links_valid_seconds} />`;
