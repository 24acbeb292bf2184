/** Payouts: the credits that a run would pay and those that wait, the command that pays them, and the runs before. */
import { html, useState } from "../vendor/htm-preact.js";
import { registrationOf, useNames } from "../lib/agencies.js";
import { all, inTurns } from "../lib/api.js";
import { laterDay, laterMonth, monthOf, today } from "../lib/calendar.js";
import { sum } from "../lib/decimal.js";
import { NumberField, numberOf, wordsIn } from "../lib/fields.js";
import * as format from "../lib/format.js";
import { AgencyName, accountStatementAddress, agencyColumn, statementAddress } from "../lib/links.js";
import { List } from "../lib/list.js";
import { payoutRuns, planPayouts } from "../lib/open-items.js";
import { Amount, Command, Day, Link, Name, Pending, Table, fieldsOf, useLoaded } from "../lib/parts.js";
import { openAccounts, payoutsSince } from "../lib/receivables.js";
import { address } from "../lib/routes.js";

const MONTHS = 12;
const LONGEST_AHEAD = 365; // Days.
const EURO = "EUR";
const NAME = { pattern: "[A-Za-z0-9][A-Za-z0-9.\\-]{0,34}", title: "1 to 35 letters, digits, dots and hyphens" };
const RUNS_HEAD = [["Run"], ["Paid on"], ["Transfers", "n"], ["Sums", "n"]];

const dayOf = (instant) => format.localTime(instant).slice(0, "2026-11-05".length);

/** Returns the accounts with open credits, each with the registration of its agency, and the disputed statements. */
async function withCredits() {
  const creditsOf = ({ statements }) => statements.filter((one) => one.open.startsWith("-"));
  const accounts = (await openAccounts()).filter((one) => creditsOf(one).length);
  const periods = [...new Set(accounts.flatMap(creditsOf).map(({ period }) => period))];
  const [found, disputed] = [[], []];
  await inTurns(accounts, async (account) => {
    found.push({ ...account, payee: (await registrationOf(account.agency))?.content });
  });
  await inTurns(periods, async (period) => {
    disputed.push(...(await all("/statements", { period, status: "disputed" })).map(({ number }) => number));
  });
  return { accounts: found, disputed };
}

/** The page. */
export function Payouts() {
  const { value, problem, again } = useLoaded(withCredits, "");
  const [run, setRun] = useState(() => ({ date: laterDay(today(), 1), name: today(), minimum: "0" }));
  if (!value) return html`<${Pending} problem=${problem} retry=${again} />`;
  const { paid, left } = planPayouts(value.accounts, run.minimum, value.disputed);
  return html`
    <p>A run pays what is open of the statements of agencies whose sales the marketplace has collected, each by a
      transfer of its own. The command records the payouts, then writes the file for the bank (pain.001). This page
      records nothing.</p>
    <${Terms} run=${run} setRun=${setRun} />
    <div class="cards">
      <section class="card total">
        <h2>To be paid</h2>
        <p class="figure"><${Amount} value=${sum(paid.map((one) => one.amount))} currency=${EURO} exact /> ${EURO}</p>
        <p class="note">${format.count(paid.length)} ${paid.length === 1 ? "transfer" : "transfers"}</p>
      </section>
      <section class="card total">
        <h2>Not paid</h2>
        <p class="figure">${format.count(left.length)}</p>
        <p class="note">${left.length ? format.amounts(sumsOf(left)) : "No credit is left out."}</p>
      </section>
    </div>
    ${paid.length > 0 && html`
      <${Credits} name="payouts" caption="What the run would pay" credits=${paid} />
      <${Command} text="On your machine; NAME is the stack" command=${commandOf(run)} />
      <p class="note">
        It goes by the registrations of now, as this page does, and by sealed payments. So after a payment of the last
        hour it can differ. It also checks that the banks are in the SEPA area, and prints what it leaves
        out.
      </p>`}
    ${!paid.length && html`<p class="empty">A run would pay nothing now.</p>`}
    ${left.length > 0 && html`
      <h2>Carried forward, and why</h2>
      <${Credits} name="unpaid" caption="Credits that the run would not pay" credits=${left} reasons />`}
    <${Before} />`;
}

const sumsOf = (credits) => Object.fromEntries([...Map.groupBy(credits, (one) => one.currency)]
  .map(([currency, some]) => [currency, sum(some.map((one) => one.amount))]));

/** Returns the command of a run. */
const commandOf = ({ name, date, minimum }) =>
  `quarterhour payouts --stack NAME --name ${name} --date ${date}${Number(minimum) ? ` --minimum ${minimum}` : ""}`
  + ` --out payouts-${name}.xml`;

/** The form of the terms of a run, on which the list and the command depend. */
function Terms({ run, setRun }) {
  const send = (event) => {
    const { minimum, ...texts } = fieldsOf(event);
    setRun({ ...texts, minimum: numberOf(minimum) });
  };
  return html`
    <form class="bar" aria-label="The run" onSubmit=${send}>
      <${NumberField} label="Least sum of an account (EUR)" name="minimum" places=${2} value="0" required
        words=${wordsIn(EURO)} />
      <label>The bank pays on
        <input name="date" type="date" required min=${today()} max=${laterDay(today(), LONGEST_AHEAD)}
          defaultValue=${run.date} />
      </label>
      <label>Name of the run
        <input name="name" required ...${NAME} autocomplete="off" defaultValue=${run.name} />
      </label>
      <button>Show</button>
    </form>`;
}

function Credits({ name, caption, credits, reasons }) {
  const columns = [
    agencyColumn(useNames(), {
      head: true,
      cell: ({ agency, currency }) => html`
        <${Link} to=${accountStatementAddress(agency, { currency })}><${AgencyName} agency=${agency} /><//>`,
    }),
    {
      key: "number", title: "Statement", kind: "short",
      cell: (one) => html`<${Link} to=${statementAddress(one)}>${one.number}<//>`,
    },
    { key: "period", title: "Period", type: "month" },
    { key: "currency", title: "Currency" },
    { key: "amount", title: "Amount", type: "money" },
    ...(reasons ? [] : [{ key: "iban", title: "Paid to", cell: (one) => html`<${Name}>${format.iban(one.iban)}<//>` }]),
    ...(reasons ? [{ key: "reason", title: "Reason", kind: "long" }] : []),
  ];
  return html`<${List} name=${name} caption=${caption} columns=${columns} rows=${credits} size="25" />`;
}

/** The runs of the last months, by the payments that they recorded. */
function Before() {
  const from = `${laterMonth(monthOf(today()), -MONTHS)}-01`;
  const { value, problem, again } = useLoaded(() => payoutsSince(from), from);
  return html`
    <h2>Past payouts</h2>
    ${!value && html`<${Pending} problem=${problem} retry=${again} />`}
    ${value?.length === 0 && html`<p class="note">No payout run has paid since ${format.day(from)}.</p>`}
    ${value?.length > 0 && html`
      <${Table} caption="Runs of the last twelve months, the newest first" head=${RUNS_HEAD}>
        ${payoutRuns(value, dayOf).map((one) => html`
          <tr key=${one.run}>
            <th scope="row" class="long">
              <${Link} to=${address(["events"], { source: "quarterhour/payouts", type: "payment.recorded", from })}>
                ${one.run}<//>
            </th>
            <td class="short"><${Day} on=${one.date} /></td>
            <td class="n">${format.count(one.transfers)}</td>
            <td class="n">${format.amounts(one.sums)}</td>
          </tr>`)}
      <//>`}`;
}
