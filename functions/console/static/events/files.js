/** Files of others: they go to the API part by part, which converts them; what it gives is recorded in batches. */
import { agencyPath, get, getOr, post, put, recordAll } from "../lib/api.js";
import { negative, sum } from "../lib/decimal.js";
import * as format from "../lib/format.js";
import { mayRecord } from "../lib/me.js";
import { Problem } from "../lib/problem.js";

const PART = 600_000; // Bytes: in Base64, a part fits into a request.
const LARGEST = 700_000;
const PIECE = 32_768;
const BATCH = 500;
const GZIP = [0x1f, 0x8b];
/** The most messages that are kept to be shown; the others are counted. */
export const MOST_SHOWN = 100;
/** The maps that come with Quarterhour. */
export const MAPS = [
  "adyen", "airbnb", "amazon", "amazon_comma", "ebay", "etsy_items", "etsy_payments", "etsy_statement", "mollie",
  "paypal", "paypal_day_first", "shopify", "shopify_orders", "square", "stripe", "stripe_payments",
  "woocommerce", "woocommerce_items"
];

const MARK = "\ufeff"; // So the file is read as UTF-8, whatever encoding its map names.

/** Returns the content of a file, decompressed if it is gzipped. */
export async function contentOf(file) {
  const start = new Uint8Array(await file.slice(0, GZIP.length).arrayBuffer());
  if (!GZIP.every((byte, index) => start[index] === byte)) return file;
  return new Response(file.stream().pipeThrough(new DecompressionStream("gzip"))).blob();
}

/** Returns bytes in Base64. */
export async function base64Of(blob) {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  const pieces = [];
  for (let at = 0; at < bytes.length; at += PIECE) {
    pieces.push(String.fromCharCode(...bytes.subarray(at, at + PIECE)));
  }
  return btoa(pieces.join(""));
}

/**
 * Yields what the API answers about each part of a content, and `at`, where the next part begins. `from`: the answer
 * after which to go on.
 */
export async function* partsOf(content, request, from = { at: 0, next: undefined }) {
  let { at, next } = from;
  do {
    const part = await base64Of(content.slice(at, at + PART));
    const answer = await post("/csv/events", {
      ...request, part, last: at + PART >= content.size, ...(next && { next }),
    });
    at += answer.read;
    ({ next } = answer);
    yield { ...answer, at };
  } while (next);
}

/**
 * Returns the map that the API proposes for a file: `map`, `questions`, `shipped` and what to check. `said`: its source
 * and columns of an event's parts.
 */
export const mapOf = async (content, name, said) => post("/csv/maps", {
  part: await base64Of(content.slice(0, PART)), name, last: content.size <= PART, ...said,
});

/** Returns a proposed map with answers in place of its questions: `answers` by the lines of these. */
export const answered = ({ map, questions }, answers) => map.split("\n").map((line, index) => {
  const asked = questions.find((one) => one.line === index + 1);
  return asked ? `${asked.name} = ${answers[asked.line]}` : line;
}).join("\n");

/** Returns a problem in the words of the API: a file, a map or a span is not typed into a field that has advice. */
export const inTheWordsOfTheApi = (problem) => {
  if (!problem.errors?.length) return problem;
  const own = problem.errors.filter(({ field }) => ["map", "part", "file"].includes(field));
  return { title: "Not accepted", message: own.length ? own.map((one) => one.problem).join("; ") : problem.message };
};

/**
 * Returns an empty summary of a file. `kinds`: the rows and sums of events, exclusions by rule, bad rows and all rows.
 * `lines`: the line of each id. `repeated`: the lines whose rows have the id of a row in an earlier part.
 * `refused`: the sources of events that the reader may not record. `mustNotChange`: why the file must never change, or
 * the empty text. `head`, `texts`: of the file up to its rows, and of the bad rows.
 */
export const nothing = () => ({
  events: 0, problems: 0, messages: [], many: 0, sums: new Map(), kinds: new Map(), lines: new Map(),
  repeated: new Set(), refused: new Set(), mustNotChange: "", head: "", texts: [],
});

/** Returns a file of the bad rows under the file's own header, to be corrected and sent. */
export const fileOfBad = ({ head, texts }) =>
  MARK + [head, ...texts].map((text) => text.replace(/[\r\n]*$/, "\r\n")).join("");

/** Adds rows and amounts to a kind of rows. */
function addKind({ kinds }, kind, { rows, unread, amounts }) {
  const before = kinds.get(kind) ?? { rows: 0, unread: 0, amounts: {} };
  const added = Object.entries(amounts).map(([currency, amount]) =>
    [currency, sum([before.amounts[currency] ?? "0", amount])]);
  kinds.set(kind, {
    rows: before.rows + rows, unread: before.unread + unread,
    amounts: { ...before.amounts, ...Object.fromEntries(added) },
  });
}

