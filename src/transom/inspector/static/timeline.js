// The chart in the middle: how large the window of each call was, what was shared with the call before, what it cost.
// The charts are uPlot's. The line of the call that is shown is an element of ours, so that a step draws nothing again.
import { Component, createRef, html } from "./html.js";
import { money, number, percent, short } from "./format.js";

const SIZE = 190;
const COST = 92;

export class Timeline extends Component {
  size = createRef();
  cost = createRef();

  componentDidMount() {
    this.observer = new ResizeObserver(() => this.fit());
    this.observer.observe(this.size.current);
    this.draw();
  }

  componentWillUnmount() {
    this.observer.disconnect();
    this.destroy();
  }

  shouldComponentUpdate(next) {
    return next.calls !== this.props.calls || next.call !== this.props.call || next.theme !== this.props.theme;
  }

  componentDidUpdate(before) {
    const grown = before.calls !== this.props.calls && before.calls.id === this.props.calls.id;
    if (before.theme !== this.props.theme || (before.calls !== this.props.calls && !grown)) this.draw();
    else if (grown) this.charts.forEach((chart, at) => chart.setData(this.data()[at]));
    this.mark();
  }

  destroy() {
    (this.charts || []).forEach((chart) => chart.destroy());
    this.charts = [];
  }

  data() {
    const { calls } = this.props;
    const numbers = calls.tokens.map((_, at) => at + 1);
    const limits = calls.limit.map((limit) => limit || null);
    const cached = calls.prompt.map((prompt, at) => (prompt ? calls.cached[at] / prompt : null));
    const shares = cached.some((share) => share != null) ? cached : calls.tokens.map((all, at) => (all ? calls.shared[at] / all : null));
    return [
      [numbers, calls.tokens, calls.shared, limits],
      [numbers, calls.dollars, shares],
    ];
  }

