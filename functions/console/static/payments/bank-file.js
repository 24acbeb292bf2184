/** A bank's file: what each line pays and why, and the recording of the payments that a person of finance chooses. */
import { html, useEffect, useMemo, useRef, useState } from "../vendor/htm-preact.js";
import { inTurns, record, sendFile } from "../lib/api.js";
import { sum } from "../lib/decimal.js";
import * as format from "../lib/format.js";
import { AgencyLink, eventAddress } from "../lib/links.js";
import { List } from "../lib/list.js";
import { Amount, Dialog, Failure, Link, Money, Name, Table, useSending } from "../lib/parts.js";
import { Problem } from "../lib/problem.js";
import { Assign, Learn, learn, learnable, paymentsOf } from "./payers.js";

const LARGEST = 4_000_000;
const NONE = [];
const GROUPS = [
  { outcome: "certain", title: "Certain",
    note: "These lines name their statement, or have the exact amount of the agency that paid." },
  { outcome: "review", title: "To review",
    note: "Choose a line only if you have checked it. Assign one whose agency you know." },
  { outcome: "recorded", title: "Recorded before" },
  { outcome: "no_payment", title: "Without a match" },
  { outcome: "not_booked", title: "Not booked yet", note: "The bank says that these may come. They are no payments." },
  { outcome: "repeated", title: "Repeated", note: "The file has their statement twice. They count once." },
  { outcome: "bad", title: "Bad rows" },
];
const LINES = (many) => `${format.count(many)} ${many === 1 ? "line" : "lines"}`;
const PAYMENTS = (many) => `${format.count(many)} ${many === 1 ? "payment" : "payments"}`;

/** The page: the choice of a file, then its lines. */
export function BankFile() {
  const [found, setFound] = useState(null);
  const { busy, problem, onSend } = useSending(read, setFound);
  const choose = (event) => {
    event.preventDefault();
    setFound(null);
    onSend(new FormData(event.target));
  };
  return html`
    <p>Choose a file of your bank: CAMT.053, MT940, or CSV with the columns <code>date</code>, <code>amount</code>,
      ${" "}<code>currency</code> and <code>reference</code>. The command <code>quarterhour payments</code> reads other
      CSV. The lines are matched to open statements. Nothing is
      recorded before you say so, and no line is recorded twice.</p>
    <form class="bar" onSubmit=${choose}>
      <label>File <input type="file" name="file" required accept=".xml,.sta,.940,.mt940,.txt,.csv" /></label>
      <button class="first" disabled=${busy}>${busy ? "Reading…" : "Read the file"}</button>
    </form>
    ${problem && html`<${Failure} problem=${problem} />`}
    ${found && html`<${Lines} key=${found.key} ...${found} onRead=${setFound} />`}`;
}

async function read(form) {
  const file = form.get("file");
  if (file.size > LARGEST) {
    const detail = `It has ${format.size(file.size)}, and at most ${format.size(LARGEST)} are read. Ask your bank for a
      file of fewer days.`;
    throw new Problem(413, "The file is too large", detail, "");
  }
  return matched(file);
}

/** Returns what a file pays now. */
const matched = async (file) =>
  ({ ...(await sendFile("/bank-files", file)), file, changed: NONE, key: crypto.randomUUID() });

/** Returns those lines of a review that a new reading of the file proposes otherwise, as they are now. */
export function changedLines(reviewed, lines) {
  const said = (one) => JSON.stringify([one.certain, one.recorded, one.events]);
  const before = new Map(reviewed.map((one) => [one.line, said(one)]));
  return lines.filter((one) => before.has(one.line) && before.get(one.line) !== said(one));
}

/**
 * The lines of a file by what is to be done about them. `chosen`: the numbers of those that will be recorded.
 * `changed`: the lines that are not as they were in the review; `onRead` gets the file as it is read again.
 */
