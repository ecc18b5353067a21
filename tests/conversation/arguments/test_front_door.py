"""What makes no sense is refused at the front door: one clear line, nothing stored."""

from __future__ import annotations

import json
import warnings

import pytest

import transom
from transom import Conversation, InvalidEdit, InvalidMessage, InvalidSetting
from transom.conversation.render_window import render
from transom.core.edit import Pin
from transom.providers.scripted import Scripted
from transom.testing.fakes import FakeClock, WordCounter

DEEP = {"a": 1}
for _ in range(200):
    DEEP = {"a": DEEP}

NO_CALLS = [
    (lambda conv: conv.append("x"), InvalidMessage, "append: a fact is needed, not str"),
    (lambda conv: conv.edit("x"), InvalidEdit, "a Fold, Trim, Pin or Undo is needed, not str"),
    (lambda conv: conv.preview_edit(None), InvalidEdit, "a Fold, Trim, Pin or Undo is needed, not None"),
    (lambda conv: conv.user(None), InvalidMessage, "user: content must be a string or a list of parts, not None"),
    (lambda conv: conv.user(5), InvalidMessage, "user: content must be a string or a list of parts, not int"),
    (
        lambda conv: conv.user({"a": 1}),
        InvalidMessage,
        "user: content must be a string, a list of parts or null, not an object",
    ),
    (lambda conv: conv.user(["x"]), InvalidMessage, "user: content[0] must be an object, not a string"),
    (lambda conv: conv.tool_result(5, "x"), InvalidMessage, "tool_result: call_id must be a string, not int"),
    (lambda conv: conv.tool_result(None, "x"), InvalidMessage, "tool_result: call_id must be a string, not None"),
    (
        lambda conv: conv.tool_result("c", None),
        InvalidMessage,
        "tool_result: no open call has the id 'c'; open calls: none",
    ),
    (
        lambda conv: conv.plan_request(tools=[{"a": object()}]),
        InvalidMessage,
        "request: tools holds a value that is not JSON: object",
    ),
    (
        lambda conv: conv.plan_request(tools=[{"a": float("nan")}]),
        InvalidMessage,
        "request: tools holds nan, which is not JSON",
    ),
    (
        lambda conv: conv.plan_request(tools=[DEEP]),
        InvalidMessage,
        "request: tools is nested more than 100 levels deep",
    ),
    (
        lambda conv: conv.plan_request(tools="x"),
        InvalidMessage,
        "request: tools must be a list of functions, Tools or objects, not str",
    ),
    (
        lambda conv: conv.plan_request(tools=["x"]),
        InvalidMessage,
        "request: tools[0] must be a function, a Tool or an object, not str",
    ),
    (
        lambda conv: conv.plan_request(state={"": "x"}),
        InvalidSetting,
        "state: a key must be a text of at least one character, not an empty text",
    ),
    (
        lambda conv: conv.plan_request(state={5: "x"}),
        InvalidSetting,
        "state: a key must be a text of at least one character, not int",
    ),
    (
        lambda conv: conv.plan_request(state={"mode": 5}),
        InvalidSetting,
        "state: 'mode' must be a text or a function that returns one, not int",
    ),
    (
        lambda conv: conv.plan_request(state="x"),
        InvalidSetting,
        "state: must map keys to texts or functions that return a text, not str",
    ),
    (
        lambda conv: conv.window(tools="x"),
        InvalidMessage,
        "request: tools must be a list of functions, Tools or objects, not str",
    ),
    (lambda conv: conv.pin("a"), InvalidEdit, "pin: the number of an entry is needed, not str"),
    (lambda conv: conv.pin(True), InvalidEdit, "pin: the number of an entry is needed, not bool"),
    (lambda conv: conv.undo("a"), InvalidEdit, "undo: the number of an entry is needed, not str"),
    (lambda conv: conv.explain(at="a"), InvalidSetting, "there is no call 'a': trip has 0, counted from 1"),
]


@pytest.mark.parametrize(("asked", "error", "says"), NO_CALLS, ids=range(len(NO_CALLS)))
def test_what_cannot_be_done_is_said_and_nothing_is_stored(asked, error, says):
    conv = Conversation.open("memory:", "trip", budget=500, counter=WordCounter(), clock=FakeClock())
    conv.user("go")
    with pytest.raises(error) as caught:
        asked(conv)
    assert str(caught.value) == says
    assert len(conv.log) == 1
    assert render(conv.plan_request())["messages"] == [{"role": "user", "content": "go"}]


