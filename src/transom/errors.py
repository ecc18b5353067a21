"""The errors that Transom raises.

TransomError
├── BudgetImpossible   no valid window fits the budget: has the bill
│   └── ContextStillTooLarge   the same after a compaction
├── InvalidMessage     an input is not a valid message: names the message and the field
├── InvalidEdit        an edit does not apply to the view: says why
├── InvalidSetting     a setting or argument has a wrong value: says what is allowed
├── ToolsUnavailable   a server of tools, such as an MCP server, did not start: says why
├── UnknownLog         the store has no conversation with this name
├── ConversationBusy   somebody else runs this conversation now: says who
├── Conflict           another writer appended first: read again and try again
├── StoreDamaged       the store holds what it should not: says what, and what to do
├── StoreUnavailable   the store cannot be written or read now: disk full, locked, gone
├── ProviderError      a provider gave no usable reply: its kind says why
├── InvalidOutput      a model's answer is not of the type that was asked for: says what is wrong
├── RunStopped         a run ended before its answer: at a limit, or cancelled
├── SummaryFailed      a summarizer made nothing usable: says why
└── MemoryConflict     a memory block was changed by somebody else: carries the newer text
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeGuard

MESSAGE_CHARACTERS = 1_000
"""The maximum number of characters of an error's message."""
QUOTED_CHARACTERS = 100
"""The maximum number of characters of a value that an error quotes."""


class TransomError(Exception):
    """The base class of Transom's own errors. Wrong use of Python's kind, such as an unknown keyword, raises TypeError,
    ValueError or IndexError. The message has at most 1,000 characters, whatever it quotes."""

    def __init__(self, message: str) -> None:
        super().__init__(shorten(message, MESSAGE_CHARACTERS))

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling: the constructor's arguments are not the formatted message."""
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[TransomError], args: tuple[Any, ...], state: dict[str, Any]) -> TransomError:
    """Make an error again from its parts, for pickling."""
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error


class BudgetImpossible(TransomError):
    """No valid window fits the budget. `bill` has the size of each thing that must be in it, in `unit` (tokens, bytes,
    …). `ways_out`: what helps, each as a clause with its number ("give a budget of at least 9,000 tokens"); the message
    ends with them.

    The bill also has `need` and `limit`, their sum and the limit that it exceeds. Raised only if the head, the tool
    schemas, announced state, excerpts of the first and the newest user message, and the smallest form of the newest
    unit together exceed a limit; under a policy that leaves nothing out, if the whole conversation does.
    """

    def __init__(self, bill: Mapping[str, int], unit: str = "tokens", ways_out: tuple[str, ...] = ()) -> None:
        self.bill: dict[str, int] = dict(bill)
        self.unit, self.ways_out = unit, ways_out
        names = {"head": "system prompt" if "tools" in self.bill else "system prompt and tools"}
        listed = {key: value for key, value in self.bill.items() if key not in {"need", "limit"} and value}
        parts = (f"{names.get(key, key.replace('_', ' '))} {value:,}" for key, value in listed.items())
        ways = f"; {', or '.join(ways_out)}" if ways_out else ""
        super().__init__(f"need at least {bill['need']:,} {unit}, limit {bill['limit']:,}: {', '.join(parts)}{ways}")


class ContextStillTooLarge(BudgetImpossible):
    """No valid window fits the budget, although the conversation was compacted as far as the policy can. It has the
    same bill."""


class InvalidMessage(TransomError):
    """An input that is not a valid message of its dialect. Nothing was stored of it; but `Conversation.observe` logs
    the usage of a reply that it cannot read. `where`: which message. `why`: which field is wrong, and how."""

    def __init__(self, where: str, why: str) -> None:
        self.where, self.why = where, why
        super().__init__(f"{where}: {why}")


class InvalidEdit(TransomError):
    """An edit that does not apply to the view, for the reason in the message. Nothing was stored."""


class InvalidSetting(TransomError):
    """A setting or argument with a wrong value. The message says which, and what is allowed."""


class ToolsUnavailable(TransomError):
    """A server of tools, such as an MCP server, did not start. Nothing was logged."""


class UnknownLog(TransomError):
    """The store has no conversation with this name."""


class ConversationBusy(TransomError):
    """Somebody else runs this conversation now, and this call did not wait for it, or not long enough.

    `conversation`: its name. `holder`: who, for people, as in "process 4711 on web-2".
    """

    def __init__(
        self,
        name: str,
        holder: str,
        way_out: str = "run(wait=SECONDS) and `with conv.lease(wait=SECONDS):` wait for it; or try again later",
    ) -> None:
        self.conversation, self.holder = name, holder
        super().__init__(f"conversation {quote(name)} is in use by {holder}: {way_out}")


class Conflict(TransomError):
    """Another writer appended first. Nothing of this append was stored: read again, and try again.

    `expected`, `found`: the number of entries that the log should have had, and has.
    """

    def __init__(self, expected: int, found: int) -> None:
        self.expected, self.found = expected, found
        super().__init__(f"the log has {found} entries, the append expected {expected}: another writer came first")


class StoreDamaged(TransomError):
    """The store holds what it should not, so a log cannot be read. Nothing was changed.

    `what`: which part is damaged, and how. `kept`: what was left as it is, and what to do.
    """

    def __init__(self, what: str, kept: str) -> None:
        self.what, self.kept = what, kept
        super().__init__(f"{what}; {kept}")


class StoreUnavailable(TransomError):
    """The store cannot be read or written now: the disk is full, it is locked, or gone. Everything whose append has
    succeeded is intact."""


