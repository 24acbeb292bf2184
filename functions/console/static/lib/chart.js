/**
 * Charts: bars of a figure by spans of time, sums that grow, and a line of a rate that changes at instants. A pointer
 * or the arrow keys move a marker, and the figures at it are shown and announced.
 */
import { html, useEffect, useRef, useState } from "../vendor/htm-preact.js";
import { seconds } from "./calendar.js";
import { amount, exact, short, shortDay, shortMonth, shortTime } from "./format.js";

const { uPlot } = window; // A script of the page: the library has no small file that is a module.
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
  const found = new Map(values.map(([start, value]) => [seconds(start), value]));
  const read = (value) => (value === undefined ? "–" : `${amount(value, currency)} ${currency}`);
  const points = starts.map(seconds).map((at) => (
    { seconds: at, text: tick(at), readings: { bars: read(found.get(at)) }, bars: found.get(at) }));
  const range = [points[0].seconds - length / 2, points.at(-1).seconds + length / 2];
  return html`<${Plot} ...${{ label, points, range, distances, tick, lines: ["bars"] }} />`;
}

/**
 * Two lines of sums that grow: one of a span, and a lighter one of the span before it.
 *
 * `points`: of each, a text of where it is, its instant in seconds, and the decimal text of either line, if it has one.
 */
export function GrowthChart({ label, currency, points, names }) {
  const lines = ["before", "now"];
  const read = points.map((point) => ({
    ...point,
    readings: Object.fromEntries(lines.toReversed().filter((line) => point[line] !== undefined)
      .map((line) => [line, `${names[line]}: ${amount(point[line], currency)}`])),
  }));
  const range = [points[0].seconds, points.at(-1).seconds];
  const distances = [1, 2, 7, 14, 30, 60].map((many) => many * DAY);
  return html`<${Plot} ...${{ label, points: read, range, distances, tick: shortDay, lines }} />`;
}

/** A small line of decimal texts in the order of time. It has no text: figures are beside it. */
export function Sparkline({ values }) {
  const [width, height] = [96, 22];
  const numbers = values.map(Number);
  const [least, most] = [Math.min(0, ...numbers), Math.max(0, ...numbers)];
  const x = (index) => (numbers.length > 1 ? 1 + (index * (width - 2)) / (numbers.length - 1) : width / 2);
  const y = (value) => height - 2 - ((value - least) * (height - 4)) / (most - least || 1);
  return html`
    <svg class="spark" viewBox=${`0 0 ${width} ${height}`} width=${width} height=${height} aria-hidden="true">
      <polyline points=${numbers.map((value, index) => `${x(index).toFixed(1)},${y(value).toFixed(1)}`).join(" ")} />
    </svg>`;
}

/** A line of steps: `values` are pairs of an instant and a decimal text that holds from then on, up to `until`. */
export function StepChart({ label, values, until }) {
  const points = [...values, [until, values.at(-1)[1]]].map(([at, value]) => (
    { seconds: seconds(at), text: shortDay(seconds(at)), readings: { steps: exact(value) }, steps: value }));
  const range = [points[0].seconds, seconds(until)];
  const distances = [1, 2, 7, 14, 30, 60, 90, 180, 365].map((many) => many * DAY);
  return html`<${Plot} ...${{ label, points, range, distances, tick: shortDay, lines: ["steps"] }} />`;
}

const fromZero = (_, least, most) => uPlot.rangeNum(Math.min(0, least), Math.max(0, most), 0.1, true);

/** Returns the width of an axis, in pixels, that holds its longest figure. */
const widthOf = (_, figures) => 18 + 7 * Math.max(...(figures || [""]).map((one) => one.length));

/** Returns how each line is drawn. */
const LINES = {
  bars: ({ accent }) => ({
    fill: accent, stroke: accent, paths: uPlot.paths.bars({ size: [0.7, 40], radius: 0.1 }), points: { show: false },
  }),
  steps: ({ accent }) => ({
    stroke: accent, width: 2, paths: uPlot.paths.stepped({ align: 1 }), points: { show: false },
  }),
  before: ({ soft }) => ({ stroke: soft, width: 1.5, dash: [5, 4], points: { show: false } }),
  now: ({ accent, fill }) => ({ stroke: accent, width: 2.5, fill, points: { show: false } }),
};

