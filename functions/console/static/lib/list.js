/**
 * Lists: the table of every page that shows many rows. One can filter, sort and save it, and choose its columns.
 *
 * A list of the API, which is loaded page by page:
 *
 *     const COLUMNS = [
 *       { key: "number", title: "Number", head: true, cell: (row) => html`<${Link} to=${addressOf(row)}>…<//>` },
 *       agencyColumn(useNames()),
 *       { key: "open", title: "Open", type: "money" },
 *       { key: "status", title: "Status", type: "status" },
 *       { key: "due_on", title: "Due on", type: "day", hidden: true },
 *     ];
 *     html`<${List} name="receivables" caption="Open statements" columns=${COLUMNS} path="/receivables"
 *       parameters=${{ agency }} empty=${html`<p class="empty">Nothing is open.</p>`} />`
 *
 * Rows that are there already: `rows=${rows}` in place of `path`. Pages of another kind: `load(next, limit)`, which
 * promises `{items, next}`, and `path` as a name for what it loads. Another `path`, `parameters` or `key` loads again.
 *
 * Columns are described in rows.js; here they have `cell(row)`, what is shown in place of the value, `kind`, a class of
 * the cell, `head` for the one that names the row, and `hidden` if it is shown on demand only.
 *
 * The view (text, order, columns, size, pages) is in the hash of the address below the list's `name`, so *Back*
 * restores it. Two lists of a page need two names. Forms that choose other rows keep it: `Filters` in filters.js.
 */
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../vendor/htm-preact.js";
import { abortable, get, withQuery } from "./api.js";
import { download } from "./csv.js";
import * as format from "./format.js";
import { person } from "./names.js";
import { Amount, Day, Failure, Name, Person, Status, Time } from "./parts.js";
import { restoreScroll } from "./routes.js";
import { csvOf, currencyIn, hashOf, loaderOf, matching, sorted, valueOf, valued, viewOf } from "./rows.js";

const ALL = "all";
const SIZES = { 25: "25 rows", 100: "100 rows", [ALL]: "All rows" };
/** To filter and to sort needs all rows; above this number, those that are loaded. */
const MOST = 10_000;
/** A list that is a part of a page needs no filter for so few rows. */
const FEW = 10;
const FIGURES = ["number", "money", "time", "day", "month"];
/** What is shown in place of the values of some types: rows are found by both, and ordered by the value. */
const WORDS = { day: format.day, month: format.month, person };
const KINDS = { number: "n", money: "n", time: "short", day: "short", month: "short" };

/** Returns a column by whose words its rows are found, too. */
function withWords(column) {
  const words = WORDS[column.type];
  if (!words || column.text) return column;
  const text = (row) => [valueOf(column, row)].filter(Boolean).map((value) => `${value} ${words(value)}`).join("");
  return { ...column, text };
}

/** Returns the view of a list, which is in the address, and what changes parts of it. */
function useView(name, usual) {
  const [view, setView] = useState(() => viewOf(window.location.hash, name, usual));
  useEffect(() => {
    const moved = () => setView(viewOf(window.location.hash, name, usual));
    window.addEventListener("popstate", moved);
    return () => window.removeEventListener("popstate", moved);
  }, [name]);
  const change = (parts) => {
    const next = { ...view, pages: 1, ...parts };
    const { pathname, search, hash } = window.location;
    window.history.replaceState(window.history.state, "", pathname + search + hashOf(hash, name, next, usual));
    setView(next);
  };
  return [view, change];
}

/** Returns the rows that are there, or else what loads them; it has the `least` that are needed, or is loading them. */
function useRows({ rows, path, parameters, load, least }) {
  const [, setTurn] = useState(0);
  const key = path && withQuery(path, parameters ?? {});
  const loader = useMemo(() => {
    if (rows) return { items: rows, isDone: true, reach: async () => {}, leave: () => {} };
    const page = load ?? ((next, limit) => get(withQuery(path, { ...parameters, limit, next })));
    return loaderOf(page, () => setTurn((before) => before + 1), { begin: abortable });
  }, [rows, key]);
  // Before it is painted, so that the request waits for no frame.
  useLayoutEffect(() => { loader.reach(least); }, [loader, least]);
  useEffect(() => () => loader.leave(), [loader]);
  return loader;
}

/**
 * A list. `sort`: the order in which its rows come, {by, down}. `size`: how many it shows at first, 25 if it is a part
 * of a page. `empty`: what is shown without any row. `above(rows)`: what is shown above it. `children`: more beside the
 * filter. `draw(rows)`: what is shown in place of the table. `rowClass(row)`: the class of a row. `current(row)`:
 * whether it is the one that the page is of.
 */
