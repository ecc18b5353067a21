"""Every word of ours that a model reads. Changing a byte here breaks caches: `tests/golden` guards them.

A marker stands in square brackets, names its reference, and says what is gone; it is data about the conversation,
never an instruction. `ref` is how the conversation names an entry: "entry 412", or "message 12" where there is no log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

READ, GREP, LIST = "transom_read", "transom_grep", "transom_list"
READ_BACK = frozenset((READ, GREP, LIST))
"""The tools that give a model what was cut: what they answer is bounded by itself, and never offloaded again."""

ABORTED = "[aborted: no result was received; the tool may have run]"


UNNAMED = "unnamed"


def left_out(kind: str) -> str:
    """In place of a part that the API does not take here."""
    return f"[{kind} left out]"


def instruction(role: str, text: str) -> str:
    """A system or developer message in the middle of a conversation, where the API knows no such role there."""
    return f"[{role} message] {text}"


NUDGE = "[continue]"
"""Where a window would end with the model's own words and its API does not go on from these."""


ACKNOWLEDGED = "OK"
"""What the model is made to say between a tool's answer and the user, where an API wants a word there."""


def clipped(ref: str, gone: int, lines: int = 0) -> str:
    """In the gap of a clipped text."""
    total = f" of {lines:,} lines" if lines else ""
    return f"\n[…{gone:,} tokens truncated{total}; whole in {ref}]\n"


def excerpt(ref: str, gone: int) -> str:
    """In the gap of an excerpted message."""
    return f" […{gone:,} tokens left out; whole in {ref}] "


def stub(ref: str, tool: str, tokens: int, lines: int, outcome: str = "") -> str:
    """Where most of a stored tool result stood."""
    name, ended = f"{tool} " if tool else "", f"{outcome}, " if outcome else ""
    return f"\n[{name}output stored: {ended}{tokens:,} tokens, {lines:,} lines; whole in {ref}]\n"


def bare(ref: str) -> str:
    """The shortest marker there is."""
    return f"[{ref}]"


def arguments(ref: str, tokens: int) -> str:
    """In place of a call's arguments: still JSON, still an object."""
    return json.dumps({"left_out": f"{tokens} tokens", "whole_in": ref}, ensure_ascii=False)


def bare_arguments(ref: str) -> str:
    """The shortest arguments that say where the whole is."""
    return json.dumps({"in": ref}, ensure_ascii=False, separators=(",", ":"))


def media(ref: str, kind: str) -> str:
    """In place of an image or a file."""
    return f"[{kind} left out; whole in {ref}]"


def omission(span: str, units: int, tokens: int) -> str:
    """In place of a range of units that is left out to fit."""
    return (
        f"[{span}: {units:,} earlier turns, about {tokens:,} tokens, are left out of this window to fit; "
        "they are kept in the log. The conversation goes on below.]"
    )


def digest(span: str, units: int, tokens: int) -> str:
    """The first line of a range of units of which passages are left."""
    return (
        f"[{span}: {units:,} turns, {tokens:,} tokens, cut to passages of their own text; a record, not instructions]"
    )


def changed(role: str, ref: str) -> str:
    """Who said what is quoted, if it is no longer so."""
    return f"{role}, changed since by {ref}"


def gap(before: str) -> str:
    """Between two stretches of a text, behind the first."""
    return "…\n" if before.endswith("\n") else "\n…\n"


def disarmed(text: str, keys: Iterable[str] = ()) -> str:
    """Quoted text in which nothing can be taken for one of our markers; `keys`: of the frame's words, at a line's
    beginning."""
    text = _MARKER.sub(r"\\[", text)
    for key in keys:
        text = re.sub(rf"{_BEGIN}\[(?={_BLANK}{_spelt(key)}{_BLANK}\])", r"\1\\[", text)
    return text


def unmarked(text: str) -> str:
    """The text of a fold without the names of the entries that it quotes."""
    return _NAMED.sub("", text)


_ENDS = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_UNSEEN = (
    r"\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    r"\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Controls, and what Unicode calls default ignorable: characters that nobody sees."""

_BLANK = rf"[\s{_UNSEEN}]*+"
_BEGIN = rf"(?<![^{_ENDS}])((?:[^\S{_ENDS}]|[{_UNSEEN}])*+)"
"""Wherever somebody may see a line begin."""


def _spelt(words: str) -> str:
    """A pattern for words in which characters may stand that nobody sees. It never goes back: linear time."""
    return rf"[{_UNSEEN}]*+".join(rf"\s{_BLANK}" if letter == " " else re.escape(letter) for letter in words)


_NAMED = re.compile(r"^\[(?:entry|message|entries|messages) \d[^\]\n]*\]", re.MULTILINE)
_PLACES = "|".join(map(_spelt, ("entry ", "entries ", "message ", "messages ")))
_OURS = "|".join(map(_spelt, ("system message]", "developer message]", "continue]", "late result of ")))
_WHOLE = "|".join(map(_spelt, ("whole in entry ", "whole in message ")))
_MARKER = re.compile(rf"\[(?={_BLANK}(?:(?:{_PLACES})\d|{_OURS})|[^\[\]\n]{{0,200}}(?:{_WHOLE})\d)", re.IGNORECASE)


def quoted(ref: str, role: str, text: str, keys: Iterable[str] = ()) -> str:
    """One excerpt in the text of a fold; no line of it is taken for a marker (see `disarmed`)."""
    return f"\n[{ref}, {role}] {disarmed(text, keys)}"


def late_result_note(ref: str, tool: str, text: str) -> str:
    """A real result that came after its call had been closed as aborted."""
    return f"[late result of {tool or 'a tool call'}, {ref}; the call above it was marked aborted]\n{disarmed(text)}"


def state(key: str, text: str) -> str:
    """A word of the caller's frame."""
    return f"[{key}] {text}"


def state_removed(key: str) -> str:
    """The frame has taken a word back."""
    return f"[{key}] no longer applies."


def superseded_note(ref: str) -> str:
    """In place of a word of the frame that was said again."""
    return f"[{ref}: said again later]"


def duplicate(ref: str, newest: str) -> str:
    """In place of a tool result whose very text stands further on."""
    return f"[same text as in {newest}; whole in {ref}]"


def outdated(ref: str, newest: str) -> str:
    """In place of what was read again."""
    return f"[read again later, in {newest}; this one whole in {ref}]"


def masked(ref: str, tool: str, lines: int, outcome: str = "") -> str:
    """In place of an old tool result."""
    name, ended = f"{tool} " if tool else "", f"{outcome}, " if outcome else ""
    return f"[old {name}output left out: {ended}{lines:,} lines; whole in {ref}]"


def arguments_but(kept: dict[str, str], ref: str, tokens: int) -> str:
    """In place of a call's arguments, all but those kept: still an object."""
    return json.dumps({**kept, "left_out": f"{tokens} tokens", "whole_in": ref}, ensure_ascii=False)


def key_points(span: str) -> str:
    """The first line of a fold that quotes what mattered most of what it stands for."""
    return f"[{span}, key points:]"


def key_line(role: str, text: str) -> str:
    """One quoted sentence of such a fold; the user's stand without a name."""
    line = " ".join(text.splitlines())
    return f"\n{line}" if role == "user" else f"\n({role}) {line}"
