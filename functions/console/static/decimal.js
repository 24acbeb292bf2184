/** Exact sums of decimal texts, as the API writes sums of money. */

/** Returns the exact sum of decimal texts. */
export function sum(texts) {
  const scale = texts.reduce((most, text) => Math.max(most, scaleOf(text)), 0);
  const total = texts.reduce((before, text) => before + scaled(text, scale), 0n);
  const digits = (total < 0n ? -total : total).toString().padStart(scale + 1, "0");
  const whole = digits.slice(0, digits.length - scale);
  return `${total < 0n ? "-" : ""}${whole}${scale ? `.${digits.slice(-scale)}` : ""}`;
}

/** Returns the exact difference of two decimal texts. */
export const difference = (text, from) => sum([text, from.startsWith("-") ? from.slice(1) : `-${from}`]);

/** Returns whether two decimal texts are the same number. */
export const same = (text, other) => !/[1-9]/.test(difference(text, other));

const scaleOf = (text) => (text.split(".")[1] || "").length;

const scaled = (text, scale) => BigInt(text.replace(".", "") + "0".repeat(scale - scaleOf(text)));
