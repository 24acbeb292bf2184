/** The registration of an agency: what is registered, and the form in which finance registers or changes it. */
import { html, useState } from "../vendor/htm-preact.js";
import { forgetAgencies, registrationOf } from "../lib/agencies.js";
import { agencyPath, put } from "../lib/api.js";
import { decimalText } from "../lib/decimal.js";
import { CURRENCY, NumberField, numberOf } from "../lib/fields.js";
import * as format from "../lib/format.js";
import { agencyAddress } from "../lib/links.js";
import { may } from "../lib/me.js";
import { country } from "../lib/names.js";
import { Name, Status, Time } from "../lib/parts.js";
import { navigate } from "../lib/routes.js";
import { NewVersion } from "./new-version.js";

const SCHEMES = ["standard", "reverse_charge", "exempt", "outside_scope"];
const LANGUAGES = { de: "German", fr: "French", es: "Spanish", nl: "Dutch" };
const PROVIDERS = ["shopify", "stripe", "woocommerce"];
const LONGEST = 200;
const COUNTRY = { pattern: "[A-Z]{2}", title: "Two capital letters, such as GB", size: 5 };
const PROFILES = { xrechnung: "XRechnung 3.0", peppol: "Peppol BIS Billing 3.0" };
/** What electronic invoices need of an agency, by the names of its fields. */
const REACH = {
  post_code: "Post code", town: "Town", email: "Email", phone: "Telephone",
  electronic_address: "Electronic address, such as 0088:4000001000005",
  registration_number: "Number of registration", buyer_reference: "Buyer reference, such as a Leitweg-ID",
  purchase_order: "Purchase order",
};
const NEW = { version: 0, content: {} };

/** What is registered of an agency, and for finance the button that changes it; `again` loads it again. */
export function Registration({ agency, registration, again }) {
  const [asking, setAsking] = useState(false);
  return html`
    ${registration
      ? html`<${Registered} ...${registration} />`
      : html`<p class="note">This agency is not registered. ${!may("finance") && "Finance registers it."}</p>`}
    ${may("finance") && html`
      <p class="bar">
        <button type="button" onClick=${() => setAsking(true)}>
          ${registration ? "Change the registration" : "Register this agency"}
        </button>
      </p>`}
    ${asking && html`
      <${Register} agency=${agency} latest=${registration || NEW} onDone=${again}
        onClose=${() => setAsking(false)} />`}`;
}

