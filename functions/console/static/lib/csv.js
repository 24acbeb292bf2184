/** CSV, as sealed files and spreadsheets have it: reading, and the download of a table. */

const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20']/;

/** Returns the rows of a CSV text as objects by column. A cell may be quoted, and then hold commas and line ends. */
export function readCsv(text) {
  const rows = [];
  let row = [];
  const cells = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g;
  while (cells.lastIndex < text.length) {
    const [, quoted, plain, end] = cells.exec(text);
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end !== ",") {
      rows.push(row);
      row = [];
    }
  }
  const [columns, ...lines] = rows;
  return lines.map((cells) => Object.fromEntries(columns.map((name, index) => [name, cells[index]])));
}

/** Returns the text of a cell that was escaped so that no spreadsheet runs it as a formula. */
export const unescapeFormula = (cell) => (cell.startsWith("'") ? cell.slice(1) : cell);

/** Returns CSV of objects: these columns, text that no spreadsheet runs, numbers as they are. */
export function writeCsv(columns, objects) {
  const cell = (value) => {
    const text = String(value ?? "");
    const safe = FORMULA.test(text) && !/^-?[0-9.]+$/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return [columns, ...objects.map((one) => columns.map((name) => one[name]))]
    .map((row) => `${row.map(cell).join(",")}\r\n`)
    .join("");
}

/** Saves a text as a file of the reader. */
export function download(name, text, type = "text/csv") {
  const address = URL.createObjectURL(new Blob([text], { type }));
  Object.assign(document.createElement("a"), { href: address, download: name }).click();
  URL.revokeObjectURL(address);
}
