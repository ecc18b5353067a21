"""What the message formats of agent frameworks have in common, for example of LangChain and pydantic-ai.

A framework has messages of its own, and a provider never sees them. So a format is no dialect: it reads the messages as
facts of one dialect, remembers the object that each fact came from, and writes a window as messages again. What the
window shows unchanged is the original object, so that its id and its metadata survive; what it shows changed is a copy
with another content.

The types of a framework are imported only in the functions that need them: whoever has such messages has the framework.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from transom.core.message import Assistant, Fact, Raw, ToolResult
from transom.core.unit import Unit
from transom.core.view import View
from transom.wire.dialect import Dialect
from transom.wire.dialects import dialect_named
from transom.wire.fields import as_dict, text
from transom.wire.openai import OpenAIChatDialect
from transom.wire.same_message import Key, is_said, key_of

CHAT = OpenAIChatDialect(media_in_results=True)
"""The dialect in which most frameworks are read and counted. The framework, not the window, decides where the images of
tool results are sent."""


class Piece(Struct, frozen=True, gc=False, eq=False, kw_only=True):
    """A fact of a list of a framework's messages, with the object that it was read from.

    - `at`: the index of the message in the list. `message`: the message. `of`: how many facts the message has.
    - `source`: the message, or the part of it that is this fact. None for instructions that stand beside the parts of a
      message: the framework sends them by itself.
    - `clipped`: the framework has a result as we have shortened it, and the log has the whole.
    """

    at: int
    fact: Fact
    source: Any
    message: Any
    of: int = 1
    clipped: bool = False


class Shown(Struct, frozen=True, gc=False, eq=False):
    """A chat message of a window, with the piece that it shows.

    `piece`: None for a text of ours, and for a result that we made. `changed`: the window shows the piece differently
    from the original.
    """

    chat: Raw
    piece: Piece | None = None
    changed: bool = True

    @property
    def message(self) -> Any:
        """The framework's message that the piece is from; None without a piece."""
        return None if self.piece is None else self.piece.message


Sources = Mapping[int, Piece]
"""The pieces by the seq of their entry; those of the instructions of the head under -1, -2, …"""


class FrameworkFormat:
    """How one framework writes messages. A subclass reads its objects as facts, and writes a view as such objects. It
    keeps nothing between calls."""

    name = ""
    """The name by which `transom.render` knows the format."""
    api = ""
    """The name of the dialect of the facts, if it is another one than `CHAT`."""

    @property
    def dialect(self) -> Dialect:
        """The dialect of the facts."""
        return dialect_named(self.api) if self.api else CHAT

    classes: tuple[str, str] | None = None
    """How the module names of the framework's messages and replies begin, and a pattern for the names of their classes.
    None where such values are dicts or the objects of a provider's SDK: a dialect reads them too."""

    def owns(self, value: object) -> bool:
        """Whether the class of a value, or one of its base classes, is among the `classes`."""
        if self.classes is None:
            return False
        module, names = self.classes
        kinds = type(value).__mro__
        return any(kind.__module__.startswith(module) and re.fullmatch(names, kind.__name__) for kind in kinds)

    def read(self, messages: Sequence[Any], where: str = "") -> list[Piece]:
        """Read messages as facts, in order. Each piece has the index of its message: a message may give several pieces,
        or none. `where`: what an error says in front of "message 3". Raises InvalidMessage for a message that is not in
        this format."""
        placed = self.dialect.parse(messages, where)
        return [Piece(at=at, fact=fact, source=messages[at], message=messages[at]) for at, fact in placed]

    def read_reply(self, reply: Any) -> Assistant:
        """Read a reply of the model, with its usage if it reports any. Raises InvalidMessage if the value is no reply
        of this framework."""
        raise NotImplementedError

    def write(self, view: View, sources: Sources) -> list[Any]:
        """Write what a view shows as messages of the framework. `sources`: the messages that were read, by entry (see
        `Sources`); empty if there are none. One that the view shows unchanged is written as the same object, where the
        format has objects."""
        raise NotImplementedError


def shown_messages(view: View, sources: Sources) -> Iterator[Shown]:
    """The messages of a view in OpenAI Chat, those of the head first, each with the piece that it shows. An instruction
    of the head that the framework sends by itself (`Piece.source` is None) is left out."""
    if view.head_entry is not None:
        for at, rendered in enumerate(CHAT.render_head(view.head), 1):
            piece = sources.get(-at)
            if piece is None or piece.source is not None:  # else the framework sends it by itself
                yield Shown(rendered.message, piece, piece is None or piece.fact != view.head.messages[at - 1])
    for slot in view.slots:
        if isinstance(slot, Unit):
            yield from _shown_unit(slot, sources)
        elif not slot.sealed:
            yield Shown(CHAT.digest_message(slot).message)
            for unit in slot.pinned_units:
                yield from _shown_unit(unit, sources)


