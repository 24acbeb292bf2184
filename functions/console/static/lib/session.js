/**
 * Who uses the page: sign-in at the issuer, by the authorization code flow with PKCE.
 *
 * Tokens are kept in memory only. Session storage holds state, nonce, PKCE verifier and page until the issuer responds;
 * each is used once. A page with a form that is not sent never goes to the issuer: the person signs in again in another
 * window, which hands its tokens over and closes.
 */
import { Problem } from "./problem.js";
import { settings } from "./settings.js";

const PENDING = "sign-in";
const SIGNED_OUT = "/console/signed-out";
const SIGNED_IN = "/console/signed-in";
const RENEWED_BEFORE = 60_000;
const signsIn = Boolean(settings.issuer);
const redirectUri = `${window.location.origin}/`;
let endpoints;
let tokens;
let renewal;

/** Signs the reader in, or redirects to the issuer; does nothing without one. Throws a Problem if it fails. */
export async function begin() {
  if (!signsIn) return;
  if (!settings.client_id) {
    throw new Problem(0, "No sign-in", "This deployment has no ConsoleClientId. An operator must set that parameter.");
  }
  if (window.location.pathname === SIGNED_OUT) {
    const detail = `You are signed out of the console. The issuer publishes no address for signing out, so your session
      there may go on.`;
    throw new Problem(0, "Signed out", detail);
  }
  endpoints = await configuration();
  const response = new URLSearchParams(window.location.search);
  if (window.location.pathname === "/" && response.has("state")) await finish(response);
  else await start();
  if (window.location.pathname === SIGNED_IN) handOver();
}

/** Signs in again, and comes back to the requested page. */
export function beginAgain() {
  const { pathname, search } = window.location;
  window.location.assign(pathname === SIGNED_OUT ? "/" : pathname + search);
}

/** Returns the name of who is signed in; undefined without sign-in. */
export const person = () => tokens?.name;

/** Returns the headers that authorize a request. A token that is about to expire is renewed before. */
export async function headersOf() {
  if (!signsIn) return {};
  if (Date.now() > tokens.renewsAt) {
    renewal ??= renew().finally(() => { renewal = undefined; });
    await renewal;
  }
  return { authorization: `Bearer ${tokens.access}` };
}

/** Forgets the tokens, and signs out at the issuer if it has an address for that. */
export function signOut() {
  if (!tokens) return;
  const { idToken } = tokens;
  tokens = undefined;
  // The browser may keep the page as it is: going back must not show what it held.
  window.addEventListener("pageshow", () => window.location.reload());
  const query = { client_id: settings.client_id, id_token_hint: idToken, post_logout_redirect_uri: redirectUri };
  const ends = endpoints.end_session_endpoint;
  window.location.assign(ends ? urlWithQuery(ends, query) : SIGNED_OUT);
}