ProviderErrorKind = Literal[
    "timeout",
    "connection",
    "rate_limit",
    "server",
    "auth",
    "bad_request",
    "overflow",
    "filter",
    "length",
    "empty",
    "malformed",
    "interrupted",
    "unknown",
]
"""Why a provider gave no usable reply.

- "timeout": no answer in time. "connection": refused, reset, or a stream that broke off.
- "rate_limit": too many requests. "server": 5xx, or overloaded. "auth": 401, 403. "bad_request": any other 4xx.
- "overflow": the request was longer than the model takes.
- "filter": the provider's filter refused the request or the answer.
- "length": the answer reached its limit inside a call, or before its first word.
- "empty": an answer without text and calls. "malformed": an answer that could not be read.
- "interrupted": the request was stopped: Ctrl-C, a cancelled task. "unknown": anything else.
"""

_RETRIED: frozenset[ProviderErrorKind] = frozenset(
    ("timeout", "connection", "rate_limit", "server", "empty", "malformed")
)


class ProviderError(TransomError):
    """A provider gave no usable reply. `kind` says why: one of `ProviderErrorKind`, such as "timeout" or "overflow".

    - `status`: the HTTP status, None if there was none.
    - `body`: what the provider sent, as text, without secrets.
    - `retry_after`: seconds to wait, None if the provider did not say so.

    What had arrived of the reply is in the log, with the failure.
    """

    def __init__(
        self,
        kind: ProviderErrorKind,
        message: str = "",
        *,
        status: int | None = None,
        body: str = "",
        retry_after: float | None = None,
    ) -> None:
        self.kind: ProviderErrorKind = kind
        self.status, self.body, self.retry_after = status, body, retry_after
        about = kind.replace("_", " ") if status is None else f"{kind.replace('_', ' ')} ({status})"
        super().__init__(f"{about}: {message or shorten(body, 500)}" if message or body else about)

    @property
    def is_retryable(self) -> bool:
        """Whether the same request may succeed later: not after "auth", "bad_request", "overflow", "filter", "length",
        "interrupted" and "unknown"."""
        return self.kind in _RETRIED


class InvalidOutput(TransomError):
    """The answers of a run did not fit its `output_type`, also after the model was told so. `text`: the last one. The
    log is valid: run again to go on."""

    def __init__(self, name: str, why: str, attempts: int, text: str) -> None:
        self.text = text
        super().__init__(f"no answer was a {name} after {attempts:,} attempt{'' if attempts == 1 else 's'}: {why}")


StopKind = Literal["steps", "tokens", "cost", "cancelled"]
"""Why a run stopped before its answer."""


class RunStopped(TransomError):
    """A run ended before its answer. The log is valid: run again to go on from there.

    `reason`: the limit that it reached ("steps", "tokens", "cost"), or "cancelled". `result`: a RunResult with what the
    run had until then; None if it had not begun.
    """

    def __init__(self, reason: StopKind, message: str, result: Any = None) -> None:
        self.reason: StopKind = reason
        self.result = result
        super().__init__(message)


class SummaryFailed(TransomError):
    """A summarizer made nothing usable. The history stays as it is."""


class MemoryConflict(TransomError):
    """A memory block was changed by somebody else since it was read. Nothing was stored. `newest`: what the block says
    now, as the model reads it: `texts.memory_text`, quoted and with its size. `label`: the block's."""

    def __init__(self, label: str, newest: str) -> None:
        self.label, self.newest = label, newest
        super().__init__(f"memory block {label} was changed meanwhile; nothing was stored. It now says: {newest}")


def shorten(text: str, most: int = QUOTED_CHARACTERS) -> str:
    """The text; if it has more than `most` characters, its beginning and an ellipsis, `most` characters together."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def listed(names: Sequence[object], most: int, more: str = "more", *, show: Callable[[Any], str] = str) -> str:
    """The first `most` names, and how many others there are: "a, b and 4 more". `more`: the words behind that number;
    `show`: how a name is written. Empty if there is no name."""
    shown = ", ".join(map(show, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} {more}"


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a setting is a number. True and False are none, though Python counts with them; infinity and NaN are."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def no_setting(name: str, known: Iterable[str]) -> str:
    """The text of an error for an unknown setting `name`. It suggests the most similar name among `known`; if none is
    similar enough, it lists all of them."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for an error

    names = [*known]
    nearest = get_close_matches(name, names, n=1)
    return f"there is no setting {quote(name)}: " + (
        f"did you mean {nearest[0]!r}?" if nearest else f"there are {', '.join(names)}"
    )


def quote(value: object, most: int = QUOTED_CHARACTERS) -> str:
    """A value as an error quotes it: its repr, at most `most` characters, however long or deep the value is. Nothing is
    raised, also if the repr of the value raises."""
    return shorten(_QUOTER.repr(value), most)


class _Quoter(reprlib.Repr):
    """A repr of bounded length, which no value can make fail."""

    def __init__(self) -> None:
        super().__init__()
        self.maxother = QUOTED_CHARACTERS
        self.maxlevel = 3

    def repr_str(self, x: str, level: int) -> str:  # noqa: ARG002 - as the base class calls it
        """The repr of the beginning of a text."""
        return repr(x[:MESSAGE_CHARACTERS])

    def repr_int(self, x: int, level: int) -> str:  # noqa: ARG002 - as the base class calls it
        """The digits of a number; of a huge one its size, since Python refuses to convert it to text."""
        return repr(x) if x.bit_length() <= 300 else f"an integer of {x.bit_length():,} bits"

    def repr_instance(self, x: object, level: int) -> str:  # noqa: ARG002 - as the base class calls it
        """The object's own repr, or its class if that repr raises."""
        try:
            return shorten(repr(x), self.maxother)
        except Exception:  # noqa: BLE001 - somebody's __repr__ may raise anything
            return f"<{type(x).__name__}>"


_QUOTER = _Quoter()
