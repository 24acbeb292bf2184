/** Re-rating: what an agency's events would be charged by another rate card, and the recording of the differences. */
import { html, useRef, useState } from "../vendor/htm-preact.js";
import { AgencyField, withAgency } from "../lib/filters.js";
import * as format from "../lib/format.js";
import { AgencyName, EventLink } from "../lib/links.js";
import { List } from "../lib/list.js";
import { rateCard } from "../lib/names.js";
import { Failure, Link, Name, ReratingSums, Status, fieldsOf } from "../lib/parts.js";
import { address } from "../lib/routes.js";
import { inTheWordsOfTheApi, previewOf, reasonsOf, sendBatches } from "./files.js";

const CHANGES = [
  {
    key: "id", title: "Event", head: true, kind: "long",
    cell: ({ source, id }) => html`<${EventLink} source=${source} id=${id} />`,
  },
  { key: "recorded_at", title: "Recorded", type: "time" },
  { key: "amount", title: "Amount", type: "money" },
  { key: "commission", title: "Commission", type: "money" },
  { key: "would_be", title: "Would be", type: "money" },
  { key: "difference", title: "Difference", type: "money" },
];
const AT_A_TIME = 400;
const counted = (many) => `${format.count(many)} re-rating${many === 1 ? "" : "s"}`;

/** Returns the state of a re-rating, and what reads its preview by the fields of a form, records it, or stops that. */
function useRerating() {
  const [state, setState] = useState({});
  const isStopped = useRef(false);
  const { preview, result } = state;
  const events = preview?.changes.flatMap((one) => one.events) ?? [];
  const check = async (fields) => {
    setState({ busy: true });
    try {
      const { agency, rate_card: card, version, from, to, reason } = await withAgency(fields);
      const asked = { agency, rate_card: card.trim() || `rate-card:${agency}`, reason: reason.trim() };
      const span = { from: format.instant(`${from}T00:00`), to: format.instant(`${to}T00:00`) };
      setState({ preview: { agency, ...await previewOf({ ...asked, ...span, ...(version && { version }) }) } });
    } catch (refused) {
      setState({ problem: refused });
    }
  };
  const send = async () => {
    isStopped.current = false;
    const now = { counts: { ...result?.counts }, refused: [...result?.refused ?? []], sent: result?.sent ?? 0 };
    setState({ preview, result: now, busy: true });
    try {
      while (now.sent < events.length && !isStopped.current) {
        await sendBatches(now, events.slice(now.sent, now.sent + AT_A_TIME));
        now.sent = Math.min(now.sent + AT_A_TIME, events.length);
        setState({ preview, result: now, busy: true });
      }
      setState({ preview, result: now });
    } catch (failure) {
      setState({ preview, result: now, problem: failure });
    }
  };
  const stop = () => { isStopped.current = true; };
  return { ...state, events, check, send, stop, forget: () => (preview || state.problem) && setState({}) };
}

/** The page. Of `query`: the agency that the form begins with. */
export function Rerate({ query }) {
  const { busy, problem, preview, result, events, check, send, stop, forget } = useRerating();
  const isLeft = !result || result.sent < events.length;
  return html`
    <p>The events that an agency recorded in a span are charged by another version of a rate card. The differences count
      in the month in which they are recorded; earlier months keep their figures.</p>
    <form onSubmit=${(event) => { const fields = fieldsOf(event); if (!busy) check(fields); }}
      onInput=${forget}>
      <div class="bar">
        <${AgencyField} value=${query.agency} required />
        <label>Rate card
          <input name="rate_card" maxlength="250" autocomplete="off" placeholder="the agency's own" />
        </label>
        <label>Version <input name="version" type="number" min="1" step="1" placeholder="latest" /></label>
        <label>Recorded from <input name="from" type="date" required /></label>
        <label>To, not included <input name="to" type="date" required /></label>
        <label>Reason <input name="reason" required maxlength="200" autocomplete="off" /></label>
        <button class=${preview ? "" : "first"} disabled=${busy}>Preview</button>
      </div>
    </form>
    ${busy && !preview && html`<p role="status">Reading…</p>`}
    ${preview && html`<${Preview} preview=${preview} />`}
    ${preview && events.length > 0 && isLeft && html`
      <p class="bar">
        ${busy
          ? html`<button type="button" onClick=${stop}>Stop</button>`
          : html`<button type="button" class="first" onClick=${send}>
              ${result ? "Continue" : `Record ${counted(events.length)}`}</button>`}
      </p>`}
    ${result && html`<${Recorded} result=${result} of=${events.length} />`}
    ${problem && html`<${Failure} problem=${inTheWordsOfTheApi(problem)} />`}`;
}

function Preview({ preview: { agency, rate_card: card, version, accounts, changes } }) {
  return html`
    <h2>Events of <${AgencyName} agency=${agency} />. ${rateCard(card, agency)}, version ${format.count(version)}</h2>
    ${accounts.length === 0 && html`<p class="empty">It has no rule for an event of this span.</p>`}
    ${accounts.length > 0 && html`
      <${ReratingSums} caption="Sums by currency" accounts=${accounts} />`}
    ${accounts.length > 0 && changes.length === 0 && html`<p class="proven">Nothing changes.</p>`}
    ${changes.length > 0 && html`
      <${List} name="changes" caption=${`The ${format.count(changes.length)} events that change`} columns=${CHANGES}
        rows=${changes} size="25" />`}`;
}

const Recorded = ({ result: { counts, refused, sent }, of }) => html`
  <p role="status">${format.count(sent)} of ${format.count(of)} sent.
    ${Object.entries(counts).map(([name, many]) => html`
      <span key=${name}> <${Status} value=${name} /> ${format.count(many)}</span>`)}</p>
  ${counts.held > 0 && html`
    <p>What is held waits for another person of finance:
      see <${Link} to=${address(["operations"])}>Operations<//>.</p>`}
  ${refused.filter((one) => one.verdict !== "held").map((one) => html`
    <p key=${one.id} class="mark"><${Name}>${one.source} ${one.id}<//>: <${Status} value=${one.verdict} />
      ${" "}<${Name}>${reasonsOf(one)}<//></p>`)}`;
