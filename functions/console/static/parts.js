/** The parts of every page: links, figures, tables, problems, dialogs, and the state of requests. */
import { html, useCallback, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { get, withQuery } from "./api.js";
import { download, writeCsv } from "./csv.js";
import * as format from "./format.js";
import { navigate } from "./routes.js";

/** A link to a page of the console: a plain click changes the page without loading it again. */
export function Link({ to, children, ...more }) {
  const follow = (event) => {
    if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    navigate(to);
  };
  return html`<a href=${to} onClick=${follow} ...${more}>${children}</a>`;
}

/** A name that others have given, such as an agency's: its direction changes nothing around it. */
export const Name = ({ children }) => html`<bdi>${children}</bdi>`;

/** The cell of a sum of money. */
export const Money = ({ value, currency }) =>
  html`<td class="n">${value === undefined ? "" : format.money(value, currency)}</td>`;

/** The status of a statement or a dispute. */
export const Status = ({ value }) => html`<span class=${`tag ${value}`}>${format.words(value)}</span>`;

/** An instant in the marketplace's time zone; UTC on demand. */
export const Time = ({ at }) =>
  html`<time datetime=${at} title=${`${format.time(at, "UTC")} UTC`}>${format.time(at)}</time>`;

/** A table with a caption; it scrolls by itself where it is too wide. */
export const Table = ({ caption, head, children }) => html`
  <div class="scroll" tabindex="0" role="region" aria-label=${caption}>
    <table>
      <caption>${caption}</caption>
      <thead><tr>${head.map(([text, kind]) => html`<th scope="col" class=${kind}>${text}</th>`)}</tr></thead>
      <tbody>${children}</tbody>
    </table>
  </div>`;

/** The button that saves the rows of a table as CSV. */
export const Save = ({ name, columns, items }) => html`
  <p class="bar">
    <button type="button" onClick=${() => download(`${name}.csv`, writeCsv(columns, items))}>
      Download what is shown as CSV
    </button>
  </p>`;

/** What went wrong, in the API's words, and what to do. */
export const Failure = ({ problem, retry }) => html`
  <div class="mark" role="alert">
    <p><strong>${problem.title || "Something went wrong"}.</strong> ${problem.message}</p>
    ${problem.requestId && html`<p>Request <code>${problem.requestId}</code></p>`}
    ${retry && html`<button type="button" onClick=${retry}>Try again</button>`}
  </div>`;

/** What to show while there is no content yet: the problem, or that it loads. */
export const Pending = ({ problem, retry }) =>
  problem ? html`<${Failure} problem=${problem} retry=${retry} />` : html`<p role="status">Loading…</p>`;

/** A dialog that asks once: a form of its own children. It closes when onSend has returned true. */
export function Dialog({ title, action, busy, problem, onSend, onClose, children }) {
  const place = useRef();
  useEffect(() => place.current.showModal(), []);
  const sending = useRef(false); // At once, while `busy` shows a moment later.
  const send = async (event) => {
    event.preventDefault();
    if (sending.current) return;
    sending.current = true;
    if (await onSend(new FormData(event.target))) place.current?.close();
    sending.current = false;
  };
  return html`
    <dialog ref=${place} aria-labelledby="dialog" onClose=${onClose}>
      <form method="dialog" onSubmit=${send}>
        <h2 id="dialog">${title}</h2>
        ${children}
        ${problem && html`<${Failure} problem=${problem} />`}
        <div class="bar">
          <button class="first" disabled=${busy}>${action}</button>
          <button type="button" onClick=${() => place.current.close()}>Cancel</button>
        </div>
      </form>
    </dialog>`;
}

/** Returns what a dialog needs to send its form once: busy, problem, and onSend, which returns whether it was done. */
export function useSending(send, onDone) {
  const [state, setState] = useState({});
  const onSend = async (form) => {
    setState({ busy: true });
    try {
      onDone(await send(form));
      return true;
    } catch (problem) {
      setState({ problem });
      return false;
    }
  };
  return { ...state, onSend };
}

/** Returns the state of a promise that `load` makes, whenever `key` changes: value, problem, and again(). */
export function useLoaded(load, key) {
  const [state, setState] = useState({});
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let current = true;
    load().then(
      (value) => current && setState({ key, value }),
      (problem) => current && setState({ key, problem }),
    );
    return () => { current = false; };
  }, [key, turn]);
  const { value, problem } = state.key === key ? state : {};
  return { value, problem, again: useCallback(() => setTurn((before) => before + 1), []) };
}

/**
 * Returns the items of a list of the API, page by page: items, problem, busy, more() if another page follows, and
 * whether the whole list is empty.
 */
export function usePages(path, parameters) {
  const [state, setState] = useState({});
  const key = withQuery(path, parameters);
  const current = useRef(key);
  current.current = key;
  const load = async (items, next) => {
    setState({ key, items, busy: true });
    try {
      const page = await get(withQuery(path, { ...parameters, next }));
      const more = page.next && (() => load([...items, ...page.items], page.next));
      if (current.current === key) setState({ key, items: [...items, ...page.items], more, busy: false });
    } catch (problem) {
      if (current.current === key) setState({ key, items, problem, more: () => load(items, next), busy: false });
    }
  };
  useEffect(() => { load([]); }, [key]);
  const { items, problem, busy, more } = state.key === key ? state : { items: [], busy: true };
  return { items, problem, busy, more, empty: !items.length && !busy && !more };
}

/** What follows a paged table: a problem, or the button for the next page. */
export const More = ({ list }) => html`
  ${list.problem && html`<${Failure} problem=${list.problem} retry=${list.more} />`}
  ${list.busy && html`<p role="status">Loading…</p>`}
  ${list.more && !list.problem && html`<p><button type="button" onClick=${list.more}>Show more</button></p>`}`;
