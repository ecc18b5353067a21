"""The front door: a conversation in a store, and the request of its next call."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Concatenate, ParamSpec, Self, TypeVar, Unpack

from msgspec.structs import replace

from transom.clock import Clock, system_clock
from transom.conversation import argument_checks as check
from transom.conversation.argument_checks import State
from transom.conversation.events import Compacted, Event, RunResult
from transom.conversation.facts import append_facts, parse_result
from transom.conversation.failures import model_name
from transom.conversation.log_writer import LogWriter
from transom.conversation.message_limit import plan_rendered
from transom.conversation.modes import (
    Directive,
    Mode,
    ModeChange,
    ModeSettings,
    Profile,
    breaks_half,
    change_of,
    checked,
    head_text,
    tagged,
)
from transom.conversation.pump import drained, pump
from transom.conversation.replay import split
from transom.conversation.request import Request, render_body
from transom.conversation.run import RunOptions, start
from transom.conversation.turn import Steps
from transom.conversation.usage import WindowUsage, window_usage
from transom.core.budget import Budget
from transom.core.derived import Derived
from transom.core.edit import Edit, Fold, Pin, Trim, Undo
from transom.core.entry import Entry, Meta
from transom.core.frame import Frame
from transom.core.log import PendingLog
from transom.core.message import Fact, Head, Instruction, Raw
from transom.core.plan import Plan, Ref, compaction, entry_ref, needs_nothing
from transom.core.policy import Policy
from transom.core.reducer import apply, build_view
from transom.core.tokens import TokenCounter
from transom.core.tool import Tool
from transom.core.undo import last_edit, undo_last
from transom.core.view import View
from transom.core.window import Window
from transom.errors import InvalidEdit, InvalidSetting, quote
from transom.measure.call_numbers import call_number, sent_requests
from transom.measure.edit_costs import EditCost, edit_costs, edit_costs_since
from transom.measure.explain import Explanation, explain
from transom.policies import policy_named
from transom.providers import Provider
from transom.providers.models import context_size
from transom.readback import answer_call, answer_limit
from transom.stores import Store, StoredLog, open_store
from transom.tokenizer import o200k
from transom.wire.dialect import Dialect
from transom.wire.dialects import dialect_named, with_digest_role
from transom.wire.openai import OPENAI_CHAT

Content = str | Sequence[Raw]
"""A text, or a list of content parts in the form of the dialect."""

P = ParamSpec("P")
R = TypeVar("R")


def _locked(method: Callable[Concatenate[Conversation, P], R]) -> Callable[Concatenate[Conversation, P], R]:
    """One thread at a time: the method holds the conversation's lock."""

    @wraps(method)
    def locked(self: Conversation, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._lock:  # pyright: ignore[reportPrivateUsage] - the class's own decorator
            return method(self, *args, **kwargs)

    return locked


class Conversation:
    """One log, the view of it, and the settings of the next call.

    It may be used from several threads: every method holds one lock, also while a plan runs and while a strategy of
    your own calls a model. Windows and views may be read from any thread at any time.
    """

    def __init__(
        self,
        log: StoredLog,
        *,
        budget: Budget | int,
        policy: str | Policy,
        counter: TokenCounter,
        system: str | Sequence[Instruction] | None = None,
        dialect: str | Dialect = OPENAI_CHAT,
        state: Mapping[str, State] | None = None,
        clock: Clock = system_clock,
        ref: Ref = entry_ref,
    ) -> None:
        self._lock = threading.RLock()
        self._budget, self._policy = check.limits(budget), policy_named(policy)
        self._dialect = dialect_named(dialect)
        self._counter = counter
        self._known_size: int | None = None  # of its context window
        self._model = ""  # whose learned limit is in force: the one that the last run used
        self._state = check.state(state)
        self._clock, self._ref = clock, ref
        self._derived = Derived()
        self._writer = LogWriter(log, self._dialect.format_counter(counter), clock)
        self._frame = Frame(head=self._first_head(system), required_user_turn=self._dialect.required_user_turn)
        self._sent_window: tuple[int, Window] | None = None  # with the number of its Sent
        self._store: Store | None = None  # set if this conversation opened it, and so must close it
        self._home: Store | None = None
        self._closed = False
        self._is_running = False
        self._system = Head() if system is None else self._frame.head  # what the caller gave, not what the log has
        self._mode: ModeSettings | None = None
        self._tags = Meta()  # of every fact that is appended here

    @classmethod
    def open(
        cls,
        store: str | os.PathLike[str] | Store,
        id: str,  # noqa: A002 - the design's name, and the users'
        *,
        budget: Budget | int | None = None,
        policy: str | Policy = "default",
        system: object = None,
        dialect: str | Dialect = "openai",
        digest_role: str | None = None,
        counter: TokenCounter | None = None,
        state: Mapping[str, State] | None = None,
        clock: Clock = system_clock,
    ) -> Self:
        """Open or begin the conversation `id` in a store.

        `store`: a URL ("memory:", "sqlite:///path", "jsonl:///folder"), a path ("agent.db", "logs/"), or a store
        object, which many conversations may share; closing a conversation leaves a store object open.
        `budget`: a Budget, or the tokens of the model's context window; 128,000 with a warning if it is not given.
        `policy`: a Policy or its name, which settings may follow ("default:keep_recent=0.3", see
        `transom.policies.policy_named`).
        `system`: the system prompt, a text or what the dialect takes beside the messages; None keeps what the log has.
        `dialect`: the provider API ("openai", "responses", "anthropic", "gemini", …) whose content parts and replies
        come in, and for which windows are counted and rendered. `digest_role`: the role of the message that stands for
        folded turns: "user" if not given; OpenAI's APIs allow "developer" and "system" (see docs/security.md).
        `state`: what is true now, by key (goal, todo, plan), a text or a function that returns it; the model reads it
        when it has changed.
        Raises InvalidSetting, InvalidMessage for a system prompt that the dialect refuses, StoreDamaged.
        """
        check.names(store, id)
        limits, chosen = _limits(budget), policy_named(policy)
        spoken = with_digest_role(dialect_named(dialect), digest_role)
        announced = check.state(state)
        head = None if system is None else spoken.parse_system(check.system(system))
        opened = open_store(store)
        try:
            conversation = cls(
                opened.open(id),
                budget=limits,
                policy=chosen,
                counter=o200k() if counter is None else check.token_counter(counter),
                system=head,
                dialect=spoken,
                state=announced,
                clock=clock,
            )
        except BaseException:
            if opened is not store:
                opened.close()
            raise
        conversation._home = opened
        if opened is not store:
            conversation._store = opened
        return conversation

    @classmethod
    def from_messages(
        cls,
        messages: Sequence[object],
        *,
        store: str | os.PathLike[str] | Store = "memory:",
        id: str = "conversation",  # noqa: A002 - as for `open`
        budget: Budget | int | None = None,
        policy: str | Policy = "default",
        system: object = None,
        dialect: str | Dialect = "openai",
        digest_role: str | None = None,
        counter: TokenCounter | None = None,
        state: Mapping[str, State] | None = None,
        clock: Clock = system_clock,
    ) -> Self:
        """Begin a conversation with messages that happened elsewhere; leading system messages become the system prompt.

        The settings are those of `open`. Raises InvalidSetting if the conversation has entries already, InvalidMessage.
        """
        spoken = with_digest_role(dialect_named(dialect), digest_role)
        instructions, facts = split(messages, dialect=spoken)
        limits = _limits(budget)
        conversation = cls.open(
            store, id, budget=limits, policy=policy, dialect=spoken, counter=counter, state=state, clock=clock
        )
        try:
            conversation._must_be_new()
            head = [*([] if system is None else spoken.parse_system(check.system(system))), *instructions]
            conversation._system = Head(messages=tuple(head))
            conversation._frame = replace(conversation._frame, head=conversation._system)
            conversation._append_facts([fact for _, fact in facts])
        except BaseException:
            conversation.close()
            raise
        return conversation

    # ---- what happened

    @_locked
    def user(self, content: Content) -> int:
        """Log a user message; the entry's number. Raises InvalidMessage, with nothing stored."""
        return self._append_facts([self._dialect.parse_user(check.content("user", content))])[0]

    @_locked
    def observe(self, reply: object) -> int:
        """Log a reply: a response object, a finished stream or its chunks, or the assistant message as a dict.

        Its usage corrects the token counts. The reply is placed where its request was sent; without an open request,
        at the end. Raises InvalidMessage.
        """
        return self._append_facts([self._dialect.parse_reply(reply)])[0]

    @_locked
    def tool_result(self, call_id: str, content: object, *, failed: bool = False) -> int:
        """Log the answer to a tool call: a text, a list of content parts, or any JSON value.

        A call without an id (Gemini's) is answered by its name. `failed`: the tool reported an error. Raises
        InvalidMessage if no call has this id. An answer to a call that is closed already (it was given up before a
        request, or answered before) is stored with a warning in the log of `logging`: the model reads it as a late
        result, or not at all.
        """
        fact = parse_result(self._dialect, check.call_id(call_id), check.tool_content(content))
        return self._append_facts([replace(fact, failed=True) if failed else fact], known_calls_only=True)[0]

    @_locked
    def append(self, fact: Fact, meta: Meta | None = None) -> int:
        """Log any fact; the entry's number. A reply is placed where the open request was sent.

        A tool result without an open call is stored with a warning in the log of `logging`. It is shown as a late
        result if its call was given up, otherwise not at all.
        """
        return self._append_facts([check.fact(fact, meta)], meta)[0]

    @_locked
    def extend(self, messages: Sequence[object]) -> list[int]:
        """Log messages that happened elsewhere, all or none; the numbers of their entries.

        A message is a dict of the dialect, or a client library's message object. Raises InvalidMessage, with nothing
        stored. A tool result without an open call is treated as in `append`.
        """
        return self._append_facts([fact for _, fact in self._dialect.parse(messages)])

    @_locked
    def readback(self, name: str, arguments: object) -> str:
        """Answer a call of one of `transom.readback.TOOLS`; bounded by the window. An error is returned as its text."""
        self._must_be_open()
        return answer_call(self.log, name, arguments, answer_limit(self._budget))

    # ---- what is shown

    @_locked
    def pin(self, entry: int, why: str = "") -> int:
        """Keep an entry's unit in every window from now on; the pin's own number, for `undo`. Raises InvalidEdit."""
        return self.edit(Pin(entry=check.number("pin", entry), why=check.reason("pin", why)))

    @_locked
    def undo(self, edit: int | None = None, why: str = "") -> list[int]:
        """Take back a fold, trim or pin; the numbers of the undo's entries. Raises InvalidEdit.

        Without a number it takes back the last edit in force, and everything else that the same plan decided: the last
        compaction as a whole.
        """
        self._must_be_open()
        reason = check.reason("undo", why)
        if edit is not None:
            return [self.edit(Undo(edit=check.number("undo", edit), why=reason))]
        self.last_edit()  # raises if there is none
        return [entry.seq for entry in self._writer.append_new(lambda view, at: undo_last(view, why=reason, at=at))]

    @_locked
    def compact(self) -> Compacted:
        """Compact the window now, although it is not full: what the policy would do if it were full at its size now.

        The edits are one plan, so `undo` without a number takes all of them back. There are none if the policy never
        compacts, or finds nothing to take away. Nothing is sent. Raises InvalidSetting while a run is at work,
        BudgetImpossible.
        """
        self._must_be_open()
        if self._is_running:
            raise InvalidSetting("compact: a run of this conversation is at work")
        before = self.view

        def entries_for(view: View, at: float) -> tuple[Entry, ...]:
            budget = self._limits_now()
            return compaction(view, self._frame, budget, self._policy, at=at, ref=self._ref, derived=self._derived)

        entries = self._writer.append_new(entries_for)
        return Compacted(
            edits=tuple(entry.seq for entry in entries if isinstance(entry.body, (Fold, Trim))),
            tokens_before=round(before.total.tokens * before.calibration),
            tokens_after=round(self.view.total.tokens * self.view.calibration),
        )

    @_locked
    def edit(self, edit: Edit) -> int:
        """Append an edit. Raises InvalidEdit, with nothing stored, if it does not apply."""
        self._must_be_open()
        wanted = check.edit(edit)
        (entry,) = self._writer.append_new(lambda view, at: (self._edit_entry(view, wanted, at),))
        return entry.seq

    @_locked
    def preview_edit(self, edit: Edit) -> View:
        """The view as an edit would make it; nothing is appended. Raises InvalidEdit."""
        self._must_be_open()
        entries = (self._edit_entry(self.view, check.edit(edit), self._clock()),)
        return apply(self.view, entries).with_log(PendingLog(self.log, entries))

    @_locked
    def last_edit(self) -> int:
        """The number of the newest fold, trim or pin that is live. Raises InvalidEdit if there is none."""
        self._must_be_open()
        if (seq := last_edit(self.view)) is None:
            raise InvalidEdit("undo: there is no live edit")
        return seq

    # ---- the next call

    @_locked
    def request(
        self,
        *,
        tools: Sequence[Raw | Tool] | None = None,
        state: Mapping[str, State] | None = None,
        cache: bool = False,
    ) -> Request:
        """What is about to be sent: the keyword arguments of the SDK's call, in the conversation's dialect.

        `client.chat.completions.create(model=…, **conv.request(tools=…))`, and the same for `responses.create`,
        `messages.create` and `generate_content`. The request is logged before it is returned; `window` only looks. With
        nothing new in the log it is the same request again.

        `tools`: the tool schemas, which count and are among the arguments; None means those of the last request, []
        none. Other tools than the last ones break the cached prefix. `state`: texts by key that the model reads when
        they change, beside the conversation's own `state`; a key that is missing is taken back. `cache`: with
        Anthropic's cache marks.

        A log with nothing to show (no system prompt; no message, or only empty ones) gives a request without messages,
        which no provider takes. Raises BudgetImpossible with the bill, InvalidMessage for tools that are none,
        InvalidSetting.
        """
        window = self.plan_request(tools=tools, state=state)
        body = render_body(window, self._dialect, cache=cache, derived=self._derived)
        return Request(self._dialect.arguments(body), window)

    @_locked
    def plan_request(
        self, *, tools: Sequence[Raw | Tool] | None = None, state: Mapping[str, State] | None = None
    ) -> Window:
        """Plan and log the next request without rendering it: the window for `transom.render` in any dialect."""
        frame = self._frame_of(tools, state)
        if self.view.in_flight is not None:
            self._writer.catch_up()
            if (again := self._request_in_flight(frame)) is not None:
                return again
        frame, done = self._plan_next(frame, tools, state)
        while not self._writer.append_plan(done):
            frame, done = self._plan_next(self._frame_of(tools, state), tools, state)
        self._frame, self._sent_window = frame, (done.entries[-1].seq, done.window)
        return done.window

    @_locked
    def window(
        self,
        *,
        tools: Sequence[Raw | Tool] | None = None,
        state: Mapping[str, State] | None = None,
        view: View | None = None,
    ) -> Window:
        """The window that `request` would send now, or on another `view` of this log. Nothing is appended."""
        frame = self._frame_of(tools, state)
        if view is not None:
            return self._plan(view, frame).window
        return self._request_in_flight(frame) or self._plan_next(frame, tools, state)[1].window

    @_locked
    def set_mode(
        self, mode: Mode, profile: Profile | None = None, *, directive: Directive | None = None, new_head: bool = False
    ) -> ModeChange:
        """Set the mode of the next requests ("chat", "agent" or "run"); returns what that costs. Nothing is logged now.

        `profile`: what the model is told in each mode; None keeps the last one. `directive`: what a run must do; run
        mode needs one. Set the mode again with another directive for the next step, and with a completed one at the
        end. Every fact from now on has the mode, and the `run_id` of the directive, in its `Meta`.

        The log and the system prompt that was sent stay as they are, so that the cached prefix holds. What is different
        is announced in notes. The system prompt is renewed when a compaction breaks the prefix; with `new_head` it is
        renewed in the next request, which then is read as a whole. To learn the price first, set the mode with
        `new_head`, read what it costs, and set it again without.

        The cost is that of a request with the tools of the last one: other tools break the prefix in any mode.

        A reopened conversation has no mode until it is set again; with the same profile and directive nothing is
        announced twice. Raises InvalidSetting; BudgetImpossible, with the mode as it was, if the next request would not
        fit.
        """
        self._must_be_open()
        mode, directive = checked(mode, profile, directive)
        before, tags = self._mode, self._tags
        profile = profile or (Profile() if before is None else before.profile)
        self._mode = ModeSettings(
            mode=mode,
            profile=profile,
            base=profile.rules or head_text(self._system),
            directive=directive,
            new_head=new_head,
        )
        self._tags = replace(tags, mode=mode, run_id=self._mode.run_id)
        try:
            _, done = self._plan_next(self._frame_of(None, None), None, None)
        except BaseException:
            self._mode, self._tags = before, tags
            raise
        return change_of("" if before is None else before.mode, self._mode, self.view, done)

    @_locked
    def prepare(self) -> None:
        """Warm the strategies' indexes before the next plan, for example while the model is answering.

        Optional: it changes latency, never a window.
        """
        self._must_be_open()
        self._policy.prepare(self.view, self._budget, self._derived)

    @_locked
    def explain(self, at: int | None = None) -> list[Explanation]:
        """Why the window is what it is: now, or at call number `at`, counted from 1 (negative: from the last)."""
        self._must_be_open()
        return explain(self.view if at is None else self.view_at_call(at))

    @_locked
    def edit_costs(self, at: int | None = None) -> list[EditCost]:
        """What each edit saves in every request, and how much of the cached prefix it breaks.

        The edits are those that the next request would bring with it, or those made for call number `at`. Raises
        InvalidSetting if there is no such call.
        """
        self._must_be_open()
        if at is not None:
            calls = sent_requests(self.log)
            stop = calls[call_number(at, len(calls), self.log.name) - 1].seq
            return edit_costs_since(self.log, self.view.counter, stop)
        return list(edit_costs(self.view, self._plan(self.view, self._frame).entries))

    @_locked
    def view_at_call(self, call: int) -> View:
        """The view that call number `call` saw, computed from the log. Raises InvalidSetting if there is none."""
        self._must_be_open()
        calls = sent_requests(self.log)
        number = call_number(call, len(calls), self.log.name)
        return build_view(self.log, self.view.counter, calls[number - 1].seq)

    # ---- running

    def run(self, input: Content | None = None, **settings: Unpack[RunOptions]) -> RunResult:  # noqa: A002
        """Run an agent until the model answers: model calls, tool calls, retries, compactions. Every step is logged.

        `input`: what the user says, or `messages` of which the last is the user's; with neither, the run goes on where
        the last one ended. `provider` is a name ("openai:gpt-5", "anthropic:claude-sonnet-5-5",
        "openai:qwen3@http://localhost:8000/v1") or a provider. `tools` are functions, `FunctionTool`s, or schemas.
        See RunOptions for the rest.

        Raises ProviderError if the model gave no usable reply after all retries, RunStopped at a limit or if it was
        cancelled, BudgetImpossible, InvalidMessage, InvalidSetting. Whatever is raised, the log is valid: run again to
        go on.
        """
        steps = self._start(input, settings, stream=False)
        return drained(pump(steps, approve=settings.get("approve"), cancel=settings.get("cancel")))

    def stream(self, input: Content | None = None, **settings: Unpack[RunOptions]) -> Generator[Event, None, RunResult]:  # noqa: A002
        """As `run`, event by event: text as it comes, tool calls and results, failures; the last one is `Finished`.

        Leaving the loop early (`break`, then `close()`) stops the run: what had arrived is logged.
        """
        steps = self._start(input, settings, stream=True)
        return pump(steps, approve=settings.get("approve"), cancel=settings.get("cancel"))

    # ---- settings and facts

    @property
    def log(self) -> StoredLog:
        """The log of everything that happened."""
        return self._writer.log

    @property
    def dialect(self) -> Dialect:
        """The provider API this conversation speaks. A run speaks its provider's."""
        return self._dialect

    @property
    def budget(self) -> Budget:
        """The limits of the next request. A number sets the context window, not the other limits."""
        return self._budget

    @budget.setter
    def budget(self, budget: Budget | int) -> None:
        self._budget = check.limits(budget, self._budget)

    @property
    def policy(self) -> Policy:
        """How the next window is kept small. A name sets one of `transom.policies`."""
        return self._policy

    @policy.setter
    def policy(self, policy: str | Policy) -> None:
        self._policy = policy_named(policy)

    @property
    def state(self) -> dict[str, State]:
        """What the model reads when it changes, by key: a copy. Set a new dict to change it."""
        return dict(self._state)

    @state.setter
    def state(self, state: Mapping[str, State] | None) -> None:
        self._state = check.state(state)

    @property
    def store(self) -> Store | None:
        """The store that it was opened from; None for a conversation that was made of a log."""
        return self._home

    @property
    def tags(self) -> Meta:
        """The mode, the run and the agent that every new fact has in its `Meta`."""
        return self._tags

    @tags.setter
    def tags(self, tags: Meta) -> None:
        self._tags = check.tags(tags)

    @property
    def mode(self) -> str:
        """The mode that `set_mode` has set; empty if none."""
        return "" if self._mode is None else self._mode.mode

    @property
    def head(self) -> Head:
        """What stands before the conversation in the next window: instructions, and the tools of the last one."""
        return self._frame.head

    @property
    def derived(self) -> Derived:
        """What was derived from the log so far. Not for use while another thread uses the conversation."""
        return self._derived

    @property
    def view(self) -> View:
        """What the log shows now."""
        return self._writer.view

    @property
    def usage(self) -> WindowUsage:
        """How full the window is before the next plan."""
        return window_usage(self.view, self._limits_now(), self._policy)

    @_locked
    def close(self) -> None:
        """Leave a snapshot for a fast opening, and close the store if `open` opened it.

        What was acknowledged is safe without it. Every method that reads or appends raises InvalidSetting
        from then on; properties still show the last state.
        """
        if self._closed:
            return
        self._closed = True
        try:
            self._writer.close()
        finally:
            if self._store is not None:
                self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # ---- how

    def _start(self, input: Content | None, options: RunOptions, *, stream: bool) -> Steps:  # noqa: A002
        """The steps of a run, for a pump."""
        return start(self, input, options, stream=stream, exclusively=self._running, use_model=self._use_model)

    @_locked
    def _use_model(self, provider: Provider) -> None:
        """Plan the next requests for this model: in its dialect, and within the limit that was learned of it.

        In another dialect the log has other token counts: the view is built anew.
        """
        self._model = model_name(provider)
        self._known_size = getattr(provider, "context_size", None)
        if self._known_size is None and self._budget is _ASSUMED:
            self._known_size = context_size(provider.name, provider.model)
        if provider.dialect == self._dialect.name:
            return
        spoken = dialect_named(provider.dialect)
        if self._dialect.digest_role in spoken.digest_roles:
            spoken = with_digest_role(spoken, self._dialect.digest_role)
        self._writer = LogWriter(self.log, spoken.format_counter(self._counter), self._clock)
        self._dialect, self._sent_window, self._derived = spoken, None, Derived()
        self._frame = replace(self._frame, required_user_turn=spoken.required_user_turn)

    @contextmanager
    def _running(self) -> Generator[None]:
        """While a run is at work: only one at a time. Raises InvalidSetting."""
        with self._lock:
            self._must_be_open()
            if self._is_running:
                raise InvalidSetting("run: another run of this conversation is at work")
            self._is_running = True
        try:
            yield
        finally:
            self._is_running = False

    def _edit_entry(self, view: View, edit: Edit, at: float) -> Entry:
        if (why := view.refusal(edit)) is not None:
            raise InvalidEdit(f"{type(edit).__name__.lower()}: {why}")
        return view.entry(edit, at)

    def _must_be_open(self) -> None:
        if self._closed:
            raise InvalidSetting("the conversation is closed")

    def _must_be_new(self) -> None:
        if n := self.view.length:
            raise InvalidSetting(f"conversation {quote(self.log.name)} has {n:,} entries already: open and extend it")

    def _limits_now(self) -> Budget:
        """The budget, with the context window that the model is known to have, or has because it refused more."""
        budget, learned = self._budget, self.view.learned_limits.get(self._model)
        if self._known_size is not None:
            most = self._known_size if budget is _ASSUMED else min(self._known_size, budget.context)
            budget = _with_context(budget, most)
        return budget if learned is None else _with_context(budget, min(learned, budget.context))

    def _append_facts(
        self, facts: Sequence[Fact], meta: Meta | None = None, *, known_calls_only: bool = False
    ) -> list[int]:
        self._must_be_open()
        return append_facts(self._writer, facts, tagged(meta, self._tags), known_calls_only=known_calls_only)

    def _plan_next(
        self, frame: Frame, tools: Sequence[Raw | Tool] | None, state: Mapping[str, State] | None
    ) -> tuple[Frame, Plan]:
        """The next request in this frame; or with the head of the mode, if the prefix breaks anyway."""
        done = self._plan(self.view, frame)
        if self._mode is None or not breaks_half(self.view, done):
            return frame, done
        renewed = self._frame_of(tools, state, at_break=True)
        return (frame, done) if renewed.head == frame.head else (renewed, self._plan(self.view, renewed))

    def _plan(self, view: View, frame: Frame) -> Plan:
        return plan_rendered(
            view,
            frame,
            self._limits_now(),
            self._policy,
            self._dialect,
            at=self._clock(),
            ref=self._ref,
            derived=self._derived,
            meta=tagged(None, self._tags),
        )

    def _first_head(self, system: str | Sequence[Instruction] | None) -> Head:
        logged = self.view.head
        if system is None:
            return logged
        messages = tuple(self._dialect.parse_system(str.__str__(system)) if isinstance(system, str) else system)
        head = Head(messages=messages, tools=logged.tools)
        return logged if head == logged else head

    def _frame_of(
        self, tools: Sequence[Raw | Tool] | None, state: Mapping[str, State] | None, *, at_break: bool = False
    ) -> Frame:
        self._must_be_open()
        if tools is None and state is None and not self._state and not self._frame.state and self._mode is None:
            return self._frame
        head, of_mode = self._frame.head, dict[str, str]()
        if self._mode is not None:
            text, of_mode = self._mode.frame(self.view, at_break=at_break)
            head = self._with_text(head, text)
        if tools is not None and (wanted := check.schemas(tools, head.tools)) is not head.tools:
            head = Head(messages=head.messages, tools=tuple(wanted))
        announced = {**self._state, **check.state(state)}
        return replace(self._frame, head=head, state={**of_mode, **check.current_texts(announced)})

    def _with_text(self, head: Head, text: str | None) -> Head:
        """The head with these instructions; None: with those that were sent."""
        sent = self.view.head
        if text is None or text == head_text(sent):
            messages = sent.messages
        else:
            messages = tuple(self._dialect.parse_system(text)) if text else ()
        return head if messages == head.messages else Head(messages=messages, tools=head.tools)

    def _request_in_flight(self, frame: Frame) -> Window | None:
        """The window of the request in flight, if nothing has happened since and nothing else is wanted."""
        sent = self.view.in_flight
        if sent is None or sent.seq != self.view.length - 1 or not needs_nothing(self.view, frame, self._limits_now()):
            return None
        if self._sent_window is None or self._sent_window[0] != sent.seq:
            self._sent_window = sent.seq, Window.of_request_in_flight(self.view)
        return self._sent_window[1]


def _limits(budget: Budget | int | None) -> Budget:
    """The limits of a new conversation; who gives none is warned where they opened it."""
    if budget is None:
        warnings.warn("no budget given: assuming a context window of 128,000 tokens", UserWarning, stacklevel=3)
        return _ASSUMED
    return check.limits(budget)


_ASSUMED = Budget()
"""The budget of who gave none; a run replaces it by what is known of the model. Told by its identity."""


def _with_context(budget: Budget, context: int) -> Budget:
    if context == budget.context:
        return budget
    return replace(budget, context=context, reserve=min(budget.reserve, context // 4))
