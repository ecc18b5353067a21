"""What a map is made for: the files, identifiers and words of a task, or of the newest turns of a conversation."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

from transom.core.message import Assistant, Text, ToolResult, User
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.text.terms import stem

MAX_CHARACTERS = 40_000
"""The most characters of a focus that count. Of a longer text its end counts: it is the newest."""

MAX_WORDS = 64
RESULT_CHARACTERS = 2_000
"""Characters of a tool result that count: its beginning names what was looked at."""

_PATH = re.compile(r"[\w.@+-]*(?:[/\\][\w.@+-]+)+|[\w@+-]+\.\w{1,5}(?!\w)")
_IDENTIFIER = re.compile(r"[^\W\d]\w{2,63}")
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")
_COMMON = """
about above add after again all also and any are because been before being but call can change code could did does
doing done each few file find fix for from function get give had has have here how implement into its just let like
look make may more most much must need new not now one only other our out over own please question same see should
show some such than that the their them then there these they this those too under use used very want was way were
what when where which who will with work would write you your
"""
"""Words that say nothing about where to look, separated by blanks."""


class Focus(Struct, frozen=True):
    """What to look for.

    `paths`: with "/" between the names, without dots and slashes at both ends. `identifiers`: as they are written.
    `words`: stems in lower case, without common words, at most 64, the last one in the text first.
    """

    paths: tuple[str, ...] = ()
    identifiers: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()


def focus_of(texts: Iterable[str]) -> Focus:
    """Extract the focus from texts: tasks, questions, paths, names. The newest text comes last: of all texts together
    only the last MAX_CHARACTERS (40,000) characters count. Without texts, the focus is empty."""
    text = "\n".join(texts)[-MAX_CHARACTERS:]
    identifiers = _IDENTIFIER.findall(text)
    words = dict.fromkeys(word for name in reversed(identifiers) for word in words_of_name(name))
    return Focus(
        paths=tuple(dict.fromkeys(path.replace("\\", "/").strip("./") for path in _PATH.findall(text))),
        identifiers=frozenset(identifiers),
        words=tuple(word for word in words if word not in _COMMON_STEMS)[:MAX_WORDS],
    )


def focus_of_view(view: View) -> Focus:
    """Extract the focus from a conversation: from the newest turns of its window, up to MAX_CHARACTERS (40,000), with
    the arguments of calls and the first 2,000 characters of each result. Turns that are folded do not count."""
    texts = list[str]()
    length = 0
    units = [slot for slot in view.slots if isinstance(slot, Unit)]
    for unit in reversed(units):
        for fact in reversed(unit.shown_facts()):
            if isinstance(fact, (User, Assistant, ToolResult)):
                text = "\n".join(part.text for part in fact.parts if isinstance(part, Text))
                calls = "\n".join(call.args for call in fact.calls) if isinstance(fact, Assistant) else ""
                texts.append(text[:RESULT_CHARACTERS] if isinstance(fact, ToolResult) else f"{text}\n{calls}")
                length += len(texts[-1])
        if length > MAX_CHARACTERS:
            break
    return focus_of(reversed(texts))


@lru_cache(maxsize=1 << 16)
def words_of_name(name: str) -> tuple[str, ...]:
    """Return the words of an identifier, as stems: `toolResults` and `tool_results` are `tool` and `result`. Pieces of
    one or two letters, and digits, are left out."""
    return tuple(stem(piece.lower()) for piece in _PIECE.findall(name) if len(piece) > 2)


_COMMON_STEMS = frozenset(stem(word) for word in _COMMON.split())
