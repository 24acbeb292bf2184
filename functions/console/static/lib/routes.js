/** The addresses of the pages, which can be shared and bookmarked. All but the first begin with /console/. */
import { withQuery } from "./api.js";

const ROOT = "/console/";
let keepsAgency = false;

/** Makes every address from now on name the agency of the present one, unless it names one by itself. */
export const keepAgency = () => { keepsAgency = true; };

/** Returns the agency that an address names: in its path or, for the pages of lists, as a parameter. */
export function agencyOf({ parts: [page, ...names], query }) {
  if (["agencies", "receivables"].includes(page) && names.length === 1) return names[0];
  if (page === "statements" && names.length === 3) return names[1];
  return query.agency;
}

/** Returns the address of a page: its parts, and those parameters that have a value. */
export function address(parts, parameters = {}) {
  const agency = keepsAgency && !agencyOf({ parts, query: parameters }) && agencyOf(here());
  const path = parts.length ? ROOT + parts.map(encodeURIComponent).join("/") : "/";
  return withQuery(path, { ...parameters, ...(agency && { agency }) });
}

/** Returns the parts and the parameters of the present address; one part for an address that no page can have. */
export function here() {
  const { pathname, search } = window.location;
  return { parts: partsOf(pathname), query: Object.fromEntries(new URLSearchParams(search)) };
}

/** Returns the parts of the path of an address. */
export function partsOf(pathname) {
  try {
    return pathname.slice(ROOT.length).split("/").filter(Boolean).map(decodeURIComponent);
  } catch {
    return ["unreadable"];
  }
}

/** Shows another page of the console. The present one keeps its place in the history, for *Back*. */
export function navigate(to) {
  const { pathname } = window.location;
  window.history.replaceState({ scroll: window.scrollY }, "");
  window.history.pushState(null, "", to);
  if (window.location.pathname !== pathname) window.scrollTo(0, 0);
  window.dispatchEvent(new PopStateEvent("popstate"));
}

/** Scrolls to where the page was left, once its rows are there again. */
export function restoreScroll() {
  const { scroll } = window.history.state ?? {};
  if (!scroll) return;
  window.scrollTo(0, scroll);
  if (window.scrollY >= scroll - 1) window.history.replaceState(null, "");
}
