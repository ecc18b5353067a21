"""Typed answers: `run(output_type=…)` gives a value, has a wrong answer repaired, and gives up at a limit."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import pytest
from msgspec import Struct
from pydantic import BaseModel

from transom import Conversation, InvalidOutput, InvalidSetting, Retry
from transom.providers.scripted import Fault, Scripted, call


@dataclass
class Place:
    city: str
    days: int = 1


class Trip(Struct):
    places: list[Place]


class Booking(BaseModel):
    city: str
    nights: int


class Note(TypedDict):
    text: str


class Tree(Struct):
    name: str
    children: list[Tree] = []


def opened(dialect: str = "openai") -> Conversation:
    return Conversation.open("memory:", "c", budget=8_000, dialect=dialect)


VALUES = [
    (Place, '{"city": "Rome"}', Place("Rome")),
    (Trip, '{"places": [{"city": "Rome", "days": 2}]}', Trip([Place("Rome", 2)])),
    (Booking, '{"city": "Rome", "nights": 3}', Booking(city="Rome", nights=3)),
    (Note, '{"text": "x"}', {"text": "x"}),
    (Tree, '{"name": "a", "children": [{"name": "b"}]}', Tree("a", [Tree("b")])),
    (list[Place], '{"response": [{"city": "Rome"}]}', [Place("Rome")]),
    (list[Booking], '{"response": [{"city": "Rome", "nights": 3}]}', [Booking(city="Rome", nights=3)]),
    (dict[str, Tree], '{"response": {"a": {"name": "b"}}}', {"a": Tree("b")}),
    (int, 'Here it is: {"response": 7}', 7),
    (Literal["yes", "no"], '{"response": "no"}', "no"),
    (int | None, '{"response": null}', None),
    (Place, 'Here it is:\n```json\n{"city": "Rome"}\n```', Place("Rome")),
]


@pytest.mark.parametrize(("kind", "text", "value"), VALUES)
def test_the_answer_is_a_value_of_the_type(kind: Any, text: str, value: Any) -> None:
    with opened() as conv:
        result = conv.run("Where?", provider=Scripted(text), output_type=kind)
    assert (result.output, result.text) == (value, text)


@pytest.mark.parametrize(
    "dialect", ["openai", "mistral", "responses", "deepseek_responses", "anthropic", "gemini", "anthropic_bedrock"]
)
def test_the_form_is_asked_for_where_the_api_has_it(dialect: str) -> None:
    provider = Scripted('{"city": "Rome", "nights": 3}', dialect=dialect)
    with opened(dialect) as conv:
        conv.run("Where?", provider=provider, output_type=Booking)
    (sent,) = provider.requests
    asked = {
        "openai": lambda: sent["response_format"]["json_schema"],
        "mistral": lambda: sent["response_format"]["json_schema"],
        "responses": lambda: sent["text"]["format"],
        "deepseek_responses": lambda: sent["text"]["format"],
        "anthropic": lambda: sent["output_config"]["format"],
        "gemini": lambda: {"schema": sent["response_json_schema"]},
    }
    if dialect not in asked:
        assert not {"response_format", "output_config", "text"} & sent.keys()
        return
    form = asked[dialect]()
    assert set(form["schema"]["properties"]) == {"city", "nights"}
    assert form["schema"]["required"] == ["city", "nights"]
    assert form.get("strict", True)
    assert provider.violations == []


def test_a_type_that_is_no_object_is_asked_for_as_the_field_of_one() -> None:
    provider = Scripted('{"response": "many"}', '{"response": [{"city": "Rome"}]}')
    with opened() as conv:
        assert conv.run("Where?", provider=provider, output_type=list[Place]).output == [Place("Rome")]
        told = [entry.body for entry in conv.log if type(entry.body).__name__ == "User"][1]
    form = provider.requests[0]["response_format"]["json_schema"]
    assert (form["name"], form["schema"]["required"]) == ("list", ["response"])
    assert form["schema"]["properties"] == {"response": {"type": "array", "items": {"$ref": "#/$defs/Place"}}}
    assert set(form["schema"]["$defs"]) == {"Place"}
    assert "Expected `array`, got `str` - at `$.response`" in told.parts[0].text


def test_the_error_says_in_which_object_such_a_value_was_asked_for() -> None:
    why = 'no answer was a list after 1 attempt: it is no JSON object whose field "response" has the list'
    with opened() as conv, pytest.raises(InvalidOutput, match=f"^{why}$"):
        conv.run("Count.", provider=Scripted("one, two"), output_type=list[int], output_retries=0)


def test_an_answer_that_does_not_fit_is_repaired_and_the_log_says_so() -> None:
    provider = Scripted("In Rome.", '{"city": 7}', '{"city": "Rome"}')
    with opened() as conv:
        result = conv.run("Where?", provider=provider, output_type=Place)
        told = [entry for entry in conv.log if type(entry.body).__name__ == "User"][1:]
    assert result.output == Place("Rome")
    texts = [entry.body.parts[0].text for entry in told]
    assert "it is no JSON object" in texts[0]
    assert "Expected `str`, got `int`" in texts[1]
    assert all('"required":["city"]' in text for text in texts)
    assert all(entry.meta.injected for entry in told)


def test_none_stands_for_the_usual_number_of_attempts() -> None:
    with opened() as conv:
        provider = Scripted("no", "no", '{"city": "Rome"}')
        assert conv.run("Where?", provider=provider, output_type=Place, output_retries=None).output == Place("Rome")


def test_after_the_last_attempt_the_run_says_what_is_wrong_and_may_go_on() -> None:
    with opened() as conv:
        with pytest.raises(InvalidOutput, match="no answer was a Place after 2 attempts: it is no JSON object") as last:
            conv.run("Where?", provider=Scripted("A.", "B."), output_type=Place, output_retries=1)
        assert last.value.text == "B."
        assert conv.run("Again.", provider=Scripted('{"city": "Rome"}'), output_type=Place).output == Place("Rome")


def test_tools_run_first() -> None:
    def look() -> str:
        """Look."""
        return "Rome"

    with opened() as conv:
        provider = Scripted(call("look"), '{"city": "Rome"}')
        assert conv.run("Where?", provider=provider, tools=[look], output_type=Place).output == Place("Rome")


def test_a_server_that_does_not_have_the_form_is_asked_without_it() -> None:
    refusal = json.dumps({"error": {"message": "Unknown parameter: 'response_format'."}})
    provider = Scripted(Fault(kind="bad_request", status=400, body=refusal), "Rome.", '{"city": "Rome"}')
    with opened() as conv:
        result = conv.run("Where?", provider=provider, output_type=Place, retry=Retry(wait=0))
    assert result.output == Place("Rome")
    assert ["response_format" in request for request in provider.requests] == [True, False, False]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (str, "the text is `result.text`"),
        ("Place", "must be a type"),
        (Place("x"), "must be a type"),
        (object(), "must be a type"),
        (complex, "complex has no JSON schema"),
        (list[complex], "list has no JSON schema"),
    ],
)
def test_what_json_has_no_value_of_is_refused(given: Any, why: str) -> None:
    with opened() as conv:
        with pytest.raises(InvalidSetting, match=f"output_type: .*{why}"):
            conv.run("Where?", provider=Scripted("Never."), output_type=given)
        assert len(conv.log) == 0


def test_without_a_type_there_is_no_output() -> None:
    with opened() as conv:
        assert conv.run("Where?", provider=Scripted("Rome.")).output is None
