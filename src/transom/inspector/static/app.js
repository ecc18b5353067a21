// The inspector: which conversation and which call are shown, the keys, and what is asked from the server.
import { Component, html, render } from "./html.js";
import { get, post } from "./api.js";
import { Conversations } from "./conversations.js";
import { Timeline } from "./timeline.js";
import { Dropped, EntryText, Window } from "./window.js";
import { DryRun, Story } from "./story.js";
import { counted, money, number, oneLine, percent, short } from "./format.js";

const LOOK = 2000; // milliseconds between two looks for what others have appended
const PAGE = 24; // messages that are asked for at once
const KEPT = 80; // windows of calls that are kept: a call that was made never changes

const system = matchMedia("(prefers-color-scheme: dark)");

const KEYS = [
  ["← →", "one call back, one on"],
  ["Shift + ← →", "ten calls"],
  ["Home, End", "the first call, the window as it is now"],
  ["[ ]", "the compaction before, the next one"],
  ["{ }", "the failure before, the next one"],
  ["/", "search conversations"],
  ["t", "light, dark"],
  ["Esc", "leave a dry run, close this"],
  ["?", "these keys"],
];

const NO_CALLS = { id: null, entries: 0, entry: [], at: [], tokens: [], limit: [], messages: [], shared: [], folds: [], trims: [], undos: [],
  broken_by: [], failure: [], answered: [], prompt: [], cached: [], output: [], dollars: [], model: [], total: null };

class App extends Component {
  state = {
    start: { store: "", policies: [], figures: [], read_only: false },
    list: { items: [], total: 0, found: 0, query: "", loaded: false },
    id: null, calls: NO_CALLS, call: null, data: null, shown: undefined, tried: null,
    theme: shownTheme(), hover: null, problem: "", said: "", dialog: null, listOpen: false, writing: false, trying: false,
  };
  kept = new Map();
  mark = { conversations: -1, entries: -1 };

  async componentDidMount() {
    document.addEventListener("keydown", this.key);
    addEventListener("hashchange", this.fromAddress);
    system.addEventListener("change", () => this.setState({ theme: shownTheme() }));
    const start = this.attempt(async () => this.setState({ start: await get("start") }));
    await Promise.all([start, this.loadList(0), this.fromAddress()]);
    if (!this.state.id && this.state.list.items.length) await this.open(this.state.list.items[0].id);
    this.look();
  }

  // ---- asking the server

  // Says what goes wrong, until the same kind of work goes well again.
  async attempt(work, kind = "ask") {
    try {
      await work();
      if (this.state.problem && this.problemOf === kind) this.setState({ problem: "" });
      return true;
    } catch (problem) {
      this.problemOf = kind;
      this.setState({ problem: problem.message });
      return false;
    }
  }

  loadList = (from) => this.attempt(async () => {
    const { query } = this.state.list;
    const page = await get("conversations", { query, from, count: from ? 100 : Math.max(60, this.state.list.items.length) });
    if (query !== this.state.list.query) return;
    const items = from ? [...this.state.list.items, ...page.conversations] : page.conversations;
    this.setState({ list: { ...this.state.list, items, total: page.total, found: page.found, loaded: true } });
  });

  search = (query) => {
    this.setState({ list: { ...this.state.list, query, items: [] } }, () => this.loadList(0));
  };

  open = async (id, call = null) => {
    this.kept.clear();
    this.setState({ id, calls: NO_CALLS, call, data: null, shown: undefined, tried: null, hover: null, listOpen: false });
    await this.attempt(async () => {
      const calls = await get("calls", { id });
      if (this.state.id !== id) return;
      this.mark.entries = calls.entries;
      const wanted = within(call, calls);
      this.ahead = { id, call: wanted, answer: get("window", { id, call: wanted }) }; // while the chart is drawn
      this.ahead.answer.catch(() => {}); // whoever waits for it says what went wrong
      this.setState({ calls: { ...calls, id } }, () => this.go(call, { again: true }));
    });
  };

  // Shows a call (null: the window as it is now). While a key is held down, the line in the chart moves at once, and
  // the newest wanted window is fetched whenever the one before has come.
  go = (call, { again = false } = {}) => {
    const wanted = within(call, this.state.calls);
    if (again) this.stale = true;
    this.setState({ call: wanted, tried: null, hover: null }, () => {
      this.fetchWindow();
      this.toAddress();
    });
  };

