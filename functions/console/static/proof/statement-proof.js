/**
 * The proof of a statement, made from its own files: their hashes, and each figure that follows from its lines. It
 * needs nothing of another agency.
 */
import { get, statementPath } from "../lib/api.js";
import { compare, difference, product, rounded, same, scaleOf, sum } from "../lib/decimal.js";
import { timeUtc } from "../lib/format.js";
import { COMMISSION, chargesOf, checkPeriodCharges, turnoverOf, withoutZeros } from "./charges.js";
import { expect, refuse, step } from "./proving.js";
import { parseSealed } from "./sealed-json.js";
import { linesIn, sealedContent } from "./sealed.js";

const SOLD = ["sales", "voids", "refunds", "adjustments"];
const KINDS = [...SOLD, "brought_forward", "payments", "other"];
const KIND_OF = {
  "sale.recorded": "sales", "sale.voided": "voids", "sale.refunded": "refunds", "adjustment.recorded": "adjustments",
  "payment.recorded": "payments",
};
const SHOWN = ["opening", "net", "commission_exact", "commission", "tax", "payments", "closing"];

/** What the proof of a statement leaves open, and who can answer it. */
export const NOT_PROVEN = [
  "That each commission follows from its terms, and that the page to print and the XML say what statement.json says."
    + " The command below checks both.",
  "That no line is missing, that none is on another statement, and that the numbers have no gap. This needs all files"
    + " of the marketplace; its auditors can prove it.",
  "That the balance and the remainders of the previous statement, the parties and the tax rates are right; what tiers"
    + " count of earlier months and of other agencies of a group; and what rate cards agree for the whole month.",
];

/** Yields the steps that prove a statement, and the documents that cancel it and replace it. */
export async function* proofOfStatement(name) {
  const statement = await get(statementPath(name)); // Again, as the links of a page expire.
  for (const document of statement.documents) yield* proofOfDocument(statement, document);
}

async function* proofOfDocument(statement, { number, files, cancels, closing }) {
  const contents = {};
  for (const file of files) {
    const name = file.key.split("/").pop();
    yield await step(`${name} of ${number} is the file that was sealed`, async () => {
      contents[name] = await sealedContent(file);
      return `SHA-256 ${file.sha256}, ${file.key}`;
    });
  }
  const { "statement.json": json, "lines.csv.gz": packed } = contents;
  if (!json || !packed) return;
  let read;
  yield await step(`statement.json is that of ${number}`, async () => {
    const document = parseSealed(new TextDecoder().decode(json));
    expect("The number in statement.json", document.number, number);
    for (const name of ["period", "agency", "currency"]) {
      expect(`The ${name} in statement.json`, document[name], statement[name]);
    }
    expect("What it cancels", document.cancels?.number ?? null, cancels);
    expectSame("The closing balance on this page", closing, document.closing);
    if (number === statement.number) {
      for (const name of SHOWN) expectSame(`${name} on this page`, statement[name], document[name]);
    }
    const lines = files.find((file) => file.key.endsWith("/lines.csv.gz"));
    expect("The SHA-256 of the lines in statement.json", document.lines_file.sha256, lines.sha256);
    read = document;
    return "Its number, period, agency and currency, and the figures that this page shows";
  });
  if (read) yield* proofOfFigures(read, packed, files.length);
}

/** Yields the steps that prove the figures of a document by its lines, which are packed; `files`: how many it has. */
export async function* proofOfFigures(read, packed, files) {
  const { number } = read;
  let sums;
  yield await step(`The lines of ${number} are its own`, async () => {
    const lines = await linesIn(packed);
    checkLines(read, lines);
    sums = added(read, lines);
    const until = timeUtc(read.recorded_until);
    return `${lines.length} lines, each of this agency and currency, recorded before ${until}, and once`;
  });
  if (!sums) return;
  yield {
    ...(await step(`The sums of ${number} are those of its lines`, () => checkSums(read, sums))),
    counts: { lines: read.lines, files },
  };
  yield await step(`What ${number} charges of the whole period follows`, () => checkPeriodCharges(read, sums.turnover));
  yield await step(`The commission and the tax of ${number} follow from its lines`, () => checkTax(read, sums));
  yield await step(`The balance of ${number} follows from its figures`, () => checkBalance(read, sums));
  yield await step(`What rounding leaves to the document after ${number} follows`, () => checkRemainders(read, sums));
}

