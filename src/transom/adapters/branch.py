"""A branch: one log of a session beside the framework's list of messages.

Before each model call the list is compared with the log (`Branch.read`), and what is new is logged (`Branch.take`). Two
messages are equal if they say the same (`wire.same_message.key_of`), whatever the framework added to them since.
Results of tools are compared by their calls, and not by their order or their text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from msgspec.structs import replace

from transom.conversation.conversation import Conversation
from transom.core.edit import Trim
from transom.core.entry import CallPlace
from transom.core.message import Assistant, Fact, Instruction, Text, ToolResult, addressed_parts
from transom.core.trims import apply_trim, trims_of_entry
from transom.core.view import View
from transom.wire.fields import loaded
from transom.wire.frameworks import FrameworkFormat, Piece
from transom.wire.same_message import Key, fork_point, is_said, key_of


class _Said(NamedTuple):
    """A message of a log or of a list, with the results of tools that follow it.

    `at`: the number of its entry in the log, or its index in the list. `results`: the same number of each result. Its
    key is the word by which the result names its call (an id, a function's name, or nothing), and the ordinal of the
    result among those with the same word.
    """

    key: Key
    at: int
    results: dict[tuple[str, int], int]


def _beginning() -> _Said:
    """An empty message that stands before the first one of each log and each list: so every two have one in common."""
    return _Said((), -1, {})


class Branch:
    """One conversation of a session, and the framework's list as it was at the last model call.

    `sources`: the pieces of the list, each under the number of its entry; instructions of the head are under -1, -2,
    and so on. Entries that did not come from the list have none. `goes_on`, `common`: what `read` found. `is_waiting`:
    a model call has begun and is not over. Only one thread at a time may use it: its session has the lock.
    """

    def __init__(self, conversation: Conversation, framework_format: FrameworkFormat) -> None:
        self.conversation, self.format = conversation, framework_format
        self.is_waiting = False
        self.sources: dict[int, Piece] = {}
        self.goes_on, self.common = False, 0
        self._logged = [_beginning()]
        self._listed = [*self._logged]
        self._known, self._shift = 0, 0
        self._results: dict[int, tuple[Piece, Piece]] = {}  # by entry: as read, and as they are sources
        self._newest: Fact | None = None  # the last message of the log
        self._length = 0
        self._messages: list[Any] = []
        self._pieces: list[Piece] = []
        self._catch_up()

    @property
    def has_begun(self) -> bool:
        """Whether the log of this branch has a message."""
        return len(self._logged) > 1

    @property
    def fork_point(self) -> int:
        """The seq of the last entry that a fork for the list has: the last one that the list and the log have in
        common, results included; and behind it the edits that were made for the log's next reply. By the last
        `read`."""
        logged, listed = self._logged[self.common], self._listed[self.common]
        last = max([logged.at, *(seq for call, seq in logged.results.items() if call in listed.results)])
        has_result = not listed.results.keys() <= logged.results.keys()  # its call may be closed behind this place
        return last if has_result else fork_point(self.conversation.log, last + 1)

    def _catch_up(self) -> None:
        """Read what was logged since the last time."""
        view = self.conversation.view
        for entry in self.conversation.log.read(self._length, view.length):
            if not is_said(entry.body):
                continue
            if isinstance(entry.body, ToolResult):
                results = self._logged[-1].results
                results[entry.body.call, self._ordinal(view, entry.seq, entry.body.call)] = entry.seq
            else:
                self._newest = cast("Fact", entry.body)
                self._logged.append(_Said(key_of(self._newest), entry.seq, {}))
        self._length = view.length

    def _ordinal(self, view: View, seq: int, name: str) -> int:
        """The ordinal of a logged result among those of its turn that name their call with the same word. Results
        arrive in any order, so those of calls without ids are numbered in the order of the calls."""
        unit = view.unit(key) if (key := view.unit_of[seq]) >= 0 else None
        if unit is not None and unit.seqs[0] == self._logged[-1].at and isinstance(self._newest, Assistant):
            index = unit.answered_calls[unit.seqs.index(seq) - 1]
            if not self._newest.calls[index].id:
                return sum(not call.id and name in {"", call.name} for call in self._newest.calls[:index])
        return sum(call == name for call, _ in self._logged[-1].results)

    def read(self, messages: Sequence[Any]) -> None:
        """Compare the framework's list with the log. Nothing is logged.

        Sets `goes_on`: whether the list begins with all messages of the log, or with its last ones (at least two). Sets
        `common`: how many messages both have at the beginning.
        """
        # the first `_known` messages of the list are not new; in the log, `_shift` messages stand before them
        self._catch_up()
        pieces = self._read(messages)
        self._listed = listed = _listed(pieces[_head_length(pieces) :])
        self._shift = self.common = 0
        for at in range(1, min(len(listed), len(self._logged))):
            unknown = listed[at - 1].results.keys() - self._logged[at - 1].results.keys()
            if unknown or listed[at].key != self._logged[at].key:
                break
            self.common = at
        self._known = len(self._logged)
        self.goes_on = self.common == self._known - 1
        if not self.goes_on and (overlap := _overlap(self._logged, listed)):
            self.goes_on, self._known, self._shift = True, overlap, len(self._logged) - overlap

    def _read(self, messages: Sequence[Any]) -> list[Piece]:
        """The facts of a list, as pieces. Messages with which the list at the call before began too are not read
        again."""
        old, same = self._messages, 0
        for before, now in zip(old, messages, strict=False):
            if before is not now and not (isinstance(now, dict) and before == now):
                break
            same += 1
        last = next((piece.fact for piece in reversed(self._pieces) if piece.at < same), None)
        if same < len(messages) and isinstance(last, Assistant):
            same = 0  # a turn may go on behind it
        kept = [piece for piece in self._pieces if piece.at < same] if same < len(old) else self._pieces
        new = self.format.read(messages[same:]) if same < len(messages) else []
        # what only a message mentions is in the system prompt, which the framework sends by itself
        moved = [replace(piece, at=piece.at + same) for piece in new if piece.source is not None]
        self._messages, self._pieces = list(messages), [*kept, *moved]
        return self._pieces

    def take(self, system: str | None) -> None:
        """Log what is new in the list that `read` has compared last. Call it only if `goes_on` is true: that is not
        checked. It also sets the system prompt of the conversation, and `sources`. `system`: the system prompt that the
        framework sends beside the list; None if it sends none."""
        head_length = _head_length(self._pieces)
        head, rest = self._pieces[:head_length], self._pieces[head_length:]
        before = self.conversation.dialect.parse_system(str.__str__(system)) if system else []  # may be a subclass
        instructions = [*before, *(cast("Instruction", piece.fact) for piece in head)]
        if tuple(instructions) != self.conversation.system:
            self.conversation.system = instructions
        last, stop = self._listed[self._known - 1], len(rest)
        if self._known < len(self._listed):
            stop = self._listed[self._known].at
        logged = self._logged[-1].results
        new = [rest[at].fact for call, at in last.results.items() if call not in logged]
        new += [piece.fact for piece in rest[stop:]]
        if new:
            self.conversation.extend(new)
            self._catch_up()
        unlisted = Piece(at=-1, fact=Instruction(), source=None, message=None)  # the framework sends it by itself
        self.sources = {-at: piece for at, piece in enumerate([*(unlisted for _ in before), *head], 1)}
        for listed, said in zip(self._listed, self._logged[self._shift :], strict=False):
            if listed.at >= 0:
                self.sources[said.at] = rest[listed.at]
            for call, at in listed.results.items():
                if (seq := said.results.get(call)) is not None:
                    self.sources[seq] = self._result_piece(seq, rest[at])

    def _result_piece(self, seq: int, piece: Piece) -> Piece:
        """The piece of a result, which says whether the list has the result as we clipped it. Kept, because finding out
        reads the log."""
        known = self._results.get(seq)
        if known is None or known[0] is not piece:
            clipped = _is_clip_of(piece.fact, self.conversation.view, seq)
            known = self._results[seq] = (piece, replace(piece, clipped=clipped))
        return known[1]

    def open_call(self, result: ToolResult, name: str, arguments: object) -> CallPlace | None:
        """Return the place of the open call that this result answers, in the newest turn that has one: the key of the
        turn and the index of the call. None if no call waits for the result.

        A call with an id is found by the id that the result names. A call without an id is found by `name`, the name of
        the tool, and `arguments`, parsed.
        """
        view = self.conversation.view
        for key in reversed(view.open_units):
            unit = view.open_unit(key)
            turn = cast("Assistant", unit.first_fact)
            for index in unit.open_calls:
                call = turn.calls[index]
                if call.id and call.id == result.call:
                    return key, index
                if not call.id and (call.name, loaded(call.args or "{}")) == (name, arguments):
                    return key, index
        return None

    def take_result(self, result: ToolResult) -> str | None:
        """Log a result whole, and clip what is new in the log as the policy says. `result`: with the place of its call
        (see `open_call`). Return the clipped text of the result; None if it was not clipped, or if it has parts that
        are no text."""
        seq = self.conversation.append(result)
        self.conversation.clip_new()
        view = self.conversation.view
        unit = view.unit(view.unit_of[seq])
        shown = unit.shown_facts()[unit.seqs.index(seq)].parts
        lines = [part.text for part in shown if isinstance(part, Text)]
        return None if shown == result.parts or len(lines) < len(shown) else "\n".join(lines)  # as `_is_clip_of` reads


def _listed(pieces: Sequence[Piece]) -> list[_Said]:
    """The messages of a list, each with its results; before them the empty one."""
    out = [_beginning()]
    for at, piece in enumerate(pieces):
        if isinstance(piece.fact, ToolResult):
            results = out[-1].results
            results[piece.fact.call, sum(call == piece.fact.call for call, _ in results)] = at
        else:
            out.append(_Said(key_of(piece.fact), at, {}))
    return out


def _is_clip_of(fact: Fact, view: View, seq: int) -> bool:
    """Whether a result of a list is a text that `Session.tool_result` returned: the logged result of entry `seq` with
    trims of the log. The trims may have been taken back since."""
    unit = view.unit(key) if (key := view.unit_of[seq]) >= 0 else None
    if unit is None or not (unit.trims or unit.undone_trims):
        return False
    trims = [applied.trim for applied in trims_of_entry(unit.trims, seq)]
    trims += [cast("Trim", view.fetch(trim).body) for (entry, _), trim in unit.undone_trims if entry == seq]
    logged = cast("Fact", view.fetch(seq).body)
    shown: list[list[str]] = []
    for address, part in addressed_parts(logged):
        ways = (part, *(apply_trim(part, trim) for trim in trims if trim.part == address))
        shown.append([way.text for way in ways if isinstance(way, Text)])
    text = _text(fact)
    return text != _text(logged) and _is_joined(text, shown)


def _text(fact: Fact) -> str:
    return "\n".join(part.text for part in fact.parts if isinstance(part, Text))


def _is_joined(text: str, shown: Sequence[Sequence[str]]) -> bool:
    """Whether a text consists of one of the ways in which each part may be `shown`, joined by line breaks."""
    if len(shown) < 2:
        return bool(shown) and text in shown[0]
    first, *rest = shown
    return any(text.startswith(f"{way}\n") and _is_joined(text[len(way) + 1 :], rest) for way in first)


def _head_length(pieces: Sequence[Piece]) -> int:
    """How many instructions stand before everything else."""
    return next((at for at, piece in enumerate(pieces) if not isinstance(piece.fact, Instruction)), len(pieces))


def _overlap(logged: Sequence[_Said], listed: Sequence[_Said]) -> int:
    """How many of the first messages of a list are the last ones of the log, the empty one included; 0 if less than two
    messages are."""
    said, keys = [each.key for each in logged[1:]], [each.key for each in listed[1:]]
    for stop in range(min(len(keys), len(said)), 1, -1):
        if keys[stop - 1] == said[-1] and keys[:stop] == said[-stop:]:
            return stop + 1
    return 0
