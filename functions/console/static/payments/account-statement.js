/** The account statement of an agency: what is owed and by when, and its documents and payments with each balance. */
import { html, useState } from "../vendor/htm-preact.js";
import { all, get, withQuery } from "../lib/api.js";
import { isMonth, laterMonth, monthOf, today } from "../lib/calendar.js";
import { download, writeCsv } from "../lib/csv.js";
import { negative } from "../lib/decimal.js";
import * as format from "../lib/format.js";
import { EventLink, Reference, accountStatementAddress, agencyAddress, statementAddress } from "../lib/links.js";
import { may } from "../lib/me.js";
import { Messages } from "../lib/messages.js";
import { lateAgencies, rowOf, runningStatement, withMoney } from "../lib/open-items.js";
import { Amount, Day, Link, Money, NoEvents, Pending, Status, Table, useLoaded } from "../lib/parts.js";
import { openAccounts, paymentsSince } from "../lib/receivables.js";
import { Recording, followed } from "../recording/recording.js";
import { REMINDERS, Remind } from "./remind.js";

const MONTHS = 12;
const NOTHING = {
  statements: [], unknown: [], open: "0", credits: "0", unallocated: "0", balance: "0",
  aging: { not_due: "0", days_1_30: "0", days_31_60: "0", days_61_90: "0", days_over_90: "0" },
};
const OPEN_HEAD = [
  ["Number"], ["Period", "wide"], ["Issued", "wide"], ["Due"], ["Amount", "n"], ["Open", "n"], ["Status"],
];
const RUNNING_HEAD = [["Date", "wide"], ["What"], ["Due", "wide"], ["Charged", "n"], ["Paid", "n"], ["Balance", "n"]];
const COLUMNS = ["date", "what", "change", "balance"];

const dayOf = (instant) => format.localTime(instant).slice(0, "2026-11-05".length);

/** The page. */
export function AccountStatement({ agency, query }) {
  const { value, problem, again } = useLoaded(() => known(agency), agency);
  const [asked, setAsked] = useState(null);
  const [reminders, setReminders] = useState(0);
  if (!value) return html`<${Pending} problem=${problem} retry=${again} />`;
  const { accounts, open, statements, first } = value;
  const currencies = withMoney(accounts).map((one) => one.currency);
  const currency = currencies.includes(query.currency) ? query.currency : currencies[0];
  if (!currency) return html`<${NoEvents}>No event of this agency is recorded yet.<//>`;
  const row = rowOf(open.find((one) => one.currency === currency) ?? { ...NOTHING, agency, currency });
  const from = isMonth(query.from) ? query.from : laterMonth(monthOf(today()), 1 - MONTHS);
  const late = lateAgencies(open.map(rowOf));
  const version = accounts.map((one) => one.version).join();
  return html`
    <p><${Link} to=${agencyAddress(agency, { currency })}>Figures and rate cards of the agency<//></p>
    ${currencies.length > 1 && html`
      <nav class="switch" aria-label="Currencies">
        ${currencies.map((one) => html`
          <${Link} key=${one} to=${accountStatementAddress(agency, { currency: one })}
            aria-current=${one === currency ? "true" : undefined}>${one}<//>`)}
      </nav>`}
    <${Owed} row=${row} />
    <${Recording} ...${{ agency, currencies, currency }}
      onRecorded=${({ receipt }) => receipt && followed(agency, accounts).then(again, again)} />
    ${may(...REMINDERS) && late.length > 0 && html`
      <p class="bar"><button type="button" onClick=${() => setAsked(late)}>Remind the agency</button></p>`}
    ${row.statements.length > 0 && html`<${Open} row=${row} />`}
    <${Running} key=${version} ...${{ row, statements, from, first }} />
    <${Messages} key=${`messages ${reminders}`} kind="agencies" subject=${agency} />
    ${asked && html`
      <${Remind} agencies=${asked} onSent=${() => setReminders(reminders + 1)} onClose=${() => setAsked(null)} />`}`;
}

/** Returns the accounts of an agency, what is open of them, its statements, and the first period with statements. */
async function known(agency) {
  const [{ items }, open, statements, periods] = await Promise.all([
    get(withQuery("/accounts", { agency })), openAccounts(agency), all("/statements", { agency }), all("/periods"),
  ]);
  return { accounts: items, open, statements, first: periods.at(-1)?.period ?? "" };
}

/** What is owed, by when, and what is overdue. */
function Owed({ row: { currency, open, overdue, late, credits, unallocated, balance, statements } }) {
  const due = statements.filter((one) => one.due_on && !late.some(({ number }) => number === one.number))
    .map((one) => one.due_on).sort();
  const sumOf = (value) => html`<${Amount} value=${value} currency=${currency} exact />`;
  return html`
    <div class="cards">
      <section class="card total">
        <h2>Owed in ${currency}</h2>
        <p class="figure">${sumOf(open)}</p>
        <p class="note">${due.length ? `The next is due on ${format.day(due[0])}.` : "Nothing else becomes due."}</p>
      </section>
      <section class="card total">
        <h2>Overdue</h2>
        <p class=${`figure ${late.length ? "down" : ""}`}>${sumOf(overdue)}</p>
        <p class="note">
          ${late.length ? `Since ${format.day(late.map((one) => one.due_on).sort()[0])}.` : "Nothing is overdue."}
        </p>
      </section>
      <section class="card total">
        <h2>Balance</h2>
        <p class="figure">${sumOf(balance)}</p>
        <p class="note">
          After all statements and payments: ${format.owed(balance)}.
          ${Number(credits) < 0 && html` Open credits: ${sumOf(credits)}.`}
          ${Number(unallocated) !== 0 && html`
            ${" "}Payments that clear nothing: ${sumOf(unallocated)}. They pay the next statement.`}
        </p>
      </section>
    </div>`;
}

