/** The search: one box over pages, agencies, statements, events, orders and customers; it needs no span of time. */
import { html, useEffect, useLayoutEffect, useMemo, useState } from "../vendor/htm-preact.js";
import { allAgencies, matching } from "../lib/agencies.js";
import { get, withQuery } from "../lib/api.js";
import { isMonth } from "../lib/calendar.js";
import * as format from "../lib/format.js";
import { agencyAddress, eventAddress, reportAddress, statementAddress } from "../lib/links.js";
import { STAFF, may } from "../lib/me.js";
import { agencyText, isolated } from "../lib/names.js";
import { withMoney } from "../lib/open-items.js";
import { Failure, Name, useOpened } from "../lib/parts.js";
import { address, navigate } from "../lib/routes.js";
import { folded } from "../lib/rows.js";

const PAUSE = 200; // Milliseconds without a key before the request.
const AGENCIES = 8;
const LIST = "search-results";
const NONE = [];
const RUN = /^\d{4}-\d{2}-\d{2}T\d{4}-\d{4}$/;
const ACTIONS = [
  { title: "Register an agency", parts: ["agencies"], roles: ["finance"] },
  { title: "Adjust the commission of a sale", parts: ["events"], roles: ["finance"] },
  { title: "Pause or resume the reports", parts: ["operations"], roles: ["finance"] },
  { title: "Show disputed statements", parts: ["statements"], query: { status: "disputed" } },
  { title: "Verify the newest run", parts: ["reports"], roles: STAFF },
];

/** The button that opens the search; `/` and Ctrl-K open it, too. `pages`: those of the menu that the reader sees. */
export function Search({ pages }) {
  const [open, setOpen] = useState(false);
  useLayoutEffect(() => { // Before it is painted: a key may come as soon as the page is seen.
    const pressed = (event) => {
      const isShortcut = event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !isWriting();
      const isCommand = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey;
      if ((!isShortcut && !isCommand) || document.querySelector("dialog[open]")) return;
      event.preventDefault();
      setOpen(true);
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, []);
  return html`
    <button type="button" aria-haspopup="dialog" aria-keyshortcuts="/ Control+K" onClick=${() => setOpen(true)}>
      Search
    </button>
    ${open && html`<${Box} pages=${pages} onClose=${() => setOpen(false)} />`}`;
}

const isWriting = () => document.activeElement?.matches("input, select, textarea, [contenteditable]");

function Box({ pages, onClose }) {
  const place = useOpened();
  const [text, setText] = useState("");
  const { agencies, found, problem, busy } = useFound(text.trim());
  const groups = useMemo(() => groupsOf(text.trim(), pages, agencies, found), [text, pages, agencies, found]);
  const options = groups.flatMap((group) => group.options);
  const [chosen, setChosen] = useState(0);
  useEffect(() => { setChosen(0); }, [text]);
  const active = Math.min(chosen, options.length - 1);
  useEffect(() => { document.getElementById(idOf(active))?.scrollIntoView({ block: "nearest" }); }, [active]);
  const go = (to) => {
    place.current.close();
    navigate(to);
  };
  const pressed = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && options.length) {
      event.preventDefault();
      setChosen((active + step + options.length) % options.length);
    } else if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      if (options[active]) go(options[active].to);
    }
  };
  return html`
    <dialog ref=${place} class="search" aria-label="Search" closedby="any" onClose=${onClose}>
      <label>Name, number or id
        <input type="search" role="combobox" aria-autocomplete="list" aria-expanded=${options.length > 0}
          aria-controls=${LIST} aria-activedescendant=${options.length ? idOf(active) : undefined} autocomplete="off"
          spellcheck="false" maxlength="200" autofocus value=${text}
          onInput=${(event) => setText(event.target.value)} onKeyDown=${pressed} />
      </label>
      ${problem && html`<${Failure} problem=${problem} />`}
      <${Results} ...${{ groups, active, setChosen, go }} />
      <p class="note" role="status">
        ${busy ? "Searching…" : options.length ? `${format.count(options.length)} results` : "Nothing has this name."}
        ${found?.all_sources === false && text.trim() && " Not all sources were searched: write source and id."}
      </p>
    </dialog>`;
}

