/** The form in which finance enters exchange rates: typed, shown back, then entered one after another. */
import { html, useState } from "../vendor/htm-preact.js";
import { put, segment } from "../lib/api.js";
import { CURRENCY, NumberField, numberOf } from "../lib/fields.js";
import * as format from "../lib/format.js";
import { may } from "../lib/me.js";
import { isolated } from "../lib/names.js";
import { unmistakable } from "../lib/numbers.js";
import { Dialog, Status, Table } from "../lib/parts.js";

const HEAD = [["Rate"], ["Before", "n"], ["Change", "n"], ["Result"]];
const UNUSUAL = 0.1;

/** The button of the form. `items`: the rates in force; `onDone` is called when rates were entered. */
export function EnterRates({ items, onDone }) {
  const [open, setOpen] = useState(false);
  if (!may("finance")) return null;
  return html`
    <p class="bar"><button type="button" onClick=${() => setOpen(true)}>Enter exchange rates</button></p>
    ${open && html`<${Ask} items=${items} onDone=${onDone} onClose=${() => setOpen(false)} />`}`;
}

function valuesOf(form) {
  const [currencies, rates] = [form.getAll("currency"), form.getAll("rate")];
  return {
    base: form.get("base").trim(), source: form.get("source").trim(), as_of: format.instant(form.get("as_of")),
    rates: currencies.map((currency, index) => ({ currency, units_per_base: numberOf(rates[index]) })),
  };
}

/** Returns what becomes of each rate, by currency; what enters those that are not entered yet; and a reset. */
function useEntering() {
  const [results, setResults] = useState({});
  const enter = async ({ rates, ...shared }) => {
    const found = { ...results };
    for (const { currency, units_per_base } of rates.filter((one) => found[one.currency]?.status !== "entered")) {
      found[currency] = await put(`/exchange-rates/${segment(currency)}`, { ...shared, units_per_base })
        .then(() => ({ status: "entered" }), (problem) => ({ status: "refused", problem }));
      setResults({ ...found });
    }
    return Object.values(found).every((one) => one.status === "entered");
  };
  return [results, enter, () => setResults({})];
}

function Ask({ items, onDone, onClose }) {
  const [review, setReview] = useState(null);
  const [results, enter, forget] = useEntering();
  const [busy, setBusy] = useState(false);
  const close = () => {
    onClose();
    if (Object.values(results).some((one) => one.status === "entered")) onDone();
  };
  const change = () => {
    setReview(null);
    forget();
  };
  const send = async (form) => {
    if (!review) {
      setReview(valuesOf(form));
      return false;
    }
    setBusy(true);
    const isDone = await enter(review);
    setBusy(false);
    return isDone;
  };
  return html`
    <${Dialog} title="Enter exchange rates" action=${review ? "Enter" : "Review"} busy=${busy} wide
      onSend=${send} onClose=${close}>
      <${Fields} hidden=${review !== null} base=${items.find((one) => one.base)?.base ?? ""} />
      ${review && html`
        <p>In force from ${format.time(review.as_of)}, by ${isolated(review.source)}:</p>
        <${Table} label="The rates to enter" head=${HEAD}>
          ${review.rates.map((rate) => html`
            <${Line} key=${rate.currency} ...${{ rate, base: review.base, result: results[rate.currency] }}
              before=${items.find((one) => one.currency === rate.currency)} />`)}
        <//>
        <p><button type="button" disabled=${busy} onClick=${change}>Change it</button></p>`}
    <//>`;
}

/** The fields of the form: those of all rates, and some for each rate. `base`: the currency that it begins with. */
function Fields({ hidden, base }) {
  const [ids, setIds] = useState(() => [crypto.randomUUID()]);
  const [now] = useState(() => format.localTime(Date.now()));
  return html`
    <div hidden=${hidden}>
      <div class="bar">
        <label>Base currency <input name="base" required defaultValue=${base} ...${CURRENCY} /></label>
        <label>In force from (${format.zoneName()})
          <input name="as_of" type="datetime-local" required defaultValue=${now} />
        </label>
        <label>Source <input name="source" required maxlength="64" autocomplete="off" placeholder="ECB" /></label>
      </div>
      ${ids.map((id, index) => html`
        <fieldset key=${id} class="bar">
          <legend>Rate ${index + 1}</legend>
          <label>Currency <input name="currency" required ...${CURRENCY} /></label>
          <${NumberField} label="Units for one unit of the base currency" name="rate" nonzero required size="12" />
          ${ids.length > 1 && html`
            <button type="button" aria-label=${`Remove rate ${index + 1}`}
              onClick=${() => setIds(ids.filter((one) => one !== id))}>Remove</button>`}
        </fieldset>`)}
      <p><button type="button" onClick=${() => setIds([...ids, crypto.randomUUID()])}>Add a rate</button></p>
    </div>`;
}

function Line({ rate: { currency, units_per_base: units }, base, before, result }) {
  const change = before ? Number(units) / Number(before.units_per_base) - 1 : undefined;
  return html`
    <tr>
      <th scope="row">1 ${base} = ${unmistakable(units)} ${currency}</th>
      <td class="n">${before && format.exact(before.units_per_base)}</td>
      <td class="n">${change !== undefined && format.change(change)}
        ${Math.abs(change) > UNUSUAL && html` <${Status} value="warning" />`}</td>
      <td class="long">${result && html`<${Status} value=${result.status} />`} ${result?.problem?.message}</td>
    </tr>`;
}
