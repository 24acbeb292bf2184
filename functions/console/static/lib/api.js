/** Requests to the API. A refusal becomes a Problem, which holds the API's message and the id of the request. */
import { Problem } from "./problem.js";
import { headersOf } from "./session.js";

/** Milliseconds after which a request is given up; API Gateway itself answers within 30 seconds. */
const LONGEST = 60_000;
/** The most items of a page. */
const MOST = 1000;
/** The requests of `inTurns` that are under way at a time. */
const AT_ONCE = 4;
/** What ends requests that begin now, if the part of the page that needs them is left. */
let left;

/** Encodes a name for a path: twice, because API Gateway decodes once before it looks for the route. */
export const segment = (name) => encodeURIComponent(encodeURIComponent(name));

/** Returns the path of the registration of an agency. */
export const agencyPath = (agency) => `/agencies/${segment(agency)}`;

/** Returns the path of an account, or of a part of it. */
export const accountPath = (agency, currency, part = "") =>
  `/accounts/${segment(agency)}/${currency}${part && `/${part}`}`;

/** Returns the path of a statement, or of a part of it. */
export const statementPath = ({ agency, currency, period }, part = "") =>
  `/statements/${segment(agency)}/${currency}/${period}${part && `/${part}`}`;

/** Returns the path of a draft. */
export const draftPath = ({ agency, currency, period }) => `/drafts/${segment(agency)}/${currency}/${period}`;

/** Returns the path of an event. */
export const eventPath = ({ source, id }) => `/events/${segment(source)}/${segment(id)}`;

/** Returns the path of a held event. */
export const heldPath = ({ source, id }) => `/held/${segment(source)}/${segment(id)}`;

/** Returns the path of a connection, or of a part of it. */
export const connectionPath = (name, part = "") => `/connections/${segment(name)}${part && `/${part}`}`;

/** Returns the path of a parked delivery of a connection. */
export const parkedPath = (name, id) => connectionPath(name, `parked/${id}`);

/** Returns the path of a run. */
export const runPath = (run) => `/reports/${segment(run)}`;

/** Returns a path with those parameters that have a value. */
export function withQuery(path, parameters) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value));
  return query.size ? `${path}?${query}` : path;
}

/** Returns what the API holds at a path. */
export const get = (path) => request("GET", path);

/** Returns what the API holds at a path, or `fallback` if that is a 404. */
export const getOr = (path, fallback) =>
  get(path).catch((problem) => {
    if (problem.status === 404) return fallback;
    throw problem;
  });

/** Yields the items of each page of a list of the API. */
export async function* pages(path, parameters) {
  let next;
  do {
    const page = await get(withQuery(path, { limit: MOST, ...parameters, next }));
    yield page.items;
    next = page.next;
  } while (next);
}

/** Returns all items of a list of the API. */
export async function all(path, parameters) {
  const items = [];
  for await (const some of pages(path, parameters)) items.push(...some);
  return items;
}

/** Sends a body to a path; a second time changes nothing more. */
export const put = (path, body) => request("PUT", path, body);

/** Sends a body that creates something; a second time creates nothing more. */
export const post = (path, body) => request("POST", path, body);

/** Deletes what is at a path; a second time deletes nothing more. */
export const remove = (path) => request("DELETE", path);

/** Records an event and returns its outcome: recorded, duplicate or held; a second time records nothing more. */
export async function record(event) {
  const { items: [outcome] } = await request("POST", "/events", event, "application/cloudevents+json");
  return outcome;
}

/** Records a batch of events and returns the outcomes and their counts; a second time records nothing more. */
export const recordAll = (events) =>
  request("POST", "/events", events, "application/cloudevents-batch+json", (content) => content.counts);

/** Sends a file to a path, and returns what the API says of it. */
export const sendFile = (path, file) => request("POST", path, file, "application/octet-stream");

/** Tries again what had no response, because the network changed, unless it took too long or was given up. */
const onceMore = (attempt) => (problem) => {
  if (["TimeoutError", "AbortError"].includes(problem.name)) throw problem;
  return attempt();
};

/** Calls `load`; returns what it promises, and what gives up those requests of it that it has begun at once. */
export function abortable(load) {
  const controller = new AbortController();
  left = controller.signal;
  try {
    return [load(), () => controller.abort()];
  } finally {
    left = undefined;
  }
}

/** Calls `load` for who needs it longer than the present part of the page. */
export function kept(load) {
  const before = left;
  left = undefined;
  try {
    return load();
  } finally {
    left = before;
  }
}

async function request(method, path, body, type = "application/json", isAnswer = () => false) {
  const signals = [AbortSignal.timeout(LONGEST), ...(left ? [left] : [])];
  const headers = await headersOf();
  if (body) headers["content-type"] = type;
  const attempt = () => fetch(path, {
    method, headers, body: body instanceof Blob ? body : body && JSON.stringify(body),
    signal: AbortSignal.any(signals),
  });
  let response;
  try {
    response = await (method === "GET" ? attempt().catch(onceMore(attempt)) : attempt());
  } catch {
    throw new Problem(0, "No response", "The API did not respond. Try again: nothing is done twice.", "");
  }
  const content = await response.json().catch(() => null);
  if (content && (response.ok || isAnswer(content))) return content;
  const id = content?.request_id || response.headers.get("x-request-id") || response.headers.get("apigw-requestid");
  if (response.ok) {
    const detail = "The API's response did not arrive in full. Try again: nothing is done twice.";
    throw new Problem(response.status, "Broken response", detail, id);
  }
  const { title, message, detail, errors } = content?.items?.[0] ?? content ?? {};
  throw new Problem(response.status, title || message || `Status ${response.status}`, detail, id, errors);
}

/** Calls `work` for each item, few at once, until all are done or `stopped` returns true. */
export async function inTurns(items, work, stopped = () => false) {
  let next = 0;
  const turn = async () => {
    while (next < items.length && !stopped()) {
      const item = items[next];
      next += 1;
      await work(item);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, turn));
}
