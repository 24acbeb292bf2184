/** The console: the frame around every page, and the page of the present address. */
import { html, render, useEffect, useErrorBoundary, useLayoutEffect, useRef, useState } from "./vendor/htm-preact.js";
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
import { inWords } from "./lib/advice.js";
import { useLegalName } from "./lib/agencies.js";
import * as format from "./lib/format.js";
import { AgencyName, agencyAddress } from "./lib/links.js";
import { STAFF, load, may, reader } from "./lib/me.js";
import { isolated } from "./lib/names.js";
import { Brand, Failure, Link, Pending, useLoaded } from "./lib/parts.js";
import { address, agencyOf, here } from "./lib/routes.js";
import * as session from "./lib/session.js";
import { settings } from "./lib/settings.js";
import { Operations } from "./operations/operations.js";
import { Report } from "./operations/report.js";
import { Reports } from "./operations/reports.js";
import { Runbook } from "./operations/runbook.js";
import { Subscription, Subscriptions } from "./operations/subscriptions.js";
import { AccountStatement } from "./payments/account-statement.js";
import { BankFile } from "./payments/bank-file.js";
import { Payouts } from "./payments/payouts.js";
import { Receivables, accountStatementAddress } from "./payments/receivables.js";
import { Reconciliation, Reconciliations } from "./payments/reconciliations.js";
import { Overview } from "./start/overview.js";
import { Search } from "./start/search.js";
import { Statement } from "./statements/statement.js";
import { Statements } from "./statements/statements.js";

/**
 * The pages at which people begin: title, address, content; some for certain roles only. `group`: where in the menu.
 *
 * `oneAgency`: a person of several agencies sees one of them at a time.
 */
const MENU = [
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
  { title: "Subscriptions", parts: ["subscriptions"], content: Subscriptions, roles: STAFF, group: "System" },
  { title: "Operations", parts: ["operations"], content: Operations, roles: STAFF, group: "System" },
];
const GROUPS = ["Money", "Activity", "Agencies", "System"];
/** Pages that other pages link, and the search. */
const LINKED = [
  { title: "Upload a file", parts: ["upload"], content: Upload, roles: ["finance"] },
  { title: "Re-rate events", parts: ["rerate"], content: Rerate, roles: ["finance"] },
];

