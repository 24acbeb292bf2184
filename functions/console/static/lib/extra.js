/** What senders keep beside an event: the JSON text `extra`, whose numbers can have more digits than a computer's. */

const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/** Returns the leaves of `extra` as pairs of name and text; names within names follow each other: bank, iban. */
export function extraFacts(extra) {
  const exact = extra.replace(TOKENS, (token) => (token.startsWith('"') ? token : JSON.stringify(token)));
  return leaves([], JSON.parse(exact));
}

/** Returns the reference in `extra`, such as a payment's; undefined if there is none. */
export const referenceIn = (extra) => new Map(extra ? extraFacts(extra) : []).get("reference");

function leaves(path, value) {
  const within = value && typeof value === "object" ? Object.entries(value) : [];
  if (within.length) return within.flatMap(([name, one]) => leaves([...path, name], one));
  return path.length ? [[path.join(", "), typeof value === "string" ? value : JSON.stringify(value)]] : [];
}
