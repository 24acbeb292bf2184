/**
 * Decimal numbers as a language writes them, and in English words. What could mean two numbers is refused, never
 * guessed.
 */

const LONGEST = 20;
const INVISIBLE = /[\u061c\u200e\u200f\u2066-\u2069]/g;
const MINUS = "\u2212";
const SMALL = [
  "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
  "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
];
const TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
const THOUSANDS = ["", " thousand", " million", " billion", " trillion", " quadrillion", " quintillion"];
const conventions = new Map();

/** Returns a text with one kind of space, of apostrophe and of minus. */
const plain = (text) =>
  text.replace(INVISIBLE, "").trim().replace(/\s/g, " ").replaceAll("\u2019", "'").replaceAll(MINUS, "-");

/** Returns how a language writes decimals: a pattern of sign, whole and fraction, and its own digits. */
function conventionsOf(language) {
  if (!conventions.has(language)) {
    const parts = new Intl.NumberFormat(language, { useGrouping: "always" }).formatToParts(-12345678901.5);
    const escaped = (type) => plain(`.${parts.find((one) => one.type === type)?.value ?? ""}.`).slice(1, -1)
      .replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const sizes = parts.filter((one) => one.type === "integer").map((one) => one.value.length);
    const [primary, secondary = primary] = sizes.toReversed();
    const group = escaped("group");
    const grouped = group && `|[1-9]\\d{0,${secondary - 1}}(?:${group}\\d{${secondary}})*${group}\\d{${primary}}`;
    const digits = new Intl.NumberFormat(language, { useGrouping: false }).format(9876543210n);
    conventions.set(language, {
      pattern: new RegExp(`^(-?)(\\d+${grouped})(?:${escaped("decimal")}(\\d+))?$`),
      ownDigits: new Map([...digits].toReversed().map((digit, value) => [digit, String(value)])),
    });
  }
  return conventions.get(language);
}

/**
 * Returns the exact decimal of a text in a language, that of the browser if none is given.
 *
 * `value` is the decimal as the API writes it, with all digits of the text. It is undefined if the text is no number
 * in this language, or has groups of a wrong size, such as 1,23 in English.
 */
export function readNumber(text, language) {
  const { pattern, ownDigits } = conventionsOf(language);
  const latin = [...plain(text)].map((one) => ownDigits.get(one) ?? one).join("");
  const [, minus, whole, fraction = ""] = pattern.exec(latin) ?? [];
  if (!whole) return undefined;
  const digits = whole.replace(/\D/g, "").replace(/^0+(?=\d)/, "");
  if (digits.length > LONGEST) return undefined;
  const sign = minus && /[1-9]/.test(digits + fraction) ? "-" : "";
  return `${sign}${digits}${fraction && `.${fraction}`}`;
}

/**
 * Returns a decimal so that nobody reads it as another one: with two decimal places at least, and never with three,
 * because the last three digits could be a group of thousands.
 */
export function unmistakable(value, language) {
  const scale = (value.split(".")[1] || "").length;
  const shown = scale === 3 ? 4 : Math.max(2, scale);
  return new Intl.NumberFormat(language, { useGrouping: "always", minimumFractionDigits: shown }).format(value);
}

/** Returns an example of a number with so many decimal places at most. */
export function exampleOf(places, language) {
  const shown = Math.min(places, 2);
  const options = { useGrouping: "always", minimumFractionDigits: shown, maximumFractionDigits: shown };
  return new Intl.NumberFormat(language, options).format(places ? "1234.5" : "1234");
}

/** Returns a whole number below 1000 in words. */
function belowThousand(number) {
  if (number >= 100) {
    const rest = number % 100;
    return `${SMALL[Math.floor(number / 100)]} hundred${rest ? ` ${belowThousand(rest)}` : ""}`;
  }
  if (number < SMALL.length) return SMALL[number];
  return TENS[Math.floor(number / 10)] + (number % 10 ? `-${SMALL[number % 10]}` : "");
}

/**
 * Returns a decimal text of at most 20 whole digits in English words, which no separator can change: minus one thousand
 * two hundred thirty-four point five zero. Decimal places are left out if all are zero.
 */
export function spelled(value) {
  const [whole, fraction = ""] = value.replace("-", "").split(".");
  const groups = whole.replace(/\B(?=(\d{3})+$)/g, " ").split(" ").map(Number);
  const words = groups
    .map((group, index) => group && belowThousand(group) + THOUSANDS[groups.length - 1 - index])
    .filter(Boolean).join(" ") || SMALL[0];
  const places = /[1-9]/.test(fraction) ? ` point ${[...fraction].map((digit) => SMALL[digit]).join(" ")}` : "";
  return `${value.startsWith("-") ? "minus " : ""}${words}${places}`;
}

/** Returns an amount in English words, with the name of its currency: twelve point five zero British pounds. */
export function spelledMoney(value, currency) {
  const options = { style: "currency", currency, currencyDisplay: "name", minimumFractionDigits: 0 };
  const parts = new Intl.NumberFormat("en", options).formatToParts(value);
  return `${spelled(value)} ${parts.find((one) => one.type === "currency").value}`;
}
