/** The fields of forms: numbers as the reader's language writes them, and currencies. */
import { html, useLayoutEffect, useRef, useState } from "../vendor/htm-preact.js";
import { difference } from "./decimal.js";
import * as format from "./format.js";
import { exampleOf, readNumber, spelled, spelledMoney, unmistakable } from "./numbers.js";

const PLACES = 10;

/** The attributes of the field of a currency. */
export const CURRENCY = { pattern: "[A-Z]{3}", title: "Three capital letters, such as EUR", size: 5 };

/** Returns the decimal in a field of a form, as the API writes it; empty if the field is empty. */
export const numberOf = (text) => readNumber(text) ?? "";

/** Returns what writes amounts of a currency in words, also while its code is not written in full. */
export const wordsIn = (currency) =>
  (/^[A-Z]{3}$/.test(currency) ? (value) => spelledMoney(value, currency) : spelled);

/** Returns why a number does not fit a field, in words; empty if it does. `value`: undefined if it is no number. */
function problemOf(value, { places, signed, nonzero, most }) {
  const example = exampleOf(places);
  if (value === undefined) return `Write a number such as ${example}.`;
  const scale = (value.split(".")[1] || "").length;
  if (scale > places) {
    return `Write ${places ? `at most ${format.count(places)}` : "no"} decimal places, such as ${example}.`;
  }
  if (!signed && value.startsWith("-")) return "Write a number that is not below 0.";
  if (nonzero && !/[1-9]/.test(value)) return "Write a number above 0.";
  if (most && !/^-|^[0.]*$/.test(difference(value, most))) return `Write a number of at most ${most}.`;
  return "";
}

/**
 * The field of a number, with what was understood below it unless that is plain from the text.
 *
 * `value`: the decimal to begin with. `places`: of decimals, at most. `signed`: it may be below 0. `nonzero`: it must
 * be above 0. `most`: the largest. `words`: returns a number in words, which are shown below it.
 */
export function NumberField({ label, value, places = PLACES, signed, nonzero, most, words, ...more }) {
  const begin = value ? format.exact(value) : "";
  const [text, setText] = useState(begin);
  const input = useRef();
  const number = text.trim() ? readNumber(text) : "";
  const problem = number === "" ? "" : problemOf(number, { places, signed, nonzero, most });
  useLayoutEffect(() => input.current.setCustomValidity(problem), [problem]);
  const shown = number && !problem && /\D/.test(text.trim()) && unmistakable(number);
  return html`
    <div class="field">
      <label>${label}
        <input ref=${input} inputmode=${signed ? "text" : "decimal"} autocomplete="off" defaultValue=${begin} ...${more}
          onInput=${(event) => setText(event.target.value)} />
      </label>
      <output>${shown && shown !== text.trim() && `= ${shown}`}</output>
      ${words && html`<output>${number && !problem && words(number)}</output>`}
    </div>`;
}

/** The field of an instant, in the time zone that is shown. `at`: the instant, or the day of UTC, to begin with. */
export function InstantField({ label, name, at }) {
  const [instant, setInstant] = useState(Number.isNaN(Date.parse(at)) ? "" : at);
  const onInput = ({ target: { value } }) => setInstant(value && format.instant(value));
  return html`
    <label>${label}
      <input type="datetime-local" name=${name} value=${instant && format.localTime(instant)} onInput=${onInput} />
    </label>`;
}
