"""Turns that are to be summarised, as flat text: pieces between boundary lines.

    === 3f9a1c20be turn 12, user ===
    the tests fail, see below
    === 3f9a1c20be turn 13, assistant ===
    …

The boundary is derived from all of the data and occurs in none of it. So no text can close the data, or begin another
turn, whatever it imitates; and the same data always makes the same request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import NamedTuple

from transom import quoting, texts
from transom.core.message import Assistant, Call, Fact, Media, Other, Recalled, Text, ToolResult, own_text, role_of
from transom.core.pairing import is_answered
from transom.core.summary import SourceTurn
from transom.core.tokens import TokenCounter, replace_surrogates
from transom.strategies.actions.action import action_of
from transom.strategies.actions.outcome import outcome_of, outcome_text

ARGUMENT_CHARACTERS = 2_000
"""The most characters of a call's arguments."""

LONG_RESULT = 400
"""A result with fewer characters is sent itself; in the place of a longer one, one line may be sent."""

LINE_TOKENS = 24
"""What the boundary line of a piece costs, at most."""


class Piece(NamedTuple):
    """A part of a turn. `key`: of the turn. `role`: who wrote it, as its boundary line says it ("user", "result of
    read"). `tokens`: of the text with that line. `ends`: it is the last part of its turn."""

    key: int
    role: str
    text: str
    tokens: int
    ends: bool


def pieces_of(turns: Sequence[SourceTurn], counter: TokenCounter, *, result_tokens: int, most: int) -> list[Piece]:
    """Cut turns into pieces of at most `most` tokens each, boundary lines included, in order. The texts are those of
    `written_of`, which cuts tool results to `result_tokens`. A turn without any text is one piece with an empty text,
    so that it counts as covered."""
    out: list[Piece] = []
    for turn in turns:
        written = list(written_of(turn, counter, result_tokens)) or [("note", "")]
        split = [(role, part) for role, text in written for part in _split(text, counter, most - LINE_TOKENS)]
        for at, (role, text) in enumerate(split):
            tokens = counter.count(text) + LINE_TOKENS
            out.append(Piece(turn.key, role, text, tokens, ends=at == len(split) - 1))
    return out


def boundary_of(data: Iterable[str]) -> str:
    """A word of ten hexadecimal digits that is derived from these texts and occurs in none of them. The same texts
    always give the same word."""
    texts_of = list(data)
    digest = sha256("\0".join(texts_of).encode("utf-8", "replace"))
    while any((word := digest.hexdigest()[:10]) in text for text in texts_of):
        digest.update(b"again")
    return word


def boundary_named(boundary: str) -> str:
    """The sentence that tells the model the boundary. It stands before all data."""
    return f"The boundary is {boundary}."


def boundary_line(boundary: str, label: str) -> str:
    """A line that separates data. A line is a boundary only if it has the boundary word in it. `label`: what begins
    here, in one line; that is not checked."""
    return f"=== {boundary} {label} ==="


def summary_lines(boundary: str, summary: str) -> list[str]:
    """The earlier summary between its boundary lines; no lines if there is no earlier summary (an empty text)."""
    if not summary:
        return []
    begins, ends = (boundary_line(boundary, f"earlier summary {edge}") for edge in ("begins", "ends"))
    return [begins, summary, ends]


def data_text(boundary: str, summary: str, pieces: Sequence[Piece]) -> str:
    """The earlier summary, if any, and the turns, between boundary lines."""
    lines = [boundary_named(boundary), *summary_lines(boundary, summary), boundary_line(boundary, "turns begin")]
    for piece in pieces:
        lines += [boundary_line(boundary, f"turn {piece.key}, {piece.role}"), piece.text]
    return "\n".join([*lines, boundary_line(boundary, "turns end")])


