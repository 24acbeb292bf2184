/** The console: the frame around every page, and the page of the present address. */
import { html, render, useEffect, useErrorBoundary, useLayoutEffect, useRef, useState } from "./vendor/htm-preact.js";
import * as format from "./format.js";
import { Accounts } from "./pages/accounts.js";
import { Agencies } from "./pages/agencies.js";
import { Agency } from "./pages/agency.js";
import { Event } from "./pages/event.js";
import { Events } from "./pages/events.js";
import { ExchangeRate, ExchangeRates } from "./pages/exchange-rates.js";
import { Locations } from "./pages/locations.js";
import { Overview } from "./pages/overview.js";
import { Report } from "./pages/report.js";
import { Reports } from "./pages/reports.js";
import { Statement } from "./pages/statement.js";
import { Statements } from "./pages/statements.js";
import { Failure, Link } from "./parts.js";
import { address, here } from "./routes.js";
import * as session from "./session.js";
import { settings } from "./settings.js";

const MENU = [
  ["Overview", []],
  ["Accounts", ["accounts"]],
  ["Agencies", ["agencies"]],
  ["Events", ["events"]],
  ["Statements", ["statements"]],
  ["Reports", ["reports"]],
  ["Locations", ["locations"]],
  ["Exchange rates", ["exchange-rates"]],
];

/** Returns the title and the content of the page at an address. */
function pageAt({ parts, query }) {
  const [first, ...rest] = parts;
  if (!parts.length) return ["Overview", html`<${Overview} />`];
  if (first === "accounts" && !rest.length) return ["Accounts", html`<${Accounts} />`];
  if (first === "events" && !rest.length) return ["Events", html`<${Events} query=${query} />`];
  if (first === "events" && rest.length === 2) {
    const [source, id] = rest;
    return [`Event ${id} of ${source}`, html`<${Event} source=${source} id=${id} />`];
  }
  if (first === "statements" && !rest.length) return ["Statements", html`<${Statements} query=${query} />`];
  if (first === "statements" && rest.length === 3) {
    const [period, agency, currency] = rest;
    const title = `Statement of ${agency} in ${currency}, ${format.month(period)}`;
    return [title, html`<${Statement} name=${{ period, agency, currency }} />`];
  }
  if (first === "reports" && !rest.length) return ["Reports", html`<${Reports} query=${query} />`];
  if (first === "reports" && rest.length === 1) return [`Run ${rest[0]}`, html`<${Report} run=${rest[0]} />`];
  if (first === "agencies" && !rest.length) return ["Agencies", html`<${Agencies} />`];
  if (first === "agencies" && rest.length === 1) {
    return [`Agency ${rest[0]}`, html`<${Agency} agency=${rest[0]} query=${query} />`];
  }
  if (first === "exchange-rates" && !rest.length) return ["Exchange rates", html`<${ExchangeRates} />`];
  if (first === "exchange-rates" && rest.length === 1) {
    return [`Exchange rate of ${rest[0]}`, html`<${ExchangeRate} currency=${rest[0]} />`];
  }
  if (first === "locations" && !rest.length) return ["Locations", html`<${Locations} query=${query} />`];
  return ["No such page", html`<p>There is no page at this address. Begin with the menu above.</p>`];
}

function Page({ place }) {
  const [error] = useErrorBoundary();
  const [title, content] = pageAt(place);
  useEffect(() => { document.title = `${title} · Quarterhour`; }, [title]);
  return html`
    <main id="main" tabindex="-1">
      <h1><bdi>${title}</bdi></h1>
      ${error ? html`<${Failure} problem=${error} />` : content}
    </main>`;
}

/** Which time zone is shown, and the change to the other one. */
function Zone({ utc, setUtc }) {
  const change = () => { format.showUtc(!utc); setUtc(!utc); };
  return html`
    <footer>
      Times are in ${utc ? "UTC" : settings.time_zone}.
      ${settings.time_zone !== "UTC" && html`
        ${" "}<button type="button" onClick=${change}>Show ${utc ? settings.time_zone : "UTC"}</button>`}
    </footer>`;
}

function App() {
  const [place, setPlace] = useState(here);
  const [utc, setUtc] = useState(false);
  // At once, not after the first paint: a link may be followed before it.
  useLayoutEffect(() => {
    const moved = () => setPlace(here());
    window.addEventListener("popstate", moved);
    return () => window.removeEventListener("popstate", moved);
  }, []);
  const shown = useRef(place);
  useEffect(() => {
    if (shown.current !== place) document.getElementById("main").focus();
    shown.current = place;
  }, [place]);
  return html`
    <a class="skip" href="#main">Skip to the content</a>
    <header class="top">
      <strong>Quarterhour</strong>
      <nav aria-label="Pages">
        ${MENU.map(([text, parts]) => html`
          <${Link} to=${address(parts)} aria-current=${place.parts[0] === parts[0] ? "page" : undefined}>${text}<//>`)}
      </nav>
      ${session.person() && html`
        <span><bdi>${session.person()}</bdi> <button type="button" onClick=${session.signOut}>Sign out</button></span>`}
    </header>
    <${Page} place=${place} key=${place.parts.join("/")} />
    <${Zone} utc=${utc} setUtc=${setUtc} />`;
}

try {
  await session.begin();
  render(html`<${App} />`, document.body);
} catch (problem) {
  const retry = session.beginAgain;
  render(html`<main><h1>Sign in</h1><${Failure} problem=${problem} retry=${retry} /></main>`, document.body);
}