function Lines({ file, changed, lines, problems, statements, sums, bad, unread, onRead }) {
  const [chosen, setChosen] = useState(() => new Set(lines.filter((one) => one.certain).map((one) => one.line)));
  const [results, setResults] = useState(new Map());
  const [asks, setAsks] = useState(false);
  const [assigned, setAssigned] = useState(new Map());
  const [assigning, setAssigning] = useState(null);
  const [notLearnt, setNotLearnt] = useState(NONE);
  const select = (some, isOn) => {
    const next = new Set(chosen);
    for (const { line } of some) next[isOn ? "add" : "delete"](line);
    setChosen(next);
  };
  const own = useMemo(() =>
    lines.map((one) => (assigned.has(one.line) ? { ...one, assigned: assigned.get(one.line) } : one)),
  [lines, assigned]);
  const groups = useMemo(() =>
    GROUPS.map((one) => [one, own.filter(({ outcome }) => outcome === one.outcome)]), [own]);
  const isOpen = (one) => paymentsOf(one).length > 0 && !results.get(one.line)?.every(({ outcome }) => outcome);
  const picked = own.filter((one) => chosen.has(one.line) && isOpen(one));
  const onAssigned = (events) => {
    setAssigned(new Map([...assigned, [assigning.line, events]]));
    select([assigning], true);
  };
  return html`
    <h2><${Name}>${file.name}<//>: ${LINES(lines.length)}</h2>
    ${changed.length > 0 && html`<${Changed} lines=${changed} />`}
    ${problems.length > 0 && html`
      <div class="mark" role="alert">
        <p><strong>The file is not in order.</strong> Look at it before you record anything.</p>
        ${problems.map((one) => html`<p key=${one}><${Name}>${one}<//></p>`)}
      </div>`}
    ${statements.length > 0 && html`<${Statements} statements=${statements} />`}
    ${sums.length > 0 && html`<${FileSums} sums=${sums} />`}
    ${bad.length > 0 && html`
      <div class="mark" role="alert">
        <p><strong>${format.count(bad.length)} bad ${bad.length === 1 ? "row" : "rows"}</strong>, ${" "}
          ${format.count(unread)} without a readable amount. Correct them in the file, and choose it again: no line is
          recorded twice.</p>
        <ul class="plain">
          ${bad.map((one) => html`
            <li key=${one.line}>Line ${format.count(one.line)}: <${Name}>${one.reason}<//>:
              ${" "}<${Name}>${one.text}<//></li>`)}
        </ul>
      </div>`}
    <div class="bar">
      <button type="button" class="first" disabled=${!picked.length} onClick=${() => setAsks(true)}>
        Review ${LINES(picked.length)}
      </button>
      <span role="status">${results.size > 0 && resultOf([...results.values()].flat())}</span>
    </div>
    ${notLearnt.map(({ line, problem }) => html`
      <p class="mark" key=${line.line}>The payer of ${labelOf(line).replace("Record ", "")} is not kept.
        ${" "}${problem.title}. ${problem.message}</p>`)}
    ${groups.map(([{ title, note }, some]) => html`
      <${Group} key=${title} ...${{ title, note, chosen, select, results, isOpen, setAssigning }} lines=${some} />`)}
    ${assigning && html`
      <${Assign} line=${assigning} ...${{ onAssigned }} onClose=${() => setAssigning(null)} />`}
    ${asks && html`
      <${Review} ...${{ file, onRead }} lines=${picked}
        onRecorded=${([more, problems]) => {
          setResults(new Map([...results, ...more]));
          setNotLearnt(problems);
        }} onClose=${() => setAsks(false)} />`}`;
}

/** That nothing was recorded, because some lines are not as they were in the review. */
function Changed({ lines }) {
  const place = useRef();
  useEffect(() => place.current.focus(), []);
  return html`
    <div ref=${place} tabindex="-1" class="mark" role="alert">
      <p><strong>Nothing is recorded.</strong> Somebody recorded a payment since your review, so ${LINES(lines.length)}
        ${" "}changed. Below is what is open now. Look at it, and review it again.</p>
      <ul class="plain">
        ${lines.map((one) => html`
          <li key=${one.line}>${format.money(one.amount, one.currency)} ${one.currency}, ${format.day(one.date)}:
            ${" "}<${Name}>${one.reason}<//></li>`)}
      </ul>
    </div>`;
}

/** The statements of the file: each adds up. It says which of them an earlier file had, too. */
function Statements({ statements }) {
  const head = [["Statement"], ["Account"], ["Opening", "n"], ["Lines", "n"], ["Moved", "n"], ["Closing", "n"], [""]];
  return html`
    <${Table} caption="Statements of the file" head=${head}>
      ${statements.map((one) => html`
        <tr key=${one.statement}>
          <th scope="row"><${Name}>${one.number || format.count(one.statement)}<//></th>
          <td class="long"><${Name}>${one.account}<//> ${one.currency}</td>
          <${Money} value=${one.opening} currency=${one.currency} exact /><td class="n">${format.count(one.lines)}</td>
          <${Money} value=${one.amount} currency=${one.currency} exact />
          <${Money} value=${one.closing} currency=${one.currency} exact />
          <td class="long">${saidOf(one)}</td>
        </tr>`)}
    <//>`;
}

