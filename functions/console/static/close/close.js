/** The close of a period: a checklist, all drafts with what keeps each from a statement, and what was released. */
import { html, useEffect, useMemo, useRef, useState } from "../vendor/htm-preact.js";
import { all, get, pages, post, withQuery } from "../lib/api.js";
import { isMonth, laterMonth } from "../lib/calendar.js";
import { download, writeCsv } from "../lib/csv.js";
import * as format from "../lib/format.js";
import { may, reader } from "../lib/me.js";
import { DUE } from "../lib/overdue.js";
import { Amount, Failure, Modal, Pending, Status, Time, useLoaded } from "../lib/parts.js";
import { address, navigate } from "../lib/routes.js";
import { Batch, fitting } from "./batch.js";
import { Checklist } from "./checklist.js";
import { COLUMNS, countsOf, filtered, grouped, keyOf, rowOf, sumsOf } from "./drafts.js";
import { Preview } from "./preview.js";
import { Released } from "./released.js";
import { DraftTable } from "./table.js";

const AGAIN = 30_000;
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

/** The page of a period, or of the one to close now. */
export function Close({ period, query }) {
  // The period that the page has begun with stays, even if all of it is released meanwhile.
  const begun = useRef(period);
  const { value, problem, again } = useLoaded(() => chosen(begun.current), "");
  if (period && !isMonth(period)) return html`<p class="empty">Write a month such as 2026-11 into the address.</p>`;
  if (!value) return html`<${Pending} problem=${problem} retry=${again} />`;
  const [periods, one] = value;
  begun.current = one.period;
  return html`
    ${one.from ? html`<${Month} key=${one.period} ...${{ periods, period: one, query, again }} />`
      : html`
        <${PeriodBar} periods=${periods} period=${one} />
        <p class="empty">There is nothing of ${format.month(one.period)} to close.</p>`}`;
}

/** Returns the periods, and the chosen one: without a choice the first that is over and has no statements yet. */
async function chosen(period) {
  const [{ items: periods }, drafts] = await Promise.all([get("/periods?limit=100"), get("/drafts?limit=1")]);
  const due = [
    ...drafts.items.map((one) => one.period),
    ...periods.filter((one) => one.state in DUE).map((one) => one.period).toReversed(),
    ...periods.filter((one) => one.state === "sealed").map((one) => one.period),
    ...periods.map((one) => one.period),
  ];
  const name = period ?? due[0] ?? "";
  return [periods, periods.find((one) => one.period === name) ?? { period: name }];
}

/** Which period it is, with a way to the others, its state, and how many of its drafts have a statement. */
function PeriodBar({ periods, period: { period, state, cut_off: cutOff, recorded_until: until }, total = 0, left }) {
  return html`
    <div class="period">
      <select aria-label="Period" value=${period}
        onChange=${(event) => navigate(address(["close", event.target.value]))}>
        ${!periods.some((one) => one.period === period) && html`
          <option value=${period}>${format.month(period)}</option>`}
        ${periods.map((one) => html`
          <option key=${one.period} value=${one.period}>${format.month(one.period)}</option>`)}
      </select>
      ${state && html`
        <span><${Status} value=${state} />
          ${" "}<span class="note">${until ? html`recorded before <${Time} at=${until} />`
            : html`cut-off <${Time} at=${cutOff} />`}</span></span>`}
      ${total > 0 && html`
        <div class="progress">
          <progress aria-label="Released drafts" value=${total - left} max=${total}></progress>
          <p><strong>${format.count(total - left)}</strong> of ${format.count(total)} released</p>
        </div>`}
    </div>`;
}

