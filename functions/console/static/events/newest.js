/** The newest events first, of an API that returns the events of a span in the order of their recording. */

const LEAST = 15 * 60_000; // A quarter-hour, in milliseconds: a span that is not divided further.
const WEEK = 7 * 24 * 3_600_000;
const LIMIT = 1000;
const instant = (at) => new Date(at).toISOString();

/**
 * Returns what loads the events of a span from its end on: `load(next)`, which promises `{items, next}`.
 *
 * `read({from, to, limit, next})` promises a page of the API. The first part is the last week, or the whole span if its
 * events are few (`isRare`). Of a part whose events fill more than a page, the last 25 % is read, from its first event
 * on. A part that is as short as a quarter-hour is read whole. After a page that is short, because the API took long,
 * the parts are smaller: each is shown as soon as it is read.
 */
export const newestFirst = (read, from, to, isRare) => async (next) => {
  let begin = next?.begin ?? Date.parse(from);
  const end = next?.end ?? Date.parse(to);
  // Spans that the API refuses, it refuses in its own words.
  if (!(begin < end)) return read({ from, to, limit: LIMIT });
  let { width, most } = next ?? { width: isRare ? end - begin : Math.min(WEEK, end - begin), most: Infinity };
  for (;;) {
    const start = Math.max(begin, end - width);
    const span = {
      from: start === Date.parse(from) ? from : instant(start), to: next ? instant(end) : to, limit: LIMIT,
    };
    const page = await read(span);
    if (page.next && page.items.length === LIMIT && width > LEAST) {
      if (start === begin) begin = Date.parse(page.items[0].recorded_at);
      most = Math.min(width, end - begin) / 2;
      width = Math.max(LEAST, most / 2);
      continue;
    }
    const items = [...page.items];
    for (let more = page.next; more;) {
      const rest = await read({ ...span, next: more });
      items.push(...rest.items);
      more = rest.next;
    }
    // Where events are rare, the parts grow again, not at once to a width that had too many.
    if (page.next) width = Math.max(LEAST, width / 4);
    else if (items.length < LIMIT / 4) width = Math.max(width, Math.min(width * 4, most));
    most *= items.length ? 2 : 4;
    return { items: items.reverse(), next: start > begin ? { begin, end: start, width, most } : null };
  }
};