  async fetchWindow() {
    if (this.fetching) return;
    this.fetching = true;
    try {
      while (this.stale || this.state.shown !== this.state.call) {
        const { id, call } = this.state;
        this.stale = false;
        const kept = call == null ? null : this.kept.get(call);
        const done = await this.attempt(async () => {
          const data = kept || (await this.window(id, call));
          if (this.state.id !== id) return;
          if (call != null) this.keep(call, data);
          await new Promise((shown) => this.setState({ data, shown: call, parameters: { id, call } }, shown));
          if (!data.change) this.stale = true; // it came from a snapshot: the same again, compared with the call before
        });
        if (!done) break;
        await new Promise(requestAnimationFrame);
        this.scrollToChange();
      }
    } finally {
      this.fetching = false;
    }
  }

  // The window of a call: the answer that is on its way already, if there is one.
  window(id, call) {
    const { ahead } = this;
    this.ahead = null;
    return ahead && ahead.id === id && ahead.call === call ? ahead.answer : get("window", { id, call });
  }

  keep(call, data) {
    this.kept.delete(call);
    this.kept.set(call, data);
    if (this.kept.size > KEPT) this.kept.delete(this.kept.keys().next().value);
  }

  scrollToChange() {
    const rows = document.querySelector(".rows");
    const row = rows && rows.querySelector(".row.is-new, .row.is-changed");
    if (rows) rows.scrollTop = row ? row.offsetTop - 12 : 0;
  }

  // Shows other rows of the window: up to row `upto` of those that are shown, or with null only the new ones.
  rows = (from, upto) => this.attempt(async () => {
    const { data, parameters, tried } = this.state;
    const more = upto == null ? PAGE : upto - from;
    const page = await get("window", { ...parameters, try: tried ? tried.number : null, from, count: more });
    const rows = upto == null ? page.rows : from < data.first_row ? [...page.rows, ...data.rows] : [...data.rows, ...page.rows];
    this.setState({ data: { ...data, rows, first_row: upto == null ? page.first_row : Math.min(from, data.first_row) } });
  });

  // Looks for what others have appended. The list and the conversation are read again only if something changed.
  look = async () => {
    if (!document.hidden) {
      await this.attempt(async () => {
        const { id, call, tried, calls } = this.state;
        const mark = await get("mark", { id });
        if (mark.conversations !== this.mark.conversations && this.mark.conversations >= 0) await this.loadList(0);
        this.mark.conversations = mark.conversations;
        if (id && id === this.state.id && mark.entries !== this.mark.entries) {
          this.mark.entries = mark.entries;
          const from = Math.max(0, calls.tokens.length - 1);
          const news = await get("calls", { id, from });
          if (id !== this.state.id) return;
          const items = this.state.list.items.map((one) => (one.id === id ? { ...one, entries: mark.entries, last: Date.now() / 1000 } : one));
          this.setState({ calls: joined(this.state.calls, news), list: { ...this.state.list, items } });
          if (from) this.kept.delete(from);
          if (call == null && !tried) this.go(null, { again: true });
        }
      }, "look");
    }
    this.timer = setTimeout(this.look, LOOK);
  };

  // ---- dry runs

  try = async (action) => {
    if (this.state.trying || this.state.writing) return;
    this.setState({ trying: true });
    await this.tryNow(action);
    this.setState({ trying: false });
  };

  tryNow = (action) => this.attempt(async () => {
    const { id } = this.state;
    const tried = await post("try", { id, ...action });
    if (id !== this.state.id) return;
    this.setState({ tried: { ...tried, action }, data: tried.window, shown: undefined, call: null,
      parameters: { id, call: null }, said: `Dry run: ${number(tried.tokens[0])} to ${number(tried.tokens[1])} tokens` });
    requestAnimationFrame(() => this.scrollToChange());
  });

  do = async () => {
    const { id, tried, writing } = this.state;
    if (writing) return;
    this.setState({ writing: true });
    await this.attempt(async () => {
      const done = await post("do", { id, expect: tried.entries, ...tried.action });
      this.setState({ said: `Written: ${counted(done.entries.length, "entry", "entries")}, from entry ${number(done.entries[0])} on` });
      this.go(null, { again: true });
    });
    this.setState({ writing: false });
  };

  showEntry = (entry) => this.setState({ dialog: { entry } });

  leave = () => this.go(null, { again: true });

  // ---- the address: what is shown can be linked to

  fromAddress = async () => {
    const given = new URLSearchParams(location.hash.slice(1));
    const id = given.get("id");
    const call = Number(given.get("call")) || null;
    if (id == null) return;
    if (id !== this.state.id) await this.open(id, call);
    else if (call !== this.state.call) this.go(call);
  };

  toAddress() {
    const shown = new URLSearchParams({ id: this.state.id });
    if (this.state.call != null) shown.set("call", this.state.call);
    history.replaceState(null, "", "#" + shown);
  }

  // ---- keys

  key = (event) => {
    if (event.key === "Escape") {
      if (this.state.dialog) this.setState({ dialog: null });
      else if (this.state.tried) this.leave();
      else if (event.target.id === "search") event.target.blur();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || this.state.dialog) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    const step = this.step(event);
    if (step === undefined) return;
    event.preventDefault();
    step();
  };