NEEDED = "must be a text of at least one character, not"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"store": None}, "store: None is neither a URL, nor a path, nor a store"),
        ({"store": ""}, "store: must be a URL, a path or a store, not an empty text"),
        ({"id": 5}, f"id: {NEEDED} int"),
        ({"id": ""}, f"id: {NEEDED} an empty text"),
        ({"budget": "32 kB"}, "budget: must be a whole number of tokens, such as 128000 or 128k, not '32 kB'"),
        ({"budget": "1.5"}, "budget: must be a whole number of tokens, such as 128000 or 128k, not '1.5'"),
        ({"budget": 32e3}, "budget: must be a Budget or a whole number of tokens, not 32000.0"),
        ({"budget": True}, "budget: must be a Budget or a whole number of tokens, not True"),
    ],
)
def test_what_nothing_can_be_opened_with_is_said_and_makes_no_store(tmp_path, settings, says):
    wanted = {"store": f"sqlite:///{tmp_path}/a.db", "id": "trip", "budget": 500, **settings}
    with pytest.raises(InvalidSetting) as caught:
        Conversation.open(**wanted)
    assert str(caught.value) == says
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("dialect", ["openai", "responses", "anthropic", "gemini"])
@pytest.mark.parametrize("content", ["", []])
def test_an_empty_message_of_the_user_is_refused(dialect, content):
    with Conversation.open("memory:", "x", budget=4_000, counter=WordCounter(), dialect=dialect) as conv:
        for say in (conv.user, lambda empty: conv.run(empty, provider=Scripted("Yes?"))):
            with pytest.raises(InvalidMessage, match="user: the message is empty"):
                say(content)
        assert conv.view.length == 0


def test_fit_checks_its_tools():
    with pytest.raises(InvalidMessage, match=r"request: tools must be a list of functions, Tools or objects, not str"):
        transom.fit([], tools="x")


def test_cache_marks_stand_behind_the_system_prompt_the_last_fold_and_the_history():
    conv = Conversation.open("memory:", "x", budget=2_000, system="Be careful.", dialect="anthropic")
    conv.user("first")
    for number in range(30):
        conv.plan_request()
        conv.observe({"role": "assistant", "content": [{"type": "text", "text": f"turn {number} " + "word " * 80}]})
        conv.user(f"go on {number}")
    window = conv.plan_request()
    assert "cache_control" not in json.dumps(render(window, "anthropic"))
    request = render(window, "anthropic", cache=True)
    marked = [at for at, message in enumerate(request["messages"]) if "cache_control" in json.dumps(message)]
    fold = next(at for at, message in enumerate(request["messages"]) if ", a record of " in json.dumps(message))
    assert marked == [fold, len(request["messages"]) - 1]
    assert request["system"][-1]["cache_control"] == {"type": "ephemeral"}


@pytest.mark.parametrize(
    ("dialect", "turn"),
    [
        ("openai", {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]}),
        ("openai", {"role": "assistant", "parts": [{"text": "x"}]}),
        ("anthropic", {"role": "assistant", "content": None, "tool_calls": [{"id": "c"}]}),
        ("responses", {"role": "assistant", "content": "t", "tool_calls": [{"id": "c"}]}),
        ("anthropic", {"role": "assistant", "content": "t", "reasoning_content": "r"}),
        ("anthropic", {"role": "assistant", "content": "t", "refusal": None, "annotations": []}),
    ],
)
def test_a_turn_in_another_dialects_words_is_refused_not_lost(dialect, turn):
    conv = Conversation.open("memory:", "x", budget=4_000, dialect=dialect)
    conv.user("go")
    with pytest.raises(InvalidMessage, match="in another dialect's words"):
        conv.observe(turn)
    assert len(conv.log) == 1


def test_messages_in_another_dialects_words_are_refused_not_lost():
    for dialect, message in (("gemini", {"role": "user", "content": "x"}), ("openai", {"role": "user", "parts": [{}]})):
        with pytest.raises(InvalidMessage, match="in another dialect's words"):
            transom.fit([message], dialect=dialect)


def test_what_one_provider_counts_says_nothing_of_anothers_tokens(tmp_path):
    url = f"sqlite:///{tmp_path}/x.db"
    with Conversation.open(url, "x", budget=20_000, dialect="gemini") as conv:
        for _ in range(6):
            conv.user("some words here " * 100)
            prompt = int(conv.plan_request().size.tokens * 1.4)
            content = {"role": "model", "parts": [{"text": "ok"}]}
            conv.observe({"candidates": [{"content": content}], "usageMetadata": {"promptTokenCount": prompt}})
        assert conv.view.calibration > 1.1
    with Conversation.open(url, "x", budget=20_000, dialect="anthropic") as conv:
        assert conv.view.calibration == 1.0


def test_a_system_message_in_a_list_of_a_dialect_that_has_none_there_is_not_lost():
    shown = transom.fit(
        [{"role": "system", "content": "brief"}, {"role": "user", "content": "go"}], dialect="anthropic", budget=4_000
    )
    assert "brief" in json.dumps(shown)


@pytest.mark.parametrize("state", [["a"], "todo", {"todo": 5}, {5: "text"}, {"": "text"}])
def test_a_state_that_is_none_is_refused_at_once(state):
    with pytest.raises(InvalidSetting, match=r"^state: "):
        Conversation.open("memory:", "x", budget=4_000, state=state)