function saidOf({ repeats, recorded }) {
  if (repeats) return `It is statement ${format.count(repeats)} again.`;
  return recorded > 0 && `It overlaps an earlier file: ${LINES(recorded)} recorded before.`;
}

/** The sums of the file by currency: those of what becomes of its lines, and of all. */
function FileSums({ sums }) {
  const titles = new Map(GROUPS.map(({ outcome, title }) => [outcome, title]));
  return html`
    <${Table} caption="Sums of the file" head=${[["Currency"], ["Lines are"], ["Lines", "n"], ["Amount", "n"]]}>
      ${sums.flatMap(({ currency, outcomes, ...all }) => [
        ...outcomes.map((one) => [titles.get(one.outcome), one]), ["In the file", all],
      ].map(([title, { lines, amount }]) => html`
        <tr key=${`${currency} ${title}`}>
          <th scope="row">${currency}</th><td>${title}</td><td class="n">${format.count(lines)}</td>
          <${Money} value=${amount} currency=${currency} exact />
        </tr>`))}
    <//>`;
}

function resultOf(results) {
  const recorded = results.filter(({ outcome }) => outcome && outcome.verdict !== "held").length;
  const held = results.filter(({ outcome }) => outcome?.verdict === "held").length;
  const failed = results.filter(({ problem }) => problem).length;
  return [
    `${PAYMENTS(recorded)} recorded`,
    held && `${format.count(held)} held`,
    failed && `${format.count(failed)} not recorded`,
  ].filter(Boolean).join(", ");
}

/** The lines of a group. Those that can be recorded have a box. */
function Group({ title, note, lines, chosen, select, results, isOpen, setAssigning }) {
  const columns = useMemo(() =>
    columnsOf({ lines, chosen, select, results, isOpen, setAssigning }), [lines, chosen, results]);
  if (!lines.length) return null;
  const open = lines.filter(isOpen);
  const all = open.length > 0 && open.every((one) => chosen.has(one.line));
  return html`
    <h3>${title}: ${LINES(lines.length)}</h3>
    ${note && html`<p class="note">${note}</p>`}
    ${open.length > 1 && html`
      <label class="check">
        <input type="checkbox" checked=${all} onChange=${({ target }) => select(open, target.checked)} />
        Select all ${format.count(open.length)} of this group
      </label>`}
    <${List} name=${title.toLowerCase().replaceAll(" ", "-")} caption=${`${title}: lines`} columns=${columns}
      rows=${lines} />`;
}

