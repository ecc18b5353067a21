"""What can go wrong, named by who can do something about it.

TransomError
├── BudgetImpossible   the smallest valid window is still over the limit: carries the bill
│   └── ContextStillTooLarge   the same after a compaction
├── InvalidMessage     input that is not a message: names the place and the field
├── InvalidEdit        an edit that does not apply to this view: says why
├── InvalidSetting     a budget, policy, counter or URL that makes no sense
├── UnknownLog         the store has no conversation by that name
├── Conflict           another writer appended first: re-read and try again
├── StoreDamaged       the store holds bytes that are not ours: says what was kept
├── StoreUnavailable   the store cannot be written or read now: disk full, locked, gone
├── ProviderError      a provider gave no usable reply: its kind says why
├── RunStopped         a run ended before its answer: at a limit, or cancelled
├── SummaryFailed      a summarizer made nothing usable: says why
└── MemoryConflict     a memory block was changed by somebody else: carries the newer text
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Any, Literal

MESSAGE_CHARACTERS = 1_000
QUOTED_CHARACTERS = 100


class TransomError(Exception):
    """Every error Transom raises on purpose derives from this one. Its message is bounded, whatever it quotes."""

    def __init__(self, message: str) -> None:
        super().__init__(shorten(message, MESSAGE_CHARACTERS))

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling: the constructor's arguments are not the formatted message."""
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[TransomError], args: tuple[Any, ...], state: dict[str, Any]) -> TransomError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error


class BudgetImpossible(TransomError):
    """No valid window fits. `bill` maps each thing that must be there to its cost, in `unit`s.

    Raised only if the head, the tool schemas, excerpts of the first and the newest user message and the smallest form
    of the newest unit together exceed a limit; under a policy that leaves nothing out, if the whole does.
    """

    def __init__(self, bill: Mapping[str, int], unit: str = "tokens") -> None:
        self.bill: dict[str, int] = dict(bill)
        self.unit = unit
        parts = (f"{k.replace('_', ' ')} {v:,}" for k, v in self.bill.items() if k not in {"need", "limit"} and v)
        super().__init__(f"need at least {bill['need']:,} {unit}, limit {bill['limit']:,}: {', '.join(parts)}")


class ContextStillTooLarge(BudgetImpossible):
    """No valid window fits, although the conversation was compacted as far as the policy can. It has the same bill."""


class InvalidMessage(TransomError):
    """Input that is not a message. Nothing was stored."""

    def __init__(self, where: str, why: str) -> None:
        self.where, self.why = where, why
        super().__init__(f"{where}: {why}")


class InvalidEdit(TransomError):
    """An edit that does not apply. Nothing was stored."""


class InvalidSetting(TransomError):
    """A setting that makes no sense: the message says which, and what is allowed."""


class UnknownLog(TransomError):
    """The store holds no such conversation."""


class Conflict(TransomError):
    """Another writer appended first; nothing of this append was stored."""

    def __init__(self, expected: int, found: int) -> None:
        self.expected, self.found = expected, found
        super().__init__(f"the log has {found} entries, the append expected {expected}: another writer came first")


class StoreDamaged(TransomError):
    """The store holds what it should not. What could be read was kept."""

    def __init__(self, what: str, kept: str) -> None:
        self.what, self.kept = what, kept
        super().__init__(f"{what}; {kept}")


class StoreUnavailable(TransomError):
    """The store cannot be written or read now (disk full, locked, gone). What was acknowledged is intact."""


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
    "unknown",
]
"""Why a provider gave no usable reply.

"connection": refused, reset, or a stream that ended before its end. "server": 5xx, or overloaded. "auth": 401, 403.
"bad_request": any other 4xx. "overflow": the request was longer than the model takes. "filter": the provider's filter
refused the request or the answer. "length": the answer was cut in a call, or before its first word. "empty": an answer
without text and calls. "malformed": an answer that is none.
"""

_RETRIED: frozenset[ProviderErrorKind] = frozenset(
    ("timeout", "connection", "rate_limit", "server", "empty", "malformed")
)


class ProviderError(TransomError):
    """A provider gave no usable reply.

    `status`: of HTTP, if there was any. `body`: what the provider sent, as text, without secrets. `retry_after`:
    seconds to wait, if it said. What had arrived of the reply is in the log, with the failure.
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
        """Whether the same request may succeed later."""
        return self.kind in _RETRIED


StopKind = Literal["steps", "tokens", "cost", "cancelled"]


class RunStopped(TransomError):
    """A run ended before its answer: at a limit, or cancelled. The log is valid; running again goes on from there.

    `reason`: "steps", "tokens", "cost" or "cancelled". `result`: what the run had until then.
    """

    def __init__(self, reason: StopKind, message: str, result: Any = None) -> None:
        self.reason: StopKind = reason
        self.result = result
        super().__init__(message)


class SummaryFailed(TransomError):
    """A summarizer made nothing usable. History stays as it is."""


class MemoryConflict(TransomError):
    """A memory block was changed by somebody else since it was read; nothing was stored. `newest`: what it says now."""

    def __init__(self, label: str, newest: str) -> None:
        self.label, self.newest = label, newest
        super().__init__(f"memory block {label} was changed meanwhile; nothing was stored. It now says: {newest}")


def shorten(text: str, most: int = QUOTED_CHARACTERS) -> str:
    """The text, or its beginning and an ellipsis if it has more than `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def quote(value: object, most: int = QUOTED_CHARACTERS) -> str:
    """A value as an error message quotes it: its repr, at most `most` characters, however long or deep it is."""
    return shorten(_QUOTER.repr(value), most)


class _Quoter(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxother = QUOTED_CHARACTERS
        self.maxlevel = 3

    def repr_str(self, x: str, level: int) -> str:  # noqa: ARG002 - as the base class calls it
        """The beginning of a text."""
        return repr(x[:MESSAGE_CHARACTERS])

    def repr_int(self, x: int, level: int) -> str:  # noqa: ARG002 - as the base class calls it
        """The digits; of a huge number its size, since Python refuses to convert it to text."""
        return repr(x) if x.bit_length() <= 300 else f"an integer of {x.bit_length():,} bits"

    def repr_instance(self, x: object, level: int) -> str:  # noqa: ARG002 - as the base class calls it
        """The object's own repr, if that works."""
        try:
            return shorten(repr(x), self.maxother)
        except Exception:  # noqa: BLE001 - somebody's __repr__ may raise anything
            return f"<{type(x).__name__}>"


_QUOTER = _Quoter()
