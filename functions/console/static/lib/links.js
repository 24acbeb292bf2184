/** The address of an agency's page, its names, links to it, and its column in lists. */
import { html } from "../vendor/htm-preact.js";
import { useLegalName } from "./agencies.js";
import { STAFF, may } from "./me.js";
import { Link, Name } from "./parts.js";
import { address } from "./routes.js";

/** Returns the address of an agency's page; the parameters choose a currency, and a month or a day to look into. */
export const agencyAddress = (agency, parameters = {}) => address(["agencies", agency], parameters);

/** An agency as lists show it: its legal name, then its id; only the id while it has no name. */
export function AgencyName({ agency }) {
  const legal = useLegalName(agency);
  if (!legal || legal === agency) return html`<${Name}>${agency}<//>`;
  return html`<${Name}>${legal}<//> <small class="id"><${Name}>${agency}<//></small>`;
}

/** An account as lists show it: its agency and its currency. */
export const AccountName = ({ agency, currency }) => html`<${AgencyName} agency=${agency} /> · ${currency}`;

/** The name of an account of a page that has read the legal names: that of its agency, or the account's. */
export const AccountTitle = ({ name, agency, currency }) =>
  (name ? html`<${Name}>${name}<//>` : html`<${Name}>${agency}<//> · ${currency}`);

/** What follows an AccountTitle: the account, unless that is the title itself. */
export const AccountId = ({ name, agency, currency }) =>
  name && html`<span class="note"><${Name}>${agency}<//> · ${currency}</span>`;

/** A link to the page of an agency, or of one of its accounts. */
export const AgencyLink = ({ agency, currency }) => html`
  <${Link} to=${agencyAddress(agency, { currency })}><${AgencyName} agency=${agency} /><//>`;

/**
 * Returns the column of the agencies of a list; it is found and ordered by legal name, then by id. People of agencies
 * see one agency at a time, so it is shown to them on demand only, unless it names the row.
 */
export const agencyColumn = (names, more) => ({
  key: "agency", title: "Agency", kind: "long",
  text: ({ agency }) => [names.get(agency), agency].filter(Boolean).join(" "),
  cell: ({ agency }) => html`<${AgencyName} agency=${agency} />`,
  hidden: !more?.head && !may(...STAFF), ...more,
});
