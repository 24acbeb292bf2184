/** Lines of a bank's file whose agency a person knows: their assignment, and what a registration learns of payers. */
import { html } from "../vendor/htm-preact.js";
import { registrationOf } from "../lib/agencies.js";
import { agencyPath, put } from "../lib/api.js";
import { AgencyField, withAgency } from "../lib/filters.js";
import * as format from "../lib/format.js";
import { AgencyName } from "../lib/links.js";
import { Dialog, Name, useSending } from "../lib/parts.js";
import { withPayer } from "./payer-content.js";

/** Returns the payments of a line: those that a person has made of it, or those that are proposed. */
export const paymentsOf = ({ assigned, events }) => assigned ?? events;

/** The dialog that makes a line a payment of an agency; `onAssigned` gets its payments. */
export function Assign({ line, onAssigned, onClose }) {
  const sending = useSending(async (form) => {
    const { agency } = await withAgency({ agency: form.get("agency") });
    const statement = form.get("statement").trim();
    return [{ ...line.rest, subject: agency, data: { ...line.rest.data, ...(statement && { statement }) } }];
  }, onAssigned);
  const { amount, currency } = line.rest.data;
  return html`
    <${Dialog} title=${`Assign ${format.money(amount, currency)} ${currency}`} action="Assign"
      ...${{ onClose, ...sending }}>
      ${(line.name || line.iban) && html`<p>From <${Name}>${line.name || line.iban}<//>.</p>`}
      <p>Nothing is recorded yet.</p>
      <${AgencyField} value=${paymentsOf(line)[0]?.subject} required />
      <label>Statement; empty: the oldest is paid first
        <input name="statement" list="candidates" maxlength="200" autocomplete="off" />
      </label>
      <datalist id="candidates">${line.candidates.map((one) => html`<option key=${one} value=${one} />`)}</datalist>
    <//>`;
}

/** Returns those lines from which registrations can learn who paid: a person has checked them. */
export const learnable = (lines) =>
  lines.filter((one) => (!one.certain || one.assigned) && !one.amount.startsWith("-") && (one.name || one.iban));

/** The question whether the payers of lines are kept. */
export const Learn = ({ lines }) => html`
  <label class="check">
    <input type="checkbox" name="learn" checked /> Keep these payers: what they pay next is proposed for their agency.
  </label>
  <ul class="plain">
    ${lines.map((one) => html`
      <li key=${one.line}><${Name}>${[one.name, one.iban].filter(Boolean).join(", ")}<//> pays for
        ${" "}<${AgencyName} agency=${paymentsOf(one)[0].subject} /></li>`)}
  </ul>`;

/** Registers the other party of a line as a payer of its agency, if that is registered and does not know it yet. */
export async function learn(line) {
  const [{ subject }] = paymentsOf(line);
  const registration = await registrationOf(subject);
  const content = registration && withPayer(registration.content, line);
  if (!registration || content === registration.content) return;
  await put(agencyPath(subject), { seen: registration.version, content });
}
