"""Each rule both ways: what breaks it, and what comes as close as it can without."""

from __future__ import annotations

import pytest

from transom.wire.gemini import GEMINI, GeminiDialect, violations

STRICT = GeminiDialect(strict=True)


def user(*parts):
    return {"role": "user", "parts": list(parts)}


def model(*parts):
    return {"role": "model", "parts": list(parts)}


def call(name="sh", signature=None, **more):
    signed = {} if signature is None else {"thoughtSignature": signature}
    return {"functionCall": {"name": name, "args": {}, **more}, **signed}


def answer(name="sh", **more):
    return {"functionResponse": {"name": name, "response": {"output": "ok"}, **more}}


GO, OK = {"text": "go"}, {"text": "ok"}
STEP = [user(GO), model(call()), user(answer())]


def broken(contents, dialect=GEMINI, **fields):
    return [(each.rule, each.index) for each in dialect.violations({"contents": contents, **fields})]


BROKEN = {
    "G1: begins with a call": ([model(call()), user(answer())], [("G1", 0)]),
    "G1: begins with words and a call": ([model(OK), model(call()), user(answer())], [("G1", 0)]),
    "G2: no call before": ([user(answer())], [("G2", 0)]),
    "G2: words of the model before": ([user(GO), model(OK), user(answer())], [("G2", 2)]),
    "G2: words of the user between": ([user(GO), model(call()), user(OK), user(answer())], [("G2", 3)]),
    "G2: behind another turn": ([*STEP, model(OK), user(answer())], [("G2", 4)]),
    "G3: none": ([user(GO), model(call()), user(OK)], [("G3", 2)]),
    "G3: too few": ([user(GO), model(call(), call()), user(answer())], [("G3", 2)]),
    "G3: too few for two contents": ([user(GO), model(call()), model(call()), user(answer())], [("G3", 3)]),
    "G3: too many": ([user(GO), model(call()), user(answer()), user(answer())], [("G3", 2)]),
    "G4: text behind": ([user(GO), model(call()), user(answer(), OK)], [("G4", 2)]),
    "G4: a file before": ([user(GO), model(call()), user({"fileData": {}}, answer())], [("G4", 2)]),
    "G6: words": ([user(GO), model(OK)], [("G6", 1)]),
    "G6: a thought": ([user(GO), model({"text": "hm", "thought": True})], [("G6", 1)]),
    "G6: a call": ([user(GO), model(call())], [("G6", 1)]),
    "G7: no contents": ([], [("G7", -1)]),
    "G7: contents that are no list": (user(GO), [("G7", -1)]),
    "G7: no parts": ([user()], [("G7", 0)]),
    "G7: parts are missing": ([{"role": "user"}], [("G7", 0)]),
    "content": (["go"], [("content", 0)]),
    "role": ([{"role": "assistant", "parts": [GO]}], [("role", 0)]),
    "role: function": ([{"role": "function", "parts": [GO]}], [("role", 0)]),
    "part: nothing": ([user({})], [("part", 0)]),
    "part: only beside": ([user(GO), model({"thoughtSignature": "x"}), user(GO)], [("part", 1)]),
    "part: two things": ([user({"text": "a", "inlineData": {}})], [("part", 0)]),
    "part: no text": ([user({"text": 5})], [("part", 0)]),
    "part: no object": ([user({"inlineData": "AAAA"})], [("part", 0)]),
    "G8": ([user(GO, {"text": ""}), model({"text": ""}, OK), user(GO)], [("G8", 0), ("G8", 1)]),
    "call: no name": ([user(GO), model(call("")), user(answer())], [("call", 1)]),
    "call: an id that is no text": ([user(GO), model(call(id=5)), user(answer())], [("call", 1)]),
    "call: arguments that are no object": ([user(GO), model(call(args="{}")), user(answer())], [("call", 1)]),
    "call: by the user": ([user(call())], [("call", 0)]),
    "response: by the model": ([*STEP, model(answer()), user(GO)], [("response", 3)]),
    "response: no name": ([user(GO), model(call()), user(answer(""))], [("response", 2)]),
    "response: an id that is no text": ([user(GO), model(call()), user(answer(id=5))], [("response", 2)]),
    "response: no object": ([user(GO), model(call()), user(answer(response="ok"))], [("response", 2)]),
    "text": ([user({"text": "\ud800"})], [("text", 0)]),
    "text in a key": ([user({"text": "a", "partMetadata": {"\udc00": 1}})], [("text", 0)]),
}


