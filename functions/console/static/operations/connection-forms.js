/** The forms in which finance creates, changes and deletes a connection, and gives it a new secret. */
import { html, useState } from "../vendor/htm-preact.js";
import { connectionPath, put, remove } from "../lib/api.js";
import * as format from "../lib/format.js";
import { Dialog, Name, useSending } from "../lib/parts.js";

const PROVIDERS = { shopify: "Shopify", stripe: "Stripe", woocommerce: "WooCommerce", generic: "any other sender" };
const AGENCIES = {
  fixed: "always this agency", field: "the agency that a field names", external_id: "the agency whose id is in a field",
};
const LONGEST = 200;
const NEW = { provider: "shopify", shipping: "excluded", test: "excluded", version: 0 };
const SECRET = {
  type: "password", name: "secret", minlength: 16, maxlength: LONGEST, autocomplete: "off", spellcheck: false,
};

/** Returns how the agency of a connection is found, and the name or the field by which it is. */
const agencyOf = ({ agency }) =>
  (typeof agency === "string" ? ["fixed", agency] : Object.entries(agency ?? {})[0] ?? ["field", ""]);

const agencyWords = (how, text) => `${AGENCIES[how]}: ${text}`;

/** Returns what a connection says, as pairs of words and text. */
export const factsOf = (connection) => [
  ["Provider", PROVIDERS[connection.provider]],
  ["Agency", connection.agency && agencyWords(...agencyOf(connection))],
  ["Source of its events", connection.source],
  ["Tax", connection.tax],
  ["Shipping", connection.shipping],
  ["Test deliveries", connection.test],
  ["Own map", connection.map && `${format.count(connection.map.length)} characters`],
  ["Version", format.count(connection.version)],
];

/** Returns the content of a connection, without its state. */
const contentOf = ({ provider, agency, source, tax, shipping, test, map }) =>
  ({ provider, agency, source, tax, shipping, test, map });

/** Returns the content that a form holds. */
function contentOfForm(form, provider) {
  const value = (name) => form.get(name)?.trim() || undefined;
  const how = value("how");
  return {
    provider,
    secret: value("secret"),
    agency: how && (how === "fixed" ? value("agency") : { [how]: value("agency") }),
    source: value("source"),
    tax: value("tax"),
    shipping: value("shipping"),
    test: value("test"),
    map: value("map"),
  };
}

/** Throws a refusal with the API's own words: it may be another one than that of a change by somebody else. */
function asTold(problem) {
  if (problem.status === 409) problem.status = undefined;
  throw problem;
}

/** The dialog that creates a connection, or changes the one that is given. */
export function Connect({ connection, onDone, onClose }) {
  const seen = connection ?? NEW;
  const [provider, setProvider] = useState(seen.provider);
  const send = (form) => {
    const name = connection?.name ?? form.get("name").trim();
    return put(connectionPath(name), { ...contentOfForm(form, provider), seen: seen.version }).catch(asTold);
  };
  const choose = ({ target: { value } }) => setProvider(value);
  return html`
    <${Dialog} title=${connection ? "Change the connection" : "Connect a provider"} wide
      action=${connection ? "Change" : "Connect"} onClose=${onClose} ...${useSending(send, onDone)}>
      ${!connection && html`
        <label>Name, as in its address
          <input name="name" required pattern="[a-z0-9]([a-z0-9\\-]{0,48}[a-z0-9])?" autocomplete="off" autofocus
            title="Small letters, digits and hyphens, such as shop-2" />
        </label>
        <label>Provider
          <select name="provider" value=${provider} onChange=${choose}>
            ${options(PROVIDERS)}
          </select>
        </label>
        <label>Secret with which the provider signs <input required ...${SECRET} /></label>`}
      <${Settings} key=${provider} connection=${seen} provider=${provider} />
      ${connection && html`
        <p>Parked deliveries are applied again afterwards.</p>`}
    <//>`;
}

const options = (words, chosen) => Object.entries(words).map(([value, text]) => html`
  <option key=${value} value=${value} selected=${value === chosen}>${text}</option>`);

function Settings({ connection, provider }) {
  const [how, agency] = agencyOf(connection);
  const words = (usual) => ({ ...usual, included: "included", excluded: "excluded" });
  return html`
    ${provider !== "generic" && html`
      <label>Its agency
        <select name="how">${options(AGENCIES, how)}</select>
      </label>
      <label>Name of the agency, or the field, such as vendor or metadata.seller
        <input name="agency" required maxlength=${LONGEST} autocomplete="off" defaultValue=${agency} />
      </label>`}
    <label>Source of its events; empty: that of the provider's export file
      <input name="source" maxlength=${LONGEST} autocomplete="off" defaultValue=${connection.source ?? ""} />
    </label>
    ${provider !== "generic" && html`
      <label>Tax in the amounts
        <select name="tax">${options(words({ "": "as in the shop's prices" }), connection.tax ?? "")}</select>
      </label>
      <label>Shipping in the amounts
        <select name="shipping">${options(words({}), connection.shipping)}</select>
      </label>
      <label>Test deliveries
        <select name="test">${options(words({}), connection.test)}</select>
      </label>`}
    <label>Map of your own; empty: that of the provider
      <textarea name="map" maxlength="100000" spellcheck="false" defaultValue=${connection.map ?? ""} />
    </label>`;
}

/** The dialog that gives a connection a new secret. */
export function Rotate({ connection, onDone, onClose }) {
  const send = (form) => put(connectionPath(connection.name), {
    ...contentOf(connection), secret: form.get("secret").trim(), seen: connection.version,
  }).catch(asTold);
  return html`
    <${Dialog} title="New secret" action="Replace" onClose=${onClose} ...${useSending(send, onDone)}>
      <p>The secret before is accepted for another day, so that the provider can change to the new one.</p>
      <label>Secret with which the provider signs <input required autofocus ...${SECRET} /></label>
    <//>`;
}

/** The dialog that deletes a connection. */
export function Delete({ connection, onDone, onClose }) {
  const sending = useSending(() => remove(connectionPath(connection.name)).catch(asTold), onDone);
  const { name, state } = connection;
  return html`
    <${Dialog} title="Delete the connection" action="Delete" onClose=${onClose} ...${sending}
      isStale=${state.parked > 0}>
      <p>
        <${Name}>${name}<//> and its secrets are deleted. Its deliveries are answered 404 from then on, and the provider
        may end its webhook. What is recorded stays.
      </p>
      ${state.parked > 0 && html`
        <p class="mark">${format.count(state.parked)} of its deliveries are parked: apply or discard them first.</p>`}
    <//>`;
}
