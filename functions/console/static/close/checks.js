/** The checks that a draft does not pass, each with its message and where to correct it. */
import { html } from "../vendor/htm-preact.js";
import { laterMonth } from "../lib/calendar.js";
import { agencyAddress } from "../lib/links.js";
import { Link, Name, Status } from "../lib/parts.js";
import { address } from "../lib/routes.js";

const CORRECTIONS = {
  owner: () => [address(["runbooks", "releasing-statements"]), "How to write the owner"],
  agency: ({ agency }) => [agencyAddress(agency), "Register it"],
  tax: ({ agency }) => [agencyAddress(agency, { tab: "registration" }), "Register its tax"],
  tax_percent: ({ agency }) => [agencyAddress(agency, { tab: "registration" }), "Correct its tax"],
  tax_place: ({ agency }) => [agencyAddress(agency, { tab: "registration" }), "Correct its tax"],
  tax_vat_id: ({ agency }) => [agencyAddress(agency, { tab: "registration" }), "Correct its VAT id"],
  invoice_profile: ({ agency }) => [agencyAddress(agency, { tab: "registration" }), "Complete it"],
  order: ({ message, period }) =>
    [address(["close", /\d{4}-\d\d/.exec(message)?.[0] ?? laterMonth(period, -1)]), "Close that period"],
  default_rate: ({ agency }) => [agencyAddress(agency, { tab: "rates" }), "Write a rate card"],
  amount_parts: ({ agency }) => [agencyAddress(agency, { tab: "rates" }), "Show its rate cards"],
  change: ({ agency }) => [agencyAddress(agency), "Look at the agency"],
  disputes: ({ agency }) => [address(["statements"], { agency, status: "disputed" }), "Show the statements"],
  before_first_period: ({ agency }) => [address(["events"], { agency }), "Show its events"],
  held_events: () => [address(["operations"]), "Show why"],
};

/** The list. `agency` and `period`: those of the draft. */
export const Checks = ({ checks, agency, period }) => html`
  <ul class="plain checks">
    ${checks.map((one) => {
      const [to, text] = CORRECTIONS[one.check]?.({ ...one, agency, period }) ?? [];
      return html`
        <li key=${one.check}>
          <${Status} value=${one.level} /> <${Name}>${one.message}<//>${" "}
          ${to && html`<${Link} to=${to}>${text}<//>`}
        </li>`;
    })}
  </ul>`;
