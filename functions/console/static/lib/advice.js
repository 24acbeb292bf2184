/** What went wrong in the words of the pages: what to write into a field, by the name that the API has for it. */

const TRY_AGAIN = "Try again a little later: nothing is done twice.";
const INSTANT = "Write a day such as 2026-11-05, or an instant such as 2026-11-05T09:00:00Z.";
const CURRENCY = "Write the three letters of a currency that is in use, such as EUR.";
const FEE = "Write a number that is not below 0.";
const ADVICE = {
  "": ["", "There are more problems. Correct these first."],
  "id": ["", "This event was discarded. Close this dialog, and record another."],
  "time": ["Date and time", "Choose another date."],
  "data.amount": ["Amount", "Write a number with fewer digits."],
  "data.commission": ["Commission", "Write a number with fewer digits."],
  "data.currency": ["Currency", CURRENCY],
  "type": ["Type", ""],
  "data.reason": ["Reason", "Write at most 200 characters, and no line breaks."],
  "data.extra": ["Reference", "Write fewer characters."],
  "data.refers_to": [
    "Id of the sale", "It must be that of a recorded sale of this agency in this currency; a void may name a refund.",
  ],
  "data.refers_to_source": ["Source of the sale", "Write the source and the id of the sale, or neither."],
  "expression": ["Expression", ""],
  "body": ["The file", ""],
  "subject": ["Agency", "Write the name of an agency: at most 200 characters, without blanks at its ends."],
  "document": ["Agency", "Write another name: at most 200 characters, without blanks at its ends."],
  "agency": ["Agency", "Write another name: at most 200 characters, without blanks at its ends."],
  "content.legal_name": ["Legal name", "Write at most 200 characters."],
  "content.address": ["Address", "Write at most 500 characters."],
  "content.country": ["Country", "Write the two letters of a country that exists, such as GB."],
  "content.tax": ["Tax", "Choose one of the list."],
  "content.tax.scheme": ["Tax", "Choose one of the list."],
  "content.tax.percent": ["Tax rate (%)", "Write a number from 0 to 100; none if the tax is not standard."],
  "content.tax.vat_id": ["VAT id", "Write one as the agency's country issues it, such as DE136695976, or none."],
  "content.currency": ["Currency", CURRENCY],
  "content.group": ["Group", "Write another name: at most 200 characters, without blanks at its ends."],
  "content.contact": ["Contact", "Write at most 200 characters."],
  "content.iban": ["IBAN", "Write the whole number, such as DE89 3704 0044 0532 0130 00, or none."],
  "content.status": ["Status", "Choose one of the list."],
  "content.valid_from": ["In force from", "Choose another date."],
  "content.refund_fixed": ["Refunds", "Choose whether refunds give back the fixed fee."],
  "content.rules": ["Rules", "Write fewer rules."],
  "content.rules[].percent": ["Percent", "Write a number from 0 to 100."],
  "content.rules[].category": ["Category", "Write at most 200 characters."],
  "content.rules[].location": ["Location", "Write a location such as GB#London."],
  "content.rules[].currency": ["Currency", `${CURRENCY} A rule with a sum needs it.`],
  "content.rules[].fixed": ["Fixed per item", FEE],
  "content.rules[].minimum": ["Minimum", "Write a number that is not below 0, and at most the maximum."],
  "content.rules[].maximum": ["Maximum", FEE],
  "content.rules[]": ["", "An earlier rule is for the same events. Remove one of them."],
  "reason": ["Reason", "Write at most 200 characters, and no line breaks."],
  "text": ["Message", "Write at most 4,000 characters."],
  "period": ["Month", "Write one such as 2026-11."],
  "from": ["From", `${INSTANT} It must not be after the end.`],
  "to": ["To", INSTANT],
  "date": ["Date", "Choose another day."],
};

/** Returns what is wrong with a value that nobody types here, or that people write in the API's own terms. */
export const problemOf = ({ field, problem, expected }) =>
  `${ADVICE[field]?.[0] || "Event"}: It ${problem}. It needs ${expected}.`;

/** Returns what to write into a field that the API has refused. */
export function adviceOn(refusal) {
  const { field } = refusal;
  if (field === "expression" || field === "body") return problemOf(refusal);
  const rule = /^content\.rules\[(\d+)\]/.exec(field);
  const [name, advice] = ADVICE[field.replace(/\[\d+\]/, "[]")] ?? ["", "A value is not accepted. Check all of them."];
  const label = [rule && `Rule ${Number(rule[1]) + 1}`, name].filter(Boolean).join(", ");
  return label ? `${label}: ${advice}` : advice;
}

/** Returns a message as a sentence: with a capital letter, unless it begins with an address, and a full stop. */
function sentence(message) {
  if (!message) return message;
  const begun = /^https?:/.test(message) ? message : message[0].toUpperCase() + message.slice(1);
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}

/** Returns the title and the lines that tell people of a failed request. */
export function inWords({ status, title = "Something went wrong", message, errors = [] }) {
  if (status === 409) {
    return { title: "Nothing was written", lines: ["Another change came first. Look at it before you go on."] };
  }
  if (!errors.length) return { title, lines: [sentence(message)] };
  if (status >= 500) return { title: "Not written yet", lines: [TRY_AGAIN] };
  return { title: "Not accepted", lines: [...new Set(errors.map(adviceOn))] };
}
