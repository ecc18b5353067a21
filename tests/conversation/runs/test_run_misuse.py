"""Settings of a run, a clock or a window of the wrong kind are refused at once; callables of every kind are tools."""

from __future__ import annotations

import functools
from typing import Any

import anyio
import pytest

import transom
from transom import AsyncConversation, Conversation, FunctionTool, InvalidSetting, SubAgent
from transom.core.message import ToolResult
from transom.providers.scripted import Scripted, call, calls


def look(place: str) -> str:
    """Look at a place."""
    return f"seen: {place}"


def containing_itself(value: Any, add: Any) -> Any:
    add(value)
    return value


ENDLESS_DICT = containing_itself({}, lambda value: value.update(again=value))
ENDLESS_LIST = containing_itself([], lambda value: value.append(value))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        *(
            (
                {"settings": {"extra": endless}},
                "settings: 'extra' is nested more than 100 levels deep, or contains itself",
            )
            for endless in (ENDLESS_DICT, ENDLESS_LIST, (1, ENDLESS_LIST))
        ),
        ({"settings": ENDLESS_DICT}, "settings: 'again' is nested more than 100 levels deep, or contains itself"),
        ({"approve": 42}, "approve: must be a function that takes a call, not 42"),
        ({"cancel": 42}, "cancel: must be a threading.Event, not 42"),
        ({"cancel": "yes"}, "cancel: must be a threading.Event, not 'yes'"),
    ],
)
def test_settings_of_a_run(settings: Any, words: str) -> None:
    with Conversation.open("memory:", "c", budget=10_000) as conv:
        for refused in (conv.run, conv.stream):
            with pytest.raises(InvalidSetting) as caught:
                refused("Go", provider=Scripted(), **settings)
            assert str(caught.value) == words
        with pytest.raises(InvalidSetting):
            anyio.run(lambda: AsyncConversation(conv).run("Go", provider=Scripted(), **settings))
        assert len(conv.log) == 0
    with pytest.raises(InvalidSetting):
        SubAgent("research", "Finds facts.", **settings)


@pytest.mark.parametrize("clock", [42, None])
def test_a_clock(clock: Any) -> None:
    with pytest.raises(InvalidSetting) as caught:
        Conversation.open("memory:", "c", budget=10_000, clock=clock)
    assert str(caught.value) == f"clock: must be a function that gives seconds since 1970, not {clock}"


@pytest.mark.parametrize(
    "name", ["messages", "input", "contents", "config", "conversation", "system", "tools", "model", "stream"]
)
def test_settings_do_not_replace_what_the_log_says_was_sent(name: str) -> None:
    conversation = Conversation.open("memory:", "c", budget=10_000)
    provider = Scripted("Hello.")
    with pytest.raises(InvalidSetting) as caught:
        conversation.run("Hi", provider=provider, settings={"temperature": 0, name: []})
    assert str(caught.value).startswith(f"settings: '{name}' is not for settings: ")
    assert (len(conversation.log), provider.requests) == (0, [])


@pytest.mark.parametrize("shown", [None, 42])
def test_what_is_rendered(shown: Any) -> None:
    with pytest.raises(InvalidSetting) as caught:
        transom.render(shown, "openai")
    assert str(caught.value) == f"render: needs a window or a view, not {shown}"


def run_sync(conv: Conversation, *given: Any, **settings: Any) -> Any:
    return conv.run(*given, **settings)


def run_on_loop(conv: Conversation, *given: Any, **settings: Any) -> Any:
    return anyio.run(lambda: AsyncConversation(conv).run(*given, **settings))


@pytest.mark.parametrize("run", [run_sync, run_on_loop])
def test_what_approve_raises_ends_the_run_with_every_call_closed(run: Any) -> None:
    asked = calls(("look", {"place": "Rome"}), ("look", {"place": "Bath"}))
    with Conversation.open("memory:", "c", budget=10_000) as conv:
        with pytest.raises(ZeroDivisionError):
            run(conv, "Go", provider=Scripted(asked), tools=[look], approve=lambda _: 1 / 0)
        found = [entry.body for entry in conv.log if isinstance(entry.body, ToolResult)]
        text = "not run: the run ended before this call began"
        assert [each.parts[0].text for each in found] == [text, text]
        assert conv.view.open_units == ()
        assert run(conv, provider=Scripted("Done."), tools=[look]).text == "Done."


class Library:
    """Knows every book."""

    def __call__(self, title: str, copies: int = 1) -> str:
        return f"{copies} of {title}"

    def lend(self, title: str, *, days: int, key: str) -> str:
        """Lend a book.

        Args:
            title: what is on its cover
        """
        return f"{title} for {days} days, {key}"


class Counter:
    async def __call__(self, n: int) -> int:
        """Add one."""
        return n + 1


def string(about: str) -> dict[str, Any]:
    return {"type": "string"} if not about else {"description": about, "type": "string"}


PARTIAL = functools.partial(Library().lend, key="secret")


@pytest.mark.parametrize(
    ("tool", "name", "description", "properties", "arguments", "answer"),
    [
        (
            Library(),
            "Library",
            "Knows every book.",
            {"title": string(""), "copies": {"type": "integer", "default": 1}},
            {"title": "Emma"},
            "1 of Emma",
        ),
        (Counter(), "Counter", "Add one.", {"n": {"type": "integer"}}, {"n": 1}, "2"),
        (
            PARTIAL,
            "lend",
            "Lend a book.",
            {"title": string("what is on its cover"), "days": {"type": "integer"}},
            {"title": "Emma", "days": 3},
            "Emma for 3 days, secret",
        ),
        (
            functools.partial(PARTIAL, "Emma"),
            "lend",
            "Lend a book.",
            {"days": {"type": "integer"}},
            {"days": 3},
            "Emma for 3 days, secret",
        ),
        (functools.partial(Library(), copies=2), "Library", "Knows every book.", {"title": string("")},
         {"title": "Emma"}, "2 of Emma"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("run", [run_sync, run_on_loop])
def test_callables_are_tools(
    tool: Any, name: str, description: str, properties: Any, arguments: Any, answer: str, run: Any
) -> None:
    built = FunctionTool(tool)
    assert (built.name, built.tool.description) == (name, description)
    assert built.tool.parameters["properties"] == properties
    with Conversation.open("memory:", "c", budget=10_000) as conv:
        run(conv, "Go", provider=Scripted(call(name, **arguments), "Done."), tools=[tool])
        (result,) = [entry.body for entry in conv.log if isinstance(entry.body, ToolResult)]
        assert (result.parts[0].text, result.failed) == (answer, False)


def test_what_a_partial_sets_is_not_the_models() -> None:
    with pytest.raises(transom.InvalidMessage, match="unknown: 'key'; the tool takes: title, days"):
        FunctionTool(PARTIAL).arguments('{"title": "Emma", "days": 3, "key": "mine"}')


def test_a_callable_that_cannot_be_read_says_what_to_do() -> None:
    with pytest.raises(InvalidSetting) as caught:
        FunctionTool(max)
    assert str(caught.value) == (
        "tool 'max': its parameters cannot be read: no signature found for builtin <built-in function max>; "
        "wrap it in a function with type hints"
    )
