/** The messages about an agency, a statement, an event or a run, and the form that writes one. */
import { html, useRef, useState } from "../vendor/htm-preact.js";
import { post, segment } from "../api.js";
import { may, reader } from "../me.js";
import { Failure, More, Name, Time, usePages, useSending } from "../parts.js";

const WRITERS = ["agency", "support"];
const MOST_CHARACTERS = 4000;
const SHOWN = 20;

const keyOf = ({ user, id }) => `${user}#${id}`;

/** The messages about a subject; the kinds and the names of subjects are those of the API's threads. */
export function Messages({ kind, subject }) {
  const path = `/threads/${kind}/${segment(subject)}/messages`;
  const [order, setOrder] = useState("newest");
  const [sent, setSent] = useState([]);
  const list = usePages(path, { order, limit: SHOWN });
  // The list can lack a new message for a moment. It is the newest one.
  const added = sent.filter((one) => !list.items.some((other) => keyOf(other) === keyOf(one)));
  const items = order === "newest" ? [...added.toReversed(), ...list.items] : [...list.items, ...added];
  const other = order === "newest" ? "oldest" : "newest";
  return html`
    <section class="messages">
      <h2>Messages</h2>
      ${may(...WRITERS)
        ? html`<${Form} path=${path} onSent=${(one) => setSent((before) => [...before, one])} />`
        : html`<p class="note">People of the agency and support write messages.</p>`}
      ${items.length > 1 && html`
        <p class="bar"><button type="button" onClick=${() => setOrder(other)}>Show the ${other} first</button></p>`}
      ${items.length > 0 && html`
        <ul class="plain" aria-label="Messages">
          ${items.map((one) => html`<${Message} key=${keyOf(one)} message=${one} />`)}
        </ul>`}
      ${!items.length && list.empty && html`<p class="note">Nobody has written a message yet.</p>`}
      <${More} list=${list} />
    </section>`;
}

const Message = ({ message: { user, role, at, text } }) => html`
  <li>
    <span class="note">
      <${Name}>${user}<//>${user === reader().name && " (you)"}${role && `, ${role}`}, <${Time} at=${at} />
    </span>
    <p class="text" dir="auto">${text}</p>
  </li>`;

/** Writes a message. The same text sent again has the same id, so a lost response writes nothing twice. */
function Form({ path, onSent }) {
  const last = useRef({});
  const write = (form) => {
    const text = form.get("text").replaceAll("\r\n", "\n").trim();
    if (last.current.text !== text) last.current = { text, id: crypto.randomUUID() };
    return post(path, { ...last.current, ...(reader().machine && { user: reader().name }) });
  };
  const done = (message) => { last.current = {}; onSent(message); };
  const { busy, problem, onSend } = useSending(write, done);
  const send = async (event) => {
    event.preventDefault();
    if (await onSend(new FormData(event.target))) event.target.reset();
  };
  return html`
    <form onSubmit=${send}>
      <label>Message
        <textarea name="text" required maxlength=${MOST_CHARACTERS} dir="auto" readonly=${busy}></textarea>
      </label>
      ${problem && html`<${Failure} problem=${problem} />`}
      <p class="bar"><button disabled=${busy}>${busy ? "Sending…" : "Send the message"}</button></p>
    </form>`;
}