def text_of(fact: Fact) -> str:
    """The words of a fact, without its calls. Images and files are named, not shown; reasoning is left out. Empty for
    recalled text."""
    if isinstance(fact, Recalled):
        return ""  # its text is in the turn that it came from
    shown: list[str] = []
    for part in fact.parts:
        if isinstance(part, Text):
            shown.append(part.text)
        else:
            shown.append(texts.left_out_marker(part.media if isinstance(part, Media) else _kind(part)))
    return replace_surrogates("\n".join(filter(None, [*shown, own_text(fact)])))


def results_of(turn: SourceTurn) -> Iterator[tuple[Call, ToolResult | None]]:
    """Yield the calls of a turn, in order, each with its result; None in place of a result that the turn does not have.
    Yields nothing if the message is not the model's."""
    head, *rest = turn.facts
    open_results = [fact for fact in rest if isinstance(fact, ToolResult)]
    for index, call in enumerate(head.calls if isinstance(head, Assistant) else ()):
        found = next((result for result in open_results if _answers(result, call, index)), None)
        if found is not None:
            open_results.remove(found)
        yield call, found


def _answers(result: ToolResult, call: Call, index: int) -> bool:
    if result.place is not None:
        return result.place[1] == index
    return is_answered(call, by=result.call, name=result.extra.get("name") if result.extra else None)


def _kind(part: Other) -> str:
    kind = part.raw.get("type")
    return kind if isinstance(kind, str) and kind.isidentifier() and len(kind) <= 40 else "part"


def written_of(turn: SourceTurn, counter: TokenCounter, result_tokens: int) -> Iterator[tuple[str, str]]:
    """The texts of a turn as a summarizer's model reads them, each after a label that says whose it is: "user",
    "assistant", "call of …", "result of …". Of arguments of more than 2,000 characters the beginning is left. A result
    of 400 characters or more (`LONG_RESULT`) has one line in its place if its call succeeded and only showed files,
    searched or changed something, and it is no JSON. Any other result of more than `result_tokens` tokens loses its
    middle."""
    calls = {id(result): call for call, result in results_of(turn)}
    for fact in turn.facts:
        text = text_of(fact)
        if isinstance(fact, ToolResult):
            call = calls.get(id(fact))
            name = quoting.plain_name(call.name) if call is not None else ""
            line = _line_in_place(call, fact, text) if call is not None else ""
            if not line and (tokens := counter.count(text)) > result_tokens:
                keep = max(1, len(text) * result_tokens // (2 * tokens))
                text = f"{text[:keep]}\n[… {len(text) - 2 * keep:,} characters left out …]\n{text[-keep:]}"
            shown = line or text
            yield f"result of {name}" if name else "result", texts.tool_failed(shown) if fact.failed else shown
            continue
        if text:
            yield role_of(fact), text
        for call in fact.calls if isinstance(fact, Assistant) else ():
            given = call.args if len(call.args) <= ARGUMENT_CHARACTERS else f"{call.args[:ARGUMENT_CHARACTERS]} …"
            yield f"call of {quoting.plain_name(call.name)}", replace_surrogates(given)


def _line_in_place(call: Call, result: ToolResult, text: str) -> str:
    """A line in place of a long result; empty if the result must be read.

    A line is enough if the call succeeded and only showed files, searched or changed something: what the model made of
    it stands in its next messages. Data of a service (JSON) must be read.
    """
    if len(text) < LONG_RESULT or text.lstrip()[:1] in {"{", "["}:
        return ""
    action = action_of(call)
    outcome = outcome_of(result, action)
    only_shows = action.is_edit or action.is_view or action.kind in {"read", "fetch", "search"}
    if not only_shows or outcome.failed:
        return ""
    return f"[{len(text):,} characters, not shown] {outcome_text(action, outcome)}".rstrip()


def _split(text: str, counter: TokenCounter, most: int) -> Iterator[str]:
    """A text in parts of at most `most` tokens, at ends of lines where there are any near."""
    stack = [text]
    while stack:
        part = stack.pop()
        if len(part) < 2 or counter.count(part) <= most:
            yield part
            continue
        half = len(part) // 2
        at = part.rfind("\n", half // 2, half) + 1 or half
        stack += [part[at:], part[:at]]