/** What is found, in groups; the options are numbered through all of them. */
function Results({ groups, active, setChosen, go }) {
  let number = 0;
  return html`
    <div id=${LIST} role="listbox" aria-label="Results">
      ${groups.map((group) => html`
        <div key=${group.title} role="group" aria-label=${group.title}>
          <div class="note" aria-hidden="true">${group.title}</div>
          ${group.options.map((one) => {
            const at = number++;
            return html`
              <div key=${one.to + one.text} id=${idOf(at)} role="option" aria-selected=${at === active}
                onClick=${() => go(one.to)} onMouseMove=${() => at !== active && setChosen(at)}>
                <${Name}>${one.text}<//>${one.more && html` <span class="note"><${Name}>${one.more}<//></span>`}
              </div>`;
          })}
        </div>`)}
    </div>`;
}

const idOf = (number) => `search-${number}`;

/** Returns the agencies, and what the API has found by a text, once nobody has typed for a moment. */
function useFound(text) {
  const [agencies, setAgencies] = useState(null);
  const [state, setState] = useState({});
  useEffect(() => {
    let current = true;
    allAgencies().then((all) => current && setAgencies(all), (problem) => current && setState({ problem }));
    return () => { current = false; };
  }, []);
  useEffect(() => {
    if (!text) return undefined;
    let current = true;
    const timer = setTimeout(() => {
      get(withQuery("/search", { q: text })).then(
        (found) => current && setState({ text, found }),
        (problem) => current && setState({ text, problem }),
      );
    }, PAUSE);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [text]);
  const isNow = state.text === text;
  const busy = !state.problem && text !== "" && (!isNow || !agencies);
  return { agencies: agencies ?? NONE, found: isNow ? state.found : undefined, problem: state.problem, busy };
}

/** Returns the results by group, the surest first: what has this number or id, then names, then pages. */
function groupsOf(text, pages, agencies, found) {
  const exact = found ? exactOf(found, agencies) : [];
  const named = text ? matching(agencies, text) : [];
  const isTitle = ({ title }) => !text || folded(title).split(" ").some((word) => word.startsWith(folded(text)))
    || folded(title).startsWith(folded(text));
  const linkTo = ({ title, parts, query }) => ({ text: title, to: address(parts, query) });
  return [
    ...exact,
    { title: "Agencies", options: named.slice(0, AGENCIES).map(agencyOption) },
    { title: "Pages", options: pages.filter(isTitle).map(linkTo) },
    {
      title: "Actions",
      options: ACTIONS.filter(({ roles }) => !roles || may(...roles)).filter(isTitle).map(linkTo),
    },
    { title: "Look for", options: text ? lookFor(text) : [] },
  ].filter(({ options }) => options.length > 0);
}

const agencyOption = ({ agency, legal_name: name }) => ({
  text: name ?? agency, more: name && agency, to: agencyAddress(agency),
});

function exactOf({ accounts, statements, events, orders, customers }, agencies) {
  const names = new Map(agencies.map((one) => [one.agency, one.legal_name]));
  const named = (agency) => agencyText(agency, names.get(agency));
  const amount = (one) => (one.amount === undefined ? "" : `${format.money(one.amount, one.currency)} ${one.currency}`);
  return [
    {
      title: "Statements",
      options: statements.map((one) => ({
        text: one.number,
        more: `${format.words(one.document)} of ${named(one.agency)} in ${one.currency}, ${format.month(one.period)}`,
        to: statementAddress(one),
      })),
    },
    {
      title: "Events",
      options: events.map((one) => ({
        text: `${one.source} ${one.id}`,
        more: `${format.eventType(one.type)} of ${named(one.agency)}, ${amount(one)}, ${format.time(one.recorded_at)}`,
        to: eventAddress(one),
      })),
    },
    {
      title: "Orders",
      options: orders.map((one) => ({
        text: `Order ${one.order}`,
        more: `${one.status}, ${format.money(one.total, one.currency)} ${one.currency}`,
        to: address(["events"], { order: one.order }),
      })),
    },
    {
      title: "Customers",
      options: customers.map(({ customer }) => ({
        text: `Customer ${customer}`, to: address(["events"], { customer }),
      })),
    },
    {
      title: "Accounts",
      options: withMoney(accounts).map(({ agency, currency }) => ({
        text: `${named(agency)} in ${currency}`, to: address(["agencies", agency], { currency }),
      })),
    },
  ];
}

/** Returns the pages that look for a text themselves: the events of an order or of a customer, a month, a run. */
function lookFor(text) {
  return [
    ...(isMonth(text)
      ? [{ text: `Statements of ${format.month(text)}`, to: address(["statements"], { period: text }) }]
      : []),
    ...(RUN.test(text) && may(...STAFF) ? [{ text: `Run of ${format.run(text)}`, to: reportAddress(text) }] : []),
    { text: `Events of the order ${isolated(text)}`, to: address(["events"], { order: text }) },
    { text: `Events of the customer ${isolated(text)}`, to: address(["events"], { customer: text }) },
  ];
}
