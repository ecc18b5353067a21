"""Measures grounding: does a window still contain what the next step needs?

The identifiers that the next real message of the model uses, and that occur somewhere before it, are looked for in the
window, together with the text around them: a name without that says nothing. A window is judged by the texts of its
request, whatever built it.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from math import inf
from typing import Any, cast

from transom.core.message import Raw
from transom.evaluation.sums import Sums, share

NEAR = 40
"""Characters on either side of an identifier that must be as in the original text (fewer at the beginning or end of
that text).
"""

WIDE = 240
"""Characters of original text around an identifier, in one piece with it, that are enough to understand it; or the
whole text.
"""

_IDENTIFIERS = re.compile(
    r"""https?://[^\s"'`<>)\]}]+"""  # URLs
    # A long run names nothing, and takes the square of its length if identifiers are looked for at each place in it.
    r"""|(?<![\w.@~/-])(?P<long>[\w.@~/-]{201,})"""
    r"""|(?:[~.]{0,2}/)?[\w.@-]+(?:/[\w.@-]+)+"""  # paths
    r"""|[A-Za-z_]\w*(?:\.\w+)+"""  # dotted names, files
    r"""|[A-Za-z0-9]*_\w+"""  # snake_case
    r"""|[A-Za-z]*[a-z0-9][A-Z]\w*"""  # CamelCase
    r"""|\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[A-Za-z0-9][\w-]{4,}"""  # ids: letters and digits
    r"""|\d{4,}"""
)
_QUOTED = re.compile(r"""(?<!\w)(["'`])([^"'`\n]{4,80})\1(?!\w)""")


class Grounding(Sums, frozen=True, kw_only=True):
    """Counts of identifiers that the next steps use.

    `needed`: those that occurred before. `present`: how many of these the windows contain with 40 characters of their
    original text on either side (NEAR); `wide`: how many with 240 characters of it around them (WIDE). `far_needed`,
    `far_present`, `far_wide`: the same three for identifiers whose last mention is further back than the budget has
    tokens, and that are not in the head.
    """

    needed: int = 0
    present: int = 0
    wide: int = 0
    far_needed: int = 0
    far_present: int = 0
    far_wide: int = 0

    @property
    def shares(self) -> tuple[float | None, float | None, float | None]:
        """Three shares: `present` of `needed`, `far_present` of `far_needed`, `far_wide` of `far_needed`.

        None where nothing was needed.
        """
        return (
            share(self.present, self.needed),
            share(self.far_present, self.far_needed),
            share(self.far_wide, self.far_needed),
        )


def texts_of(message: Raw) -> Iterator[str]:
    """Yield the texts of an OpenAI Chat message: those of its content, and the strings and numbers in the arguments of
    its calls."""
    content: object = message.get("content")
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        parts = [cast("Raw", part) for part in cast("list[object]", content) if isinstance(part, dict)]
        yield from (part["text"] for part in parts if isinstance(part.get("text"), str))
    calls = [call["function"] for call in message.get("tool_calls") or () if isinstance(call.get("function"), dict)]
    for call in [*calls, *([message["function_call"]] if message.get("function_call") else [])]:
        yield from values_of(call.get("arguments") or "")


def values_of(arguments: object) -> Iterator[str]:
    """Yield the strings and numbers in a call's arguments, at any depth, in order; a number as its JSON text. Keys,
    booleans and nulls are left out. `arguments`: a JSON text or its value. A text that is not JSON is yielded as it
    is."""
    try:
        stack = [json.loads(arguments) if isinstance(arguments, str) else arguments]
    except (ValueError, RecursionError):
        stack = [arguments]
    while stack:
        item = stack.pop()
        if isinstance(item, (dict, list)):
            members = cast("dict[str, Any] | list[Any]", item)
            stack.extend(reversed(list(members.values() if isinstance(members, dict) else members)))
        elif item is not None and not isinstance(item, bool):
            yield item if isinstance(item, str) else json.dumps(item)


def identifiers(texts: Sequence[str]) -> list[str]:
    """Return the identifiers in these texts, each once: paths, URLs, dotted names, ids, numbers, short quoted texts.
    They have at least 4 characters. They are in the order of the texts; of one text the quoted ones come last."""
    found: dict[str, None] = {}
    for text in texts:
        for match in _IDENTIFIERS.finditer(text):
            name = match.group().rstrip(".,:;-")
            if len(name) >= 4 and match.lastgroup != "long":
                found[name] = None
        found.update((match.group(2), None) for match in _QUOTED.finditer(text))
    return list(found)