@pytest.mark.parametrize("dialect", [None, 5, ["openai"], "klingon"])
def test_a_dialect_that_is_none_is_refused(dialect):
    with pytest.raises(InvalidSetting, match="dialect"):
        Conversation.open("memory:", "x", budget=4_000, dialect=dialect)


def test_gemini_takes_an_answer_as_the_object_it_is():
    with Conversation.open("memory:", "x", budget=20_000, dialect="gemini") as conv:
        conv.user("go")
        conv.plan_request()
        call = {"functionCall": {"name": "look", "args": {}}}
        conv.observe({"candidates": [{"content": {"role": "model", "parts": [call]}}]})
        conv.tool_result("look", {"found": [1, 2]})
        (answer,) = render(conv.plan_request(), "gemini")["contents"][-1]["parts"]
        assert answer["functionResponse"]["response"] == {"found": [1, 2]}


def test_gemini_is_told_that_a_tool_failed_and_tells_it():
    with Conversation.open("memory:", "x", budget=20_000, dialect="gemini") as conv:
        conv.user("go")
        conv.plan_request()
        calls = [{"functionCall": {"name": name, "args": {}}} for name in ("a", "b", "c")]
        conv.observe({"candidates": [{"content": {"role": "model", "parts": calls}}]})
        conv.tool_result("a", "boom", failed=True)
        told = conv.tool_result("b", {"error": "boom"})
        conv.tool_result("c", {"": "x"})
        assert conv.log[told].body.failed
        parts = render(conv.plan_request(), "gemini")["contents"][-1]["parts"]
        answers = [part["functionResponse"]["response"] for part in parts]
        assert answers == [{"error": "boom"}, {"error": "boom"}, {"": "x"}]


def test_a_dry_run_of_a_request_in_flight_is_that_request():
    with Conversation.open("memory:", "x", budget=20_000) as conv:
        conv.user("go")
        sent = conv.plan_request()
        assert conv.window() is sent
        conv.user("wait")
        assert conv.window().fingerprint != sent.fingerprint


def test_a_preview_can_be_planned_on():
    with Conversation.open("memory:", "x", budget=400) as conv:
        said: list[int] = []
        for number in range(40):
            said.append(conv.user(f"step {number} " * 10))
            conv.plan_request()
            conv.observe({"role": "assistant", "content": f"done {number} " * 10})
        conv.user("and now?")
        pinned = [conv.preview_edit(Pin(entry=said[number])) for number in (1, 8, 15)]
        assert [conv.window(view=view).tokens <= 400 for view in pinned] == [True] * 3


class Counter:
    name = "mine"

    def __init__(self, tokens):
        self.tokens = tokens

    def count(self, text):
        return self.tokens


@pytest.mark.parametrize(
    ("counter", "line"),
    [
        (len, "counter: must have a name, a text, and a method count(text), not <built-in function len>"),
        *(
            (Counter(tokens), f"counter: 'mine' must count '' as a whole number of at least 0, not {tokens!r}")
            for tokens in (-1, 1.5, "5", None)
        ),
    ],
)
def test_a_counter_is_checked_when_it_is_given(counter, line):
    for call in (
        lambda: transom.Conversation.open("memory:", "x", budget=1_000, counter=counter),
        lambda: transom.fit([{"role": "user", "content": "go"}], budget=1_000, counter=counter),
    ):
        with pytest.raises(InvalidSetting) as refused:
            call()
        assert str(refused.value) == line


@pytest.mark.parametrize(
    ("dialect", "part"),
    [
        ("responses", {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}),
        (
            "responses",
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
        ),
        ("gemini", {"type": "text", "text": "hi"}),
        ("gemini", {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}),
    ],
)
def test_a_part_of_another_api_is_refused_and_not_lost(dialect, part):
    with Conversation.open("memory:", "parts", budget=1_000, dialect=dialect) as conversation:
        with pytest.raises(InvalidMessage, match="in another dialect's words"):
            conversation.user([part])
        assert len(conversation.log) == 0


@pytest.mark.parametrize("url", ["sqlite:///agent.db", "jsonl:///logs", "memory:", "postgresql://me@host/d"])
def test_a_store_and_an_id_that_are_swapped_create_nothing(url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidSetting, match=f"^id: '{url}' names a store: give the store first, then the id$"):
        Conversation.open("coding", url, budget=8_000)
    assert not list(tmp_path.iterdir())


def test_a_wrong_setting_is_no_warning_that_a_budget_is_missing():
    for begin in (
        lambda: Conversation.open("memory:", "x", bugdet=1),
        lambda: Conversation.from_messages([], bugdet=1),
    ):
        with warnings.catch_warnings(action="error"), pytest.raises(TypeError, match="did you mean 'budget'"):
            begin()