function expectSame(what, found, expected) {
  if (!same(found, expected)) expect(what, found, expected);
}

function checkLines({ agency, currency, period, recorded_until: until, lines: many }, lines) {
  const seen = new Set();
  for (const line of lines) {
    const name = `The line ${line.source} ${line.id}`;
    const identity = JSON.stringify([line.source, line.id]);
    if (line.agency !== agency || line.currency !== currency) {
      refuse(`${name} is of ${line.agency} in ${line.currency}`);
    }
    if (line.period > period) refuse(`${name} is of a later period, ${line.period}`);
    if (Date.parse(line.recorded_at) >= Date.parse(until)) refuse(`${name} was recorded at ${line.recorded_at}`);
    if (seen.has(identity)) refuse(`${name} is there twice`);
    seen.add(identity);
  }
  expect("The number of lines", lines.length, many);
}

function kindOf({ type, kind, terms }) {
  if (terms === "refund") return "refunds"; // A void that takes a refund back.
  return kind === "opening" ? "brought_forward" : KIND_OF[type] ?? "other";
}

/**
 * Returns the lines, amounts and commissions by kind, the charges by what decides their tax, the amounts of sales and
 * their corrections by tax point, and the turnover by its tiers.
 */
function added({ cancels, replaces, taxes }, lines) {
  const sign = cancels ? "-1" : "1"; // A cancellation reverses each line,
  const signOfPayments = cancels || replaces ? "0" : sign; // but payments stay on the first document.
  const spans = taxes.flatMap((row) => row.tax_points);
  const named = (line, name) => (spans.some((span) => span[name] === line[name]) && line[name]) || "";
  const kinds = Object.fromEntries(KINDS.map((kind) => [kind, { amounts: [], commissions: [] }]));
  const taxed = new Map();
  const nets = new Map();
  for (const line of lines) {
    const kind = kindOf(line);
    const amount = product(kind === "payments" ? signOfPayments : sign, line.amount);
    const commission = product(sign, line.commission);
    kinds[kind].amounts.push(amount);
    kinds[kind].commissions.push(commission);
    if (kind === "brought_forward" || kind === "payments") continue;
    const key = JSON.stringify([line.tax_point, named(line, "kind"), named(line, "category")]);
    if (!taxed.has(key)) taxed.set(key, []);
    for (const [name, charge] of chargesOf(line)) taxed.get(key).push([name, product(sign, charge)]);
    if (!nets.has(line.tax_point)) nets.set(line.tax_point, []);
    if (SOLD.includes(kind)) nets.get(line.tax_point).push(amount);
  }
  const byKind = Object.entries(kinds).map(([kind, { amounts, commissions }]) => [
    kind, { lines: amounts.length, amount: sum(amounts), commission: sum(commissions) },
  ]);
  const charged = lines.filter((line) => !["brought_forward", "payments"].includes(kindOf(line)));
  return { kinds: Object.fromEntries(byKind), taxed, nets, turnover: turnoverOf(charged) };
}

function checkSums(document, { kinds }) {
  for (const kind of KINDS) {
    const { lines, amount, commission } = document.by_kind[kind];
    expect(`${kind}: lines`, lines, kinds[kind].lines);
    expectSame(`${kind}: amount`, amount, kinds[kind].amount);
    expectSame(`${kind}: commission`, commission, kinds[kind].commission);
  }
  for (const kind of SOLD) expectSame(kind, document[kind], kinds[kind].amount);
  expectSame("net", document.net, sum(SOLD.map((kind) => kinds[kind].amount)));
  expectSame("payments", document.payments, kinds.payments.amount);
  expectSame("brought_forward", document.brought_forward, kinds.brought_forward.commission);
  const charged = [...SOLD, "other"].map((kind) => kinds[kind].commission);
  const ofPeriod = document.period_charges.map(({ amount }) => amount);
  expectSame("commission_exact", document.commission_exact, sum([...charged, ...ofPeriod]));
  return "Sales, voids, refunds, adjustments, payments and the exact commission, to the last decimal";
}

