/** Drafts: what has no statement yet, what keeps it from one, and what finance decides about it. */
import { html, useState } from "../vendor/htm-preact.js";
import { draftPath, get, put } from "../api.js";
import { may, reader } from "../me.js";
import { Dialog, Link, Money, More, Name, Status, Table, Time, usePages, useSending } from "../parts.js";
import { address } from "../routes.js";

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
const AGREE = "Agree";

/** Returns whether a first person has proposed the release of a draft or the cancellation of its statement. */
export const isProposed = ({ state }) => ["proposed", "cancel_proposed"].includes(state);

/** Returns whether the reader can agree to a proposal: nobody agrees with themselves. */
export const mayAgree = ({ last_decision: last }) => last.by !== reader().name;

/** Who has proposed something, when and why, and who can agree. */
export const Proposal = ({ draft, what }) => {
  const { by, at, reason } = draft.last_decision;
  return html`
    <${Name}>${by}<//> proposed ${what} <${Time} at=${at} />${reason && html`: <${Name}>${reason}<//>`}.
    ${" "}${mayAgree(draft) ? "A second person must agree." : "Somebody else must agree."}`;
};

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
    ? [...(failed || (isProposed(draft) && !mayAgree(draft)) ? [] : ["release"]), ...(state === "held" ? [] : ["hold"])]
    : [];
  const agrees = (decision) => decision === "release" && isProposed(draft);
  const label = (decision) => (agrees(decision) ? AGREE : DECISIONS[decision].action);
  return html`
    <tr>
      <th scope="row" class="long">
        <${Link} to=${address(["statements", period, agency, currency])}><${Name}>${agency}<//><//>
      </th>
      <td class="short">${period}</td>
      <td>${currency}</td>
      <${Money} value=${draft.net} currency=${currency} />
      <${Money} value=${draft.commission_exact} currency=${currency} />
      <td class="long">
        <${Status} value=${state} />
        ${isProposed(draft) && html`<div><${Proposal} draft=${draft} what="its release" /></div>`}
      </td>
      <td class="long">
        <ul class="plain">
          ${checks.map((one) => html`
            <li key=${one.check}><${Status} value=${one.level} /> <${Name}>${one.message}<//></li>`)}
        </ul>
      </td>
      <td>
        ${offered.map((decision) => html`
          <button key=${decision} type="button" aria-label=${`${label(decision)} ${agency} ${period}`}
            onClick=${() => ask({ name: draft, decision, seen: draft.seen, agree: agrees(decision) })}>
            ${label(decision)}
          </button>`)}
      </td>
    </tr>`;
}

/**
 * Asks for a reason, and sends a decision about a draft. `seen`: the number of decisions that the reader has seen.
 * `agree`: whether somebody else has proposed it.
 */
export function Decide({ name, decision, seen, agree, onDone, onClose }) {
  const { title, note, ...alone } = DECISIONS[decision];
  const action = agree ? AGREE : alone.action;
  const send = async (form) => {
    const reason = form.get("reason").trim();
    const before = seen ?? (await get(draftPath(name))).seen;
    return put(draftPath(name), { decision, seen: before, ...(reason ? { reason } : {}) });
  };
  const sending = useSending(send, onDone);
  return html`
    <${Dialog} ...${{ title, action, onClose }} ...${sending}>
      <p>${note} <${Name}>${name.agency}<//> ${name.currency} ${name.period}.</p>
      <label>Reason
        <input name="reason" required=${decision !== "release"} maxlength="200" autocomplete="off" autofocus />
      </label>
    <//>`;
}
