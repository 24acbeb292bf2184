/** What finance records by hand: payments, and adjustments of commissions. Each is recorded once. */
import { html, useEffect, useLayoutEffect, useRef, useState } from "../vendor/htm-preact.js";
import { useLegalName } from "../lib/agencies.js";
import { accountPath, eventPath, get, getOr, record, withQuery } from "../lib/api.js";
import { difference, negative, sum } from "../lib/decimal.js";
import { CURRENCY, NumberField, numberOf, wordsIn } from "../lib/fields.js";
import * as format from "../lib/format.js";
import { AgencyName } from "../lib/links.js";
import { may, reader } from "../lib/me.js";
import { agencyText, isolated } from "../lib/names.js";
import { spelledMoney } from "../lib/numbers.js";
import { Dialog, Link, Name, Pending, useConflict, useLoaded, useSending } from "../lib/parts.js";
import { openStatements } from "../lib/receivables.js";
import { address } from "../lib/routes.js";
import { EventLink, eventAddress } from "./events.js";

const SOURCE = "finance";
const EXACT = 10;
const KEPT = "recording ";
const LONGEST_KEPT = 3_600_000;
const USUAL_AGE_DAYS = 90;
const DAY = 86_400_000;
const NONE = [];
const TRIES = 10;
const PAUSE = 1000;
const WAITS = {
  unknown_sale: "the sale that it refers to",
  unregistered_agency: "the registration of its agency",
  closed_agency: "its agency, which is closed, to be active again",
  needs_approval: "another person of finance, who approves it on the page of operations",
};
const KINDS = {
  payment: {
    title: "Record a payment", type: "payment.recorded", fields: PaymentFields, data: paymentData, says: paymentSays,
    change: ({ amount }) => negative(amount), typed: ({ amount }) => [["Amount in words", amount.replace("-", "")]],
  },
  adjustment: {
    title: "Record an adjustment", type: "adjustment.recorded", fields: AdjustmentFields, data: adjustmentData,
    says: adjustmentSays, change: ({ commission }) => commission,
    typed: ({ commission, amount }) => [["Commission in words", commission], ["Net sales in words", amount]],
  },
};

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
      <${kind === "payment" ? AskPayment : Ask} ...${{ kind, agency, currencies, currency, sale, onDone }}
        onClose=${() => setKind(null)} />`}`;
}

