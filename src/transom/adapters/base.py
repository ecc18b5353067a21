"""What all adapters share: the messages of a framework in, the messages of the window out.

A framework keeps a list of messages, and gives all of it to each model call. For each call an adapter does this:

    call = session.begin(messages, system=system, tools=schemas, model="openai:gpt-5")
    return call.send(ask, reply_of)

`ask` gets the messages of the window: originals, unless the window shows them differently. It is called again with
fewer messages if they were too long. A stream does the same by itself with `messages`, `failed_async` and `observe`.

The framework's list decides what the conversation is. What is new in the list is appended to the log of the session. If
messages are gone from the list (a crash before they were saved, an edited history), the log is forked at the last
message that both have. A list that has nothing in common with the log begins a new log. The first log has the name of
the session, "trip"; a fork is "trip@41", and a new log "trip@new-1".

A result of a tool is logged as soon as the framework has it, before the next model call:

    shorter = session.tool_result(message)      # the clipped text, if the policy clips the result
    return message if shorter is None else with_content(message, shorter)

So the framework's own state, its checkpoints and its traces do not carry what no window shows; the log has the whole.
Such results are found in the list by their calls, in any order: tools that run side by side end in any order. A result
that the log has and the list lacks stays in the log: the tool has run.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from os import PathLike
from typing import Any, NamedTuple, TypeVar, Unpack, cast

from anyio.to_thread import run_sync
from msgspec.structs import replace

from transom.conversation.conversation import Conversation
from transom.conversation.runs.own_tools import LEAST_BUDGET
from transom.conversation.settings import ConversationOptions, Settings, SharedLimits
from transom.core.edit import Trim
from transom.core.entry import CallPlace, Meta
from transom.core.message import Assistant, Fact, Instruction, Raw, Text, ToolResult, addressed_parts
from transom.core.tokens import apply_trim
from transom.core.tool import Tool
from transom.core.trims import trims_of_entry
from transom.core.view import View
from transom.core.window import Window
from transom.errors import BudgetImpossible, ConversationBusy, ProviderError, quote
from transom.overflow import classify
from transom.providers.models import cost
from transom.providers.sdk_errors import provider_error
from transom.readback import TOOLS
from transom.stores import Store, open_store
from transom.wire.frameworks import FrameworkFormat, Piece
from transom.wire.frameworks.sources import Key, is_said, key_of

_logger = logging.getLogger(__name__)
R = TypeVar("R")

MOST_OPEN = 100
"""How many sessions stay open. The one that was used longest ago is closed; its log is read again when it is needed."""

_TOO_LONG = ("ContextWindowOverflow", "ContextOverflow", "ContextLengthExceeded")
"""Parts of the names of exceptions by which frameworks say that a request was too long."""


_WAY_OUT = "another run of this session has not ended: try again when it has, or give this run another session id"


class Sessions:
    """The conversations of one adapter, by the session id of the framework.

    `store`: as for `Conversation.open`. `framework_format`: how the framework writes messages. `readback`: whether the
    model gets the tools that read back what its window leaves out; it gets none if the budget is below 8,000 tokens.
    `options`: the settings of each conversation. Any thread may use it. Raises InvalidSetting.
    """

    def __init__(
        self,
        store: str | PathLike[str] | Store,
        framework_format: FrameworkFormat,
        *,
        readback: bool = True,
        **options: Unpack[ConversationOptions],
    ) -> None:
        self.store, self.format = open_store(store), framework_format
        self._owns_store = self.store is not store
        options["dialect"] = framework_format.dialect
        self._settings = replace(Settings.of(**options), shared_limits=SharedLimits())
        has_room = self._settings.budget.usable >= LEAST_BUDGET
        self.readback_tools: tuple[Tool, ...] = TOOLS if readback and has_room else ()
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._warned: set[str] = set()
        self._lock = threading.Lock()

    def session(self, session_id: str) -> Session:
        """The session with this id."""
        with self._lock:
            found = self._sessions.pop(session_id, None) or Session(session_id, self)
            self._sessions[session_id] = found
            idle = [name for name, session in self._sessions.items() if not session.is_waiting][:-1]
            for name in idle[: max(0, len(self._sessions) - MOST_OPEN)]:
                self._sessions.pop(name).close()
            return found

    def open(self, name: str) -> Conversation:
        """Open a conversation of the store with the settings of this adapter."""
        return Conversation.open(self.store, name, settings=self._settings)

    def warn_unchanged(self, field: str, way_out: str) -> None:
        """Log a warning, once, that requests with this field are sent as they are, because the server has the messages
        before them."""
        with self._lock:
            if field in self._warned:
                return
            self._warned.add(field)
        text = "requests with `%s` are passed on as they came: the provider keeps their conversation; %s"
        _logger.warning(text, field, way_out)

    def close(self) -> None:
        """Close all conversations, and the store if the adapter opened it."""
        with self._lock:
            while self._sessions:
                self._sessions.popitem()[1].close()
            if self._owns_store:
                self.store.close()


class Session:
    """The conversations of one session id: one, and another for each list that did not go on with it."""

    def __init__(self, session_id: str, sessions: Sessions) -> None:
        self.id, self._of = session_id, sessions
        self._lock = threading.RLock()
        self._branches: list[_Branch] = []  # the one that was used last is the last
        self.is_waiting = False
        """Whether a model call has begun that is not over."""

    @property
    def conversation(self) -> Conversation:
        """The conversation that the last call was a part of; before the first call, the newest one of the session."""
        with self._lock:
            return self._opened()[-1].conversation

    def begin(
        self, messages: Sequence[Any], *, system: str | None = None, tools: Sequence[Raw | Tool] = (), model: str = ""
    ) -> ModelCall:
        """Extend the conversation with what is new in the framework's list, and plan the window of the next call.

        `messages`: the whole list. `system`: what the framework sends beside it. `tools`: all tools of the request.
        `model`: its name ("openai:gpt-5"), for limits and prices. Raises BudgetImpossible, InvalidMessage,
        ConversationBusy.
        """
        with self._lock:
            branch = self._branch_of(messages)
            branch.take(system)
            self.is_waiting = True
            return ModelCall(self, branch, self._of.format, tools, model)

    def tool_result(self, message: Any, name: str = "", arguments: object = None) -> str | None:
        """Log the result of a tool whole, and clip it as the policy clips what is new.

        `message`: the framework's message with the result. `name`, `arguments`: of its call, for a framework whose
        calls have no ids. Returns the clipped text, for the framework to keep; None if nothing was clipped, or if no
        call of the log waits for it. Raises InvalidMessage, and what the store raises.
        """
        results = [piece.fact for piece in self._of.format.read([message]) if isinstance(piece.fact, ToolResult)]
        with self._lock:
            for branch, result in ((branch, result) for result in results for branch in reversed(self._opened())):
                if (place := branch.open_call(result, name, arguments)) is not None:
                    return branch.take_result(replace(result, place=place))
        return None

    def readback(self, name: str, arguments: object) -> str:
        """Answer a call of one of the readback tools. An error is returned as its text."""
        return self.conversation.readback(name, arguments)

    def close(self) -> None:
        """Close its conversations."""
        with self._lock:
            while self._branches:
                self._branches.pop().conversation.close()

    def _opened(self) -> list[_Branch]:
        if not self._branches:
            names = [self.id, *(name for name in self._of.store.names(f"{self.id}@") if name != self.id)]
            self._branches = [_Branch(self._of.open(name), self._of.format) for name in names]
        return self._branches

    def _branch_of(self, messages: Sequence[Any]) -> _Branch:
        """The branch that a list goes on with; a new one if there is none."""
        branches = self._opened()
        for branch in reversed(branches):
            branch.read(messages)
            if branch.goes_on and branch.has_begun and branch is branches[-1]:
                return branch  # nearly always
        best = max(reversed(branches), key=lambda branch: (branch.goes_on, branch.common))
        if not best.goes_on:
            best = self._fork(best) if best.common else self._begin(best)
            best.read(messages)
            branches.append(best)
        branches.remove(best)
        branches.append(best)
        return best

    def _fork(self, branch: _Branch) -> _Branch:
        child = branch.conversation.fork(at=branch.last_common)
        return _Branch(child, self._of.format)

    def _begin(self, branch: _Branch) -> _Branch:
        """A conversation of the session that has nothing in common with the others."""
        if not branch.has_begun:
            return branch
        taken = set(self._of.store.names(f"{self.id}@"))
        name = next(each for at in count(1) if (each := f"{self.id}@new-{at}") not in taken)
        return _Branch(self._of.open(name), self._of.format)


class _Said(NamedTuple):
    """A message of a log or of a list, and the results of tools behind it. `at`: the number of its entry, or its index
    in the list. `results`: the same of the results, by what they say of their call (its id, or its name, or nothing)
    and by their ordinal among those that say the same."""

    key: Key
    at: int
    results: dict[tuple[str, int], int]


def _beginning() -> _Said:
    """What stands before the first message of a log or a list: nothing was said there. So both have it in common."""
    return _Said((), -1, {})


class _Branch:
    """One conversation of a session, beside the framework's list as it was at the last call."""

    def __init__(self, conversation: Conversation, framework_format: FrameworkFormat) -> None:
        self.conversation, self._format = conversation, framework_format
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
        """Whether the log has a message."""
        return len(self._logged) > 1

    @property
    def last_common(self) -> int:
        """The number of the last entry that the list and the log have in common."""
        logged, listed = self._logged[self.common], self._listed[self.common]
        return max([logged.at, *(seq for call, seq in logged.results.items() if call in listed.results)])

    def _catch_up(self) -> None:
        """Learn what was logged since."""
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
        """The ordinal of a logged result among those that name their call alike: by an id, a function, or not at all.
        Those of calls without an id are counted as the calls stand in the turn."""
        unit = view.unit(key) if (key := view.unit_of[seq]) >= 0 else None
        if unit is not None and unit.seqs[0] == self._logged[-1].at and isinstance(self._newest, Assistant):
            index = unit.answered_calls[unit.seqs.index(seq) - 1]
            if not self._newest.calls[index].id:
                return sum(not call.id and name in {"", call.name} for call in self._newest.calls[:index])
        return sum(call == name for call, _ in self._logged[-1].results)

    def read(self, messages: Sequence[Any]) -> None:
        """Compare a list with the log.

        Sets `goes_on`: the list begins with the whole log, or with the last messages of the log. `common`: how many
        messages both have at the beginning. The first `_known` messages of the list are not new; the log has
        `_shift` messages before them.
        """
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
        """The facts of a list. What the list of the last call has already is not read again."""
        old, same = self._messages, 0
        for before, now in zip(old, messages, strict=False):
            if before is not now and not (isinstance(now, dict) and before == now):
                break
            same += 1
        if same and same < len(messages) and _is_of_turn(self._pieces, same):
            same = 0  # a turn may go on behind it
        kept = [piece for piece in self._pieces if piece.at < same] if same < len(old) else self._pieces
        new = self._format.read(messages[same:]) if same < len(messages) else []
        # what only a message mentions is in the system prompt, which the framework sends by itself
        moved = [replace(piece, at=piece.at + same) for piece in new if piece.source is not None]
        self._messages, self._pieces = list(messages), [*kept, *moved]
        return self._pieces

    def take(self, system: str | None) -> None:
        """Log what is new in the list."""
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
        """The piece of a result, which says whether we have clipped it: found once, because it reads the log."""
        known = self._results.get(seq)
        if known is None or known[0] is not piece:
            clipped = _is_clip_of(piece.fact, self.conversation.view, seq)
            known = self._results[seq] = (piece, replace(piece, clipped=clipped))
        return known[1]

    def open_call(self, result: ToolResult, name: str, arguments: object) -> CallPlace | None:
        """The call of the log that this result answers, if it waits for one. A call without an id has this name and
        these arguments."""
        view = self.conversation.view
        for key in reversed(view.open_units):
            unit = view.open_unit(key)
            turn = cast("Assistant", unit.first_fact)
            for index in unit.open_calls:
                call = turn.calls[index]
                if call.id and call.id == result.call:
                    return key, index
                if not call.id and (call.name, _value(call.args)) == (name, arguments):
                    return key, index
        return None

    def take_result(self, result: ToolResult) -> str | None:
        """Log a result, and clip it. Returns the clipped text; None if nothing was clipped."""
        seq = self.conversation.append(result)
        self.conversation.clip_new()
        view = self.conversation.view
        unit = view.unit(view.unit_of[seq])
        shown = unit.shown_facts()[unit.seqs.index(seq)].parts
        lines = [part.text for part in shown if isinstance(part, Text)]
        return None if shown == result.parts or len(lines) < len(shown) else "\n".join(lines)  # as `_is_clip_of` reads


