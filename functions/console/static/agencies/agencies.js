/** Agencies: all that are registered. */
import { html } from "../vendor/htm-preact.js";
import { AgencyLink, agencyColumn } from "../lib/links.js";
import { List } from "../lib/list.js";
import { may } from "../lib/me.js";
import { country } from "../lib/names.js";
import { Link } from "../lib/parts.js";
import { address } from "../lib/routes.js";
import { RegisterAnother } from "./registration.js";

const COLUMNS = [
  agencyColumn(new Map(), {
    head: true, text: (one) => `${one.legal_name} ${one.agency}`,
    cell: (one) => html`<${AgencyLink} agency=${one.agency} />`,
  }),
  { key: "legal_name", title: "Legal name", kind: "long", hidden: true },
  {
    key: "country", title: "Country", text: (one) => [one.country && country(one.country), one.country].join(" "),
    cell: (one) => one.country && country(one.country),
  },
  { key: "currency", title: "Currency" },
  { key: "group", title: "Group", kind: "long" },
  { key: "status", title: "Status", type: "status" },
  { key: "valid_from", title: "In force from", type: "time", hidden: true },
];

/** The page. */
export const Agencies = () => html`
  <${RegisterAnother} />
  ${may("finance") && html`
    <p><${Link} to=${address(["upload"], { kind: "agencies" })}>Upload a file of agencies<//></p>`}
  <${List} name="agencies" caption="Registered agencies" columns=${COLUMNS} path="/agencies" empty=${html`
    <p class="empty">
      No agency is registered yet. Finance registers them here.
      ${" "}<${Link} to=${address(["accounts"])}>Accounts<//> shows all agencies that have events.
    </p>`} />`;
