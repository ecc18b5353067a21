"""Collects what a plan needs (limits, head and state, mode), has it made by `core/plan.py`, and appends it to the log.

It does not lock, and does not check that the conversation is open: the caller has done both.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from transom.conversation import argument_checks as check
from transom.conversation.appending.log_writer import LogWriter, tagged
from transom.conversation.events import Compacted
from transom.conversation.function_tool import ToolLike, tool_schemas
from transom.conversation.planning.modes import (
    Directive,
    Mode,
    ModeChange,
    ModeSettings,
    Profile,
    breaks_half,
    change_of,
    checked_mode,
    mode_notes,
    system_text,
)
from transom.conversation.settings import ASSUMED, Settings, SharedLimit, SharedLimits
from transom.conversation.state_and_head_parts import (
    State,
    checked_state,
    current_texts,
    must_be_of_user,
    part_messages,
    system_prompt_and_parts,
)
from transom.conversation.usage import WindowUsage, window_usage
from transom.core.budget import Budget
from transom.core.entry import Entry, Sent
from transom.core.learned_limit import answered_size
from transom.core.log import IndexCache
from transom.core.message import Assistant, Failure, Head, Instruction, Raw
from transom.core.plan import Plan, compaction, edits_on_arrival, needs_nothing, plan
from transom.core.plan_draft import Draft
from transom.core.plan_request import PlanRequest, WindowOptions
from transom.core.summary import Summarise, Summary, SummaryOptions
from transom.core.unit import Unit, units_in
from transom.core.view import View
from transom.core.window import Window
from transom.errors import BudgetImpossible, InvalidMessage, quote
from transom.providers import Provider
from transom.providers.base import model_name
from transom.providers.model_prices import context_size
from transom.stores import StoredLog
from transom.stores.view_cache import view_cache
from transom.strategies.summary.native_compaction import compactions, without_compaction
from transom.wire.dialect import Dialect
from transom.wire.dialects import dialect_named, with_digest_role, with_foreign_tools
from transom.wire.rendering import Request, only_rendered
from transom.wire.tools import provider_tool_name

_logger = logging.getLogger(__name__)

_warned_of = set[tuple[str, float]]()
"""The conversations of which `warn_once_of` has warned in this process: the name, and the time of the first entry. A
program may open a conversation for each request, and would read the same line each time."""
_MOST_REMEMBERED = 10_000
"""If there are more, all are forgotten, and may be warned of again."""


class Planned(NamedTuple):
    """The result of `RequestPlanner.request`.

    With a window the request was logged: send it, and if `want` is set too, make that summary in the background.
    Without a window nothing was logged: make the summary `want` first, then call `request` again.
    """

    window: Window | None
    want: Summarise | None = None


class RequestPlanner:
    """Has the next request of one log planned by `core/plan.py`, and appends the plan. It does not lock, and does not
    ask whether the conversation is open: the caller does both. Raises InvalidSetting, when it is made, if the log, or a
    state or head part, belongs to another user."""

    def __init__(self, log: StoredLog, settings: Settings) -> None:
        shared = settings.shared_limits or SharedLimits()
        self.settings = replace(settings, shared_limits=shared)  # forks and sub-agents get it from there
        self.writer = LogWriter(log, settings.dialect.format_counter(settings.counter), settings.clock, settings.owner)
        self.writer.subscribe(self._share_refusals, only=Failure)
        self.writer.subscribe(self._share_replies, only=Assistant)
        cache = view_cache(log)
        self.indexes = IndexCache() if cache is None else cache.take_indexes(log.name)
        self.mode: ModeSettings | None = None
        self.cache_marks = False  # whether the last request had Anthropic's cache marks
        user_id = self.writer.owner.user_id
        must_be_of_user("state", settings.state, user_id)
        must_be_of_user("head_parts", settings.head_parts, user_id)
        self.options = WindowOptions(
            head=self._first_head(), redact=settings.redact, required_user_turn=settings.dialect.required_user_turn
        )
        self._known_context: int | None = None  # the size of the model's context window, if it is known
        self._model = ""  # the model that the last run used: its learned limit is in force
        self._of_earlier_mode = mode_notes(self.view)
        """What a mode of an earlier process has announced. It holds until `set_mode` is called in this one."""
        self._trusts_learned = True  # false once nothing fitted within the learned limit
        self._was_refused = False
        self._at_most = 0  # tokens, until the next reply; 0: no such limit
        self._has_warned, self._looked_at = False, 0  # see `warn_once_of`
        self._tools_looked_at: tuple[Dialect, tuple[Raw, ...]] | None = None
        self._left_out_tools = set[tuple[str, str]]()
        self._sent_window: tuple[int, Window] | None = None  # the last window, after the number of its `Sent`

    @property
    def view(self) -> View:
        """What the log shows now."""
        return self.writer.view

    def close(self) -> None:
        """Leave what makes the next opening in this process fast. Nothing is appended from now on."""
        self.writer.close(only_rendered(self.indexes, self.view, self.settings.dialect))

    # ---- settings

    def fork(self, log: StoredLog) -> RequestPlanner:
        """The planner of a fork, whose log is `log`. It takes over the settings, and also what is in no setting: the
        tags, the mode, and the model with its limits."""
        self._share_earlier()
        other = RequestPlanner(log, self.settings)
        other.writer.tags, other.mode = self.writer.tags, self.mode
        other._known_context, other._model = self._known_context, self._model
        return other

    def use_system(self, instructions: Sequence[Instruction]) -> None:
        """Take another system prompt for the next request."""
        self.settings = replace(self.settings, system=tuple(instructions))
        self.options = replace(self.options, head=replace(self.options.head, messages=tuple(instructions)))

    @property
    def system(self) -> tuple[Instruction, ...]:
        """The system prompt of the next request, without head parts."""
        return system_prompt_and_parts(self.options.head)[0]

    def use_model(self, provider: Provider, *, was_refused: bool = False, at_most: int = 0) -> None:
        """Plan the next requests for this model: in its dialect, and within the limit that its refusals have taught.

        In another dialect the log has other token counts, so the view is built anew. If nothing fits within the learned
        limit, the next plan does without it: the limit may be wrong, and sending is the only way to find out. But right
        after a refusal (`was_refused`) the limit holds. `at_most`: the most tokens of a request until the next reply;
        0 for no such limit.
        """
        self._trusts_learned, self._was_refused, self._at_most = True, was_refused, at_most
        self._model = model_name(provider)
        self._known_context = getattr(provider, "context_size", None)
        if self._known_context is None and self.settings.budget is ASSUMED:
            self._known_context = context_size(model_name(provider))
        known = self.settings.dialect
        if provider.dialect == known.name:
            return
        dialect = dialect_named(provider.dialect)
        if known.digest_role in dialect.digest_roles:
            dialect = with_digest_role(dialect, known.digest_role)
        if known.foreign_tools or getattr(provider, "takes_foreign_tools", False):
            dialect = with_foreign_tools(dialect)
        if dialect == known:  # a name for another form of the same dialect
            return
        self.settings = replace(self.settings, dialect=dialect)
        self.writer.count_with(dialect.format_counter(self.settings.counter))
        self._sent_window, self.indexes = None, only_rendered(self.indexes, self.view, dialect)
        self.options = replace(self.options, required_user_turn=dialect.required_user_turn)

    @property
    def model(self) -> str:
        """The model under whose name limits are learned: that of the last run, or the one named in one's own loop;
        without either the name of the dialect."""
        return self._model or self.settings.dialect.name

    def use_limits_of(self, model: str, *, was_refused: bool, at_most: int = 0) -> None:
        """Plan the next requests within the limit that the refusals of this model have taught, and within its context
        window if the caller gave no budget. The dialect stays, in which this differs from `use_model`. `model`: a name
        as in "openai:gpt-5". `was_refused`, `at_most`: as in `use_model`."""
        if model != self._model and self.settings.budget is ASSUMED:
            self._known_context = context_size(model)
        self._trusts_learned, self._was_refused, self._at_most = True, was_refused, at_most
        self._model = model

    def limits(self) -> Budget:
        """The budget, with no larger context window than the model has: its known size, or what was learned when it
        refused a request. If the caller gave no budget, the known size takes the place of the assumed one. Where the
        window is another than the budget's, its reserve is at most a quarter of it. After a request was refused for its
        bytes, the next attempt has a limit of its own too."""
        budget, learned = self.settings.budget, self._limit_of_refusals()
        if self._known_context is not None:
            most = self._known_context if budget is ASSUMED else min(self._known_context, budget.context)
            budget = _with_context(budget, most)
        return budget if learned is None else _with_context(budget, min(learned, budget.context))

    def set_mode(
        self, mode: str, profile: Profile | None, directive: Directive | None, *, new_head: bool
    ) -> ModeChange:
        """Change the mode; returns what that costs with the next request. Nothing is logged. `profile`: None keeps the
        last one, or takes the defaults. See `Conversation.set_mode` for the rest. Raises InvalidSetting for wrong
        arguments; BudgetImpossible, with the mode as it was, if that request would not fit."""
        wanted: Mode
        wanted, directive = checked_mode(mode, profile, directive)
        before, tags, earlier = self.mode, self.writer.tags, self._of_earlier_mode
        profile = profile or (Profile() if before is None else before.profile)
        self.mode = ModeSettings(
            mode=wanted,
            profile=profile,
            base=profile.rules or system_text(self.settings.system or ()),
            directive=directive,
            new_head=new_head,
        )
        self.writer.tags = replace(tags, mode=wanted, run_id=self.mode.run_id)
        self._of_earlier_mode = {}
        try:
            _, done = self._plan_next(self._options_for(None, None), None, None)
        except BaseException:
            self.mode, self.writer.tags, self._of_earlier_mode = before, tags, earlier
            raise
        return change_of("" if before is None else before.mode, self.mode, self.view, done)

    # ---- the next request

    def request(
        self,
        tools: Sequence[ToolLike] | None,
        state: Mapping[str, State] | None,
        *,
        asked: SummaryOptions | None = None,
        summary: Summary | None = None,
    ) -> Planned:
        """Plan the next request and log it. If the request must wait for a summary, it is not logged, and `Planned` has
        only what is wanted; a summary in the background is wanted beside the window. If a request is in flight and
        nothing is new, its window is returned again.

        `tools`: None keeps those of the last request, `[]` is none. `asked`: the options for a summary; None: the plan
        wants no summary. `summary`: one that was made for this request; None if there is none. Raises BudgetImpossible;
        InvalidSetting or InvalidMessage for wrong `tools` or `state`; InvalidMessage if another writer has logged a
        reply in the meantime.
        """
        self._leave_foreign_compactions()
        options, known = self._options_for(tools, state), self.view.length
        if self.view.in_flight is not None:
            self.writer.catch_up()
            self._must_have_something_new(known)
            if (in_flight := self._request_in_flight(options)) is not None:
                return Planned(in_flight)
        while True:
            options, done = self._plan_next(options, tools, state, asked, summary)
            want = done.wants[0] if done.wants else None
            if want is not None and want.waits:
                return Planned(None, want)
            if self.writer.append_plan(done):
                break
            self._must_have_something_new(known)
            options = self._options_for(tools, state)
        self.options, self._sent_window = options, (done.entries[-1].seq, done.window)
        return Planned(done.window, want)

    def _must_have_something_new(self, known: int) -> None:
        """Raises InvalidMessage if another writer's reply has answered what this request would ask."""
        view = self.view
        if view.length == known or not view.slots or not isinstance(last := view.slots[-1], Unit):
            return
        said = last.seqs[0]
        if said >= known and isinstance(last.first_fact, Assistant) and not last.first_fact.calls:
            raise InvalidMessage("request", f"another writer's reply, entry {said}, has answered meanwhile")

    def last_request(self) -> tuple[Raw, int] | None:
        """The request that was sent last, as arguments of the SDK, and the tokens of its window, calibrated. None if
        this process has sent none, or none in the present dialect."""
        if self._sent_window is None:
            return None
        window = self._sent_window[1]
        request = Request.of(window, self.settings.dialect, cache=self.cache_marks, indexes=self.indexes)
        return request, window.tokens

    def warn_once_of(self, request: Request) -> None:
        """Log a warning of the tools that the dialect leaves out, and one of what `Dialect.warnings` finds in a
        request. Each is logged the first time only, because it concerns every later request too: of the tools in each
        opening, of what is found once in this process.

        A request is searched if it has fewer messages than the last one that was searched, or at least twice as many: a
        search reads all of it. Once something was found, none is searched any more.
        """
        self._warn_of_left_out_tools(request.window.view.head.tools)
        messages = request.window.size.messages
        if self._has_warned or self._looked_at <= messages < 2 * self._looked_at:
            return
        self._looked_at = messages
        if found := self.settings.dialect.warnings(request):
            self._has_warned = True
            name, first, log = self.writer.log.name, found[0], self.view.log
            if (name, log[0].at) not in _warned_of:
                if len(_warned_of) >= _MOST_REMEMBERED:
                    _warned_of.clear()
                _warned_of.add((name, log[0].at))
                text = "conversation %s: a request may be refused: message %d: %s"
                _logger.warning(text, quote(name), first.index, first.why)

    def _warn_of_left_out_tools(self, tools: tuple[Raw, ...]) -> None:
        """Log a warning of the tools that the dialect leaves out and that no warning has named."""
        dialect = self.settings.dialect
        known, self._tools_looked_at = self._tools_looked_at, (dialect, tools)
        if known is not None and known[0] is dialect and known[1] is tools:
            return
        names = dict.fromkeys((dialect.name, provider_tool_name(each)) for each in dialect.left_out_tools(tools))
        new = [name for name in names if name not in self._left_out_tools]
        if not new:
            return
        self._left_out_tools.update(new)
        text = (
            "conversation %s: requests in the dialect %s are sent without these tools of another API: %s. A dialect "
            "with foreign_tools=True sends them"
        )
        listed = ", ".join(name for _, name in new)
        _logger.warning(text, quote(self.writer.log.name), dialect.name, listed)

    def last_sent_unit(self) -> int:
        """The key of the last unit in the request that was sent last; -1 if this process has sent none, or none in the
        present dialect."""
        if self._sent_window is None:
            return -1
        before = self._sent_window[0]
        keys = (unit.key for slot in reversed(self.view.slots) for unit in reversed(list(units_in(slot))))
        return next((key for key in keys if key < before), -1)

    def _leave_foreign_compactions(self) -> None:
        """Log records in place of the compactions of another model: only the model that made one can read it."""
        if not self._model or not self.view.summaries.made:
            return
        for seq, summary in compactions(self.view):
            if summary.made_by != self._model:
                why = f"made by {summary.made_by}; now {self._model} goes on"
                self.writer.append_new(
                    lambda view, at, seq=seq, why=why: _without_compaction_entries(view, at, seq, why)
                )

    def window(self, tools: Sequence[ToolLike] | None, state: Mapping[str, State] | None, view: View | None) -> Window:
        """The window that `request` would send now, or on another `view` of the log. `tools`, `state`: as for
        `request`. Nothing is appended. Raises BudgetImpossible; InvalidSetting or InvalidMessage for wrong `tools` or
        `state`."""
        options = self._options_for(tools, state)
        if view is not None:
            return self._plan(view, options).window
        return self._request_in_flight(options) or self._plan_next(options, tools, state)[1].window

    def plan_again(self) -> Plan:
        """The plan of the next request, with the head and the state of the last one. Nothing is appended. Raises
        BudgetImpossible."""
        return self._plan(self.view, self.options)

    def compaction_want(self, asked: SummaryOptions) -> Summarise | None:
        """The summary that `compact` would show if it were made first; None if no strategy asks for one. Nothing is
        appended. `asked`: the options for the summary. Raises BudgetImpossible."""
        wants = compaction(self._plan_request(self.view, self.options, summary_options=asked))[1]
        return wants[0] if wants else None

    def compact(self, summary: Summary | None = None) -> Compacted:
        """Append the edits that the policy would make if the window were full at its size now. `summary`: made for this
        compaction; it is appended with the edits, or alone if there are none. None: there is none, and without edits
        nothing is appended. Raises BudgetImpossible, with nothing appended."""
        before = self.view

        def entries_for(view: View, at: float) -> tuple[Entry, ...]:
            entries = compaction(replace(self._plan_request(view, self.options, summary=summary), at=at))[0]
            if summary is not None and len(entries) == 1:  # there are no edits: the summary belongs to no plan
                return (view.entry(summary, at),)
            return entries

        entries = self.writer.append_new(entries_for)
        return Compacted.of(before, self.view, entries)

    def clip_new(self) -> list[int]:
        """Append the edits that the policy makes on arrival. Returns the numbers of their entries."""

        def entries_for(view: View, at: float) -> tuple[Entry, ...]:
            return edits_on_arrival(replace(self._plan_request(view, self.options), at=at))

        return [entry.seq for entry in self.writer.append_new(entries_for)]

    def usage(self, view: View) -> WindowUsage:
        """How full the window of a view is, within the limits of the next request."""
        return window_usage(view, self.limits(), self.settings.policy)

    # ---- private

    def _request_in_flight(self, options: WindowOptions) -> Window | None:
        """The window of the request in flight, if it can be sent as it is; else None."""
        sent = self.view.in_flight
        if sent is None or sent.seq != self.view.length - 1 or not needs_nothing(self.view, options, self.limits()):
            return None
        if self._sent_window is None or self._sent_window[0] != sent.seq:
            self._sent_window = sent.seq, Window.of_request_in_flight(self.view)
        return self._sent_window[1]

    def _plan_next(
        self,
        options: WindowOptions,
        tools: Sequence[ToolLike] | None,
        state: Mapping[str, State] | None,
        asked: SummaryOptions | None = None,
        summary: Summary | None = None,
    ) -> tuple[WindowOptions, Plan]:
        """The next request's options and plan."""
        try:
            done = self._plan(self.view, options, asked, summary)
        except BudgetImpossible:
            if self._was_refused or self._limit_of_refusals() is None:
                raise
            self._trusts_learned = False
            done = self._plan(self.view, options, asked, summary)
        # without a mode and head parts the head is what the caller gave; a changed one is sent in this request already
        has_newest_head = self.mode is None and (not self.settings.head_parts or options.head != self.view.head)
        if has_newest_head or not breaks_half(self.view, done):
            return options, done
        renewed = self._options_for(tools, state, at_break=True)
        if renewed.head == options.head:
            return options, done
        try:
            return renewed, self._plan(self.view, renewed, asked, summary)
        except BudgetImpossible:  # the head that was sent fits
            return options, done

    def _limit_of_refusals(self) -> int | None:
        """The tokens that the next request may have after the refusals so far; None if nothing limits it."""
        if not self._trusts_learned:
            return None
        limits = (self._learned_limit(), self._at_most or None)
        return min((limit for limit in limits if limit is not None), default=None)

    def _learned_limit(self) -> int | None:
        """The tokens that all requests of this model may have, because it refused more; None if it refused none. The
        limit is in the provider's tokens, and falls in proportion where this log's ratio is smaller. The shared limit
        of a model holds: this log's refusals and replies have taught it too."""
        own = self.view.model_limits.get(self.model)
        if own is not None:
            self._share_earlier()
        known = self._shared_limits.by_model.get(self.model)
        calibration = self.view.token_calibration
        if own is not None:
            known = SharedLimit(known.limit if known else own, calibration.of_refusal or calibration.ratio)
        if known is None:
            return None
        return int(known.limit.tokens * min(1.0, calibration.ratio / calibration.at_limit(known.ratio)))

    @property
    def _shared_limits(self) -> SharedLimits:
        assert self.settings.shared_limits is not None, "made when the planner was"
        return self.settings.shared_limits

    def _share_earlier(self) -> None:
        """Share the limits that this log has from an earlier process."""
        for model, limit in self.view.model_limits.items():
            if self._is_shared(model):
                self._shared_limits.learned_elsewhere(model, limit, self.view.calibration)

    def _share_refusals(self, _before: View, after: View, entries: Sequence[Entry]) -> None:
        for entry in entries:
            if isinstance(failure := entry.body, Failure) and failure.limit and failure.model:
                if not self.writer.is_catching_up:  # else the writer that was refused has warned already
                    notice = _limit_notice(failure, entry, after)
                    _logger.warning("conversation %s: %s", quote(self.writer.log.name), notice)
                if self._is_shared(failure.model):
                    known = after.model_limits[failure.model]
                    self._shared_limits.learn(failure.model, failure.limit, after.calibration, known)

    def _share_replies(self, before: View, after: View, entries: Sequence[Entry]) -> None:
        self._at_most = 0
        requests = [entry for entry in (before.in_flight, *entries) if entry is not None]
        sent = {entry.seq: entry.body for entry in requests if isinstance(entry.body, Sent)}
        for entry in entries:
            turn = entry.body
            request = sent.get(turn.answers or 0) if isinstance(turn, Assistant) else None
            if request is None or not isinstance(turn, Assistant) or request.model not in self._shared_limits.by_model:
                continue
            calibration = after.token_calibration
            self._shared_limits.answered(request.model, answered_size(request, turn.usage, calibration), calibration)

    def _is_shared(self, model: str) -> bool:
        """Whether a limit is shared with other conversations: if it has the name of a model. A limit that is known
        under the name of the dialect alone may be another model's there."""
        return model not in {"", self.settings.dialect.name}

    def _plan(
        self, view: View, options: WindowOptions, asked: SummaryOptions | None = None, summary: Summary | None = None
    ) -> Plan:
        return plan(self._plan_request(view, options, summary_options=asked, summary=summary))

    def _plan_request(
        self,
        view: View,
        options: WindowOptions,
        *,
        summary_options: SummaryOptions | None = None,
        summary: Summary | None = None,
    ) -> PlanRequest:
        """The request for a plan of this view now: with the limits, the policy and the tags of this moment."""
        limits = self.limits()
        return PlanRequest(
            view,
            options,
            limits,
            self.settings.policy,
            at=self.settings.clock(),
            ref=self.settings.ref,
            indexes=self.indexes,
            meta=tagged(None, self.writer.tags),
            summary_options=summary_options,
            summary=summary,
            model=self._model,
            is_model_limit=limits.context != self.settings.budget.context,
        )

    def _first_head(self) -> Head:
        """The head to begin with: the given system prompt with the logged tools."""
        logged, given = self.view.head, self.settings.system
        if given is None or given == logged.messages:
            return logged
        if self.settings.head_parts and given == system_prompt_and_parts(logged)[0]:
            return logged
        return Head(messages=given, tools=logged.tools)

    def _options_for(
        self, tools: Sequence[ToolLike] | None, state: Mapping[str, State] | None, *, at_break: bool = False
    ) -> WindowOptions:
        """The head and the state of the next request."""
        of_mode = self._of_earlier_mode
        is_plain = self.mode is None and not self.settings.head_parts and not of_mode
        if tools is None and state is None and not self.settings.state and not self.options.state and is_plain:
            return self.options
        head = self.options.head
        messages, schemas = head.messages, head.tools
        if self.mode is not None:
            sent = self.view.head
            messages = system_prompt_and_parts(sent)[0] if self.settings.head_parts else sent.messages
            text, of_mode = self.mode.head_and_state(self.view, system_text(messages), at_break=at_break)
            if text is not None and text != system_text(messages):
                messages = tuple(self.settings.dialect.parse_system(text)) if text else ()
        if tools is not None:
            schemas = tuple(check.schemas(tool_schemas(tools), head.tools))
        if self.settings.head_parts:
            messages = self._with_parts(messages, schemas, at_break=at_break)
        if messages != head.messages or schemas != head.tools:
            head = Head(messages=messages, tools=schemas)
        if state is None and not self.settings.state:
            return replace(self.options, head=head, state=of_mode)
        announced = {**self.settings.state, **checked_state(state)}
        must_be_of_user("state", announced, self.writer.owner.user_id)
        return replace(self.options, head=head, state={**of_mode, **current_texts(announced)})

    def _with_parts(
        self, messages: tuple[Instruction, ...], tools: tuple[Raw, ...], *, at_break: bool
    ) -> tuple[Instruction, ...]:
        """The system prompt with the head parts behind it."""
        system = system_prompt_and_parts(Head(messages=messages))[0]
        sent = self.view.head
        sent_system, sent_parts = system_prompt_and_parts(sent)
        if self.view.sent_tokens and not at_break and (system, tools) == (sent_system, sent.tools):
            return system + sent_parts
        return system + part_messages(self.settings.head_parts, self.view, self.settings.dialect)


def _limit_notice(failure: Failure, entry: Entry, after: View) -> str:
    """What a refusal has taught, in one line. `after`: the view with the failure."""
    learned = after.model_limits[failure.model]
    size = f" of {learned.refused:,} tokens" if learned.refused else ""
    stated = f" and stated a limit of {failure.stated:,}" if failure.stated else ""
    return (
        f"{quote(failure.model)} refused a request{size} as too long{stated} (entry {entry.seq}): from now on its "
        f"requests have at most {learned.tokens:,} tokens; each reply near this limit raises it again"
    )


def _without_compaction_entries(view: View, at: float, seq: int, why: str) -> tuple[Entry, ...]:
    """The entries of the edits that take the provider's compaction in summary `seq` out of the window; not appended."""
    draft = Draft(view, at)
    for edit in list(without_compaction(view, seq, why)):
        draft.add(edit)
    return tuple(draft.entries)


def _with_context(budget: Budget, context: int) -> Budget:
    if context == budget.context:
        return budget
    return replace(budget, context=context, reserve=min(budget.reserve, context // 4))
