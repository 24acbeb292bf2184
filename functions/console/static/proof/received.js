/**
 * What somebody received: a statement is proved from its own files and compared with what is sealed, and the proof of a
 * certificate is made again.
 */
import { get, statementPath } from "../lib/api.js";
import { Problem } from "../lib/problem.js";
import { partsOf } from "../lib/routes.js";
import { expect, refuse, step } from "./proving.js";
import { proofOf } from "./run-proof.js";
import { hashOf } from "./sealed.js";
import { parseSealed } from "./sealed-json.js";
import { proofOfFigures, proofOfStatement } from "./statement-proof.js";

const HASHES = /\b[0-9a-f]{64}\b/g;
const JSON_FILE = "statement.json";
const LINES = "lines.csv.gz";

const unknown = (text, detail) => ({ text, outcome: "unknown", detail });

/** Yields the steps that prove received files: those of one statement, or a certificate. */
export async function* proofOfReceived(files) {
  const contents = await Promise.all(files.map((file) => file.arrayBuffer()));
  const named = (end) => contents[files.findIndex(({ name }) => name.endsWith(end))];
  const json = named(".json");
  if (json) yield* proofOfDocument(json, named(".gz"), files.length);
  else yield* proofOfCertificate(named(".html"));
}

async function* proofOfDocument(json, packed, files) {
  let document;
  yield await step(`${JSON_FILE} is a statement`, async () => {
    const read = parseSealed(new TextDecoder().decode(json));
    for (const name of ["number", "period", "agency", "currency", "lines_file"]) {
      if (!read[name]) refuse(`${JSON_FILE} has no ${name}`);
    }
    document = read;
    return `${read.number} of ${read.agency} in ${read.currency}, ${read.period}; SHA-256 ${await hashOf(json)}`;
  });
  if (!document) return;
  const { number, lines_file: lines } = document;
  if (packed) {
    const text = `The lines are the file that ${number} names`;
    const checked = await step(text, async () => {
      expect(`The SHA-256 of ${LINES}`, await hashOf(packed), lines.sha256);
      return `SHA-256 ${lines.sha256}`;
    });
    yield checked;
    if (checked.outcome === "passed") yield* proofOfFigures(document, packed, files);
  } else {
    yield unknown(`The figures of ${number} follow from its lines`, `Choose its ${LINES}, too.`);
  }
  yield await isSealedHere(document, await hashOf(json));
}

/** Returns the step that compares a statement with the one that is sealed here. */
async function isSealedHere(document, hash) {
  const text = `${document.number} is sealed here, as it was received`;
  try {
    const { documents } = await get(statementPath(document));
    return await step(text, () => {
      const one = documents.find(({ number }) => number === document.number);
      if (!one) refuse(`The marketplace has no document ${document.number} of this agency and month`);
      const sealed = one.files.find(({ key }) => key.endsWith(`/${JSON_FILE}`));
      expect(`The SHA-256 of ${JSON_FILE}`, hash, sealed.sha256);
      return `${sealed.key}, SHA-256 ${hash}`;
    });
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    if (problem.status === 404) return step(text, () => refuse("There is no statement of this agency and month here"));
    return unknown(text, problem.message);
  }
}

async function* proofOfCertificate(page) {
  let again;
  const hashes = new Set();
  yield await step("The file is a certificate of this console", () => {
    const text = page ? new TextDecoder().decode(page) : "";
    const address = new DOMParser().parseFromString(text, "text/html").querySelector("#page")?.textContent ?? "";
    const [kind, name, agency, currency] = URL.canParse(address) ? partsOf(new URL(address).pathname) : [];
    if (kind === "statements" && currency) again = proofOfStatement({ period: name, agency, currency });
    if (kind === "reports" && name) again = proofOf(name);
    if (!again) refuse("There is no statement and no certificate among the files");
    for (const [hash] of text.matchAll(HASHES)) hashes.add(hash);
    return `${hashes.size} hashes of files, made on ${address}`;
  });
  if (!again) return;
  const many = hashes.size;
  for await (const one of again) {
    if (one.linked && !hashes.size) break;
    for (const [hash] of one.detail.matchAll(HASHES)) hashes.delete(hash);
    yield one;
  }
  yield await step("Each file of the certificate is sealed", () => {
    if (hashes.size) refuse(`No sealed file has the SHA-256 ${[...hashes].join(", ")}`);
    return `${many} hashes`;
  });
}
