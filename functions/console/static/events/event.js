/** One event: its story with the figures after each step, how its commission was computed, and its sealed line. */
import { html, useState } from "../vendor/htm-preact.js";
import { conditionsIn, wordsOf } from "../lib/rate-words.js";
import { eventPath, get, runPath, withQuery } from "../lib/api.js";
import { dayOf } from "../lib/calendar.js";
import { extraFacts } from "../lib/extra.js";
import * as format from "../lib/format.js";
import { AgencyLink, EventLink, Reference, RunLink, typeColumn } from "../lib/links.js";
import { List } from "../lib/list.js";
import { STAFF, may } from "../lib/me.js";
import { Messages } from "../lib/messages.js";
import { locationText, rateCard } from "../lib/names.js";
import { isViews } from "../lib/open-items.js";
import { Day, Failure, Link, Money, Name, Pending, Person, Table, Time, useLoaded } from "../lib/parts.js";
import { address } from "../lib/routes.js";
import { sealedLines } from "../proof/sealed.js";
import { Recording } from "../recording/recording.js";

const STORY_COLUMNS = [
  { key: "recorded_at", title: "Recorded", type: "time" },
  {
    key: "id", title: "Event", head: true, kind: "long", text: ({ source, id }) => `${source} ${id}`,
    cell: (one) => html`<${EventLink} ...${one} /><${Reference} ...${one} />`,
  },
  typeColumn(),
  { key: "amount", title: "Amount", type: "money", exact: true },
  { key: "left_after", title: "Left of the sale", type: "money", exact: true },
  { key: "commission", title: "Commission", type: "money", exact: true },
  { key: "commission_after", title: "Commission so far", type: "money", exact: true },
];
const TERMS = {
  event: "The event names its rate or its commission.",
  sale: "The terms are those of its sale.",
  refund: "It takes a refund back, with the commission that this had given back.",
  rerating: "The terms are those of the rate card that the re-rating names.",
  card: "A rate card's rule covers the event.",
  default: "No rate card covers the event, so the default rate applies.",
  payment: "A payment bears no commission.",
};
/** The facts of an event: its name, and what is shown; those without a value are left out. */
const FACTS = [
  ["Page", (event) => isViews(event) && html`<${Name}>${event.agency}<//>`],
  ["Agency", (event) => !isViews(event) && html`<${AgencyLink} ...${event} />`],
  ["Order", ({ order_id: order }) =>
    order && html`<${Link} to=${address(["events"], { order })}><${Name}>${order}<//><//>`],
  ["Customer", ({ customer }) =>
    customer && html`<${Link} to=${address(["events"], { customer })}><${Name}>${customer}<//><//>`],
  ["Product", ({ product }) => product && html`<${Name}>${product}<//>`],
  ["Category", ({ category }) => category && html`<${Name}>${category}<//>`],
  ["Location", ({ location }) => location && locationText(location)],
  ["Refers to", ({ refers_to: id, refers_to_source: other, source }) =>
    id && html`<${EventLink} source=${other || source} id=${id} />`],
  ["Period", ({ period, before_first_period: first }) => period
    && `${format.month(period)}${first ? `, before ${format.month(first)}: on no statement` : ""}`],
  ["Tax point", ({ tax_point: day }) => day && html`<${Day} on=${day} />`],
  ["Reason", ({ reason }) => reason && html`<${Name}>${reason}<//>`],
  ["Statement", ({ statement }) => statement && html`<${Name}>${statement}<//>`],
  ["Recorded by", ({ recorded_by: by }) => by && html`<${Person} by=${by} />`],
  ["Approved by", ({ approved_by: by }) => by && html`<${Person} by=${by} />`],
];
const SEALED = [
  "quarter_hour", "position", "recorded_at", "source", "id", "type", "agency", "currency", "amount", "commission_rate",
  "commission",
];

/** The page. */
export function Event({ source, id }) {
  const path = eventPath({ source, id });
  const [turn, setTurn] = useState(0);
  const loaded = useLoaded(() => Promise.all([get(path), get(`${path}/explain`)]), path);
  if (!loaded.value) return html`<${Pending} problem=${loaded.problem} retry=${loaded.again} />`;
  const [event, explanation] = loaded.value;
  const isSale = event.type === "sale.recorded";
  return html`
    <p class="note">${format.eventType(event.type)}, recorded <${Time} at=${event.recorded_at} /></p>
    <${Facts} event=${event} />
    ${isSale && html`
      <${Recording} agency=${event.agency} currencies=${[event.currency]} currency=${event.currency} sale=${event}
        onRecorded=${() => setTurn(turn + 1)} />`}
    <${Story} path=${path} event=${event} key=${turn} />
    <h2>Commission</h2>
    <${Computation} caption="How the commission was computed" of=${explanation} event=${event} />
    ${explanation.in_force && html`
      <h2>In force after a re-rating</h2>
      <${Computation} caption="The commission of the whole amount" of=${explanation.in_force}
        event=${event} />`}
    ${may(...STAFF) && html`<${Sealed} event=${event} />`}
    <${Messages} kind="lines" subject=${`${event.source}#${event.id}`} />`;
}

