// Policies and context windows beside each other: the size of each window over the calls, and below it the verdict.
import { Component, createRef, html } from "./html.js";
import { get } from "./api.js";
import { colorsOf } from "./timeline.js";
import { counted, money, number, oneLine, percent, short } from "./format.js";

const HEIGHT = 200;
const COLORS = 6;
const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3]]; // one for each context window
const FIRST = ["default", "sliding", "passthrough"]; // what is chosen at the beginning
const OFTEN = 6; // so many policies are shown at once, the others behind a line

export class Compare extends Component {
  state = { chosen: new Set(FIRST), windows: "", rows: [], sizes: [], calls: 0, sentence: null, running: false, error: "" };

  componentWillUnmount() {
    this.run = null;
  }

  choose = (name) => {
    const chosen = new Set(this.state.chosen);
    if (!chosen.delete(name)) chosen.add(name);
    this.setState({ chosen });
  };

  stop = () => {
    this.run = null;
    this.setState({ running: false });
  };

  // Asks until all is done: each answer has a little more, and the chart grows as they come.
  start = async () => {
    const run = (this.run = {});
    const { calls, policies, limit } = this.props;
    const windows = this.state.windows.split(/[\s;]+/).map((each) => each.replace(/,/g, "")).filter(Boolean).join(",") || limit || "";
    const model = calls.model.map(([, name]) => name).filter(Boolean).pop() || "";
    const asked = { id: calls.id, entries: calls.entries, model, windows, policies: policies.filter((name) => this.state.chosen.has(name)).join(",") };
    let from = 0;
    let sizes = [];
    this.setState({ rows: [], sizes, sentence: null, error: "", running: true });
    try {
      let page;
      do {
        page = await get("compare", { ...asked, from });
        if (this.run !== run) return;
        from += page.points.length;
        sizes = page.rows.map((_, row) => [...(sizes[row] || []), ...page.points.filter(([at]) => at === row).map(([, size]) => size)]);
        this.setState({ rows: page.rows, sizes, calls: page.calls, sentence: page.sentence });
      } while (page.sentence == null);
    } catch (problem) {
      if (this.run !== run) return;
      this.setState({ error: problem.message });
    }
    this.setState({ running: false });
  };

  render({ policies, figures, theme, limit, onTry }, { chosen, windows, rows, sizes, calls, sentence, running, error }) {
    const box = (name) => html`
      <label key=${name} class="choice"><input type="checkbox" checked=${chosen.has(name)} onChange=${() => this.choose(name)} /><bdi>${name}</bdi></label>`;
    const done = sizes.reduce((sum, row) => sum + row.length, 0);
    return html`
      <section class="compare" aria-label="Compare policies">
        <h3>Compare over the whole conversation</h3>
        <p class="quiet">What each policy would have sent at every call. Nothing is written, and no model is asked.</p>
        <fieldset><legend class="hidden">Policies</legend>
          <div class="choices">${policies.slice(0, OFTEN).map(box)}</div>
          ${policies.length > OFTEN && html`<details><summary>${number(policies.length - OFTEN)} more policies</summary>
            <div class="choices">${policies.slice(OFTEN).map(box)}</div></details>`}
        </fieldset>
        <label class="windows">Context windows in tokens, several with a blank between them
          <input type="text" inputmode="numeric" autocomplete="off" placeholder=${limit ? number(limit) : "128000 200000"} value=${windows}
            onInput=${(event) => this.setState({ windows: event.target.value })} /></label>
        <div class="buttons">
          <button type="button" onClick=${this.start} disabled=${running || !chosen.size}>Compare</button>
          ${running && html`<button type="button" onClick=${this.stop}>Stop</button>`}
          ${running && calls > 0 && html`<progress max=${calls * rows.length} value=${done} aria-label="Calls done"></progress>`}
        </div>
        ${error && html`<p class="problem" role="alert">${error}</p>`}
        ${rows.length > 0 && html`
          <${Lines} rows=${rows} sizes=${sizes} calls=${calls} theme=${theme} />
          <${Verdict} rows=${rows} figures=${figures} onTry=${onTry} />
          <p role="status">${sentence ? html`<strong>Which to take:</strong> ${sentence}` : ""}</p>`}
      </section>`;
  }
}

// Colour and dashes of each row: a policy has one colour, a context window one kind of line.
function styles(rows) {
  const policies = [...new Set(rows.map((row) => row.policy))];
  const windows = [...new Set(rows.map((row) => row.tokens))];
  return rows.map((row) => ({ color: policies.indexOf(row.policy) % COLORS, dash: windows.indexOf(row.tokens) % DASHES.length }));
}

const nameOf = (row) => `${oneLine(row.policy)} in ${short(row.tokens)}`;

// The chart; what it shows at the call below the pointer stands under it.
class Lines extends Component {
  place = createRef();
  state = { at: null };