/** Returns how a chart looks and behaves, as uPlot takes it. `onPoint` gets the index of the point at the pointer. */
function optionsOf({ label, range, distances, tick, lines }, width, onPoint) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name, more = "") => () => style.getPropertyValue(name).trim() + more;
  const axis = {
    stroke: colour("--soft"), font: `12px ${getComputedStyle(document.body).fontFamily}`,
    grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, gap: 8,
  };
  const colours = { accent: colour("--accent"), soft: colour("--soft"), fill: colour("--accent", "1a") };
  const moved = ({ cursor: { idx } }) => idx !== null && idx !== undefined && onPoint(idx);
  return {
    width,
    height: HEIGHT,
    padding: [12, 24, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    hooks: { setCursor: [moved] },
    tzDate: (instant) => uPlot.tzDate(new Date(instant * 1000), "Etc/UTC"),
    scales: { x: { range }, ...(!lines.includes("steps") && { y: { range: fromZero } }) },
    axes: [
      { ...axis, grid: { show: false }, size: 32, incrs: distances, values: (_, ticks) => ticks.map(tick) },
      { ...axis, size: widthOf, values: (_, ticks, __, ___, step) => ticks.map((one) => short(one, ticks, step)) },
    ],
    series: [{}, ...lines.map((line) => ({ label, ...LINES[line](colours) }))],
  };
}

/** Draws a chart at a place, as wide as that is and in the colours of the moment; returns the chart, and its end. */
function drawn(place, drawing, columns, onPoint) {
  const chart = new uPlot(optionsOf(drawing, place.clientWidth, onPoint), columns, place);
  const watch = new ResizeObserver(() => chart.setSize({ width: place.clientWidth, height: HEIGHT }));
  watch.observe(place);
  const draw = () => chart.redraw();
  for (const query of SCHEMES) query.addEventListener("change", draw);
  const end = () => {
    watch.disconnect();
    for (const query of SCHEMES) query.removeEventListener("change", draw);
    chart.destroy();
  };
  return [chart, end];
}

/**
 * A chart of one shape or several. `points`: of each, its instant in seconds, its text, the decimal text of each line
 * that it has, and `readings`: the same in words. A pointer or the arrow keys choose a point; its readings are above.
 */
function Plot({ points, ...drawing }) {
  const { label, lines } = drawing;
  const [at, setAt] = useState(() => points.findLastIndex((one) => one[lines.at(-1)] !== undefined));
  const [place, chart] = [useRef(), useRef()];
  const last = points.length - 1;
  const chosen = points[Math.max(0, Math.min(at, last))];
  const columns = [
    points.map((one) => one.seconds),
    ...lines.map((line) => points.map((one) => (one[line] === undefined ? null : Number(one[line])))),
  ];
  useEffect(() => {
    const [made, end] = drawn(place.current, drawing, columns, setAt);
    chart.current = made;
    return end;
  }, [label, JSON.stringify(columns)]);
  const keys = { ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1, Home: 0, End: last };
  const onKeyDown = (event) => {
    if (!(event.key in keys)) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(last, keys[event.key]));
    setAt(next);
    chart.current.setCursor({ left: chart.current.valToPos(points[next].seconds, "x"), top: 0 });
  };
  const readings = Object.entries(chosen.readings);
  return html`
    <p class="readout" aria-hidden="true">
      <span>${chosen.text}</span>
      ${readings.map(([line, text]) => html`<span key=${line} class=${`line ${line}`}>${text}</span>`)}
    </p>
    <div class="chart" role="slider" tabindex="0" aria-label=${label} ref=${place} onKeyDown=${onKeyDown}
      aria-valuemin="0" aria-valuemax=${last} aria-valuenow=${Math.min(at, last)}
      aria-valuetext=${`${chosen.text}. ${readings.map(([, text]) => text).join(". ")}`}></div>`;
}
