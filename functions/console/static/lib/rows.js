/**
 * The rows of a list, pure: their columns, which match a text, their order, their CSV, and the view in the address.
 *
 * A column has a `key` and a `title`, and may have a `type` (text, number, money, time, day, month, person, status),
 * `value(row)`, which is `row[key]` without it, and `text(row)`, by which rows are found and ordered in place of the
 * value. `value: null` is a column without a value: it is not found, ordered or saved. The currency of money is
 * `row.currency`, or `currencyOf(row)`.
 */
import { writeCsv } from "./csv.js";
import { compare } from "./decimal.js";

const SIZES = ["25", "100", "all"];
const order = new Intl.Collator(undefined, { numeric: true }).compare;

/** Returns a text for comparing: without accents, in small letters. */
export const folded = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

/** Returns the value of a row in a column. */
export const valueOf = ({ key, value }, row) => (value ? value(row) : row[key]);

/** Returns the currency of a row in a column of money. */
export const currencyIn = ({ currencyOf }, row) => (currencyOf ? currencyOf(row) : row.currency);

/** Returns the columns that have values. */
export const valued = (columns) => columns.filter((one) => one.value !== null);

const textOf = (column, row) => (column.text ? column.text(row) : String(valueOf(column, row) ?? ""));

/** Returns those rows in whose columns all words of a text occur, without regard to accents and capital letters. */
export function matching(rows, columns, text) {
  const words = folded(text).split(/\s+/).filter(Boolean);
  const all = (row) => folded(valued(columns).map((one) => textOf(one, row)).join(" "));
  return words.length ? rows.filter((row) => words.every((word) => all(row).includes(word))) : rows;
}

const COMPARISONS = {
  number: (column) => (row, other) => valueOf(column, row) - valueOf(column, other),
  money: (column) => (row, other) => compare(valueOf(column, row), valueOf(column, other)),
  text: (column) => (row, other) => order(textOf(column, row), textOf(column, other)),
};

/**
 * Returns the rows in the order of a column: `by` is its key, `down` the direction. Sums of money are compared within a
 * currency, and the currencies follow one another. Rows without a value are the last in both directions.
 */
export function sorted(rows, columns, { by, down }) {
  const column = valued(columns).find((one) => one.key === by);
  if (!column) return rows;
  const compared = (COMPARISONS[column.type] ?? COMPARISONS.text)(column);
  const isKnown = (row) => ![undefined, null, ""].includes(valueOf(column, row));
  const ofCurrency = (row, other) =>
    (column.type === "money" ? order(currencyIn(column, row), currencyIn(column, other)) : 0);
  return rows.toSorted((row, other) => ofCurrency(row, other) || isKnown(other) - isKnown(row)
    || (isKnown(row) && (down ? -1 : 1) * compared(row, other)) || 0);
}

/** Returns rows as CSV: a column of each value, whether it is shown or not. */
export function csvOf(rows, columns) {
  const saved = valued(columns);
  const values = (row) => Object.fromEntries(saved.map((one) => [one.key, valueOf(one, row)]));
  return writeCsv(saved.map((one) => one.key), rows.map(values));
}

/**
 * Returns the view of a list from the hash of an address: `text`, `sort`, `columns` (keys), `size` (25, 100 or all) and
 * `pages`, the number of steps of this size that are shown. What the address does not name is as in `usual`.
 */
export function viewOf(hash, name, usual) {
  const named = new URLSearchParams(hash.replace(/^#/, ""));
  const found = (part) => named.get(`${name}.${part}`);
  const [by, columns, size] = ["sort", "columns", "size"].map(found);
  return {
    text: found("text") ?? "",
    sort: by ? { by: by.replace(/^-/, ""), down: by.startsWith("-") } : undefined,
    columns: columns?.split(","),
    size: SIZES.includes(size) ? size : usual.size,
    pages: Math.max(1, Math.trunc(Number(found("pages"))) || 1),
  };
}

/** Returns the hash of an address with the view of a list in place of what it had of it. */
export function hashOf(hash, name, { text, sort, columns, size, pages }, usual) {
  const named = new URLSearchParams(hash.replace(/^#/, ""));
  const write = (part, value) => {
    if (value) named.set(`${name}.${part}`, value);
    else named.delete(`${name}.${part}`);
  };
  write("text", text);
  write("sort", sort && `${sort.down ? "-" : ""}${sort.by}`);
  write("columns", columns?.join(","));
  write("size", size !== usual.size && size);
  write("pages", pages > 1 && String(pages));
  return named.size ? `#${named}` : "";
}

/** Returns the hash of an address without the numbers of pages: for other rows in the same view. */
export function firstPages(hash) {
  const named = [...new URLSearchParams(hash.replace(/^#/, ""))].filter(([name]) => !name.endsWith(".pages"));
  return named.length ? `#${new URLSearchParams(named)}` : "";
}

/**
 * Returns what loads rows page by page: `items`, `isDone`, `isBusy`, `problem`; `reach(many)`, which promises that so
 * many are loaded, or all; `stop()`; and `leave()`, which gives up the page that is loading, too. `load(next, limit)`
 * promises a page, and `changed` is called after each. `begin(work)`: calls it, and returns what it returns and what
 * gives it up.
 */
export function loaderOf(load, changed, { least = 25, most = 1000, begin = (work) => [work()] } = {}) {
  const loader = { items: [], isDone: false, isBusy: false };
  let [next, target, running, giveUp] = [undefined, 0, undefined, undefined];
  const run = async () => {
    Object.assign(loader, { isBusy: true, problem: undefined });
    changed();
    try {
      while (!loader.isDone && loader.items.length < target) {
        const limit = Math.min(most, Math.max(least, target - loader.items.length));
        const [loading, end] = begin(() => load(next, limit));
        giveUp = end;
        const page = await loading;
        loader.items = [...loader.items, ...page.items];
        ({ next } = page);
        loader.isDone = !next;
        changed();
      }
    } catch (problem) {
      loader.problem = problem;
    }
    loader.isBusy = false;
    running = undefined;
    changed();
  };
  loader.reach = (many) => {
    target = Math.max(target, many);
    return running ??= run();
  };
  loader.stop = () => { target = 0; };
  loader.leave = () => {
    loader.stop();
    giveUp?.();
  };
  return loader;
}
