/** The close of a period: a checklist, all drafts with what keeps each from a statement, and what was released. */
import { html, useEffect, useMemo, useRef, useState } from "../vendor/htm-preact.js";
import { all, get, pages, post } from "../lib/api.js";
import { isMonth, laterMonth } from "../lib/calendar.js";
import * as format from "../lib/format.js";
import { may } from "../lib/me.js";
import { DUE } from "../lib/overdue.js";
import { Failure, Pending, Status, Time, useLoaded } from "../lib/parts.js";
import { address, navigate } from "../lib/routes.js";
import { Checklist } from "./checklist.js";
import { DraftList } from "./draft-list.js";
import { keyOf, rowOf } from "./drafts.js";
import { Released } from "./released.js";

const AGAIN = 30_000;

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
    <${BeforeFirst} of=${period.before_first_period} />
    ${may("finance") && (period.state in DUE || isReleasing) && html`<${StartNow} onStarted=${refresh}
      text=${isReleasing ? "Make the statements now" : "Make the drafts now"} />`}
    ${problem && html`<${Failure} problem=${problem} retry=${() => { agencies.again(); last.again(); }} />`}
    ${rows.length > 0 && html`
      <${DraftList} ...${{ period, rows, query, onDecided, refresh }} reload=${() => { reload(); refresh(); }} />`}
    ${total > rows.length && html`<${Released} period=${period} turn=${turn} />`}`;
}

/** What was recorded for these drafts, and is on none: it counts before the first period with statements. */
function BeforeFirst({ of = {} }) {
  const parts = Object.entries(of).map(([currency, { lines, ...sums }]) => {
    const [net, commission] = ["net", "commission"].map((name) => format.money(sums[name], currency));
    return `${format.count(lines)} ${lines === 1 ? "event" : "events"} of ${net} net and ${commission} commission`;
  });
  return parts.length > 0 && html`
    <p class="note" role="note">On no statement, as they count before the first period: ${parts.join("; ")}.
      ${" "}The runbook says how to bring their commission forward.</p>`;
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
