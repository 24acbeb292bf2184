/** A draft before it is released: its figures as its statement would have them, its checks, and what was decided. */
import { html } from "../vendor/htm-preact.js";
import { draftPath, get, statementPath } from "../lib/api.js";
import * as format from "../lib/format.js";
import { AccountId, AccountTitle, AgencyLink, statementAddress } from "../lib/links.js";
import { may, reader } from "../lib/me.js";
import { Link, Modal, Name, Pending, Person, Status, Table, Time, useLoaded } from "../lib/parts.js";
import { Figures } from "../statements/figures.js";
import { Checks } from "./checks.js";
import { canHold, releaseOf } from "./drafts.js";

const TAXES_HEAD = [["Tax"], ["Base", "n"], ["Tax", "n"]];

/** The dialog. `move(step)` shows another draft; `decide(decision, row)` asks before it decides. */
export function Preview({ row, move, decide, onClose }) {
  const { agency, period, state } = row;
  const path = draftPath(row);
  const { value: draft } = useLoaded(() => get(path), path);
  const { value: statement, problem, again } = useLoaded(() => get(statementPath(row)), path);
  const release = may("finance") && releaseOf(row, reader().name);
  const hold = may("finance") && canHold(row);
  const act = { j: () => move(1), ArrowDown: () => move(1), k: () => move(-1), ArrowUp: () => move(-1) };
  if (release) act.r = () => decide(release, row);
  if (hold) act.h = () => decide("hold", row);
  const onKeyDown = (event) => {
    const action = !event.ctrlKey && !event.metaKey && !event.altKey && act[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  };
  return html`
    <${Modal} label="preview" class="wide preview" onKeyDown=${onKeyDown} onClose=${onClose}>
      <div class="title">
        <h2 id="preview"><${AccountTitle} ...${row} />
          ${" "}<${AccountId} ...${row} /> <span class="note">${format.month(period)}</span></h2>
        <${Status} value=${state} />
      </div>
      ${row.checks.length > 0 && html`<${Checks} checks=${row.checks} agency=${agency} period=${period} />`}
      <div class="content">
        ${statement ? html`<${Content} draft=${draft} statement=${statement} />`
          : html`<${Pending} problem=${problem} retry=${again} />`}
      </div>
      <p>
        <${Link} to=${statementAddress(row)}>Open its page<//> · Agency <${AgencyLink} ...${row} />
      </p>
      <form class="bar actions" method="dialog">
        ${release && html`
          <button type="button" class="first" onClick=${act.r}>
            ${release === "agree" ? "Agree" : "Release"} <kbd>r</kbd>
          </button>`}
        ${hold && html`<button type="button" onClick=${act.h}>Hold <kbd>h</kbd></button>`}
        <button type="button" onClick=${act.j}>Next <kbd>j</kbd></button>
        <button type="button" onClick=${act.k}>Previous <kbd>k</kbd></button>
        <button autofocus>Close <kbd>Esc</kbd></button>
      </form>
    <//>`;
}

const Content = ({ draft, statement }) => html`
  <div class="columns">
    <${Figures} statement=${statement} />
    <div>
      ${statement.taxes?.length > 0 && html`
        <${Table} label="Tax" head=${TAXES_HEAD}>
          ${statement.taxes.map((one, index) => html`
            <tr key=${index}>
              <th scope="row" class="long">${one.note}</th>
              <td class="n">${format.money(one.base, statement.currency)}</td>
              <td class="n">${format.money(one.tax, statement.currency)}</td>
            </tr>`)}
        <//>`}
      ${draft && html`<${Decisions} draft=${draft} />`}
    </div>
  </div>`;

const Decisions = ({ draft }) => html`
  <h3>Decisions</h3>
  <ul class="plain">
    ${draft.decisions.map((one, index) => html`
      <li key=${index}>
        <${Status} value=${one.state} /> <${Time} at=${one.at} /> <span class="note"><${Person} by=${one.by} /></span>
        ${one.reason && html`<div><${Name}>${one.reason}<//></div>`}
      </li>`)}
    ${draft.decisions.length === 0 && html`<li class="note">Nobody has decided yet.</li>`}
  </ul>
  <p class="note">
    ${draft.lines === 1 ? "1 line" : `${format.count(draft.lines)} lines`}, recorded before
    ${" "}<${Time} at=${draft.recorded_until} />.
  </p>`;