function Month({ periods, period, query, again }) {
  const [turn, setTurn] = useState(0);
  const drafts = useLoaded(() => all("/drafts", { period: period.period }), "");
  const agencies = useLoaded(() => all("/agencies"), "");
  const last = useLoaded(() => lastOf(laterMonth(period.period, -1)), "");
  const [decided, setDecided] = useState(new Map());
  const refresh = () => {
    drafts.again();
    agencies.again();
    again();
    setTurn((before) => before + 1);
  };
  const present = useMemo(() => drafts.value?.map((one) => {
    const later = decided.get(keyOf(one));
    const checks = one.checks.filter(({ check }) => check !== "held");
    return later?.seen > one.seen ? { ...one, ...later, checks } : one;
  }), [drafts.value, decided]);
  const [previews, reload] = usePreviews(period.period, present);
  const names = useMemo(() => new Map(agencies.value?.map((one) => [one.agency, one.legal_name])), [agencies.value]);
  const rows = useRows(present, names, last.value, previews);
  const isReleasing = rows?.some((row) => row.state === "releasing");
  useEffect(() => {
    if (!isReleasing) return undefined;
    const timer = setInterval(refresh, AGAIN);
    return () => clearInterval(timer);
  }, [isReleasing]);
  if (!rows) return html`<${Pending} problem=${drafts.problem} retry=${drafts.again} />`;
  const onDecided = (row, { state, decisions }) => {
    const later = { state, seen: decisions.length, last_decision: decisions.at(-1) };
    setDecided((before) => new Map(before).set(row.key, later));
  };
  const problem = agencies.problem || last.problem;
  const total = period.drafts ?? 0;
  return html`
    <${PeriodBar} ...${{ periods, period, total }} left=${rows.length} />
    <${Checklist} period=${period} drafts=${present} turn=${turn} />
    ${may("finance") && (period.state in DUE || isReleasing) && html`<${StartNow} onStarted=${refresh}
      text=${isReleasing ? "Make the statements now" : "Make the drafts now"} />`}
    ${problem && html`<${Failure} problem=${problem} retry=${() => { agencies.again(); last.again(); }} />`}
    ${rows.length > 0 && html`
      <${Drafts} ...${{ period, rows, query, onDecided, refresh }} reload=${() => { reload(); refresh(); }} />`}
    ${total > rows.length && html`<${Released} period=${period} turn=${turn} />`}`;
}

/** The button that starts what is due, the drafts of a period or a release, without waiting for the watch. */
function StartNow({ text, onStarted }) {
  const [state, setState] = useState({});
  const start = async () => {
    setState({ busy: true });
    try {
      setState({ started: await post("/statement-runs") });
      onStarted();
    } catch (problem) {
      setState({ problem });
    }
  };
  const { busy, problem, started } = state;
  return html`
    <p class="bar">
      <button type="button" disabled=${busy} onClick=${start}>${text}</button>
      <span role="status">${started && (started.period ? `The drafts of ${format.month(started.period)} are being made.`
        : started.release ? "The statements are being made." : "Nothing is due now.")}</span>
    </p>
    ${problem && html`<${Failure} problem=${problem} />`}`;
}

/** Returns the commission of each account in a period, by key: of its statement, or else the exact one of its draft. */
async function lastOf(period) {
  const [statements, drafts] = await Promise.all([all("/statements", { period }), all("/drafts", { period })]);
  return new Map([...statements, ...drafts].map((one) => [keyOf(one), one.commission ?? one.commission_exact]));
}

/** Returns commission, tax and closing balance of the drafts by key, as they are read page by page; and a reset. */
function usePreviews(period, drafts) {
  const [known, setKnown] = useState(new Map());
  const [turn, setTurn] = useState(0);
  const read = useRef(new Set());
  const isGone = useRef(false);
  useEffect(() => () => { isGone.current = true; }, []);
  useEffect(() => {
    if (!drafts?.some((one) => !read.current.has(keyOf(one)))) return;
    read.current = new Set(drafts.map(keyOf));
    const load = async () => {
      for await (const some of pages("/drafts", { period, preview: "true" })) {
        if (isGone.current) return;
        setKnown((before) => new Map([...before, ...some.map((one) => [keyOf(one), one])]));
      }
    };
    // The table shows what is not known; the next reading tries again.
    load().catch(() => { read.current = new Set(); });
  }, [drafts, turn]);
  const reset = () => {
    read.current = new Set();
    setTurn((before) => before + 1);
  };
  return [known, reset];
}

/** Returns the rows of drafts; a row of which nothing has changed stays the same object. */
function useRows(drafts, names, last, previews) {
  const cache = useRef(new Map());
  return useMemo(() => drafts?.map((draft) => {
    const key = keyOf(draft);
    const parts = [draft, names.get(draft.agency), last?.get(key), previews.get(key)];
    const before = cache.current.get(key);
    if (before?.parts.every((part, index) => part === parts[index])) return before.row;
    const row = rowOf(draft, { name: parts[1], last: parts[2], preview: parts[3] });
    cache.current.set(key, { parts, row });
    return row;
  }), [drafts, names, last, previews]);
}

/**
 * The drafts: which are shown, in which order, which are selected, and what is done with them. `refresh` reads the
 * drafts again, `reload` also what is computed of them.
 */
