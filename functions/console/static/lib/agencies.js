/** The registered agencies by name or id, requested once: staff see all, people of agencies their own. */
import { useEffect, useState } from "../vendor/htm-preact.js";
import { agencyPath, get, getOr, kept, withQuery } from "./api.js";
import { STAFF, may, reader } from "./me.js";
import { folded } from "./rows.js";

const PAGE = 1000;
const MOST = 10_000;
const KEPT = 60_000; // Milliseconds.
let loaded;
let names = new Map();
let naming;
const shown = new Set();

/** Returns the agencies that the reader may see, each with `agency` and `legal_name`; kept for a minute. */
export function allAgencies() {
  if (!loaded || Date.now() - loaded.at > KEPT) {
    const found = kept(() => (may(...STAFF) ? ofStaff() : Promise.all(reader().agencies.map(one))));
    loaded = { at: Date.now(), found };
    found.catch(() => { loaded = null; });
  }
  return loaded.found;
}

/** Makes the agencies be requested again, because a registration has changed. */
export function forgetAgencies() {
  loaded = null;
  naming = null;
  for (const again of shown) again();
}

/** Returns the registration of an agency, or null if there is none. */
export const registrationOf = (agency) => getOr(agencyPath(agency), null);

/** Returns the legal name of an agency; nothing while it is not known. */
export const useLegalName = (agency) => useNames().get(agency);

/** Returns the legal names by agency, as far as they are known. */
export function useNames() {
  const [, draw] = useState(names);
  useEffect(() => {
    let current = true;
    const read = () => {
      naming ??= allAgencies().then(keepNames).catch(() => {}); // Without names, ids are shown.
      naming.then(() => current && draw(names));
    };
    shown.add(read);
    read();
    return () => {
      current = false;
      shown.delete(read);
    };
  }, []);
  return names;
}

function keepNames(agencies) {
  names = new Map(agencies.filter((one) => one.legal_name).map((one) => [one.agency, one.legal_name]));
}

async function ofStaff() {
  const all = [];
  for (let next; all.length < MOST;) {
    const page = await get(withQuery("/agencies", { limit: PAGE, next }));
    all.push(...page.items);
    next = page.next;
    if (!next) break;
  }
  return all;
}

/** Returns an agency of the reader, with its registration if it has one. */
async function one(agency) {
  const { items: [account] } = await get(withQuery("/accounts", { agency, limit: 1 }));
  if (!account?.registered) return { agency };
  const { content } = await get(agencyPath(agency));
  return { agency, ...content };
}

/** Returns the agencies that a text can mean, the best first: by id, then by how their names begin. */
export function matching(agencies, text) {
  const sought = folded(text.trim());
  return agencies
    .map((one) => [rank(one, sought), one])
    .filter(([place]) => place < Infinity)
    .sort(([place, { agency }], [other, { agency: next }]) => place - other || (agency < next ? -1 : 1))
    .map(([, one]) => one);
}

function rank({ agency, legal_name: name = "" }, sought) {
  const [id, full] = [folded(agency), folded(name)];
  const ranks = [
    id === sought, full === sought, id.startsWith(sought), full.startsWith(sought),
    full.split(/[^\p{L}\p{N}]+/u).some((word) => word.startsWith(sought)), full.includes(sought), id.includes(sought),
  ];
  return ranks.includes(true) ? ranks.indexOf(true) : Infinity;
}

/** Returns the id of the agency that a text means: the text itself, unless it is a part of one agency's name alone. */
export function agencyIdOf(agencies, text) {
  if (!text || agencies.some(({ agency }) => agency === text)) return text;
  const found = matching(agencies, text);
  return found.length === 1 ? found[0].agency : text;
}
