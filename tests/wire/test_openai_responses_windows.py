"""Windows in this dialect are valid whatever the log holds, counted in full, and begin as the ones before them did."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError
from responses_kit import OUTPUTS, read, request_of, same, tokens_of, told
from test_responses_built_in import CALLS as BUILT_IN
from test_responses_built_in import KINDS as BUILT_INS
from test_responses_built_in import OUTPUTS as BUILT_IN_OUTPUTS
from test_sdk_input_types import take

from transom.core.budget import Budget
from transom.core.edit import Fold, Trim
from transom.core.message import Head, Reasoning, addressed_parts
from transom.core.plan import plan
from transom.core.plan_request import PlanRequest, WindowOptions
from transom.core.reducer import build_view
from transom.core.window import assemble
from transom.errors import BudgetImpossible, InvalidEdit
from transom.policies import policy_named
from transom.testing import WordCounter
from transom.testing.random_logs import logs
from transom.wire.fields import compact_json
from transom.wire.openai import OPENAI_CHAT
from transom.wire.rendering import render_messages
from transom.wire.responses import DEEPSEEK_RESPONSES, RESPONSES

COUNT = WordCounter().count
WORDS = st.sampled_from(
    ["x", "a longer text with some words in it, to be cut " * 5, "é and 汉字 " * 30, "half \ud83d" * 9]
)
LABELS = st.sampled_from(["c0", "c1", "c2", "c" * 64, "c" * 65, "", "\ud800", "\ud801"])
NAMES = st.sampled_from(["sh", "read", "a.b", "", "n" * 70, "\ud800"])
IDS = st.none() | st.sampled_from([f"{kind}_{n}" for kind in ("msg", "rs", "fc", "ws") for n in range(3)])


def sometimes(required, **optional):
    return st.fixed_dictionaries(required, optional=optional)


def with_id(strategy):
    return st.builds(lambda item, label: item if label is None else {**item, "id": label}, strategy, IDS)


HEARD = st.lists(
    st.builds(lambda text: {"type": "input_text", "text": text}, WORDS)
    | st.just({"type": "input_image", "image_url": "data:image/png;base64," + "A" * 200})
    | st.just({"type": "input_file", "file_url": "https://example.org/a.pdf"})
    | st.just({"type": "output_text", "text": "quoted"})
    | st.builds(lambda text: {"type": "text", "text": text}, WORDS),
    max_size=3,
)
SAID = st.lists(
    st.builds(lambda text: {"type": "output_text", "text": text, "annotations": []}, WORDS)
    | st.builds(lambda text: {"type": "refusal", "refusal": text}, WORDS)
    | st.builds(lambda text: {"type": "input_text", "text": text}, WORDS)
    | st.just({"type": "input_image", "image_url": "https://example.org/a.png"}),
    max_size=3,
)
MODELS = with_id(
    sometimes({"role": st.just("assistant"), "content": WORDS | SAID | st.none()}, status=st.just("completed"))
    | sometimes(
        {
            "type": st.just("reasoning"),
            "summary": st.just([]) | st.just([{"type": "summary_text", "text": "so far " * 9}]),
        },
        content=st.builds(lambda text: [{"type": "reasoning_text", "text": text}], WORDS),
        encrypted_content=st.just("A1b2" * 40),
    )
    | sometimes(
        {"type": st.just("function_call"), "call_id": LABELS, "name": NAMES, "arguments": WORDS | st.just("")},
        namespace=st.just("ns"),
    )
    | st.fixed_dictionaries({"type": st.just("custom_tool_call"), "call_id": LABELS, "name": NAMES, "input": WORDS})
    | st.just({"type": "web_search_call", "action": {"type": "search", "query": "weather"}})
    | st.just({"type": "tool_search_call", "call_id": "t", "arguments": {"paths": ["sh"]}, "execution": "client"})
    | st.just({"type": "tool_search_output", "call_id": "t", "tools": [], "execution": "client"})
    | st.builds(lambda kind, label: {**BUILT_IN[kind], "call_id": label}, st.sampled_from(BUILT_INS), LABELS)
    | st.just({"type": "compaction", "encrypted_content": "C" * 90})
    | st.just({"type": "image_generation_call", "result": "D" * 300})
)
OTHERS = with_id(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "system", "developer"]), "content": WORDS | HEARD | st.just("")}
    )
    | st.fixed_dictionaries({"type": st.sampled_from(OUTPUTS), "call_id": LABELS, "output": WORDS | HEARD | st.none()})
    | st.builds(lambda kind, label: {**BUILT_IN_OUTPUTS[kind], "call_id": label}, st.sampled_from(BUILT_INS), LABELS)
    | st.just({"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "more"}]})
    | st.just({"type": "configuration_update", "reasoning": {"effort": "low"}})
)
ITEMS = st.lists(MODELS | MODELS | OTHERS, max_size=14)
CHAT = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "system"]), "content": WORDS})
    | st.builds(
        lambda text, label, name: {
            "role": "assistant",
            "content": text,
            "reasoning_content": "hm",
            "tool_calls": [{"id": label, "type": "function", "function": {"name": name, "arguments": "{"}}],
        },
        WORDS | st.none() | st.just(""),
        LABELS,
        NAMES,
    )
    | st.builds(lambda label, text: {"role": "tool", "tool_call_id": label, "content": text}, LABELS, WORDS)
    | st.just({"role": "assistant", "content": None, "audio": {"id": "a"}}),
    max_size=5,
)
EDITS = st.lists(st.tuples(st.sampled_from("tttrrfpu"), *[st.integers(0, 15)] * 3), max_size=8)


def edit(conversation, kind, a, b, c):
    """One edit of some place; one that does not apply is no edit."""
    view = conversation.view
    facts = [seq for seq in range(view.length) if view.slot_of(seq) is not None]
    parted = [seq for seq in facts if list(addressed_parts(view.fetch(seq).body))]
    with suppress(InvalidEdit):
        if kind == "u":
            conversation.undo()
        elif kind == "p" and facts:
            conversation.pin(facts[a % len(facts)])
        elif kind == "f" and facts:
            first = a % len(view.slots)
            last = min(first + b % 3, len(view.slots) - 1)
            conversation.edit(Fold(first=view.slots[first].first, last=view.slots[last].last, text="[folded]"))
        elif kind in "tr" and parted:
            entry = parted[a % len(parted)]
            places = list(addressed_parts(view.fetch(entry).body))
            if kind == "r":
                places = [place for place in places if isinstance(place[1], Reasoning)] or places
            address, _ = places[b % len(places)]
            keep = ((0, 9),) if address[0] == "text" and c % 2 else ()
            conversation.edit(
                Trim(entry=entry, part=address, keep=keep, note="{}" if address[0] == "args" else "[cut]")
            )


def is_taken_without_id(item):
    """Whether an item has an id, or needs none by the SDK's types. (Sealed reasoning goes out without.) They want a
    string as the content of a message without an id, but pass an empty list, which has no part that they refuse."""
    models = item.get("role") == "assistant" or item.get("type") == "reasoning"
    if not models or "id" in item or "encrypted_content" in item:
        return True
    if item.get("content") == []:
        return False
    try:
        take("responses", item)
    except ValidationError:
        return False
    return "status" not in item  # the types let unknown keys pass


def check(conversation, window):
    """Valid by the rules, in either strictness, counted in full, and what the SDK's types take."""
    sent = request_of(conversation, window=window)
    if not sent["input"]:
        return
    assert RESPONSES.violations(sent) == []
    assert all(map(is_taken_without_id, sent["input"]))
    assert tokens_of(sent, COUNT) <= window.size.tokens
    strict = DEEPSEEK_RESPONSES.body(conversation.head, render_messages(window.view, DEEPSEEK_RESPONSES))
    assert DEEPSEEK_RESPONSES.violations(strict) == []
    assert tokens_of(strict, COUNT) <= window.size.tokens


