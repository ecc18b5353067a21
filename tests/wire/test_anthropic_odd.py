"""Odd messages and logs by the thousand: all that reads is valid in a window, whatever it was."""

from __future__ import annotations

import json
import re
from contextlib import suppress

import turnsafe
from hypothesis import example, given
from hypothesis import strategies as st
from test_anthropic_counting import request_tokens, talking
from windows import Letters

from transom.conversation.render_window import render
from transom.core.edit import Fold, Pin, Trim
from transom.core.message import Fact, Failure, Handoff, Head, Note, Recalled, addressed_parts
from transom.core.unit import FoldedSlot
from transom.core.window import assemble
from transom.errors import BudgetImpossible, InvalidEdit, InvalidMessage
from transom.wire.anthropic import ANTHROPIC, AnthropicDialect
from transom.wire.openai import parse as parse_chat
from transom.wire.rendering import render_messages

TEXTS = st.sampled_from(["", "x", "é\ud800", " \n", "a b ", "long " * 20, "[entry 3: left out]"])
LABELS = st.sampled_from(["a", "b", "c", "a b", "", "\ud800", "call-1-0"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=5,
)
MARK = st.just({"type": "ephemeral"})
TEXT = st.fixed_dictionaries({"type": st.just("text"), "text": TEXTS}, optional={"cache_control": MARK, "x": JSON})
MEDIA = st.sampled_from(
    [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words " * 300}},
    ]
)
OTHER = st.sampled_from(
    [
        {"type": "container_upload", "file_id": "f1"},
        {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "found"}]},
        {"type": "later", "words": ["one", {"two": "three"}]},
    ]
)
USE = st.builds(
    lambda label, name, value, extra: {"type": "tool_use", "id": label, "name": name, "input": value, **extra},
    LABELS,
    st.sampled_from(["sh", "read file", "", "汉", "n" * 130]),
    JSON,
    st.sampled_from([{}, {"cache_control": {"type": "ephemeral"}}, {"caller": {"type": "direct"}}]),
)
THOUGHT = st.sampled_from(
    [
        {"type": "thinking", "thinking": "step by step " * 5, "signature": "c2lnbmVk"},
        {"type": "thinking", "thinking": "unsigned"},
        {"type": "redacted_thinking", "data": "ZW5jcnlwdGVk"},
    ]
)
SERVER = st.sampled_from(
    [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
    ]
)
RESULT = st.builds(
    lambda label, rest: {"type": "tool_result", "tool_use_id": label, **rest},
    LABELS,
    st.fixed_dictionaries(
        {},
        optional={
            "content": TEXTS | st.none() | st.lists(TEXT | MEDIA | OTHER, max_size=2),
            "is_error": st.booleans(),
            "cache_control": MARK,
        },
    ),
)


def messages(role, *blocks):
    content = TEXTS | st.lists(st.one_of(*blocks), max_size=4)
    return st.fixed_dictionaries({"role": st.just(role), "content": content})


MESSAGES = st.one_of(
    messages("user", TEXT, MEDIA, OTHER, RESULT, USE, THOUGHT),
    messages("user", RESULT),
    messages("assistant", TEXT, USE, USE, THOUGHT, SERVER, OTHER),
    messages("system", TEXT, OTHER),
)
CHAT = st.one_of(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "system", "developer"]), "content": TEXTS}),
    st.builds(
        lambda calls, text: {"role": "assistant", "content": text, "tool_calls": calls, "reasoning": "r"},
        st.lists(
            st.builds(
                lambda label, args: {
                    "id": label,
                    "type": "function",
                    "function": {"name": "a tool", "arguments": args},
                },
                LABELS,
                TEXTS | st.just('{"a": 1}'),
            ),
            max_size=3,
        ),
        st.none() | TEXTS,
    ),
    st.builds(lambda label, text: {"role": "tool", "tool_call_id": label, "content": text}, LABELS, TEXTS),
)


def facts_of(raws, dialect=ANTHROPIC) -> list[Fact]:
    """Stretches of messages of both APIs, each read by its own."""
    facts: list[Fact] = []
    for spoken, stretch in raws:
        facts += (
            [fact for _, fact in dialect.parse(stretch)]
            if spoken == "anthropic"
            else [parse_chat(raw) for raw in stretch]
        )
    return facts


STRETCHES = st.lists(
    st.tuples(st.just("anthropic"), st.lists(MESSAGES, max_size=6))
    | st.tuples(st.just("openai"), st.lists(CHAT, max_size=6)),
    min_size=1,
    max_size=3,
)


def sound(request, *, native) -> None:
    """No rule is broken, and the second judge agrees. A log that shows nothing is sent by nobody."""
    if not request["messages"]:
        return
    assert ANTHROPIC.violations(request) == []
    errors = turnsafe.validate(request["messages"], provider="anthropic").violations
    # ids that came from this API stay as received; it takes one again in a later turn (recorded twice)
    codes = [each.message for each in errors if each.severity == "error"]
    assert [why for why in codes if not (native and "already used" in why)] == []


@given(STRETCHES, st.sampled_from([10_000_000, 3_000, 900]))
def test_any_conversation_makes_a_valid_window(raws, context):
    talk = talking(*facts_of(raws), context=context, system=ANTHROPIC.parse_system("be brief"))
    try:
        window = talk.plan_request(state={"mode": "quick"})
    except BudgetImpossible:
        assert context < 10_000_000
        return
    request = render(window, ANTHROPIC)
    sound(request, native=any(spoken == "anthropic" for spoken, _ in raws))
    assert request_tokens(request, Letters()) <= window.tokens <= context