export function List({
  name, caption, columns: given, sort, size = "100", empty, above, draw, rowClass, current, children, ...source
}) {
  const usual = { size };
  const columns = useMemo(() => given.map(withWords), [given]);
  const [view, change] = useView(name, usual);
  const needsAll = view.size === ALL || view.sort || view.text.trim();
  const least = needsAll ? MOST : view.size * view.pages;
  const loader = useRows({ ...source, least });
  const { items, isDone, isBusy, problem } = loader;
  const isReady = isDone || items.length >= least;
  useEffect(() => { if (isReady) restoreScroll(); }, [isReady]);

  const head = useMemo(() => items.length > 0 && above?.(items), [items]);
  const order = view.sort ?? (isDone ? sort : undefined);
  const matched = useMemo(() => matching(items, columns, view.text), [items, columns, view.text]);
  const ordered = useMemo(() => (order ? sorted(matched, columns, order) : matched), [matched, columns, order]);
  const shown = view.size === ALL ? ordered : ordered.slice(0, view.size * view.pages);
  const visible = columns.filter((one) => (view.columns ? view.columns.includes(one.key) || one.head || !one.title
    : !one.hidden));
  const more = () => {
    if (shown.length < ordered.length || !needsAll) change({ pages: view.pages + 1 });
    else loader.reach(items.length + MOST);
  };
  if (problem && !items.length) return html`<${Failure} problem=${problem} retry=${() => loader.reach(least)} />`;
  if (!items.length) return isDone ? empty : html`<p role="status" class="loading">Loading…</p>`;
  return html`
    ${head}
    <div class="list">
      <${Tools} ...${{ name, columns, visible, view, change, loader, ordered }} shown=${shown.length}
        isPart=${size !== "100"} isTable=${!draw} sort=${view.sort ?? sort}>${children}<//>
      ${shown.length > 0
        ? draw?.(shown) ?? html`<${Rows} ...${{ caption, columns: visible, rows: shown, rowClass, current }}
            sort=${view.sort ?? sort} onSort=${(next) => change({ sort: next })} />`
        : !isBusy && html`<p class="empty">No row ${isDone ? "" : "so far "}matches.
            ${" "}<button type="button" class="link" onClick=${() => change({ text: "" })}>Show all rows</button></p>`}
      ${problem && html`<${Failure} problem=${problem} retry=${() => loader.reach(least)} />`}
      ${!problem && !isBusy && (shown.length < ordered.length || !isDone) && html`
        <p><button type="button" onClick=${more}>Show more</button></p>`}
    </div>`;
}

/** Returns how many rows are shown, in words: 25 of 91 rows; 25 of 40 that match, of 91 rows; a plus if more follow. */
function counted(shown, matched, { items, isDone }) {
  const all = `${format.count(items.length)}${isDone ? "" : "+"}`;
  if (matched < items.length) {
    const found = shown < matched ? `${format.count(shown)} of ${format.count(matched)}` : format.count(matched);
    return `${found} that match, of ${all} rows`;
  }
  return `${format.count(shown)} of ${all} rows`;
}

/** What is above the table: the filter, the size, the columns, the counts, and the file. */
function Tools({
  name, columns, visible, view, change, loader, ordered, shown, isPart, isTable, sort, children,
}) {
  const { items, isDone, isBusy } = loader;
  const [saving, setSaving] = useState(false);
  const [saved, setSaved] = useState(0);
  const table = useRef(ordered);
  table.current = ordered;
  // The rows that are loaded for the file are filtered and ordered as those that are shown.
  const save = async () => {
    setSaving(true);
    await loader.reach(Infinity);
    setSaving(false);
    if (loader.isDone) setSaved((before) => before + 1);
  };
  useEffect(() => { if (saved) download(`${name}.csv`, csvOf(table.current, columns)); }, [saved]);
  const isLong = !isPart || items.length > FEW || !isDone || view.text;
  return html`
    <div class="bar tools">
      ${isLong && html`
        <input type="search" aria-label="Filter" placeholder="Filter the rows" autocomplete="off" value=${view.text}
          onInput=${(event) => change({ text: event.target.value })} />
        <select aria-label="Rows" value=${view.size} onChange=${(event) => change({ size: event.target.value })}>
          ${Object.entries(SIZES).map(([value, text]) => html`<option key=${value} value=${value}>${text}</option>`)}
        </select>`}
      ${children}
      ${isTable && html`<${Choices} ...${{ columns, visible, sort, view, change }} />`}
      <span class="note" role="status">
        ${isBusy ? `Loading: ${format.count(items.length)} rows so far…` : counted(shown, ordered.length, loader)}
      </span>
      ${isBusy && items.length > 0 && html`<button type="button" onClick=${loader.stop}>Stop</button>`}
      <span class="end">
        <button type="button" disabled=${saving} onClick=${save}>
          ${ordered.length < items.length ? "Download the matches as CSV" : "Download all as CSV"}
        </button>
      </span>
    </div>`;
}

