"""The front door: a conversation in a store, and the window of its next call."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Literal, Self, cast

from msgspec import Struct
from msgspec.structs import replace

from transom.clock import Clock, system_clock
from transom.conversation import validate
from transom.conversation.window import Window
from transom.core.budget import Budget
from transom.core.derived import Derived
from transom.core.edit import Edit, Fold, Pin, Trim, Undo
from transom.core.entry import Body, Entry, Meta, Sent
from transom.core.frame import Frame
from transom.core.log import PendingLog
from transom.core.message import Assistant, Fact, Head, Instruction, Raw
from transom.core.plan import Plan, Ref, entry_ref, plan, settled
from transom.core.policy import Policy
from transom.core.reducer import apply, build_view
from transom.core.tokens import TokenCounter
from transom.core.view import View
from transom.errors import Conflict, InvalidEdit, InvalidSetting, StoreUnavailable, UnknownLog
from transom.measure.call_numbers import call_number, sent_requests
from transom.measure.edit_costs import EditCost, edit_costs, edit_costs_since
from transom.measure.explain import Explanation, explain
from transom.policies import policy_named
from transom.readback import answer, bound
from transom.stores import Store, StoredLog, open_store, open_view
from transom.stores.snapshot import encode_view
from transom.tokenizer import o200k
from transom.wire.dialect import Dialect
from transom.wire.dialects import dialect_named
from transom.wire.openai import OPENAI_CHAT

Content = str | Sequence[Raw]
"""A text, or a list of content parts in the words of the dialect."""

State = Callable[[], str | None]
"""Tells one thing that is true now; None or an empty text: nothing is to be said of it any more."""


SNAPSHOT_AT = 1_000
SNAPSHOT_GROWTH = 1.25
"""A snapshot is written when the log has grown by a quarter since the last: the work stays in proportion to the log."""


class WindowUsage(Struct, frozen=True, kw_only=True):
    """How full the window of the next call would be, in tokens. `percent` of the budget."""

    used: int
    budget: int
    percent: float
    remaining: int
    status: Literal["normal", "warning", "compacting"]


class Conversation:
    """One log, the view of it, and the settings of the next call. Not to be shared between threads."""

    def __init__(
        self,
        log: StoredLog,
        *,
        budget: Budget,
        policy: Policy,
        counter: TokenCounter,
        system: str | Sequence[Instruction] | None = None,
        dialect: Dialect = OPENAI_CHAT,
        states: Mapping[str, State] | None = None,
        clock: Clock = system_clock,
        ref: Ref = entry_ref,
    ) -> None:
        self.log, self.budget, self.policy, self.dialect = log, budget, policy, dialect
        self.states = validate.states(states)
        self._clock, self._ref = clock, ref
        self._folded = open_view(log, dialect.format_counter(counter))
        self._ahead: list[Entry] = []  # appended, and not folded into the view before somebody looks
        self._mark(self._folded.length)
        self.derived = Derived()
        self._frame = Frame(head=self._first_head(system), required_user_turn=dialect.required_user_turn)
        self._window: tuple[int, Window] | None = None  # with the number of its Sent
        self._store: Store | None = None
        self._closed = False

    @classmethod
    def open(
        cls,
        url: str,
        id: str,  # noqa: A002 - the design's name, and the users'
        *,
        budget: Budget | int | None = None,
        policy: str | Policy = "default",
        system: str | None = None,
        dialect: str = "openai",
        counter: TokenCounter | None = None,
        states: Mapping[str, State] | None = None,
        clock: Clock = system_clock,
    ) -> Conversation:
        """Open or begin the conversation `id` in the store at `url` ("memory:", "sqlite:///path", "jsonl:///folder").

        `budget`: a Budget, or the tokens of the model's context window; 128,000 if not given, which is said once.
        `system`: the system prompt; None keeps what the log has. `dialect`: the provider API ("openai", "responses",
        "anthropic", "gemini", …) whose content parts and replies come in, and for which windows are counted. `states`:
        what is true now, by key (goal, todo, plan), asked for before each window and said when it has changed.
        Raises InvalidSetting, StoreDamaged.
        """
        validate.names(url, id, system)
        if budget is None:
            warnings.warn("no budget given: assuming a context window of 128,000 tokens", UserWarning, stacklevel=2)
            budget = Budget()
        chosen = policy_named(policy)
        limits = validate.limits(budget)
        spoken = dialect_named(dialect)
        store = open_store(url)
        try:
            log = store.open(id)
            conversation = cls(
                log,
                budget=limits,
                policy=chosen,
                counter=counter or o200k(),
                system=system,
                dialect=spoken,
                states=states,
                clock=clock,
            )
        except BaseException:
            store.close()
            raise
        conversation._store = store
        return conversation

    # ---- what happened

    def user(self, content: Content) -> int:
        """Log what the user said; the entry's number. Raises InvalidMessage, with nothing stored."""
        return self._log(self.dialect.parse_user(validate.content("user", content)))

    def observe(self, reply: object) -> int:
        """Log a reply: a provider's response object, or the model's turn as a dict. Usage is learned from.

        It takes the place of the request it answers; without one, its own.
        """
        return self._log(self.dialect.parse_reply(reply))

    def tool_result(self, call_id: str, content: Content | Raw, *, failed: bool = False) -> int:
        """Log the answer to a tool call (for Gemini also the object it is). One that answers no open call is kept, and
        not shown.

        A call without an id (Gemini's) is answered by its name. `failed`: the tool reported an error.
        """
        fact = self.dialect.parse_tool_result(validate.label(call_id), validate.content("tool_result", content))
        return self._log(replace(fact, failed=True) if failed else fact)

    def recall(self, name: str, arguments: object) -> str:
        """The answer to a call of one of `transom.readback.TOOLS`, bounded by the window; errors are told in it."""
        self._must_be_open()
        return answer(self.log, name, arguments, bound(self.budget))

    def append(self, fact: Fact, meta: Meta | None = None) -> int:
        """Log any fact; the entry's number. A turn of the model answers the request in flight, if there is one."""
        return self._log(validate.fact(fact), meta)

    # ---- what is shown

    def pin(self, entry: int, why: str = "") -> int:
        """Keep an entry's unit in every window from now on; the pin's own number, for `undo`. Raises InvalidEdit."""
        return self.edit(Pin(entry=validate.number("pin", entry), why=why))

    def undo(self, edit: int | None = None, why: str = "") -> int:
        """Take back a fold, trim or pin; without a number, the newest that is live. Raises InvalidEdit."""
        seq = self.newest_edit() if edit is None else validate.number("undo", edit)
        return self.edit(Undo(edit=seq, why=why))

    def edit(self, edit: Edit) -> int:
        """Append an edit. Raises InvalidEdit, with nothing stored, if it does not apply."""
        self._must_be_open()
        wanted = validate.edit(edit)
        while True:
            entries, view = self._edited(self.view, wanted)
            if self._appended(entries, view):
                return entries[-1].seq

    def preview(self, edit: Edit) -> View:
        """The view as an edit would make it; nothing is appended. Raises InvalidEdit."""
        self._must_be_open()
        entries, view = self._edited(self.view, validate.edit(edit))
        return view.with_log(PendingLog(view.log, entries))

    def newest_edit(self) -> int:
        """The number of the newest fold, trim or pin that is live. Raises InvalidEdit if there is none."""
        self._must_be_open()
        view = self.view
        for seq in range(view.length - 1, -1, -1):
            body = view.fetch(seq).body
            if isinstance(body, (Fold, Trim, Pin)) and view.refusal(Undo(edit=seq)) is None:
                return seq
        raise InvalidEdit("undo: there is no live edit")

    # ---- the next call

    def window(self, *, tools: Sequence[Raw] | None = None, says: Mapping[str, str] | None = None) -> Window:
        """The window of the next call, logged before it is returned; to look without logging there is `dry_run`.

        `tools`: the tool schemas of the request, which count; None means those of the last window (at first none), []
        none; other ones than the last break the cached prefix. `says`: words by key that are said when they change,
        beside what the conversation's `states` tell; a key that is missing is taken back. Asked again with nothing new
        in the log, it is the same window. A log with nothing to show (no system prompt; no message, or only empty ones)
        gives a window without messages, which no provider takes. Raises BudgetImpossible with the bill, InvalidMessage
        for tools or words that are none.
        """
        frame, view = self._framed(tools, says), self.view
        if view.in_flight is not None:
            self._catch_up()
            if (again := self._outstanding(frame)) is not None:
                return again
        done = self._plan(self.view, frame)
        while not self._appended(done.entries, done.before):
            done = self._plan(self.view, frame)
        self._frame, self._window = frame, (done.entries[-1].seq, done.window)
        return done.window

    def prepare(self) -> None:
        """Look now at what came since, which the next cut would have to do first. No window depends on it, only the
        time it takes: worth calling while the model is answering."""
        self._must_be_open()
        self.policy.prepare(self.view, self.budget, self.derived)

    def dry_run(
        self, *, tools: Sequence[Raw] | None = None, says: Mapping[str, str] | None = None, view: View | None = None
    ) -> Window:
        """The window that `window` would give now, or on another `view` of this log. Nothing is appended."""
        frame = self._framed(tools, says)
        asked_again = self._outstanding(frame) if view is None else None
        return asked_again or self._plan(view or self.view, frame).window

    def explain(self, at: int | None = None) -> list[Explanation]:
        """Why the window is what it is: now, or at call number `at`, counted from 1 (negative: from the last)."""
        self._must_be_open()
        return explain(self.view if at is None else self.view_at(at))

    def priced(self, at: int | None = None) -> list[EditCost]:
        """What each edit saves in every request and breaks of the cached prefix: those that the next window would bring
        with it, or those made for call number `at`. Raises InvalidSetting if there is none."""
        self._must_be_open()
        if at is not None:
            calls = sent_requests(self.log)
            stop = calls[call_number(at, len(calls), self.log.name) - 1].seq
            return edit_costs_since(self.log, self.view.counter, stop)
        return list(edit_costs(self.view, self._plan(self.view, self._frame).entries))

    def view_at(self, call: int) -> View:
        """The view that call number `call` saw, folded from the log. Raises InvalidSetting if there is none."""
        self._must_be_open()
        calls = sent_requests(self.log)
        number = call_number(call, len(calls), self.log.name)
        return build_view(self.log, self.view.counter, calls[number - 1].seq)

    @property
    def head(self) -> Head:
        """What stands before the conversation in the next window: instructions, and the tools of the last one."""
        return self._frame.head

    @property
    def view(self) -> View:
        """What the log shows now."""
        if self._ahead:
            self._folded, self._ahead = apply(self._folded, self._ahead), []
        return self._folded

    @property
    def usage(self) -> WindowUsage:
        """How full the window is now."""
        used, budget = round(self.view.total.tokens * self.view.calibration), self.budget.usable
        share = used / budget
        status = "normal" if share < 0.6 else "warning" if share < self.policy.trigger else "compacting"
        return WindowUsage(
            used=used, budget=budget, percent=round(100 * share, 1), remaining=max(0, budget - used), status=status
        )

    def close(self) -> None:
        """Leave a snapshot for a fast opening, and let go of the store. What was acknowledged is safe without it.

        Whatever needs the log raises InvalidSetting from then on.
        """
        if self._closed:
            return
        self._closed = True
        try:
            if self.view.length >= SNAPSHOT_AT and self.view.length > self._saved:
                self._snapshot()
        finally:
            if self._store is not None:
                self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # ---- how

    def _log(self, fact: Fact, meta: Meta | None = None) -> int:
        self._must_be_open()
        body = cast("Body", self._placed(fact) if isinstance(fact, Assistant) else fact)
        n, measure = self._folded.length + len(self._ahead), self._folded.counter
        tokens = measure.count_body(body)
        entry = Entry(seq=n, at=self._clock(), body=body, tokens=tokens, counter=measure.name, meta=meta)
        try:
            self.log.append((entry,), n)
        except Conflict:  # facts are never stale: they follow whatever came first
            self._catch_up()
            return self._log(fact, meta)
        self._ahead.append(entry)
        if n + 1 >= self._snapshot_at:
            self._snapshot()
        return n

    def _placed(self, turn: Assistant) -> Assistant:
        """A turn of the model is told which request it answers."""
        last = self._ahead[-1] if self._ahead else None
        sent = last if last is not None and isinstance(last.body, Sent) else self.view.in_flight
        return turn if sent is None else replace(turn, answers=sent.seq)

    def _edited(self, view: View, edit: Edit) -> tuple[Sequence[Entry], View]:
        if (why := view.refusal(edit)) is not None:
            raise InvalidEdit(f"{type(edit).__name__.lower()}: {why}")
        entry = view.entry(edit, self._clock())
        return (entry,), apply(view, (entry,))

    def _must_be_open(self) -> None:
        if self._closed:
            raise InvalidSetting("the conversation is closed")

    def _plan(self, view: View, frame: Frame) -> Plan[Window]:
        done = plan(
            view, frame, self.budget, self.policy, at=self._clock(), ref=self._ref, kind=Window, derived=self.derived
        )
        return replace(done, window=replace(done.window, derived=self.derived))

    def _appended(self, entries: Sequence[Entry], view: View) -> bool:
        """Append what was proposed for the newest view, with the view of all of it, or of all but its `Sent`. False if
        another writer came first: then there is something new to look at."""
        first = entries[0].seq
        try:
            self.log.append(entries, first)
        except Conflict:
            self._catch_up()
            return False
        self._folded, self._ahead = view, list(entries[view.length - first :])
        if entries[-1].seq + 1 >= self._snapshot_at:
            self._snapshot()
        return True

    def _catch_up(self) -> None:
        """Look for what other writers appended."""
        if self.log.refresh() > self.view.length:
            self._folded = apply(self.view, self.log.read(self.view.length))

    def _snapshot(self) -> None:
        """Leave a snapshot, if the store can take one now: it is a shortcut, and what it is of is already safe."""
        self._mark(self.view.length)
        with suppress(StoreUnavailable, UnknownLog):
            self.log.save_snapshot(self.view.length, encode_view(self.view))

    def _mark(self, saved: int) -> None:
        self._saved, self._snapshot_at = saved, max(SNAPSHOT_AT, int(SNAPSHOT_GROWTH * saved))

    def _first_head(self, system: str | Sequence[Instruction] | None) -> Head:
        logged = self.view.head
        if system is None:
            return logged
        messages = tuple(self.dialect.parse_system(str.__str__(system)) if isinstance(system, str) else system)
        head = Head(messages=messages, tools=logged.tools)
        return logged if head == logged else head

    def _framed(self, tools: Sequence[Raw] | None, says: Mapping[str, str] | None) -> Frame:
        self._must_be_open()
        if tools is None and says is None and not self.states and not self._frame.state:
            return self._frame
        head = self._frame.head
        if tools is not None and (wanted := validate.schemas(tools, head.tools)) is not head.tools:
            head = Head(messages=head.messages, tools=tuple(wanted))
        words = {} if says is None else validate.words(says)
        if self.states:
            words = {**validate.words({key: word for key, state in self.states.items() if (word := state())}), **words}
        return replace(self._frame, head=head, state=words)

    def _outstanding(self, frame: Frame) -> Window | None:
        """The window of a request in flight, if nothing has happened since and nothing else is validate."""
        sent = self.view.in_flight
        if sent is None or sent.seq != self.view.length - 1 or not settled(self.view, frame, self.budget):
            return None
        if self._window is None or self._window[0] != sent.seq:
            again = Window.of_request_in_flight(self.view)
            self._window = sent.seq, replace(again, derived=self.derived)
        return self._window[1]
