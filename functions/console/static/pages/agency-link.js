/** The address of an agency's page, and links to it. */
import { html } from "../vendor/htm-preact.js";
import { Link, Name } from "../parts.js";
import { address } from "../routes.js";

/** Returns the address of an agency's page; the parameters choose a currency, and a month or a day to look into. */
export const agencyAddress = (agency, parameters = {}) => address(["agencies", agency], parameters);

/** A link to the page of an agency, or of one of its accounts. */
export const AgencyLink = ({ agency, currency }) => html`
  <${Link} to=${agencyAddress(agency, { currency })}><${Name}>${agency}<//><//>`;
