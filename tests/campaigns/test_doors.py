"""A sample of the runs through the doors; `make doors` makes 300 steps in each API."""

from __future__ import annotations

from doors import at_once, outcome


def test_an_agent_that_is_killed_in_the_middle_goes_on() -> None:
    found = outcome("anthropic", "proxy", 8)
    assert (found.faults, found.conversations) == (0, 1)


def test_many_requests_at_once() -> None:
    assert at_once(40).startswith("40 requests at once: all answered")
