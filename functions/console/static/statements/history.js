/** The history of a statement: its changes, and the disputes of its lines. */
import { html } from "../vendor/htm-preact.js";
import { EventLink } from "../lib/links.js";
import { Name, Person, Status, Time } from "../lib/parts.js";

/** Returns the key of a line. */
export const identity = ({ source, id }) => `${source}#${id}`;

/** Returns the lines of a history with whether their dispute is open: its resolution names the line again. */
export function disputesOf(changes) {
  const open = {};
  for (const { line } of changes) if (line) open[identity(line)] = open[identity(line)] === undefined;
  return open;
}

/** The changes of a statement, those from the index `from` on. A line that is named again is resolved. */
export function History({ changes, from = 0, resolve }) {
  if (changes.length <= from) return null;
  const open = disputesOf(changes);
  const isNamed = (line, before) => changes.slice(0, before).some((one) => one.line && identity(one.line) === line);
  const did = (line, index) => line && html`
    ${" "}${isNamed(identity(line), index) ? "resolved" : "disputed"} the line <${EventLink} ...${line} />`;
  return html`
    <section class="card">
    <h2>History</h2>
    <ul class="plain">
      ${changes.map((one, index) => index >= from && html`
        <li key=${index}>
          <${Time} at=${one.at} /> <${Status} value=${one.status} />
          ${" "}The ${one.party}${one.by && html` (<${Person} by=${one.by} />)`}${did(one.line, index)}:
          ${" "}<${Name}>${one.reason}<//>
          ${resolve && one.line && open[identity(one.line)] && html`
            ${" "}<button type="button" aria-label=${`Resolve ${one.line.id}`} onClick=${() => resolve(one.line)}>
              Resolve
            </button>`}
        </li>`)}
    </ul>
    </section>`;
}