def mixed(items, chat, at):
    """Facts of both dialects, the chat's in the middle."""
    own = [fact for _, fact in RESPONSES.parse(items)]
    foreign = [fact for _, fact in OPENAI_CHAT.parse(chat)]
    return [*own[:at], *foreign, *own[at:]]


NAMELESS_PATCH = {
    "type": "apply_patch_call",
    "id": "apc_1",
    "call_id": "",
    "operation": {"type": "update_file", "path": "a.py", "diff": "-old line\n+new line"},
    "status": "completed",
}
NAMELESS_OUTPUT = {"type": "apply_patch_call_output", "call_id": "", "status": "failed", "output": "no such line"}


@given(ITEMS, CHAT, st.integers(0, 8), EDITS)
@example([NAMELESS_PATCH], [], 0, [])
@example([NAMELESS_OUTPUT], [], 0, [])
@example([NAMELESS_PATCH, NAMELESS_OUTPUT], [], 0, [])
def test_every_window_of_every_log_is_valid_and_counted(items, chat, at, edits):
    conversation = told(mixed(items, chat, at))
    for each in edits:
        edit(conversation, *each)
    check(conversation, conversation.plan_request())


@given(ITEMS, CHAT, st.integers(0, 8), st.integers(60, 900))
def test_every_window_that_was_cut_is_valid_and_counted(items, chat, at, context):
    conversation = told(mixed(items, chat, at), budget=Budget(context=context), policy="default")
    with suppress(BudgetImpossible):
        window = conversation.plan_request()
        check(conversation, window)
        assert window.tokens <= context


@given(logs())
def test_every_log_of_the_laws_is_valid_in_this_dialect(log):
    view = build_view(log, RESPONSES.format_counter(WordCounter()))
    head = view.head_entry.body if view.head_entry is not None else Head()
    budget, policy = Budget(context=10**7), policy_named("passthrough")
    window = plan(PlanRequest(view, WindowOptions(head=head), budget, policy)).window
    sent = RESPONSES.body(head, render_messages(window.view, RESPONSES))
    if sent["input"]:
        assert RESPONSES.violations(sent) == []
        assert tokens_of(sent, COUNT) <= window.size.tokens
        strict = DEEPSEEK_RESPONSES.body(head, render_messages(window.view, DEEPSEEK_RESPONSES))
        assert DEEPSEEK_RESPONSES.violations(strict) == []


