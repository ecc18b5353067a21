"""Writes one window as one HTML file, for people who have no store: `transom explain --html`.

The page has no script at all, and loads nothing: its policy forbids both, so a text of a log can do nothing in it. It
uses the style sheet of the inspector.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path

from transom.evaluation.call_numbers import call_number
from transom.evaluation.call_views import CallViews
from transom.evaluation.explanations import as_provider_counts, two_counts
from transom.inspector.message_pieces import MessagePiece, PieceLimit
from transom.inspector.window_data import Change, Row, WindowData, reader_of_call
from transom.quoting import escaped

STYLE = Path(__file__).parent / "static" / "style.css"
PIECE_LIMIT = PieceLimit(characters=20_000, lines=2_000)
"""How much of each piece of a message is in the page."""
LONGEST_OPEN_PIECE = 1_400
"""The most characters of a piece that is shown at once; a longer one is behind a line that opens it."""
MOST_ROWS = 5_000
"""The most messages in the page."""

POLICY = "default-src 'none'; style-src 'unsafe-inline'"

PAGE_STYLE = """
html, body { height: auto; }
.page { max-width: 900px; margin: 0 auto; padding: 24px 18px 60px; }
.page .bar, .page .states { margin-inline: 0; }
.page .bar .piece { cursor: default; }
.page h1 { font-size: 20px; margin-bottom: 2px; }
.page .facts { margin: 8px 0 14px; }
.page footer.made { margin-top: 28px; }
.page summary { cursor: pointer; color: var(--accent); font-size: 12.5px; }
"""


def window_html(views: CallViews, call: int | None) -> str:
    """Return the window of a call as one HTML page. `call`: from 1, or from the last call (-1) if negative; None: the
    window of the log as it is now. Only the first MOST_ROWS (5,000) messages are in the page; a line at its end
    says how many more there are. Raises InvalidSetting if there is no such call."""
    data = reader_of_call(views, call).data(0, MOST_ROWS, PIECE_LIMIT)
    what = "the window as it is now" if views.calls else "everything in the log, before the first request"
    if call is not None:
        what = f"call {call_number(call, views.calls, data.conversation):,} of {views.calls:,}"
    return "\n".join(_page(data, f"{_line(data.conversation)}: {what}"))


def _page(data: WindowData, title: str) -> Iterator[str]:
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark">'
    yield f"<title>{title}</title>"
    yield f"<style>{STYLE.read_text(encoding='utf-8')}{PAGE_STYLE}</style></head>"
    yield f'<body><main class="page"><h1><bdi>{title}</bdi></h1>'
    limit = f" of {data.limit:,}" if data.limit else ""
    shared = as_provider_counts(data.shared_tokens, data.tokens, data.counted_tokens)
    yield f'<p class="quiet">{data.tokens:,}{limit} tokens, {data.messages:,} messages, '
    yield f"{shared:,} tokens shared with the call before</p>"
    if said := two_counts(data.tokens, data.counted_tokens):
        yield f'<p class="quiet">{said}</p>'
    yield f'<div class="facts">{"".join(_facts(data))}</div>'
    yield from _bar(data)
    for row in data.rows:
        yield from _row(row)
    if len(data.sizes) > len(data.rows):
        yield f'<p class="quiet">… and {len(data.sizes) - len(data.rows):,} messages more</p>'
    yield '<footer class="made quiet">Made with <code>transom explain --html</code></footer></main></body></html>'


def _facts(data: WindowData) -> Iterator[str]:
    """The lines above the messages: what is new, where the cached prefix breaks, what is left out."""
    if data.change is not None:
        yield from (f"<p>{line}</p>" for line in _change_lines(data.change))
    if (at := data.breaks) is not None:
        why = f"because of entry {at.entry:,} ({_line(at.why)})"
        yield f"<p>The cached prefix breaks at slot {at.slot:,}, {why}.</p>"
    if data.left.folded:
        yield f"<p>{data.left.folded:,} turns are left out: {data.left.folded_tokens:,} tokens behind folds.</p>"


def _change_lines(change: Change) -> Iterator[str]:
    yield f"New since the call before: {change.added:,} messages, {change.added_tokens:,} tokens."
    if change.removed:
        yield f"Gone: {change.removed:,} messages, {change.removed_tokens:,} tokens."
    if change.edit_count:
        yield (
            f"Edits: {change.edit_count:,}. They save {change.saved_tokens:,} tokens in every request, and break "
            f"{change.broken_tokens:,} tokens of the cached prefix once."
        )


def _bar(data: WindowData) -> Iterator[str]:
    """The line that says how many messages of each state the window has, and their tokens."""
    counts: dict[str, list[int]] = {}
    for tokens, state, _, _ in data.sizes:
        found = counts.setdefault(state, [0, 0])
        found[0] += 1
        found[1] += tokens
    spans = (
        f'<span class="state {state}">{number:,} {state} <span class="quiet">{tokens:,}</span></span>'
        for state, (number, tokens) in counts.items()
    )
    yield f'<p class="states">{" ".join(spans)}</p>'


def _row(row: Row) -> Iterator[str]:
    is_fold = row.state == "folded"
    name = row.tool if row.role == "tool" and row.tool else row.role
    where = f"entries {row.first:,}–{row.last:,}, {row.turns:,} turns" if is_fold else f"entry {row.entry:,}"
    marks = {"new": row.is_new, "changed": row.is_changed, "pinned": row.is_pinned, "failed": row.is_failed}
    cached = " is-cached" if row.is_cached else ""
    yield f'<article class="row {row.state} {_line(row.role)}{cached}"><header>'
    yield f'<h3><span class="role"><bdi>{_line(name)}</bdi></span><span class="entry">{where}</span></h3>'
    yield f'<span class="state {row.state}">{row.state}</span>'
    yield "".join(f'<span class="mark {mark}">{mark}</span>' for mark, has in marks.items() if has)
    if row.is_cached:
        yield '<span class="mark cached">cached</span>'
    was = f"<s>{row.tokens:,}</s> " if row.tokens != row.shown else ""
    yield f'<span class="tokens">{was}{row.shown:,} <span class="quiet">tokens</span></span></header>'
    if row.why:
        yield f'<p class="why"><bdi>{_line(row.why)}</bdi></p>'
    for piece in row.pieces:
        yield from _piece(piece)
    yield "</article>"


def _piece(piece: MessagePiece) -> Iterator[str]:
    label = {"reasoning": "reasoning", "call": f"→ {_line(piece.name)}", "other": _line(piece.name)}.get(piece.kind, "")
    text = f'<pre dir="auto">{_lines(piece.text)}</pre>'
    yield f'<div class="piece-of {piece.kind}">'
    if label:
        yield f'<span class="kind"><bdi>{label}</bdi></span>'
    if len(piece.text) > LONGEST_OPEN_PIECE:
        yield f"<details><summary>{piece.length:,} characters</summary>{text}</details>"
    else:
        yield text
    if (rest := piece.length - len(piece.text)) > 0:
        yield f'<p class="quiet">… {rest:,} characters more in the log</p>'
    yield "</div>"


def _lines(text: str) -> str:
    """A text from outside as HTML. Characters that are invisible, or that turn the direction around, are escapes."""
    return escape("\n".join("\t".join(map(escaped, line.split("\t"))) for line in text.split("\n")))


def _line(text: str) -> str:
    """A text from outside on one line of HTML, without invisible characters."""
    return escape(escaped(text))
