/** What another rate card would charge: the sums of a preview. */
import { html } from "../vendor/htm-preact.js";
import * as format from "./format.js";
import { Money, Table } from "./parts.js";

const HEAD = [
  ["Currency"], ["Events", "n"], ["Changed", "n"], ["Commission", "n"], ["Would be", "n"], ["Difference", "n"],
];

/** The sums of the accounts of a preview, one a currency. */
export const ReratingSums = ({ caption, accounts }) => html`
  <${Table} caption=${caption} head=${HEAD}>
    ${accounts.map(({ currency, events, changed, ...sums }) => html`
      <tr key=${currency}>
        <th scope="row">${currency}</th><td class="n">${format.count(events)}</td>
        <td class="n">${format.count(changed)}</td>
        <${Money} value=${sums.commission} currency=${currency} />
        <${Money} value=${sums.would_be} currency=${currency} />
        <${Money} value=${sums.difference} currency=${currency} change />
      </tr>`)}
  <//>`;
