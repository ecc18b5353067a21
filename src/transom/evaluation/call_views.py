"""Gives the view of any call of a log at once, also in a log of many thousands of calls.

A view is a persistent value: it shares its slots with the views before and after it. So the log is read once, a view is
kept at every few calls, and the view of any other call is computed from the nearest kept one before it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict

from transom.core.entry import Entry, Sent
from transom.core.reducer import apply
from transom.core.tokens import TokenCounter
from transom.core.view import View
from transom.evaluation.call_numbers import call_number
from transom.stores import StoredLog

MOST_KEPT = 512
"""The most views that are kept from the reading of the log. In a longer log they are further apart."""
MOST_RECENT = 32
"""The most views that are kept of the calls that were asked for last. A walk through the calls needs only them."""
BATCH = 256
"""Entries that are applied together where no view is kept."""


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
        self._recent: OrderedDict[int, View] = OrderedDict()

    @property
    def now(self) -> View:
        """The view of all entries that were read so far."""
        return self._now

    @property
    def calls(self) -> int:
        """How many calls the entries have that were read so far."""
        return len(self._sent)

    def refresh(self, upto: int | None = None) -> int:
        """Read the entries behind those that were read so far, and return how many entries this call has read.

        `upto`: read only the entries before this one, so that a long log can be read in pieces; None: all. Raises what
        the store raises.
        """
        known = self.log.refresh()
        start, stop = self._now.length, known if upto is None else min(upto, known)
        batch: list[Entry] = []
        for entry in self.log.read(start, stop):
            if isinstance(entry.body, Sent):
                self._sent.append(entry.seq)
                if self.calls % self._stride == 0:
                    self._apply(batch)
                    self._keep()
            batch.append(entry)
            if len(batch) >= BATCH:
                self._apply(batch)
        self._apply(batch)
        return stop - start

    def view(self, call: int) -> View:
        """The view that call number `call` saw, counted from 1 (negative: from the last).

        Raises InvalidSetting if there is no such call among the entries that were read.
        """
        number = call_number(call, self.calls, self.log.name)
        if number in self._recent:
            self._recent.move_to_end(number)
            return self._recent[number]
        at = bisect_right(self._kept, number, key=lambda kept: kept[0]) - 1
        nearest, view = self._kept[at]
        recent = max((known for known in self._recent if nearest < known < number), default=None)
        if recent is not None:
            view = self._recent[recent]
        stop = self._sent[number - 1]
        if view.length < stop:
            view = apply(view, self.log.read(view.length, stop))
        self._recent[number] = view
        if len(self._recent) > MOST_RECENT:
            self._recent.popitem(last=False)
        return view

    def sent(self, call: int) -> Sent:
        """The request of call number `call`, counted from 1 (negative: from the last).

        Raises InvalidSetting if there is no such call among the entries that were read.
        """
        sent = self.log[self._sent[call_number(call, self.calls, self.log.name) - 1]].body
        assert isinstance(sent, Sent)
        return sent

    def _apply(self, batch: list[Entry]) -> None:
        if batch:
            self._now = apply(self._now, batch)
            batch.clear()

    def _keep(self) -> None:
        """Keep the view of the newest call. If too many views are kept, drop every other one, and keep only that of
        every second such call from now on."""
        self._kept.append((self.calls, self._now))
        if len(self._kept) > MOST_KEPT:
            del self._kept[1::2]
            self._stride *= 2
