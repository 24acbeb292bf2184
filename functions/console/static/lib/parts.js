/** The parts of every page: links, figures, tables, problems, dialogs, and the state of requests. */
import {
  html, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState,
} from "../vendor/htm-preact.js";
import { inWords } from "./advice.js";
import { abortable, get, withQuery } from "./api.js";
import * as format from "./format.js";
import { reader } from "./me.js";
import { person } from "./names.js";
import { navigate } from "./routes.js";
import { colourOf, statusWords } from "./status.js";

const NONE = [];
const SUMS_HEAD = [
  ["Currency"], ["Events", "n"], ["Changed", "n"], ["Commission", "n"], ["Would be", "n"], ["Difference", "n"],
];

/** A link to a page of the console: a plain click changes the page without loading it again. */
export function Link({ to, children, ...more }) {
  const follow = (event) => {
    if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    navigate(to);
  };
  return html`<a href=${to} onClick=${follow} ...${more}>${children}</a>`;
}

/** The mark and the name of the product: a share of a disc, a quarter of an hour. */
export const Brand = () => html`
  <div class="brand">
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" /><path d="M14.5 17.5v-9a9 9 0 1 0 9 9z" />
      <path d="M17.5 14.5v-9a9 9 0 0 1 9 9z" />
    </svg>
    Quarterhour
  </div>`;

/** A name that others have given, such as an agency's: its direction changes nothing around it. */
export const Name = ({ children }) => html`<bdi>${children}</bdi>`;

/**
 * A sum of money, rounded to its currency, with its exact value on demand. `exact`: with all its digits at once;
 * `change`: with its sign.
 */
export function Amount({ value, currency, exact, change }) {
  const all = format.money(value, currency);
  const shown = exact ? all : format.amount(value, currency, change);
  return html`<data value=${value} title=${shown === all ? undefined : all}>${shown}</data>`;
}

/** The cell of a sum of money, as Amount shows it; empty without one. `kind`: a class of the cell. */
export const Money = ({ value, kind = "", ...more }) =>
  html`<td class=${`n ${kind}`.trim()}>${value !== undefined && html`<${Amount} value=${value} ...${more} />`}</td>`;

/** A status, in its words and its colour everywhere; `children` say more in place of the words. */
export const Status = ({ value, children }) => html`
  <span class=${`tag ${colourOf(value) ?? "plain"} ${value}`}>${children ?? statusWords(value)}</span>`;

/** An instant in the marketplace's time zone; UTC on demand. */
export const Time = ({ at }) =>
  html`<time datetime=${at} title=${`${format.time(at, "UTC")} UTC`}>${format.time(at)}</time>`;

/** A day, such as 2026-12-04, as people read it; nothing without one. */
export const Day = ({ on }) => on && html`<time datetime=${on}>${format.day(on)}</time>`;

/** Who did something; the full name of a machine on demand. */
export const Person = ({ by }) => html`<bdi title=${person(by) === by ? undefined : by}>${person(by)}</bdi>`;

/** A table with a caption, or else a label; it scrolls by itself if it is wider than the page. */
export const Table = ({ caption, label = caption, head, children }) => html`
  <div class="scroll" tabindex="0" role="region" aria-label=${label}>
    <table>
      ${caption && html`<caption>${caption}</caption>`}
      <thead><tr>${head.map(([text, kind]) => html`<th scope="col" class=${kind}>${text}</th>`)}</tr></thead>
      <tbody>${children}</tbody>
    </table>
  </div>`;

/** A command to run on a person's machine, with what it is for and a button that copies it. */
export function Command({ text, command }) {
  const [isCopied, setCopied] = useState(false);
  const copy = () => navigator.clipboard.writeText(command).then(() => setCopied(true));
  return html`
    <div class="command">
      <span>${text}</span><code>${command}</code>
      <button type="button" aria-label=${`Copy: ${text}`} onClick=${copy}>${isCopied ? "Copied" : "Copy"}</button>
    </div>`;
}

/** For how long the links to files can be followed. */
export const LinksNote = ({ seconds }) => html`
  <p class="note">Links are valid for ${seconds / 60} minutes. Reload the page for new ones.</p>`;

/** What went wrong, in words, and what to do: the button `action` calls `retry`, another one the problem's `signIn`. */
export function Failure({ problem, retry, action = "Try again" }) {
  const { title, lines: [first, ...more] } = inWords(problem);
  return html`
    <div class="mark" role="alert">
      <p><strong>${title}.</strong> ${first}</p>
      ${more.map((line) => html`<p key=${line}>${line}</p>`)}
      ${problem.requestId && html`<p>Request <code>${problem.requestId}</code></p>`}
      ${problem.signIn && html`<button type="button" onClick=${problem.signIn}>Sign in in a new window</button>`}
      ${retry && html`<button type="button" onClick=${retry}>${action}</button>`}
    </div>`;
}