/** The order, on a phone, and the choice of columns. */
function Choices({ columns, visible, sort, view, change }) {
  const choose = ({ target: { value, checked } }) => {
    const now = visible.map((one) => one.key);
    change({ columns: checked ? [...now, value] : now.filter((key) => key !== value), pages: view.pages });
  };
  const sorts = ({ target: { value } }) => change({ sort: { by: value, down: isFigure(columns, value) } });
  return html`
    <select class="narrow" aria-label="Sort by" value=${sort?.by ?? ""} onChange=${sorts}>
      ${!sort && html`<option value="">Sort by</option>`}
      ${valued(columns).map(({ key, title }) => html`<option key=${key} value=${key}>${title}</option>`)}
    </select>
    <details class="choice">
      <summary>Columns</summary>
      <div role="group" aria-label="Columns that are shown">
        ${columns.filter((one) => !one.head && one.title).map(({ key, title }) => html`
          <label key=${key} class="check">
            <input type="checkbox" value=${key} checked=${visible.some((one) => one.key === key)} onChange=${choose} />
            ${" "}${title}
          </label>`)}
      </div>
    </details>`;
}

/** Returns whether a column has figures, whose largest come first. */
const isFigure = (columns, key) => FIGURES.includes(columns.find((one) => one.key === key)?.type);

/** The head of a column that can be sorted. `sort`: {by, down}; `isFigure`: the first click shows the largest first. */
export function SortHead({ name, text, kind, isFigure: first, sort, onSort }) {
  const isBy = sort?.by === name;
  return html`
    <th role="columnheader" scope="col" class=${kind}
      aria-sort=${isBy ? (sort.down ? "descending" : "ascending") : undefined}>
      <button type="button" class="sort" onClick=${() => onSort({ by: name, down: isBy ? !sort.down : first })}>
        ${text}
      </button>
    </th>`;
}

/** The table; each row is a box on a phone. Its roles are named, as boxes are no table for browsers. */
function Rows({ caption, columns, rows, sort, onSort, rowClass, current }) {
  return html`
    <div class="rows" tabindex="0" role="region" aria-label=${caption}>
      <table role="table">
        <caption>${caption}</caption>
        <thead role="rowgroup"><tr role="row">
          ${columns.map((one) => (one.value === null
            ? html`<th key=${one.key} role="columnheader" scope="col">${one.title}</th>`
            : html`<${SortHead} key=${one.key} name=${one.key} text=${one.title} kind=${kindOf(one)} sort=${sort}
                onSort=${onSort} isFigure=${isFigure(columns, one.key)} />`))}
        </tr></thead>
        <tbody role="rowgroup">
          ${rows.map((row, index) => html`
            <tr key=${index} role="row" class=${rowClass?.(row)} aria-current=${current?.(row) ? "true" : undefined}>
              ${columns.map((one) => html`<${Cell} key=${one.key} column=${one} row=${row} />`)}
            </tr>`)}
        </tbody>
      </table>
    </div>`;
}

const kindOf = ({ type, kind }) => kind ?? KINDS[type] ?? "";

/** A cell; its `data-label` names it in a box. */
function Cell({ column, row }) {
  const { title, cell, head } = column;
  const content = cell ? cell(row) : shownAs(column, row);
  const attributes = { class: kindOf(column), "data-label": title || undefined };
  return head
    ? html`<th role="rowheader" scope="row" ...${attributes}>${content}</th>`
    : html`<td role="cell" ...${attributes}>${content}</td>`;
}

function shownAs(column, row) {
  const { type, exact } = column;
  const value = valueOf(column, row);
  if (value === undefined || value === null || value === "") return null;
  if (type === "money") return html`<${Amount} ...${{ value, exact }} currency=${currencyIn(column, row)} />`;
  if (type === "number") return format.count(value);
  if (type === "time") return html`<${Time} at=${value} />`;
  if (type === "day") return html`<${Day} on=${value} />`;
  if (type === "month") return format.month(value);
  if (type === "person") return html`<${Person} by=${value} />`;
  if (type === "status") return html`<${Status} value=${value} />`;
  return html`<${Name}>${value}<//>`;
}