const Open = ({ row: { agency, currency, statements } }) => html`
  <${Table} caption="What is open, the oldest first" head=${OPEN_HEAD}>
    ${statements.map((one) => html`
      <tr key=${one.number}>
        <th scope="row" class="short">
          <${Link} to=${statementAddress({ ...one, agency, currency })}>${one.number}<//>
        </th>
        <td class="short wide">${format.month(one.period)}</td>
        <td class="short wide"><${Day} on=${one.issued_on} /></td>
        <td class="short"><${Day} on=${one.due_on} /></td>
        <${Money} value=${one.amount} currency=${currency} />
        <${Money} value=${one.open} currency=${currency} />
        <td><${Status} value=${one.status} /></td>
      </tr>`)}
  <//>`;

const keyOf = ({ source, id }) => JSON.stringify([source, id]);

/** The documents and payments of an account from a month on, by date, with the balance after each. */
function Running({ row, statements, from, first }) {
  const { agency, currency } = row;
  const start = `${from}-01`;
  const [every, setEvery] = useState(false);
  const load = () => paymentsSince(row, start, every);
  const { value, problem, again } = useLoaded(load, `${agency} ${currency} ${start} ${every}`);
  if (!value) return html`<h2>Running statement</h2><${Pending} problem=${problem} retry=${again} />`;
  const { opening, entries } = runningStatement({
    statements: statements.filter((one) => one.currency === currency), balance: row.balance, from: start, dayOf,
    payments: value.filter((one) => one.period >= first),
  });
  const unknown = new Set(row.unknown.map(keyOf));
  const saved = entries.map((one) => ({ ...one, what: one.document?.number ?? `payment ${one.payment.id}` }));
  const to = (month) => accountStatementAddress(agency, { currency, from: month });
  return html`
    <h2>Running statement</h2>
    <${Table} caption=${`Documents and payments in ${currency} since ${format.month(from)}, the oldest first`}
      head=${RUNNING_HEAD}>
      <tr>
        <td class="wide"></td><th scope="row">Brought forward</th><td class="wide"></td><td></td><td></td>
        <${Money} value=${opening} currency=${currency} />
      </tr>
      ${entries.map((one) => html`
        <tr key=${one.document?.number ?? `${one.payment.source} ${one.payment.id}`}>
          <td class="short wide"><${Day} on=${one.date} /></td>
          ${one.document ? html`<${Document} ...${one} />`
            : html`<${Payment} ...${one} isUnknown=${unknown.has(keyOf(one.payment))} />`}
          <${Money} value=${one.balance} currency=${currency} />
        </tr>`)}
      <tr class="sum">
        <td class="wide"></td><th scope="row">Balance now, ${format.owed(row.balance)}</th>
        <td class="wide"></td><td></td><td></td>
        <${Money} value=${row.balance} currency=${currency} />
      </tr>
    <//>
    <p class="bar">
      <${Link} to=${to(laterMonth(from, -MONTHS))}>Begin a year earlier<//>
      <button type="button" onClick=${() => download("account-statement.csv", writeCsv(COLUMNS, saved))}>
        Download as CSV
      </button>
    </p>
    <p class="note">
      ${!every && html`Payments of one day that add up to 0 are left out.
        ${" "}<button type="button" class="link" onClick=${() => setEvery(true)}>Show them, too</button>. `}
      Sales that are on no statement yet do not count here.
    </p>`;
}

/** The date above an entry, on a phone. */
const Dated = ({ date }) => html`<div class="note slim"><${Day} on=${date} /></div>`;

const Document = ({ document, statement, change, date }) => html`
  <th scope="row" class="long">
    <${Dated} date=${date} />
    <${Link} to=${statementAddress(statement)}>${document.number}<//>,
    ${" "}${format.words(document.document)} of ${format.month(statement.period)}
    ${document.cancels && html`<div class="note">cancels ${document.cancels}</div>`}
  </th>
  <td class="short wide"><${Day} on=${document.due_on} /></td>
  <${Money} value=${change} currency=${statement.currency} />
  <td></td>`;

/** Returns what a payment was, as the parties say it. */
const paymentText = ({ amount }) => (amount.startsWith("-") ? "paid to the agency" : "payment");

/** `isUnknown`: that it names a statement that the account does not have. */
const Payment = ({ payment, change, date, isUnknown }) => html`
  <th scope="row" class="long">
    <${Dated} date=${date} />
    <${EventLink} ...${payment} />, ${paymentText(payment)}${payment.statement && ` for ${payment.statement}`}
    ${isUnknown && html`
      <div class="note">There is no such statement. It pays the oldest one that is open.</div>`}
    <${Reference} ...${payment} />
  </th>
  <td class="wide"></td><td></td>
  <${Money} value=${negative(change)} currency=${payment.currency} />`;
