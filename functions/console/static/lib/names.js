/** Names of the ledger as people read them. */

/** Returns a name that others have given for use within a text: its direction changes nothing around it. */
export const isolated = (name) => `\u2068${name}\u2069`;

/** Returns an agency for use within a text: its legal name, if it is known, and its id. */
export const agencyText = (agency, legal) => [legal, agency].filter(Boolean).map(isolated).join(" ");

/** Returns who did something: a person's name, or a machine's, which is the name within its ARN. */
export function person(by) {
  const [, kind, name] = /^arn:[^:]*:[^:]*::\d*:([\w-]+)\/(.+)$/.exec(by) ?? [];
  if (!kind) return by;
  return `machine ${kind === "assumed-role" ? name.split("/")[0] : name.split("/").at(-1)}`;
}

const CARD = "rate-card:";
const GROUP = "group/";

/** Returns a rate card by the name of its document, as people read it; `agency`: the one whose page it is. */
export function rateCard(document, agency) {
  const owner = document.slice(CARD.length);
  if (owner === agency) return "Rate card of the agency";
  if (owner.startsWith(GROUP)) return `Rate card of the group ${isolated(owner.slice(GROUP.length))}`;
  return owner === "default" ? "General rate card" : `Rate card of ${isolated(owner)}`;
}

const countries = new Intl.DisplayNames(undefined, { type: "region" });

/** Returns a country's code as its name; another text as it is. */
export const country = (code) => (/^[A-Z]{2}$/.test(code) ? countries.of(code) : code);

/** Returns the names of a location, the country first. */
export function locationNames(location) {
  const [first, ...within] = location.split("#");
  return [country(first), ...within];
}

/** Returns a location as people read it, the nearest name first: Leith, Edinburgh, United Kingdom. */
export const locationText = (location) => locationNames(location).toReversed().map(isolated).join(", ");