def _value(arguments: str) -> object:
    """The arguments of a call, as a framework gives them to the tool."""
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return None


def _listed(pieces: Sequence[Piece]) -> list[_Said]:
    """The messages of a list."""
    out = [_beginning()]
    for at, piece in enumerate(pieces):
        if isinstance(piece.fact, ToolResult):
            results = out[-1].results
            results[piece.fact.call, sum(call == piece.fact.call for call, _ in results)] = at
        else:
            out.append(_Said(key_of(piece.fact), at, {}))
    return out


def _is_clip_of(fact: Fact, view: View, seq: int) -> bool:
    """Whether a result of a list is one that `Session.tool_result` gave: the logged result with trims of the log. They
    may have been taken back since."""
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
    """Whether a text is the lines of these parts, each shown in one of its ways."""
    if len(shown) < 2:
        return bool(shown) and text in shown[0]
    first, *rest = shown
    return any(text.startswith(f"{way}\n") and _is_joined(text[len(way) + 1 :], rest) for way in first)


def _head_length(pieces: Sequence[Piece]) -> int:
    return next((at for at, piece in enumerate(pieces) if not isinstance(piece.fact, Instruction)), len(pieces))


def _is_of_turn(pieces: Sequence[Piece], stop: int) -> bool:
    """Whether the last fact before the message `stop` is the model's."""
    last = next((piece for piece in reversed(pieces) if piece.at < stop), None)
    return last is not None and isinstance(last.fact, Assistant)