const Registered = ({ version, written_at: writtenAt, content }) => html`
  <p class="note">
    <${Status} value=${content.status || "active"} /> Version ${format.count(version)} of the registration,
    written <${Time} at=${writtenAt} />.
  </p>
  <dl class="facts">
    ${factsOf(content).filter(([name, fact]) => fact && name !== "Status").map(([name, fact]) => html`
      <div key=${name}><dt>${name}</dt><dd><${Name}>${fact}<//></dd></div>`)}
  </dl>`;

/** Returns what a registration says, as people read it. */
const factsOf = (content) => [
  ["Legal name", content.legal_name], ["Address", content.address],
  ["Country", content.country && country(content.country)],
  ["Tax", content.tax && taxWords(content.tax)], ["Currency", content.currency], ["Group", content.group],
  ["Contact", content.contact], ["Status", content.status],
  ["Language of its statements", LANGUAGES[content.language]],
  ["Collects the customers' money", content.collects],
  ["IBAN", content.iban],
  ["Payouts held, because", content.payout_hold],
  ["Also pays as", content.payer_names?.join("; ")],
  ["Also pays from", content.payer_ibans?.join("; ")],
  ["Profile of its electronic invoices", PROFILES[content.invoice_profile]],
  ...Object.entries(REACH).map(([name, title]) => [title.split(",")[0], content[name]]),
  ...Object.entries(content.external_ids || {}).map(([provider, ids]) => [`Ids at ${provider}`, ids?.join("; ")]),
  ["In force from", content.valid_from && format.time(content.valid_from)],
];

const taxWords = ({ vat_id: vatId, by_kind: byKind, by_charge: byCharge, by_category: byCategory, ...rate }) => {
  const own = [byKind, byCharge, byCategory].flatMap((rates) => Object.entries(rates || {}));
  const words = own.map(([name, one]) => `${name}: ${rateWords(one)}`);
  return [rateWords(rate), vatId, ...words].filter(Boolean).join(", ");
};

const rateWords = ({ scheme, percent, reason, reason_code: code }) =>
  [format.words(scheme), decimalText(percent) && `${format.exact(decimalText(percent))} %`, reason, code]
    .filter(Boolean).join(" ");

/** The button with which finance registers an agency that has no page to begin from yet. */
export function RegisterAnother() {
  const [asking, setAsking] = useState(false);
  if (!may("finance")) return null;
  const show = ({ agency }) => navigate(agencyAddress(agency, { tab: "registration" }));
  return html`
    <p class="bar"><button type="button" onClick=${() => setAsking(true)}>Register an agency</button></p>
    ${asking && html`<${Register} latest=${NEW} onDone=${show} onClose=${() => setAsking(false)} />`}`;
}

/** The dialog. Without an agency, the form asks for its name. */
function Register({ agency, latest, onDone, onClose }) {
  const named = (form) => agency ?? form.get("agency").trim();
  return html`
    <${NewVersion} ...${{ latest, onDone, onClose, contentOf, factsOf }} fields=${Fields}
      title=${latest.version ? "Change the registration" : "Register an agency"}
      action=${latest.version ? "Change" : "Register"}
      read=${(form) => registrationOf(named(form))}
      write=${(body, form) => put(agencyPath(named(form)), body).finally(forgetAgencies)}>
      ${agency
        ? html`<p>The agency is <${Name}>${agency}<//>. Earlier versions are kept.</p>`
        : html`<label>Agency, as in the events
            <input name="agency" required maxlength=${LONGEST} autocomplete="off" autofocus />
          </label>`}
    <//>`;
}

/** Returns the content of a version that a form holds: without what is empty, and with what it does not ask for. */
function contentOf(form, before) {
  const value = (name) => form.get(name)?.trim();
  const only = (values) => Object.fromEntries(Object.entries(values).filter(([, one]) => one));
  const { by_kind: byKind, by_charge: byCharge, by_category: byCategory } = before.tax || {};
  const tax = only({
    scheme: value("scheme"), percent: numberOf(form.get("percent") || ""), vat_id: value("vat_id"),
    reason: value("reason"), reason_code: value("reason_code"),
    by_kind: byKind, by_charge: byCharge, by_category: byCategory,
  });
  const names = [
    "legal_name", "address", "country", "currency", "group", "contact", "status", "language", "collects", "iban",
    "payout_hold", "invoice_profile", ...Object.keys(REACH),
  ];
  return only({
    ...Object.fromEntries(names.map((name) => [name, value(name)])),
    tax: tax.scheme && tax,
    payer_names: itemsIn(value("payer_names")),
    payer_ibans: itemsIn(value("payer_ibans")),
    external_ids: idsIn(value),
    valid_from: validFrom(form, before),
  });
}

/** Returns the texts of a field between semicolons; nothing if there are none. */
function itemsIn(text = "") {
  const found = text.split(";").map((one) => one.trim()).filter(Boolean);
  return found.length ? found : undefined;
}

/** Returns the ids of an agency at each provider; nothing if there are none. */
function idsIn(value) {
  const found = PROVIDERS.map((one) => [one, itemsIn(value(`${one}_ids`))]).filter(([, ids]) => ids);
  return found.length ? Object.fromEntries(found) : undefined;
}

