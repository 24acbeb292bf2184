/**
 * A statement as people see it: what is owed, parties, figures, tax, terms, comparison, days, history, files and lines;
 * and what its reader may do with it.
 */
import { html, useEffect, useRef, useState } from "../vendor/htm-preact.js";
import { draftPath, get, getOr, statementPath } from "../lib/api.js";
import * as format from "../lib/format.js";
import { EventLink, Reference, typeColumn } from "../lib/links.js";
import { List } from "../lib/list.js";
import { STAFF, may, reader } from "../lib/me.js";
import { Messages } from "../lib/messages.js";
import {
  Failure, Link, LinksNote, Money, Name, Pending, Person, Status, Table, Time, useLoaded,
} from "../lib/parts.js";
import { address } from "../lib/routes.js";
import { Proof, counted } from "../proof/panel.js";
import { sealedJson, sealedLines } from "../proof/sealed.js";
import { NOT_PROVEN, proofOfStatement } from "../proof/statement-proof.js";
import { CHANGES, Change } from "./change.js";
import { Owed, Parties, Particulars } from "./document.js";
import { Figures } from "./figures.js";
import { History, disputesOf, identity } from "./history.js";

const PAYMENT = [
  ["amount", "Amount"], ["cancelled", "− Cancelled"], ["paid", "− Paid"],
  ["credited", "− Offset by other statements or credits"], ["open", "Open"],
];
const FILES = {
  "statement.html": "The statement to print",
  "statement.json": "Its figures as JSON",
  "statement.xml": "An electronic invoice (EN 16931)",
  "lines.csv.gz": "Its lines as CSV",
};
const linesColumns = (action) => [
  { key: "recorded_at", title: "Recorded", type: "time" },
  {
    key: "id", title: "Event", head: true, kind: "long", text: ({ source, id }) => `${source} ${id}`,
    cell: (line) => html`<${EventLink} ...${line} /><${Reference} ...${line} />`,
  },
  typeColumn(),
  { key: "order_id", title: "Order", kind: "long" },
  { key: "product", title: "Product", kind: "long" },
  { key: "amount", title: "Amount", type: "money" },
  { key: "commission", title: "Commission", type: "money" },
  { key: "dispute", title: "", value: null, cell: action },
];

/** The page. */
export function Statement({ name }) {
  const loaded = useLoaded(() => load(name), statementPath(name));
  const [asking, setAsking] = useState(null);
  const file = loaded.value?.[0].files?.find((one) => one.key.endsWith("/statement.json"));
  const document = useLoaded(async () => file && sealedJson(file), file?.sha256);
  if (!loaded.value) return html`<${Pending} problem=${loaded.problem} retry=${loaded.again} />`;
  const [statement, draft] = loaded.value;
  const content = document.value;
  return html`
    ${statement.preview ? html`<${AboutPreview} ...${statement} />` : html`<${About} ...${statement} />`}
    ${!statement.preview && html`<${Actions} statement=${statement} ask=${setAsking} />`}
    ${mayCancel(statement) && html`<${Cancellation} draft=${draft} ask=${setAsking} />`}
    <${Owed} statement=${statement} content=${content} />
    ${content && html`<${Parties} content=${content} />`}
    <div class=${statement.preview ? "" : "board rest"}>
      <section class="card"><${Figures} statement=${statement} /></section>
      ${!statement.preview && html`
        <div>
          ${statement.payment && html`<${Payment} ...${statement.payment} currency=${statement.currency} />`}
          <${History} changes=${statement.history}
            resolve=${statement.may_resolve_lines && ((resolved) => setAsking({ resolved }))} />
        </div>`}
    </div>
    ${content && html`<${Particulars} content=${content} />`}
    ${!statement.preview && html`
      ${!content && html`<${Pending} ...${document} retry=${document.again} />`}
      <${Lines} statement=${statement} dispute=${(line) => setAsking({ line })} />
      <${Files} statement=${statement} />
      ${statement.documents.length > 1 && html`<${Documents} statement=${statement} />`}
      <${Proof} subject=${`${statement.number} of ${name.agency} in ${name.currency}, ${format.month(name.period)}`}
        name=${statement.number} label="Verify this statement" begin=${() => proofOfStatement(name)} result=${resultOf}
        notProven=${NOT_PROVEN} command="quarterhour verify --statement DIR">
        <${Hashes} documents=${statement.documents} />
      <//>
      <${Messages} kind="statements" subject=${`${name.agency}#${name.currency}#${name.period}`} />`}
    ${asking && html`
      <${Change} ...${{ asking, statement }} onDone=${loaded.again} onClose=${() => setAsking(null)} />`}`;
}

