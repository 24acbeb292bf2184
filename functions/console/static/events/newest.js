/** The newest events first, of an API that returns the events of a span in the order of their recording. */

const LEAST = 15 * 60_000; // A quarter-hour, in milliseconds: a span that is not divided further.
const LIMIT = 1000;
const instant = (at) => new Date(at).toISOString();

/**
 * Returns what loads the events of a span from its end on: `load(next)`, which promises `{items, next}`.
 *
 * `read({from, to, limit, next})` promises a page of the API. The first part is the whole span. Of a part whose events
 * fill more than a page, the last 25 % is read. A part that is as short as a quarter-hour is read whole.
 */
export const newestFirst = (read, from, to) => async (next) => {
  const [begin, end] = [Date.parse(from), next?.end ?? Date.parse(to)];
  // Spans that the API refuses, it refuses in its own words.
  if (!(begin < end)) return read({ from, to, limit: LIMIT });
  let width = next?.width ?? end - begin;
  for (;;) {
    const start = Math.max(begin, end - width);
    const span = { from: start === begin ? from : instant(start), to: next ? instant(end) : to, limit: LIMIT };
    const page = await read(span);
    if (page.next && width > LEAST) {
      width = Math.max(LEAST, width / 4);
      continue;
    }
    const items = [...page.items];
    for (let more = page.next; more;) {
      const rest = await read({ ...span, next: more });
      items.push(...rest.items);
      more = rest.next;
    }
    // Where events are rare, the parts grow again.
    if (items.length < LIMIT / 4) width *= 4;
    return { items: items.reverse(), next: start > begin ? { end: start, width } : null };
  }
};
