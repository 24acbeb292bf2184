/** One run: its proof, which the browser makes from the files, its sums, and its files with their hashes. */
import { html } from "../vendor/htm-preact.js";
import { useNames } from "../lib/agencies.js";
import { get, runPath } from "../lib/api.js";
import * as format from "../lib/format.js";
import { RunLink, agencyColumn } from "../lib/links.js";
import { List } from "../lib/list.js";
import { Messages } from "../lib/messages.js";
import { Link, LinksNote, Pending, Status, Table, Time, useLoaded } from "../lib/parts.js";
import { address } from "../lib/routes.js";
import { Proof, counted } from "../proof/panel.js";
import { FIGURES, NOT_PROVEN, proofOf } from "../proof/run-proof.js";

const LINKS = 10;
const TITLES = { gross: "Sales", refunds: "Refunds", commission: "Commission", payments: "Payments" };

/** The page. */
export function Report({ run }) {
  const { value: report, problem, again } = useLoaded(() => get(runPath(run)), run);
  if (!report) return html`<${Pending} problem=${problem} retry=${again} />`;
  const { manifest } = report;
  return html`
    <p class="note">
      <code>${run}</code>. Lines: ${format.count(report.lines)}.
      ${report.default_rate_events > 0
        && ` Events charged by the default rate: ${format.count(report.default_rate_events)}.`}
      ${" "}Quarter-hours: ${format.count(report.quarter_hours)},
      from <${Time} at=${report.from} /> to <${Time} at=${report.to} />.
      Planned <${Time} at=${report.planned_at} />. The live counters compared with these lines:
      ${" "}<${Status} value=${report.counters} />
    </p>
    ${manifest?.previous && html`
      <p>The run before is that of <${RunLink} run=${manifest.previous.run} />.</p>`}
    <${Proof} subject=${`Run ${run}`} name=${run} label="Verify this run" begin=${() => proofOf(run)} pause=${LINKS}
      result=${resultOf} notProven=${NOT_PROVEN} command="quarterhour verify DIR">
      <${Files} report=${report} />
    <//>
    ${manifest && html`<${Sums} manifest=${manifest} />`}
    <${Messages} kind="reports" subject=${run} />`;
}

/** Returns the result of a proof of a run in one sentence, and whether the whole chain was followed. */
function resultOf(steps, done) {
  const { lines, accounts } = steps.find((one) => one.counts).counts;
  const chain = {
    followed: `through the ${format.count(steps.filter((one) => one.linked).length)} runs before it`,
    gone: "as far as you may read",
    whole: "to the first run",
  }[!done ? "followed" : steps.some((one) => one.outcome === "unknown") ? "gone" : "whole"];
  return `${counted(lines, "line")}, ${counted(accounts, "account")}, all sums exact, chain unbroken ${chain}`;
}

function Sums({ manifest }) {
  const { run, accounts, from, to } = manifest;
  const columns = [
    agencyColumn(useNames(), { head: true }),
    { key: "currency", title: "Currency" },
    {
      key: "events", title: "Events", type: "number", cell: ({ agency, events }) => html`
        <${Link} to=${address(["events"], { agency, from, to })}>${format.count(events)}<//>`,
    },
    ...FIGURES.map((key) => ({ key, title: TITLES[key], type: "money", exact: true })),
  ];
  return html`
    ${accounts.length > 0 && html`<h2>Sums</h2>`}
    <${List} name=${run} caption="Exact sums by account, as the manifest has them" columns=${columns} rows=${accounts}
      empty=${html`<p class="empty">Nothing was recorded in these quarter-hours.</p>`} />`;
}

const Files = ({ report }) => html`
  <${Table} caption="Each file with its hash" head=${[["File"], ["Size", "n"], ["SHA-256"]]}>
    ${report.files.map((file) => html`
      <tr key=${file.key}>
        <th scope="row" class="long"><a href=${file.url} target="_blank" rel="noopener">${file.key}</a></th>
        <td class="n">${format.size(file.size)}</td>
        <td class="long"><code>${file.sha256}</code></td>
      </tr>`)}
  <//>
  <${LinksNote} seconds=${report.links_valid_seconds} />`;
