/** Which page an address shows, and which pages each reader may see. */
import { html } from "./vendor/htm-preact.js";
import { Accounts } from "./agencies/accounts.js";
import { Agencies } from "./agencies/agencies.js";
import { Agency } from "./agencies/agency.js";
import { Close } from "./close/close.js";
import { Event } from "./events/event.js";
import { Events } from "./events/events.js";
import { Locations } from "./events/locations.js";
import { Questions } from "./events/questions.js";
import { Rerate } from "./events/rerate.js";
import { Upload } from "./events/upload.js";
import { ExchangeRate, ExchangeRates } from "./exchange-rates/exchange-rates.js";
import * as format from "./lib/format.js";
import { AgencyName, accountStatementAddress, agencyAddress } from "./lib/links.js";
import { STAFF, may, reader } from "./lib/me.js";
import { isolated } from "./lib/names.js";
import { Link } from "./lib/parts.js";
import { address, here } from "./lib/routes.js";
import { Connection, Connections } from "./operations/connections.js";
import { Operations } from "./operations/operations.js";
import { Report } from "./operations/report.js";
import { Reports } from "./operations/reports.js";
import { Runbook } from "./operations/runbook.js";
import { Settings } from "./operations/settings.js";
import { Subscription, Subscriptions } from "./operations/subscriptions.js";
import { AccountStatement } from "./payments/account-statement.js";
import { BankFile } from "./payments/bank-file.js";
import { Payouts } from "./payments/payouts.js";
import { Receivables } from "./payments/receivables.js";
import { Reconciliation, Reconciliations } from "./payments/reconciliations.js";
import { Verify } from "./proof/verify.js";
import { Overview } from "./start/overview.js";
import { Statement } from "./statements/statement.js";
import { Statements } from "./statements/statements.js";

/**
 * The pages at which people begin: title, address, content; some for certain roles only. `group`: where in the menu.
 *
 * `oneAgency`: a person of several agencies sees one of them at a time.
 */
export const MENU = [
  { title: "Overview", parts: [], content: Overview, oneAgency: true },
  { title: "Close", parts: ["close"], content: Close, roles: STAFF, group: "Money" },
  { title: "Statements", parts: ["statements"], content: Statements, oneAgency: true, group: "Money" },
  { title: "Receivables", parts: ["receivables"], content: Receivables, roles: STAFF, group: "Money" },
  { title: "Bank file", parts: ["bank-file"], content: BankFile, roles: ["finance"], group: "Money" },
  { title: "Payouts", parts: ["payouts"], content: Payouts, roles: STAFF, group: "Money" },
  { title: "Reconciliations", parts: ["reconciliations"], content: Reconciliations, roles: STAFF, group: "Money" },
  { title: "Accounts", parts: ["accounts"], content: Accounts, oneAgency: true, group: "Money" },
  { title: "Exchange rates", parts: ["exchange-rates"], content: ExchangeRates, group: "Money" },
  { title: "Events", parts: ["events"], content: Events, oneAgency: true, group: "Activity" },
  { title: "Questions", parts: ["questions"], content: Questions, oneAgency: true, group: "Activity" },
  { title: "Locations", parts: ["locations"], content: Locations, roles: STAFF, group: "Activity" },
  { title: "Agencies", parts: ["agencies"], content: Agencies, roles: STAFF, group: "Agencies" },
  { title: "Reports", parts: ["reports"], content: Reports, roles: STAFF, group: "System" },
  { title: "Connections", parts: ["connections"], content: Connections, roles: STAFF, group: "System" },
  { title: "Subscriptions", parts: ["subscriptions"], content: Subscriptions, roles: STAFF, group: "System" },
  { title: "Settings", parts: ["settings"], content: Settings, roles: STAFF, group: "System" },
  { title: "Operations", parts: ["operations"], content: Operations, roles: STAFF, group: "System" },
];
/** The groups of the menu. */
export const GROUPS = ["Money", "Activity", "Agencies", "System"];
/** Pages that other pages link, and the search. */
export const LINKED = [
  { title: "Upload a file", parts: ["upload"], content: Upload, roles: ["finance"] },
  { title: "Re-rate events", parts: ["rerate"], content: Rerate, roles: ["finance"] },
  { title: "Verify a file", parts: ["verify"], content: Verify },
];

/**
 * The pages of one thing: the first part of their address, how many names of the thing follow, title and content. A
 * title that depends on an agency is what stands before its name, the name, and what follows. `roles`: who may see it;
 * with `own`, also people of the agency that it is of.
 */
