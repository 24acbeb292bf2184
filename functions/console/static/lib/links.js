/** The addresses of the pages of one thing, links to them, and how lists name such a thing. */
import { html } from "../vendor/htm-preact.js";
import { useLegalName } from "./agencies.js";
import { referenceIn } from "./extra.js";
import * as format from "./format.js";
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

/** Returns the address of the account statement of an agency. */
export const accountStatementAddress = (agency, parameters = {}) => address(["receivables", agency], parameters);

/** Returns the address of a statement's page. */
export const statementAddress = ({ period, agency, currency }) => address(["statements", period, agency, currency]);

/** Returns the address of the page of an event. */
export const eventAddress = ({ source, id }) => address(["events", source, id]);

/** A link to the page of an event, by its source and id. */
export const EventLink = ({ source, id }) => html`
  <${Link} to=${eventAddress({ source, id })}><${Name}>${source}<//> <${Name}>${id}<//><//>`;

/** Returns the column of the types of events, as people read them. `typeOf`: returns the type of a row. */
export function typeColumn(typeOf = (row) => row.type) {
  const named = (row) => format.eventType(typeOf(row));
  return { key: "type", title: "Type", value: typeOf, text: named, cell: named };
}

/** The reference of an event, such as a payment's, if its sender gave one. */
export function Reference({ extra }) {
  const reference = referenceIn(extra);
  return reference && html`<div class="note">Reference <${Name}>${reference}<//></div>`;
}

/** Returns the address of a run's page. */
export const reportAddress = (run) => address(["reports", run]);

/** A link to a run's page: the span that it sealed. */
export const RunLink = ({ run }) => html`<${Link} to=${reportAddress(run)}>${format.run(run)}<//>`;

/** Returns the address of a runbook: of the section of the document with that anchor. */
export const runbookAddress = (anchor) => address(["runbooks", anchor]);

/** A link to a runbook. */
export const RunbookLink = ({ name }) => html`<${Link} to=${runbookAddress(name)}>${name}<//>`;

/** Which runbooks belong to a part of a page. */
export const Runbooks = ({ names }) => html`
  <p class="note">
    ${names.length > 1 ? "Runbooks" : "Runbook"}:
    ${names.map((name, index) => html`${index ? ", " : " "}<${RunbookLink} name=${name} />`)}
  </p>`;