/** Returns the title and the content of the page at an address, as far as the reader may see it. */
function pageAt({ parts, query }) {
  const [first, ...rest] = parts;
  const entry = !rest.length && [...MENU, ...LINKED].find((one) => one.parts[0] === first);
  if (entry) {
    const { title, content, roles, oneAgency } = entry;
    if (roles && !may(...roles)) return [title, html`<${RoleRefusal} roles=${roles} />`];
    if (oneAgency && reader().agencies.length > 1 && !query.agency) return [title, html`<${AgencyList} />`];
    return [title, html`<${content} query=${query} />`];
  }
  if (first === "close" && rest.length === 1) {
    const [period] = rest;
    const title = `Close ${format.month(period)}`;
    if (!may(...STAFF)) return [title, html`<${RoleRefusal} roles=${STAFF} />`];
    return [title, html`<${Close} period=${period} query=${query} />`];
  }
  if (first === "events" && rest.length === 2) {
    const [source, id] = rest;
    return [`Event ${isolated(id)} of ${isolated(source)}`, html`<${Event} source=${source} id=${id} />`];
  }
  if (first === "statements" && rest.length === 3) {
    const [period, agency, currency] = rest;
    const title = (name) => ["Statement of ", name, ` in ${currency}, ${format.month(period)}`];
    return [title, html`<${Statement} name=${{ period, agency, currency }} />`];
  }
  if (first === "reports" && rest.length === 1) {
    const [run] = rest;
    return [`Run of ${format.run(run)}`, html`<${Report} run=${run} />`];
  }
  if (first === "agencies" && rest.length === 1) {
    const title = (name, isLegal) => [isLegal ? "" : "Agency ", name, ""];
    return [title, html`<${Agency} agency=${rest[0]} query=${query} />`];
  }
  if (first === "receivables" && rest.length === 1) {
    const [agency] = rest;
    const title = (name) => ["Account statement of ", name, ""];
    if (!may(...STAFF) && !reader().agencies.includes(agency)) return [title, html`<${RoleRefusal} roles=${STAFF} />`];
    return [title, html`<${AccountStatement} agency=${agency} query=${query} />`];
  }
  if (first === "reconciliations" && rest.length === 2) {
    const [period, provider] = rest;
    const title = `Reconciliation of ${isolated(provider)}, ${format.month(period)}`;
    if (!may(...STAFF)) return [title, html`<${RoleRefusal} roles=${STAFF} />`];
    return [title, html`<${Reconciliation} key=${rest.join(":")} period=${period} provider=${provider} />`];
  }
  if (first === "exchange-rates" && rest.length === 1) {
    return [`Exchange rate of ${rest[0]}`, html`<${ExchangeRate} currency=${rest[0]} />`];
  }
  if (first === "subscriptions" && rest.length === 1) {
    const title = `Subscription ${isolated(rest[0])}`;
    if (!may(...STAFF)) return [title, html`<${RoleRefusal} roles=${STAFF} />`];
    return [title, html`<${Subscription} name=${rest[0]} />`];
  }
  if (first === "runbooks" && rest.length === 1) return [`Runbook ${rest[0]}`, html`<${Runbook} anchor=${rest[0]} />`];
  return ["No such page", html`<p class="empty">There is no page at this address. Begin with the menu.</p>`];
}

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
function addressFor(agency) {
  const { parts, query } = here();
  if (parts[0] === "agencies" && parts.length === 2) return agencyAddress(agency);
  if (parts[0] === "receivables" && parts.length === 2) return accountStatementAddress(agency);
  return parts.length > 1 ? address([], { agency }) : address(parts, { ...query, agency });
}

function Page({ place }) {
  const [error, again] = useErrorBoundary();
  const [title, content] = pageAt(place);
  const agency = agencyOf(place);
  const legal = useLegalName(agency);
  // A title that depends on the agency has the legal name; its id follows in the heading.
  const parts = typeof title === "string" ? [title] : title(isolated(legal ?? agency), Boolean(legal));
  const [before, , after] = parts;
  useEffect(() => { document.title = `${parts.join("")} · Quarterhour`; }, [parts.join("")]);
  return html`
    <main id="main" tabindex="-1">
      <h1>${parts.length === 1 ? html`<bdi>${title}</bdi>`
        : html`${before}<${AgencyName} agency=${agency} />${after}`}</h1>
      ${error ? html`<${Failure} problem=${error} retry=${again} />` : content}
    </main>`;
}

/** Which time zone and how many digits are shown, and the change of each. */
function Shown({ utc, setUtc, exact, setExact }) {
  const change = () => { format.showUtc(!utc); setUtc(!utc); };
  const round = () => { format.showExact(!exact); setExact(!exact); };
  return html`
    <footer>
      <span>Times are in ${utc ? "UTC" : settings.time_zone}.</span>
      ${settings.time_zone !== "UTC" && html`
        <button type="button" onClick=${change}>Show ${utc ? settings.time_zone : "UTC"}</button>`}
      <span>Amounts in lists ${exact ? "have all their digits" : "are rounded to their currency"}.</span>
      <button type="button" onClick=${round}>${exact ? "Round them" : "Show all digits"}</button>
    </footer>`;
}

/** The agency that the page is of, and a way to the reader's others. */
function AgencyMenu({ agency }) {
  return html`
    <details class="agencies" key=${agency}>
      <summary>${agency ? html`Agency <${AgencyName} agency=${agency} />` : "Choose an agency"}</summary>
      <ul>
        ${reader().agencies.map((one) => html`
          <li key=${one}>
            <${Link} to=${addressFor(one)} aria-current=${one === agency ? "true" : undefined}>
              <${AgencyName} agency=${one} /><//>
          </li>`)}
      </ul>
    </details>`;
}

/** Goes to the content, without a new address: its hash holds the views of lists. */
function skip(event) {
  event.preventDefault();
  document.getElementById("main").focus();
}

