/** What went wrong in the words of the pages: what to write into a field, by the name that the API has for it. */

const TRY_AGAIN = "Try again a little later: nothing is done twice.";
const INSTANT = "Write a day such as 2026-11-05, or an instant such as 2026-11-05T09:00:00Z.";
const CURRENCY = "Write the three letters of a currency that is in use, such as EUR.";
const FEE = "Write a number that is not below 0, and a currency for the rule.";
const PERCENT = "Write a number from 0 to 100.";
const SEVERAL = "Write at most 50 values of 200 characters, each once, separated by |.";
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
  "secret": ["Secret", ""],
  "map": ["Map", ""],
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
  "content.valid_to": ["Until", "Choose a later date than that from which it is in force."],
  "content.rules": ["Rules", "Write fewer rules, with at most 8 names of charges."],
  "content.rules[].percent": ["Percent", PERCENT],
  "content.rules[].product": ["Product", SEVERAL],
  "content.rules[].category": ["Category", SEVERAL],
  "content.rules[].location": ["Location", "Write locations such as GB#London, each once."],
  "content.rules[].currency": ["Currency", CURRENCY],
  "content.rules[].charges": ["Charges", "A fee or minimum of the month needs a rule with a currency alone."],
  "content.rules[].charges[].name": [
    "Charge", "Write another name: at most 40 letters, digits and blanks, each name once in a rule.",
  ],
  "content.rules[].charges[].percent": ["Percent", PERCENT],
  "content.rules[].charges[].fixed": ["Fixed", FEE],
  "content.rules[].charges[].minimum": ["Minimum", "Write a number that is not below 0, and at most the maximum."],
  "content.rules[].charges[].maximum": ["Maximum", FEE],
  "content.rules[].charges[].amount": ["Fee", FEE],
  "content.rules[].charges[].refund": ["Refunds give back", "There is no fixed part to keep: choose another."],
  "content.rules[].charges[].tiers.steps": [
    "Tiers", "The first begins at 0, and each above the one before, with a percentage from 0 to 100.",
  ],
  "content.rules[]": ["", "An earlier rule is as specific for the same events. Change or remove one of them."],
  "reason": ["Reason", "Write at most 200 characters, and no line breaks."],
  "text": ["Message", "Write at most 4,000 characters."],
  "period": ["Month", "Write one such as 2026-11."],
  "from": ["From", `${INSTANT} It must not be after the end.`],
  "to": ["To", INSTANT],
  "date": ["Date", "Choose another day."],
};

/** The fields of which the API says what is wrong and what it needs. */
const OWN_WORDS = new Set(["expression", "body", "secret", "map"]);

/** Returns what is wrong with a value that nobody types here, or that people write in the API's own terms. */
export const problemOf = ({ field, problem, expected }) =>
  `${ADVICE[field]?.[0] || "Event"}: It ${problem}. It needs ${expected}.`;

/** Returns what to write into a field that the API has refused. */
export function adviceOn(refusal) {
  const { field } = refusal;
  if (OWN_WORDS.has(field)) return problemOf(refusal);
  const [, rule, charge] = /^content\.rules\[(\d+)\](?:\.charges\[(\d+)\])?/.exec(field) ?? [];
  const [name, advice] = ADVICE[field.replace(/\[\d+\]/g, "[]")] ?? ["", "A value is not accepted. Check all of them."];
  const numbered = [["Rule", rule], ["charge", charge]].filter(([, at]) => at)
    .map(([of, at]) => `${of} ${Number(at) + 1}`);
  const label = [...numbered, name].filter(Boolean).join(", ");
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
