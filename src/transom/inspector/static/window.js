// The window of a call on the right: every message as the model read it, what was done to it, and why.
import { Component, html } from "./html.js";
import { get } from "./api.js";
import { counted, number, oneLine, percent } from "./format.js";

const STATES = {
  kept: "whole",
  shortened: "a part of it is left out",
  folded: "a text in place of older turns",
  recalled: "quotes of old entries, brought back",
  synthetic: "written by Transom, because no result had come",
};

export function Window({ data, parameters, title, busy, canChange, onRows, onEntry, onTry, onDropped }) {
  const rows = data.rows;
  const last = data.first_row + rows.length;
  return html`
    <${Bar} data=${data} onRow=${(at) => onRows(Math.max(0, at - 2), null)} onDropped=${onDropped} />
    <div class="rows" role="feed" aria-label=${title} aria-busy=${busy ? "true" : "false"}>
      ${data.first_row > 0 && html`
        <button type="button" class="plain more" onClick=${() => onRows(Math.max(0, data.first_row - 24), data.first_row)}>
          ${counted(data.first_row, "earlier message")}: show more</button>`}
      ${rows.map((row, at) => html`
        <${Row} key=${row.entry + ":" + row.state} row=${row} place=${data.first_row + at + 1} total=${data.sizes.length}
          parameters=${parameters} canChange=${canChange} onEntry=${onEntry} onTry=${onTry} />`)}
      ${last < data.sizes.length && html`
        <button type="button" class="plain more" onClick=${() => onRows(last, last + 24)}>
          ${counted(data.sizes.length - last, "later message")}: show more</button>`}
    </div>`;
}

// The whole window in one bar, from the first message to the last, by tokens.
function Bar({ data, onRow, onDropped }) {
  const pieces = [];
  data.sizes.forEach(([tokens, state, isCached, isDifferent], at) => {
    const before = pieces[pieces.length - 1];
    if (before && before.state === state && before.isCached === isCached && before.isDifferent === isDifferent) {
      before.tokens += tokens;
    } else {
      pieces.push({ tokens, state, isCached, isDifferent, at });
    }
  });
  const counts = {};
  for (const [tokens, state] of data.sizes) {
    counts[state] = counts[state] || [0, 0];
    counts[state][0] += 1;
    counts[state][1] += tokens;
  }
  return html`
    <div class="bar" aria-hidden="true">
      ${pieces.map((piece) => html`
        <span class=${`piece ${piece.state} ${piece.isCached ? "is-cached" : ""} ${piece.isDifferent ? "is-different" : ""}`}
          style=${{ flexGrow: piece.tokens }} title=${`${piece.state}, ${counted(piece.tokens, "token")}`} onClick=${() => onRow(piece.at)}></span>`)}
    </div>
    <p class="states">
      ${Object.keys(STATES).filter((state) => counts[state]).map((state) => html`
        <span class=${`state ${state}`} title=${STATES[state]}>${number(counts[state][0])} ${state}
          <span class="quiet"> ${number(counts[state][1])}</span></span>`)}
      ${data.left.folded > 0 && html`<span class="state left" title="behind folds: not in this window">
        ${counted(data.left.folded, "turn")} left out<span class="quiet"> ${number(data.left.folded_tokens)}</span></span>`}
      ${data.left.dropped > 0 && html`<button type="button" class="state left" onClick=${onDropped}>
        ${number(data.left.dropped)} in no window</button>`}
    </p>`;
}

class Row extends Component {
  state = { left: null, names: null, error: "" };

  shouldComponentUpdate(next, state) {
    const same = (name) => next[name] === this.props[name];
    return state !== this.state || !(same("row") && same("place") && same("total") && same("parameters") && same("canChange"));
  }

  componentDidUpdate(before) {
    const { left, names } = this.state;
    if (before.parameters !== this.props.parameters && (left || names)) this.setState({ left: null, names: null });
  }

  showLeft = async (from) => {
    try {
      const page = await get("left-out", { ...this.props.parameters, fold: this.props.row.entry, from });
      const before = from ? this.state.left.rows : [];
      this.setState({ left: { total: page.total, rows: [...before, ...page.rows] }, error: "" });
    } catch (problem) {
      this.setState({ error: problem.message });
    }
  };