@given(st.lists(CHAT, min_size=1, max_size=12))
def test_calls_of_another_dialect_are_named_by_place(raws):
    sound(render(talking(*(parse_chat(raw) for raw in raws)).plan_request(), ANTHROPIC), native=False)


UNANSWERED = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}}
GOES_ON = [
    {"role": "assistant", "content": [UNANSWERED, {"type": "text", "text": ""}]},
    {"role": "assistant", "content": "x"},
]


@given(STRETCHES)
@example([("anthropic", GOES_ON)])
def test_what_comes_out_is_read_and_comes_out_the_same(raws):
    """A window is what the API would accept: so it comes back unchanged, but for the ids that we made: the calls have
    other places in the other log."""
    request = render(talking(*facts_of(raws)).plan_request(), ANTHROPIC)
    again = talking(*(fact for _, fact in ANTHROPIC.parse(request["messages"])))
    body = ANTHROPIC.body(Head(), render_messages(assemble(again.view, 10**7).view, ANTHROPIC))
    assert with_numbered_ids(body) == with_numbered_ids(request)


def with_numbered_ids(body):
    """The body as JSON, in which the ids that were made of places are numbered in the order in which they come."""
    numbers = {}
    return re.sub(r"call-\d+-\d+", lambda found: f"call {numbers.setdefault(found[0], len(numbers))}", json.dumps(body))


@given(STRETCHES)
def test_a_window_is_joined_like_each_of_its_beginnings(raws):
    """What comes out for a prefix is a prefix, block by block; and joining changes no message it is given. The one
    exception is a server tool that waits at the end of the prefix and gets no result."""
    slots = talking(*facts_of(raws)).view.slots
    parts = [ANTHROPIC.render_slot(slot) for slot in slots]
    whole = blocks(ANTHROPIC.join([message for part in parts for message in part]))
    before = [[(dict(message), joins) for message, joins in part] for part in parts]
    for size in range(len(parts)):
        some = blocks(ANTHROPIC.join([message for part in parts[:size] for message in part]))
        if not any(block["type"].endswith("_tool_use") and block["type"] != "tool_use" for _, block in some):
            assert whole[: len(some)] == some
    assert [[(dict(message), joins) for message, joins in part] for part in parts] == before


def blocks(messages):
    listed = []
    for message in messages:
        content = message["content"]
        content = [{"type": "text", "text": content}] if isinstance(content, str) else content
        listed += [(message["role"], block) for block in content]
    return listed


OWN = st.one_of(
    st.builds(lambda text: Note(key="mode", text=text), TEXTS),
    st.builds(lambda text: Recalled(text=text, refs=(0,)), TEXTS),
    st.builds(lambda text: Handoff(text=text, source="scout"), TEXTS),
    st.builds(lambda text: Failure(failure="timeout", text=text, shown=text), TEXTS),
)
SMALL = st.integers(0, 9)
EDITS = st.lists(st.tuples(st.sampled_from(["fold", "trim", "trim", "pin", "undo"]), SMALL, SMALL, SMALL), max_size=8)
NOTES = ("[cut]", "", " ", "{}")


def edited(talk, kind, a, b, c) -> None:
    """An edit that small numbers point at, if it applies."""
    slots, facts = talk.view.slots, [seq for seq in range(talk.view.length) if talk.view.slot_of(seq) is not None]
    if not facts:
        return
    seq = facts[a % len(facts)]
    with suppress(InvalidEdit):
        if kind == "fold":
            first, last = slots[a % len(slots)], slots[min(a % len(slots) + b, len(slots) - 1)]
            talk.edit(Fold(first=first.first, last=last.last, text=("[folded]", "  ", "[\ud83d]")[c % 3]))
        elif kind == "trim":
            places = [address for address, _ in addressed_parts(talk.view.fetch(seq).body)]
            if places:
                keep = ((0, 1),) if places[b % len(places)][0] == "text" and c > 5 else ()
                talk.edit(Trim(entry=seq, part=places[b % len(places)], keep=keep, note=NOTES[c % len(NOTES)]))
        elif kind == "pin":
            talk.edit(Pin(entry=seq))
        else:
            talk.undo()


def ends_unseen(view) -> bool:
    """Where the plan does not see that a window ends in the model's words: behind a fold stands a pinned turn, or an
    edit has put words in the place of what the provider's tools did."""
    last = view.slots[-1] if view.slots else None
    return isinstance(last, FoldedSlot) or (last is not None and any(cut.trim.part[0] == "other" for cut in last.trims))


@given(STRETCHES, st.lists(OWN, max_size=4), EDITS, st.booleans())
def test_any_log_with_any_edits_makes_a_valid_window(raws, own, edits, bound):
    facts = facts_of(raws, AnthropicDialect(bound=bound))
    for at, fact in enumerate(own):
        facts.insert(3 * at, fact)
    talk = talking(*facts)
    for each in edits:
        edited(talk, *each)
    window = talk.plan_request()
    request = render(window, ANTHROPIC)
    assert request_tokens(request, Letters()) <= window.tokens
    if not ends_unseen(window.view):
        sound(request, native=any(spoken == "anthropic" for spoken, _ in raws))


@given(JSON | st.dictionaries(st.sampled_from(["role", "content"]), JSON | st.just("user") | st.just("assistant")))
def test_anything_else_is_read_or_refused(raw):
    try:
        facts = ANTHROPIC.parse([raw])
    except InvalidMessage as refused:
        assert "\n" not in str(refused)
        assert "message 0" in str(refused)
    else:
        assert facts
