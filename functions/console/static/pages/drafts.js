/** Drafts: what has no statement yet, what keeps it from one, and what finance decides about it. */
import { html, useState } from "../vendor/htm-preact.js";
import { draftPath, get, put } from "../api.js";
import { may } from "../me.js";
import { Dialog, Link, Money, More, Name, Status, Table, usePages, useSending } from "../parts.js";
import { address } from "../routes.js";
import { AccountName, AgencyName } from "./agency-link.js";

const HEAD = [
  ["Agency"], ["Period"], ["Currency"], ["Net sales", "n"], ["Commission before rounding", "n"], ["State"], ["Checks"],
  [""],
];
const DECISIONS = {
  release: {
    title: "Release the draft",
    action: "Release",
    note: "The next release makes its statement, within 15 minutes, and the agency can see it then.",
  },
  hold: {
    title: "Hold the draft back",
    action: "Hold",
    note: "It gets no statement until somebody releases it.",
  },
  cancel: {
    title: "Cancel the statement",
    action: "Cancel the statement",
    note: "The next release makes a document that reverses this statement whole. Its draft can then be released again.",
  },
};
const UNDECIDED = ["new", "open", "held", "proposed"];

/** The drafts without a statement, of a period and an agency or of all; nothing if there are none. */
export function Drafts({ period, agency }) {
  const [turn, setTurn] = useState(0);
  return html`<${List} key=${`${period} ${agency} ${turn}`} ...${{ period, agency }}
    again=${() => setTurn((before) => before + 1)} />`;
}

function List({ period, agency, again }) {
  const list = usePages("/drafts", { period, agency });
  const [asking, setAsking] = useState(null);
  return html`
    ${list.items.length > 0 && html`
      <${Table} caption="Drafts without a statement" head=${HEAD}>
        ${list.items.map((one) => html`<${Row} key=${draftPath(one)} draft=${one} ask=${setAsking} />`)}
      <//>`}
    <${More} list=${list} />
    ${asking && html`<${Decide} ...${asking} onDone=${again} onClose=${() => setAsking(null)} />`}`;
}

function Row({ draft, ask }) {
  const { agency, currency, period, state, checks } = draft;
  const failed = checks.some((one) => one.level === "failed" && one.check !== "held");
  const offered = UNDECIDED.includes(state) && may("finance")
    ? [...(failed ? [] : ["release"]), ...(state === "held" ? [] : ["hold"])]
    : [];
  return html`
    <tr>
      <th scope="row" class="long">
        <${Link} to=${address(["statements", period, agency, currency])}><${AgencyName} agency=${agency} /><//>
      </th>
      <td class="short">${period}</td>
      <td>${currency}</td>
      <${Money} value=${draft.net} currency=${currency} />
      <${Money} value=${draft.commission_exact} currency=${currency} />
      <td><${Status} value=${state} /></td>
      <td class="long">
        <ul class="plain">
          ${checks.map((one) => html`
            <li key=${one.check}><${Status} value=${one.level} /> <${Name}>${one.message}<//></li>`)}
        </ul>
      </td>
      <td>
        ${offered.map((decision) => html`
          <button key=${decision} type="button" aria-label=${`${DECISIONS[decision].action} ${agency} ${period}`}
            onClick=${() => ask({ name: draft, decision, seen: draft.seen })}>${DECISIONS[decision].action}</button>`)}
      </td>
    </tr>`;
}

/** Asks for a reason, and sends a decision about a draft. `seen`: the number of decisions that the reader has seen. */
export function Decide({ name, decision, seen, onDone, onClose }) {
  const { title, action, note } = DECISIONS[decision];
  const send = async (form) => {
    const reason = form.get("reason").trim();
    const before = seen ?? (await get(draftPath(name))).seen;
    return put(draftPath(name), { decision, seen: before, ...(reason ? { reason } : {}) });
  };
  const sending = useSending(send, onDone);
  return html`
    <${Dialog} ...${{ title, action, onClose }} ...${sending}>
      <p>${note} <${AccountName} ...${name} />, ${name.period}.</p>
      <label>Reason
        <input name="reason" required=${decision !== "release"} maxlength="200" autocomplete="off" autofocus />
      </label>
    <//>`;
}
