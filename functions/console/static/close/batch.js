/** One decision about many drafts: what it will do, its progress, and what was refused with what to do. */
import { html, useLayoutEffect, useRef, useState } from "../vendor/htm-preact.js";
import { draftPath, inTurns, put } from "../lib/api.js";
import * as format from "../lib/format.js";
import { AccountId, AccountTitle } from "../lib/links.js";
import { reader } from "../lib/me.js";
import { Amount, Modal, Name, Status, Table } from "../lib/parts.js";
import { canHold, failedOf, releaseOf, sumsOf, toConfirm } from "./drafts.js";

/** Up to so many drafts that are left out are listed at once. */
const OPEN = 3;
const SHOWN = 50;
const SUMS_HEAD = [
  ["Currency"], ["Drafts", "n"], ["Net sales", "n"], ["Commission", "n"], ["Tax", "n"], ["Closing", "n"],
];
const SUMS = ["net", "commission", "tax", "closing"];
const DRAFTS = (many) => `${format.count(many)} ${many === 1 ? "draft" : "drafts"}`;
const SIGN = "A negative closing balance is in favour of the agency.";
const BATCHES = {
  release: {
    verb: "Release",
    fits: (row) => releaseOf(row, reader().name) === "release",
    note: `Their statements are made within 15 minutes. The agencies can see them then. ${SIGN}`,
  },
  agree: {
    verb: "Agree to",
    fits: (row) => releaseOf(row, reader().name) === "agree",
    note: `Another person proposed to release them, and you agree. Their statements are made within 15 minutes. The
      agencies can see them then. ${SIGN}`,
  },
  hold: { verb: "Hold", fits: canHold, note: "They get no statement until somebody releases them." },
};

/** Returns those of some rows about which a person can make a decision now. */
export const fitting = (decision, rows) => rows.filter(BATCHES[decision].fits);

/** Returns what to do about a refusal, in words. */
function adviceOn({ status, message, errors = [] }) {
  if (status === 0 || status >= 500) return ["There was no response. Repeat it: nothing is done twice."];
  if (status !== 409) return [message];
  return errors.map(({ field, problem, expected }) => {
    if (field === "seen") return "Somebody else decided first. Close this, look at the draft, and decide again.";
    if (field === "decision") {
      return expected === "a second person"
        ? "You proposed it. A second person must agree." : `It cannot be done in this state. Possible: ${expected}.`;
    }
    return problem === "failed" ? expected : `${field} ${problem}`;
  });
}

const isRepeatable = ({ problem }) => problem.status === 0 || problem.status >= 500;

/**
 * Returns the state of the decisions about rows, what makes them one after another, and what stops that. `onDecided` is
 * called with a row and its state for each.
 */
function useDecisions(decision, onDecided) {
  const isStopped = useRef(false);
  const [state, setState] = useState({ done: 0, refused: [], reached: {} });
  const run = async (some, reason) => {
    isStopped.current = false;
    const now = { done: 0, of: some.length, refused: [], reached: { ...state.reached }, busy: true };
    setState({ ...now });
    await inTurns(some, async (row) => {
      const body = { decision: decision === "hold" ? "hold" : "release", seen: row.seen, ...(reason && { reason }) };
      try {
        const decided = await put(draftPath(row), body);
        now.reached[decided.state] = (now.reached[decided.state] ?? 0) + 1;
        onDecided(row, decided);
      } catch (problem) {
        now.refused.push({ row, problem });
      }
      now.done += 1;
      setState({ ...now, refused: [...now.refused], reason });
    }, () => isStopped.current);
    setState({ ...now, busy: false, reason, left: some.slice(now.done) });
  };
  return [state, run, () => { isStopped.current = true; }];
}

/** The dialog. `rows`: the drafts that are chosen; `onDecided` is called with a row and its state for each. */
export function Batch({ decision, rows, period, onDecided, onClose }) {
  const form = useRef();
  const [state, run, stop] = useDecisions(decision, onDecided);
  // The choice is made when the dialog opens: what is decided meanwhile changes the rows behind it.
  const [chosen] = useState(() => fitting(decision, rows));
  const { of, busy } = state;
  useLayoutEffect(() => {
    if (of !== undefined) form.current.querySelector(".bar button").focus();
  }, [of, busy]);
  const onSubmit = (event) => {
    if (event.submitter?.value === "close") return;
    event.preventDefault();
    if (!busy && of === undefined) run(chosen, new FormData(event.target).get("reason").trim());
  };
  return html`
    <${Modal} label="batch" class="wide" busy=${busy} onClose=${onClose}>
      <form ref=${form} method="dialog" onSubmit=${onSubmit}>
        <h2 id="batch">${BATCHES[decision].verb} ${DRAFTS(chosen.length)} of ${format.month(period)}</h2>
        ${of === undefined ? html`<${Question} ...${{ decision, rows, chosen }} />`
          : html`<${Progress} ...${state} run=${run} stop=${stop} />`}
      </form>
    <//>`;
}

