"""`Conversation`, the front door of the library: logs what happens, gives the next request, runs an agent, compacts,
undoes, forks and searches. Most of the work is done in the other files of this folder."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial, wraps
from typing import Concatenate, ParamSpec, Self, TypeVar, Unpack
from weakref import WeakSet, finalize

from msgspec.structs import replace

from transom.conversation import approvals, edits
from transom.conversation import argument_checks as check
from transom.conversation.appending.parse_messages import facts_of, split_head, tool_answer, user_message
from transom.conversation.argument_checks import Content
from transom.conversation.event_bus import EventBus
from transom.conversation.events import Compacted, Event, RunResult, ToolCalled
from transom.conversation.failures import OwnLoop, RetryDecision, unreadable_reply
from transom.conversation.function_tool import ToolLike
from transom.conversation.lock_and_lease import Guard, Lease, until_free
from transom.conversation.model_calls.model_call import model_of_reply, must_have_ended
from transom.conversation.model_calls.retry import DEFAULT_RETRY, Retry
from transom.conversation.planning.modes import Directive, Mode, ModeChange, Profile
from transom.conversation.planning.request_planner import RequestPlanner
from transom.conversation.runs.agent_loop import RunSteps
from transom.conversation.runs.awaited_work import PublishedSteps
from transom.conversation.runs.run_options import RunOptions, start
from transom.conversation.runs.sync_driver import drained, drive
from transom.conversation.search import ConversationSearch, SearchScope
from transom.conversation.settings import ConversationOptions, Settings, warn_without_budget
from transom.conversation.state_and_head_parts import State, checked_state, must_be_of_user
from transom.conversation.summarizing_planner import SummarizingPlanner, run_steps
from transom.conversation.summary_job import SummarySteps
from transom.conversation.usage import ConversationUsage, WindowUsage
from transom.core.budget import Budget
from transom.core.edit import Edit
from transom.core.entry import Meta
from transom.core.log import IndexCache
from transom.core.message import Assistant, Fact, Head, Recalled, User
from transom.core.policy import Policy
from transom.core.redact_derived_text import redacted_recall
from transom.core.reducer import build_view
from transom.core.summary import Summary, SummaryOptions
from transom.core.usage import TotalUsage
from transom.core.view import View
from transom.core.window import Window
from transom.errors import InvalidMessage, InvalidSetting, quote
from transom.evaluation.call_numbers import sent_request
from transom.evaluation.edit_costs import EditCost, edit_costs, edit_costs_since
from transom.evaluation.explanations import Explanations, costs_of_call, explain
from transom.policies import policy_named
from transom.providers import Provider
from transom.providers.model_prices import cost
from transom.readback import answer_call, answer_limit
from transom.search import Embedder, SearchHit
from transom.stores import Store, StoredLog, fork_log, open_store
from transom.stores.shared import OwnedStore
from transom.wire.dialect import Dialect
from transom.wire.frameworks import format_of
from transom.wire.rendering import Request, render_messages

P = ParamSpec("P")
R = TypeVar("R")
K = TypeVar("K")
C = TypeVar("C", bound="Conversation")


def _locked(method: Callable[Concatenate[C, P], R]) -> Callable[Concatenate[C, P], R]:
    """Wrap a method: it holds the lock while it runs, and raises InvalidSetting once the conversation is closed."""

    @wraps(method)
    def call(self: C, *args: P.args, **kwargs: P.kwargs) -> R:
        guard = self._guard  # pyright: ignore[reportPrivateUsage] - the class's own decorator
        with guard.lock:
            guard.must_be_open()
            return method(self, *args, **kwargs)

    return call


class Conversation:
    """A conversation in a store. Log what happens; `request` gives what to send to the model next.

    Make one with `open` or `from_messages`. `Conversation(log, settings)` takes a log that you have opened yourself: it
    knows no store, so it cannot be forked, and searches itself only.

    It may be used from several threads: methods hold one lock, also while a plan is made and while a strategy of your
    own calls a model. The lock is not held while `search` reads its index, while `request`, `plan_request` and
    `compact` wait for a summary, and while a run waits for the model or a tool. Windows and views may be read from any
    thread at any time.
    """

    def __init__(
        self, log: StoredLog, settings: Settings | None = None, **changes: Unpack[ConversationOptions]
    ) -> None:
        of_log = Settings.of(settings, **changes)
        self._use(RequestPlanner(log, of_log))

    def _use(self, planner: RequestPlanner, live: Provider | None = None) -> None:
        """Set this object up with a planner, and the model of the last run: of a fork, those of its source."""
        lease = Lease(planner.writer.log, planner.settings.clock)
        self._planner, self._guard = planner, Guard(lease)
        self._writer, self._bus = planner.writer, EventBus(planner)
        finalize(self, lease.release_later).atexit = False  # of a conversation that nobody closes
        self._steps = SummarizingPlanner(planner, self._guard, live)
        self._runs: WeakSet[PublishedSteps] = WeakSet()
        self._own_loop = OwnLoop(planner, lease)
        self._search: ConversationSearch | None = None
        self._home: Store | None = None  # the store that it was opened from
        self._store: OwnedStore | None = None  # set if this conversation opened it, and so must close it

    @classmethod
    def open(
        cls,
        store: str | os.PathLike[str] | Store,
        id: str,  # noqa: A002 - the design's name, and the users'
        settings: Settings | None = None,
        **changes: Unpack[ConversationOptions],
    ) -> Self:
        """Open or begin the conversation `id` in a store.

        `store`: a URL ("memory:", "sqlite:///path", "jsonl:///folder", "postgresql://user@host/database"; four slashes
        for an absolute path), a path ("agent.db", "logs/"), or a store object, which many conversations may share;
        closing a conversation leaves a store object open. `settings`: what the keywords change; the defaults if not
        given. `ConversationOptions` explains the keywords: `budget`, `policy`, `system`, `dialect`, and more.

        Raises InvalidSetting, InvalidMessage for a system prompt that the dialect refuses, StoreDamaged.
        """
        check.names(store, id)
        checked = Settings.of(settings, **changes)
        warn_without_budget(settings, changes)
        opened = open_store(store)
        try:
            conversation = cls(opened.open(id), checked)
        except BaseException:
            if opened is not store:
                opened.close()
            raise
        conversation._home = opened
        if opened is not store:
            conversation._store = OwnedStore(opened)
        return conversation

    @classmethod
    def from_messages(
        cls,
        messages: Sequence[object],
        *,
        store: str | os.PathLike[str] | Store = "memory:",
        id: str = "conversation",  # noqa: A002 - as for `open`
        settings: Settings | None = None,
        **changes: Unpack[ConversationOptions],
    ) -> Self:
        """Begin a conversation with messages that happened elsewhere.

        `messages`: dicts of the dialect, or a client library's message objects. System messages at their beginning
        become the system prompt, behind the `system` of the settings if there is one. `store`, `id` and the settings:
        as for `open`; without a `store`, nothing outlives the process.

        Raises InvalidSetting, also if the conversation has entries already; InvalidMessage, with nothing stored;
        StoreDamaged.
        """
        checked = Settings.of(settings, **changes)
        instructions, facts = split_head(messages, dialect=checked.dialect, suggests_dialect=True)
        warn_without_budget(settings, changes)
        checked = replace(checked, system=(*(checked.system or ()), *instructions))
        conversation = cls.open(store, id, checked)
        try:
            conversation._must_be_new()
            conversation._append_facts([fact for _, fact in facts])
        except BaseException:
            conversation.close()
            raise
        return conversation

    # ---- what it was opened with, and what may be set for the next request (each is one value: no lock)

    @property
    def log(self) -> StoredLog:
        """The log of everything that happened."""
        return self._writer.log

    @property
    def settings(self) -> Settings:
        """The settings of the next request, as a value: to open another conversation with them, or with a few changed.
        The `owner` in them is that of the log."""
        return replace(self._planner.settings, owner=self._writer.owner)

    @property
    def dialect(self) -> Dialect:
        """The provider API this conversation speaks. A run changes it to its provider's, also for the time after the
        run."""
        return self._planner.settings.dialect

    @property
    def budget(self) -> Budget:
        """The limits of the next request. Set a Budget; or a number, or a text such as "128k", which sets the context
        window and leaves the other limits as they are."""
        return self._planner.settings.budget

    @budget.setter
    def budget(self, budget: Budget | int | str) -> None:
        self._change(budget=check.limits(budget, self.budget))

    @property
    def policy(self) -> Policy:
        """How the next window is kept small. A name sets one of `transom.policies`."""
        return self._planner.settings.policy

    @policy.setter
    def policy(self, policy: str | Policy) -> None:
        self._change(policy=policy_named(policy))

    @property
    def state(self) -> dict[str, State]:
        """A copy of the state that the model is told about when it changes: by key, a text or a function that returns
        one. Set a new dict to change it, None for no state. Raises InvalidSetting for a wrong value, also for a
        function that reads the memory of another user."""
        return dict(self._planner.settings.state)

    @state.setter
    def state(self, state: Mapping[str, State] | None) -> None:
        announced = checked_state(state)
        must_be_of_user("state", announced, self.user_id)
        self._change(state=announced)

    @property
    def system(self) -> tuple[Fact, ...]:
        """The system prompt of the next request, without head parts. Set a text, or what the dialect takes beside the
        messages, to change it, and an empty list to have none: then the cached prefix breaks. None is refused."""
        return self._planner.system

    @system.setter
    def system(self, system: object) -> None:
        self._planner.use_system(check.instructions(system, self.dialect))

    @property
    def summary(self) -> Summary | None:
        """The newest summary of the conversation: what a model, or code, made of its older turns. None if there is
        none."""
        newest = self.view.summary
        return None if newest is None else newest[1]

    @property
    def store(self) -> Store | None:
        """The store that this conversation was opened from; None for a conversation that was made of a log."""
        return self._home

    @property
    def user_id(self) -> str:
        """Whose conversation it is; empty if nobody's."""
        return self._writer.owner.user_id

    @property
    def session_id(self) -> str:
        """The session that this conversation belongs to; empty if none."""
        return self._writer.owner.session_id

    @property
    def tags(self) -> Meta:
        """A `Meta` with the mode, the run and the agent that every new fact gets in its own `Meta`, unless it names
        others. Setting anything but a `Meta` raises InvalidSetting."""
        return self._writer.tags

    @tags.setter
    def tags(self, tags: Meta) -> None:
        self._writer.tags = check.tags(tags)

    @property
    def mode(self) -> str:
        """The mode, "chat", "agent" or "run", that `set_mode` has set in this object, or in the conversation that it
        was forked from; empty if none."""
        return "" if self._planner.mode is None else self._planner.mode.mode

    @property
    def head(self) -> Head:
        """The system prompt, with its head parts, and the tools that the next request begins with: those of the last
        request, or a `system` that was set since. Other tools, a mode or head parts may still change them when it is
        planned."""
        return self._planner.options.head

    @property
    def indexes(self) -> IndexCache:
        """What strategies, search and rendering have computed from the log, kept for the next request. Not for use
        while another thread uses the conversation."""
        return self._planner.indexes

    @property
    def view(self) -> View:
        """What the log shows now, as far as this object has read it. What other writers append is read by the next
        `request` or `run`, and by whatever appends."""
        return self._writer.view

    @property
    def usage(self) -> ConversationUsage:
        """The tokens that the requests of this conversation took, what they cost, and how full the window is.

        It is the sum over the log: answered and failed requests, summaries, and sub-agents that this conversation
        called. A fork counts only what came after the fork.
        """
        total = {name: getattr(self.view.usage, name) for name in TotalUsage.__struct_fields__}
        return ConversationUsage(**total, percent=self.window_usage.percent)

    @property
    def window_usage(self) -> WindowUsage:
        """How full the window is now, before the next plan, within the limits of the next request."""
        return self._planner.usage(self.view)

    # ---- what happened

    @_locked
    def user(self, content: Content) -> int:
        """Log a user message, and return the number of its entry.

        `content`: a text, or a list of content parts in the form of the dialect. Raises InvalidMessage, with nothing
        stored, if the content is empty or the dialect cannot read it.
        """
        return self._append_facts([user_message(self.dialect, content)])[0]

    @_locked
    def observe(self, reply: object) -> int:
        """Log a reply, and return the number of its entry.

        `reply`: a response object, a finished stream or its chunks, or the assistant message as a dict; also an
        `AIMessage` of LangChain, and a `ModelResponse` of pydantic-ai or of the OpenAI Agents SDK.

        The usage in the reply corrects the token counts. The reply is placed where its request was sent; without an
        open request, at the end. Raises InvalidMessage for a reply that cannot be read; if such a reply reports its
        usage, a `Failure` with that usage is logged first, and closes the request. With an open request it raises
        ProviderError, of the kind "connection", for the chunks of a stream that broke off before the provider said that
        the reply is complete: give that error to `failed`.
        """
        try:
            found = format_of(reply)
            turn = self.dialect.parse_reply(reply) if found is None else found.read_reply(reply)
        except InvalidMessage as unreadable:
            if (failed := unreadable_reply(reply, self.dialect, self.view.in_flight, unreadable)) is not None:
                self._append_facts([failed], Meta(cost=cost(failed.usage, failed.model)))
            raise
        if found is None and self.view.in_flight is not None:  # else `failed` could not log what had arrived
            must_have_ended(reply, turn, self.dialect)
        model = model_of_reply(reply, self.dialect)
        billed = Meta(model=model, cost=cost(turn.usage, model)) if model else None
        return self._append_facts([turn], billed)[0]

    @_locked
    def failed(
        self,
        error: object,
        *,
        body: object = "",
        headers: Mapping[str, str] | None = None,
        text: str = "",
        model: str = "",
        retry: Retry = DEFAULT_RETRY,
    ) -> RetryDecision:
        """Log that the open request failed, and decide what to do: ask again, at once or later, or give up.

            try:
                reply = client.chat.completions.create(model=model, **conv.request())
            except Exception as error:
                decision = conv.failed(error)

        `error`: what the SDK raised; or an HTTP status with its `body` and `headers`; or a response that has them.
        `text`: what had arrived of the reply; if the decision is to give up, the model reads it in later windows.
        `model`: the model that was asked, if you ask several. A limit is learned under its name, for forks too; without
        a name it holds for all requests of this conversation.

        An overflow teaches the limit, so that the next `request` is smaller (one that says nothing of tokens is about
        bytes: it makes the next attempt smaller, and teaches nothing); that `request` raises BudgetImpossible if
        nothing more can be left out. If only the answer had no room, the request stays as it is: ask for at most
        `decision.max_tokens`. Parts that the provider refused are left out, with a warning; `undo` brings them back,
        but not reasoning.

        Attempts are counted until the next reply or user message, in this object; `retry` says how many there are.
        Raises InvalidSetting if no request is open and the log does not end with a `Failure`, as that of `observe`; or
        if `error` is something else.
        """
        return self._own_loop.failed(self, error, body, headers, text=text, model=model, retry=retry)

    @_locked
    def tool_result(self, call_id: str, content: object, *, failed: bool = False) -> int:
        """Log the answer to a tool call: a text, a list of content parts, an MCP `CallToolResult`, or any other value.

        The model reads what it would read if a tool had returned the value in `run`: its JSON, the text of bytes, or
        `str(content)`; of an exception what it would read if a tool had raised it. Returns the number of the entry. A
        call without an id (Gemini's) is answered by its name. `failed`: the tool reported an error.

        If a request has left meanwhile, the call was closed with a synthetic result, and the model reads this answer in
        a note, as a late result. If the call has a real result already, the second one is stored but never shown, and
        `logging` gets a warning. If a person has changed the arguments of the call in `approve`, a line before the
        answer tells the model so. Raises InvalidMessage if no call has this id, and for a value that cannot be read: an
        iterator, a coroutine or a future, one that is nested too deep or whose `repr` raises.
        """
        answer = tool_answer(self.dialect, check.call_id(call_id), content, failed=failed)
        return self._append_facts([approvals.with_change(self.view, answer)], known_calls_only=True)[0]

    @_locked
    def clip_new(self) -> list[int]:
        """Make now the edits on what is new that the next request would make: clip it, if it is too long.

        New is what no request has carried yet: results of tools, and also the texts and arguments of the model and what
        the user says. The policy's `arrival` strategies decide. That of `default` clips nothing, however long a result
        is, while the window is below the policy's trigger. Returns the numbers of the edits (trims; a fold if a turn
        can never fit); an empty list if nothing is clipped.

        It is for a loop that keeps messages of its own and wants clipped results in them: call it after `tool_result`,
        and read `view`.
        """
        return self._planner.clip_new()

    @_locked
    def append(self, fact: Fact, meta: Meta | None = None) -> int:
        """Log any fact, and return the number of its entry. `meta`: stored with it, with the `tags` of the conversation
        where it says nothing; None: only these tags. A reply is placed where the open request was sent. The text of a
        `Recalled` is redacted first if the conversation has `redact`. Raises InvalidMessage for anything but a `Fact`,
        and for a `meta` that is no `Meta`.

        A tool result without an open call is shown as a late result if a synthetic result has closed its call.
        Otherwise it is stored but never shown, and `logging` gets a warning.
        """
        return self._append_facts([check.fact(fact, meta)], meta)[0]

    @_locked
    def extend(self, messages: Sequence[object]) -> list[int]:
        """Log messages that happened elsewhere, all or none, and return the numbers of their entries.

        A message is a dict of the dialect, a client library's message object, or a message of LangChain, pydantic-ai or
        the OpenAI Agents SDK. Or all of them are `Fact`s; facts and messages cannot be mixed. Raises InvalidMessage,
        with nothing stored, if one cannot be read. A tool result without an open call is treated as in `append`.
        """
        return self._append_facts(facts_of(messages, self.dialect))

    @_locked
    def readback(self, name: str, arguments: object) -> str:
        """Answer a call of one of the tools that read the log back (`transom.readback.TOOLS`). The call and the answer
        are not logged: give the answer to `tool_result`.

        `name`: of the tool. `arguments`: what the model wrote, as a JSON text or a dict. The answer is a text that is
        short enough for the window, redacted if the conversation has `redact`. Nothing that a model writes raises: the
        answer says what is wrong.
        """
        limit, redact = answer_limit(self.budget), self._planner.settings.redact
        return answer_call(self.log, name, arguments, limit, search=self.search, redact=redact)

    def search(
        self,
        query: str,
        *,
        scope: SearchScope = "conversation",
        limit: int = 10,
        roles: Sequence[str] = (),
        tools: Sequence[str] = (),
        run_id: str = "",
        file: str = "",
        since: float | None = None,
        until: float | None = None,
        include_hidden: bool = False,
        embedder: Embedder | None = None,
    ) -> list[SearchHit]:
        """Find what was said: the best entries for a query, the best one first, at most `limit` (1 to 1,000).

        `scope`: this "conversation"; all conversations of its "user", which needs a `user_id`; or the whole "store". A
        conversation that was made of a log has no store: it searches itself only. The query is words, names, parts of
        names, or the text of an error, in any language; no character of it has a special meaning. See SearchFilters for
        the filters. `embedder`: finds entries of a similar meaning, too.

        What was appended since the last search is indexed first, so the first search of a large store is slow. Raises
        InvalidSetting, StoreUnavailable.
        """
        with self._guard.lock:
            self._guard.must_be_open()
            if self._search is None:
                self._search = ConversationSearch(self.log, self.store, self.user_id)
        filters: dict[str, object] = {
            "roles": roles,
            "tools": tools,
            "run_id": run_id,
            "file": file,
            "since": since,
            "until": until,
            "include_hidden": include_hidden,
        }
        return self._search.search(query, scope, limit, filters, embedder)

    # ---- the next call

    def request(
        self, *, tools: Sequence[ToolLike] | None = None, state: Mapping[str, State] | None = None, cache: bool = False
    ) -> Request:
        """What is about to be sent: the keyword arguments of the SDK's call, in the conversation's dialect.

        `client.chat.completions.create(model=…, **conv.request(tools=…))`, and the same for `responses.create`,
        `messages.create` and `generate_content`. The request is logged before it is returned; `window` only looks. With
        nothing new in the log it is the same request again.

        `tools`: functions, `FunctionTool`s or schemas. They count, and their schemas are among the arguments. None
        means those of the last request, [] none. Other tools than the last ones break the cached prefix. `state`: texts
        by key that the model reads when they change, beside the conversation's own `state`; of a key that is missing
        now, the model reads that it is removed. `cache`: with Anthropic's cache marks.

        What the API's documentation forbids, and the API was seen to take, is sent; `logging` gets one warning of it.
        Tools that only another API has are left out, and one warning names them.

        Raises BudgetImpossible, which lists what takes the room; InvalidMessage if the request would have no messages
        (no provider takes that), if `tools` has something that is no tool, or if another writer's reply has answered
        meanwhile; ConversationBusy if somebody else runs this conversation; InvalidSetting.
        """
        return run_steps(self._request_steps(tools=tools, state=state, cache=cache))

    def _request_steps(
        self, *, tools: Sequence[ToolLike] | None = None, state: Mapping[str, State] | None = None, cache: bool = False
    ) -> SummarySteps[Request]:
        """The steps of `request`."""
        if not self.view.slots:
            with self._guard.lock:
                self._guard.must_be_open()
                self._writer.catch_up()  # another writer may have said something
        # what has no content has no slot: with a slot there is a message
        if not self.view.slots and not render_messages(self.window(tools=tools, state=state).view, self.dialect):
            raise InvalidMessage("messages", "none has content or calls, so there is nothing to send")

        def rendered(window: Window) -> Request:
            self._planner.cache_marks = cache
            request = Request.of(window, self.dialect, cache=cache, indexes=self.indexes)
            self._planner.warn_once_of(request)
            return request

        return self._steps.request(tools, state, rendered)

    def plan_request(
        self, *, tools: Sequence[ToolLike] | None = None, state: Mapping[str, State] | None = None
    ) -> Window:
        """Plan and log the next request, and return its window instead of the arguments of an SDK's call:
        `transom.render` makes the request of it, in any dialect. Otherwise as `request`, which says what is raised; but
        a window without any message is not refused here."""
        return run_steps(self._plan_request_steps(tools=tools, state=state))

    def _plan_request_steps(
        self, *, tools: Sequence[ToolLike] | None = None, state: Mapping[str, State] | None = None
    ) -> SummarySteps[Window]:
        """The steps of `plan_request`."""
        return self._steps.request(tools, state, lambda window: window)

    @_locked
    def window(
        self,
        *,
        tools: Sequence[ToolLike] | None = None,
        state: Mapping[str, State] | None = None,
        view: View | None = None,
    ) -> Window:
        """The window that `request` would send now, or on another `view` of this log. `tools`, `state`: as for
        `request`, also where they are wrong. Nothing is appended, and no model is asked: a compaction that waits for a
        new summary is shown without it. Raises BudgetImpossible; InvalidSetting if `view` is no View."""
        return self._planner.window(tools, state, None if view is None else check.view("view", view))

    @_locked
    def set_mode(
        self, mode: Mode, profile: Profile | None = None, *, directive: Directive | None = None, new_head: bool = False
    ) -> ModeChange:
        """Set the mode of the next requests ("chat", "agent" or "run"); returns what that costs. Nothing is logged now.

        `profile`: what the model is told in each mode; None keeps the last one. `directive`: what a run must do; run
        mode needs one, the other modes take none. Set the mode again with another directive for the next step, and with
        a completed one at the end. Every fact from now on has the mode, and the `run_id` of the directive, in its
        `Meta`.

        The log and the system prompt that was sent stay as they are, so that the cached prefix holds. What is different
        is announced in notes. The system prompt is renewed when a compaction breaks the prefix; with `new_head` it is
        renewed in the next request, which then is read as a whole. To learn the price first, set the mode with
        `new_head`, read what it costs, and set it again without.

        The cost is that of a request with the tools of the last one: other tools break the prefix in any mode.

        A reopened conversation has no mode until it is set again; with the same profile and directive nothing is
        announced twice. Raises InvalidSetting; BudgetImpossible, with the mode as it was, if the next request would not
        fit.
        """
        return self._planner.set_mode(mode, profile, directive, new_head=new_head)

    @_locked
    def prepare(self) -> None:
        """Compute now what the strategies will need for the next plan, for example while the model is answering. Other
        threads that use the conversation wait meanwhile.

        Nobody has to call it: the next request is planned faster, and its window is the same.
        """
        self.policy.prepare(self.view, self.budget, self.indexes)

    @_locked
    def explain(self, at: int | None = None, *, view: View | None = None) -> Explanations:
        """Why the window is what it is: by what is logged now, or at call number `at`, counted from 1 (negative: from
        the last), or in another `view` of this log.

        What the next request would decide, such as a compaction, is not logged yet, so it is not in it: before the
        first request every fact is whole. `conv.explain(view=conv.window().view)` has it. The edits that it names then
        have the numbers that they would get.

        The result is a list with one explanation for each fact. Its `costs` are those that decided the compaction of
        that call, or of the newest one, which `transom explain` prints too. `no_summary` says why no summary would be
        asked for now; it is empty with `at`. With `view` there are no costs, and `no_summary` is empty. Raises
        InvalidSetting if there is no such call, if `view` is no View, or if `at` and `view` are both given.
        """
        if view is not None:
            if at is not None:
                raise InvalidSetting("explain: give at or view, not both")
            return Explanations(explain(check.view("view", view)))
        found = explain(self.view if at is None else self.view_at_call(at))
        costs = costs_of_call(self.log, at)
        return Explanations(found, costs=costs, no_summary=self._steps.why_no_summary() if at is None else "")

    @_locked
    def edit_costs(self, at: int | None = None) -> list[EditCost]:
        """What each edit saves in every request, and how much of the cached prefix it breaks.

        The edits are those that the next request would bring with it, or those made for call number `at`, counted as in
        `explain`. Raises InvalidSetting if there is no such call; BudgetImpossible if the next request would not fit.
        """
        if at is not None:
            return edit_costs_since(self.log, self.view.counter, sent_request(self.log, at).seq)
        return list(edit_costs(self.view, self._planner.plan_again().entries))

    @_locked
    def view_at_call(self, call: int) -> View:
        """The view that call number `call` saw, computed from the log. Calls are counted from 1, or from the last if
        negative. Raises InvalidSetting if there is no such call."""
        return build_view(self.log, self.view.counter, sent_request(self.log, call).seq)

    # ---- edits

    @_locked
    def pin(self, entry: int, why: str = "") -> int:
        """Keep an entry's unit in every window that has room, from now on. Returns the number of the pin, for `undo`.

        If you have pinned that unit already, nothing is stored, and the number is that of the older pin. Raises
        InvalidEdit if the log has no such entry, or if the entry is in no unit, as an edit or a `Sent` is.
        """
        return edits.pin(self._writer, entry, why)

    @_locked
    def undo(self, edit: int | None = None, why: str = "") -> list[int]:
        """Take back a fold, trim, pin or summary, and return the numbers of the entries that this appends.

        `edit`: the number of its entry; only this one is taken back. None: the newest edit in force, and everything
        else that the same plan decided, so the whole last compaction. What that plan had taken back is placed again;
        those entries are in the result too. It is empty if another writer has taken the compaction back meanwhile.

        Raises InvalidEdit if the entry `edit` is nothing that is in force; without a number, if no edit is in force.
        """
        return edits.undo(self._writer, edit, why)

    @_locked
    def edit(self, edit: Edit) -> int:
        """Append an edit, a `Fold`, `Trim`, `Pin` or `Undo`, and return the number of its entry. Raises InvalidEdit,
        with nothing stored, if it does not apply to the newest view, or is no edit."""
        return edits.append_edit(self._writer, edit)

    @_locked
    def preview_edit(self, edit: Edit) -> View:
        """The view that an edit would make; nothing is appended. Raises InvalidEdit if the edit does not apply."""
        return edits.preview(self.view, edit, self._planner.settings.clock())

    @_locked
    def last_edit(self) -> int:
        """The number of the newest fold, trim or pin that is live: that applies and was not undone. Raises InvalidEdit
        if there is none."""
        return edits.live_edit(self.view, "last_edit")

    def compact(self, *, focus: str = "", notes: str | Sequence[str] = ()) -> Compacted:
        """Compact the window now, although it is not full: what the policy would do if it were full at its size now.

        With a summarizer, and a policy that shows summaries, it waits for a summary of all that is folded, until the
        deadline; without a summarizer it does not wait. `focus`: what the summary should keep above all. `notes`: texts
        that this summary and all later ones repeat word for word.

        The edits and the summary are one plan, so `undo` without a number takes all of them back. If the policy never
        compacts, or finds nothing to take away, no edits are made, and the result's `edits` are empty. What an undo has
        brought back is not taken away again while the window fits. The conversation's model is not called. If the model
        of the summary fails or is late, the record stands alone, behind the notes if there are any. `failure` of the
        result says why there is no summary, and when a focus or notes were not used.

        Raises InvalidSetting while a run is at work, also if it began while the summary was made; for a focus or notes
        of more than 20,000 characters; and for any in a conversation without a summarizer, unless its policy makes
        summaries by itself ("summary", "native"). Raises ConversationBusy if somebody else runs this conversation;
        BudgetImpossible.
        """
        return run_steps(self._compact_steps(focus=focus, notes=notes))

    def _compact_steps(self, *, focus: str = "", notes: str | Sequence[str] = ()) -> SummarySteps[Compacted]:
        """The steps of `compact`."""
        asked = SummaryOptions(waits=True, focus=check.focus(focus), notes=check.notes(notes))
        return (yield from self._steps.compact(asked))

    def _compact_in_run(self, asked: SummaryOptions) -> SummarySteps[Compacted]:
        return self._steps.compact(asked, within_run=True)

    # ---- approvals

    @_locked
    def pending(self) -> list[ToolCalled]:
        """The tool calls that wait for a person's approval, the oldest first, also those that another process logged.

        Each has its name, its arguments and an id. If it is the call of a sub-agent that has begun, its `conversation`
        names the sub-agent's, in which other calls wait. A call that was approved does not wait any more: see
        `approved`.
        """
        self._writer.catch_up()
        return self._pending_calls()

    @_locked
    def approved(self) -> list[ToolCalled]:
        """The tool calls that somebody has approved and no run has started, the oldest first, also those that another
        process logged. The next `run` runs them. Each has the arguments that the tool will get."""
        self._writer.catch_up()
        return approvals.approved_calls(self.view)

    @_locked
    def approve(
        self, call: ToolCalled | str, *, arguments: Mapping[str, object] | str | None = None, why: str = ""
    ) -> int:
        """Log that a call of `pending`, or the one with this id, may run; the next `run` runs it. Returns the number of
        the entry.

        `arguments`: what the tool gets in place of the model's arguments, as a dict or the JSON of an object; None: the
        model's own. The call stays in the log as the model wrote it, and the result tells the model what was changed.
        `why`: for people.

        Raises InvalidSetting if the call does not wait, because it never did or somebody has decided already; if
        several calls have the id; and if a required argument is missing, or an argument has a name or a plain type that
        the tool's schema excludes. The tool checks the rest when it runs. A sub-agent that has begun takes no other
        arguments: that raises InvalidSetting too. Raises InvalidEdit if `why` is no text.
        """
        return approvals.approve(self._writer, call, arguments, why, self._home)

    @_locked
    def reject(self, call: ToolCalled | str, why: str = "") -> int:
        """Log that a call must not run, and its result, which tells the model so. `call`: as for `approve`; a call that
        was approved can be rejected until a run has started it. `why`: the reason, which the model reads too; it may be
        empty. Returns the number of the result.

        Raises InvalidSetting if the call has been rejected or started already or never waited, or if several calls have
        the id; InvalidEdit if `why` is no text.
        """
        return approvals.reject(self._writer, self.dialect, call, why)

    @_locked
    def require_approval(self, call_id: str) -> int:
        """In your own loop: log that an open tool call waits for a person; it is in `pending` then. It returns at once,
        with the number of the entry. `run` does this by itself. Raises InvalidMessage if no open call has this id, or
        if the call waits already or somebody has decided about it."""
        return approvals.require_approval(self._writer, check.call_id(call_id))

    @_locked
    def take_approved(self) -> list[ToolCalled]:
        """In your own loop: log that the calls of `approved` are started now, and return them, with the arguments that
        the tool gets. Whoever logs it runs them, and nobody else; then give `tool_result`."""
        self._writer.catch_up()
        return approvals.take_approved(self._writer)

    def _pending_calls(self) -> list[ToolCalled]:
        view = self.view
        return approvals.pending_calls(view, self.log.name, self._home) if view.approvals else []

    @_locked
    def _log_pending(self, calls: Sequence[ToolCalled]) -> None:
        approvals.log_pending(self._writer, calls)

    # ---- running

    def run(self, input: Content | None = None, **settings: Unpack[RunOptions]) -> RunResult:  # noqa: A002
        """Run an agent until the model answers: model calls, tool calls, retries, compactions. Every step is logged.

        `input`: what the user says, or `messages` of which the last is the user's. With neither, the run goes on where
        the last one ended; if the model has answered already and nothing is left to do, its answer is the result, and
        no request is sent. `provider` is a name ("openai:gpt-5", "anthropic:claude-sonnet-5-5",
        "openai:qwen3@http://localhost:8000/v1") or a provider. `tools` are functions, `FunctionTool`s, or schemas. See
        RunOptions for the rest.

        A call that needs a person's approval makes the run stop: the result has it in `pending`, and the log keeps it.
        Decide with `approve` or `reject`, in any process, and run again, with the function of the call in `tools`. If
        the user says something first, the model answers that, and is told that the call waits.

        Raises ProviderError if the model gave no usable reply after all retries, RunStopped at a limit or if it was
        cancelled, InvalidOutput if no answer fits `output_type`, ConversationBusy if somebody else runs this
        conversation, BudgetImpossible, InvalidMessage, InvalidSetting. Whatever is raised, the log is valid: run again
        to go on.
        """
        steps = self._start(input, settings, stream=False)
        return drained(drive(steps, approve=settings.get("approve"), cancel=settings.get("cancel")))

    def stream(self, input: Content | None = None, **settings: Unpack[RunOptions]) -> Generator[Event, None, RunResult]:  # noqa: A002
        """As `run`, event by event: text as it comes, tool calls and results, failures; the last one is `Finished`.

        Settings are checked at once; the run begins, and `input` is logged, when the first event is asked for. Leaving
        the loop early (`break`, then `close()`) stops the run: what had arrived is logged.
        """
        steps = self._start(input, settings, stream=True)
        return drive(steps, approve=settings.get("approve"), cancel=settings.get("cancel"))

    def subscribe(self, kind: type[K], callback: Callable[[K], object]) -> Callable[[], None]:
        """Call `callback` with each event of the class `kind`. Returns a function that ends the subscription.

        The events are those of `transom.conversation.event_bus`, and those of runs except `TextDelta` and
        `ReasoningDelta`; the class `object` means all of them. Those of a sub-agent's own conversation are not among
        them. The callback is called after the event was logged, in the thread where it happened. For the events of the
        bus the conversation is locked meanwhile; for those of a run it is not, and the run goes on after the callback.
        A callback may read the conversation, and must be quick. An exception that it raises is reported with `logging`,
        and changes nothing. Raises InvalidSetting if `kind` is no class, or `callback` no function.
        """
        return self._bus.subscribe(kind, callback)

    @_locked
    def plan_for(self, model: str) -> None:
        """Plan the next requests for a model that you call yourself ("openai:gpt-5"): within the size of its context
        window, if that is known and no budget was given, and within the limit that its refusals have taught. That holds
        until a run, another `plan_for`, or a `failed` that names a model. The dialect stays. Raises InvalidSetting for
        a name that is no text."""
        self._planner.use_limits_of(check.model(model), was_refused=False)

    @contextmanager
    def lease(self, wait: float = 0) -> Generator[None]:
        """Be the only one who runs this conversation during the block, among all that have opened it, in any process.

            with conv.lease(wait=30):
                conv.user(text)
                reply = client.chat.completions.create(model=model, **conv.request())
                conv.observe(reply)

        A run holds such a lease by itself. In one's own loop, `request` takes one too, and a reply without calls ends
        it; it also ends if nothing was requested for 30 seconds. The lease of a block is renewed as long as the process
        lives. Others may still append facts, such as a user's message.

        `wait`: seconds to wait while somebody else has the lease. Raises ConversationBusy if they still have it then;
        InvalidSetting for a wrong `wait`, and if the conversation is closed.
        """
        with ExitStack() as stack:
            for pause in until_free(partial(self._guard.hold_lease, stack), check.seconds("wait", wait)):
                time.sleep(pause)
            yield

    # ---- forks, and the end

    @_locked
    def fork(self, at: int | None = None, name: str | None = None) -> Self:
        """Begin a conversation that has everything up to entry `at` (default: the last one), and its own future.

        It is in the same store, and has the settings of this one: budget, policy, state, mode. The entries up to `at`
        are equal, with the same numbers; the next one, `Forked`, names this conversation. Calls that are open at `at`
        are closed before the next request, as after a crash. `name`: its id; by default the id of this one and `at`:
        "trip@41", or if that is taken "trip@41 (2)", and so on.

        Close it like any other. A sub-agent's conversation is forked too if its call waits at `at`: nobody has decided,
        or it is approved and not started. Raises InvalidSetting if there is no entry `at` (an empty conversation has
        none), if a conversation has this `name` already, or if this one was made of a log and has no store.
        """
        if self._home is None:
            raise InvalidSetting("fork: this conversation was made of a log: open it from a store")
        if name is not None:
            check.names(self._home, name)
        log = fork_log(self._home, self.log, at=at, name=name, clock=self._planner.settings.clock)
        child = type(self).__new__(type(self))
        child._use(self._planner.fork(log), self._steps.live)
        child._home = self._home
        child._store = None if self._store is None else self._store.share()
        return child

    def close(self) -> None:
        """End a run that is not over, give up a summary that is made in the background, leave a snapshot for a fast
        opening, and close the store if `open` opened it and no fork of this conversation is open.

        Without `close`, too, nothing is lost that a method has logged. After it, every method that reads or appends
        raises InvalidSetting; properties still show the last state.
        """
        with ExitStack() as steps:  # the last one first; each is done also if one before it fails
            steps.enter_context(self._guard.lock)
            if self._guard.is_closed:
                return
            if self._store is not None:
                steps.callback(self._store.close)
            steps.callback(self._planner.close)
            steps.callback(setattr, self._guard, "is_closed", True)
            steps.callback(self._guard.lease.release)
            steps.callback(self._steps.abandon)
            steps.callback(self._steps.take_finished)
            for run in list(self._runs):  # a stream that was left, perhaps
                steps.callback(run.stop)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # ---- private

    def _change(self, **settings: object) -> None:
        self._planner.settings = replace(self._planner.settings, **settings)

    def _start(self, input: Content | None, options: RunOptions, *, stream: bool) -> RunSteps:  # noqa: A002
        """The steps of a run, for a driver."""
        steps = start(self, input, options, stream=stream)
        published = PublishedSteps(steps, self._bus)
        self._runs.add(published)
        return published

    @contextmanager
    def _exclusively(self) -> Generator[None]:
        """A context manager for a run: only one run at a time. It first takes in what other writers have logged. Raises
        ConversationBusy."""
        with self._guard.run():
            with self._guard.lock:
                self._writer.catch_up()
            yield

    @_locked
    def _use_model(self, provider: Provider, *, was_refused: bool = False, at_most: int = 0) -> None:
        self._planner.use_model(provider, was_refused=was_refused, at_most=at_most)
        self._steps.live = provider

    def _must_be_new(self) -> None:
        if n := self.view.length:
            raise InvalidSetting(f"conversation {quote(self.log.name)} has {n:,} entries already: open and extend it")

    def _append_facts(
        self, facts: Sequence[Fact], meta: Meta | None = None, *, known_calls_only: bool = False
    ) -> list[int]:
        """As `LogWriter.append_facts`, with recalled text redacted. In a caller's own loop, a reply or a user message
        ends the attempts of the request before; a reply without calls ends the lease too."""
        if (redact := self._planner.settings.redact) is not None:  # what is recalled comes from elsewhere
            view, indexes = self.view, self._planner.indexes
            facts = [redacted_recall(view, one, redact, indexes) if isinstance(one, Recalled) else one for one in facts]
        new = self._writer.append_facts(facts, meta, known_calls_only=known_calls_only)
        if self._own_loop.attempts is not None and any(isinstance(fact, (Assistant, User)) for fact in facts):
            self._own_loop.begin_anew()
        if any(isinstance(fact, Assistant) and not fact.calls for fact in facts):  # the turn of one's own loop is over
            self._guard.lease.release()
        return new
