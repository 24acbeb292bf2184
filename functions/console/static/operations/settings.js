/** The settings that finance decides, and their history. This page writes none of them. */
import { html } from "../vendor/htm-preact.js";
import { get } from "../lib/api.js";
import { List } from "../lib/list.js";
import { Pending, useLoaded } from "../lib/parts.js";

const PATH = "/documents/settings";
/** Each setting: its name in the document, what it is, and its default. */
const SETTINGS = [
  ["commission_rate", "Commission rate of events that nothing else prices", "0.10"],
  ["agency_policy", "Events of agencies that are not registered", "open"],
  ["held_days", "Days until a held event sets off an alarm", "7"],
  ["base_currency", "Base currency", "none"],
  ["time_zone", "Time zone of the months", "UTC"],
  ["grace_days", "Days from the end of a month to its cut-off", "3"],
  ["first_period", "First period with statements", "none"],
  ["periods_from", "These three apply from", "the beginning"],
  ["statement_prefix", "Prefix of statements' numbers", "S-"],
  ["credit_note_prefix", "Prefix of credit notes' numbers", "C-"],
  ["release", "Release of drafts", "automatic"],
  ["approvals", "People who must agree", "1"],
  ["rounding", "Rounding of half a minor unit", "half-even"],
  ["acceptance_days", "Days until silence accepts a statement", "0"],
  ["upload_sources", "Sources open to uploads", "none"],
];
const COLUMNS = [
  { key: "title", title: "Setting", head: true, kind: "long" },
  { key: "value", title: "Value", kind: "long" },
  { key: "origin", title: "Origin" },
];
const HISTORY_COLUMNS = [
  { key: "version", title: "Version", type: "number", head: true },
  { key: "valid_from", title: "Calendar applies from", type: "time" },
  { key: "written_at", title: "Written", type: "time" },
  { key: "written_by", title: "By", type: "person", kind: "long" },
];

/** Returns the content of the document; of none, without any setting. */
async function load() {
  const { items } = await get("/documents?kind=settings&limit=1");
  return items.length > 0 ? (await get(PATH)).content : {};
}

/** The page. */
export function Settings() {
  const { value, problem, again } = useLoaded(load, PATH);
  if (!value) return html`<${Pending} problem=${problem} retry=${again} />`;
  const rows = SETTINGS.map(([name, title, usual]) => {
    const written = [value[name] ?? []].flat().join(", ");
    return { title, value: written || usual, origin: written ? "written" : "default" };
  });
  return html`
    <p>A machine or an operator writes the settings: <code>quarterhour settings FILE</code>.</p>
    <${List} name="settings" caption="Settings" columns=${COLUMNS} rows=${rows} />
    ${Object.keys(value).length > 0 && html`
      <h2>History</h2>
      <${List} name="settings-history" caption="Versions, the newest first" columns=${HISTORY_COLUMNS}
        path=${`${PATH}/versions`} />`}`;
}
