/** The map of an uploaded file: chosen, or proposed with its source and columns, which a person may change. */
import { html, useState } from "../vendor/htm-preact.js";
import { BY_HAND, reader } from "../lib/me.js";
import { Name, Table } from "../lib/parts.js";
import { Problem } from "../lib/problem.js";
import { MAPS, answered, mapOf } from "./files.js";

const PROPOSED = "proposed";
const OWN = "own";
const PARTS = {
  id: "Key of a row", time: "Time", subject: "Agency", amount: "Amount", currency: "Currency", quantity: "Quantity",
  unit_price: "Unit price", product: "Product", category: "Category", order_id: "Order", customer: "Customer",
};
const HEAD = [["Field"], ["Column of the file"]];
const LONGEST = 60;

const cut = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);
const ofPart = (part) => `column of ${part}`;
const answerTo = ({ line }) => `answer ${line}`;

/** Returns what a form says of the file: its source, and the columns of an event's parts. */
const saidIn = (form) => ({
  source: form.get("source")?.trim() || undefined,
  columns: Object.fromEntries(
    Object.keys(PARTS).map((part) => [part, form.get(ofPart(part))]).filter(([, name]) => name),
  ),
});

/** Returns the answers in a form to the questions of a proposed map, by their lines. */
const answersIn = (form, { questions }) =>
  Object.fromEntries(questions.map((one) => [one.line, form.get(answerTo(one))]));

const areSame = (columns, others) => Object.keys(PARTS).every((part) => columns[part] === others[part]);

/**
 * Returns the map of the file, what it asks for, and `requestOf(form, content)`: the map with its settings, or nothing
 * as long as the proposed map has questions without answers.
 */
export function useMap() {
  const [map, setMap] = useState(PROPOSED);
  const [asked, setAsked] = useState([]);
  const [proposal, setProposal] = useState();
  const proposedFor = async (form, content) => {
    const said = saidIn(form);
    const isNew = !proposal || said.source !== proposal.said.source
      || !(areSame(said.columns, proposal.said.columns) || areSame(said.columns, proposal.parts));
    const proposed = isNew ? { ...await mapOf(content, form.get("file").name, said), said } : proposal;
    const [shipped] = proposed.shipped;
    if (shipped) {
      setMap(shipped);
      return shipped;
    }
    setProposal(proposed);
    if (isNew && proposed.questions.length) return undefined;
    const answers = answersIn(form, proposed);
    if (Object.values(answers).some((one) => !one)) {
      throw new Problem(0, "The map has open questions", "Answer each question, or choose a column in its place.");
    }
    return answered(proposed, answers);
  };
  const requestOf = async (form, content) => {
    let own = map;
    if (map === OWN) own = await form.get("own").text();
    if (map === PROPOSED) own = await proposedFor(form, content);
    const settings = Object.fromEntries(asked.map(([name]) => [name, form.get(`set ${name}`).trim()]));
    return own === undefined ? undefined : { map: own, settings };
  };
  const choose = (event) => {
    setMap(event.target.value);
    setAsked([]);
  };
  return { map, asked, proposal, setAsked, choose, requestOf, forget: () => setProposal() };
}

/** The fields of a form for the map, the source of a proposed one, and what the map asks for. */
export const MapFields = ({ map, asked, setAsked, choose }) => html`
  <label>Map
    <select value=${map} onChange=${choose}>
      <option value=${PROPOSED}>proposed for the file</option>
      ${MAPS.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}
      <option value=${OWN}>a file of your own</option>
    </select>
  </label>
  ${map === PROPOSED && html`<${Source} />`}
  ${map === OWN && html`
    <label>File of the map (TOML)
      <input name="own" type="file" accept=".toml" required onChange=${() => setAsked([])} />
    </label>`}
  ${asked.map(([name, meaning]) => html`
    <label key=${name}>${name}: ${meaning}
      <input name=${`set ${name}`} required maxlength="1000" autocomplete="off" />
    </label>`)}`;

/** The field for the source of the events: one of those that are open to the reader. */
const Source = () => (reader().machine
  ? html`
    <label>Source
      <input name="source" maxlength="200" placeholder="the name of the file" autocomplete="off" />
    </label>`
  : html`
    <label>Source
      <select name="source">
        ${reader().upload_sources.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}
        <option value=${BY_HAND}>${BY_HAND}: payments and adjustments</option>
      </select>
    </label>`);

/** The map that is proposed for a file, if it is: its columns, its questions, what to check, and the map itself. */
export const Proposed = ({ map, proposal }) => map === PROPOSED && proposal && html`
  <fieldset>
    <legend>The proposed map</legend>
    <${Columns} ...${proposal} />
    <div class="bar">
      ${proposal.questions.map((one) => html`
        <label key=${one.line}>${one.question} (${one.name})
          <select name=${answerTo(one)}>
            <option value="">Choose</option>
            ${one.answers.map((answer) => html`<option key=${answer} value=${answer}>${answer}</option>`)}
          </select>
        </label>`)}
    </div>
    ${proposal.checks.length > 0 && html`
      <p class="note">To check:</p>
      <ul class="plain note">
        ${proposal.checks.map((one) => html`<li key=${one}><${Name}>${one}<//></li>`)}
      </ul>`}
    <details>
      <summary>The map</summary>
      <pre tabindex="0">${proposal.map}</pre>
    </details>
  </fieldset>`;

/** The columns from which the parts of an event are read, each of which can be changed. */
const Columns = ({ columns, parts }) => columns.length > 0 && html`
  <${Table} caption="The columns of the file" head=${HEAD}>
    ${Object.entries(PARTS).map(([part, title]) => html`
      <tr key=${part}>
        <th scope="row">${title}</th>
        <td>
          <select name=${ofPart(part)} aria-label=${title} defaultValue=${parts[part] ?? ""}>
            <option value="">by the proposal</option>
            ${columns.map(({ name, values }) => html`
              <option key=${name} value=${name} selected=${name === parts[part]}>
                ${cut(`${name}: ${values.join(", ")}`)}
              </option>`)}
          </select>
        </td>
      </tr>`)}
  <//>
  <p class="note">Choose other columns, and check the file again.</p>`;