def _overlap(logged: Sequence[_Said], listed: Sequence[_Said]) -> int:
    """How many of the first messages of a list are the last ones of the log, the beginning included; 0 if less than
    two."""
    said, keys = [each.key for each in logged[1:]], [each.key for each in listed[1:]]
    for stop in range(min(len(keys), len(said)), 1, -1):
        if keys[stop - 1] == said[-1] and keys[:stop] == said[-stop:]:
            return stop + 1
    return 0


class ModelCall:
    """One model call of a framework: its window now, and the attempts at it."""

    def __init__(
        self,
        session: Session,
        branch: _Branch,
        framework_format: FrameworkFormat,
        tools: Sequence[Raw | Tool],
        model: str,
    ) -> None:
        self._session, self._branch, self._format = session, branch, framework_format
        self._tools, self._model, self._is_open = tools, model, True
        self.conversation.plan_for(model)
        self.window: Window = self._plan()

    @property
    def conversation(self) -> Conversation:
        """The conversation that the call is a part of."""
        return self._branch.conversation

    @property
    def messages(self) -> list[Any]:
        """The framework's messages of the window: the original objects, unless the window shows them differently."""
        return self._format.write(self.window.view, self._branch.sources)

    def _plan(self) -> Window:
        try:
            return self.conversation.plan_request(tools=self._tools)
        except BudgetImpossible:
            self._session.is_waiting = False
            raise
        except ConversationBusy as busy:
            self._session.is_waiting = False
            raise ConversationBusy(self.conversation.log.name, busy.holder, _WAY_OUT) from None

    def send(self, ask: Callable[[list[Any]], R], reply_of: Callable[[R], Any]) -> R:
        """Ask the model, again with fewer messages if they were too long, and log its reply.

        `ask`: sends messages. `reply_of`: the reply in what it returns, None if it has none. Raises what `ask` raises.
        """
        while True:
            try:
                answer = ask(self.messages)
            except BaseException as error:
                if not self.failed(error):
                    raise
                continue
            self._observe(reply_of(answer))
            return answer

    async def send_async(self, ask: Callable[[list[Any]], Awaitable[R]], reply_of: Callable[[R], Any]) -> R:
        """As `send`. Plans are made in a worker thread."""
        while True:
            try:
                answer = await ask(self.messages)
            except BaseException as error:
                if not await self.failed_async(error):
                    raise
                continue
            await run_sync(self._observe, reply_of(answer))
            return answer

    def _observe(self, reply: Any) -> None:
        if reply is not None:
            self.observe(reply)

    def observe(self, reply: Any) -> None:
        """Log the reply, with its usage if the framework reports it. Raises InvalidMessage."""
        turn, name = self._format.read_reply(reply), self._model
        self.conversation.append(turn, Meta(model=name, cost=cost(turn.usage, name)) if name else None)
        self._session.is_waiting = self._is_open = False

    def failed(self, error: BaseException) -> bool:
        """Log a failure. True if the caller should send `messages` again: the request was too long, or a part of it was
        refused, and they are those of a smaller window now. If the window is as small as it can be, the error gets a
        note with the numbers. All other errors are left to the framework, which may retry them. A cancelled call, or a
        stream that is not read to its end, is logged as a failure too: the next call need not wait for it. An error
        after the reply was logged is not logged.
        """
        if not self._is_open:
            return False
        decision = self.conversation.failed(error_of(error), model=self._model)
        if decision.smaller and decision.max_tokens is None:
            self.window = self._plan()
            return True
        if decision.kind == "overflow":
            error.add_note(decision.why)
        self._session.is_waiting = False
        return False

    async def failed_async(self, error: BaseException) -> bool:
        """As `failed`, in a worker thread. A task that is cancelled cannot wait for one, and logs by itself."""
        return await run_sync(self.failed, error) if isinstance(error, Exception) else self.failed(error)


def error_of(error: BaseException) -> ProviderError:
    """What a framework raised, as the provider's error: it may be wrapped in others, and may have lost its status."""
    causes: list[BaseException] = []
    each: BaseException | None = error
    while each is not None and each not in causes:
        causes.append(each)
        each = each.__cause__ or each.__context__
    read = [provider_error(each) for each in causes if isinstance(each, Exception)]
    of_status = next((each for each in read if each.status is not None), None)
    names = [kind.__name__ for each in causes for kind in type(each).__mro__]
    says_so = any(part in name for name in names for part in _TOO_LONG)
    if says_so and (of_status is None or classify(of_status.status, of_status.body) is None):
        return ProviderError("bad_request", quote(str(error)), status=413, body=str(error))
    return of_status or (read[0] if read else ProviderError("unknown", str(error)))
