/** The legal names of agencies, requested once: staff see all, people of agencies their own. */
import { useEffect, useState } from "./vendor/htm-preact.js";
import { get, segment, withQuery } from "./api.js";
import { STAFF, may, reader } from "./me.js";

const PAGES = 10;
let names = new Map();
let loading = null;

/** Returns the legal name of an agency; nothing while it is not known. */
export function useLegalName(agency) {
  const [, draw] = useState(names);
  useEffect(() => {
    let current = true;
    loading ??= load().catch(() => {}); // Without names, ids are shown.
    loading.then(() => current && draw(names));
    return () => { current = false; };
  }, [loading]);
  return names.get(agency);
}

/** Makes the names be requested again, because an agency's registration has changed. */
export const forgetNames = () => { loading = null; };

async function load() {
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
