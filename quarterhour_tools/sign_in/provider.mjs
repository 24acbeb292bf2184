/**
 * The OpenID provider of `quarterhour up --sign-in`: made-up people sign in to the console, without a password.
 *
 * It listens on this machine only, and ends when its standard input does. The first line of the input sets it up, as
 * JSON: `origins` of the console, `client`, `audience`, `scope`, the `seconds` for which an access token is valid, and
 * the `people`. The first line of its output is its address.
 */
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { Provider } from "oidc-provider";

const RESOURCE = "urn:quarterhour:api";
const SIGN_IN = "/sign-in/";
const STYLE = `
  :root { color-scheme: light dark; --ink: #1b2333; --soft: #556074; --line: #dfe4ec; --accent: #1d5bbf; --paper: #fff; }
  @media (prefers-color-scheme: dark) {
    :root { --ink: #e7ebf3; --soft: #a9b3c4; --line: #2f3947; --accent: #86b4ff; --paper: #12171f; }
  }
  body { margin: 0; background: var(--paper); color: var(--ink); font: .9rem/1.5 system-ui, sans-serif; }
  main { max-width: 27rem; margin: 0 auto; padding: 12vh 1rem 2rem; }
  .brand { display: flex; gap: .5rem; align-items: center; font-size: 1.0625rem; font-weight: 650; }
  svg { width: 1.5rem; height: 1.5rem; fill: var(--paper); }
  rect { fill: var(--accent); }
  rect + path { opacity: .5; }
  h1 { font-size: 1.5rem; line-height: 1.25; }
  button {
    display: block; width: 100%; margin: .5rem 0; padding: .75rem 1rem; border: 1px solid var(--line); border-radius: 10px;
    background: none; color: inherit; font: inherit; text-align: start; cursor: pointer;
  }
  button:is(:hover, :focus-visible) { border-color: var(--accent); }
  code { color: var(--soft); font-size: .8125rem; overflow-wrap: anywhere; }`;
const BRAND = `<p class="brand"><svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8" />
  <path d="M14.5 17.5v-9a9 9 0 1 0 9 9z" /><path d="M17.5 14.5v-9a9 9 0 0 1 9 9z" /></svg>Quarterhour</p>`;

const lines = createInterface({ input: process.stdin });
lines.on("close", () => process.exit());
const [line] = await once(lines, "line");
const { origins, client, audience, scope, seconds, people } = JSON.parse(line);

const server = createServer().listen(0, "127.0.0.1");
await once(server, "listening");
const issuer = `http://127.0.0.1:${server.address().port}`;
const provider = new Provider(issuer, configuration());
const answer = provider.callback();
server.on("request", (request, response) => {
  if (!request.url.startsWith(SIGN_IN)) return answer(request, response);
  return signIn(request, response).catch((error) => {
    response.statusCode = error.statusCode ?? 500;
    response.end(page("This sign-in is over", `<p>${encoded(error.message)}. Open the console again.</p>`, response));
  });
});
process.stdout.write(`${issuer}\n`);

function configuration() {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return {
    jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), alg: "RS256", use: "sig" }] },
    cookies: { keys: [randomBytes(32).toString("hex")] },
    clients: [{
      client_id: client,
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", "refresh_token"],
      redirect_uris: origins.map((origin) => `${origin}/`),
      post_logout_redirect_uris: origins.map((origin) => `${origin}/`),
    }],
    clientBasedCORS: (_, origin) => origins.includes(origin),
    pkce: { required: () => true },
    scopes: scope.split(" "),
    claims: { openid: ["sub"], profile: ["name"] },
    conformIdTokenClaims: false,
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, name: people[id].name }) }),
    extraTokenClaims: (_, token) => people[token.accountId].claims,
    interactions: { url: (_, { uid }) => SIGN_IN + uid },
    loadExistingGrant: grant,
    issueRefreshToken: () => true,
    ttl: { Grant: 86_400, Interaction: 3600, RefreshToken: 86_400, Session: 86_400 },
    renderError: (context, { error, error_description: description }) => {
      const text = `<p>${encoded(description ?? error)}</p>`;
      context.body = page("The sign-in failed", text, context.res);
    },
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: false },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => RESOURCE,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: "", audience, accessTokenTTL: seconds, accessTokenFormat: "jwt", jwt: { sign: { alg: "RS256" } },
        }),
      },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource: (context, form) => {
          const button = '<button name="logout" value="yes" form="op.logoutForm" autofocus>Sign out</button>';
          context.body = page("Sign out of Quarterhour?", `${form}${button}`, context.res);
        },
        postLogoutSuccessSource: (context) => {
          context.body = page("Signed out", "<p>You can close this page.</p>", context.res);
        },
      },
    },
  };
}

/** Grants the console what it requests: nobody is asked for consent. */
async function grant({ oidc }) {
  const id = oidc.session.grantIdFor(oidc.client.clientId);
  if (id) return provider.Grant.find(id);
  const given = new provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
  given.addOIDCScope(scope);
  await given.save();
  return given;
}

/** Shows who can sign in, and signs in the person whose button was pressed. */
async function signIn(request, response) {
  await provider.interactionDetails(request, response);
  if (request.method !== "POST") return response.end(choices(response));
  const chunks = await request.toArray();
  const person = new URLSearchParams(Buffer.concat(chunks).toString()).get("person");
  const refusal = { error: "access_denied", error_description: "Nobody has signed in" };
  const result = Object.hasOwn(people, person) ? { login: { accountId: person } } : refusal;
  return provider.interactionFinished(request, response, result);
}

function choices(response) {
  const buttons = Object.entries(people).map(([id, { name, work, claims }]) => `
    <button name="person" value="${encoded(id)}">
      <strong>${encoded(name)}</strong>, ${encoded(work)}<br><code>${encoded(JSON.stringify(claims))}</code>
    </button>`);
  return page("Sign in to Quarterhour", `
    <p>These people are made up. Choose one, with the claims of their access token:</p>
    <form method="post">${buttons.join("")}<button>Cancel</button></form>`, response);
}

function page(title, content, response) {
  const style = randomBytes(16).toString("base64");
  response.setHeader("content-type", "text/html; charset=utf-8");
  response.setHeader("cache-control", "no-store");
  response.setHeader("content-security-policy", `default-src 'none'; style-src 'nonce-${style}'; frame-ancestors 'none'`);
  return `<!doctype html>
    <html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
    <title>${title}</title><style nonce="${style}">${STYLE}</style>
    <main>${BRAND}<h1>${title}</h1>${content}</main></html>`;
}

function encoded(text) {
  return String(text).replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`);
}