@pytest.mark.parametrize(("contents", "rules"), BROKEN.values(), ids=BROKEN)
def test_what_breaks_a_rule(contents, rules):
    assert broken(contents) == rules


SOUND = {
    "a question": [user(GO)],
    "a step": STEP,
    "words before a call (G1)": [user(GO), model(OK), model(call()), user(answer())],
    "begins with words of the model": [model(OK), user(GO)],
    "two calls in two contents (G3)": [user(GO), model(call()), model(call()), user(answer(), answer())],
    "two responses in two contents (G3)": [user(GO), model(call(), call()), user(answer()), user(answer())],
    "words behind the responses (G2, G4)": [*STEP, user(OK, {"fileData": {"fileUri": "gs://a"}})],
    "ends in what the model does itself (G6)": [user(GO), model(OK, {"toolCall": {"id": "a"}})],
    "one role twice (G7)": [user(GO), user(OK), model(OK), model(OK), user(GO)],
    "a blank text, and an empty one with a signature (G8)": [
        user({"text": " "}, {"text": "", "thoughtSignature": "x"})
    ],
    "no role": [{"parts": [GO]}],
    "null is nothing": [user({"text": "a", "functionCall": None}), *STEP],
    "a kind that came up later": [user({"hologramData": {"id": "a"}})],
    "snake case": [
        user(GO, {"inline_data": {"mime_type": "image/png", "data": "AAAA"}}),
        model({"function_call": {"name": "sh"}, "thought_signature": "x"}),
        user({"function_response": {"name": "sh", "response": {}}}),
    ],
}


@pytest.mark.parametrize("contents", SOUND.values(), ids=SOUND)
def test_what_breaks_none(contents):
    assert broken(contents) == []


def test_what_is_cached_comes_before():
    for contents in ([model(call()), user(answer())], [user(answer())]):
        assert broken(contents) != []
        assert broken(contents, cachedContent="cachedContents/a") == []
        assert broken(contents, cached_content="cachedContents/a") == []


@pytest.mark.parametrize("key", ["systemInstruction", "system_instruction"])
def test_the_system_instruction_is_text(key):
    for good in ({"parts": [OK]}, {"role": "user", "parts": [OK, OK]}, None):
        assert broken([user(GO)], **{key: good}) == []
    for bad in ("text", {"parts": []}, {}, {"parts": [{"fileData": {}}]}, [OK]):
        assert broken([user(GO)], **{key: bad}) == [("system", -1)]
    assert broken([user(GO)], **{key: {"parts": [{"text": "\ud800"}]}}) == [("text", -1)]


SIGNED, UNSIGNED = call(signature="x"), call()
STEPS = {
    "signed": ([user(GO), model(SIGNED), user(answer())], []),
    "only the first of a step": ([user(GO), model(OK, SIGNED, UNSIGNED), user(answer(), answer())], []),
    "the first of two contents": ([user(GO), model(SIGNED), model(UNSIGNED), user(answer(), answer())], []),
    "unsigned": ([user(GO), model(UNSIGNED), user(answer())], [("G5", 1)]),
    "signed the wrong one": ([user(GO), model(UNSIGNED, SIGNED), user(answer(), answer())], [("G5", 1)]),
    "an unsigned second step": (
        [user(GO), model(SIGNED), user(answer()), model(UNSIGNED), user(answer())],
        [("G5", 3)],
    ),
    "an empty signature": ([user(GO), model(call(signature="")), user(answer())], [("G5", 1)]),
    "in an earlier turn": ([*STEP, model(OK), user(GO), model(SIGNED), user(answer())], []),
    "behind the user's new words": ([*STEP, user(OK)], []),
}


@pytest.mark.parametrize(("contents", "rules"), STEPS.values(), ids=STEPS)
def test_signatures_are_asked_for_by_strict_models_only(contents, rules):
    assert broken(contents, STRICT) == rules
    assert broken(contents) == []


@pytest.mark.parametrize("request_", [None, [], "x", {}, {"contents": None}, {"contents": {}}, {"contents": [None]}])
def test_anything_can_be_checked(request_):
    assert violations(request_) != []
