/** What a period is charged so far, by charge, with the tier that is reached and what is missing to the next. */
import { html } from "../vendor/htm-preact.js";
import * as format from "../lib/format.js";
import { Money, Name, Table } from "../lib/parts.js";

const CHARGES = [["Charge"], ["Commission", "n"]];
const TIERS = [["Charge"], ["Turnover", "n"], ["Tier reached"], ["To the next", "n"], ["Commission", "n"]];

/** Returns the commission of a period, with what tiers charge of it so far. */
export const chargedSoFar = ({ charged, commission }) => charged ?? commission;

/** The charges of a period and its tiers; nothing if it is charged plain commission. */
export const SoFar = ({ period: { period, charges, tiers = [] }, currency }) => charges && html`
  <${Table} caption=${`${format.month(period)} by charge, without tiers`} head=${CHARGES}>
    ${Object.entries(charges).map(([name, amount]) => html`
      <tr key=${name}><th scope="row"><${Name}>${name}<//></th><${Money} value=${amount} currency=${currency} /></tr>`)}
  <//>
  ${tiers.length > 0 && html`
    <${Table} caption=${`${format.month(period)} by tiers, so far`} head=${TIERS}>
      ${tiers.map((one) => html`
        <tr key=${[one.name, one.per, one.group].join()}>
          <th scope="row"><${Name}>${one.name}<//></th>
          <${Money} value=${one.turnover} currency=${currency} />
          <td>${format.exact(one.percent)} % from ${format.exact(one.from)}</td>
          <${Money} value=${one.missing ?? undefined} currency=${currency} />
          <${Money} value=${one.commission} currency=${currency} />
        </tr>`)}
    <//>`}`;
