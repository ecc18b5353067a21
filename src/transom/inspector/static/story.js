// What happened at the call that is shown: its figures, how its window differs from the one before, what can be done.
import { Component, html } from "./html.js";
import { counted, money, number, oneLine, percent, second } from "./format.js";
import { Compare } from "./compare.js";
import { cachedShare } from "./window.js";

export function Story({ calls, call, data, limit, readOnly, policies, figures, theme, busy, onTry }) {
  return html`
    <div class="story">
      <${Figures} calls=${calls} call=${call} data=${data} />
      ${data && data.change && html`<${Change} data=${data} call=${call} first=${call === 1 || !calls.tokens.length} />`}
      <${Try} policies=${policies} readOnly=${readOnly} busy=${busy} limit=${limit} onTry=${onTry} />
      <${Compare} key=${calls.id} calls=${calls} policies=${policies} figures=${figures} theme=${theme} limit=${limit} onTry=${onTry} />
    </div>`;
}

function Figures({ calls, call, data }) {
  const at = call == null ? null : call - 1;
  const figures = [];
  if (data) {
    const counts = data.tokens === data.counted_tokens ? "" : `, as the provider counts; all parts as Transom counts: ${number(data.counted_tokens)} together`;
    figures.push(["Window", number(data.tokens), (data.limit ? `of ${number(data.limit)} tokens, ${percent(data.tokens / data.limit)}` : "tokens") + counts]);
    figures.push(["Messages", number(data.messages), ""]);
    figures.push(["Shared", cachedShare(data), `${number(Math.round((data.shared_tokens * data.tokens) / Math.max(1, data.counted_tokens)))} tokens with the call before`]);
  }
  if (at != null && at < calls.tokens.length) {
    const prompt = calls.prompt[at];
    if (prompt) figures.push(["From cache", percent(calls.cached[at] / prompt), `${number(calls.cached[at])} tokens, as the provider says`]);
    if (calls.output[at] != null) figures.push(["Answer", number(calls.output[at]), "tokens"]);
    if (calls.dollars.some(Boolean)) figures.push(["Cost", money(calls.dollars[at]), calls.dollars[at] == null ? "no price is known" : "with summaries and sub-agents"]);
  }
  const failure = at != null && calls.failure[at];
  return html`
    ${figures.length > 0 && html`<dl class="figures">
      ${figures.map(([name, value, about]) => html`<div key=${name}><dt>${name}</dt><dd>${value}${about && html`<span class="quiet">${about}</span>`}</dd></div>`)}
    </dl>`}
    ${at != null && html`<p class="quiet when">${second(calls.at[at])}${model(calls, at)}${!calls.answered[at] ? " · nothing has answered yet" : ""}</p>`}
    ${failure && html`<p class="problem">The request gave no usable reply: <bdi>${oneLine(failure)}</bdi></p>`}`;
}

function model(calls, at) {
  let found = "";
  for (const [from, name] of calls.model) if (from <= at) found = name;
  return found ? " · " + oneLine(found) : "";
}

function Change({ data, call, first }) {
  const { change, breaks } = data;
  const lines = [];
  if (change.added) lines.push(`${counted(change.added, "message")} came in, ${counted(change.added_tokens, "token")}`);
  if (change.removed) lines.push(`${counted(change.removed, "message")} left, ${counted(change.removed_tokens, "token")}`);
  if (change.changed) lines.push(`${counted(change.changed, "message")} shown in another way`);
  return html`
    <section class="change" aria-label="Difference to the call before">
      <h3>${first ? "The first call" : "Since the call before"}</h3>
      ${lines.length ? html`<ul class="lines">${lines.map((line) => html`<li>${line}</li>`)}</ul>` : html`<p class="quiet">Nothing is different.</p>`}
      ${breaks && html`<p class="break">The cached prefix breaks at slot ${number(breaks.slot)}, because of entry ${number(breaks.entry)}${" "}
        (<bdi>${oneLine(breaks.why)}</bdi>).</p>`}
      ${!first && !breaks && data.shared_tokens > 0 && html`<p class="holds">The window begins with the whole window before: the cache holds.</p>`}
      ${call != null && data.costs && html`<${Costs} costs=${data.costs} />`}
      ${change.edit_count > 0 && html`
        <details open=${change.edit_count <= 6}>
          <summary>${counted(change.edit_count, "edit")}: ${effect(change)}</summary>
          <ul class="edits">
            ${change.edits.map((edit) => html`
              <li key=${edit.entry}><span class=${`state ${kindState(edit.kind)}`}>${edit.kind}</span> ${edit.about}
                ${edit.why && html` · <bdi>${oneLine(edit.why)}</bdi>`}
                <span class="quiet"> ${saved(edit.saved_tokens || 0)}${edit.plan == null ? " · no plan" : ""}</span></li>`)}
            ${change.edit_count > change.edits.length && html`<li class="quiet">and ${number(change.edit_count - change.edits.length)} more</li>`}
          </ul>
        </details>`}
    </section>`;
}

