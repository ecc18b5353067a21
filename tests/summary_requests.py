"""What must be true of every request for a summary, whichever test makes it: `conftest.py` puts this in its way.

It never holds turns that an earlier summary covers, and it always holds that summary: the items that are not done, to
the letter, and the notes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any

from transom.core.summary import Summarise
from transom.summaries import Ask

BOUNDARY = re.compile(r"^The boundary is ([0-9a-f]{10})\.$", re.MULTILINE)

FOUND: list[str] = []
"""What was not true of the requests of this test."""


def checked(steps: Callable[..., Any]) -> Callable[..., Any]:
    """The method `steps` of a summarizer, with every want and every request looked at. (A failed assertion within it
    would count as a failed summary, so what is found is kept for the end of the test.)"""

    @wraps(steps)
    def looked_at(self: Any, want: Summarise, counter: Any, model: Any) -> Any:
        FOUND.extend(wrong_want(want))
        made, answer, is_first = steps(self, want, counter, model), None, True
        while True:
            try:
                ask = made.send(answer)
            except StopIteration as done:
                return done.value
            FOUND.extend(wrong_request(want, ask, is_first=is_first))
            is_first = False
            answer = yield ask

    return looked_at


def wrong_want(want: Summarise) -> Iterator[str]:
    """What is wrong with the turns of a want."""
    keys = [turn.key for turn in want.turns]
    if keys != sorted(set(keys)) or (keys and keys[-1] > want.last):
        yield f"the turns {keys} are not in order up to {want.last}"
    if want.prior is not None and any(key <= want.prior.last for key in keys):
        yield f"turns of {keys} are covered by the summary up to {want.prior.last}"


def wrong_request(want: Summarise, ask: Ask, *, is_first: bool) -> Iterator[str]:
    """What is wrong with a request. Only the first has the earlier summary as it was: answers change it."""
    text = next((one for one in reversed(list(strings(ask.request))) if BOUNDARY.search(one)), "")
    if not text:
        yield "a request without a boundary"
        return
    found = BOUNDARY.search(text)
    boundary = found[1] if found else ""
    labels = re.findall(rf"^=== {boundary} turn (\d+), .* ===$", text, re.MULTILINE)
    if outside := {int(key) for key in labels} - {turn.key for turn in want.turns}:
        yield f"turns {sorted(outside)} are in a request and not in its want"
    if want.prior is None:
        return
    _, begins, rest = text.partition(f"=== {boundary} earlier summary begins ===\n")
    earlier = rest.partition(f"\n=== {boundary} earlier summary ends ===")[0]
    if not begins:
        yield "the earlier summary is not in a request"
    elif is_first:
        items = [item["text"] for item in want.prior.state.get("items", ()) if item.get("status") != "done"]
        lost = [one for one in (*items, *want.prior.notes) if one not in earlier]
        if lost:
            yield f"not in the earlier summary of a request: {lost}"


def strings(value: object) -> Iterator[str]:
    """Every text of a request, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from strings(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from strings(each)