  step({ key, shiftKey }) {
    const { call, calls } = this.state;
    const last = calls.tokens.length;
    const here = call ?? last + 1;
    const by = shiftKey ? 10 : 1;
    const find = (column, way) => {
      for (let at = here + way; at >= 1 && at <= last; at += way) if (column[at - 1]) return () => this.go(at);
      return () => this.setState({ said: "There is no other one that way" });
    };
    switch (key) {
      case "ArrowLeft": return () => this.go(Math.max(1, here - by));
      case "ArrowRight": return () => this.go(here + by);
      case "Home": return () => this.go(1);
      case "End": return () => this.go(null);
      case "[": return find(calls.folds, -1);
      case "]": return find(calls.folds, 1);
      case "{": return find(calls.failure, -1);
      case "}": return find(calls.failure, 1);
      case "/": return () => this.setState({ listOpen: true }, () => document.getElementById("search").focus());
      case "?": return () => this.setState({ dialog: { keys: true } });
      case "t": return this.changeTheme;
      default: return undefined;
    }
  }

  changeTheme = () => {
    const theme = this.state.theme === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem("theme", theme);
    } catch {
      // private windows may refuse: then it holds until the page is closed
    }
    this.setState({ theme });
  };

  // ---- what is seen

  spoken() {
    const { call, calls } = this.state;
    if (call == null) return "The window as it is now";
    const at = call - 1;
    const folds = calls.folds[at] ? ", compacted" : "";
    const failed = calls.failure[at] ? `, failed: ${oneLine(calls.failure[at])}` : "";
    return `Call ${number(call)} of ${number(calls.tokens.length)}: ${number(calls.tokens[at])} tokens${folds}${failed}`;
  }

  render(_, state) {
    const { start, list, id, calls, call, data, tried, problem, said, dialog, hover, theme, parameters } = state;
    const last = calls.tokens.length;
    const busy = waitsFor(state);
    const read = tried ? "The window that it would make" : windowTitle(state.shown);
    return html`
      <a class="skip" href="#window">To the window</a>
      <header class="top">
        <button type="button" class="menu plain" aria-expanded=${state.listOpen ? "true" : "false"} aria-controls="list"
          onClick=${() => this.setState({ listOpen: !state.listOpen })}>Conversations</button>
        <h1>Transom <span class="quiet">inspector</span></h1>
        <p class="store quiet"><bdi>${oneLine(start.store)}</bdi></p>
        <button type="button" class="plain" onClick=${this.changeTheme} aria-keyshortcuts="t">${theme === "dark" ? "Light" : "Dark"}</button>
        <button type="button" class="plain" onClick=${() => this.setState({ dialog: { keys: true } })} aria-keyshortcuts="?">Keys</button>
      </header>
      ${problem && html`<p class="problem banner" role="alert">${problem}</p>`}
      <p class="hidden" role="status">${said || this.spoken()}</p>
      <div class=${`panes ${state.listOpen ? "list-open" : ""}`}>
        <div id="list" class="list-pane">
          <${Conversations} list=${list} id=${id} store=${start.store} onQuery=${this.search} onOpen=${(name) => this.open(name)}
            onMore=${() => this.loadList(list.items.length)} />
        </div>
        <main class="calls-pane">
          ${id == null
            ? html`<p class="empty quiet">${list.loaded ? "Choose a conversation." : "Reading the store…"}</p>`
            : html`
              <div class="title">
                <h2><bdi>${oneLine(id)}</bdi></h2>
                <p class="quiet">${totals(calls)}</p>
              </div>
              <div class="travel">
                <button type="button" onClick=${() => this.go(Math.max(1, (call ?? last + 1) - 1))} disabled=${!last || call === 1} aria-label="Call before">←</button>
                <p class="where"><strong>${call == null ? "Now" : `Call ${number(call)}`}</strong><span class="quiet"> of ${counted(last, "call")}</span>
                  ${hover && hover !== call ? html`<span class="quiet hover">${hovered(calls, hover)}</span>` : ""}</p>
                <button type="button" onClick=${() => this.go((call ?? last) + 1)} disabled=${call == null} aria-label="Next call">→</button>
                <button type="button" class="plain" onClick=${() => this.go(null)} disabled=${call == null}>Now</button>
              </div>
              ${last > 0 && html`<${Timeline} calls=${calls} call=${call} theme=${theme} spoken=${this.spoken()} onCall=${this.go}
                onHover=${(at) => at !== this.state.hover && this.setState({ hover: at })} />`}
              <${Story} calls=${calls} call=${tried ? null : call} data=${tried ? null : data} limit=${data ? data.limit : 0} readOnly=${start.read_only} policies=${start.policies} figures=${start.figures} theme=${theme} busy=${state.trying} onTry=${this.try} />`}
        </main>
        <section class="window-pane" id="window" aria-label="Window">
          ${busy && html`<p class="busy" role="status">${busy}</p>`}
          ${tried && html`<${DryRun} tried=${tried} readOnly=${start.read_only} busy=${state.writing} onDo=${this.do} onLeave=${this.leave} />`}
          <div class="title"><h2>${read}</h2></div>
          ${data
            ? html`<${Window} data=${data} parameters=${parameters} title=${read} busy=${busy !== ""} canChange=${!tried} onRows=${this.rows}
                onEntry=${this.showEntry} onTry=${this.try} onDropped=${() => this.setState({ dialog: { dropped: true } })} />`
            : id != null && html`<p class="empty quiet">Reading the log…</p>`}
        </section>
      </div>
      ${dialog && html`<${Dialog} title=${dialogTitle(dialog)} onClose=${() => this.setState({ dialog: null })}>
        ${dialog.keys
          ? html`<dl class="keys">${KEYS.map(([keys, about]) => html`<div><dt><kbd>${keys}</kbd></dt><dd>${about}</dd></div>`)}</dl>`
          : dialog.dropped ? html`<${Dropped} parameters=${parameters} onEntry=${this.showEntry} />`
          : html`<${EntryText} key=${dialog.entry} id=${id} entry=${dialog.entry} />`}
      <//>`}`;
  }
}

