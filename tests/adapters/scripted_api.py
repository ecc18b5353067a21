"""A strict provider for runs of agent frameworks, with their own compactions too.

A request without tools asks for a summary, and is no step. After MOST_REFUSED
refusals of each step it returns another error.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from loopback_server import Json, serving
from strict_provider import ANSWER, REPLIES, TASK, StrictProvider, prefixes, too_long, used_by, with_text

LONG_EVERY = 4
MOST_REFUSED = 2
"""How often the server says that a request is too long, for each step. Then it says something else."""
SUMMARY = f"Files were read. The task: {TASK}"


def output_of(at: int, number: int) -> str:
    """What the tool returns: mostly some lines; for the first call of each fourth step several thousand tokens."""
    lines = 500 if at % LONG_EVERY == 0 and number == 0 else 12
    return "\n".join(
        f"file {at}.{number}.{line} has {at * line % 97} bytes, owner user{line % 5}" for line in range(lines)
    )


class ScriptedApi(StrictProvider):
    """What the server was asked, and what was wrong with it.

    `steps`: requests until it answers; each of them is answered with one to three calls. `limit`: its own limit of
    tokens. Gemini's calls have no ids.
    """

    def __init__(self, steps: int, limit: int) -> None:
        super().__init__(steps + 1, limit=limit)
        self.summaries = 0
        self.kept: list[float] = []
        """For each request, the share of the messages of the one before that it begins with."""
        self._before: list[str] = []

    def _answer(self, api: str, body: Json) -> tuple[int, Json]:
        if self.refused > MOST_REFUSED * self.steps:
            return 400, {"error": {"message": f"refusal {self.refused:,}: the server gives up"}}
        if not body.get("tools"):
            if (used := used_by(body)) > self.limit:
                self.refused += 1
                return 400, too_long(api, used, self.limit)
            self.summaries += 1
            return 200, with_text(REPLIES[api](0, "", [], 1), SUMMARY)
        turn = self.turn
        status, found = super()._answer(api, body)
        if self.turn > turn:
            self._compare(prefixes(api, body))
        return status, found if api != "gemini" else _without_ids(found)

    def _compare(self, now: list[str]) -> None:
        if self._before:
            same = sum(one == other for one, other in zip(self._before, now, strict=False))
            self.kept.append(same / len(self._before))
        self._before = now


def _without_ids(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _without_ids(item) for key, item in value.items() if key != "id"}


@contextmanager
def scripted_api(steps: int, *, limit: int) -> Iterator[ScriptedApi]:
    """A running server."""
    api = ScriptedApi(steps, limit)
    with serving(api.post) as api.url:
        yield api


def report(name: str, api: ScriptedApi, error: str = "") -> dict[str, Any]:
    """What a run has come to, as a row."""
    return {
        "run": name,
        "requests": api.turn,
        "refused": api.refused,
        "invalid": len(api.invalid),
        "stale": api.stale,
        "over budget": api.over,
        "without task": api.lost,
        "most tokens": api.largest,
        "reasoning sent": api.reasoned,
        "prefix kept": f"{sum(api.kept) / max(1, len(api.kept)):.0%}",
        "summaries": api.summaries,
        "error": error[:90],
    }


FAULTS = ("invalid", "stale", "over budget", "without task", "error")
"""The columns of a row that are 0 or empty for a run without a fault."""
__all__ = ["ANSWER", "FAULTS", "LONG_EVERY", "TASK", "ScriptedApi", "output_of", "report", "scripted_api"]