const columnsOf = ({ lines, chosen, select, results, isOpen, setAssigning }) => [
  ...(lines.some((one) => paymentsOf(one).length > 0)
    ? [{
      key: "record", title: "", value: null, kind: "pick",
      cell: (one) => isOpen(one) && html`
        <input type="checkbox" aria-label=${labelOf(one)} checked=${chosen.has(one.line)}
          onChange=${({ target }) => select([one], target.checked)} />`,
    }]
    : []),
  { key: "date", title: "Date", type: "day" },
  {
    key: "payer", title: "Payer and reference", head: true, kind: "long",
    value: (one) => [one.name || one.iban, one.reference].filter(Boolean).join(" "),
    cell: (one) => html`
      ${(one.name || one.iban) && html`<div><${Name}>${one.name || one.iban}<//></div>`}
      ${one.reference && html`<small><${Name}>${one.reference}<//></small>`}`,
  },
  { key: "amount", title: "Amount", type: "money", exact: true },
  { key: "currency", title: "Currency" },
  {
    key: "pays", title: "Pays", kind: "long", value: (one) => paymentsOf(one).map(paidBy).join(", "),
    cell: (one) => html`
      ${paymentsOf(one).map((event) => html`<${Pays} key=${event.id} event=${event} />`)}
      ${one.rest && !results.has(one.line) && html`
        <button type="button" onClick=${() => setAssigning(one)}>Assign</button>`}`,
  },
  {
    key: "reason", title: "Why", kind: "long",
    cell: (one) => html`
      ${one.assigned ? "You have assigned it." : html`<${Name}>${one.reason}<//>`}
      ${(results.get(one.line) ?? NONE).map((result) => html`<${Result} key=${result.event.id} ...${result} />`)}`,
  },
];

const labelOf = ({ amount, currency, name, iban, date }) =>
  `Record ${format.money(amount, currency)} ${currency} of ${name || iban || date}`;

/** Returns what a payment pays, for a file. */
const paidBy = ({ subject, data: { statement } }) => [subject, statement].filter(Boolean).join(" ");

const Pays = ({ event: { subject, data: { statement, amount, currency } } }) => html`
  <div><${AgencyLink} agency=${subject} currency=${currency} />: ${statement ?? "the oldest statements"},
    ${" "}<${Amount} value=${amount} currency=${currency} exact /></div>`;

function Result({ event, outcome, problem }) {
  if (problem) return html`<div class="mark">${problem.title}. ${problem.message}</div>`;
  if (outcome.verdict === "held") return html`<div>It waits for another person, who approves it in Operations.</div>`;
  return html`<div class="proven"><${Link} to=${eventAddress(event)}>It is recorded<//>.</div>`;
}

/**
 * The dialog before the recording: how many payments, and their sums. The file is read again first: what changed since
 * stops the recording. Events of one line are sent in their order.
 */
function Review({ file, lines, onRead, onRecorded, onClose }) {
  const [done, setDone] = useState(0);
  const events = lines.flatMap(paymentsOf);
  const payers = learnable(lines);
  const unsure = lines.filter((one) => !one.certain).length;
  const results = useRef(new Map());
  const send = async (form) => {
    const now = await matched(file);
    const changed = changedLines(lines, now.lines);
    if (changed.length) {
      onRead({ ...now, changed });
      return [NONE, NONE];
    }
    await inTurns(lines, async (one) => {
      const some = [];
      for (const event of paymentsOf(one)) {
        // A part after one that failed would be found as the rest of the line, and not as this part.
        if (some.some(({ problem }) => problem)) break;
        try {
          some.push({ event, outcome: await record(event) });
        } catch (problem) {
          some.push({ event, problem });
        }
      }
      results.current.set(one.line, some);
      setDone(results.current.size);
    });
    const problems = [];
    for (const line of form.has("learn") ? payers : NONE) { // In turns: two lines can be of one agency.
      if (results.current.get(line.line).every(({ outcome }) => outcome)) {
        await learn(line).catch((problem) => problems.push({ line, problem }));
      }
    }
    return [results.current, problems];
  };
  const sending = useSending(send, onRecorded);
  return html`
    <${Dialog} title=${`Record ${PAYMENTS(events.length)}`} action="Record" ...${{ onClose, ...sending }}>
      <p>The payments are permanent, and staff see that you recorded them.</p>
      <${Sums} events=${events} />
      ${unsure > 0 && html`
        <div class="mark">
          <p>${LINES(unsure)} of these ${unsure === 1 ? "is" : "are"} not certain.</p>
          <label class="check"><input type="checkbox" required /> I have checked this, and it is right.</label>
        </div>`}
      ${payers.length > 0 && html`<${Learn} lines=${payers} />`}
      ${sending.busy && html`<progress aria-label="Progress" value=${done} max=${lines.length}></progress>`}
    <//>`;
}

function Sums({ events }) {
  const byCurrency = [...Map.groupBy(events, ({ data }) => data.currency)].toSorted(([one], [other]) =>
    (one < other ? -1 : 1));
  const total = (some, isOut) =>
    sum(some.map(({ data }) => data.amount).filter((one) => one.startsWith("-") === isOut));
  const head = [["Currency"], ["Payments", "n"], ["Agencies paid", "n"], ["Agencies were paid", "n"]];
  return html`
    <${Table} label="Sums by currency" head=${head}>
      ${byCurrency.map(([currency, some]) => html`
        <tr key=${currency}>
          <th scope="row">${currency}</th><td class="n">${format.count(some.length)}</td>
          <${Money} value=${total(some, false)} currency=${currency} exact />
          <${Money} value=${total(some, true)} currency=${currency} exact />
        </tr>`)}
    <//>`;
}
