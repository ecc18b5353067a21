"""What a run stored comes out again: its results name the request of their turn, not the entry of the reply."""

from __future__ import annotations

import pytest

import transom
from transom.exporters import export
from transom.providers.scripted import Scripted, call, calls


def weather(city: str) -> str:
    """The weather in a city."""
    return f"It is sunny in {city}."


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "responses"])
def test_results_of_a_run_stand_behind_their_calls(dialect: str) -> None:
    steps = (calls(("weather", {"city": "Lisbon"}), ("weather", {"city": "Porto"})), call("weather", city="Faro"))
    with transom.Conversation.open("memory:", "trip", budget=32_000) as conv:
        conv.run("How is the weather?", provider=Scripted(*steps, "Sunny."), tools=[weather])
        written = export(conv.log, dialect)
        text = b"".join(written).decode()
    assert written.report.notes == ()
    assert all(f"It is sunny in {city}." in text for city in ("Lisbon", "Porto", "Faro"))
