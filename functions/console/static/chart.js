/** Charts: bars of a figure by spans of time, and a line of a rate that changes at instants. */
import uPlot from "./vendor/uplot.js";
import { html, useEffect, useRef } from "./vendor/htm-preact.js";
import { days as daysOf, seconds } from "./calendar.js";
import { count, money, shortDay, shortMonth, shortTime } from "./format.js";
import { Money, Table } from "./parts.js";

const HEIGHT = 220;
const QUARTER_HOUR = 900;
const DAY = 86_400;
const MONTH = 30 * DAY;

/** The media queries that change the page's colours: the reader's scheme, and printing, which is always light. */
const SCHEMES = ["(prefers-color-scheme: dark)", "print"].map((query) => window.matchMedia(query));

/** The spans that bars can have: their length in seconds, the distances of ticks, and how a tick is written. */
const SPANS = {
  period: { length: MONTH, distances: [1, 2, 3, 6, 12].map((many) => many * MONTH), tick: shortMonth },
  day: { length: DAY, distances: [1, 2, 7, 14].map((many) => many * DAY), tick: shortDay },
  quarter_hour: { length: QUARTER_HOUR, distances: [4, 8, 12, 24].map((many) => many * QUARTER_HOUR), tick: shortTime },
};

/**
 * Bars: `starts` are the beginnings of all spans, texts in the order of time; `values` are pairs of a beginning and a
 * decimal text, for those spans that have one.
 */
export function BarChart({ label, currency, span, starts, values }) {
  const { length, distances, tick } = SPANS[span];
  const found = new Map(values.map(([start, value]) => [seconds(start), Number(value)]));
  const all = starts.map(seconds);
  return html`
    <${Plot} label=${label} columns=${[all, all.map((start) => found.get(start) ?? null)]}
      range=${[all[0] - length / 2, all[all.length - 1] + length / 2]} distances=${distances} tick=${tick}
      figure=${(value) => money(value, currency)} bars />`;
}

/** Bars of the days from one to before another, and a table of them: `days` are pairs of a day and a decimal text. */
export const DailyChart = ({ label, currency, days, from, to }) => html`
  <${BarChart} ...${{ label, currency, span: "day", starts: daysOf(from, to), values: days }} />
  <details>
    <summary>The same as a table</summary>
    <${Table} caption=${label} head=${[["Day"], [currency, "n"]]}>
      ${days.map(([day, value]) => html`
        <tr key=${day}><th scope="row">${day}</th><${Money} value=${value} currency=${currency} /></tr>`)}
    <//>
  </details>`;

/** A line of steps: `values` are pairs of an instant and a decimal text that holds from then on, up to `until`. */
export function StepChart({ label, values, until }) {
  const points = [...values, [until, values[values.length - 1][1]]];
  const columns = [points.map(([at]) => seconds(at)), points.map(([, value]) => Number(value))];
  const distances = [1, 2, 7, 14, 30, 60, 90, 180, 365].map((many) => many * DAY);
  return html`
    <${Plot} label=${label} columns=${columns} range=${[columns[0][0], seconds(until)]} distances=${distances}
      tick=${shortDay} figure=${(value) => count(value, 6)} />`;
}

const fromZero = (_, least, most) => uPlot.rangeNum(Math.min(0, least), Math.max(0, most), 0.1, true);

/** Returns the width of an axis, in pixels, that holds its longest figure. */
const widthOf = (_, figures) => 24 + 7 * Math.max(...(figures || [""]).map((one) => one.length));

function Plot({ label, columns, range, distances, tick, figure, bars }) {
  const place = useRef();
  useEffect(() => {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => () => style.getPropertyValue(name).trim();
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line") }, ticks: { stroke: colour("--line") } };
    const accent = colour("--accent");
    const shape = bars
      ? { fill: accent, stroke: accent, paths: uPlot.paths.bars({ size: [0.7, 40] }), points: { show: false } }
      : { stroke: accent, width: 2, paths: uPlot.paths.stepped({ align: 1 }), points: { show: false } };
    const chart = new uPlot({
      width: place.current.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: { show: false },
      tzDate: (instant) => uPlot.tzDate(new Date(instant * 1000), "Etc/UTC"),
      scales: { x: { range }, ...(bars && { y: { range: fromZero } }) },
      axes: [
        { ...axis, incrs: distances, values: (_, ticks) => ticks.map(tick) },
        { ...axis, size: widthOf, values: (_, ticks) => ticks.map((one) => figure(String(one))) },
      ],
      series: [{}, { label, ...shape }],
    }, columns, place.current);
    const watch = new ResizeObserver(() => chart.setSize({ width: place.current.clientWidth, height: HEIGHT }));
    watch.observe(place.current);
    const draw = () => chart.redraw();
    for (const query of SCHEMES) query.addEventListener("change", draw);
    return () => {
      watch.disconnect();
      for (const query of SCHEMES) query.removeEventListener("change", draw);
      chart.destroy();
    };
  }, [label, JSON.stringify(columns)]);
  return html`<div class="chart" role="img" aria-label=${label} ref=${place}></div>`;
}