  draw() {
    this.destroy();
    const color = colors();
    const width = this.size.current.clientWidth || 400;
    const axis = { stroke: color.quiet, grid: { stroke: color.line, width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
    const common = {
      width,
      legend: { show: false },
      scales: { x: { time: false, range: (_, low, high) => [Math.min(low, high - 1), high] } },
      cursor: { y: false, points: { size: 6 }, drag: { x: true, y: false }, sync: { key: "calls" } },
      hooks: { setCursor: [(chart) => this.props.onHover(chart.cursor.idx == null ? null : chart.cursor.idx + 1)], setScale: [() => this.mark()] },
    };
    const [sizes, costs] = this.data();
    const few = sizes[0].length < 80;
    const hasCost = costs[1].some((one) => one != null);
    this.charts = [
      new uPlot({
        ...common,
        height: SIZE,
        padding: [8, 46, 6, 0], // as wide on the right as the axis below
        axes: [{ ...axis, show: false }, { ...axis, size: 46, values: (_, ticks) => ticks.map(short) }],
        series: [
          {},
          { stroke: color.accent, fill: color.accentFill, width: 1.5, points: { show: few, size: 4 } },
          { stroke: color.cached, fill: color.cachedFill, width: 1, points: { show: false } },
          { stroke: color.limit, width: 1, dash: [4, 4], points: { show: false } },
        ],
        hooks: { ...common.hooks, draw: [(chart) => this.drawMarks(chart, color)] },
      }, sizes, this.size.current),
      new uPlot({
        ...common,
        height: COST,
        padding: [4, 8, 0, 0],
        scales: { ...common.scales, y: { range: (_, low, high) => [0, high || 1] }, share: { range: [0, 1.02] } },
        axes: [
          { ...axis, size: 26, values: (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? number(tick) : "")) },
          { ...axis, size: 46, values: (_, ticks) => ticks.map((tick) => (tick && hasCost ? dollars(tick) : "")) },
          { ...axis, scale: "share", side: 1, size: 38, grid: { show: false }, splits: [0, 0.5, 1], values: (_, ticks) => ticks.map(percent) },
        ],
        series: [
          {},
          { stroke: color.money, fill: color.money, width: 0, points: { show: false }, paths: uPlot.paths.bars({ size: [0.7, 14] }) },
          { stroke: color.cached, width: 1.5, scale: "share", points: { show: false } },
        ],
      }, costs, this.cost.current),
    ];
    for (const chart of this.charts) {
      this.line(chart);
      chart.over.addEventListener("click", () => {
        if (chart.cursor.idx != null) this.props.onCall(chart.cursor.idx + 1);
      });
    }
    this.mark();
  }

  line(chart) {
    const line = document.createElement("div");
    line.className = "here";
    chart.over.append(line);
    chart.here = line;
  }

  // Moves the line to the call that is shown.
  mark() {
    const { call, calls } = this.props;
    for (const chart of this.charts || []) {
      if (!chart.here) continue;
      const at = chart.valToPos(call ?? calls.tokens.length, "x");
      chart.here.hidden = !calls.tokens.length || !(at >= -1 && at <= chart.over.clientWidth + 1);
      chart.here.style.transform = `translateX(${Math.round(at)}px)`;
    }
  }

  // Compactions are ticks above, failures are marks at the bottom.
  drawMarks(chart, color) {
    const { calls } = this.props;
    const { ctx, bbox } = chart;
    const ratio = devicePixelRatio || 1;
    ctx.save();
    for (let at = 0; at < calls.tokens.length; at += 1) {
      const folds = calls.folds[at] > 0;
      if (!folds && !calls.failure[at]) continue;
      const x = chart.valToPos(at + 1, "x", true);
      if (x < bbox.left - 1 || x > bbox.left + bbox.width + 1) continue;
      if (folds) {
        ctx.fillStyle = color.folded;
        ctx.fillRect(x - ratio, bbox.top, 2 * ratio, 9 * ratio);
      }
      if (calls.failure[at]) {
        ctx.fillStyle = color.failed;
        ctx.beginPath();
        ctx.arc(x, bbox.top + bbox.height - 5 * ratio, 3.5 * ratio, 0, 7);
        ctx.fill();
      }
    }
    ctx.restore();
  }

  fit() {
    const width = this.size.current.clientWidth;
    (this.charts || []).forEach((chart, at) => {
      if (width && chart.width !== width) chart.setSize({ width, height: at ? COST : SIZE });
    });
    this.mark();
  }

  render({ call, calls, spoken }) {
    const last = calls.tokens.length;
    return html`
      <div class="charts" role="slider" tabindex="0" aria-label="Call" aria-valuemin=${1} aria-valuemax=${Math.max(1, last)}
        aria-valuenow=${call ?? Math.max(1, last)} aria-valuetext=${spoken} aria-keyshortcuts="ArrowLeft ArrowRight">
        <div class="chart" ref=${this.size} aria-hidden="true"></div>
        <div class="chart" ref=${this.cost} aria-hidden="true"></div>
      </div>
      <ul class="legend" aria-label="What the chart shows">
        <li class="size">window</li><li class="cached">shared with the call before</li><li class="limit">limit</li>
        ${calls.folds.some(Boolean) && html`<li class="folded">compaction</li>`}
        ${calls.failure.some(Boolean) && html`<li class="failed">failure</li>`}
        ${calls.dollars.some(Boolean) && html`<li class="money">cost</li>`}
        <li class="share">${calls.prompt.some(Boolean) ? "cached share" : "shared, in percent"}</li>
      </ul>`;
  }
}

function dollars(value) {
  if (value < 0.0001) return "$" + value.toExponential(0); // as wide as the axis
  return value < 0.001 ? "$" + value.toPrecision(1) : money(value).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}

// The colours of the style sheet, as a canvas takes them: a probe resolves those that differ between light and dark.
function colors() {
  const found = colorsOf(["accent", "accent-fill", "cached", "cached-fill", "failed", "line", "quiet", "folded", "money"]);
  return { ...found, accentFill: found["accent-fill"], cachedFill: found["cached-fill"], limit: found.failed };
}

export function colorsOf(names) {
  const probe = document.createElement("span");
  document.body.append(probe);
  const found = {};
  for (const name of names) {
    probe.style.color = `var(--${name})`;
    found[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  return found;
}