/** What will be done with the chosen rows, and the buttons that do it or do not. */
function Question({ decision, rows, chosen }) {
  const { verb, note } = BATCHES[decision];
  const doubtful = decision === "hold" ? [] : chosen.filter((row) => row.unconfirmed);
  const needsReason = decision === "hold" || doubtful.length > 0;
  return html`
    <p>${note}</p>
    <${Sums} rows=${chosen} />
    <${Doubtful} rows=${doubtful} />
    <${LeftOut} rows=${rows.filter((row) => !chosen.includes(row))} />
    <label>Reason${!needsReason && " (optional)"}
      <input name="reason" required=${needsReason} maxlength="200" autocomplete="off"
        autofocus=${decision === "hold"} />
    </label>
    <div class="bar">
      <button class="first" disabled=${!chosen.length} autofocus=${decision !== "hold"}
        onClick=${(event) => event.detail > 1 && event.preventDefault()}>
        ${verb} ${DRAFTS(chosen.length)}
      </button>
      <button value="close" formnovalidate>Cancel</button>
    </div>`;
}

/** How far the decisions are, and what became of them. */
function Progress({ done, of, refused, reached, busy, left = [], reason, run, stop }) {
  const again = [...refused.filter(isRepeatable).map((one) => one.row), ...left];
  return html`
    <progress aria-label="Progress" value=${done} max=${of}></progress>
    <p role="status">${format.count(done)} of ${format.count(of)}${busy ? "…" : " done."}
      ${!busy && Object.entries(reached).map(([name, many]) => html`
        ${" "}<${Status} value=${name} /> ${format.count(many)}`)}
      ${!busy && reached.proposed > 0 && " A second person must agree to what is proposed."}
      ${!busy && reached.releasing > 0 && " Their statements are made within 15 minutes."}
    </p>
    ${refused.length > 0 && html`<${Refused} refused=${refused} />`}
    <div class="bar">
      ${busy
        ? html`<button type="button" onClick=${stop}>Stop</button>`
        : html`
          ${again.length > 0 && html`
            <button type="button" class="first" onClick=${() => run(again, reason)}>
              Repeat ${DRAFTS(again.length)}
            </button>`}
          <button key="close" value="close" class=${again.length ? "" : "first"}>Close</button>`}
    </div>`;
}

/** The sums of drafts by currency, as they are before they are released. */
function Sums({ rows }) {
  const groups = [...Map.groupBy(rows, (row) => row.currency)].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const warned = rows.filter((row) => row.warnings).length;
  return html`
    <${Table} label="Sums by currency" head=${SUMS_HEAD}>
      ${groups.map(([currency, some]) => html`
        <tr key=${currency}>
          <th scope="row">${currency}</th><td class="n">${format.count(some.length)}</td>
          ${SUMS.map((name) => html`
            <td key=${name} class="n"><${Sum} value=${sumsOf(some)[name]} currency=${currency} /></td>`)}
        </tr>`)}
    <//>
    ${warned > 0 && html`<p><${Status} value="warning" /> ${DRAFTS(warned)} with warnings.</p>`}`;
}

const Sum = ({ value, currency }) =>
  (value === undefined ? "not loaded yet" : html`<${Amount} value=${value} currency=${currency} />`);

/** The chosen drafts about which this decision cannot be made, with why; many of them on demand. */
const LeftOut = ({ rows }) => rows.length > 0 && html`
  <details open=${rows.length <= OPEN}>
    <summary>Left out, as they are: ${DRAFTS(rows.length)}</summary>
    <ul>
      ${rows.slice(0, SHOWN).map((row) => {
        const failed = failedOf(row.checks);
        return html`
          <li key=${row.key}><${Draft} row=${row} />: ${failed.length
            ? failed.map((one) => html`<${Name}>${one.message}<//>. `) : html`<${Status} value=${row.state} />`}</li>`;
      })}
      ${rows.length > SHOWN && html`<li key="more">and ${format.count(rows.length - SHOWN)} more</li>`}
    </ul>
  </details>`;

/** The chosen drafts whose tax profile cannot be right as it is: the reason says why it is. */
const Doubtful = ({ rows }) => rows.length > 0 && html`
  <div class="mark">
    <p><strong>Doubtful tax: ${DRAFTS(rows.length)}.</strong> Releasing confirms it. Say why in the reason.</p>
    <ul>
      ${rows.slice(0, SHOWN).map((row) => html`
        <li key=${row.key}><${Draft} row=${row} />:
          ${" "}${toConfirm(row.checks).map((one) => html`<${Name}>${one.message}<//>. `)}</li>`)}
      ${rows.length > SHOWN && html`<li key="more">and ${format.count(rows.length - SHOWN)} more</li>`}
    </ul>
  </div>`;

const Refused = ({ refused }) => html`
  <div class="mark" role="alert">
    <p><strong>Refused: ${DRAFTS(refused.length)}.</strong></p>
    <ul>
      ${refused.map(({ row, problem }) => html`
        <li key=${row.key}><${Draft} row=${row} />: ${adviceOn(problem).join(" ")}</li>`)}
    </ul>
  </div>`;

/** The name of a draft: the agency's legal name, and its id with the currency. */
const Draft = ({ row }) => html`
  <strong><${AccountTitle} ...${row} /></strong> <${AccountId} ...${row} />`;
