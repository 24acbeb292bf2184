/** The drafts of a period: which are shown, in which order, which are selected, and what is done with them. */
import { html, useEffect, useMemo, useRef, useState } from "../vendor/htm-preact.js";
import { withQuery } from "../lib/api.js";
import { download, writeCsv } from "../lib/csv.js";
import * as format from "../lib/format.js";
import { may, reader } from "../lib/me.js";
import { Amount, Modal } from "../lib/parts.js";
import { Batch, fitting } from "./batch.js";
import { COLUMNS, countsOf, filtered, grouped, sumsOf } from "./drafts.js";
import { Preview } from "./preview.js";
import { DraftTable } from "./table.js";

const SHOWN = {
  all: "All", ready: "Ready", warning: "Warnings", failed: "Failed", held: "Held", proposed: "Proposed",
  releasing: "Releasing",
};
const CSV = [
  "period", "agency", "name", "currency", "net", "commission", "last", "change", "tax", "closing", "failed", "warnings",
  "state",
];
const KEYS = [
  ["↓ ↑ or j k", "move"], ["x or Space", "select; with Shift, a range"], ["a", "select all shown"],
  ["Enter", "preview"], ["r", "release"], ["h", "hold, with a reason"], ["/", "filter"],
  ["Esc", "close, or select none"],
];

/** Gives the focus to the row of a key in the table; to its first row without a key, or if that is gone. */
function focusRow(key) {
  const element = [...document.querySelectorAll("#drafts tr[data-key]")].find((one) => one.dataset.key === key);
  (element ?? document.querySelector("#drafts tr[data-key]"))?.focus();
}

/** Returns the keys that are selected, and what changes them: `select(keys, isOn)`. */
function useSelection() {
  const [selected, setSelected] = useState(new Set());
  const select = (keys, isOn) => setSelected((before) => {
    const next = new Set(before);
    for (const key of keys) next[isOn ? "add" : "delete"](key);
    return next;
  });
  return [selected, select, () => setSelected(new Set())];
}

/** The list. `refresh` reads the drafts again, `reload` also what is computed of them. */
export function DraftList({ period, rows, query, onDecided, refresh, reload }) {
  const [filter, setFilter] = useFilter(query);
  const sort = { by: filter.sort.replace("-", "") || "agency", down: filter.sort.startsWith("-") };
  const setSort = ({ by, down }) =>
    setFilter({ ...filter, sort: by === "agency" && !down ? "" : `${down ? "-" : ""}${by}` });
  const [selected, select, selectNone] = useSelection();
  const [asking, setAsking] = useState(null);
  const [previewed, setPreviewed] = useState(null);
  const [isHelp, setHelp] = useState(false);
  const search = useRef();
  const person = reader().name;
  const shown = useMemo(() => filtered(rows, filter, person), [rows, filter]);
  const groups = useMemo(() => grouped(shown, sort), [shown, filter.sort]);
  const chosen = rows.filter((row) => selected.has(row.key));
  const isFinance = may("finance");
  const ask = (decision, row) =>
    setAsking({ decision, rows: row && !selected.has(row.key) ? [row] : chosen });
  const act = {
    ...(isFinance && {
      r: (row) => ask(releaseOrAgree(selected.has(row.key) ? chosen : [row]), row), h: (row) => ask("hold", row),
    }),
    "/": () => search.current.focus(),
    "?": () => setHelp(true),
    Escape: selectNone,
  };
  const ordered = groups.flatMap((one) => one.rows);
  return html`
    <section aria-labelledby="drafts-title">
      <h2 id="drafts-title">Drafts</h2>
      <${Tools} ...${{ period, rows, ordered, filter, setFilter, sort, setSort, search, reload }} />
      <${KeysNote} isFinance=${isFinance} onHelp=${() => setHelp(true)} />
      ${shown.length > 0
        ? html`<${DraftTable} ...${{ groups, sort, selected, act }} onSort=${setSort} preview=${setPreviewed}
            select=${isFinance && select} />`
        : html`<p class="empty">No draft matches.
            ${" "}<button type="button" class="link" onClick=${() => setFilter({ ...NONE, sort: filter.sort })}>
              Show all drafts</button></p>`}
      ${chosen.length > 0 && html`<${Selection} rows=${chosen} decide=${ask} clear=${selectNone} />`}
    </section>
    ${previewed && html`
      <${PreviewOf} ...${{ previewed, rows, ordered, setPreviewed, setAsking }} />`}
    ${asking && html`
      <${Batch} ...${asking} period=${period.period}
        onDecided=${(row, decided) => { onDecided(row, decided); select([row.key], false); }}
        onClose=${() => { setAsking(null); refresh(); focusRow(asking.rows[0]?.key); }} />`}
    ${isHelp && html`<${Help} onClose=${() => setHelp(false)} />`}`;
}

/** Returns the decision that releases most simply: an agreement, if none of the rows can be released without one. */
const releaseOrAgree = (rows) =>
  (!fitting("release", rows).length && fitting("agree", rows).length ? "agree" : "release");