/** Gives the focus to the content, which stays where it is scrolled to. */
const focusMain = () => document.getElementById("main").focus({ preventScroll: true });

/** Returns those of some pages that the reader may see. */
const seen = (pages) => pages.filter(({ roles }) => !roles || may(...roles));

/** The pages that the reader may begin at, in groups; people of agencies have their own agency in place of all. */
function Menu({ place: { parts }, agency }) {
  const own = may(...STAFF) || !agency ? [] : [
    { title: "Account statement", parts: ["receivables"], to: accountStatementAddress(agency), group: "Money" },
    { title: "Agency", parts: ["agencies"], to: agencyAddress(agency), group: "Agencies" },
  ];
  const pages = [...seen(MENU), ...own];
  const link = (one) => html`
    <${Link} key=${one.title} to=${one.to ?? address(one.parts)}
      aria-current=${parts[0] === one.parts[0] ? "page" : undefined}>${one.title}<//>`;
  return html`
    <nav aria-label="Pages">
      ${pages.filter((one) => !one.group).map(link)}
      ${GROUPS.map((group) => [group, pages.filter((one) => one.group === group)]).map(([group, some]) =>
        some.length > 0 && html`<div key=${group}><h2>${group}</h2>${some.map(link)}</div>`)}
    </nav>`;
}

/** The head of every page: at its side, or on top of a narrow page, where a button opens the menu. */
function Top({ place, me, agency }) {
  const [open, setOpen] = useState(false);
  useEffect(() => setOpen(false), [place]);
  return html`
    <header class=${open || !me ? "top open" : "top"}>
      <${Brand} />
      ${me && html`<${Search} pages=${seen([...MENU, ...LINKED])} />`}
      ${me && html`
        <button type="button" class="opener" aria-expanded=${open} aria-controls="menu" onClick=${() => setOpen(!open)}>
          Menu
        </button>`}
      <div class="menu" id="menu">
        ${me && html`<${Menu} place=${place} agency=${agency} />`}
        ${me?.agencies.length > 1 && html`<${AgencyMenu} agency=${agency} />`}
        ${session.person() && html`
          <div class="person">
            <bdi>${session.person()}</bdi><button type="button" onClick=${session.signOut}>Sign out</button>
          </div>`}
      </div>
    </header>`;
}

function App() {
  const [place, setPlace] = useState(here);
  const { value: me, problem, again } = useLoaded(load, "");
  const [utc, setUtc] = useState(false);
  const [exact, setExact] = useState(false);
  // At once, not after the first paint: a link may be followed before it.
  useLayoutEffect(() => {
    const moved = () => setPlace(here());
    window.addEventListener("popstate", moved);
    return () => window.removeEventListener("popstate", moved);
  }, []);
  const shown = useRef(place);
  useEffect(() => {
    if (shown.current !== place) focusMain();
    shown.current = place;
  }, [place]);
  const agency = agencyOf(place) || (me?.agencies.length === 1 ? me.agencies[0] : undefined);
  return html`
    <a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <${Top} place=${place} me=${me} agency=${agency} />
    ${me
      ? html`<${Page} place=${place} key=${[...place.parts, agency].join("/")} />`
      : html`<main id="main" tabindex="-1"><h1>Quarterhour</h1><${Pending} problem=${problem} retry=${again} /></main>`}
    <${Shown} ...${{ utc, setUtc, exact, setExact }} />`;
}

/** What a person sees who is not signed in: why, and the button that signs them in. */
function Gate({ problem }) {
  const { title, lines } = inWords(problem);
  return html`
    <main class="gate">
      <${Brand} />
      <section role="alert">
        <h1>${title}</h1>
        ${lines.map((line) => html`<p key=${line}>${line}</p>`)}
        <button type="button" class="first" onClick=${session.beginAgain}>Sign in</button>
      </section>
    </main>`;
}

try {
  await session.begin();
  render(html`<${App} />`, document.body);
} catch (problem) {
  render(html`<${Gate} problem=${problem} />`, document.body);
}
