/** The messages about an agency, a statement, an event or a run, and the form that writes one. */
import { html, useRef, useState } from "../vendor/htm-preact.js";
import { post, segment } from "./api.js";
import { List } from "./list.js";
import { may, reader } from "./me.js";
import { Failure, Person, Time, useSending } from "./parts.js";

const WRITERS = ["agency", "support", "finance"];
const MOST_CHARACTERS = 4000;
const COLUMNS = [
  { key: "at", title: "Written", type: "time" }, { key: "user", title: "By", type: "person" },
  { key: "role", title: "Role" }, { key: "text", title: "Message" },
];

const keyOf = ({ user, id }) => `${user}#${id}`;

/** The messages about a subject; the kinds and the names of subjects are those of the API's threads. */
export function Messages({ kind, subject }) {
  const path = `/threads/${kind}/${segment(subject)}/messages`;
  const [order, setOrder] = useState("newest");
  const [sent, setSent] = useState([]);
  // The list can lack a new message for a moment. It is the newest one.
  const withSent = (rows) => {
    const added = sent.filter((one) => !rows.some((other) => keyOf(other) === keyOf(one)));
    return order === "newest" ? [...added.toReversed(), ...rows] : [...rows, ...added];
  };
  const draw = (rows) => html`
    <ul class="plain" aria-label="Messages">
      ${withSent(rows).map((one) => html`<${Message} key=${keyOf(one)} message=${one} />`)}
    </ul>`;
  const other = order === "newest" ? "oldest" : "newest";
  return html`
    <section class="messages">
      <h2>Messages</h2>
      ${may(...WRITERS)
        ? html`<${Form} path=${path} onSent=${(one) => setSent((before) => [...before, one])} />`
        : html`<p class="note">People of the agency, finance and support write messages.</p>`}
      <${List} name="messages" caption="Messages" size="25" columns=${COLUMNS} path=${path} parameters=${{ order }}
        draw=${draw} empty=${sent.length ? draw([]) : html`<p class="note">Nobody has written a message yet.</p>`}>
        <button type="button" onClick=${() => setOrder(other)}>Show the ${other} first</button>
      <//>
    </section>`;
}

const Message = ({ message: { user, role, at, text } }) => html`
  <li>
    <span class="note">
      <${Person} by=${user} />${user === reader().name && " (you)"}${role && `, ${role}`}, <${Time} at=${at} />
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
