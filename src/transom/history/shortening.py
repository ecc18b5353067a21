"""One message that a manager shortened, as trims: what is gone, a note in its place, and where the whole is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, cast

from transom.core import texts
from transom.core.edit import Trim
from transom.core.entry import Entry
from transom.core.message import (
    Address,
    Addressed,
    Assistant,
    Call,
    Fact,
    Media,
    Raw,
    Reasoning,
    Text,
    addressed,
)
from transom.core.tokens import part_bytes, trimmed
from transom.core.unit import Unit
from transom.core.view import View
from transom.history.matching import is_less, shared
from transom.wire.openai_chat.parse import body_keys

Say = Callable[[str], None]
Ref = Callable[[int], str]


class Shortening:
    """Makes the trims of one entry of a unit, of those that show less than now."""

    def __init__(self, view: View, unit: Unit, seq: int, ref: Ref, say: Say, why: str) -> None:
        self.view, self.say, self.why, self.seq = view, say, why, seq
        self.entry: Entry = view.fetch(seq)
        self.name, self.cuts = ref(seq), unit.winning()
        assert isinstance(self.entry.body, Fact)
        self.fact: Fact = self.entry.body

    def dropped(self) -> Iterator[Trim]:
        """The whole content goes; what must stay of it (a result for its call) names where it is."""
        for address, part in addressed(self.fact):
            if not isinstance(part, (Call, Reasoning)):
                yield from self._put(address, part, (), "")

    def between(self, was: Raw, now: Raw) -> Iterator[Trim]:
        """The trims that lead from the message as it shows to the message as it should."""
        yield from self._content(was.get("content"), now.get("content"))
        if isinstance(self.fact, Assistant):
            yield from self._arguments(self.fact, was, now)
            yield from self._reasoning(self.fact, was, now)
        rest = {
            key for key in {*was, *now} - {"content", "tool_calls", "function_call"} if was.get(key) != now.get(key)
        }
        if rest - self._thoughts():
            self.say(f"{self.name}: a changed {', '.join(sorted(map(str, rest - self._thoughts())))} stays as it was")

    def _thoughts(self) -> set[str]:
        return {thought.field for thought in self.fact.reasoning} if isinstance(self.fact, Assistant) else set()

    # ---- content

    def _content(self, was: object, now: object) -> Iterator[Trim]:
        if was == now:
            return
        before, after = _pieces(was), _pieces(now)
        places = [(address, part) for address, part in addressed(self.fact) if not isinstance(part, (Call, Reasoning))]
        if len(before) != len(places):  # an old function's answer, whose parts are said as one text
            self.say(f"{self.name}: its changed content stays as it was")
            return
        left = _aligned(before, after)
        if left is None:
            self.say(f"{self.name}: content put together anew stays as it was")
            return
        for at, ((address, part), old) in enumerate(zip(places, before, strict=True)):
            if at in left:
                yield from self._piece(address, part, old, left[at])
            else:
                yield from self._put(address, part, (), "")

    def _piece(self, address: Address, part: Addressed, old: object, new: object) -> Iterator[Trim]:
        if old == new:
            return
        text = new if isinstance(new, str) else None
        if text is None:
            self.say(f"{self.name}: {address[0]}[{address[1]}] stays as it was")
        elif isinstance(part, Text):
            start, end = shared(part.text, text)
            size = len(part.text)
            keep = tuple((a, b) for a, b in ((0, start), (size - end, size)) if a < b) if len(text) < size else ()
            yield from self._put(address, part, keep, text[start : len(text) - end] if keep else text)
        else:
            yield from self._put(address, part, (), text)

    def _put(self, address: Address, part: Addressed, keep: tuple[tuple[int, int], ...], note: str) -> Iterator[Trim]:
        """The note always names where the whole is: what is gone from a window can be found from it."""
        mark = texts.media(self.name, part.media) if isinstance(part, Media) else texts.bare(self.name)
        if mark not in note:
            note = f"{note} {mark}" if note.strip() or keep else mark
        yield from self._offer(Trim(entry=self.seq, part=address, keep=keep, note=note, why=self.why), part)

    # ---- what a turn of the model holds beside it

    def _arguments(self, turn: Assistant, was: Raw, now: Raw) -> Iterator[Trim]:
        before, after = _arguments_of(was), _arguments_of(now)
        if before == after:
            return
        if [name for name, _ in before] != [name for name, _ in after] or len(before) != len(turn.calls):
            self.say(f"{self.name}: its calls stay as they were")
            return
        for index, ((_, old), (_, new)) in enumerate(zip(before, after, strict=True)):
            if old != new:
                note = self._as_json(new)
                trim = Trim(entry=self.seq, part=("args", index), note=note, why=self.why)
                yield from self._offer(trim, turn.calls[index])

    def _as_json(self, new: object) -> str:
        """Arguments that say where the whole is; no more than that, if they are no JSON object."""
        try:
            value: Any = json.loads(new) if isinstance(new, str) else None
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            return texts.bare_arguments(self.name)
        return json.dumps({**cast("Raw", value), "whole_in": self.name}, ensure_ascii=False, separators=(",", ":"))

    def _reasoning(self, turn: Assistant, was: Raw, now: Raw) -> Iterator[Trim]:
        for field in sorted(self._thoughts()):
            if was.get(field) == now.get(field):
                continue
            if now.get(field):
                self.say(f"{self.name}: its {field} stays as it was: reasoning is kept whole or dropped")
                continue
            for index, thought in enumerate(turn.reasoning):
                if thought.field == field:
                    yield from self._offer(Trim(entry=self.seq, part=("reasoning", index), why=self.why), thought)

    # ---- what pays

    def _offer(self, trim: Trim, part: Addressed) -> Iterator[Trim]:
        """The trim, if it shows less than what shows now. One that repeats what was cut before says nothing."""
        cut = self.cuts.get((self.seq, trim.part))
        form = trimmed(part, trim)
        size, now = (0 if form is None else part_bytes(form)), (part_bytes(part) if cut is None else cut.bytes)
        if cut is not None and (size >= now or trim.part[0] == "reasoning"):
            return
        refused = self.view.refusal(trim) if size < now else "it would not be shorter"
        if refused is None:
            yield trim
        else:
            self.say(f"{self.name}: {trim.part[0]}[{trim.part[1]}] stays as it was: {refused}")


def _pieces(content: object) -> list[object]:
    """The parts of a content: a text as a string, anything else as its part."""
    if content is None or content == "":
        return []
    if not isinstance(content, list):
        return [content]
    return [_text_or(part) for part in cast("list[object]", content)]


def _aligned(before: list[object], after: list[object]) -> dict[int, object] | None:
    """What is left of each piece, by its position; None if a piece is no part of what was there, in that order."""
    if len(before) == len(after):
        return dict(enumerate(after))
    left: dict[int, object] = {}
    at = 0
    for piece in after:
        while at < len(before) and not _is_part(before[at], piece):
            at += 1
        if at == len(before):
            return None
        left[at] = piece
        at += 1
    return left


def _is_part(whole: object, piece: object) -> bool:
    return whole == piece or (isinstance(whole, str) and isinstance(piece, str) and is_less(whole, piece))


def _text_or(part: object) -> object:
    if isinstance(part, dict) and cast("Raw", part).get("type") == "text":
        return cast("Raw", part).get("text")
    return cast("object", part)


def _arguments_of(message: Raw) -> list[tuple[object, object]]:
    """Name and arguments of each call."""
    found = list[tuple[object, object]]()
    calls: Any = message.get("tool_calls")
    for call in cast("list[object]", calls) if isinstance(calls, list) else []:
        if isinstance(call, dict):
            kind, field = body_keys(cast("Raw", call))
            body: Any = cast("Raw", call).get(kind)
            if isinstance(body, dict):
                found.append((cast("Raw", body).get("name"), cast("Raw", body).get(field)))
    legacy: Any = message.get("function_call")
    if isinstance(legacy, dict):
        found.append((cast("Raw", legacy).get("name"), cast("Raw", legacy).get("arguments")))
    return found
