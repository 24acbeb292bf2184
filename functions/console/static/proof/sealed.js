/** Sealed files: read by their signed links, and compared with their hashes. */
import { readCsv, unescapeFormula } from "../lib/csv.js";
import { Problem } from "../lib/problem.js";
import { parseSealed } from "./sealed-json.js";

/** The columns whose text senders choose; it is escaped in the file. */
const TEXTS = [
  "source", "id", "agency", "product", "customer", "order_id", "line", "location", "refers_to", "refers_to_source",
  "extra", "category", "reason",
];

/** Returns the content of a sealed file; a Problem if it is not the file that was sealed. */
export async function sealedContent({ url, sha256, key }) {
  const response = await fetch(url, { credentials: "omit" }).catch(() => null);
  if (!response?.ok) {
    const [title, detail] = response?.status === 404
      ? [`${key} is gone`, "The file was sealed, and is no longer there."]
      : [`${key} could not be read`, "Its link may have expired. Reload the page."];
    throw new Problem(response?.status ?? 0, title, detail);
  }
  const content = await response.arrayBuffer();
  const found = await hashOf(content);
  if (found !== sha256) {
    throw new Problem(0, `${key} is not the file that was sealed`, `Its SHA-256 is ${found}, not ${sha256}.`);
  }
  return content;
}

/** Returns the SHA-256 of a content, in hexadecimal digits. */
export async function hashOf(content) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", content));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Returns the value of a sealed file of JSON. */
export const sealedJson = async (file) => parseSealed(new TextDecoder().decode(await sealedContent(file)));

/** Returns the lines of a sealed file: texts by column. */
export const sealedLines = async (file) => linesIn(await sealedContent(file));

/** Returns the lines in the content of a file: texts by column. */
export async function linesIn(content) {
  const packed = new Blob([content]).stream();
  const lines = readCsv(await new Response(packed.pipeThrough(new DecompressionStream("gzip"))).text());
  for (const line of lines) {
    for (const name of TEXTS) if (name in line) line[name] = unescapeFormula(line[name]);
  }
  return lines;
}
