/** What was released of a period: its sums, the releases with their manifests, and the commands for all files. */
import { html } from "../vendor/htm-preact.js";
import { all } from "../lib/api.js";
import { sum } from "../lib/decimal.js";
import * as format from "../lib/format.js";
import { Amount, Command, Link, Pending, Status, Table, Time, useLoaded } from "../lib/parts.js";
import { address } from "../lib/routes.js";

const SUMS_HEAD = [
  ["Currency"], ["Statements", "n"], ["Net sales", "n wide"], ["Commission", "n"], ["Tax", "n wide"], ["Closing", "n"],
];
const RELEASES_HEAD = [
  ["Release"], ["Made"], ["Statements", "n"], ["Credit notes", "n wide"], ["Manifest, SHA-256", "wide"],
];
const FIGURES = ["net", "commission", "tax", "closing"];
/** Those that a phone shows, too. */
const NARROW = ["commission", "closing"];
const RELEASES = 12;

/** The section, of a sealed period. Another `turn` reads it again. */
export function Released({ period, turn }) {
  const load = () => Promise.all([all("/statements", { period: period.period }), all("/releases")]);
  const { value, problem, again } = useLoaded(load, `${turn}`);
  if (!value) return html`<h2>Released</h2><${Pending} problem=${problem} retry=${again} />`;
  const [statements, releases] = value;
  const since = releases.filter((one) => one.planned_at >= period.planned_at).slice(0, RELEASES);
  if (!statements.length) return null;
  return html`
    <h2>Released</h2>
    <${Sums} statements=${statements} period=${period.period} />
    ${since.length > 0 && html`
      <${Table} caption="Releases since the drafts were made, the newest first" head=${RELEASES_HEAD}>
        ${since.map((one) => html`
          <tr key=${one.release}>
            <th scope="row">${one.release}</th>
            <td class="short"><${Time} at=${one.planned_at} /></td>
            <td class="n">${format.count(one.statements)}</td>
            <td class="n wide">${format.count(one.credit_notes)}</td>
            <td class="long wide"><code>${one.manifest_sha256}</code></td>
          </tr>`)}
      <//>`}
    <${Commands} period=${period.period} release=${since[0]?.release} />`;
}

function Sums({ statements, period }) {
  const byStatus = [...Map.groupBy(statements, (one) => one.status)];
  const groups = [...Map.groupBy(statements.filter((one) => one.status !== "cancelled"), (one) => one.currency)]
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
  return html`
    <p>
      ${byStatus.map(([status, some], index) => html`
        ${index > 0 && " "}<${Link} key=${status} to=${address(["statements"], { period, status })}>
          ${format.count(some.length)} <${Status} value=${status} /><//>`)}
      ${" "}<${Link} to=${address(["statements"], { period })}>Show all statements<//>
    </p>
    <${Table} label="Sums of the statements by currency" head=${SUMS_HEAD}>
      ${groups.map(([currency, some]) => html`
        <tr key=${currency}>
          <th scope="row">${currency}</th><td class="n">${format.count(some.length)}</td>
          ${FIGURES.map((name) => html`
            <td key=${name} class=${`n ${NARROW.includes(name) ? "" : "wide"}`}>
              <${Amount} value=${sum(some.map((one) => one[name]))} currency=${currency} />
            </td>`)}
        </tr>`)}
    <//>`;
}

/** The commands on a person's machine: NAME is the stack, BUCKET its output ReportBucketName. */
function Commands({ period, release }) {
  const files = `quarterhour statements --stack NAME --period ${period} --out statements-${period}`;
  const manifest = `statements/releases/${String(release).padStart(6, "0")}/manifest.json`;
  return html`
    <h2>Files</h2>
    <p class="note">
      On your machine. NAME is the stack, and BUCKET its output <code>ReportBucketName</code>.
      ${" "}<${Link} to=${address(["runbooks", "statements"])}>What the commands need<//>
    </p>
    <${Command} text="All as PDF, with the electronic invoice inside" command=${`${files} --pdf`} />
    <${Command} text="All electronic invoices (XML), pages, figures and lines" command=${files} />
    ${release !== undefined && html`
      <${Command} text=${`The manifest of release ${release}`} command=${`aws s3 cp s3://BUCKET/${manifest} .`} />`}`;
}
