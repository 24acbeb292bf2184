/** Sealed files: read by their signed links, and compared with their hashes. */
import { readCsv, unescapeFormula } from "./csv.js";
import { Problem } from "./problem.js";

/** The columns whose text senders choose; it is escaped in the file. */
const TEXTS = [
  "source", "id", "agency", "product", "customer", "order_id", "line", "location", "refers_to", "refers_to_source",
  "extra", "category", "reason",
];

/** Returns the content of a sealed file; a Problem if it is not the file that was sealed. */
export async function sealedContent({ url, sha256, key }) {
  const response = await fetch(url, { credentials: "omit" }).catch(() => null);
  if (!response?.ok) {
    const gone = response?.status === 404;
    const detail = gone ? `${key} is gone.` : `The link of ${key} may have expired. Reload the page.`;
    throw new Problem(response?.status ?? 0, "The file could not be read", detail);
  }
  const content = await response.arrayBuffer();
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", content));
  const found = [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  if (found !== sha256) throw new Problem(0, "Not the sealed file", `${key} has the SHA-256 ${found}, not ${sha256}.`);
  return content;
}

/** Returns the lines of a sealed file: texts by column. */
export async function sealedLines(file) {
  const packed = new Blob([await sealedContent(file)]).stream();
  const lines = readCsv(await new Response(packed.pipeThrough(new DecompressionStream("gzip"))).text());
  for (const line of lines) {
    for (const name of TEXTS) if (name in line) line[name] = unescapeFormula(line[name]);
  }
  return lines;
}