/** What a page shows while there are no events: where they come from, and for machines how to send one. */
export const NoEvents = ({ children }) => html`
  <p class="empty">${children} Sales appear here some seconds after a shop sends them.
    ${reader().machine && html` Send one with <code>POST /events</code>.`}</p>`;

/** What to show while there is no content yet: the problem, or that it loads. */
export const Pending = ({ problem, retry }) =>
  problem
    ? html`<${Failure} problem=${problem} retry=${retry} />`
    : html`<p role="status" class="loading">Loading…</p>`;

/**
 * Returns what keeps a dialog open at the first Escape if somebody has written into it: its handlers, and the note that
 * says so. The second Escape closes it. `busy` keeps it open in any case.
 */
function useEscape(busy) {
  const isWritten = useRef(false);
  const [isAsked, setAsked] = useState(false);
  const onInput = () => { isWritten.current = true; setAsked(false); };
  const onCancel = (event) => {
    if (!busy && (!isWritten.current || isAsked)) return;
    event.preventDefault();
    setAsked(!busy);
  };
  const note = isAsked && html`
    <p class="mark" role="alert">What you have written is not sent. Press Escape again to discard it.</p>`;
  return [{ onInput, onCancel }, note];
}

/** Returns the reference of a dialog that opens at once, not after the first paint: the next key belongs to it. */
export function useOpened() {
  const place = useRef();
  useLayoutEffect(() => place.current.showModal(), []);
  return place;
}

/**
 * A dialog with a form, whose fields are its children. It closes when onSend has returned true. The second click of a
 * double click is ignored: the button may have another action by then. `isStale`: something else than its
 * action is to be done first.
 */
export function Dialog({ title, action, busy, problem, onSend, onClose, wide, isStale, children }) {
  const place = useOpened();
  const [kept, note] = useEscape(busy);
  const send = async (event) => {
    event.preventDefault();
    if (await onSend(new FormData(event.target))) place.current?.close();
  };
  return html`
    <dialog ref=${place} class=${wide && "wide"} aria-labelledby="dialog" closedby=${busy ? "none" : "closerequest"}
      onClose=${onClose} ...${kept}>
      <form method="dialog" onSubmit=${send}>
        <h2 id="dialog">${title}</h2>
        ${children}
        ${problem && html`<${Failure} problem=${problem} />`}
        ${note}
        <div class="bar">
          <button key=${action} class=${isStale ? "" : "first"} disabled=${busy}
            onClick=${(event) => event.detail > 1 && event.preventDefault()}>${action}</button>
          <button type="button" disabled=${busy} onClick=${() => place.current.close()}>Cancel</button>
        </div>
      </form>
    </dialog>`;
}

/** Part of a form that can be hidden; shown again, its first field has the focus. */
export function Hideable({ hidden, children }) {
  const place = useRef();
  const was = useRef(hidden);
  useLayoutEffect(() => {
    if (was.current && !hidden) place.current.querySelector("input, select").focus();
    was.current = hidden;
  }, [hidden]);
  return html`<div ref=${place} hidden=${hidden}>${children}</div>`;
}

/** A dialog that adds no form. It closes by Escape and by a form of the method dialog; `busy` keeps it open. */
export function Modal({ label, busy, onClose, children, ...more }) {
  const place = useOpened();
  const [kept, note] = useEscape(busy);
  return html`
    <dialog ref=${place} aria-labelledby=${label} closedby=${busy ? "none" : "any"} onClose=${onClose} ...${kept}
      ...${more}>
      ${children}
      ${note}
    </dialog>`;
}

/** Returns the fields of a form by name, in place of the browser's sending of it. */
export function fieldsOf(event) {
  event.preventDefault();
  return Object.fromEntries(new FormData(event.target));
}

/**
 * What somebody else wrote meanwhile beside what you were about to write: rows of a name and both texts. `label`: the
 * button that takes theirs.
 */
export const Conflict = ({ rows, label, onTheirs, children }) => html`
  <${Table} caption="Somebody else made a change first. The differences:" head=${[["What"], ["Theirs"], ["Yours"]]}>
    ${rows.filter(([, theirs, yours]) => theirs !== yours).map(([name, theirs, yours]) => html`
      <tr key=${name}>
        <th scope="row">${name}</th><td class="long"><${Name}>${theirs}<//></td>
        <td class="long"><${Name}>${yours}<//></td>
      </tr>`)}
  <//>
  <div>${children}</div>
  ${onTheirs && html`<p><button type="button" class="first" onClick=${onTheirs}>${label}</button></p>`}`;