const NOTHING = { taxes: [], proceeds: "0" };
const minus = (text) => product("-1", text);
const restOf = ({ taxes }, { scheme, percent }, charge = COMMISSION) =>
  taxes.find((row) => row.scheme === scheme && same(row.percent, percent) && (row.charge ?? COMMISSION) === charge)
    ?? { base: "0", tax: "0" };

/** Returns what rounding left up to the document before. */
const before = ({ previous }) => previous?.remainders ?? NOTHING;

/** Returns the remainders that a document rounds with: a cancellation rounds as the document that it reverses did. */
function carriedBy({ cancels, previous }) {
  if (!cancels) return before({ previous });
  const { taxes, proceeds } = cancels.carried;
  return {
    taxes: taxes.map((row) => ({ ...row, base: minus(row.base), tax: minus(row.tax) })), proceeds: minus(proceeds),
  };
}

const isNothing = (text) => same(text, "0");

/** Returns a figure and the remainder, rounded as the document says; of 0 it is 0. */
const roundedIn = ({ commission, rounding }, exact, rest) =>
  rounded(isNothing(exact) ? exact : sum([exact, rest]), scaleOf(commission), rounding === "half-up");

const taxOn = (base, { scheme, percent }) => (scheme === "standard" ? product(base, product(percent, "0.01")) : "0");

/** Returns a tax less than one unit away from the exact one, as EN 16931 has it, in a currency without decimals. */
function near(exact, tax) {
  if (scaleOf(tax)) return tax;
  const size = (text) => (text.startsWith("-") ? minus(text) : text);
  const cents = rounded(size(exact), 2, true);
  const away = (text) => compare(size(difference(text, cents)), "1") >= 0;
  let found = size(tax);
  if (!away(found)) return tax;
  while (away(found)) found = sum([found, compare(found, cents) < 0 ? "1" : "-1"]);
  return exact.startsWith("-") ? minus(found) : found;
}

/** Returns the exact charges of each row of tax: sums by name. */
function basesOf(document, { taxed }) {
  const bases = document.taxes.map(() => new Map());
  const named = new Set(document.taxes.flatMap((row) => row.tax_points.map((span) => span.charge)));
  const add = (sums, name, amount) => sums.set(name, sum([sums.get(name) ?? "0", amount]));
  const put = (day, kind, category, name, amount) => {
    const charge = named.has(name) ? name : "";
    const place = document.taxes.findIndex((row) => row.tax_points.some((span) => (span.kind ?? "") === kind
      && (span.category ?? "") === category && (span.charge ?? "") === charge && span.from <= day && day <= span.to));
    if (place < 0) refuse(`No tax is shown for ${[day, kind, category, charge].filter(Boolean).join(", ")}`);
    add(bases[place], name, amount);
  };
  for (const [key, charges] of taxed) {
    const sums = new Map();
    for (const [name, amount] of charges) add(sums, name, amount);
    for (const [name, amount] of withoutZeros(sums)) put(...JSON.parse(key), name, amount);
  }
  const last = lastDay(document.period);
  for (const { name, amount } of document.period_charges) put(last, "", "", name, amount);
  return bases.map((sums) => new Map(withoutZeros(sums)));
}

const lastDay = (period) => new Date(Date.UTC(...period.split("-").map(Number), 0)).toISOString().slice(0, 10);

/** Returns a function that returns a remainder for the first row of its rate over anything, and 0 for the others. */
function onceFrom(carried) {
  const added = new Set();
  return (row, charge, figure, exact) => {
    const key = JSON.stringify([row.scheme, row.percent, charge, figure]);
    const rest = added.has(key) ? "0" : restOf(carried, row, charge)[figure];
    if (!isNothing(exact)) added.add(key);
    return rest;
  };
}

