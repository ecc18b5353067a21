"""Odd messages by the thousand: all that parses comes out again, and the window is valid whatever went in."""

from __future__ import annotations

import turnsafe
from hypothesis import given, settings
from hypothesis import strategies as st
from windows import Letters, imported, rendered

from counting import request_tokens
from transom.core.codec import decode, encode
from transom.core.entry import Entry
from transom.errors import InvalidMessage
from transom.wire.openai import OPENAI_CHAT, message, parse, violations

TEXTS = st.sampled_from(["", "x", "é\ud800", "{}", "a b", "long " * 20]) | st.text(max_size=5)
LABELS = st.sampled_from(["a", "b", "c", "", "\ud800", "?"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=5,
)
KINDS = st.sampled_from(["text", "image_url", "file", "input_audio", "thinking", "refusal"])


def sometimes(required, **optional):
    return st.fixed_dictionaries(required, optional=optional)


def parts(texts, *, bare=True):
    part = st.builds(lambda text, rest: {"type": "text", "text": text, **rest}, texts, sometimes({}, x=JSON))
    other = sometimes({"type": KINDS.filter(lambda kind: kind != "text")}, data=TEXTS, x=JSON)
    typed = part | other
    return st.lists(typed | sometimes({}, text=TEXTS, type=JSON, data=JSON) if bare else typed, max_size=3)


def odd_messages(texts=TEXTS, names=TEXTS):
    contents = st.none() | texts | parts(texts)
    body = sometimes({}, name=names | st.none(), arguments=JSON, x=JSON)
    calls = sometimes({"function": body}, id=LABELS | st.none(), type=st.just("function") | JSON, index=JSON)
    asked = st.none() | st.lists(calls, max_size=3)
    common = {"content": contents, "name": names | st.none(), "x": JSON}
    return st.one_of(
        sometimes({"role": st.sampled_from(["user", "system", "developer"])}, **common, tool_calls=st.none()),
        sometimes(
            {"role": st.just("assistant")},
            **common,
            tool_calls=asked,
            function_call=st.none() | body,
            reasoning_content=st.none() | texts,
            reasoning=st.none() | texts | JSON,
            refusal=st.none() | texts,
            audio=st.none() | sometimes({}, id=LABELS),
        ),
        sometimes({"role": st.just("tool")}, **common, tool_call_id=LABELS | st.none()),
        sometimes({"role": st.just("function")}, **common),
    )


@given(odd_messages())
def test_an_odd_message_comes_out_as_it_was_also_from_the_disk(raw):
    fact = parse(raw)
    assert message(fact) == raw
    assert message(decode(encode(Entry(seq=0, at=0.0, body=fact))).body) == raw


@given(st.lists(odd_messages(), min_size=1, max_size=8))
@settings(deadline=None)
def test_any_conversation_makes_a_valid_window(messages):
    out = rendered(imported(messages, counter=Letters()))
    assert [found for found in violations(out) if found.rule != "empty"] == []
    assert turnsafe.validate(out, provider="openai").violations == ()


SOUND = LABELS.filter(str.isascii)


def call(label, args):
    return {"id": label, "type": "function", "function": {"name": "sh", "arguments": args}}


NICE = st.one_of(
    sometimes(
        {
            "role": st.sampled_from(["user", "system", "developer"]),
            "content": TEXTS.filter(bool) | parts(TEXTS, bare=False).filter(bool),
        },
        name=st.sampled_from(["Ann", "B-2"]),
    ),
    st.builds(
        lambda calls, text: {"role": "assistant", "content": text, "tool_calls": calls, "reasoning": "r"},
        st.lists(st.builds(call, SOUND, TEXTS | JSON.filter(lambda value: value is not None)), min_size=1, max_size=3),
        st.none() | TEXTS,
    ),
    st.builds(lambda label, text: {"role": "tool", "tool_call_id": label, "content": text}, SOUND, TEXTS | st.none()),
    st.builds(
        lambda args: {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": args}}, TEXTS
    ),
    st.just({"role": "function", "name": "f", "content": "out"}),
)


@given(st.lists(NICE, min_size=1, max_size=8))
@settings(deadline=None)
def test_the_counter_never_counts_less_than_is_sent(messages):
    view = imported(messages, counter=OPENAI_CHAT.format_counter(Letters()))
    out = rendered(view)
    assert view.total.tokens >= request_tokens(out, Letters())
    assert view.total.messages == len(out)


@given(JSON | st.dictionaries(st.sampled_from(["role", "content", "tool_calls", "name"]), JSON | st.just("user")))
def test_anything_else_is_read_or_refused(raw):
    try:
        fact = parse(raw)
    except InvalidMessage as refused:
        assert "\n" not in str(refused)
    else:
        assert message(fact) == raw