const Facts = ({ event }) => html`
  <dl class="facts">
    ${FACTS.map(([name, fact]) => [name, fact(event)]).filter(([, shown]) => shown).map(([name, shown]) => html`
      <div key=${name}><dt>${name}</dt><dd>${shown}</dd></div>`)}
    ${event.extra && extraFacts(event.extra).map(([name, fact]) => html`
      <div key=${`extra ${name}`}><dt><${Name}>${name}<//></dt><dd><${Name}>${fact}<//></dd></div>`)}
  </dl>`;

const Story = ({ path, event }) => html`
  <h2>Story</h2>
  <${List} name="story" caption=${`The sale and what refers to it, in ${event.currency}`} size="25"
    columns=${STORY_COLUMNS} path=${`${path}/story`} sort=${{ by: "recorded_at", down: false }}
    current=${(one) => one.source === event.source && one.id === event.id} />`;

/** Where the terms of a commission come from, and the steps that compute it. */
function Computation({ caption, of, event: { agency, currency } }) {
  const { terms, steps } = of;
  return html`
    <p>${TERMS[terms.from] || "The event was recorded by a version that stored no terms."}
      ${terms.document && ` ${rateCard(terms.document, agency)}, version ${terms.version}.`}
      ${terms.note && terms.from !== "payment" && html` ${terms.note}.`}
    </p>
    ${terms.looked_at && html`
      <ul class="plain">
        ${terms.looked_at.map((one) => html`
          <li key=${one.document}>
            ${rateCard(one.document, agency)}${one.version ? `, version ${one.version}` : ""}: ${one.result}
          </li>`)}
      </ul>`}
    ${terms.rule && html`
      <p class="note">The rule: <${Name}>${`${wordsOf(terms.rule)} (${conditionsIn(terms.rule)})`}<//></p>`}
    <${Table} caption=${`${caption}, in ${currency}`} head=${[["Step"], ["Computation"], ["Result", "n"]]}>
      ${steps.map((one, index) => html`
        <tr key=${index}>
          <th scope="row">${one.name}</th><td>${one.says}</td><${Money} value=${one.gives} currency=${currency} exact />
        </tr>`)}
      <tr class="sum">
        <th scope="row">Commission</th><td></td><${Money} value=${of.commission} currency=${currency} exact />
      </tr>
    <//>`;
}

/** Returns the instant at which the quarter-hour of a partition such as 202610230130#00 begins. */
function startOf(partition) {
  const [, year, month, day, hour, minute] = /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})#/.exec(partition);
  return `${year}-${month}-${day}T${hour}:${minute}:00Z`;
}

/** Returns the run that sealed a quarter-hour; null if none did yet. */
async function runAt(start) {
  const { items } = await get(withQuery("/reports", { date: dayOf(start) }));
  return items.find((one) => one.from <= start && start < one.to) ?? null;
}

/** Returns the sealed line of an event. */
async function sealedLine(run, event) {
  const { files } = await get(runPath(run));
  const start = startOf(event.partition);
  const folder = `ledger/dt=${dayOf(start)}/quarter=${start.slice(11, 16).replace(":", "")}/`;
  for (const file of files.filter((one) => one.key.startsWith(folder))) {
    const line = (await sealedLines(file)).find((one) => one.source === event.source && one.id === event.id);
    if (line) return { file, line };
  }
  return { line: null };
}

function Sealed({ event }) {
  const start = startOf(event.partition);
  const { value: run, problem, again } = useLoaded(() => runAt(start).then((found) => ({ found })), start);
  const [state, setState] = useState({});
  if (!run) return html`<h2>Sealed line</h2><${Pending} problem=${problem} retry=${again} />`;
  if (!run.found) {
    return html`<h2>Sealed line</h2><p class="empty">It is not sealed yet. The next report seals its quarter-hour.</p>`;
  }
  const load = () => {
    setState({ busy: true });
    sealedLine(run.found.run, event).then(setState, (failure) => setState({ failure }));
  };
  return html`
    <h2>Sealed line</h2>
    <p>The run of <${RunLink} run=${run.found.run} /> sealed it. Its page proves the file.</p>
    ${state.failure && html`<${Failure} problem=${state.failure} retry=${load} />`}
    ${state.line === undefined && !state.failure && html`
      <p><button type="button" disabled=${state.busy} onClick=${load}>
        ${state.busy ? "Loading…" : "Compare with the sealed line"}
      </button></p>`}
    ${state.line === null && html`
      <p class="mark" role="alert">This event is missing from the sealed lines of its quarter-hour.</p>`}
    ${state.line && html`<${Comparison} event=${event} ...${state} />`}`;
}

function Comparison({ event, line, file }) {
  const recorded = { ...event, quarter_hour: event.partition };
  const rows = SEALED.map((name) => [name, recorded[name], line[name]]);
  const equal = rows.every(([, one, other]) => one === other);
  return html`
    <p class=${equal ? "proven" : "mark"} role="status">
      ${equal ? "The sealed line and the ledger say the same." : "The sealed line and the ledger differ."}
    </p>
    <${Table} caption=${file.key} head=${[["Column"], ["Ledger"], ["Sealed line"]]}>
      ${rows.map(([name, one, other]) => html`
        <tr key=${name}>
          <th scope="row">${format.words(name)}</th>
          <td class="long"><${Name}>${one}<//></td><td class="long"><${Name}>${other}<//></td>
        </tr>`)}
    <//>
    <p class="note">The file has the SHA-256 <code class="long">${file.sha256}</code>.</p>`;
}