/** Checks each charge of a row of tax, and returns their sum. */
function checkCharges(document, row, bases, restFor) {
  const names = (some) => [...some].sort().join();
  expect(`The charges of ${row.note}`, names(row.charges.map(({ name }) => name)), names(bases.keys()));
  for (const { name, exact, amount } of row.charges) {
    expectSame(`The exact ${name} of ${row.note}`, exact, bases.get(name));
    expectSame(`The ${name} of ${row.note}`, amount, roundedIn(document, exact, restFor(row, name, "base", exact)));
  }
  return sum(row.charges.map(({ amount }) => amount));
}

/** Checks that commission and tax are rounded as the statement says, for each row of tax. */
function checkTax(document, sums) {
  const { commission, tax } = document;
  const [bases, restFor] = [basesOf(document, sums), onceFrom(carriedBy(document))];
  document.taxes.forEach((row, place) => {
    const base = checkCharges(document, row, bases[place], restFor);
    const exact = taxOn(base, row);
    const found = near(exact, roundedIn(document, exact, restFor(row, COMMISSION, "tax", exact)));
    expectSame(`The base of ${row.note}`, row.base, base);
    expectSame(`The tax of ${row.note}`, row.tax, found);
  });
  expectSame("commission", commission, sum(document.taxes.map((row) => row.base)));
  expectSame("tax", tax, sum(document.taxes.map((row) => row.tax)));
  return document.taxes.map((row) => `${row.note.replace(/\.$/, "")}: ${row.tax} on ${row.base}`).join("; ");
}

/** Checks the net of each side that has collected money, and returns that of the marketplace. */
function collectedBy({ collected }, { nets }) {
  const found = collected.map(() => []);
  for (const [day, amounts] of nets) {
    const place = collected.findIndex((row) => row.tax_points.some(({ from, to }) => from <= day && day <= to));
    if (place < 0) refuse(`Nobody is shown who has collected the money of ${day}`);
    found[place].push(...amounts);
  }
  collected.forEach(({ by, net }, place) => expectSame(`The net collected by the ${by}`, net, sum(found[place])));
  return byMarketplace({ collected });
}

const byMarketplace = ({ collected }) => sum(collected.filter(({ by }) => by === "marketplace").map(({ net }) => net));

function checkBalance(document, sums) {
  const { opening, brought_forward: brought, previous, ...figures } = document;
  const { commission, tax, payable, proceeds, payments, closing } = figures;
  expectSame("opening", opening, sum([previous?.closing ?? "0", brought]));
  expectSame("payable", payable, sum([commission, tax]));
  expectSame("proceeds", proceeds, roundedIn(document, collectedBy(document, sums), carriedBy(document).proceeds));
  expectSame("closing", closing, sum([opening, payable, minus(proceeds), minus(payments)]));
  return `${opening} + ${payable} − ${proceeds} − ${payments} = ${closing}`;
}

/** Checks that the remainders are those before, and what the rounding of each figure leaves. */
function checkRemainders(document, sums) {
  const [bases, known, left] = [basesOf(document, sums), before(document), document.remainders];
  const isOfRate = (row) => (one) => row.scheme === one.scheme && same(row.percent, one.percent);
  const rests = (row, name) => document.taxes.flatMap((one, place) => (isOfRate(row)(one) ? one.charges : [])
    .filter((charge) => charge.name === name)
    .flatMap(({ amount }) => [bases[place].get(name), minus(amount)]));
  document.taxes.forEach((row) => {
    for (const { name } of row.charges) {
      const right = sum([restOf(known, row, name).base, ...rests(row, name)]);
      expectSame(`What is left of the ${name} of ${row.note}`, restOf(left, row, name).base, right);
    }
    const taxes = document.taxes.filter(isOfRate(row)).flatMap((one) => [taxOn(one.base, one), minus(one.tax)]);
    const right = sum([restOf(known, row).tax, ...taxes]);
    expectSame(`What is left of the tax of ${row.note}`, restOf(left, row).tax, right);
  });
  const others = (rows) => rows.filter((one) => !document.taxes.some(isOfRate(one)));
  expect("What is left of other taxes", JSON.stringify(others(left.taxes)), JSON.stringify(others(known.taxes)));
  const rest = sum([known.proceeds, byMarketplace(document), minus(document.proceeds)]);
  expectSame("What is left of the proceeds", left.proceeds, rest);
  return "What was exact, less what documents state: the next document of the account adds it before it rounds";
}
