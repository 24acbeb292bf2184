/** The dialogs that change a statement: its status, the dispute of one of its lines, or its cancellation. */
import { html } from "../vendor/htm-preact.js";
import { draftPath, get, post, put, segment, statementPath } from "../lib/api.js";
import * as format from "../lib/format.js";
import { Conflict, Dialog, Name, Status, useConflict, useSending } from "../lib/parts.js";
import { History } from "./history.js";

/** The changes of the status: the words of the button and of the dialog. */
export const CHANGES = {
  accepted: {
    button: "Accept",
    title: "Accept the statement",
    action: "Accept",
    note: "The statement is then accepted for good. A later correction is on a later statement.",
  },
  disputed: {
    button: "Dispute the statement",
    title: "Dispute the statement",
    action: "Dispute",
    note: "The marketplace then looks at the whole statement, and sets it to resolved.",
  },
  resolved: {
    button: "Resolve the dispute",
    title: "Resolve the dispute",
    action: "Resolve",
    note: "The statement is then resolved for good. The agency sees the reason.",
  },
};

/** The dialog of a change: of the `status`, to `cancel`, or the dispute of a `line`, which can be `resolved`. */
export function Change({ asking: { status, cancel, line, resolved }, ...dialog }) {
  if (status) return html`<${ChangeStatus} status=${status} ...${dialog} />`;
  if (cancel) return html`<${Cancel} ...${cancel} ...${dialog} />`;
  return line ? html`<${Dispute} line=${line} ...${dialog} />` : html`<${Resolve} line=${resolved} ...${dialog} />`;
}

/** Asks for a reason and sends a request once. `status`: what the statement, or its line, is to become. */
function Request({ title, action, note, status, send, onDone, onClose, statement }) {
  const reasonOf = (form) => form.get("reason").trim();
  const read = async (form) => ({ reason: reasonOf(form), now: await get(statementPath(statement)) });
  const [sending, conflict] = useConflict((form) => send(reasonOf(form)), read, onDone);
  const isStale = conflict && conflict.now.changes > statement.changes;
  const onTheirs = () => {
    onDone();
    onClose();
  };
  return html`
    <${Dialog} ...${{ title, action, onClose, isStale }} ...${sending}>
      <p>${note}</p>
      <label>Reason <input name="reason" required maxlength="200" autocomplete="off" autofocus /></label>
      ${isStale && html`
        <${Conflict} rows=${rowsOf(conflict, status)} label="Keep theirs and close" onTheirs=${onTheirs}>
          You saw <${Status} value=${statement.status} />. Since then:
          <${History} changes=${conflict.now.history} from=${statement.changes} />
        <//>`}
    <//>`;
}

const rowsOf = ({ now, reason }, status) => [
  ["Status", format.words(now.status), format.words(status)],
  ["Reason", now.history.at(-1)?.reason || "", reason],
];

/** Asks why, and cancels the statement by a decision about its draft. `agree`: whether somebody else proposed it. */
function Cancel({ statement, agree, onDone, onClose }) {
  const send = async (form) => {
    const { seen } = await get(draftPath(statement));
    return put(draftPath(statement), { decision: "cancel", seen, reason: form.get("reason").trim() });
  };
  const sending = useSending(send, onDone);
  const title = "Cancel the statement";
  return html`
    <${Dialog} ...${{ title, action: agree ? "Agree" : title, onClose }} ...${sending}>
      <p>
        The next release makes a document that reverses this statement whole. Its draft can then be released again.
      </p>
      <label>Reason <input name="reason" required maxlength="200" autocomplete="off" autofocus /></label>
    <//>`;
}

function ChangeStatus({ statement, status, ...more }) {
  const { title, action, note } = CHANGES[status];
  const send = (reason) => put(statementPath(statement, "status"), { status, reason, seen: statement.changes });
  return html`<${Request} ...${{ title, action, note, status, send, statement, ...more }} />`;
}

function Dispute({ statement, line, ...more }) {
  const { source, id } = line;
  const note = html`The line <${Name}>${source} ${id}<//> and with it the statement are then disputed.`;
  const send = (reason) => post(statementPath(statement, "disputes"), { source, id, reason });
  const title = "Dispute a line";
  return html`<${Request} action="Dispute" status="disputed" ...${{ title, note, send, statement, ...more }} />`;
}

function Resolve({ statement, line, ...more }) {
  const { source, id } = line;
  const note = html`
    The dispute of the line <${Name}>${source} ${id}<//> is then resolved for good. The agency sees the reason. With the
    last disputed line the statement is resolved, too, unless it was disputed as a whole.`;
  const path = statementPath(statement, `disputes/${segment(source)}/${segment(id)}`);
  const send = (reason) => put(path, { reason });
  const title = "Resolve the dispute of a line";
  return html`<${Request} action="Resolve" status="resolved" ...${{ title, note, send, statement, ...more }} />`;
}