// With prices: why the window was compacted, and what each way to do it would have cost.
function Costs({ costs }) {
  const why = {
    full: "Compacted because the window was full",
    price: "Compacted before the window was full, because that is cheaper",
    soon: "The next compaction is prepared",
  }[costs.why];
  return html`
    <p>${why}: ${counted(costs.tokens, "token")}, growing by ${number(Math.round(costs.growth))} a call.</p>
    ${(costs.choices || []).length > 0 && html`
      <table class="costs">
        <caption class="hidden">What each way would have cost, in the price of fresh input tokens</caption>
        <thead><tr><th scope="col">way</th><th scope="col">a call</th><th scope="col">once</th><th scope="col">tokens</th></tr></thead>
        <tbody>${costs.choices.map((one) => html`
          <tr class=${one.name === costs.taken ? "taken" : ""}><th scope="row"><bdi>${oneLine(one.name)}</bdi>${one.name === costs.taken ? ", taken" : ""}</th>
            <td>${number(Math.round(one.per_call))}</td><td>${number(Math.round(one.once))}</td><td>${number(one.tokens)}</td></tr>`)}</tbody>
      </table>`}`;
}

const kindState = (kind) => ({ fold: "folded", trim: "shortened", pin: "recalled", undo: "kept" })[kind] || "kept";
const saved = (tokens) => (tokens >= 0 ? `saves ${number(tokens)}` : `adds ${number(-tokens)}`);

export function effect(change) {
  const breaks = change.broken_tokens ? `breaks ${counted(change.broken_tokens, "cached token")} once` : "breaks no cache";
  return `${saved(change.saved_tokens)} tokens in every request, ${breaks}`;
}

class Try extends Component {
  state = { policy: "", tokens: "" };

  action = (what) => {
    const { policy, tokens } = this.state;
    const action = { do: what };
    if (policy) action.policy = policy;
    if (tokens) action.tokens = Number(tokens);
    this.props.onTry(action);
  };

  render({ policies, readOnly, limit, busy }, { policy, tokens }) {
    return html`
      <section class="try" aria-label="Try a change">
        <h3>Try it on the conversation as it is now</h3>
        <p class="quiet">You see the effect first. ${readOnly ? "Nothing can be written: started with --read-only." : "Nothing is written before you say so."}</p>
        <div class="fields">
          <label>Policy
            <select value=${policy} onChange=${(event) => this.setState({ policy: event.target.value })}>
              <option value="">default</option>
              ${policies.filter((name) => name !== "default").map((name) => html`<option value=${name}>${name}</option>`)}
            </select></label>
          <label>Context window
            <input type="number" inputmode="numeric" min="1" placeholder=${limit ? number(limit) : "tokens"} value=${tokens}
              onInput=${(event) => this.setState({ tokens: event.target.value })} /></label>
        </div>
        <div class="buttons">
          <button type="button" disabled=${busy} onClick=${() => this.action("request")}>Next request</button>
          <button type="button" disabled=${busy} onClick=${() => this.action("compact")}>Compact</button>
          <button type="button" disabled=${busy} onClick=${() => this.props.onTry({ do: "undo" })}>Undo the last compaction</button>
        </div>
      </section>`;
  }
}

// Above the window of a dry run: what it would do, and the buttons that end it.
export function DryRun({ tried, readOnly, busy, onDo, onLeave }) {
  const [before, after] = tried.tokens;
  const kinds = Object.entries(tried.edits).map(([kind, count]) => counted(count, kind));
  const action = tried.action;
  const names = { compact: "Compact", undo: "Undo", pin: "Pin", request: "The next request" };
  return html`
    <section class="dry" aria-label="Dry run">
      <p><strong>${names[action.do]}${action.policy ? html` with the policy <bdi>${action.policy}</bdi>` : ""}${action.tokens ? ` in ${number(action.tokens)} tokens` : ""}: a dry run.</strong>${" "}
        Nothing is written. ${kinds.length ? kinds.join(", ") : "No edit"}:
        ${" "}<b>${number(before)} → ${number(after)}</b> tokens, ${number(tried.messages[0])} → ${number(tried.messages[1])} messages.
        ${kinds.length > 0 && html`<span> It ${effect(tried)}.</span>`}
        ${tried.limit > 0 && after > tried.limit && html`<span> That is over ${number(tried.limit)} tokens: the next call compacts.</span>`}</p>
      <div class="buttons">
        ${action.do !== "request" && !readOnly && kinds.length > 0 && html`<button type="button" class="primary" disabled=${busy} onClick=${onDo}>Write it to the log</button>`}
        <button type="button" onClick=${onLeave}>Leave the dry run</button>
      </div>
    </section>`;
}
