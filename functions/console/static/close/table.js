/** The table of the drafts of a period: sorted, selected and walked by keyboard, without a new layout for each key. */
import { html, useLayoutEffect, useMemo, useRef } from "../vendor/htm-preact.js";
import * as format from "../lib/format.js";
import { AccountId, AccountTitle } from "../lib/links.js";
import { SortHead } from "../lib/list.js";
import { isolated } from "../lib/names.js";
import { Amount, Name, Status } from "../lib/parts.js";
import { COLUMNS, growth, sumsOf } from "./drafts.js";

const STEPS = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };
const ROWS = "tr[data-key]";

/** Makes a row the one in the order of the Tab key. That changes two attributes, and renders nothing. */
function reach(table, element) {
  table.querySelector(`${ROWS}[tabindex="0"]`)?.setAttribute("tabindex", "-1");
  element?.setAttribute("tabindex", "0");
}

/** Gives the focus to the row some steps from an element; returns its key. */
function move(table, element, step) {
  const rows = [...table.querySelectorAll(ROWS)];
  const to = rows[Math.max(0, Math.min(rows.length - 1, rows.indexOf(element) + step))];
  to.focus();
  return to.dataset.key;
}

/** Returns the keys from one to another; the other alone, if the one is not among them. */
function between(keys, one, other) {
  const [from, to] = [keys.includes(one) ? one : other, other].map((key) => keys.indexOf(key));
  return keys.slice(Math.min(from, to), Math.max(from, to) + 1);
}

/** Returns what the table does when a key is pressed, a row is clicked, or a row gets the focus. */
function useHandlers(table, { groups, selected, select, act, preview }) {
  const anchor = useRef();
  const keys = keysOf(groups);
  const rowOf = (key) => groups.flatMap((one) => one.rows).find((row) => row.key === key);
  const toggle = (key, isRange) => {
    if (!select) return;
    const isOn = isRange ? true : !selected.has(key);
    select(isRange ? between(keys, anchor.current, key) : [key], isOn);
    anchor.current = key;
  };
  const onKeyDown = (event) => {
    const element = event.target.closest(ROWS);
    if (!element || event.ctrlKey || event.metaKey || event.altKey) return;
    const { key: name } = element.dataset;
    const pressed = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const isOwn = event.target === element;
    if (pressed in STEPS) {
      const to = move(table.current, element, STEPS[pressed]);
      if (event.shiftKey) select?.(between(keys, name, to), true);
    } else if (pressed === "x" || (pressed === " " && isOwn)) toggle(name, event.shiftKey);
    else if (pressed === "a") select?.(keys, !keys.every((one) => selected.has(one)));
    else if (pressed === "Enter" && isOwn) preview(rowOf(name));
    else if (act[pressed]) act[pressed](rowOf(name));
    else return;
    event.preventDefault();
  };
  const onClick = (event) => {
    const element = event.target.closest(ROWS);
    if (!element) return;
    if (event.target.closest(".pick")) toggle(element.dataset.key, event.shiftKey);
    else if (event.target.closest(".link")) preview(rowOf(element.dataset.key));
  };
  const onFocusIn = (event) => {
    const element = event.target.closest(ROWS);
    if (element) reach(table.current, element);
  };
  return { onKeyDown, onClick, onFocusIn };
}

const keysOf = (groups) => groups.flatMap((one) => one.rows.map((row) => row.key));

/**
 * The table. `groups`: the rows of each currency; `sort` and `onSort`: {by, down}. `selected`: the keys of the rows
 * that are chosen, and `select(keys, isOn)` changes it; without it nothing can be chosen. `act`: what a key does, by
 * key, called with the row; `preview` is called with a row.
 */
export function DraftTable({ groups, sort, onSort, selected, select, act, preview }) {
  const table = useRef();
  const handlers = useHandlers(table, { groups, selected, select, act, preview });
  useLayoutEffect(() => {
    if (!table.current.querySelector(`${ROWS}[tabindex="0"]`)) reach(table.current, table.current.querySelector(ROWS));
  });
  const keys = keysOf(groups);
  const chosen = keys.filter((one) => selected.has(one)).length;
  return html`
    <div class="grid" id="drafts">
      <table ref=${table} role="grid" aria-label="Drafts" aria-multiselectable=${select ? "true" : undefined}
        ...${handlers}>
        <thead role="rowgroup"><tr role="row">
          <th role="columnheader" scope="col" class="pick">
            ${select && html`
              <input type="checkbox" aria-label="Select all shown" checked=${chosen > 0 && chosen === keys.length}
                indeterminate=${chosen > 0 && chosen < keys.length} onChange=${(event) =>
                  select(keys, event.target.checked)} />`}
          </th>
          ${COLUMNS.map(({ key, title, type }) => html`
            <${SortHead} key=${key} name=${key} text=${title} kind=${`${key} ${type === "money" ? "n" : ""}`}
              isFigure=${type !== undefined} ...${{ sort, onSort }} />`)}
        </tr></thead>
        ${groups.map((one) => html`
          <${Group} key=${one.currency} ...${one} selected=${selected} canSelect=${!!select} />`)}
      </table>
    </div>`;
}

