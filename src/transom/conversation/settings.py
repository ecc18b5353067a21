"""The settings of a conversation: one value, checked once, when it is made of what a caller gave. And the limits of
models that several conversations share (`SharedLimits`)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, NamedTuple, TypedDict, Unpack, cast

from msgspec import Struct, field
from msgspec.structs import replace

from transom.clock import Clock, system_clock
from transom.conversation import argument_checks as check
from transom.conversation.state_and_head_parts import HeadPart, State, checked_head_parts, checked_state
from transom.conversation.summary_job import SummarizedBy, SummarySettings, summary_settings
from transom.core.budget import Budget
from transom.core.calibration import Calibration
from transom.core.learned_limit import LearnedLimit
from transom.core.log import Owner
from transom.core.message import Instruction
from transom.core.plan_request import Ref, entry_ref
from transom.core.policy import Policy
from transom.core.tokens import TokenCounter
from transom.errors import InvalidSetting, no_setting, quote
from transom.policies import policy_named
from transom.redaction import Redacting, Redactor, redactor
from transom.tokenizer import o200k
from transom.wire.dialect import Dialect
from transom.wire.dialects import dialect_named, with_digest_role
from transom.wire.openai import OPENAI_CHAT


class SharedLimit(NamedTuple):
    """The limit that the refusals of one model have taught, and its replies since.

    `limit`: in the provider's tokens. `ratio`: how many of the provider's tokens one of ours was; of several refused
    requests, the highest, or what later replies agree on. A conversation whose own request the model has refused obeys
    the limit too, but counts with its own ratio.
    """

    limit: LearnedLimit
    ratio: float


class SharedLimits:
    """Remembers, in memory, how many tokens each model takes, by its name. Requests that a model refused as too long
    taught it.

    Forks, sub-agents and the conversations of one client or adapter share it, so that a refusal of one warns the
    others. Each conversation also has in its log what its own refusals taught (`View.model_limits`). A refusal only
    lowers the limit of a model; replies raise it again, by the rule of `transom.core.learned_limit`. Any thread may use
    it.
    """

    def __init__(self) -> None:
        self.by_model: dict[str, SharedLimit] = {}
        """The limit of each model of which something was learned. Callers only read it."""
        self._lock = Lock()

    def learn(self, model: str, tokens: int, ratio: float, own: LearnedLimit | None = None) -> None:
        """Note that this model refuses more than `tokens` of the provider's tokens. `ratio`: as in `SharedLimit`.
        `own`: the limit that the refused conversation has learned, this refusal included; None if it is not known."""
        with self._lock:
            known = self.by_model.get(model)
            if known is None:
                known = SharedLimit(LearnedLimit(tokens), ratio)
            own = own or LearnedLimit(tokens)
            limit = known.limit.after_refusal(min(tokens, known.limit.tokens), own.refused, own.stated, own.most)
            self.by_model[model] = SharedLimit(limit, max(ratio, known.ratio))

    def learned_elsewhere(self, model: str, limit: LearnedLimit, ratio: float) -> None:
        """Note a limit that a log has from an earlier process, unless this object knows one of the model already.
        `ratio`: as in `SharedLimit`."""
        with self._lock:
            self.by_model.setdefault(model, SharedLimit(replace(limit, entry=-1), ratio))

    def answered(self, model: str, size: int, calibration: Calibration) -> None:
        """Note that this model has answered a request, which may raise its limit. Nothing happens for a model of which
        nothing was learned. `size`: as for `LearnedLimit.after_reply`. `calibration`: of the conversation, with the
        reply."""
        with self._lock:
            if (known := self.by_model.get(model)) is not None:
                ratio = min(known.ratio, calibration.at_limit(known.ratio))
                self.by_model[model] = SharedLimit(known.limit.after_reply(size), ratio)


ASSUMED = Budget()
"""The budget if the caller gave none; a run uses the context size of its model in its place. Compare it with `is`: a
caller may give an equal budget, and that one holds."""
NO_BUDGET = f"no budget given: assuming a context window of {ASSUMED.context:,} tokens"


class ConversationOptions(TypedDict, total=False):
    """The settings of a conversation, as keywords of `Conversation.open`, `Conversation.from_messages` and `fit`. None
    means: not given; `policy`, `dialect` and `clock` take no None."""

    budget: Budget | int | str | None
    """A Budget, or the tokens of the model's context window, as a number or a text such as "128k". Not given: 128,000,
    with a warning; a run takes the size of its model in its place, if that is known."""
    policy: str | Policy
    """How the window is kept small: a Policy or its name, which settings may follow ("default:keep_recent=0.3", see
    `transom.policies.policy_named`)."""
    system: object
    """The system prompt, a text or what the dialect takes beside the messages; None keeps what the log has."""
    dialect: str | Dialect
    """The provider API ("openai", "responses", "anthropic", "gemini", …) whose content parts and replies come in, and
    for which windows are counted and rendered."""
    digest_role: str | None
    """The role of the message that stands for folded turns: "user" if not given; OpenAI's APIs allow "developer" and
    "system" (see docs/security.md)."""
    counter: TokenCounter | None
    """The tokenizer; o200k if not given."""
    state: Mapping[str, State] | None
    """What is true now, by key (goal, todo, plan), a text or a function that returns it; the model reads it when it has
    changed."""
    head_parts: Mapping[str, HeadPart] | None
    """What stands behind the system prompt, by name (a repo map, memory), a text or a function of the view that returns
    it; asked for again only when the cached prefix breaks anyway (see docs/modes.md)."""
    redact: Redacting | None
    """What must not leave the messages where it was said: "secrets", or a function from a text to the redacted text, or
    to its spans (start, end, what it is). It is applied to the text of folds and to what is read back (see
    docs/security.md). It must be pure, and given again when the conversation is opened again."""
    clock: Clock
    """Gives the time of new entries, in seconds since 1970."""
    user_id: str | None
    """Whose conversation it is. Its first entry stores this for ever; opening it with another id, or a conversation
    that began without one, raises InvalidSetting. This is no access control: without a `user_id`, everybody can open
    every conversation (see docs/security.md)."""
    session_id: str | None
    """The session that the conversation belongs to; stored like `user_id`."""
    summarizer: SummarizedBy | None
    """Who makes summaries of old turns, for the policies that show them (docs/summaries.md): "run" (the model of the
    run), the name of a model, a provider, a Summarizer, or SummarySettings. None: nobody; the window shows the record,
    and `compact` keeps notes."""


class Settings(Struct, frozen=True, kw_only=True, eq=False):
    """What a conversation is opened with, checked: `Settings.of(budget=32_000, policy="default")`.

    Many conversations may share one. A fork has all settings of its source, and its mode and model too
    (`RequestPlanner.fork`); a sub-agent has only those that `of_sub_agent` names. `budget`, `policy`, `counter`,
    `dialect`, `system`, `state`, `head_parts`, `redact`, `summarizer` and `clock` are as in `ConversationOptions`, but
    checked: a name has become what it names.
    """

    budget: Budget = ASSUMED
    policy: Policy = field(default_factory=lambda: policy_named("default"))
    counter: TokenCounter = field(default_factory=o200k)
    dialect: Dialect = OPENAI_CHAT
    system: tuple[Instruction, ...] | None = None
    """None keeps what the log has."""
    state: Mapping[str, State] = {}
    head_parts: Mapping[str, HeadPart] = {}
    redact: Redactor | None = None
    summarizer: SummarySettings | None = None
    owner: Owner | None = None
    """None if neither `user_id` nor `session_id` was given."""
    clock: Clock = system_clock
    shared_limits: SharedLimits | None = None
    """What refusals taught the other conversations of a client or an adapter about its models. None: a conversation
    shares what it learns with its forks and sub-agents only."""
    ref: Ref = entry_ref
    """How texts name an entry of the log."""

    def __post_init__(self) -> None:
        for name, kind in (("budget", Budget), ("policy", Policy)):
            if not isinstance(value := getattr(self, name), kind):
                ways = f"or use Settings.of({name}=…)"
                raise InvalidSetting(f"{name}: must be a {kind.__name__}, not {quote(value)}; {ways}")

    @classmethod
    def of(cls, settings: Settings | None = None, /, **changes: Unpack[ConversationOptions]) -> Settings:
        """The settings with these changes, of which each is checked. `settings`: what is changed; the defaults if not
        given. A change of None leaves what `settings` have; only `policy`, `dialect` and `clock` take no None.

        Raises InvalidSetting for a wrong value; InvalidMessage for a system prompt that the dialect refuses; TypeError
        for an unknown setting.
        """
        if settings is not None and not isinstance(cast("object", settings), Settings):
            raise InvalidSetting(f"settings: must be Settings, not {quote(settings)}")
        return (settings or cls()).changed(**changes)

    def changed(self, **given: Unpack[ConversationOptions]) -> Settings:
        """These settings with the changes that are given. Each is checked, and raises, as in `Settings.of`. Another
        `dialect` brings its own digest role, unless `digest_role` is given too. `user_id` and `session_id` are changed
        one by one."""
        if unknown := set(given) - ConversationOptions.__annotations__.keys():
            raise TypeError(no_setting(min(unknown), ConversationOptions.__annotations__))
        if not given:
            return self
        dialect = with_digest_role(dialect_named(given.get("dialect", self.dialect)), given.get("digest_role"))
        changes: dict[str, Any] = {name: check(given[name]) for name, check in _CHECKS.items() if name in given}
        changes |= {name: check(given[name]) for name, check in _CHECKS_IF_GIVEN.items() if given.get(name) is not None}
        if (system := given.get("system")) is not None:
            changes["system"] = check.instructions(system, dialect)
        if (owner := check.owner(given.get("user_id"), given.get("session_id"))) is not None:
            known = self.owner or Owner()
            changes["owner"] = Owner(owner.user_id or known.user_id, owner.session_id or known.session_id)
        return replace(self, dialect=dialect, **changes)

    def of_sub_agent(self) -> Settings:
        """The settings of a sub-agent's conversation: budget, token counter, redaction, owner and shared limits of this
        one; all others have their defaults."""
        return Settings(
            budget=self.budget,
            counter=self.counter,
            redact=self.redact,
            owner=self.owner,
            shared_limits=self.shared_limits,
        )


def warn_without_budget(settings: Settings | None, changes: ConversationOptions) -> None:
    """Warn if neither settings nor a budget were given. The warning shows the line that called the caller of this
    function (`stacklevel`)."""
    if settings is None and changes.get("budget") is None:
        warnings.warn(NO_BUDGET, UserWarning, stacklevel=3)


_CHECKS: Mapping[str, Callable[[Any], Any]] = {"policy": policy_named, "clock": check.clock}
"""The check of each setting that cannot be None."""

_CHECKS_IF_GIVEN: Mapping[str, Callable[[Any], Any]] = {
    "budget": check.limits,
    "counter": check.token_counter,
    "state": checked_state,
    "head_parts": checked_head_parts,
    "redact": redactor,
    "summarizer": summary_settings,
}