/** Returns the instant in the field valid_from of a form, that of the version before if it was not changed. */
function validFrom(form, before) {
  const local = form.get("valid_from");
  const unchanged = before.valid_from && local === format.localTime(before.valid_from);
  return unchanged ? before.valid_from : local && format.instant(local);
}

const listOf = (texts = []) => ({ defaultValue: texts.join("; "), maxlength: 2000 });

function Fields({ content }) {
  const { tax = {} } = content;
  const [scheme, setScheme] = useState(tax.scheme || "");
  const input = (label, name, more = {}) => html`
    <label key=${name}>${label}
      <input name=${name} maxlength=${LONGEST} autocomplete="off" defaultValue=${content[name]} ...${more} />
    </label>`;
  return html`
    ${input("Legal name", "legal_name")}
    <label key="address">Address <textarea name="address" maxlength="500" defaultValue=${content.address} /></label>
    ${input("Country", "country", { ...COUNTRY, placeholder: "DE" })}
    <label key="scheme">Tax
      <select name="scheme" value=${scheme} onChange=${(event) => setScheme(event.target.value)}>
        <option value="">not known: statements are not issued</option>
        ${SCHEMES.map((one) => html`<option key=${one} value=${one}>${format.words(one)}</option>`)}
      </select>
    </label>
    ${scheme === "standard" && html`
      <${NumberField} key="percent" label="Tax rate (%)" name="percent" required most="100"
        value=${decimalText(tax.percent)} />`}
    ${scheme && input("VAT id", "vat_id", { defaultValue: tax.vat_id })}
    ${scheme && scheme !== "standard" && [
      input("Legal ground, in the language of its statements", "reason", { defaultValue: tax.reason }),
      input("Legal ground, code of the list VATEX", "reason_code", {
        defaultValue: tax.reason_code, pattern: "VATEX-[A-Z]{2}(-[A-Z0-9]+)+", placeholder: "VATEX-EU-132-1A",
      }),
    ]}
    ${input("Currency", "currency", { ...CURRENCY, placeholder: "EUR" })}
    ${input("Group; its rate card applies if the agency's own has no rule", "group")}
    ${input("Contact", "contact")}
    <label key="language">Language of its statements
      <select name="language">
        <option value="">English</option>
        ${Object.entries(LANGUAGES).map(([code, title]) => html`
          <option key=${code} value=${code} selected=${code === content.language}>${title}</option>`)}
      </select>
    </label>
    <label key="status">Status
      <select name="status">
        <option value="">active</option><option value="closed" selected=${content.status === "closed"}>closed</option>
      </select>
    </label>
    <label key="collects">Who collects the customers' money
      <select name="collects">
        <option value="">the agency; it owes commission</option>
        <option value="marketplace" selected=${content.collects === "marketplace"}>
          the marketplace; it owes the net sales less commission
        </option>
      </select>
    </label>
    ${input("IBAN, to which the marketplace pays out", "iban")}
    ${input("Why payouts are held; empty: they are made", "payout_hold")}
    ${input("Other names by which it pays, with ; between them", "payer_names", listOf(content.payer_names))}
    ${input("Other IBANs from which it pays, with ; between them", "payer_ibans", listOf(content.payer_ibans))}
    <label key="invoice_profile">Profile of its electronic invoices
      <select name="invoice_profile">
        <option value="">EN 16931</option>
        ${Object.entries(PROFILES).map(([name, title]) => html`
          <option key=${name} value=${name} selected=${name === content.invoice_profile}>${title}</option>`)}
      </select>
    </label>
    ${Object.entries(REACH).map(([name, title]) => input(title, name))}
    ${PROVIDERS.map((one) => input(
      `Its ids at ${one}, with ; between them`, `${one}_ids`, listOf(content.external_ids?.[one] || []),
    ))}
    <label key="valid_from">In force from (${format.zoneName()}); empty: from the beginning
      <input name="valid_from" type="datetime-local"
        defaultValue=${content.valid_from && format.localTime(content.valid_from)} />
    </label>`;
}
