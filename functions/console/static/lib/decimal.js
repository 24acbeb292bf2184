/** Exact arithmetic of decimal texts, as the API writes sums of money. */

/** Returns a decimal, which may be a text or a JSON number, as text; empty if there is none. */
export const decimalText = (value) =>
  typeof value === "number"
    ? value.toLocaleString("en", { useGrouping: false, maximumFractionDigits: 20 })
    : value ?? "";

/** Returns the exact sum of decimal texts. */
export function sum(texts) {
  const scale = texts.reduce((most, text) => Math.max(most, scaleOf(text)), 0);
  return written(texts.reduce((before, text) => before + scaled(text, scale), 0n), scale);
}

/** Returns the exact difference of two decimal texts. */
export const difference = (text, from) => sum([text, negative(from)]);

/** Returns the exact product of two decimal texts. */
export function product(text, other) {
  const [scale, more] = [scaleOf(text), scaleOf(other)];
  return written(scaled(text, scale) * scaled(other, more), scale + more);
}

/** Returns a decimal text rounded to some decimal places: half to the even digit, or with `halfUp` away from 0. */
export function rounded(text, places, halfUp) {
  const scale = scaleOf(text);
  if (scale <= places) return written(scaled(text, places), places);
  const unit = 10n ** BigInt(scale - places);
  const value = scaled(text, scale);
  const exact = value < 0n ? -value : value;
  const [whole, twice] = [exact / unit, 2n * (exact % unit)];
  const nearest = whole + BigInt(twice > unit || (twice === unit && (halfUp || whole % 2n === 1n)));
  return written(value < 0n ? -nearest : nearest, places);
}

/** Returns the number of decimal places of a decimal text. */
export const scaleOf = (text) => (text.split(".")[1] || "").length;

/** Returns the quotient of two decimal texts, with some decimal places, cut off. The divisor is above 0. */
export function quotient(text, divisor, places) {
  const scale = scaleOf(divisor);
  return written(scaled(text, scaleOf(text)) * 10n ** BigInt(places + scale)
    / (scaled(divisor, scale) * 10n ** BigInt(scaleOf(text))), places);
}

/** Returns the negative of a decimal text; zero has no sign. */
export function negative(text) {
  if (text.startsWith("-")) return text.slice(1);
  return /[1-9]/.test(text) ? `-${text}` : text;
}

/** Returns the larger of two decimal texts; the first if they are equal. */
export const larger = (text, other) => (difference(text, other).startsWith("-") ? other : text);

/** Returns a number below 0, 0, or above 0, as a decimal text is less than another, equal to it, or more. */
export function compare(text, other) {
  const left = difference(text, other);
  return left.startsWith("-") ? -1 : Number(/[1-9]/.test(left));
}

function written(value, scale) {
  const digits = (value < 0n ? -value : value).toString().padStart(scale + 1, "0");
  const whole = digits.slice(0, digits.length - scale);
  return `${value < 0n ? "-" : ""}${whole}${scale ? `.${digits.slice(-scale)}` : ""}`;
}

/** Returns whether two decimal texts are the same number. */
export const same = (text, other) => !/[1-9]/.test(difference(text, other));

const scaled = (text, scale) => BigInt(text.replace(".", "") + "0".repeat(scale - scaleOf(text)));
