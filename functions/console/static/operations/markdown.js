/** Reads Markdown as our documents use it: headings, text, lists, tables and code, with links and emphasis. */

const HEADING = /^(#+) (.+)$/;
const ITEM = /^(?:-|\d{1,2}\.) /;
const NO_TEXT = /^(?:#+ |```|\||- |\d{1,2}\. |\s*$)/;
const SPAN = /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*]+)\*|\[([^\]]+)\]\(([^)]+)\)/g;

/** Returns the anchor of a heading: its words in lower case, joined by hyphens. */
const anchorOf = (title) => title.toLowerCase().replace(/[^\w -]/g, "").replaceAll(" ", "-");

/**
 * Returns the blocks of a text, each with its `kind`: heading (anchor, rank, text), text, code (text), list (ordered,
 * and the blocks of each item), or table (head and rows of cells).
 */
export const blocksOf = (text) => blocksIn(text.split("\n"));

function blocksIn(lines) {
  const blocks = [];
  let at = 0;
  const take = (belongs) => {
    const from = at;
    while (at < lines.length && belongs(lines[at])) at += 1;
    return lines.slice(from, at);
  };
  while (at < lines.length) {
    const line = lines[at];
    const heading = HEADING.exec(line);
    if (heading) {
      const [, { length: rank }, text] = heading;
      blocks.push({ kind: "heading", anchor: anchorOf(text), rank, text });
      at += 1;
    } else if (line.startsWith("```")) {
      at += 1;
      blocks.push({ kind: "code", text: take((one) => !one.startsWith("```")).join("\n") });
      at += 1;
    } else if (line.startsWith("|")) {
      const [head, , ...rows] = take((one) => one.startsWith("|")).map(cellsOf);
      blocks.push({ kind: "table", head, rows });
    } else if (ITEM.test(line)) {
      const items = itemsOf(take((one) => ITEM.test(one) || /^(?:\s|$)/.test(one)));
      blocks.push({ kind: "list", ordered: line[0] !== "-", items: items.map(blocksIn) });
    } else if (line.trim()) {
      const [first, ...more] = [lines[at++], ...take((one) => !NO_TEXT.test(one))];
      blocks.push({ kind: "text", text: [first, ...more].join(" ") });
    } else {
      at += 1;
    }
  }
  return blocks;
}

/** Returns the cells of a table's row; a bar within a cell has a backslash before it. */
const cellsOf = (row) => row.split(/(?<!\\)\|/).slice(1, -1).map((cell) => cell.trim().replaceAll("\\|", "|"));

/** Returns the lines of each item of a list, without the marks and the indentation. */
function itemsOf(lines) {
  const items = [];
  let width = 0;
  for (const line of lines) {
    if (ITEM.test(line)) {
      width = ITEM.exec(line)[0].length;
      items.push([line.slice(width)]);
    } else {
      items.at(-1).push(line.slice(width));
    }
  }
  return items;
}

/** Returns the blocks from the heading with an anchor to the next one of its rank; none without such a heading. */
export function sectionOf(blocks, anchor) {
  const from = blocks.findIndex((one) => one.anchor === anchor);
  if (from < 0) return [];
  const length = blocks.slice(from + 1).findIndex((one) => one.rank <= blocks[from].rank);
  return blocks.slice(from, length < 0 ? undefined : from + 1 + length);
}

/** Returns the parts of a line: texts, and objects of code, strong, emphasis, or a link's text with its href. */
export function spansOf(text) {
  const spans = [];
  let end = 0;
  for (const match of text.matchAll(SPAN)) {
    const [whole, code, strong, emphasis, link, href] = match;
    spans.push(text.slice(end, match.index), { code, strong, emphasis, link, href });
    end = match.index + whole.length;
  }
  return [...spans, text.slice(end)].filter((one) => one !== "");
}