  componentDidMount() {
    this.observer = new ResizeObserver(() => {
      const width = this.place.current.clientWidth;
      if (width && this.chart && this.chart.width !== width) this.chart.setSize({ width, height: HEIGHT });
    });
    this.observer.observe(this.place.current);
    this.draw();
  }

  componentDidUpdate(before) {
    const known = before.theme === this.props.theme && before.rows.length === this.props.rows.length && before.calls === this.props.calls;
    if (!known) this.draw();
    else if (before.sizes !== this.props.sizes) this.chart.setData(this.data());
  }

  componentWillUnmount() {
    this.observer.disconnect();
    this.chart.destroy();
  }

  data() {
    const { sizes, calls } = this.props;
    const most = Math.max(calls, ...sizes.map((row) => row.length));
    return [Array.from({ length: most }, (_, at) => at + 1), ...sizes.map((row) => Array.from({ length: most }, (_, at) => row[at] ?? null))];
  }

  draw() {
    if (this.chart) this.chart.destroy();
    const names = ["quiet", "line", ...Array.from({ length: COLORS }, (_, at) => `series-${at}`)];
    const color = colorsOf(names);
    const axis = { stroke: color.quiet, grid: { stroke: color.line, width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
    this.chart = new uPlot({
      width: this.place.current.clientWidth || 400,
      height: HEIGHT,
      padding: [8, 8, 0, 0],
      legend: { show: false },
      scales: { x: { time: false, range: (_, low, high) => [Math.min(low, high - 1), high] }, y: { range: (_, low, high) => [0, high || 1] } },
      cursor: { y: false, points: { size: 6 }, drag: { x: true, y: false } },
      hooks: { setCursor: [(chart) => chart.cursor.idx !== this.state.at && this.setState({ at: chart.cursor.idx })] },
      axes: [
        { ...axis, size: 26, values: (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? number(tick) : "")) },
        { ...axis, size: 46, values: (_, ticks) => ticks.map(short) },
      ],
      series: [{}, ...styles(this.props.rows).map(({ color: at, dash }) => ({
        stroke: color[`series-${at}`], width: 1.75, dash: DASHES[dash], points: { show: false }, spanGaps: false,
      }))],
    }, this.data(), this.place.current);
  }

  render({ rows, sizes, calls }, { at }) {
    const said = rows.map((row, index) => {
      const sent = (sizes[index] || []).filter((size) => size != null);
      return `${nameOf(row)}: ${sent.length ? `at most ${number(Math.max(...sent))} tokens` : "nothing sent"}`;
    });
    return html`
      <div class="chart lines" ref=${this.place} role="img" aria-label=${`Window sizes over ${counted(calls, "call")}. ${said.join("; ")}`}></div>
      <p class="quiet at">${at == null ? "window sizes in tokens, over the calls" : `call ${number(at + 1)}: ${rows
        .map((row, index) => `${nameOf(row)} ${sizes[index] && sizes[index][at] != null ? number(sizes[index][at]) : "–"}`).join(" · ")}`}</p>`;
  }
}

// The roles are said, because the style sheet makes grids of the rows where they would be too wide.
function Verdict({ rows, figures, onTry }) {
  const looks = styles(rows);
  const shown = (row, name) => {
    if (!row.figures) return "…";
    if (name === "cost" && rows.some((one) => one.dollars != null)) return row.dollars == null ? "–" : money(row.dollars);
    const value = row.figures[name];
    return value == null ? "–" : name === "refused" ? number(value) : percent(value);
  };
  return html`
    <div class="wide" tabindex="0" role="region" aria-label="The figures of the verdict">
      <table role="table">
        <thead><tr role="row"><th role="columnheader">policy</th>${figures.map((one) => html`<th role="columnheader" key=${one.name}>${one.head.replace(/-\n/g, "").replace(/\n/g, " ")}</th>`)}</tr></thead>
        <tbody>${rows.map((row, at) => html`
          <tr role="row" key=${row.policy + row.tokens}>
            <th role="rowheader"><svg class=${`swatch series-${looks[at].color}`} viewBox="0 0 22 4" aria-hidden="true"><line x1="0" y1="2" x2="22" y2="2"
              stroke-dasharray=${DASHES[looks[at].dash].join(" ")} /></svg>
              <button type="button" class="plain" title="Try the next request under it" onClick=${() => onTry({ do: "request", policy: row.policy, tokens: row.tokens })}>
                <bdi>${oneLine(row.policy)}</bdi></button> <span class="quiet">${short(row.tokens)}</span></th>
            ${figures.map((one) => html`<td role="cell" key=${one.name}>${shown(row, one.name)}</td>`)}
          </tr>`)}</tbody>
      </table>
    </div>
    <details><summary>What the columns mean</summary>
      <dl class="meanings">${figures.map((one) => html`<div><dt>${one.label}</dt><dd>${one.meaning}</dd></div>`)}</dl></details>`;
}