/** The dialog of a payment, once the open statements of the agency are read. */
function AskPayment(asked) {
  const { value: open, problem, again } = useLoaded(() => openStatements(asked.agency), asked.agency);
  return open ? html`<${Ask} ...${asked} open=${open} />` : html`<${Pending} problem=${problem} retry=${again} />`;
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

/**
 * The dialog: a form, then what it would record in words, then the recording. An event that was sent keeps its id until
 * it is known to be recorded: sent again, it is the same. `open`: the open statements of the agency.
 */
function Ask({ kind, agency, currencies, sale, open = NONE, onDone, onClose, ...more }) {
  const { title, type, fields, data } = KINDS[kind];
  const subject = JSON.stringify([reader().name, kind, agency, sale?.source, sale?.id]);
  const [id] = useState(() => idFor(subject));
  const [currency, setCurrency] = useState(more.currency || "");
  const [review, setReview] = useState(null);
  const valuesOf = (form) => {
    const { reason, reference, time, ...rest } =
      Object.fromEntries([...form].map(([name, value]) => [name, value.trim()]));
    return { reason, reference, time: time && format.instant(time), data: data(rest, sale) };
  };
  const check = async (form) => {
    const values = valuesOf(form);
    const isNew = !currencies.includes(currency);
    const { balance } = isNew ? { balance: "0" } : await get(accountPath(agency, currency, "balance"));
    setReview({ ...values, kind, agency, currency, isNew, balance });
  };
  const send = async (form) => {
    const { reason, reference, time, data: figures } = valuesOf(form);
    keepId(subject, id);
    const outcome = await record({
      specversion: "1.0", source: SOURCE, id, type, subject: agency, ...(time && { time }),
      data: { currency, reason, ...(reference && { extra: { reference } }), ...figures },
    }).catch((problem) => {
      // An operator has discarded the event of this id.
      if (problem.status === 422 && problem.errors.some((one) => one.field === "id")) forgetId(subject);
      throw problem;
    });
    forgetId(subject);
    return outcome;
  };
  const read = async () => {
    const recorded = await getOr(eventPath({ source: SOURCE, id }), null);
    if (recorded) forgetId(subject);
    return { recorded };
  };
  const checking = useSending(check, () => {});
  const [recording, conflict] = useConflict(send, read, onDone);
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
      ${conflict?.recorded && html`
        <p>This form was already recorded, before your changes:
          ${" "}<${Link} to=${eventAddress({ source: SOURCE, id })}>show the recorded event<//>. To record another
          event, close this dialog and open it again.</p>`}
      ${conflict && !conflict.recorded && html`
        <p>This form was already sent, before your changes, and is held.
          ${" "}<${Link} to=${address(["operations"])}>Show held events<//>. Discard it before you record
          another.</p>`}
    <//>`;
}

/** Part of a form that can be hidden; shown again, its first field has the focus. */
function Hideable({ hidden, children }) {
  const place = useRef();
  const was = useRef(hidden);
  useLayoutEffect(() => {
    if (was.current && !hidden) place.current.querySelector("input, select").focus();
    was.current = hidden;
  }, [hidden]);
  return html`<div ref=${place} hidden=${hidden}>${children}</div>`;
}

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

const sumOf = (value, currency) => `${format.money(value, currency)} ${currency}`;

/** What would be recorded, in words, and what is unusual about it. The button `onChange` goes back to the form. */
function Review({
  kind, agency, currency, isNew, balance, data, time, reason, reference, statements, busy, onChange,
}) {
  const place = useRef();
  const legal = useLegalName(agency);
  useEffect(() => place.current.focus(), []);
  const { says, change, typed } = KINDS[kind];
  const after = sum([balance, change(data)]);
  const owed = (value) => `${sumOf(value, currency)}, ${format.owed(value)}`;
  const unusual = [
    ...(kind === "payment" ? beyondBalance(data, balance, after) : []),
    ...(time ? unusualTime(Date.parse(time), Date.now()) : []),
    ...(isNew ? [`The agency has no account in ${currency}. This opens one, which the agency sees.`] : []),
  ];
  const facts = [
    ...typed(data).map(([name, value]) => [name, spelledMoney(value, currency)]),
    ["Statement", kind === "payment" && statementAfter(data, statements)],
    ["Date", time ? `${format.time(time)} (${format.zoneName()})` : "now"], ["Balance now", owed(balance)],
    [kind === "payment" ? "Balance after" : "Balance after, before tax", owed(after)],
    ["Reference", reference], ["Reason", reason],
  ];
  return html`
    <section ref=${place} tabindex="-1" aria-label="What will be recorded">
      <p><strong>${says({ agency: agencyText(agency, legal), currency, ...data })}</strong></p>
      <dl class="facts">
        ${facts.filter(([, fact]) => fact).map(([name, fact]) => html`
          <div key=${name}><dt>${name}</dt><dd><${Name}>${fact}<//></dd></div>`)}
      </dl>
      <p class="note">The balance includes what is on no statement yet.</p>
      <p>The event is permanent, and staff see that you recorded it. To correct it, record the opposite.</p>
      ${unusual.length > 0 && html`
        <div class="mark">
          ${unusual.map((one) => html`<p key=${one}>${one}</p>`)}
          <label class="check"><input type="checkbox" required /> I have checked this, and it is right.</label>
        </div>`}
      <p><button type="button" disabled=${busy} onClick=${onChange}>Change it</button></p>
    </section>`;
}

/** Returns what a payment leaves open of its statement, in words; nothing if no statement is open. */
function statementAfter({ amount, statement }, statements) {
  const one = statements.find(({ number }) => number === statement);
  if (!one) return statements.length > 0 && "none: the oldest statements are paid first";
  const rest = difference(one.open, amount);
  if (!/[1-9]/.test(rest)) return `${statement}, which is paid then`;
  const left = sumOf(rest.replace("-", ""), one.currency);
  return rest.startsWith("-") === one.open.startsWith("-")
    ? `${statement}, of which ${left} stays open`
    : `${statement}, which is paid then; the other ${left} pays the oldest statements`;
}

/** Returns that a payment is more than its receiver is owed, if it is: then the balance changes its side. */
function beyondBalance({ amount }, balance, after) {
  const [byAgency, owes] = [!amount.startsWith("-"), Number(balance) > 0];
  if (byAgency && after.startsWith("-")) {
    return [owes ? "This is more than the agency owes." : "The agency owes nothing in this currency."];
  }
  if (!byAgency && Number(after) > 0) {
    return [Number(balance) < 0 ? "This is more than the agency is owed." : "Nothing is owed to the agency."];
  }
  return NONE;
}

function unusualTime(time, now) {
  if (time > now) return ["The date is in the future."];
  return time < now - USUAL_AGE_DAYS * DAY ? [`The date is more than ${USUAL_AGE_DAYS} days ago.`] : NONE;
}

/**
 * Who paid, for which statement, and how much: the oldest open statement and what is open of it, unless something else
 * is chosen. `statements`: the open ones in the currency, the oldest first.
 */
function PaymentFields({ places, statements, words }) {
  const [chosen, setChosen] = useState({});
  const isCredit = ({ open }) => open.startsWith("-");
  const payer = chosen.payer ?? (statements[0] && isCredit(statements[0]) ? "marketplace" : "agency");
  const fitting = statements.filter((one) => isCredit(one) === (payer === "marketplace"));
  const { statement } = chosen;
  const paid = statement === "" ? undefined : fitting.find(({ number }) => number === statement) ?? fitting[0];
  return html`
    <label>Who paid
      <select name="payer" autofocus value=${payer} onChange=${({ target }) => setChosen({ payer: target.value })}>
        <option value="agency">The agency paid</option><option value="marketplace">The agency was paid</option>
      </select>
    </label>
    ${fitting.length > 0 && html`
      <label>Statement
        <select name="statement" value=${paid?.number ?? ""}
          onChange=${({ target }) => setChosen({ payer, statement: target.value })}>
          ${fitting.map((one) => html`
            <option key=${one.number} value=${one.number}>
              ${one.number}, ${format.month(one.period)}: ${sumOf(one.open.replace("-", ""), one.currency)},
              ${" "}${format.words(one.status)}
            </option>`)}
          <option key="" value="">no statement: the oldest is paid first</option>
        </select>
      </label>`}
    <${NumberField} key=${paid?.number ?? ""} label="Amount" name="amount" ...${{ places, words }} nonzero
      required value=${paid?.open.replace("-", "")} />`;
}

function paymentData({ amount, payer, statement }) {
  const value = payer === "agency" ? numberOf(amount) : negative(numberOf(amount));
  return { amount: value, ...(statement && { statement }) };
}

function paymentSays({ agency, amount, currency, statement }) {
  const about = statement ? ` for statement ${isolated(statement)}` : "";
  return amount.startsWith("-")
    ? `The marketplace paid ${sumOf(negative(amount), currency)} to agency ${agency}${about}.`
    : `Agency ${agency} paid ${sumOf(amount, currency)} to the marketplace${about}.`;
}

function AdjustmentFields({ places, sale, words }) {
  const [named, setNamed] = useState({});
  const name = (field) => (event) => setNamed({ ...named, [field]: event.target.value });
  const text = (label, field, other) => html`
    <label>${label}
      <input name=${field} maxlength="200" autocomplete="off" onInput=${name(field)}
        required=${Boolean(named[other])} />
    </label>`;
  return html`
    <${NumberField} label="Commission; below 0, the agency owes less" name="commission" words=${words} signed autofocus
      required />
    <${NumberField} label="Net sales; 0 adjusts the commission alone" name="amount" ...${{ places, words }} signed
      required value="0" />
    ${sale
      ? html`<p>It refers to the sale <${Name}>${sale.source} ${sale.id}<//>, which stays as it is.</p>`
      : html`
        ${text("Source of the sale that it refers to, if any", "refers_to_source", "refers_to")}
        ${text("Id of that sale", "refers_to", "refers_to_source")}`}`;
}

function adjustmentData({ amount, commission, ...named }, sale) {
  const { refers_to, refers_to_source } = sale ? { refers_to: sale.id, refers_to_source: sale.source } : named;
  const figures = { amount: numberOf(amount), commission: numberOf(commission) };
  return { ...figures, ...(refers_to && { refers_to, refers_to_source }) };
}

function adjustmentSays({ agency, amount, commission, currency, refers_to, refers_to_source }) {
  const isZero = (value) => !/[1-9]/.test(value);
  const moved = (value) => (isZero(value)
    ? "stays as it is"
    : `${value.startsWith("-") ? "falls" : "rises"} by ${sumOf(value.replace("-", ""), currency)}`);
  const about = refers_to ? `, for the sale ${isolated(`${refers_to_source} ${refers_to}`)}` : "";
  const sales = isZero(amount) ? "" : ` Its amount of net sales ${moved(amount)}.`;
  return `The commission of agency ${agency} ${moved(commission)}${about}.${sales}`;
}
