/** The console: the frame around every page, and the page of the present address. */
import { html, render, useEffect, useErrorBoundary, useLayoutEffect, useRef, useState } from "./vendor/htm-preact.js";
import { inWords } from "./lib/advice.js";
import { useLegalName } from "./lib/agencies.js";
import * as format from "./lib/format.js";
import { AgencyName, accountStatementAddress, agencyAddress } from "./lib/links.js";
import { STAFF, load, may, reader } from "./lib/me.js";
import { isolated } from "./lib/names.js";
import { Brand, Failure, Link, Pending, useLoaded } from "./lib/parts.js";
import { address, agencyOf, here } from "./lib/routes.js";
import * as session from "./lib/session.js";
import { GROUPS, LINKED, MENU, addressFor, pageAt, seen } from "./pages.js";
import { Search } from "./start/search.js";

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
      <span>Times are in ${utc ? "UTC" : format.marketplaceZone()}.</span>
      ${format.marketplaceZone() !== "UTC" && html`
        <button type="button" onClick=${change}>Show ${utc ? format.marketplaceZone() : "UTC"}</button>`}
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
