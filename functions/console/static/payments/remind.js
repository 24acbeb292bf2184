/** The dialog that reminds agencies of their overdue statements: a message to each, whose text can be changed. */
import { html, useMemo, useRef, useState } from "../vendor/htm-preact.js";
import { useNames } from "../lib/agencies.js";
import { inTurns, post, segment } from "../lib/api.js";
import * as format from "../lib/format.js";
import { AgencyName } from "../lib/links.js";
import { reader } from "../lib/me.js";
import { REMINDER, reminderFor } from "../lib/open-items.js";
import { Dialog, useSending } from "../lib/parts.js";

const MOST_CHARACTERS = 4000;
/** The role of staff who write messages to agencies. */
export const REMINDERS = ["finance", "support"];

/**
 * The dialog. `agencies`: each with its overdue statements (`late`). Of one agency, the text is the whole message; of
 * several, {agency} and {statements} stand for those of each. A text that is sent again has the same id, so nobody gets
 * it twice. `onSent`: called with the ids of those that have it.
 */
export function Remind({ agencies, onSent, onClose }) {
  const names = useNames();
  const groups = useMemo(() => agencies.map((one) => ({ ...one, name: names.get(one.agency) })), [agencies, names]);
  const [only] = groups.length === 1 ? groups : [];
  const [typed, setText] = useState();
  const [reached, setReached] = useState([]);
  const left = groups.filter(({ agency }) => !reached.includes(agency));
  const ids = useRef(new Map());
  const text = typed ?? (only ? reminderFor(REMINDER, only) : REMINDER);
  const idOf = (agency, message) => {
    const key = JSON.stringify([agency, message]);
    if (!ids.current.has(key)) ids.current.set(key, crypto.randomUUID());
    return ids.current.get(key);
  };
  const send = async () => {
    const sent = [];
    const refused = [];
    await inTurns(left, async (one) => {
      const message = reminderFor(text, one).trim();
      const body = { id: idOf(one.agency, message), text: message, ...(reader().machine && { user: reader().name }) };
      try {
        await post(`/threads/agencies/${segment(one.agency)}/messages`, body);
        sent.push(one.agency);
      } catch (problem) {
        refused.push(problem);
      }
    });
    if (sent.length) onSent(sent);
    if (!refused.length) return;
    setReached([...reached, ...sent]);
    throw refused[0];
  };
  const sending = useSending(send, () => {});
  return html`
    <${Dialog} ...${{ onClose, ...sending }} wide
      title=${only ? "Remind the agency" : `Remind ${format.count(groups.length)} agencies`}
      action=${left.length === 1 ? "Send the message" : `Send ${format.count(left.length)} messages`}>
      <p>${left.map((one, index) => html`${index > 0 && ", "}<${AgencyName} key=${one.agency} agency=${one.agency} />`)}
        ${" "}${left.length === 1 ? "gets a message" : "get a message each"}, which staff see, too.</p>
      <label>Text
        <textarea name="text" required maxlength=${MOST_CHARACTERS} rows="10" dir="auto" autofocus
          readonly=${sending.busy} value=${text} onInput=${({ target }) => setText(target.value)}></textarea>
      </label>
      ${!only && html`
        <p class="note">{agency} and {statements} stand for the name and the overdue statements of each. The first:</p>
        <p class="text card" dir="auto">${reminderFor(text, left[0])}</p>`}
    <//>`;
}
