"""Gives the view of any call of a log at once, also in a log of many thousands of calls.

A view is a persistent value: it shares its slots with the views before and after it. So the log is read once, a view is
kept at every few calls, and the view of any other call is computed from the nearest kept one before it.
"""

from __future__ import annotations

from bisect import bisect_right

from transom.core.entry import Entry, Sent
from transom.core.reducer import apply
from transom.core.tokens import TokenCounter
from transom.core.view import View
from transom.evaluation.call_numbers import call_number
from transom.stores import StoredLog

MOST_KEPT = 512
"""The most views that are kept from the reading of the log. In a longer log they are further apart."""


class CallViews:
    """The views of all calls of one log, and the view of the log as it is now. It may not be used by two threads at
    once.

    `log`: a handle that nobody else uses, because it is refreshed. Call `refresh` first: before it, there are no calls.
    `counter`: counts the tokens of the views.
    """

    def __init__(self, log: StoredLog, counter: TokenCounter) -> None:
        self.log = log
        self._now = View.empty(log, counter)
        self._sent: list[int] = []  # the seqs of the requests; call n is at index n - 1
        self._kept: list[tuple[int, View]] = [(0, self._now)]  # (calls before it, view), rising
        self._stride = 1  # every n-th call has a kept view

    @property
    def now(self) -> View:
        """The view of all entries that were read so far."""
        return self._now

    @property
    def calls(self) -> int:
        """How many calls the entries have that were read so far."""
        return len(self._sent)

    def refresh(self) -> None:
        """Read the entries behind those that were read so far. Raises what the store raises."""
        batch: list[Entry] = []
        for entry in self.log.read(self._now.length, self.log.refresh()):
            if isinstance(entry.body, Sent):
                self._sent.append(entry.seq)
                if self.calls % self._stride == 0:
                    self._now, batch = apply(self._now, batch), []
                    self._keep()
            batch.append(entry)
        self._now = apply(self._now, batch)

    def view(self, call: int) -> View:
        """The view that call number `call` saw, counted from 1 (negative: from the last): that of all entries before
        its `Sent`, those of its plan included.

        Raises InvalidSetting if there is no such call among the entries that were read.
        """
        number = call_number(call, self.calls, self.log.name)
        _, view = self._kept[bisect_right(self._kept, number, key=lambda kept: kept[0]) - 1]
        return apply(view, self.log.read(view.length, self._sent[number - 1]))

    def sent(self, call: int) -> Sent:
        """The request of call number `call`, counted from 1 (negative: from the last).

        Raises InvalidSetting if there is no such call among the entries that were read.
        """
        sent = self.log[self._sent[call_number(call, self.calls, self.log.name) - 1]].body
        assert isinstance(sent, Sent)
        return sent

    def _keep(self) -> None:
        """Keep the view of the newest call. If too many views are kept, drop every other one, and keep only that of
        every second such call from now on."""
        self._kept.append((self.calls, self._now))
        if len(self._kept) > MOST_KEPT:
            del self._kept[1::2]
            self._stride *= 2