/** The rows of a currency, below their sums. */
function Group({ currency, rows, selected, canSelect }) {
  const sums = useMemo(() => sumsOf(rows), [rows]);
  return html`
    <tbody role="rowgroup">
      <tr role="row" class="group">
        <td role="gridcell" class="pick"></td>
        <th role="rowheader" scope="rowgroup" class="agency">
          ${currency} <span class="note">${format.count(rows.length)} ${rows.length === 1 ? "draft" : "drafts"}</span>
        </th>
        ${["net", "commission", "last"].map((name) => html`
          <${Figure} key=${name} label=${LABELS[name]} name=${name} value=${sums[name]} currency=${currency} />`)}
        <td role="gridcell" class="change"></td>
        ${["tax", "closing"].map((name) => html`
          <${Figure} key=${name} label=${LABELS[name]} name=${name} value=${sums[name]} currency=${currency} />`)}
        <td role="gridcell" class="checks"></td><td role="gridcell" class="state"></td>
      </tr>
      ${rows.map((row) => html`
        <${Row} key=${row.key} row=${row} isSelected=${selected.has(row.key)} canSelect=${canSelect} />`)}
    </tbody>`;
}

const LABELS = Object.fromEntries(COLUMNS.map(({ key, title }) => [key, title]));

const Figure = ({ label, name, value, currency, change }) => html`
  <td role="gridcell" class=${`n ${name}`} data-label=${label}>
    ${value === undefined ? html`<span class="note">–</span>`
      : html`<${Amount} value=${value} currency=${currency} change=${change} />`}
  </td>`;

/** A row; as long as neither it nor its selection changes, nothing of it is rendered again. */
const Row = ({ row, isSelected, canSelect }) => useMemo(() => {
  const { key, agency, currency, state, failed, warnings, checks } = row;
  const share = growth(row.change, row.last);
  return html`
    <tr role="row" tabindex="-1" data-key=${key} aria-selected=${canSelect ? String(isSelected) : undefined}>
      <td role="gridcell" class="pick">
        ${canSelect && html`
          <input type="checkbox" tabindex="-1" checked=${isSelected}
            aria-label=${`Select ${isolated(agency)} · ${currency}`} />`}
      </td>
      <th role="rowheader" scope="row" class="agency">
        <button type="button" class="link" tabindex="-1"><${AccountTitle} ...${row} /></button>
        <${AccountId} ...${row} />
      </th>
      <${Figure} label="Net sales" name="net" value=${row.net} currency=${currency} />
      <${Figure} label="Commission" name="commission" value=${row.commission} currency=${currency} />
      <${Figure} label="Last period" name="last" value=${row.last} currency=${currency} />
      <td role="gridcell" class="n change" data-label="Change">
        ${row.change === undefined ? html`<span class="note">new</span>`
          : html`<${Amount} value=${row.change} currency=${currency} change />`}
        ${share !== undefined && html`<span class="note">${format.change(share)}</span>`}
      </td>
      <${Figure} label="Tax" name="tax" value=${row.tax} currency=${currency} />
      <${Figure} label="Closing" name="closing" value=${row.closing} currency=${currency} />
      <td role="gridcell" class="checks" data-label="Checks">
        ${checks.length === 0 ? html`<${Status} value="passed" />` : html`
          <details>
            <summary tabindex="-1">
              ${failed > 0 && html`<${Status} value="failed">${format.count(failed)} failed<//>`}
              ${warnings > 0 && html` <${Status} value="warning">
                ${format.count(warnings)} ${warnings === 1 ? "warning" : "warnings"}<//>`}
              ${!failed && !warnings && html`<${Status} value="held">why<//>`}
            </summary>
            <ul>${checks.map((one) => html`<li key=${one.check}><${Name}>${one.message}<//></li>`)}</ul>
          </details>`}
      </td>
      <td role="gridcell" class="state" data-label="State"><${Status} value=${state} /></td>
    </tr>`;
}, [row, isSelected, canSelect]);
