"""Odd contents by the thousand: what is valid comes out as it came, and the window is valid whatever went in."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_gemini_counting import read, request_of, request_tokens, talk
from test_openai_odd import odd_messages

from transom.core.budget import Budget
from transom.core.codec import decode, encode
from transom.core.entry import Entry
from transom.core.message import Failure, Handoff, Instruction, Note, Recalled, Text, ToolResult
from transom.core.plan import plan
from transom.core.plan_request import PlanRequest, WindowOptions
from transom.core.reducer import build_view
from transom.errors import BudgetImpossible, InvalidMessage
from transom.policies import policy_named
from transom.testing.fakes import Entries, WordCounter
from transom.testing.random_logs import logs
from transom.wire.gemini import GEMINI, GeminiDialect
from transom.wire.openai import parse

STRICT = GeminiDialect(strict=True)
COUNTER = WordCounter()
TEXTS = st.sampled_from(["", "x", "é\ud800", "{}", " ", "long words " * 30]) | st.text(max_size=5)
WORDS = TEXTS.filter(lambda text: text and "\ud800" not in text)
NAMES = st.sampled_from(["sh", "read", "default_api:Bash"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=5,
)
OBJECTS = st.dictionaries(TEXTS, JSON, max_size=2)


def sometimes(required, **optional):
    return st.fixed_dictionaries(required, optional=optional)


def either(camel, snake, body, **beside):
    return st.sampled_from([camel, snake]).flatmap(lambda key: sometimes({key: body}, **beside))


SIGNED = {"thoughtSignature": st.just("c2ln"), "thought_signature": st.just("c2ln")}
FILE = either("inlineData", "inline_data", st.just({"mimeType": "image/png", "data": "A" * 40}), videoMetadata=OBJECTS)
FILES = FILE | either("fileData", "file_data", st.just({"mime_type": "text/csv", "file_uri": "gs://b/f"}))
UNKNOWN = st.builds(lambda words: {"toolCall": {"id": "t", "args": words}}, OBJECTS) | st.just({"executableCode": {}})

# ---- anything


LABELS = st.sampled_from(["a", "b", "", "\ud800", "?"])
ODD_CALL = either(
    "functionCall",
    "function_call",
    sometimes({}, name=NAMES | TEXTS, id=LABELS | st.none(), args=OBJECTS | st.none(), x=JSON),
    **SIGNED,
)
ODD_RESPONSE = either(
    "functionResponse",
    "function_response",
    sometimes(
        {}, name=NAMES | TEXTS, id=LABELS | st.none(), response=OBJECTS | st.none(), parts=st.lists(FILES | UNKNOWN)
    ),
    x=JSON,
)
ODD_TEXT = sometimes({"text": TEXTS}, thought=st.booleans() | JSON, x=st.none() | JSON, **SIGNED)
TWICE = st.builds(lambda a, b: {**a, **b}, ODD_TEXT | FILES, ODD_CALL | ODD_RESPONSE | UNKNOWN)
ODD_PART = ODD_TEXT | ODD_CALL | ODD_RESPONSE | FILES | UNKNOWN | TWICE | sometimes({}, **SIGNED)
ODD = sometimes(
    {"parts": st.lists(ODD_PART, max_size=4) | st.none()},
    role=st.sampled_from(["user", "model", "model", "function", None]),
    x=JSON,
)
OWN = st.builds(
    lambda kind, text: kind(text),
    st.sampled_from(
        [
            lambda text: Note(key="mode", text=text),
            lambda text: Recalled(text=text),
            lambda text: Handoff(text=text),
            lambda text: Failure(failure="x", shown=text),
            lambda text: Instruction(parts=(Text(text),), role="developer"),
        ]
    ),
    TEXTS,
)
ANSWERS = st.builds(
    lambda parts, failed, call: ToolResult(parts=tuple(map(Text, parts)), failed=failed, call=call),
    st.lists(TEXTS, max_size=3),
    st.booleans(),
    LABELS | NAMES,
)


def facts_of(contents):
    return [fact for _, fact in GEMINI.parse(contents)]


RUNS = st.one_of(
    st.lists(ODD, max_size=4).map(facts_of),
    odd_messages().map(lambda message: [parse(message)]),
    OWN.map(lambda fact: [fact]),
    ANSWERS.map(lambda fact: [fact]),
    st.builds(lambda call, text: [GEMINI.parse_tool_result(call, text)], LABELS | NAMES, TEXTS),
)
MIXED = st.lists(RUNS, max_size=6).map(lambda runs: [fact for run in runs for fact in run])


def assert_sound(conversation, window):
    """Valid, countable and never more than was counted; valid without signatures where nobody asks for them."""
    request = request_of(conversation, window)
    broken = STRICT.violations(request)
    if not window.slots:
        assert {violation.rule for violation in broken} == {"G7"}
        return
    assert broken == []
    json.dumps(request, ensure_ascii=False, allow_nan=False).encode()
    assert request_tokens(request, COUNTER) <= window.size.tokens


@given(st.lists(ODD, max_size=6))
def test_any_contents_make_a_valid_window(contents):
    conversation = read(contents, counter=COUNTER, dialect=STRICT)
    assert_sound(conversation, conversation.plan_request())


@given(MIXED, st.lists(TEXTS, max_size=2))
def test_any_facts_of_any_dialect_make_a_valid_window(facts, heads):
    system = [Instruction(parts=(Text(text),)) for text in heads]
    conversation = talk(*facts, system=system, counter=COUNTER, dialect=STRICT)
    assert_sound(conversation, conversation.plan_request())


@given(MIXED, st.integers(60, 900))
def test_within_a_budget_or_refused(facts, context):
    conversation = talk(*facts, counter=COUNTER, context=context, policy="default", dialect=STRICT)
    try:
        window = conversation.plan_request()
    except BudgetImpossible:
        return
    assert_sound(conversation, window)
    if window.slots:
        assert request_tokens(request_of(conversation, window), COUNTER) <= conversation.budget.usable


@given(logs())
def test_any_log_with_any_edits_makes_a_valid_window(log):
    view = build_view(Entries(log), GEMINI.format_counter(COUNTER))
    policy, options = policy_named("passthrough"), WindowOptions(required_user_turn=GEMINI.required_user_turn)
    window = plan(PlanRequest(view, options, Budget(context=10**7), policy)).window
    assert_sound(talk(dialect=STRICT), window)


@given(MIXED)
def test_what_is_joined_for_a_prefix_is_a_prefix(facts):
    conversation = talk(*facts, counter=COUNTER)
    messages = [message for slot in conversation.view.slots for message in GEMINI.render_slot(slot)]
    before = json.dumps([list(each) for each in messages])
    last: list = []
    for end in range(len(messages) + 1):
        now = GEMINI.join(messages[:end])
        flat = [(content.get("role"), part) for content in now for part in content["parts"]]
        assert flat[: len(last)] == last
        last = flat
    assert json.dumps([list(each) for each in messages]) == before


@given(st.lists(ODD, max_size=4))
def test_facts_come_back_from_the_disk(contents):
    for fact in facts_of(contents):
        assert decode(encode(Entry(seq=0, at=0.0, body=fact))).body == fact


ANY = JSON | st.dictionaries(st.sampled_from(["role", "parts", "text"]), JSON | st.sampled_from(["user", "model"]))
NEARLY = st.builds(lambda role, parts: {"role": role, "parts": parts}, st.sampled_from(["user", "model"]), JSON)
KEYS = st.sampled_from(["text", "functionCall", "function_response", "inlineData", "thought", "parts", "name"])
INNER = st.dictionaries(KEYS, JSON | st.dictionaries(KEYS | st.sampled_from(["args", "id", "response"]), JSON))


@given(ANY | NEARLY | st.builds(lambda parts: {"role": "model", "parts": parts}, st.lists(INNER)))
def test_anything_is_read_or_refused_and_always_checked(value):
    STRICT.violations({"contents": value, "systemInstruction": value})
    STRICT.violations({"contents": [value, value]})
    for call in (lambda: GEMINI.parse([value]), lambda: GEMINI.parse_reply(value), lambda: GEMINI.parse_system(value)):
        try:
            call()
        except InvalidMessage as refused:
            assert "\n" not in str(refused)


# ---- what is valid


CALLS = st.builds(
    lambda key, sign, snake: (
        lambda call: {
            ("function_call" if snake else "functionCall"): call,
            **({("thought_signature" if snake else "thoughtSignature"): "c2ln"} if sign else {}),
        }
    ),
    st.just(""),
    st.booleans(),
    st.booleans(),
)
BODIES = sometimes({"name": NAMES}, args=OBJECTS)
SAID = st.one_of(
    sometimes({"text": WORDS}, thought=st.just(True), thoughtSignature=st.just("c2ln")), UNKNOWN.filter(bool), FILES
)
CLEAN = st.dictionaries(WORDS, st.integers() | WORDS | st.lists(WORDS, max_size=2), max_size=2)


@st.composite
def steps(draw):
    """A turn with calls, in one content or two, and its responses, in one content or one by one."""
    labelled = draw(st.booleans())
    calls = draw(st.lists(BODIES, min_size=1, max_size=3))
    calls = [{**call, "id": f"c{at}"} if labelled else call for at, call in enumerate(calls)]
    parts = [draw(CALLS)(call) for call in calls]
    cut = draw(st.integers(0, len(parts) - 1))
    said = draw(st.lists(SAID, max_size=2))
    model = [said + parts[:cut], parts[cut:]] if cut else [said + parts]
    answers = [
        {
            draw(st.sampled_from(["functionResponse", "function_response"])): {
                **({"id": call["id"]} if labelled else {}),
                "name": call["name"],
                "response": draw(CLEAN | st.builds(lambda text: {"output": text}, WORDS | st.just(""))),
                **({"parts": [draw(FILES)]} if draw(st.booleans()) else {}),
            }
        }
        for call in calls
    ]
    user = [[answer] for answer in answers] if draw(st.booleans()) else [answers]
    return [{"role": "model", "parts": each} for each in model] + [{"role": "user", "parts": each} for each in user]


SPOKEN = st.builds(
    lambda parts: [{"role": "user", "parts": parts}],
    st.lists(sometimes({"text": WORDS}) | FILES, min_size=1, max_size=3).filter(lambda parts: parts != [{"text": ""}]),
)
TOLD = st.builds(
    lambda parts: [{"role": "model", "parts": parts}],
    st.lists(SAID, min_size=1, max_size=3).filter(lambda parts: not all(part.get("thought") for part in parts)),
)


@given(SPOKEN, st.lists(SPOKEN | TOLD | steps(), max_size=5), SPOKEN)
def test_what_is_valid_comes_out_as_it_came(first, runs, last):
    contents = first + [content for run in runs for content in run] + last
    contents = json.loads(json.dumps(contents, ensure_ascii=False).replace("\ud800", "?"))
    assert GEMINI.violations({"contents": contents}) == []
    conversation = read(contents, counter=COUNTER)
    assert not conversation.view.open_units
    assert request_of(conversation) == {"contents": contents}
    assert (
        request_tokens({"contents": contents}, COUNTER)
        <= conversation.view.total.tokens + GEMINI.format_counter(COUNTER).request
    )


@pytest.mark.parametrize("depth", [40, 400])
def test_deep_json_is_carried_or_refused(depth):
    value: object = 1
    for _ in range(depth):
        value = {"a": value}
    contents = [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "sh", "args": {"deep": value}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "sh", "response": {"deep": value}}}]},
    ]
    if depth > 100:
        with pytest.raises(InvalidMessage, match="content 1: parts is nested more than 100 levels deep"):
            read(contents)
    else:
        assert request_of(read(contents)) == {"contents": contents}


@pytest.mark.parametrize(
    "part",
    [
        {"text": "a", "functionCall": {"name": "sh"}},
        {"functionCall": {"name": "sh"}, "function_call": {"name": "ls"}},
        {"inlineData": {"mimeType": "image/png", "data": "eA=="}, "executableCode": {"code": "1"}},
        {"newThing": {"a": 1}, "otherThing": {"b": 2}, "partMetadata": {"c": 3}},
    ],
)
def test_a_part_that_is_two_things_at_once_is_read_as_two(part):
    content = {"role": "model", "parts": [part]}
    assert "part" in [violation.rule for violation in GEMINI.violations({"contents": [content]})]
    sent = request_of(talk(*(fact for _, fact in GEMINI.parse([content]))))["contents"]
    parts = [each for content in sent if content["role"] == "model" for each in content["parts"]]
    assert len(parts) == 2
    assert {key for each in parts for key in each} == set(part)
    assert "part" not in [violation.rule for violation in GEMINI.violations({"contents": sent})]