const OF_ONE = [
  {
    parts: ["close"], names: 1, roles: STAFF, title: (period) => `Close ${format.month(period)}`,
    content: ([period], query) => html`<${Close} period=${period} query=${query} />`,
  },
  {
    parts: ["events"], names: 2, title: (source, id) => `Event ${isolated(id)} of ${isolated(source)}`,
    content: ([source, id]) => html`<${Event} source=${source} id=${id} />`,
  },
  {
    parts: ["statements"], names: 3,
    title: (period, _, currency) => (name) => ["Statement of ", name, ` in ${currency}, ${format.month(period)}`],
    content: ([period, agency, currency]) => html`<${Statement} name=${{ period, agency, currency }} />`,
  },
  {
    parts: ["reports"], names: 1, title: (run) => `Run of ${format.run(run)}`,
    content: ([run]) => html`<${Report} run=${run} />`,
  },
  {
    parts: ["agencies"], names: 1, title: () => (name, isLegal) => [isLegal ? "" : "Agency ", name, ""],
    content: ([agency], query) => html`<${Agency} agency=${agency} query=${query} />`,
  },
  {
    parts: ["receivables"], names: 1, roles: STAFF, own: true,
    title: () => (name) => ["Account statement of ", name, ""],
    content: ([agency], query) => html`<${AccountStatement} agency=${agency} query=${query} />`,
  },
  {
    parts: ["reconciliations"], names: 2, roles: STAFF,
    title: (period, provider) => `Reconciliation of ${isolated(provider)}, ${format.month(period)}`,
    content: ([period, provider]) =>
      html`<${Reconciliation} key=${`${period}:${provider}`} period=${period} provider=${provider} />`,
  },
  {
    parts: ["exchange-rates"], names: 1, title: (currency) => `Exchange rate of ${currency}`,
    content: ([currency]) => html`<${ExchangeRate} currency=${currency} />`,
  },
  {
    parts: ["connections"], names: 1, roles: STAFF, title: (name) => `Connection ${isolated(name)}`,
    content: ([name]) => html`<${Connection} name=${name} />`,
  },
  {
    parts: ["subscriptions"], names: 1, roles: STAFF, title: (name) => `Subscription ${isolated(name)}`,
    content: ([name]) => html`<${Subscription} name=${name} />`,
  },
  {
    parts: ["runbooks"], names: 1, title: (anchor) => `Runbook ${anchor}`,
    content: ([anchor]) => html`<${Runbook} anchor=${anchor} />`,
  },
];

/** Returns the title and the content of the page at an address, as far as the reader may see it. */
export function pageAt({ parts: [first, ...names], query }) {
  const entry = !names.length && [...MENU, ...LINKED].find((one) => one.parts[0] === first);
  if (entry) {
    const { title, content, roles, oneAgency } = entry;
    if (roles && !may(...roles)) return [title, html`<${RoleRefusal} roles=${roles} />`];
    if (oneAgency && reader().agencies.length > 1 && !query.agency) return [title, html`<${AgencyList} />`];
    return [title, html`<${content} query=${query} />`];
  }
  const page = OF_ONE.find((one) => one.parts[0] === first && one.names === names.length);
  if (!page) {
    return ["No such page", html`<p class="empty">There is no page at this address. Begin with the menu.</p>`];
  }
  const { title, content, roles, own } = page;
  const isOpen = !roles || may(...roles) || (own && reader().agencies.includes(names[0]));
  return [title(...names), isOpen ? content(names, query) : html`<${RoleRefusal} roles=${roles} />`];
}

/** Returns those of some pages that the reader may see. */
export const seen = (pages) => pages.filter(({ roles }) => !roles || may(...roles));

/** What is at the address of a page for other roles. */
const RoleRefusal = ({ roles }) => html`
  <p class="empty">
    Only people with the role ${roles.slice(0, -1).map((one) => `${one}, `)}${roles.length > 1 && "or "}${roles.at(-1)}
    ${" "}see this page. <${Link} to=${address([])}>The overview<//> shows what you may see.
  </p>`;

/** The agencies of a person of several, each linked to the present page for it. */
const AgencyList = () => html`
  <p>You work for several agencies. Choose the one to show:</p>
  <ul class="plain">
    ${reader().agencies.map((one) => html`
      <li key=${one}><${Link} to=${addressFor(one)}><${AgencyName} agency=${one} /><//></li>`)}
  </ul>`;

/** Returns the address of the present page for another agency; of the overview, if the page is of one thing. */
export function addressFor(agency) {
  const { parts, query } = here();
  if (parts[0] === "agencies" && parts.length === 2) return agencyAddress(agency);
  if (parts[0] === "receivables" && parts.length === 2) return accountStatementAddress(agency);
  return parts.length > 1 ? address([], { agency }) : address(parts, { ...query, agency });
}
