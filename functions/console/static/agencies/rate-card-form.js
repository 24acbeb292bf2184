/** The form in which finance writes the next version of a rate card: when it begins, its rules, and what it changes. */
import { html, useState } from "../vendor/htm-preact.js";
import { getOr, put, segment } from "../lib/api.js";
import * as format from "../lib/format.js";
import { may } from "../lib/me.js";
import { rateCard } from "../lib/names.js";
import { Pending, useLoaded } from "../lib/parts.js";
import { NewVersion } from "./new-version.js";
import { contentOf } from "./rate-card-content.js";
import { Effect, effectOf } from "./rate-card-effect.js";
import { Fields } from "./rate-card-fields.js";
import { conditionsIn, wordsOf } from "../lib/rate-words.js";

const DEFAULT = "rate-card:default";
const NEW = { version: 0, content: { rules: [{}] } };

const documentPath = (document) => `/documents/${segment(document)}`;

/** Returns the latest version of a rate card, which may be in force only later; an empty one if there is none. */
const latestOf = (document) => getOr(documentPath(document), NEW);

/** Returns the rate cards that can apply to an agency, in the order of precedence. */
function documentsOf(agency, group) {
  const own = /^(default|\*|group\/.*)$/s.test(agency) ? [] : [`rate-card:${agency}`];
  return [...own, ...(group ? [`rate-card:group/${group}`] : []), DEFAULT];
}

/** The buttons with which finance writes a rate card of an agency in a group, or in none. */
export function WriteRateCard({ agency, group, onDone }) {
  const [document, setDocument] = useState(null);
  const [isProposed, setProposed] = useState(false);
  const done = (written) => {
    setProposed(Boolean(written.proposed_by));
    onDone();
  };
  if (!may("finance")) return null;
  return html`
    <p class="bar">
      ${documentsOf(agency, group).map((one) => html`
        <button key=${one} type="button" onClick=${() => setDocument(one)}>
          New version: ${rateCard(one, agency)}
        </button>`)}
    </p>
    ${isProposed && html`
      <p role="status">It is proposed. Another person of finance approves it on the page Operations.</p>`}
    ${document && html`
      <${Write} key=${document} ...${{ document, agency, onDone: done }} onClose=${() => setDocument(null)} />`}`;
}

function Write({ document, agency, onDone, onClose }) {
  const { value: latest, problem, again } = useLoaded(() => latestOf(document), document);
  if (!latest) return html`<${Pending} problem=${problem} retry=${again} />`;
  return html`
    <${NewVersion} ...${{ latest, onDone, onClose, contentOf, factsOf }} fields=${Fields} wide
      title=${`New version of a rate card: version ${latest.version + 1}`} action="Save"
      check=${(content) => effectOf(document, agency, content)} review=${Effect}
      read=${() => latestOf(document)} write=${(body) => put(documentPath(document), body)}>
      <p>${rateCard(document, agency)}, for ${scopeOf(document)}. The most specific rule counts: by product, then
        category, then location, then currency. Recorded events keep their terms.</p>
    <//>`;
}

function scopeOf(document) {
  if (document === DEFAULT) return "every agency";
  return document.startsWith("rate-card:group/") ? "each agency of the group" : "this agency alone";
}

/** Returns what a rate card says, as people read it: for which events, and what it charges. */
const factsOf = ({ valid_from: validFrom, valid_to: validTo, rules }) => [
  ["In force from", validFrom ? format.time(validFrom) : ""],
  ...(validTo ? [["Until", format.time(validTo)]] : []),
  ...rules.filter((rule) => rule.percent || rule.charges).map((rule) => [conditionsIn(rule), wordsOf(rule)]),
];