async function configuration() {
  const address = `${settings.issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const found = await fetchJson(address);
  if (found.issuer !== settings.issuer) {
    const detail = `${address} is the configuration of ${found.issuer}, not of ${settings.issuer}.`;
    throw new Problem(0, "Wrong issuer", detail);
  }
  return found;
}

/** Goes to the issuer; the page comes back as a new one. */
async function start() {
  const { pathname, search, hash } = window.location;
  const pending = { page: pathname + search + hash, state: random(), nonce: random(), verifier: random() };
  window.sessionStorage.setItem(PENDING, JSON.stringify(pending));
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(pending.verifier));
  window.location.replace(urlWithQuery(endpoints.authorization_endpoint, {
    response_type: "code",
    client_id: settings.client_id,
    redirect_uri: redirectUri,
    scope: settings.scope,
    state: pending.state,
    nonce: pending.nonce,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: "S256",
  }));
  return new Promise(() => {});
}

/** Takes the issuer's response: gets the tokens for its code, and shows the requested page. */
async function finish(response) {
  const pending = JSON.parse(window.sessionStorage.getItem(PENDING) || "{}");
  window.sessionStorage.removeItem(PENDING);
  if (!pending.state || response.get("state") !== pending.state) {
    window.history.replaceState(null, "", "/");
    const detail = "This response does not belong to a sign-in that this tab started. Sign in again.";
    throw new Problem(0, "Not signed in", detail);
  }
  window.history.replaceState(null, "", pending.page);
  if (response.has("iss") && response.get("iss") !== settings.issuer) {
    throw new Problem(0, "Not signed in", "The response came from another issuer.");
  }
  if (!response.has("code")) {
    const detail = response.get("error_description") || `The issuer answered ${response.get("error")}`;
    throw new Problem(0, "Not signed in", detail);
  }
  await request({
    grant_type: "authorization_code",
    code: response.get("code"),
    redirect_uri: redirectUri,
    code_verifier: pending.verifier,
  }, pending.nonce);
}

async function renew() {
  try {
    if (!tokens.refresh) throw new Problem(0, "Expired", "The issuer gave no refresh token.");
    await request({ grant_type: "refresh_token", refresh_token: tokens.refresh });
  } catch {
    if (holdsForm()) throw ended();
    await start();
  }
}

/** Returns whether the page holds a form that is not sent: an open dialog, or a text that somebody has written. */
const holdsForm = () =>
  document.querySelector("dialog[open]") || [...document.querySelectorAll("textarea")].some((one) => one.value);

/** Returns the problem of a page that must stay as it is, with `signIn`, which signs in again in another window. */
function ended() {
  const detail = `What you have written is still here. Sign in in a new window, come back, and press the button again.`;
  return Object.assign(new Problem(0, "Your sign-in has ended", detail), { signIn });
}

/** Opens a window in which the person signs in, and takes its tokens if they are for the same person. */
function signIn() {
  const name = random();
  const channel = new BroadcastChannel(name);
  channel.onmessage = ({ data }) => {
    if (data.subject === tokens.subject) tokens = data;
    channel.close();
  };
  window.open(urlWithQuery(`${window.location.origin}${SIGNED_IN}`, { channel: name }));
}

/** Gives the tokens to the page that has opened this window, and closes it. */
function handOver() {
  const { name } = tokens;
  new BroadcastChannel(new URLSearchParams(window.location.search).get("channel")).postMessage(tokens);
  tokens = undefined;
  window.close();
  const detail = `You are signed in as ${name}. Close this window and go back to your form. Only the person who began it
    can send it.`;
  throw new Problem(0, "Signed in", detail);
}

/** Requests tokens. The first ones have the nonce of their sign-in; the connection to the issuer vouches for them. */
async function request(parameters, nonce) {
  const body = new URLSearchParams({ client_id: settings.client_id, ...parameters });
  const found = await fetchJson(endpoints.token_endpoint, { method: "POST", body });
  if (nonce) {
    const claims = claimsOf(found.id_token);
    const audiences = [claims.aud].flat();
    if (claims.nonce !== nonce || claims.iss !== settings.issuer || !audiences.includes(settings.client_id)) {
      throw new Problem(0, "Not signed in", "The issuer's token is not for this sign-in. Sign in again.");
    }
    tokens = { name: claims.name || claims.email || claims.sub, subject: claims.sub };
  }
  const lifetime = 1000 * (found.expires_in || 3600);
  tokens = {
    ...tokens,
    access: found.access_token,
    idToken: found.id_token || tokens.idToken,
    refresh: found.refresh_token || tokens.refresh,
    // Half a short lifetime: a new token must not be due at once, or the page would go to the issuer for ever.
    renewsAt: Date.now() + lifetime - Math.min(RENEWED_BEFORE, lifetime / 2),
  };
}

async function fetchJson(address, options = {}) {
  const response = await fetch(address, { credentials: "omit", ...options }).catch(() => null);
  const { origin } = new URL(address);
  if (!response) {
    throw new Problem(0, "The issuer did not respond", `${origin} is down, or refuses requests from this page.`);
  }
  const content = await response.json().catch(() => ({}));
  if (response.ok) return content;
  const reason = content.error_description || content.error || `status ${response.status}`;
  throw new Problem(response.status, "The issuer refused", `${origin}: ${reason}.`);
}

const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

const base64url = (bytes) =>
  btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

function claimsOf(token) {
  const part = (token || "").split(".")[1] || "e30";
  const bytes = Uint8Array.from(atob(part.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes));
}

/** Returns an address, which may have a query, with those further parameters that have a value. */
function urlWithQuery(address, query) {
  const url = new URL(address);
  for (const [name, value] of Object.entries(query)) if (value) url.searchParams.set(name, value);
  return url.href;
}
