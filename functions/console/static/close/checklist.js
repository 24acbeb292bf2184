/** The checklist of a period: what has to be right before its statements are released, and where to correct it. */
import { html } from "../vendor/htm-preact.js";
import { all, get, withQuery } from "../lib/api.js";
import { compare, sum } from "../lib/decimal.js";
import * as format from "../lib/format.js";
import { AgencyName, reportAddress } from "../lib/links.js";
import { DUE, lateness } from "../lib/overdue.js";
import { Link, Pending, Status, Time, useLoaded } from "../lib/parts.js";
import { address } from "../lib/routes.js";
import { failedOf } from "./drafts.js";

const MOST = 1000;
const LATER = "known once the drafts are made";

/** Returns what the rows of the checklist need beside the drafts: one request for each kind, of all agencies. */
async function loaded() {
  const list = (path) => get(withQuery(path, { limit: MOST }));
  const [operations, runs, held, disputes, rates, receivables] = await Promise.all([
    get("/operations"), get("/reports?limit=1"), list("/held"), list("/disputes"), list("/exchange-rates"),
    all("/receivables"),
  ]);
  return { operations, run: runs.items[0], held, disputes, rates: rates.items, receivables };
}

/** The checklist. `drafts`: those of the period that have no statement. Another `turn` reads everything again. */
export function Checklist({ period, drafts, turn }) {
  const { value, problem, again } = useLoaded(loaded, turn);
  if (!value) return html`<${Pending} problem=${problem} retry=${again} />`;
  const rows = [...ofSealing(period, value), ...ofEvents(value), ...ofDrafts(period, drafts, value), ...ofMoney(value)];
  const left = rows.filter(([state]) => state !== "done").length;
  return html`
    <section aria-labelledby="checklist" class="checklist">
      <h2 id="checklist">Checklist <span class="note">${left
        ? `${format.count(rows.length - left)} of ${format.count(rows.length)} done` : "all done"}</span></h2>
      ${left > 0 && drafts.length > 0 && html`
        <p class="note">Only a failed check keeps a draft from being released. The rest is for you to judge.</p>`}
      <ul>
        ${rows.map(([state, title, number, todo]) => html`
          <li key=${title}>
            <${Status} value=${state} /><span>${title}</span><strong>${number}</strong>
            <span class="note">${state !== "done" && todo}</span>
          </li>`)}
      </ul>
    </section>`;
}

const stateOf = (number) => (number ? "attention" : "done");
const counted = ({ items, next }) => `${format.count(items.length)}${next ? "+" : ""}`;
const link = (parts, text, parameters) => html`<${Link} to=${address(parts, parameters)}>${text}<//>`;

function ofSealing(period, { operations: { reports }, run }) {
  const { cut_off: cutOff, state } = period;
  const sealedUntil = reports.sealed_until ? Date.parse(reports.sealed_until) : 0;
  const isSealed = state === "sealed" || sealedUntil >= Date.parse(cutOff);
  const until = reports.sealed_until ? html`until <${Time} at=${reports.sealed_until} />` : "nothing yet";
  return [
    [state === "sealed" ? "done" : "to_do", "Drafts made", state === "sealed" ? format.count(period.drafts ?? 0) : "–",
      state === "open" ? html`from <${Time} at=${cutOff} />` : DUE[state]],
    [isSealed ? "done" : reports.late ? "attention" : "to_do", "Reports sealed to the cut-off", until,
      reports.late ? link(["operations"], `late: ${lateness(reports)}`)
        : html`the cut-off is <${Time} at=${cutOff} />`],
    [!run || run.counters === "pending" ? "to_do" : run.counters === "verified" ? "done" : "attention",
      "Live counters", run ? format.words(run.counters) : "–",
      run ? html`<${Link} to=${reportAddress(run.run)}>Show the last run<//>` : "no run yet"],
  ];
}

function ofEvents({ operations, held }) {
  const waiting = operations.queues.reduce((many, one) => many + one.waiting + one.in_flight, 0);
  return [
    [stateOf(held.items.length), "Held events", counted(held), link(["operations"], "Show why")],
    [stateOf(waiting), "Records set aside", format.count(waiting), link(["operations"], "Show the queues")],
  ];
}

function ofDrafts(period, drafts, { rates }) {
  const made = period.state === "sealed";
  const having = (name, level) =>
    drafts.filter((draft) => draft.checks.some((one) => one.level === level && name.includes(one.check)));
  const show = (name, text) => link(["close", period.period], "Show them", { show: name, text });
  const row = (title, found, todo) => [
    made ? stateOf(found.length) : "to_do", title, made ? format.count(found.length) : "–", made ? todo : LATER,
  ];
  const agencies = [...new Set(having(["agency", "tax"], "failed").map((one) => one.agency))];
  const owner = having(["owner"], "failed");
  const ofAgencies = agencies.length === 1
    ? link(["agencies", agencies[0]], "Register it") : show("failed");
  const bases = new Set(rates.map((one) => one.base));
  const known = new Set([...rates.map((one) => one.currency), ...bases]);
  const missing = [...new Set(drafts.map((one) => one.currency))].filter((one) => !known.has(one));
  return [
    row("Drafts with failed checks", drafts.filter((one) => failedOf(one.checks).length), show("failed")),
    row("Agencies not registered in full", agencies, ofAgencies),
    ...(owner.length
      ? [row("Drafts without an owner", owner, link(["runbooks", "releasing-statements"], "Write it"))] : []),
    row("Drafts with the default rate", having(["default_rate"], "warning"), show("warning", "default")),
    rates.length
      ? row("Currencies without exchange rate", missing,
        html`${missing.join(", ")}: ${link(["exchange-rates"], "show the rates")}`)
      : ["done", "Exchange rates", "none in use", ""],
  ];
}

function ofMoney({ disputes, receivables }) {
  const unmatched = receivables.filter((one) => compare(one.unallocated, "0"));
  const of = Map.groupBy(unmatched, (one) => one.currency);
  const sums = [...of].map(([currency, some]) =>
    `${format.money(sum(some.map((one) => one.unallocated)), currency)} ${currency}`);
  return [
    [stateOf(disputes.items.length), "Open disputes", counted(disputes),
      link(["statements"], "Show the statements", { status: "disputed" })],
    [stateOf(unmatched.length), "Unmatched payments", sums.join(", ") || "0",
      unmatched.slice(0, 2).map(({ agency, currency }, index) => html`
        ${index > 0 && ", "}${link(["receivables", agency], html`<${AgencyName} agency=${agency} />`, { currency })}`)],
  ];
}
