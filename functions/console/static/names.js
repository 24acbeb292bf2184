/** The legal names of agencies, requested once: staff see all, people of agencies their own. */
import { useEffect, useState } from "./vendor/htm-preact.js";
import { allAgencies, forgetAgencies } from "./agencies.js";

let names = new Map();
let loading = null;

/** Returns the legal name of an agency; nothing while it is not known. */
export const useLegalName = (agency) => useNames().get(agency);

/** Returns the legal names by agency, as far as they are known. */
export function useNames() {
  const [, draw] = useState(names);
  useEffect(() => {
    let current = true;
    loading ??= load().catch(() => {}); // Without names, ids are shown.
    loading.then(() => current && draw(names));
    return () => { current = false; };
  }, [loading]);
  return names;
}

/** Makes the names be requested again, because an agency's registration has changed. */
export function forgetNames() {
  loading = null;
  forgetAgencies();
}

async function load() {
  const found = await allAgencies();
  names = new Map(found.filter((one) => one.legal_name).map((one) => [one.agency, one.legal_name]));
}
