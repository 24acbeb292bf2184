/** The single changes of an account, as they happen. */
import { html, useEffect, useState } from "../vendor/htm-preact.js";
import { accountPath, get } from "../lib/api.js";
import { difference } from "../lib/decimal.js";
import * as format from "../lib/format.js";
import { Money, Pending, Table, Time, useLoaded } from "../lib/parts.js";

const HEAD = [
  ["Newest event"], ["Events", "n"], ["Net sales", "n"], ["Change", "n"], ["Commission", "n"], ["Change", "n"],
];
const CHANGES_SHOWN = 20;
const EVERY = 5000;

/** The changes, closed at first: an open list reads them again every 5 seconds. */
export function LiveChanges({ account }) {
  const [open, setOpen] = useState(false);
  return html`
    <details onToggle=${(event) => setOpen(event.target.open)}>
      <summary>Live changes</summary>
      ${open && html`<${Live} account=${account} />`}
    </details>`;
}

function Live({ account: { agency, currency } }) {
  const load = () => get(`${accountPath(agency, currency, "changes")}?limit=${CHANGES_SHOWN + 1}`);
  const { value, problem, again } = useLoaded(load, "");
  useEffect(() => {
    if (problem) return undefined;
    const timer = setInterval(() => document.visibilityState === "visible" && again(), EVERY);
    return () => clearInterval(timer);
  }, [problem]);
  if (problem?.status === 404) return html`<p class="note">${problem.message}</p>`;
  if (!value) return html`<${Pending} problem=${problem} retry=${again} />`;
  if (!value.items.length) {
    return html`<p class="note">There is no recent change. New ones appear here.</p>`;
  }
  const change = (one, index, figure) => {
    const before = value.items[index + 1];
    return before && difference(one[figure], before[figure]);
  };
  return html`
    <${Table} caption="The totals after each change, the newest first" head=${HEAD}>
      ${value.items.slice(0, CHANGES_SHOWN).map((one, index) => html`
        <tr key=${one.version}>
          <th scope="row" class="short"><${Time} at=${one.last_updated} /></th>
          <td class="n">${format.count(one.events)}</td>
          <${Money} value=${one.net} currency=${currency} exact />
          <${Money} value=${change(one, index, "net")} currency=${currency} exact />
          <${Money} value=${one.commission} currency=${currency} exact />
          <${Money} value=${change(one, index, "commission")} currency=${currency} exact />
        </tr>`)}
    <//>`;
}
