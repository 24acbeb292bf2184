/** Proposed versions of documents: each beside the version in force, and what finance decides. */
import { html, useState } from "../vendor/htm-preact.js";
import { all, get, getOr, put, segment } from "../lib/api.js";
import { may, reader } from "../lib/me.js";
import { Dialog, Name, Pending, Person, Table, Time, useLoaded, useSending } from "../lib/parts.js";

const TITLES = { release: "Approve", discard: "Discard" };
const pathOf = (document) => `/documents/${segment(document)}`;

/** Returns each open proposal, with the content of the latest version of its document. */
const load = async () => Promise.all((await all("/documents", { kind: "proposal" })).map(async ({ document }) => {
  const [proposal, latest] = await Promise.all([get(`${pathOf(document)}/proposal`), getOr(pathOf(document), {})]);
  return { ...proposal, latest: latest.content ?? {} };
}));

/** The section of a page that lists them; nothing if there is none. */
export function Proposals() {
  const { value, problem, again } = useLoaded(load, "");
  const [asking, setAsking] = useState(null);
  if (!value) return html`<${Pending} problem=${problem} retry=${again} />`;
  return html`
    ${value.length > 0 && html`<h2>Changes that a second person must approve</h2>`}
    ${value.map((one) => html`
      <section key=${one.document} class="card" aria-label=${one.document}>
        <${Differences} ...${one} label="What changes" />
        ${may("finance") && html`
          <p class="bar">
            ${Object.entries(TITLES).map(([decision, title]) => (decision === "discard" || !isOwn(one)) && html`
              <button key=${decision} type="button" aria-label=${`${title} ${one.document}`}
                onClick=${() => setAsking({ proposal: one, decision })}>${title}</button>`)}
          </p>`}
      </section>`)}
    ${asking && html`<${Decide} ...${asking} onDone=${again} onClose=${() => setAsking(null)} />`}`;
}

const isOwn = (one) => one.proposed_by === reader().name;

function Differences({ document, content, latest, proposed_by: by, proposed_at: at, label }) {
  const text = (value) => (value === undefined ? "" : JSON.stringify(value));
  const names = Object.keys({ ...latest, ...content }).filter((name) => text(latest[name]) !== text(content[name]));
  return html`
    <p><strong><${Name}>${document}<//></strong>, proposed by <${Person} by=${by} /> <${Time} at=${at} /></p>
    <${Table} label=${`${label}: ${document}`} head=${[["What"], ["Now"], ["Proposed"]]}>
      ${names.map((name) => html`
        <tr key=${name}>
          <th scope="row">${name}</th><td class="long"><${Name}>${text(latest[name])}<//></td>
          <td class="long"><${Name}>${text(content[name])}<//></td>
        </tr>`)}
    <//>`;
}

function Decide({ proposal, decision, onDone, onClose }) {
  const { document, sha256 } = proposal;
  const send = (form) => put(`${pathOf(document)}/proposal`, { decision, sha256, reason: form.get("reason").trim() });
  return html`
    <${Dialog} title=${`${TITLES[decision]} a proposed version`} action=${TITLES[decision]} onClose=${onClose} wide
      ...${useSending(send, onDone)}>
      <${Differences} ...${proposal} label=${TITLES[decision]} />
      <label>Reason <input name="reason" required maxlength="200" autocomplete="off" autofocus /></label>
    <//>`;
}