def _shown_unit(unit: Unit, sources: Sources) -> Iterator[Shown]:
    """The messages of a unit, each with its piece, unchanged if the view shows the logged fact under its ids."""
    messages = CHAT.render_slot(unit)
    for rendered, seq, logged, fact in zip(messages, unit.seqs, unit.facts, unit.shown_facts(), strict=False):
        piece, chat = sources.get(seq), rendered.message
        # Where the framework has changed its message since it was logged, that is shown, unless the window shortens it.
        if piece is not None and piece.clipped:
            same = piece.fact.parts == fact.parts
        else:
            same = piece is not None and (logged is fact or logged == fact)
        same = same and _ids(chat) == _ids_of(fact)
        yield Shown(chat, piece, not same)


def _ids(chat: Raw) -> list[str]:
    """The ids of the calls in a message, or of the call that it answers."""
    calls = cast("list[Raw]", chat.get("tool_calls") or [])
    return [call["id"] for call in calls] if calls else [str(chat.get("tool_call_id") or "")]


def _ids_of(fact: Fact) -> list[str]:
    """The ids of a fact's calls, or of the call that it answers: as `_ids` of its message, without new ids."""
    if isinstance(fact, Assistant) and fact.calls and not fact.calls[0].legacy:
        return [call.id for call in fact.calls]
    return [fact.call if isinstance(fact, ToolResult) else ""]


def grouped(shown: Iterable[Shown], together: Callable[[Shown, Shown], bool]) -> Iterator[list[Shown]]:
    """The messages of a window in groups of neighbours. `together(first, other)`: whether `other` belongs to the group
    that begins with `first`; it is asked for each next message in turn."""
    group: list[Shown] = []
    for each in shown:
        if group and not together(group[0], each):
            yield group
            group = []
        group.append(each)
    if group:
        yield group


def unchanged_message(group: Sequence[Shown]) -> Any:
    """The framework's own message, if `group` has all of its pieces and none of them is changed; None if not, and if
    the first has no piece. All in `group` must be of one message, or of none: that is not checked."""
    first = group[0].piece
    is_whole = first is not None and len(group) == first.of and not any(each.changed for each in group)
    return group[0].message if is_whole else None


def bound_if_signed(fact: Fact, signatures: Iterable[object]) -> Fact:
    """The fact with all its reasoning marked as bound to its prefix, if it is a turn of the model and one of the
    signatures is not empty: one signature binds all of it. Any other fact is returned as it is."""
    if not isinstance(fact, Assistant) or not any(signatures):
        return fact
    return replace(fact, reasoning=tuple(replace(thought, bound=True) for thought in fact.reasoning))


def signature_of(thought: Raw) -> str:
    """What shows that only the provider could have made a thought: a signature, encrypted text, or the id by which
    OpenAI has stored it ("rs_…"). Empty if it has none of these. `thought`: a part with reasoning of a framework's
    message, as a dict."""
    extras = as_dict(thought.get("extras")) or as_dict(thought.get("additional_properties"))
    keys = ("signature", "protected_data", "encrypted_content")
    signs = [text(each, key) for each in (thought, extras) for key in keys]
    label = text(thought, "id")
    return next(filter(None, signs), label if label.startswith("rs_") else "")


# ---- the entries of a log that a framework's messages are


def sources_of(view: View, pieces: Sequence[Piece]) -> dict[int, Piece]:
    """The piece of each entry that the view shows, as far as there is one; those of the head under -1, -2, …

    Of equal messages the newest belong to the newest entries.
    """
    waiting: defaultdict[Key, list[Piece]] = defaultdict(list)
    for piece in pieces:
        waiting[key_of(piece.fact)].append(piece)
    found: dict[int, Piece] = {}
    for unit in reversed(list(view.visible_units())):
        for seq, fact in zip(reversed(unit.seqs), reversed(unit.facts), strict=True):
            if is_said(fact) and (left := waiting.get(key_of(fact))):
                found[seq] = left.pop()
    for at, instruction in enumerate(view.head.messages, 1):
        if left := waiting.get(key_of(instruction)):
            found[-at] = left[0]
    return found
