/** What a statement's sealed file says beyond its figures, as its printed page shows it. */
import { html } from "../vendor/htm-preact.js";
import { days as daysOf, laterMonth } from "../lib/calendar.js";
import { BarChart } from "../lib/chart.js";
import { negative, product } from "../lib/decimal.js";
import * as format from "../lib/format.js";
import { statementAddress } from "../lib/links.js";
import { country, rateCard } from "../lib/names.js";
import { Amount, Link, Money, Name, Table } from "../lib/parts.js";

const CHART_FROM = 5; // The fewest days with sales that are drawn, as on the printed page.
const ORIGINS = {
  default: "Default rate", event: "Agreed rate", sale: "Terms of the original sale",
  rerating: "Rate card of a re-rating",
};
const SCHEMES = { reverse_charge: "reverse charge", exempt: "exempt", outside_scope: "outside the scope" };
const COMPARED = [["net", "Net sales"], ["commission", "Commission"], ["tax", "Tax"], ["payments", "Payments"]];
const BASE = [["net", "Net sales"], ["commission", "Commission"], ["payments", "Payments"]];

const isZero = (text) => !/[1-9]/.test(text);

/** What is owed, until when and to whom. `content`: that of the sealed file, once it is there. */
export function Owed({ statement, content }) {
  const { closing, currency, due_on: dueOn, number, payment } = statement;
  const shown = closing.startsWith("-") ? negative(closing) : closing;
  const paid = payment && payment.status === "paid";
  const facts = closing.startsWith("-") || isZero(closing) ? [] : [
    ["Due", dueOn && format.day(dueOn)], ["Payable to", content?.owner.legal_name],
    ["IBAN", content?.owner.iban && format.iban(content.owner.iban)], ["Reference", number],
  ];
  return html`
    <section class="card owed" aria-label="What is owed">
      <div>
        <p class="note">Closing balance, ${paid ? "paid" : format.owed(closing)}</p>
        <p class="figure"><${Amount} value=${shown} currency=${currency} exact /> ${currency}</p>
      </div>
      <dl class="facts">
        ${facts.filter(([, fact]) => fact).map(([name, fact]) => html`
          <div key=${name}><dt>${name}</dt><dd><${Name}>${fact}<//></dd></div>`)}
      </dl>
    </section>`;
}

const Party = ({ title, party, fallback }) => html`
  <div>
    <dt>${title}</dt>
    <dd>
      <strong><${Name}>${party.legal_name || fallback}<//></strong>
      ${[party.address, party.country && country(party.country), party.vat_id && `VAT id ${party.vat_id}`,
        party.contact].filter(Boolean).map((text) => html`<br /><${Name}>${text}<//>`)}
    </dd>
  </div>`;

/** Who issues the statement, to whom, and for which days. */
export const Parties = ({ content }) => html`
  <dl class="facts">
    <${Party} title="From" party=${content.owner} />
    <${Party} title="To" party=${content.customer} fallback=${content.agency} />
    <div><dt>Period</dt><dd>${format.dayRange(`${content.period}-01`, `${laterMonth(content.period, 1)}-01`)}</dd></div>
    ${content.issued_on && html`<div><dt>Issued</dt><dd>${format.day(content.issued_on)}</dd></div>`}
  </dl>`;

/** The tax, the terms of the commission, the comparison with the last statement, and the net sales by day. */
export const Particulars = ({ content }) => html`
  <${Days} content=${content} />
  <div class="board even">
    <${Taxes} content=${content} />
    <${Previous} content=${content} />
    <${Terms} content=${content} />
    <${Base} content=${content} />
  </div>`;

function Days({ content: { currency, period, days } }) {
  const values = days.filter((one) => one.day).map((one) => [one.day, one.net]);
  if (values.length < CHART_FROM) return null;
  const label = `Net sales in ${currency} by day`;
  const starts = daysOf(`${period}-01`, `${laterMonth(period, 1)}-01`);
  return html`
    <section class="card">
      <h2>${label}</h2>
      <${BarChart} ...${{ label, currency, starts, values }} span="day" />
    </section>`;
}

const taxName = ({ scheme, percent }) =>
  (scheme ? [`${format.exact(percent)} %`, SCHEMES[scheme]].filter(Boolean).join(", ") : "No tax");

function Taxes({ content: { currency, taxes = [] } }) {
  if (!taxes.length) return null;
  return html`
    <section class="card">
      <h2>Tax</h2>
      <${Table} label="Tax" head=${[["Tax"], ["Tax points"], ["On", "n"], [currency, "n"]]}>
        ${taxes.map((one, index) => html`
          <tr key=${index}>
            <th scope="row">${taxName(one)}</th>
            <td>
              ${one.tax_points.map(({ from, to, kind, category }) => html`
                <div><${Name}>${[format.dayRange(from, to), kind, category].filter(Boolean).join(", ")}<//></div>`)}
            </td>
            <${Money} value=${one.base} currency=${currency} /><${Money} value=${one.tax} currency=${currency} />
          </tr>`)}
      <//>
    </section>`;
}

/** Returns whose terms these are: those of a version of a rate card, or others. */
function originOf(terms, agency) {
  const [, version, document = `rate-card:${agency}`] = /^card (\d+)(?: (rate-card:.*))?$/s.exec(terms) ?? [];
  return version ? `${rateCard(document, agency)}, version ${version}` : ORIGINS[terms] ?? "Unknown";
}

const rateOf = ({ commission_rate: rate, commission }) =>
  (isZero(rate) && !isZero(commission) ? "–" : `${format.count(product(rate, "100"), 10)} %`);

function Terms({ content: { agency, currency, terms, lines_of_further_terms: further } }) {
  if (!terms.length) return null;
  return html`
    <section class="card">
      <h2>Commission by terms</h2>
      <${Table} label="Commission by terms"
        head=${[["Terms"], ["Rate", "n"], ["Lines", "n wide"], ["Net sales", "n wide"], ["Commission", "n"]]}>
        ${terms.map((one, index) => html`
          <tr key=${index}>
            <th scope="row" class="long">${originOf(one.terms, agency)}</th>
            <td class="n">${rateOf(one)}</td><td class="n wide">${format.count(one.lines)}</td>
            <${Money} kind="wide" value=${one.net} currency=${currency} />
            <${Money} value=${one.commission} currency=${currency} />
          </tr>`)}
      <//>
      ${further > 0 && html`<p class="note">And ${format.count(further)} lines of further terms.</p>`}
    </section>`;
}

/** The figures beside those of the last statement of an earlier period. */
function Previous({ content: { agency, currency, period, previous, cancels, ...figures } }) {
  if (!previous || cancels || previous.period >= period) return null;
  const both = [...COMPARED.filter(([name]) => [figures, previous].some((one) => !isZero(one[name]))),
    ["closing", "Closing balance"]];
  return html`
    <section class="card">
      <h2>Compared with <${Link} to=${statementAddress({ agency, currency, period: previous.period })}>
        ${previous.number}<//></h2>
      <${Table} label="Compared with the last statement"
        head=${[["Figure"], [format.month(previous.period), "n"], [format.month(period), "n"]]}>
        ${both.map(([name, text]) => html`
          <tr key=${name} class=${name === "closing" ? "sum" : ""}>
            <th scope="row">${text}</th>
            <${Money} value=${previous[name]} currency=${currency} />
            <${Money} value=${figures[name]} currency=${currency} />
          </tr>`)}
      <//>
    </section>`;
}

/** The figures in the base currency, if it is another one. */
function Base({ content: { currency, base } }) {
  if (!base || base.currency === currency) return null;
  const known = BASE.filter(([name]) => !isZero(base[name]));
  return html`
    <section class="card">
      <h2>In ${base.currency}</h2>
      ${known.length > 0 && html`
        <${Table} label=${`In ${base.currency}`} head=${[["Figure"], ["Amount", "n"]]}>
          ${known.map(([name, text]) => html`
            <tr key=${name}>
              <th scope="row">${text}</th><${Money} value=${base[name]} currency=${base.currency} />
            </tr>`)}
        <//>`}
      <p class="note">At the exchange rate of each quarter-hour.${base.missing.length > 0
        && ` Quarter-hours without an exchange rate, which are left out: ${format.count(base.missing.length)}.`}</p>
    </section>`;
}