function Drafts({ period, rows, query, onDecided, refresh, reload }) {
  const [filter, setFilter] = useFilter(query);
  const sort = { by: filter.sort.replace("-", "") || "agency", down: filter.sort.startsWith("-") };
  const setSort = ({ by, down }) =>
    setFilter({ ...filter, sort: by === "agency" && !down ? "" : `${down ? "-" : ""}${by}` });
  const [selected, setSelected] = useState(new Set());
  const [asking, setAsking] = useState(null);
  const [previewed, setPreviewed] = useState(null);
  const [isHelp, setHelp] = useState(false);
  const search = useRef();
  const person = reader().name;
  const shown = useMemo(() => filtered(rows, filter, person), [rows, filter]);
  const groups = useMemo(() => grouped(shown, sort), [shown, filter.sort]);
  const chosenRows = rows.filter((row) => selected.has(row.key));
  const isFinance = may("finance");

  const select = (keys, isOn) => setSelected((before) => {
    const next = new Set(before);
    for (const key of keys) next[isOn ? "add" : "delete"](key);
    return next;
  });
  const decide = (decision, row) => {
    const of = row && !selected.has(row.key) ? [row] : chosenRows;
    setAsking({ decision, rows: of });
  };
  const releaseAny = (row) => {
    const of = selected.has(row.key) ? chosenRows : [row];
    decide(!fitting("release", of).length && fitting("agree", of).length ? "agree" : "release", row);
  };
  const act = {
    ...(isFinance && { r: releaseAny, h: (row) => decide("hold", row) }),
    "/": () => search.current.focus(),
    "?": () => setHelp(true),
    Escape: () => setSelected(new Set()),
  };
  const ordered = groups.flatMap((one) => one.rows);
  const move = (step) => {
    const index = ordered.findIndex((row) => row.key === previewed.key) + step;
    if (ordered[index]) setPreviewed(ordered[index]);
  };
  const focusRow = (key) => {
    const element = [...document.querySelectorAll("#drafts tr[data-key]")].find((one) => one.dataset.key === key);
    (element ?? document.querySelector("#drafts tr[data-key]"))?.focus();
  };
  const fromSearch = (event) => {
    if (event.key !== "ArrowDown" && event.key !== "Enter") return;
    event.preventDefault();
    focusRow();
  };
  return html`
    <section aria-labelledby="drafts-title">
      <h2 id="drafts-title">Drafts</h2>
      <div class="tabs" role="group" aria-label="Which drafts are shown">
        ${countsOf(rows, person).map(([name, many]) => (many > 0 || name === filter.show || name === "all") && html`
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
        <span class="note" role="status">${format.count(shown.length)} of ${format.count(rows.length)} drafts</span>
        <span class="end">
          <button type="button" onClick=${reload}>Refresh</button>
          ${" "}<button type="button" onClick=${() => download(`drafts-${period.period}.csv`, writeCsv(CSV, ordered))}>
            Download CSV
          </button>
        </span>
      </div>
      <p class="keys note">
        In the table: <kbd>j</kbd> <kbd>k</kbd> move${isFinance && html`, <kbd>x</kbd> select`},
        ${" "}<kbd>Enter</kbd> preview${isFinance && html`, <kbd>r</kbd> release, <kbd>h</kbd> hold`}.
        ${" "}<button type="button" class="link" onClick=${() => setHelp(true)}>All keys <kbd>?</kbd></button>
      </p>
      ${shown.length > 0
        ? html`<${DraftTable} ...${{ groups, sort, selected, act }} onSort=${setSort} preview=${setPreviewed}
            select=${isFinance && select} />`
        : html`<p class="empty">No draft matches.
            ${" "}<button type="button" class="link" onClick=${() => setFilter({ ...NONE, sort: filter.sort })}>
              Show all drafts</button></p>`}
      ${chosenRows.length > 0 && html`
        <${Selection} rows=${chosenRows} decide=${decide} clear=${() => setSelected(new Set())} />`}
    </section>
    ${previewed && html`
      <${Preview} row=${rows.find((row) => row.key === previewed.key) ?? previewed} move=${move}
        decide=${(decision, row) => { setPreviewed(null); setAsking({ decision, rows: [row] }); }}
        onClose=${() => { setPreviewed(null); focusRow(previewed.key); }} />`}
    ${asking && html`
      <${Batch} ...${asking} period=${period.period}
        onDecided=${(row, decided) => { onDecided(row, decided); select([row.key], false); }}
        onClose=${() => { setAsking(null); refresh(); focusRow(asking.rows[0]?.key); }} />`}
    ${isHelp && html`<${Help} onClose=${() => setHelp(false)} />`}`;
}

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