/** That the statement is a preview: as of when, and why it is no more yet. */
const AboutPreview = ({ as_of: at, state, period }) => html`
  <p class="note">
    A preview as of <${Time} at=${at} />:
    ${" "}${state === "sealed" ? "the draft of this period is not released yet." : `the period is ${state}.`}
    ${may(...STAFF) && html` <${Link} to=${address(["close", period])}>Close ${format.month(period)}<//>`}
  </p>`;

/** Which statement it is, its status, and what it covers. */
const About = ({ status, document, number, recorded_until: until, dispute_until: disputes, cancelled }) => html`
  <p class="note">
    <${Status} value=${status} />
    ${" "}${document === "credit_note" ? "Credit note" : "Statement"} ${number}.
    ${" "}It covers what was recorded before <${Time} at=${until} />.
    ${status === "issued" && disputes && ` Disputes are taken until ${format.day(disputes)}.`}
  </p>
  ${cancelled && html`
    <p class="mark">
      Cancelled by ${cancelled.number} on ${format.day(cancelled.issued_on)}: this statement owes nothing. A new one can
      follow from the same lines.
    </p>`}`;

/** Returns whether the reader may cancel a statement. */
const mayCancel = ({ preview, cancelled }) => may("finance") && !preview && !cancelled;

/** Returns a statement, and its draft if the reader may cancel it. */
async function load(name) {
  const statement = await get(statementPath(name));
  return [statement, mayCancel(statement) ? await getOr(draftPath(name), null) : null];
}

/** The button that cancels a statement, or agrees to its cancellation, which somebody else has proposed. */
function Cancellation({ draft, ask }) {
  if (draft?.state === "cancelling") return html`
    <p class="mark" role="status">The next release cancels this statement, within 15 minutes.</p>`;
  const agree = draft?.state === "cancel_proposed";
  const { by, at, reason } = draft?.last_decision ?? {};
  const isOwn = agree && by === reader().name;
  return html`
    ${agree && html`
      <p class="mark">
        <${Person} by=${by} /> proposed to cancel this statement <${Time} at=${at} />: <${Name}>${reason}<//>.
        ${" "}${isOwn ? "Somebody else must agree." : "A second person must agree."}
      </p>`}
    ${!isOwn && html`
      <p class="bar">
        <button type="button" onClick=${() => ask({ cancel: { agree } })}>
          ${agree ? "Agree" : "Cancel the statement"}
        </button>
      </p>`}`;
}

/** What the API says that the reader may do with the statement now. */
const Actions = ({ statement, ask }) => statement.may_become.length > 0 && html`
  <p class="bar">
    ${statement.may_become.map((status, index) => html`
      <button key=${status} type="button" class=${index ? "" : "first"} onClick=${() => ask({ status })}>
        ${CHANGES[status].button}
      </button>`)}
  </p>`;

/** What is paid of the statement today, whether by payments that name it or by others. */
function Payment({ status, currency, ...figures }) {
  const shown = PAYMENT.filter(([name]) => name === "amount" || name === "open" || /[1-9]/.test(figures[name]));
  return html`
    <section class="card">
    <h2>Payment <${Status} value=${status} /></h2>
    <${Table} label="Payment" head=${[["Figure"], ["Amount", "n"]]}>
      ${shown.map(([name, text]) => html`
        <tr key=${name} class=${name === "open" ? "sum" : ""}>
          <th scope="row">${text}</th>
          <${Money} value=${figures[name]} currency=${currency} />
        </tr>`)}
    <//>
    </section>`;
}

const Files = ({ statement }) => html`
  <h2>Files</h2>
  <ul class="plain">
    ${statement.files.map((file) => html`
      <li key=${file.key}>
        <a href=${file.url} target="_blank" rel="noopener">${FILES[file.key.split("/").pop()] || file.key}</a>,
        ${" "}${format.size(file.size)}
      </li>`)}
  </ul>
  <${LinksNote} seconds=${statement.links_valid_seconds} />`;

/** Returns the result of a proof of a statement in one sentence. */
function resultOf(steps) {
  const counts = steps.filter((one) => one.counts).map((one) => one.counts);
  const files = counts.reduce((many, one) => many + one.files, 0);
  const documents = counts.length > 1 ? `${counted(counts.length, "document")}, ` : "";
  return `${documents}${counted(counts[0].lines, "line")}, ${counted(files, "file")} as sealed, all sums exact`;
}

/** The files of all documents with their hashes. */
const Hashes = ({ documents }) => html`
  <${Table} caption="Each file with its hash" head=${[["Document"], ["File"], ["Size", "n"], ["SHA-256"]]}>
    ${documents.flatMap(({ number, files }) => files.map((file) => html`
      <tr key=${number + file.key}>
        <td class="short">${number}</td>
        <th scope="row" class="long"><a href=${file.url} target="_blank" rel="noopener">${file.key}</a></th>
        <td class="n">${format.size(file.size)}</td>
        <td class="long"><code>${file.sha256}</code></td>
      </tr>`))}
  <//>`;

