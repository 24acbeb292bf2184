/** What the accounts of a currency are charged by the name of the charge, and by tiers so far. */
import { html } from "../vendor/htm-preact.js";
import { get, withQuery } from "../lib/api.js";
import { sum } from "../lib/decimal.js";
import * as format from "../lib/format.js";
import { AgencyLink } from "../lib/links.js";
import { Money, Name, Table, useLoaded } from "../lib/parts.js";

const LIMIT = 100;
const TIERS = [["Agency"], ["Charge"], ["Turnover", "n"], ["Tier reached"], ["To the next", "n"], ["So far", "n"]];

/** The section, if an account has more than plain commission. `month`: the one that is shown, if it is a month. */
export function ByCharge({ accounts, currency, month, agency }) {
  const charged = accounts.some((one) => one.now.charges);
  const path = charged && month && withQuery("/overview", { period: month, agency, limit: LIMIT });
  const { value } = useLoaded(async () => (path ? get(path) : { items: [] }), path);
  if (!charged) return null;
  const all = accounts.flatMap(({ now }) => Object.entries(now.charges ?? { commission: now.commission }));
  const sums = [...Map.groupBy(all, ([name]) => name)];
  const tiers = (value?.items ?? []).filter((one) => one.currency === currency)
    .flatMap(({ agency: of, now }) => (now.tiers ?? []).map((one) => ({ of, ...one })));
  return html`
    <section class="card">
      <h2>Commission in ${currency} by charge</h2>
      <${Table} caption="Fixed with the events" head=${[["Charge"], ["Commission", "n"]]}>
        ${sums.map(([name, some]) => html`
          <tr key=${name}>
            <th scope="row"><${Name}>${name}<//></th>
            <${Money} value=${sum(some.map(([, amount]) => amount))} currency=${currency} />
          </tr>`)}
      <//>
      ${tiers.length > 0 && html`
        <${Table} caption=${`By tiers in ${format.month(month)}`} head=${TIERS}>
          ${tiers.map((one) => html`
            <tr key=${[one.of, one.name, one.per, one.group].join()}>
              <th scope="row"><${AgencyLink} agency=${one.of} currency=${currency} /></th>
              <td><${Name}>${one.name}<//></td>
              <${Money} value=${one.turnover} currency=${currency} />
              <td>${format.exact(one.percent)} % from ${format.exact(one.from)}</td>
              <${Money} value=${one.missing ?? undefined} currency=${currency} />
              <${Money} value=${one.commission} currency=${currency} />
            </tr>`)}
        <//>`}
    </section>`;
}