@given(ITEMS)
@example([{"role": "assistant", "content": "x"}, {"role": "assistant", "content": []}])
def test_what_breaks_no_rule_comes_out_as_it_came(items):
    """But for what no window shows (messages without any content), outputs that came in parts, with something else
    between (they stand together behind their turn), what precedes a compaction, and what only the SDK's types
    refuse."""
    request = {"input": items}
    conversation = read(request)
    shown = all(conversation.view.slot_of(seq) is not None for seq in range(conversation.view.length))
    grouped = list(conversation.view.unit_of) == sorted(conversation.view.unit_of)
    is_whole = not any(item.get("type") == "compaction" for item in items[1:])
    if shown and grouped and is_whole and RESPONSES.violations(request) == [] and all(map(is_taken_without_id, items)):
        assert same(request_of(conversation), request)


WORD = st.just({"type": "input_text", "text": "look at this"})
PICTURE = st.just({"type": "input_image", "image_url": "https://example.org/a.png", "detail": "auto"})
PLAIN = st.sampled_from(["ok", ""]) | st.lists(WORD | PICTURE, min_size=1, max_size=3)
TEXT = {"type": "output_text", "text": "said"}


def own_item(kind, label):
    """An item of the model that nothing forbids anywhere in a turn that ends in a message."""
    call = {"call_id": label, "name": "sh"}
    message = {"type": "message", "role": "assistant", "id": label, "status": "completed", "content": [TEXT]}
    items = {
        "reasoning": {"id": label, "summary": [{"type": "summary_text", "text": "hm"}]},
        "function_call": {**call, "arguments": "{}"},
        "custom_tool_call": {**call, "input": "ls", "id": label},
        "tool_search_call": {"call_id": None, "arguments": {"paths": []}, "id": label},
        "web_search_call": {"id": label, "status": "completed"},
        "image_generation_call": {"id": label},
        "message": message,
    }
    if kind not in items:
        return {
            "role": "assistant",
            **({"content": "said"} if kind == "easy" else {"id": label, "content": [TEXT] * 2, "phase": "x"}),
        }
    return {"type": kind, **items[kind]}


KINDS = ("reasoning", "easy", "phased", "message", "function_call", "custom_tool_call", "tool_search_call")
TURNS = st.lists(st.sampled_from([*KINDS, "web_search_call", "image_generation_call"]), max_size=6)


@st.composite
def valid_requests(draw):
    """Turns with their outputs, ids all different, reasoning before what it produced."""
    out = []
    for turn in range(draw(st.integers(1, 4))):
        if draw(st.booleans()):
            out.append({"role": "user", "content": draw(st.just("go on") | PLAIN.filter(bool))})
        for kind in [*draw(TURNS), draw(st.sampled_from(["easy", "phased", "message"]))]:
            out.append(own_item(kind, f"id_{turn}_{len(out)}"))
        calls = [item for item in out if (item.get("call_id") or "").startswith(f"id_{turn}_")]
        for call in draw(st.permutations(calls)):
            out.append({"type": call["type"] + "_output", "call_id": call["call_id"], "output": draw(PLAIN)})
    return {"input": out}


@given(valid_requests())
def test_a_valid_request_comes_out_as_it_came(request):
    assert RESPONSES.violations(request) == []
    conversation = read(request)
    assert same(request_of(conversation), request)
    window = conversation.plan_request()
    assert same(request_of(conversation, window=window), request)
    assert tokens_of(request, COUNT) <= window.size.tokens


@given(ITEMS, CHAT, st.integers(0, 8))
def test_what_is_joined_of_a_prefix_is_a_prefix(items, chat, at):
    messages = request_of(told(mixed(items, chat, at)))["input"]
    slots = assemble(told(mixed(items, chat, at)).view, 10**7).slots
    plain = [item for slot in slots for item in RESPONSES.render_slot(slot)]
    before = compact_json([list(each) for each in plain])
    joined = RESPONSES.join(plain)
    assert same(joined, messages)
    for end in range(len(plain)):
        part = RESPONSES.join(plain[:end])
        assert same(part, joined[: len(part)])
    assert compact_json([list(each) for each in plain]) == before


@given(ITEMS)
def test_a_fact_says_what_came_in_its_own_items_once(items):
    """Reading what a window says, and saying it, changes nothing any more; from the second time on where two calls have
    one id, or a result has no call: what is left out between turns may make them one."""
    once = request_of(read({"input": items}))
    again = request_of(read(once))
    labels = [item["call_id"] for item in once["input"] if "call_id" in item and "output" not in item]
    stray = [item["call_id"] for item in items if "output" in item and item["call_id"] not in labels]
    assert same(again, once) or len(set(labels)) < len(labels) or stray
    assert same(request_of(read(again)), again)