class History:
    """The texts of a conversation so far, with the positions of identifiers in them.

    The head is the leading run of system and developer messages. It is in every window, so an identifier in it is never
    far.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.known: set[str] = set()
        self._head = True
        self._starts: list[int] = []
        self._at: list[float] = []  # tokens before and with the message of each text
        self._all = ""
        self._found: dict[str, tuple[int, list[int]]] = {}

    def add(self, message: Raw, tokens: int) -> None:
        """Add a message. `tokens`: of the conversation up to and including this message."""
        self._head = self._head and message.get("role") in {"system", "developer"}
        for text in texts_of(message):
            self._starts.append(len(self._all))
            self._at.append(inf if self._head else tokens)
            self._all += text + "\0"
            self.texts.append(text)
            self.known.add(text)

    def places(self, name: str) -> list[tuple[int, int]]:
        """Find a name as a whole word in the texts: return pairs of the text's index in `texts` and the position in
        that text.
        """
        scanned, found = self._found.get(name, (0, []))
        found += occurrences(name, self._all, scanned)
        self._found[name] = (len(self._all), found)
        texts = [bisect_right(self._starts, at) - 1 for at in found]
        return [(text, at - self._starts[text]) for text, at in zip(texts, found, strict=True)]

    def nearest(self, texts: Iterable[int]) -> float:
        """Return the tokens of the conversation up to the latest of these texts; infinite if one of them is in the
        head. `texts`: indexes in `History.texts`, at least one."""
        return max(self._at[text] for text in texts)


def grounding(history: History, window: Sequence[str], reply: Raw, total: int, budget: int) -> Grounding:
    """Count the identifiers that `reply` uses and that occurred before, and for how many of them a window has the name
    with its original surroundings.

    `history`: the conversation before the reply; `total`: its tokens. `window`: the texts of the request. `reply`: an
    OpenAI Chat message. A name whose last mention is more than `budget` tokens before the reply is also counted in the
    `far_…` fields, unless it occurs in the head.
    """
    done = Grounding()
    whole, pieces = {text for text in window if text in history.known}, [t for t in window if t not in history.known]
    for name in identifiers(list(texts_of(reply))):
        places = history.places(name)
        if not places:
            continue
        surroundings = _surroundings(history, name, places, whole, pieces)
        near, wide = int(surroundings > 0), int(surroundings > 1)
        done = done.plus(Grounding(needed=1, present=near, wide=wide))
        if total - history.nearest(text for text, _ in places) > budget:
            done = done.plus(Grounding(far_needed=1, far_present=near, far_wide=wide))
    return done


def _surroundings(
    history: History, name: str, places: list[tuple[int, int]], whole: set[str], pieces: list[str]
) -> int:
    """Return how much of the original text around a name the window shows: 2 if one occurrence has WIDE surroundings,
    or if a whole original text with the name is there; 1 if an occurrence has only NEAR ones; 0 if none has.

    `places`: where the name occurs, as `History.places` returns it. `whole`: the window's texts that are whole texts of
    the conversation. `pieces`: its other texts.
    """
    if any(history.texts[text] in whole for text, _ in places):
        return 2
    best = 0
    for piece in pieces:
        for at in occurrences(name, piece):
            for text, place in places:
                best = max(best, _shown(history.texts[text], place, piece, at, len(name)))
                if best == 2:
                    return 2
    return best


def _shown(original: str, place: int, piece: str, at: int, length: int) -> int:
    """Compare the surroundings of one occurrence of a name in an original text, at position `place`, with those of one
    in a text of the window, at position `at`: 2 if WIDE ones are the same, 1 if only NEAR ones are, else 0. `length`:
    the characters of the name.
    """
    end, stop = place + length, at + length
    before, after = original[max(0, place - WIDE) : place], original[end : end + WIDE]
    if not (piece.endswith(before[-NEAR:], 0, at) and piece.startswith(after[:NEAR], stop)):
        return 0
    left = _same(reversed(before), reversed(piece[max(0, at - WIDE) : at]))
    length_shared = left + length + _same(after, piece[stop : stop + WIDE])
    return 2 if length_shared >= min(WIDE, len(original)) else 1


def _same(one: Iterable[str], other: Iterable[str]) -> int:
    """Count the leading characters that are the same in both."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def occurrences(name: str, text: str, start: int = 0) -> list[int]:
    """Return the positions of a name in a text from `start` on, where it is not part of a longer word."""
    found: list[int] = []
    at = text.find(name, start)
    while at >= 0:
        end = at + len(name)
        if not (at and _joins(text[at - 1], name[0])) and not (end < len(text) and _joins(name[-1], text[end])):
            found.append(at)
        at = text.find(name, end)
    return found


def _joins(one: str, other: str) -> bool:
    """True if two neighbouring characters belong to one word."""
    return (one.isalnum() or one == "_") and (other.isalnum() or other == "_")