  showNames = async () => {
    this.setState({ names: {} });
    try {
      const found = await get("names", this.props.parameters);
      this.setState({ names: found[this.props.row.entry] || null, error: "" });
    } catch (problem) {
      this.setState({ names: null, error: problem.message });
    }
  };

  render({ row, place, total, canChange, onEntry, onTry }, { left, names, error }) {
    const isFold = row.state === "folded";
    const saved = row.tokens - row.shown;
    const name = isFold ? row.role : row.role === "tool" && row.tool ? row.tool : row.role;
    const marks = [row.is_new && "new", row.is_changed && "changed", row.is_pinned && "pinned", row.is_failed && "failed"].filter(Boolean);
    const id = `row-${row.entry}-${row.state}`;
    return html`
      <article class=${`row ${row.state || "kept"} ${row.role} ${row.is_cached ? "is-cached" : ""} ${marks.map((mark) => "is-" + mark).join(" ")}`}
        aria-labelledby=${id} aria-posinset=${place} aria-setsize=${total} tabindex="0">
        <header>
          <h3 id=${id}><span class="role"><bdi>${oneLine(name)}</bdi></span>
            <span class="entry">${isFold ? `entries ${number(row.first || 0)}–${number(row.last || 0)}` : `entry ${number(row.entry)}`}</span></h3>
          <span class=${`state ${row.state || "kept"}`} title=${STATES[row.state || "kept"]}>${row.state || "kept"}</span>
          ${marks.map((mark) => html`<span class=${`mark ${mark}`}>${mark}</span>`)}
          ${row.is_cached && html`<span class="mark cached" title="in the prefix that is shared with the call before">cached</span>`}
          <span class="tokens">${saved ? html`<s>${number(row.tokens || 0)}</s> ` : ""}${number(row.shown || 0)}<span class="quiet"> tokens</span></span>
        </header>
        ${row.why && html`<p class="why"><bdi>${oneLine(row.why)}</bdi>${(row.edits || []).length > 0 && html`
          <span class="quiet"> · ${(row.edits || []).slice(0, 3).map((edit) => `entry ${number(edit)}`).join(", ")}${row.edits.length > 3 ? ", …" : ""}</span>`}</p>`}
        ${(row.pieces || []).map((piece, at) => html`<${Piece} key=${at} piece=${piece} onAll=${() => onEntry(row.entry)} />`)}
        <footer>
          ${!isFold && html`<button type="button" class="plain" onClick=${() => onEntry(row.entry)}>
            ${row.state === "shortened" ? "Show it whole" : "Show entry"}<span class="hidden"> ${row.entry}</span></button>`}
          ${isFold && html`<button type="button" class="plain" aria-expanded=${left ? "true" : "false"}
            onClick=${() => (left ? this.setState({ left: null }) : this.showLeft(0))}>
            ${left ? "Hide" : "Show"} the ${counted(row.turns || 0, "turn")} that it stands for</button>
            ${!names && canChange && html`<button type="button" class="plain" onClick=${this.showNames}>Which names are lost?</button>`}`}
          ${canChange && row.role !== "system" && !isFold && !row.is_pinned && html`
            <button type="button" class="plain" onClick=${() => onTry({ do: "pin", entry: row.entry })}>Pin…<span class="hidden"> entry ${row.entry}</span></button>`}
          ${canChange && (row.edits || []).length > 0 && html`
            <button type="button" class="plain" onClick=${() => onTry({ do: "undo", entry: row.edits[row.edits.length - 1] })}>
              Undo ${isFold ? "this fold" : row.is_pinned ? "the pin" : "the shortening"}…<span class="hidden"> of entry ${row.entry}</span></button>`}
        </footer>
        ${error && html`<p class="problem" role="alert">${error}</p>`}
        ${names && html`<${Names} names=${names} onEntry=${onEntry} />`}
        ${left && html`<${Left} left=${left} onEntry=${onEntry} onMore=${() => this.showLeft(left.rows.length)} />`}
      </article>`;
  }
}