const Documents = ({ statement }) => html`
  <h2>Documents</h2>
  <ul class="plain">
    ${statement.documents.map((one) => html`
      <li key=${one.number}>
        <a href=${one.files.find((file) => file.key.endsWith(".html")).url} target="_blank" rel="noopener">
          ${one.number}
        </a>
        ${" "}of ${format.day(one.issued_on)}${one.cancels && `, which cancels ${one.cancels}`}:
        ${" "}closing balance ${format.money(one.closing, statement.currency)}
      </li>`)}
  </ul>`;

const lines = (many) => (many === 1 ? "line" : `${format.count(many)} lines`);

function Lines({ statement, dispute }) {
  const [state, setState] = useState({});
  const place = useRef();
  useEffect(() => { if (state.lines) place.current.focus(); }, [state.lines]);
  const file = statement.files.find((one) => one.key.endsWith("/lines.csv.gz"));
  const load = () => {
    setState({ busy: true });
    sealedLines(file).then((lines) => setState({ lines }), (problem) => setState({ problem }));
  };
  const disputes = disputesOf(statement.history);
  const action = (line) => {
    const open = disputes[identity(line)];
    if (open !== undefined) return html`<${Status} value=${open ? "disputed" : "resolved"} />`;
    return statement.may_dispute_lines && html`
      <button type="button" aria-label=${`Dispute ${line.id}`} onClick=${() => dispute(line)}>Dispute</button>`;
  };
  return html`
    <h2 ref=${place} tabindex="-1">Lines</h2>
    ${state.problem && html`<${Failure} problem=${state.problem} retry=${load} />`}
    ${!state.lines && !state.problem && html`
      <p><button type="button" disabled=${state.busy} onClick=${load}>
        ${state.busy ? "Loading…" : `Show the ${lines(statement.lines)} (${format.size(file.size)})`}
      </button></p>`}
    ${state.lines && html`
      <${List} name="lines" caption="The sealed lines; their file has the hash of the statement"
        columns=${linesColumns(action)} rows=${state.lines} />`}`;
}
