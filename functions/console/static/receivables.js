/** What is open of the statements of an agency, as the API says it. */
import { get, withQuery } from "./api.js";
import { useLoaded } from "./parts.js";

/** Returns the open statements of an agency, each with its currency: by currency, the oldest first. */
export async function openStatements(agency) {
  const found = [];
  let next;
  do {
    const page = await get(withQuery("/receivables", { agency, next }));
    for (const { currency, statements } of page.items) found.push(...statements.map((one) => ({ currency, ...one })));
    next = page.next;
  } while (next);
  return found;
}

/**
 * Returns the open statements of an agency by number; undefined until they are read, or without an agency. They are
 * read again when `version` changes.
 */
export function useOpenStatements(agency, version = "") {
  const load = async () => (agency ? await openStatements(agency) : null);
  const { value } = useLoaded(load, `${agency} ${version}`);
  return value ? new Map(value.map((one) => [one.number, one])) : undefined;
}
