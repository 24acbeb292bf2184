/** What finance records by hand: payments, and adjustments of commissions. Each is recorded once. */
import { html, useState } from "../vendor/htm-preact.js";
import { get, withQuery } from "../lib/api.js";
import { EventLink } from "../lib/links.js";
import { may } from "../lib/me.js";
import { Pending, useLoaded } from "../lib/parts.js";
import { openStatements } from "../lib/receivables.js";
import { RecordingForm } from "./form.js";

const TRIES = 10;
const PAUSE = 1000;
const WAITS = {
  unknown_sale: "the sale that it refers to",
  unregistered_agency: "the registration of its agency",
  closed_agency: "its agency, which is closed, to be active again",
  needs_approval: "another person of finance, who approves it on the page of operations",
};

/**
 * The buttons of what finance may record for an agency, and what became of the last event.
 *
 * `currencies`: those of the agency's accounts; `currency`: the one that the form begins with. `sale`: the sale that an
 * adjustment refers to; with it, there is no payment. `onRecorded` gets the outcome.
 */
export function Recording({ agency, currencies, currency, sale, onRecorded }) {
  const [kind, setKind] = useState(null);
  const [outcome, setOutcome] = useState(null);
  if (!may("finance")) return null;
  const onDone = (recorded) => {
    setOutcome(recorded);
    onRecorded(recorded);
  };
  const ask = (next) => {
    setOutcome(null);
    setKind(next);
  };
  return html`
    <p class="bar">
      ${!sale && html`<button type="button" onClick=${() => ask("payment")}>Record a payment</button>`}
      <button type="button" onClick=${() => ask("adjustment")}>
        ${sale ? "Adjust the commission" : "Record an adjustment"}
      </button>
    </p>
    ${outcome && html`<${Outcome} outcome=${outcome} />`}
    ${kind && html`
      <${kind === "payment" ? PaymentForm : RecordingForm} ...${{ kind, agency, currencies, currency, sale, onDone }}
        onClose=${() => setKind(null)} />`}`;
}

/** The dialog of a payment, once the open statements of the agency are read. */
function PaymentForm(asked) {
  const { value: open, problem, again } = useLoaded(() => openStatements(asked.agency), asked.agency);
  if (!open) return html`<${Pending} problem=${problem} retry=${again} />`;
  return html`<${RecordingForm} ...${asked} open=${open} />`;
}

/** Waits until the accounts of an agency differ from those before a new event: they follow within seconds. */
export async function followed(agency, before) {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const { items } = await get(withQuery("/accounts", { agency }));
    if (JSON.stringify(items) !== JSON.stringify(before)) return;
    await new Promise((resolve) => { setTimeout(resolve, PAUSE); });
  }
}

function Outcome({ outcome: { source, id, verdict, held } }) {
  if (held) {
    return html`
      <p class="mark" role="status">It is held, and not in any figure yet. It waits for ${WAITS[held.reason]}.</p>`;
  }
  const link = html`<${EventLink} source=${source} id=${id} />`;
  if (verdict === "duplicate") {
    return html`
      <p class="mark" role="status">It was already recorded: ${link}. Nothing was recorded again. If you meant another
        event, record it once more.</p>`;
  }
  return html`<p class="proven" role="status">It is recorded: ${link}. The figures follow within seconds.</p>`;
}
