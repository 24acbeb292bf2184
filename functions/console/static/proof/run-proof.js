/** The proof of a run, made from its files alone: their hashes, the sums of their lines, and the chain of manifests. */
import { get, runPath } from "../lib/api.js";
import { quarterHours } from "../lib/calendar.js";
import { same, sum } from "../lib/decimal.js";
import * as format from "../lib/format.js";
import { expect, refuse, step } from "./proving.js";
import { sealedContent, sealedJson, sealedLines } from "./sealed.js";

const PAYMENT = "payment.recorded";
/** The figures of an account in a manifest. */
export const FIGURES = ["gross", "refunds", "commission", "payments"];

/** What the proof of a run leaves open. */
export const NOT_PROVEN = [
  "The commissions of the lines by their terms, repeated identities, what summary and page show, and the statements."
    + " The command below checks them.",
  "Runs before those that the steps name.",
];

/** Yields the steps that prove a run; the last ones, with `linked`, follow the chain of manifests to the first run. */
export async function* proofOf(run) {
  const { files, manifest_sha256: sha256 } = await get(runPath(run));
  const withLink = (sealed) => ({ ...sealed, url: files.find((file) => file.key === sealed.key)?.url });
  let manifest;
  yield await step("The manifest is the file that was sealed", async () => {
    manifest = await readManifest(files, sha256);
    expect("The name of the run", manifest.run, run);
    return `SHA-256 ${sha256}`;
  });
  if (!manifest) return;
  yield await step("The quarter-hours cover the run without a gap", () => {
    const names = quarterHours(manifest.from, manifest.to).map((at) => at.slice(0, 16).replace(/[-T:]/g, ""));
    expect("The quarter-hours", manifest.quarter_hours.map((one) => one.quarter_hour).join(" "), names.join(" "));
    if (manifest.empty) expect("The end of the empty time before the run", manifest.empty.to, manifest.from);
    const empty = manifest.empty ? `; none has lines since ${format.timeUtc(manifest.empty.from)}` : "";
    return `${names.length} from ${format.timeUtc(manifest.from)} to ${format.timeUtc(manifest.to)}${empty}`;
  });
  for (const file of manifest.files) {
    yield await step(`${file.key.split("/").pop()} is the file that was sealed`, async () => {
      await sealedContent(withLink(file));
      return `SHA-256 ${file.sha256}`;
    });
  }
  const totals = new Map();
  for (const quarterHour of manifest.quarter_hours) {
    const sealed = quarterHour.files.map(withLink);
    if (!sealed.length && !quarterHour.lines) continue;
    const start = format.quarterHourUtc(quarterHour.quarter_hour);
    yield await step(`The lines of ${start} are those that were sealed`, async () => {
      let count = 0;
      for (const file of sealed) {
        const lines = await sealedLines(file);
        checkPlaces(lines, quarterHour.quarter_hour);
        add(totals, lines);
        count += lines.length;
      }
      expect("The number of lines", count, quarterHour.lines);
      return `${count} lines in their order; SHA-256 ${sealed.map((file) => file.sha256).join(", ")}`;
    });
  }
  yield {
    ...(await step("The sums of the manifest are those of the lines", () => checkSums(manifest, totals))),
    counts: { lines: manifest.lines, accounts: manifest.accounts.length },
  };
  yield* chainOf(manifest);
}

/** Yields a step for each manifest before one, each named with its hash by the next. */
async function* chainOf(manifest) {
  for (let later = manifest; later.previous;) {
    const { run, sha256 } = later.previous;
    const text = `The run of ${format.run(later.run, "UTC")} UTC names the manifest of the run before it`;
    let found;
    try {
      found = await get(runPath(run));
    } catch (problem) {
      if (![403, 404].includes(problem.status)) throw problem;
      yield { text, outcome: "unknown", detail: `${run} is gone, or you may not read it.`, linked: true };
      return;
    }
    let earlier;
    yield {
      ...(await step(text, async () => {
        const read = await readManifest(found.files, sha256);
        expect("The name of the run", read.run, run);
        expect("The end of the run", read.to, (later.empty ?? later).from);
        earlier = read;
        return `${run}, SHA-256 ${sha256}`;
      })),
      linked: true,
    };
    if (!earlier) return;
    later = earlier;
  }
}

async function readManifest(files, sha256) {
  const file = files.find((one) => one.key.endsWith("/manifest.json"));
  return sealedJson({ ...file, sha256 });
}

/** Checks that lines are of a quarter-hour and in the order of their positions. */
function checkPlaces(lines, quarterHour) {
  let last = "";
  for (const { quarter_hour: partition, position } of lines) {
    if (!partition.startsWith(`${quarterHour}#`)) expect("The quarter-hour of a line", partition, quarterHour);
    if (position <= last) refuse(`The position ${position} is not after ${last}`);
    last = position;
  }
}

const rowOf = (agency, currency, period) => JSON.stringify([agency, currency, period]);

/** Adds lines to the totals by agency, currency and period. */
function add(totals, lines) {
  const texts = new Map();
  for (const line of lines) {
    const row = rowOf(line.agency, line.currency, line.period);
    if (!texts.has(row)) texts.set(row, Object.fromEntries(FIGURES.map((name) => [name, []])));
    const figures = texts.get(row);
    const sold = line.amount.startsWith("-") ? "refunds" : "gross";
    figures[line.type === PAYMENT ? "payments" : sold].push(line.amount);
    figures.commission.push(line.commission);
  }
  for (const [row, figures] of texts) {
    const before = totals.get(row) ?? { events: 0, ...Object.fromEntries(FIGURES.map((name) => [name, "0"])) };
    const now = FIGURES.map((name) => [name, sum([before[name], ...figures[name]])]);
    totals.set(row, { events: before.events + figures.commission.length, ...Object.fromEntries(now) });
  }
}

/** Compares the sums in a manifest, by account and by period, with the totals of the lines. */
function checkSums(manifest, totals) {
  const left = new Map(totals);
  for (const account of manifest.accounts) {
    const { agency, currency, periods } = account;
    const found = Object.keys(periods).map((period) => {
      const row = rowOf(agency, currency, period);
      const one = left.get(row);
      if (!one) refuse(`${agency} in ${currency} has no line of ${period}`);
      left.delete(row);
      compare(`${agency} in ${currency}, ${period}`, periods[period], [one]);
      return one;
    });
    compare(`${agency} in ${currency}`, account, found);
  }
  const rest = [...left.keys()].join(", ");
  if (rest) refuse(`${rest}: in the lines, not in the manifest`);
  expect("The number of lines", manifest.lines, [...totals.values()].reduce((many, one) => many + one.events, 0));
  return `${manifest.accounts.length} accounts, ${manifest.lines} lines, to the last decimal`;
}

function compare(what, named, totals) {
  expect(`${what}: events`, named.events, totals.reduce((many, one) => many + one.events, 0));
  for (const name of FIGURES) {
    const right = sum(totals.map((one) => one[name]));
    if (!same(named[name], right)) expect(`${what}: ${name}`, named[name], right);
  }
}