/** Returns what sends a form once: busy, problem, and onSend, which returns whether this call has sent it. */
export function useSending(send, onDone) {
  const [state, setState] = useState({});
  const sending = useRef(false); // At once, while `busy` shows a moment later.
  const onSend = async (form) => {
    if (sending.current) return false;
    sending.current = true;
    setState({ busy: true });
    try {
      onDone(await send(form));
      setState({});
      return true;
    } catch (problem) {
      setState({ problem });
      return false;
    } finally {
      sending.current = false;
    }
  };
  return { ...state, onSend };
}

/**
 * Returns what sends a form once, as useSending does, and `conflict`: what `read` has returned for the form that the
 * API refused with 409, because somebody else made a change first.
 */
export function useConflict(send, read, onDone) {
  const [conflict, setConflict] = useState(null);
  const sending = useSending(async (form) => {
    try {
      return await send(form);
    } catch (problem) {
      // The refusal is what counts, even if it cannot be read who was faster.
      if (problem.status === 409) await read(form).then(setConflict, () => {});
      throw problem;
    }
  }, onDone);
  return [sending, conflict];
}

/** Returns the state of a promise that `load` makes, whenever `key` changes: value, problem, and again(). */
export function useLoaded(load, key) {
  const [state, setState] = useState({});
  const [turn, setTurn] = useState(0);
  useLayoutEffect(() => { // Before it is painted, so that the request waits for no frame.
    let current = true;
    const [loading, stop] = abortable(load);
    loading.then(
      (value) => current && setState({ key, value }),
      (problem) => current && setState({ key, problem }),
    );
    return () => {
      current = false;
      stop();
    };
  }, [key, turn]);
  const { value, problem } = state.key === key ? state : {};
  const again = useCallback(() => {
    setState((before) => (before.problem ? {} : before));
    setTurn((before) => before + 1);
  }, []);
  return { value, problem, again };
}

/**
 * Returns the items of a list of the API, page by page: items, the pages themselves, problem, busy, more() if another
 * page follows, and whether the whole list is empty. `ahead` is the number of pages that are loaded by themselves; a
 * page without items does not count, as a search can go on after it.
 */
export function usePages(path, parameters, ahead = 1) {
  const [state, setState] = useState({});
  const key = withQuery(path, parameters);
  const current = useRef(key);
  current.current = key;
  const load = async (before, next, left = ahead) => {
    setState({ key, pages: before, busy: true });
    try {
      const page = await get(withQuery(path, { ...parameters, next }));
      if (current.current !== key) return;
      const pages = [...before, page];
      const remaining = page.items.length ? left - 1 : left;
      if (page.next && remaining > 0) load(pages, page.next, remaining);
      else setState({ key, pages, more: page.next && (() => load(pages, page.next)), busy: false });
    } catch (problem) {
      const again = () => load(before, next);
      if (current.current === key) setState({ key, pages: before, problem, more: again, busy: false });
    }
  };
  useEffect(() => { load([]); }, [key]);
  useEffect(() => () => { current.current = null; }, []);
  const { pages, problem, busy, more } = state.key === key ? state : { pages: NONE, busy: true };
  const items = useMemo(() => pages.flatMap((page) => page.items), [pages]);
  return { items, pages, problem, busy, more, empty: !items.length && !busy && !more };
}

/** What follows a paged table: a problem, or the button for the next page. */
export const More = ({ list }) => html`
  ${list.problem && html`<${Failure} problem=${list.problem} retry=${list.more} />`}
  ${list.busy && html`<p role="status" class="loading">Loading…</p>`}
  ${list.more && !list.problem && html`<p><button type="button" onClick=${list.more}>Show more</button></p>`}`;

/** What another rate card would charge: the sums of the accounts of a preview, one a currency. */
export const ReratingSums = ({ caption, accounts }) => html`
  <${Table} caption=${caption} head=${SUMS_HEAD}>
    ${accounts.map(({ currency, events, changed, ...sums }) => html`
      <tr key=${currency}>
        <th scope="row">${currency}</th><td class="n">${format.count(events)}</td>
        <td class="n">${format.count(changed)}</td>
        <${Money} value=${sums.commission} currency=${currency} />
        <${Money} value=${sums.would_be} currency=${currency} />
        <${Money} value=${sums.difference} currency=${currency} change />
      </tr>`)}
  <//>`;