/** Finds the rows of a part with the id of a row in an earlier part: they are bad, as in a part they are by the API. */
function findRepeated(summary, { items, lines, bad }) {
  const again = new Map();
  items.forEach(({ source, id }, index) => {
    const first = summary.lines.get(`${source}#${id}`);
    if (first !== undefined && first !== lines[index]) again.set(lines[index], [first, `${source}#${id}`]);
  });
  items.forEach(({ source, id }, index) => {
    if (!again.has(lines[index])) summary.lines.set(`${source}#${id}`, lines[index]);
  });
  for (const [line, [first, id]] of again) {
    summary.repeated.add(line);
    bad.push({ line, reason: `has the id of line ${first}, '${id}': the map does not tell these rows apart` });
    const amounts = items.filter((_, index) => lines[index] === line && items[index].data.amount)
      .map(({ data }) => [data.currency, data.amount]);
    for (const [currency, amount] of amounts) {
      addKind(summary, "events", { rows: 0, unread: 0, amounts: { [currency]: negative(amount) } });
      addKind(summary, "bad", { rows: 0, unread: 0, amounts: { [currency]: amount } });
    }
    addKind(summary, "events", { rows: -1, unread: 0, amounts: {} });
    addKind(summary, "bad", { rows: 1, unread: 0, amounts: {} });
  }
}

/** Adds what a part gives to the summary of a file: counts, first messages, and sums by month, currency and type. */
export function add(summary, part) {
  const { sums, problems } = part.summary;
  const bad = [...part.bad];
  summary.head = part.head ?? summary.head;
  summary.texts.push(...bad.map(({ text }) => text).filter(Boolean));
  for (const kind of ["events", "bad", "file"]) addKind(summary, kind, sums[kind]);
  for (const one of sums.excluded) addKind(summary, `excluded, ${one.rule}`, one);
  findRepeated(summary, { ...part, bad });
  const items = toSend(summary, part);
  summary.problems += problems;
  summary.mustNotChange = part.must_not_change;
  summary.events += items.length;
  summary.many += bad.length;
  summary.messages.push(...bad.slice(0, MOST_SHOWN - summary.messages.length));
  for (const { source, type, time, data } of items) {
    if (!mayRecord({ source, type })) summary.refused.add(source);
    const month = time ? format.localTime(time).slice(0, "2026-11".length) : "";
    const key = JSON.stringify([month, data.currency ?? "", type]);
    const before = summary.sums.get(key) ?? { month, currency: data.currency, type, events: 0, amount: "0" };
    summary.sums.set(key, {
      ...before, events: before.events + 1, amount: data.amount ? sum([before.amount, data.amount]) : before.amount,
    });
  }
  return summary;
}

/** Returns the events of a part without those of rows that repeat an id. */
export const toSend = ({ repeated }, { items, lines }) => items.filter((_, index) => !repeated.has(lines[index]));

/** Returns the kinds of rows with their sums, all rows last. */
export const kindsOf = ({ kinds }) => [...kinds].toSorted(([a], [b]) => Number(a === "file") - Number(b === "file"));

/** Returns the sums of a summary, in the order of months, currencies and types. */
export const sumsOf = ({ sums }) => [...sums.keys()].toSorted().map((key) => sums.get(key));

/** Returns why an event is not in the ledger, or what it waits for. */
export const reasonsOf = ({ errors, held }) =>
  (errors ?? held?.problems ?? []).map(({ field, problem, expected }) =>
    `${field} ${problem}: expected ${expected}`.trim()).join("; ");

/** Records events in batches; adds the number of each verdict, and the first that are not recorded, to `result`. */
export async function sendBatches(result, events) {
  for (let at = 0; at < events.length; at += BATCH) {
    const { items, counts } = await recordAll(events.slice(at, at + BATCH));
    for (const [verdict, many] of Object.entries(counts)) {
      result.counts[verdict] = (result.counts[verdict] ?? 0) + many;
    }
    const early = items.filter((one) => one.before_first_period);
    result.early = (result.early ?? 0) + early.length;
    const left = items.filter((one) => !["recorded", "duplicate"].includes(one.verdict));
    result.refused.push(...left.slice(0, MOST_SHOWN - result.refused.length));
  }
}

/** Returns the agencies of a file and its bad lines; throws a problem in words if it is too large. */
export async function agenciesOf(content) {
  if (content.size > LARGEST) {
    const detail = `A file of agencies has at most ${format.size(LARGEST)} here. Split it, or use the command.`;
    throw new Problem(413, "Too large", detail, "");
  }
  return post("/csv/agencies", { file: await base64Of(content) });
}

const canonical = (value) => JSON.stringify(value, (_, one) =>
  (one && typeof one === "object" && !Array.isArray(one) ? Object.fromEntries(Object.entries(one).toSorted()) : one));

/** Registers an agency of a file if it is new or differs; returns created, changed or unchanged. */
export async function register({ agency, content }) {
  const path = agencyPath(agency);
  const before = await getOr(path, null);
  if (before && canonical(before.content) === canonical(content)) return "unchanged";
  await put(path, { seen: before?.version ?? 0, content });
  return before ? "changed" : "created";
}

/** Returns the preview of re-ratings. */
export const previewOf = (query) => get(`/rerating?${new URLSearchParams(query)}`);
