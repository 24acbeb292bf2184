/** Charts: bars of a figure by spans of time, sums that grow, and a line of a rate that changes at instants. */
import uPlot from "./vendor/uplot.js";
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { seconds } from "./calendar.js";
import { amount, count, money, shortDay, shortMonth, shortTime } from "./format.js";

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
      figure=${(value) => money(value, currency)} shape="bars" />`;
}

/**
 * Two lines of sums that grow: one of a span, and a lighter one of the span before it.
 *
 * `points`: of each, a text of where it is, its instant in seconds, and the decimal text of either line, if it has one.
 * A pointer or the arrow keys choose a point, and its figures are shown below.
 */
export function GrowthChart({ label, currency, points, names }) {
  const [at, setAt] = useState(points.length - 1);
  const chart = useRef();
  const chosen = points[Math.min(at, points.length - 1)];
  const columns = [
    points.map((one) => one.seconds),
    ...["before", "now"].map((line) => points.map((one) => (one[line] === undefined ? null : Number(one[line])))),
  ];
  const text = ["now", "before"].filter((line) => chosen[line] !== undefined)
    .map((line) => `${names[line]}: ${amount(chosen[line], currency)}`);
  const choose = (index) => {
    const next = Math.max(0, Math.min(points.length - 1, index));
    setAt(next);
    chart.current.setCursor({ left: chart.current.valToPos(points[next].seconds, "x"), top: 0 });
  };
  const keys = {
    ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1, Home: 0, End: points.length - 1,
  };
  const onKeyDown = (event) => {
    if (!(event.key in keys)) return;
    event.preventDefault();
    choose(keys[event.key]);
  };
  const slider = {
    role: "slider", tabindex: 0, onKeyDown, "aria-valuemin": 0, "aria-valuemax": points.length - 1, "aria-valuenow": at,
    "aria-valuetext": `${chosen.text}. ${text.join(". ")}`,
  };
  return html`
    <${Plot} label=${label} columns=${columns} range=${[columns[0][0], columns[0].at(-1)]} shape="growth"
      distances=${[1, 2, 7, 14, 30, 60].map((many) => many * DAY)} tick=${shortDay}
      figure=${(value) => count(value)} onPoint=${setAt} chart=${chart} slider=${slider} />
    <p class="readout" aria-hidden="true">
      <span>${chosen.text}</span>
      <span class="line now">${text[0]}</span>${text[1] && html`<span class="line before">${text[1]}</span>`}
    </p>`;
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
  const points = [...values, [until, values[values.length - 1][1]]];
  const columns = [points.map(([at]) => seconds(at)), points.map(([, value]) => Number(value))];
  const distances = [1, 2, 7, 14, 30, 60, 90, 180, 365].map((many) => many * DAY);
  return html`
    <${Plot} label=${label} columns=${columns} range=${[columns[0][0], seconds(until)]} distances=${distances}
      tick=${shortDay} figure=${(value) => count(value, 6)} shape="steps" />`;
}

const fromZero = (_, least, most) => uPlot.rangeNum(Math.min(0, least), Math.max(0, most), 0.1, true);

/** Returns the width of an axis, in pixels, that holds its longest figure. */
const widthOf = (_, figures) => 24 + 7 * Math.max(...(figures || [""]).map((one) => one.length));

/** Returns the series of a shape: how each is drawn. */
const SHAPES = {
  bars: ({ accent }) => [
    { fill: accent, stroke: accent, paths: uPlot.paths.bars({ size: [0.7, 40] }), points: { show: false } },
  ],
  steps: ({ accent }) => [
    { stroke: accent, width: 2, paths: uPlot.paths.stepped({ align: 1 }), points: { show: false } },
  ],
  growth: ({ accent, soft }) => [
    { stroke: soft, width: 1.5, dash: [5, 4], points: { show: false } },
    { stroke: accent, width: 2.5, points: { show: false } },
  ],
};

function Plot({ label, columns, range, distances, tick, figure, shape, onPoint, chart: kept, slider }) {
  const place = useRef();
  useEffect(() => {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => () => style.getPropertyValue(name).trim();
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line") }, ticks: { stroke: colour("--line") } };
    const colours = { accent: colour("--accent"), soft: colour("--soft") };
    const chart = new uPlot({
      width: place.current.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: onPoint ? { y: false, drag: { x: false, y: false } } : { show: false },
      hooks: onPoint ? { setCursor: [({ cursor: { idx } }) => idx !== null && onPoint(idx)] } : {},
      tzDate: (instant) => uPlot.tzDate(new Date(instant * 1000), "Etc/UTC"),
      scales: { x: { range }, ...(shape !== "steps" && { y: { range: fromZero } }) },
      axes: [
        { ...axis, incrs: distances, values: (_, ticks) => ticks.map(tick) },
        { ...axis, size: widthOf, values: (_, ticks) => ticks.map((one) => figure(String(one))) },
      ],
      series: [{}, ...SHAPES[shape](colours).map((one) => ({ label, ...one }))],
    }, columns, place.current);
    if (kept) kept.current = chart;
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
  return html`<div class="chart" role="img" aria-label=${label} ...${slider} ref=${place}></div>`;
}