class Dialog extends Component {
  opened = (element) => {
    if (element && !element.open) element.showModal();
  };

  render({ title, children, onClose }) {
    return html`
      <dialog ref=${this.opened} onClose=${onClose} aria-labelledby="dialog-title" onClick=${(event) => event.target.tagName === "DIALOG" && onClose()}>
        <div class="inner">
          <header><h2 id="dialog-title">${title}</h2><button type="button" class="plain" onClick=${onClose}>Close</button></header>
          ${children}
        </div>
      </dialog>`;
  }
}

const dialogTitle = ({ keys, dropped, entry }) => (keys ? "Keys" : dropped ? "Entries that are in no window" : `Entry ${number(entry)}`);

const windowTitle = (call) => (call == null ? "What the model reads next" : `What the model read at call ${number(call)}`);

function totals(calls) {
  const { total } = calls;
  if (!total) return "Reading…";
  const tokens = ["tokens", "failed", "summaries", "agents"].map((kind) => total[kind] || {});
  const sum = (field) => tokens.reduce((all, each) => all + (each[field] || 0), 0);
  const prompt = sum("prompt");
  const parts = [counted(calls.tokens.length, "call")];
  if (total.failures) parts.push(counted(total.failures, "failure"));
  if (prompt) parts.push(`${short(prompt)} tokens read, ${percent(sum("cached") / prompt)} from cache`, `${short(sum("output"))} written`);
  if (total.dollars || (prompt && !total.unpriced)) parts.push(money(total.dollars || 0) + (total.unpriced ? " and more" : ""));
  return parts.join(" · ");
}

// The call, if the log has it; null: the window as it is now.
const within = (call, calls) => (call == null || call > calls.tokens.length ? null : Math.max(1, call));

// What the page waits for; empty if it waits for nothing.
function waitsFor({ trying, writing, tried, call, shown, data }) {
  if (writing) return "Writing it to the log…";
  if (trying) return "Trying it out: nothing is written…";
  if (data && !tried && shown !== undefined && shown !== call) return call == null ? "Reading the window as it is now…" : `Reading call ${number(call)}…`;
  return "";
}

function hovered(calls, call) {
  const at = call - 1;
  return ` · call ${number(call)}: ${number(calls.tokens[at])} tokens${calls.dollars[at] != null ? ", " + money(calls.dollars[at]) : ""}`;
}

// The figures of calls that are known, with those from call `news.first` on in place of what was there.
function joined(calls, news) {
  const all = { ...calls, entries: news.entries, total: news.total };
  for (const [name, values] of Object.entries(news)) {
    if (!Array.isArray(values)) continue;
    all[name] = name === "model"
      ? [...calls.model.filter(([at]) => at < news.first), ...values.map(([at, model]) => [at + news.first, model])]
      : [...calls[name].slice(0, news.first), ...values];
  }
  return all;
}

function storedTheme() {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null;
  }
}

// What was chosen here; without a choice, what the system says, which may change while the page is open.
function shownTheme() {
  return document.documentElement.dataset.theme || (system.matches ? "dark" : "light");
}

const chosen = storedTheme();
if (chosen) document.documentElement.dataset.theme = chosen;
render(html`<${App} />`, document.getElementById("app"));
