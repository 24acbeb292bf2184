/** Reconciliations: the last result of each provider and month, and what explains the difference of one. */
import { html } from "../vendor/htm-preact.js";
import { all, get, segment } from "../lib/api.js";
import * as format from "../lib/format.js";
import { AgencyName } from "../lib/links.js";
import { List } from "../lib/list.js";
import { Link, Name, Pending, Table, useLoaded } from "../lib/parts.js";
import { address } from "../lib/routes.js";

const KIND = "reconciliation";
const NAME = /^reconciliation:(\d{4}-\d{2}):(.*)$/s;
const COLUMNS = [
  {
    key: "provider", title: "Provider", head: true,
    cell: ({ period, provider }) => html`
      <${Link} to=${address(["reconciliations", period, provider])}><${Name}>${provider}<//><//>`,
  },
  { key: "period", title: "Month", kind: "short", cell: ({ period }) => format.month(period) },
  { key: "created_at", title: "First compared", type: "time" },
];
const figure = (key, title) => ({
  key, title, type: "number", value: (row) => row[key],
  cell: (row) => format.money(row[key], row.currency),
});
const FIGURES = [figure("provider", "Provider"), figure("ledger", "Ledger"), figure("difference", "Difference")];
const DIFFERENCES = [
  { key: "line", title: "Line", head: true, kind: "short", value: ({ line }) => line || "not in the file" },
  { key: "name", title: "Name", kind: "long", cell: ({ name }) => html`<${Name}>${name}<//>` },
  { key: "label", title: "Reason" },
  {
    key: "agency", title: "Agency", kind: "long",
    cell: ({ agency }) => agency && html`<${AgencyName} agency=${agency} />`,
  },
  { key: "currency", title: "Currency" },
  ...FIGURES,
  { key: "events", title: "Events", kind: "long", cell: ({ events }) => html`<${Name}>${events}<//>` },
  { key: "note", title: "Note", kind: "long", cell: ({ note }) => html`<${Name}>${note}<//>` },
];
const ROWS = { lines: "Lines", excluded: "Excluded", bad: "Bad rows", file: "All rows" };
const ROWS_HEAD = [["Rows"], ["Rule"], ["Number", "n"], ["Unread", "n"], ["Currency"], ["Amount", "n"]];
const SUMS_HEAD = [["Reason"], ["Findings", "n"], ["Provider", "n"], ["Ledger", "n"], ["Difference", "n"]];

/** Returns the results by month, the newest first. */
const results = async () => (await all("/documents", { kind: KIND }))
  .map((one) => [one, NAME.exec(one.document)])
  .map(([one, [, period, provider]]) => ({ ...one, period, provider }))
  .toSorted((a, b) => b.period.localeCompare(a.period) || a.provider.localeCompare(b.provider));

/** The page of all results. */
export function Reconciliations() {
  const { value: items, problem, again } = useLoaded(results, "");
  if (!items) return html`<${Pending} problem=${problem} retry=${again} />`;
  return html`
    <p>Each is a payment provider's file, compared with the sealed ledger by <code>quarterhour reconcile</code>.</p>
    <${List} name="reconciliations" caption="Results, the newest month first" columns=${COLUMNS} rows=${items}
      empty=${html`
        <p class="empty">No result is kept yet. <code>quarterhour reconcile --store</code> keeps one.</p>`} />`;
}

/** The page of one result: its latest version. */
export function Reconciliation({ period, provider }) {
  const path = `/documents/${segment(`${KIND}:${period}:${provider}`)}`;
  const { value, problem, again } = useLoaded(() => get(path), path);
  if (!value) return html`<${Pending} problem=${problem} retry=${again} />`;
  const { content, version } = value;
  return html`
    <dl class="facts">
      <div><dt>File</dt><dd><${Name}>${content.file}<//></dd></div>
      <div><dt>Compared</dt><dd>${format.time(content.made_at)}, version ${version}</dd></div>
      <div>
        <dt>Ledger sealed until</dt><dd>${content.sealed_until ? format.time(content.sealed_until) : "no time"}</dd>
      </div>
      <div><dt>Rows</dt><dd>${format.count(content.rows)}</dd></div>
      <div><dt>Not matched</dt><dd>${format.count(content.difference_count)}</dd></div>
      <div><dt>Proposed events</dt><dd>${format.count(content.proposals)}</dd></div>
    </dl>
    ${content.problem_count > 0 && html`
      <h2>Problems of the file</h2>
      <p>Wrong rows or totals: ${format.count(content.problem_count)}. Wrong rows are in no sum.</p>
      <ul>${content.problems.map((one) => html`<li key=${one}><${Name}>${one}<//></li>`)}</ul>`}
    <h2>What became of the rows of the file</h2>
    <${RowSums} sums=${content.row_sums} />
    <h2>What explains the difference</h2>
    ${content.totals.map((total) => html`
      <${Sums} key=${`${total.measure} ${total.currency}`} total=${total} sums=${content.sums} />`)}
    <h2>Lines that do not match</h2>
    ${content.differences.length < content.difference_count && html`
      <p class="note">The first of ${format.count(content.difference_count)} differences. The command's lines.csv has
        all.</p>`}
    <${List} name="differences" caption="Lines that do not match" columns=${DIFFERENCES} rows=${content.differences}
      size="25" empty=${html`<p class="empty">Every line matches.</p>`} />`;
}

/** The rows of each kind with their sums: the lines, what each rule excludes, the bad rows, and all of them. */
const RowSums = ({ sums }) => html`
  <${Table} caption="The sums of lines, exclusions and bad rows are those of the file" head=${ROWS_HEAD}>
    ${sums.flatMap(({ kind, rule, rows, unread, amounts }) =>
      (Object.keys(amounts).length ? Object.entries(amounts) : [["", ""]]).map(([currency, amount], index) => html`
        <tr key=${`${kind} ${rule} ${currency}`} class=${kind === "file" ? "sum" : ""}>
          <th scope="row">${ROWS[kind]}</th><td><${Name}>${rule}<//></td>
          <td class="n">${index ? "" : format.count(rows)}</td>
          <td class="n">${index ? "" : format.count(unread)}</td>
          <td>${currency}</td><td class="n">${currency && format.money(amount, currency)}</td>
        </tr>`))}
  <//>`;

/** What explains a total: one row for each reason, and their sum. */
function Sums({ total, sums }) {
  const rows = sums.filter((one) => one.measure === total.measure && one.currency === total.currency);
  return html`
    <${Table} caption=${`${total.measure === "fee" ? "Fees" : "Amounts"} in ${total.currency}`} head=${SUMS_HEAD}>
      ${rows.map((one) => html`
        <tr key=${one.label}>
          <th scope="row">${one.label}</th><td class="n">${format.count(one.findings)}</td>
          <${Figures} of=${one} />
        </tr>`)}
      <tr class="sum"><th scope="row">Total</th><td></td><${Figures} of=${total} /></tr>
    <//>`;
}

const Figures = ({ of }) => FIGURES.map(({ key, cell }) => html`<td key=${key} class="n">${cell(of)}</td>`);
