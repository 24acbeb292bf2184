/** A chart of one figure by day, with its numbers as a table for those who do not see it. */
import uPlot from "./vendor/uplot.js";
import { html, useEffect, useRef } from "./vendor/htm-preact.js";
import { money, shortDay } from "./format.js";
import { Money, Table } from "./parts.js";

const HEIGHT = 220;
const DAY = 86_400;

/** Bars of the days from one to before another: `days` are pairs of a day and a decimal text, in the order of time. */
export function DailyChart({ label, currency, days, from, to }) {
  const place = useRef();
  useEffect(() => {
    const shown = options(place.current, label, currency, seconds(from), seconds(to));
    const chart = new uPlot(shown, columns(days, seconds(from), seconds(to)), place.current);
    const watch = new ResizeObserver(() => chart.setSize({ width: place.current.clientWidth, height: HEIGHT }));
    watch.observe(place.current);
    return () => { watch.disconnect(); chart.destroy(); };
  }, [label, from, to, JSON.stringify(days)]);
  return html`
    <div class="chart" role="img" aria-label=${label} ref=${place}></div>
    <details>
      <summary>The same as a table</summary>
      <${Table} caption=${label} head=${[["Day"], [currency, "n"]]}>
        ${days.map(([day, value]) => html`
          <tr key=${day}><th scope="row">${day}</th><${Money} value=${value} currency=${currency} /></tr>`)}
      <//>
    </details>`;
}

const seconds = (day) => Date.parse(day) / 1000;

/** Returns every day of the span, and its figure; null for a day without one, so that bars are a day wide. */
function columns(days, from, to) {
  const values = new Map(days.map(([day, value]) => [seconds(day), Number(value)]));
  const all = Array.from({ length: (to - from) / DAY }, (_, index) => from + index * DAY);
  return [all, all.map((day) => values.get(day) ?? null)];
}

function options(place, label, currency, from, to) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line") }, ticks: { stroke: colour("--line") } };
  const fill = colour("--accent");
  return {
    width: place.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    tzDate: (instant) => uPlot.tzDate(new Date(instant * 1000), "Etc/UTC"),
    scales: { x: { range: [from - DAY / 2, to - DAY / 2] } },
    axes: [
      { ...axis, incrs: [1, 2, 7, 14].map((many) => many * DAY), values: (_, ticks) => ticks.map(shortDay) },
      { ...axis, size: 80, values: (_, ticks) => ticks.map((tick) => money(String(tick), currency)) },
    ],
    series: [{}, { label, fill, stroke: fill, paths: uPlot.paths.bars({ size: [0.7, 40] }), points: { show: false } }],
  };
}