/** The preview of a draft, from which one goes to the next, or decides about it. */
function PreviewOf({ previewed, rows, ordered, setPreviewed, setAsking }) {
  const move = (step) => {
    const index = ordered.findIndex((row) => row.key === previewed.key) + step;
    if (ordered[index]) setPreviewed(ordered[index]);
  };
  return html`
    <${Preview} row=${rows.find((row) => row.key === previewed.key) ?? previewed} move=${move}
      decide=${(decision, row) => { setPreviewed(null); setAsking({ decision, rows: [row] }); }}
      onClose=${() => { setPreviewed(null); focusRow(previewed.key); }} />`;
}

/** Which drafts are shown: by state, by words and by currency; their order, and all of them as a file. */
function Tools({ period, rows, ordered, filter, setFilter, sort, setSort, search, reload }) {
  const fromSearch = (event) => {
    if (event.key !== "ArrowDown" && event.key !== "Enter") return;
    event.preventDefault();
    focusRow();
  };
  return html`
    <div class="tabs" role="group" aria-label="Which drafts are shown">
      ${countsOf(rows, reader().name).map(([name, many]) =>
        (many > 0 || name === filter.show || name === "all") && html`
          <button key=${name} type="button" aria-pressed=${String((filter.show || "all") === name)}
            onClick=${() => setFilter({ ...filter, show: name === "all" ? "" : name })}>
            ${SHOWN[name]} <span>${format.count(many)}</span>
          </button>`)}
    </div>
    <div class="bar tools">
      <input ref=${search} type="search" aria-label="Filter" placeholder="Filter by name, agency, check or state"
        value=${filter.text} onKeyDown=${fromSearch}
        onInput=${(event) => setFilter({ ...filter, text: event.target.value })} />
      <select aria-label="Currency" value=${filter.currency}
        onChange=${(event) => setFilter({ ...filter, currency: event.target.value })}>
        <option value="">All currencies</option>
        ${[...new Set(rows.map((row) => row.currency))].sort().map((one) => html`
          <option key=${one} value=${one}>${one}</option>`)}
      </select>
      <select class="narrow" aria-label="Sort by" value=${sort.by}
        onChange=${({ target: { value } }) => setSort({ by: value, down: !["agency", "state"].includes(value) })}>
        ${COLUMNS.map(({ key, title }) => html`<option key=${key} value=${key}>${title}</option>`)}
      </select>
      <span class="note" role="status">${format.count(ordered.length)} of ${format.count(rows.length)} drafts</span>
      <span class="end">
        <button type="button" onClick=${reload}>Refresh</button>
        ${" "}<button type="button" onClick=${() => download(`drafts-${period.period}.csv`, writeCsv(CSV, ordered))}>
          Download CSV
        </button>
      </span>
    </div>`;
}

const KeysNote = ({ isFinance, onHelp }) => html`
  <p class="keys note">
    In the table: <kbd>j</kbd> <kbd>k</kbd> move${isFinance && html`, <kbd>x</kbd> select`},
    ${" "}<kbd>Enter</kbd> preview${isFinance && html`, <kbd>r</kbd> release, <kbd>h</kbd> hold`}.
    ${" "}<button type="button" class="link" onClick=${onHelp}>All keys <kbd>?</kbd></button>
  </p>`;

const NONE = { text: "", currency: "", show: "", sort: "" };
const filterOf = ({ text = "", currency = "", show = "", sort = "" }) => ({ text, currency, show, sort });

/** Returns the filter and the order of the address, and what changes both; a link to another filter changes it, too. */
function useFilter(query) {
  const [filter, setFilter] = useState(() => filterOf(query));
  const named = JSON.stringify(filterOf(query));
  const first = useRef(named);
  useEffect(() => {
    if (first.current === named) return;
    first.current = named;
    setFilter(JSON.parse(named));
    document.getElementById("drafts-title").scrollIntoView({ block: "start" });
  }, [query]);
  const change = (next) => {
    setFilter(next);
    first.current = "";
    window.history.replaceState(window.history.state, "", withQuery(window.location.pathname, next));
  };
  return [filter, change];
}

/** What is selected, its sums, and what can be done with it. */
function Selection({ rows, decide, clear }) {
  const groups = [...Map.groupBy(rows, (row) => row.currency)].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const action = (decision, text, isFirst) => {
    const many = fitting(decision, rows).length;
    return many > 0 && html`
      <button type="button" class=${isFirst && "first"} onClick=${() => decide(decision)}>
        ${text} ${format.count(many)}
      </button>`;
  };
  return html`
    <section class="selection" aria-label="Selection">
      <p><strong>${format.count(rows.length)} selected</strong>
        ${groups.map(([currency, some]) => html`
          <span key=${currency} class="sum-of">
            <span class="note">${currency} commission</span>
            ${" "}<${Amount} value=${sumsOf(some).commission} currency=${currency} />
          </span>`)}
      </p>
      <div class="bar">
        ${action("release", "Release", true)}${action("agree", "Agree to", true)}${action("hold", "Hold")}
        <button type="button" onClick=${clear}>Select none</button>
      </div>
    </section>`;
}

const Help = ({ onClose }) => html`
  <${Modal} label="keys" onClose=${onClose}>
    <h2 id="keys">Keys in the table of drafts</h2>
    <dl class="help">
      ${KEYS.map(([keys, text]) => html`<div key=${keys}><dt><kbd>${keys}</kbd></dt><dd>${text}</dd></div>`)}
    </dl>
    <form class="bar" method="dialog"><button>Close</button></form>
  <//>`;
