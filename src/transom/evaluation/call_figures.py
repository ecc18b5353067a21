"""The figures of each model call of a log: its window, what was decided for it, and what became of it.

The log is read once, entry by entry, and no view is computed: so the figures of ten thousand calls are there at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.entry import Entry, Sent
from transom.core.message import Assistant, Failure, Usage
from transom.core.usage import TotalUsage


class CallFigures(Struct, frozen=True, kw_only=True, gc=False):
    """One model call.

    - `entry`: the seq of its `Sent`. `at`: when the request left, in seconds since 1970.
    - `tokens`, `messages`: the raw size of the window. `limit`: the tokens that it was planned for. `shared_tokens`:
      those of the prefix that it shares with the window before.
    - `broken_by`: the seq of the entry that broke the cached prefix; None if this window begins with all of the one
      before.
    - `folds`, `trims`, `undos`: how many edits of each kind were made since the call before.
    - `failure`: the kind of the failure that answered it; empty if a reply did, or nothing yet.
    - `answered`: whether anything answered it. `model`: that of the reply; empty if it is not known.
    - `usage`: what the provider reported for it; None if nothing.
    - `dollars`: the cost of everything from this request up to the next request, summaries and sub-agents included, as
      far as prices are known. `unpriced`: how many parts of it have no known price.
    """

    entry: int
    at: float
    tokens: int
    messages: int
    limit: int
    shared_tokens: int
    broken_by: int | None = None
    folds: int = 0
    trims: int = 0
    undos: int = 0
    failure: str = ""
    answered: bool = False
    model: str = ""
    usage: Usage | None = None
    dollars: float = 0.0
    unpriced: int = 0


class CallTable:
    """The figures of all calls of one log (`calls`, in order), and the total usage of the log (`total`). `add` takes
    the entries of the log, from the first one on."""

    def __init__(self) -> None:
        self.calls: list[CallFigures] = []
        """Call n is at index n - 1."""
        self.length = 0
        """How many entries were added."""
        self._index = dict[int, int]()  # by the seq of a `Sent`, the index of its call
        self._edits = Counter[type]()  # how many edits of each kind there were since the last call
        self.total = TotalUsage()

    def add(self, entries: Iterable[Entry]) -> None:
        """Add entries of the log, which must follow those that were added before."""
        for entry in entries:
            self.length = entry.seq + 1
            body = entry.body
            if isinstance(body, Sent):
                self._add_call(entry, body)
                continue
            if isinstance(body, Fold | Trim | Pin | Undo):
                self._edits[type(body)] += 1
                continue
            before, self.total = self.total, self.total.plus_entry(entry)
            if self.calls and self.total is not before:
                last = self.calls[-1]
                self.calls[-1] = replace(
                    last,
                    dollars=last.dollars + max(0.0, self.total.dollars - before.dollars),
                    unpriced=last.unpriced + max(0, self.total.unpriced - before.unpriced),
                )
            if isinstance(body, Assistant | Failure) and body.answers in self._index:
                self._add_answer(self._index[body.answers], entry, body)

    def _add_call(self, entry: Entry, sent: Sent) -> None:
        self._index[entry.seq] = len(self.calls)
        self.calls.append(
            CallFigures(
                entry=entry.seq,
                at=entry.at,
                tokens=sent.tokens,
                messages=sent.messages,
                limit=sent.limit,
                shared_tokens=sent.shared_tokens,
                broken_by=None if sent.breaks is None else sent.breaks[1],
                folds=self._edits[Fold],
                trims=self._edits[Trim],
                undos=self._edits[Undo],
            )
        )
        self._edits.clear()

    def _add_answer(self, index: int, entry: Entry, body: Assistant | Failure) -> None:
        failed = isinstance(body, Failure)
        model = body.model if failed else "" if entry.meta is None else entry.meta.model
        self.calls[index] = replace(
            self.calls[index], answered=True, failure=body.failure if failed else "", model=model, usage=body.usage
        )