function Piece({ piece, onAll }) {
  const rest = piece.length - piece.text.length - (piece.start || 0);
  const label = { reasoning: "reasoning", call: "call", media: "", other: piece.name || "" }[piece.kind];
  return html`
    <div class=${`piece-of ${piece.kind}`}>
      ${label && html`<span class="kind">${piece.kind === "call" ? html`→ <bdi>${oneLine(piece.name || "a tool without a name")}</bdi>` : label}</span>`}
      <pre dir="auto">${piece.text}</pre>
      ${rest > 0 && html`<button type="button" class="plain rest" onClick=${onAll}>… ${counted(rest, "more character")}</button>`}
    </div>`;
}

// The names in the turns of a fold that are nowhere in the window any more, each with an entry that has it.
function Names({ names, onEntry }) {
  if (names.names == null) return html`<p class="quiet" role="status">Reading the whole log…</p>`;
  return html`
    <p class="names" role="status">${number(names.found)} of its ${counted(names.names, "name")} are in this window.
      ${names.missing.length > 0 && html`${" "}Not in it: ${names.missing.map(([name, entry], at) => html`${at ? ", " : ""}<button
        type="button" class="plain" onClick=${() => onEntry(entry)}><bdi>${oneLine(name)}</bdi></button>`)}`}</p>`;
}

// Entries that are in no window: stray results, empty messages, facts that ask to be left out.
export class Dropped extends Component {
  state = { left: null, error: "" };

  componentDidMount() {
    this.load(0);
  }

  load = async (from) => {
    try {
      const page = await get("left-out", { ...this.props.parameters, from });
      this.setState({ left: { total: page.total, rows: [...(from ? this.state.left.rows : []), ...page.rows] } });
    } catch (problem) {
      this.setState({ error: problem.message });
    }
  };

  render({ onEntry }, { left, error }) {
    if (error) return html`<p class="problem" role="alert">${error}</p>`;
    return left && html`<${Left} left=${left} onEntry=${onEntry} onMore=${() => this.load(left.rows.length)} />`;
  }
}

// What a fold stands for: entries that the window does not show.
function Left({ left, onEntry, onMore }) {
  return html`
    <ul class="left-out" aria-label="Entries that the window does not show">
      ${left.rows.map((row) => html`
        <li key=${row.entry}>
          <button type="button" class="plain" onClick=${() => onEntry(row.entry)}>
            <span class="entry">${number(row.entry)}</span> <span class="role">${row.role}</span>
            <bdi class="text">${oneLine(row.text || row.why)}</bdi> <span class="quiet">${number(row.tokens)}</span>
          </button>
        </li>`)}
      ${left.rows.length < left.total && html`<li><button type="button" class="plain more" onClick=${onMore}>
        ${number(left.total - left.rows.length)} more</button></li>`}
    </ul>`;
}

// One entry of the log, whole: its pieces, a page of characters at a time.
export class EntryText extends Component {
  state = { entry: null, error: "" };

  componentDidMount() {
    this.load();
  }

  load = async () => {
    try {
      this.setState({ entry: await get("entry", { id: this.props.id, entry: this.props.entry }) });
    } catch (problem) {
      this.setState({ error: problem.message });
    }
  };

  more = async (at) => {
    const { entry } = this.state;
    const known = entry.pieces[at];
    try {
      const next = await get("entry", { id: this.props.id, entry: entry.entry, from: known.text.length });
      const pieces = entry.pieces.map((piece, index) => (index === at ? { ...piece, text: piece.text + next.pieces[at].text } : piece));
      this.setState({ entry: { ...entry, pieces } });
    } catch (problem) {
      this.setState({ error: problem.message });
    }
  };

  render({ entry: seq }, { entry, error }) {
    if (error) return html`<p class="problem" role="alert">${error}</p>`;
    if (!entry) return html`<p class="quiet">Reading entry ${number(seq)}…</p>`;
    return html`
      <p class="quiet">${entry.role}, ${counted(entry.tokens, "token")}, as it was logged</p>
      ${entry.pieces.map((piece, at) => html`<${Piece} key=${at} piece=${piece} onAll=${() => this.more(at)} />`)}`;
  }
}

export const cachedShare = (data) => (data.counted_tokens ? percent(Math.min(1, data.shared_tokens / data.counted_tokens)) : "0%");
