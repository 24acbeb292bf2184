/** The form of a payment or an adjustment: it is filled in, shown in words, then recorded once. */
import { html, useState } from "../vendor/htm-preact.js";
import { accountPath, eventPath, get, getOr, record } from "../lib/api.js";
import { CURRENCY, wordsIn } from "../lib/fields.js";
import * as format from "../lib/format.js";
import { AgencyName, eventAddress } from "../lib/links.js";
import { BY_HAND, reader } from "../lib/me.js";
import { Dialog, Hideable, Link, Name, useConflict, useSending } from "../lib/parts.js";
import { Problem } from "../lib/problem.js";
import { recentOf } from "../lib/receivables.js";
import { address } from "../lib/routes.js";
import { KINDS } from "./kinds.js";
import { Review } from "./review.js";

const KEPT = "recording ";
const LONGEST_KEPT = 3_600_000;
const NONE = [];

/**
 * Returns the id of the next event about a subject: the one that was sent, if nobody knows yet whether it is recorded.
 * The tab keeps that one for an hour, so that a form that is sent again after a reload is the same event.
 */
function idFor(subject) {
  const { id, at } = JSON.parse(window.sessionStorage.getItem(KEPT + subject) || "{}");
  return at > Date.now() - LONGEST_KEPT ? id : crypto.randomUUID();
}

const keepId = (subject, id) =>
  window.sessionStorage.setItem(KEPT + subject, JSON.stringify({ id, at: Date.now() }));

const forgetId = (subject) => window.sessionStorage.removeItem(KEPT + subject);

/** Returns the values in a form: reason, reference and time, and the data of the event by its kind. */
function valuesOf(form, kind, sale) {
  const { reason, reference, time, ...rest } =
    Object.fromEntries([...form].map(([name, value]) => [name, value.trim()]));
  return { reason, reference, time: time && format.instant(time), data: KINDS[kind].data(rest, sale) };
}

/**
 * Returns what records the event of a form, as `useConflict` does, and the event's id. An event that was sent keeps its
 * id until it is known to be recorded: sent again, it is the same. `before(id)` is awaited first, and stops it by a
 * problem.
 */
function useRecord({ kind, agency, currency, sale, before }, onDone) {
  const subject = JSON.stringify([reader().name, kind, agency, sale?.source, sale?.id]);
  const [id] = useState(() => idFor(subject));
  const send = async (form) => {
    const { reason, reference, time, data } = valuesOf(form, kind, sale);
    await before(id);
    keepId(subject, id);
    const outcome = await record({
      specversion: "1.0", source: BY_HAND, id, type: KINDS[kind].type, subject: agency, ...(time && { time }),
      data: { currency, reason, ...(reference && { extra: { reference } }), ...data },
    }).catch((problem) => {
      // An operator has discarded the event of this id.
      if (problem.status === 422 && problem.errors.some((one) => one.field === "id")) forgetId(subject);
      throw problem;
    });
    forgetId(subject);
    return outcome;
  };
  const read = async () => {
    const recorded = await getOr(eventPath({ source: BY_HAND, id }), null);
    if (recorded) forgetId(subject);
    return { recorded };
  };
  return [...useConflict(send, read, onDone), id];
}

/** The dialog: a form, then what it would record in words, then the recording. `open`: the open statements. */
export function RecordingForm({ kind, agency, currencies, sale, open = NONE, onDone, onClose, ...more }) {
  const { title, fields } = KINDS[kind];
  const [currency, setCurrency] = useState(more.currency || "");
  const [review, setReview] = useState(null);
  const readNow = async (isNew) => {
    const [{ balance }, recent] = await Promise.all([
      isNew ? { balance: "0" } : get(accountPath(agency, currency, "balance")),
      recentOf({ agency, currency }, KINDS[kind].type),
    ]);
    return { balance, recent };
  };
  const check = async (form) => {
    const isNew = !currencies.includes(currency);
    setReview({ ...valuesOf(form, kind, sale), kind, agency, currency, isNew, since: NONE, ...await readNow(isNew) });
  };
  const checking = useSending(check, () => {});
  // Somebody else may have recorded the same since the review.
  const before = async (id) => {
    const now = await readNow(review.isNew);
    const known = new Set(review.recent.map(eventPath));
    const since = now.recent.filter((one) => !known.has(eventPath(one)) && !(one.source === BY_HAND && one.id === id));
    if (!since.length) return;
    setReview({ ...review, ...now, since });
    throw new Problem(0, "Changed", "Something was recorded since your review. Nothing is recorded yet: look again.");
  };
  const [recording, conflict, id] = useRecord({ kind, agency, currency, sale, before }, onDone);
  const sending = review ? recording : { ...checking, onSend: (form) => checking.onSend(form).then(() => false) };
  const statements = open.filter((one) => one.currency === currency);
  const places = /^[A-Z]{3}$/.test(currency) ? format.digitsOf(currency) : 2;
  return html`
    <${Dialog} ...${{ onClose, ...sending }} title=${sale ? "Adjust the commission" : title}
      action=${review ? "Record" : "Review"}>
      <${Hideable} hidden=${Boolean(review)}>
        <p>For <${AgencyName} agency=${agency} />. The next step shows what will be recorded.</p>
        <${CurrencyField} ...${{ agency, currencies, currency, setCurrency }} fixed=${Boolean(sale)} />
        <${fields} ...${{ places, sale, statements, words: wordsIn(currency) }} />
        <label>Date and time (${format.zoneName()}); empty: now
          <input name="time" type="datetime-local" />
        </label>
        <label>Reference (optional) <input name="reference" maxlength="200" autocomplete="off" /></label>
        <label>Reason <input name="reason" required maxlength="200" autocomplete="off" /></label>
      <//>
      ${review && html`
        <${Review} ...${review} ...${{ statements, busy: recording.busy }} onChange=${() => setReview(null)} />`}
      ${conflict && html`<${AlreadySent} recorded=${conflict.recorded} id=${id} />`}
    <//>`;
}

/** That the form was sent before its last changes: its event is recorded, or held. */
const AlreadySent = ({ recorded, id }) => (recorded
  ? html`
    <p>This form was already recorded, before your changes:
      ${" "}<${Link} to=${eventAddress({ source: BY_HAND, id })}>show the recorded event<//>. To record another
      event, close this dialog and open it again.</p>`
  : html`
    <p>This form was already sent, before your changes, and is held.
      ${" "}<${Link} to=${address(["operations"])}>Show held events<//>. Discard it before you record another.</p>`);

/** The currency: one of the agency's accounts, or by an explicit choice another one, which opens an account. */
function CurrencyField({ agency, currencies, currency, setCurrency, fixed }) {
  const [other, setOther] = useState(!currencies.includes(currency));
  const choose = ({ target: { value } }) => {
    setOther(!value);
    setCurrency(value);
  };
  return html`
    <label>Currency
      <select name="currency" onChange=${choose} value=${other ? "" : currency} disabled=${fixed}>
        ${currencies.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}
        ${!fixed && html`<option key="" value="">another currency</option>`}
      </select>
    </label>
    ${other && html`
      <label>Code of the other currency
        <input name="other_currency" required ...${CURRENCY} autocomplete="off" value=${currency}
          onInput=${(event) => setCurrency(event.target.value)} />
      </label>
      <p class="note">Agency <${Name}>${agency}<//> has no account in it. This opens one, which the agency sees.</p>`}`;
}
