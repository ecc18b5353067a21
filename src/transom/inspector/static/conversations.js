// The list on the left: the conversations of the store, searchable by name, more of them as one scrolls.
import { html } from "./html.js";
import { counted, minute, number, oneLine } from "./format.js";

export function Conversations({ list, id, store, onQuery, onOpen, onMore }) {
  return html`
    <nav class="list" aria-label="Conversations">
      <div class="search">
        <label class="hidden" for="search">Search conversations by name</label>
        <input id="search" type="search" placeholder="Search conversations" autocomplete="off" spellcheck=${false}
          value=${list.query} onInput=${(event) => onQuery(event.target.value)} aria-keyshortcuts="/" />
        <kbd aria-hidden="true">/</kbd>
      </div>
      <p class="quiet count" title=${store}>${found(list)}</p>
      <ul onKeyDown=${moveFocus}>
        ${list.items.map((one) => html`
          <li key=${one.id}>
            <button type="button" class="conversation" aria-current=${one.id === id ? "true" : null}
              onClick=${() => onOpen(one.id)}>
              <bdi class="name">${oneLine(one.id)}</bdi>
              <span class="quiet">${about(one)}</span>
            </button>
          </li>`)}
      </ul>
      ${list.items.length < list.found &&
        html`<button type="button" class="plain more" onClick=${onMore}>Show more</button>`}
    </nav>`;
}

function found(list) {
  if (!list.loaded) return "Reading the store…";
  if (!list.total) return "No conversations yet";
  return list.query ? `${number(list.found)} of ${counted(list.total, "conversation")}` : counted(list.total, "conversation");
}

function about(one) {
  if (one.damaged) return "damaged";
  return `${counted(one.entries, "entry", "entries")} · ${minute(one.last)}`;
}

function moveFocus(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  const buttons = [...event.currentTarget.querySelectorAll("button")];
  const next = buttons[buttons.indexOf(document.activeElement) + step];
  if (next) next.focus();
  event.preventDefault();
}
