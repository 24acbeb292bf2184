/** The legal names of agencies, asked once: staff ask for all, people of agencies for their own. */
import { useEffect, useState } from "./vendor/htm-preact.js";
import { get, segment, withQuery } from "./api.js";
import { STAFF, may, reader } from "./me.js";

const PAGES = 10;
let names = new Map();
let asked = null;

/** Returns the legal name of an agency; nothing while it is not known. */
export function useLegalName(agency) {
  const [, draw] = useState(asked);
  useEffect(() => {
    let current = true;
    asked ??= ask().catch(() => {}); // Without names, ids are shown.
    asked.then(() => current && draw(names));
    return () => { current = false; };
  }, [asked]);
  return names.get(agency);
}

/** Makes the names be asked again, because an agency's registration has changed. */
export const forgetNames = () => { asked = null; };

async function ask() {
  const found = may(...STAFF) ? await all() : await Promise.all(reader().agencies.map(own));
  names = new Map(found.filter((one) => one?.legal_name).map((one) => [one.agency, one.legal_name]));
}

async function all() {
  const items = [];
  for (let next, left = PAGES; left; left -= 1) {
    const page = await get(withQuery("/agencies", { limit: 1000, next }));
    items.push(...page.items);
    if (!page.next) break;
    next = page.next;
  }
  return items;
}

/** Returns an agency of the reader with its legal name; nothing if it is not registered or has no account. */
async function own(agency) {
  const { items: [account] } = await get(withQuery("/accounts", { agency, limit: 1 }));
  if (!account?.registered) return null;
  const { content } = await get(`/agencies/${segment(agency)}`);
  return { agency, legal_name: content.legal_name };
}
