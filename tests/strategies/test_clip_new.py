"""Nothing is cut that has room: new results under `default` and its variants, and the setting `clip`."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from msgspec.structs import replace
from proposals import seen, target_of

import transom
from transom.conversation.conversation import Conversation
from transom.core.budget import Budget
from transom.core.edit import Fold, Trim
from transom.core.entry import Entry
from transom.core.unit import FoldedSlot
from transom.core.view import View
from transom.policies import policy_named
from transom.stores import MemoryStore
from transom.strategies.record.index import Index, Indexed
from transom.strategies.shorten.clip_arguments import clip_arguments
from transom.strategies.text.shown_parts import ShownPart
from transom.testing import user_entries
from transom.tokenizer import o200k
from transom.wire.dialects import dialect_named

ROOM = 10_000
VARIANTS = ["default", "recall", "summary"]


class Words:
    """Counts words."""

    name = "words"

    def count(self, text: str) -> int:
        return len(text.split())


def words(count: int, name: str = "w") -> str:
    """A text of this number of words, ten on a line."""
    lines = [" ".join(f"{name}{at + n}" for n in range(10)) for at in range(0, count, 10)]
    return "\n".join(lines)


def read_files(conversation: Conversation, *sizes: int) -> list[str]:
    """One turn of the model that reads files of so many words. What the next request shows of each."""
    turn = conversation.view.length
    calls = [
        {"id": f"c{turn}.{at}", "type": "function", "function": {"name": "read", "arguments": f'{{"at": {at}}}'}}
        for at in range(len(sizes))
    ]
    conversation.observe({"role": "assistant", "content": None, "tool_calls": calls})
    for one, size in zip(calls, sizes, strict=True):
        conversation.tool_result(one["id"], words(size, f"x{turn}_"))
    shown = {message.get("tool_call_id"): message["content"] for message in conversation.request()["messages"]}
    return [shown[one["id"]] for one in calls]


def opened(policy: str) -> Conversation:
    conversation = Conversation(
        MemoryStore().open("x"), budget=Budget(context=ROOM), policy=policy_named(policy), counter=Words()
    )
    conversation.user("read the files")
    conversation.request()
    return conversation


def edits(conversation: Conversation, kind: type) -> int:
    return sum(isinstance(entry.body, kind) for entry in conversation.log.read())


@pytest.mark.parametrize("policy", VARIANTS)
@pytest.mark.parametrize("sizes", [(2_000,), (6_000,), (9_800,), (3_000, 3_000, 3_000), (100,) * 50])
def test_a_fresh_result_with_room_is_whole(policy: str, sizes: tuple[int, ...]) -> None:
    conversation = opened(policy)
    shown = read_files(conversation, *sizes)
    assert [len(text.split()) for text in shown] == list(sizes)
    assert (edits(conversation, Trim), edits(conversation, Fold)) == (0, 0)


@pytest.mark.parametrize("policy", VARIANTS)
def test_less_than_a_quarter_is_whole_in_a_full_window_too(policy: str) -> None:
    conversation = opened(policy)
    for _ in range(12):
        (shown,) = read_files(conversation, 2_300)
        assert len(shown.split()) == 2_300
    assert edits(conversation, Fold) >= 2


@pytest.mark.parametrize("policy", VARIANTS)
def test_more_than_a_quarter_is_clipped_in_a_full_window(policy: str) -> None:
    conversation = opened(policy)
    read_files(conversation, 7_000)
    (shown,) = read_files(conversation, 4_000)
    assert 1_000 < len(shown.split()) < 2_500
    assert "whole in entry" in shown
    assert edits(conversation, Fold) == 0  # the clip was enough


def test_the_results_of_one_turn_count_together_in_a_full_window() -> None:
    conversation = opened("default")
    read_files(conversation, 7_000)
    shown = [len(text.split()) for text in read_files(conversation, 2_000, 100, 2_000)]
    assert shown[1] == 100
    assert sum(shown) < 2_500


@pytest.mark.parametrize(("clip", "whole"), [("0.5", True), ("1", True), ("0.3", False), ("0", False)])
def test_clip_is_the_share_of_the_room_that_fresh_results_may_take(clip: str, whole: bool) -> None:
    conversation = opened(f"default:clip={clip}")
    read_files(conversation, 7_000)
    (shown,) = read_files(conversation, 4_000)
    assert (len(shown.split()) == 4_000) is whole
    assert len(shown.split()) > 30


def test_clip_is_a_setting_beside_the_others() -> None:
    whole = policy_named("default", keep_recent=0.3, clip=0.4, target=0.7)
    assert whole.name == "default:keep_recent=0.3:clip=0.4:target=0.7"
    assert policy_named("default:clip=.4:target=0.7:keep_recent=0.3") == whole
    assert policy_named("recall", clip=0.25).arrival == policy_named("recall").arrival
    for name in ("codex", "sliding", "passthrough"):
        with pytest.raises(transom.InvalidSetting, match=f"policy {name} has no clip: default, recall, summ"):
            policy_named(name, clip=0.4)


LISTS = {
    "one result": [{"role": "tool", "tool_call_id": "c", "content": words(3_000)}],
    "answered": [
        {"role": "tool", "tool_call_id": "c", "content": words(2_500)},
        {"role": "assistant", "content": "It is long."},
        {"role": "user", "content": words(300, "q")},
    ],
    "parts": [{"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": words(1_000)}] * 3}],
}
CALL = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
BEGINNING = [{"role": "user", "content": "read"}, {"role": "assistant", "content": None, "tool_calls": [CALL]}]


@pytest.mark.parametrize("policy", [*VARIANTS, "sliding", "passthrough", "default:clip=0.05"])
@pytest.mark.parametrize("name", LISTS)
def test_fit_returns_a_list_that_fits_unchanged(name: str, policy: str) -> None:
    messages = [*BEGINNING, *LISTS[name]]
    smallest = Conversation.from_messages(messages, budget=100_000, policy="passthrough", counter=Words())
    tokens = smallest.window().tokens
    for budget in (tokens, tokens + 1, 1_000_000):
        assert transom.fit(messages, budget=budget, policy=policy, counter=Words()) == messages
    assert transom.fit(messages, budget=1_000_000, policy="codex", counter=Words()) != messages
    if policy != "passthrough":
        assert transom.fit(messages, budget=tokens - 1, policy=policy, counter=Words()) != messages


def test_a_late_result_is_whole_as_long_as_it_takes_less_than_a_quarter() -> None:
    conversation = Conversation(
        MemoryStore().open("x"), budget=Budget(context=100_000), policy=policy_named("default"), counter=Words()
    )
    conversation.user("read")
    conversation.observe(BEGINNING[1])
    conversation.user("go on")
    conversation.request()
    conversation.observe({"role": "assistant", "content": "I go on."})
    late = words(8_000)
    conversation.tool_result("c", late)
    conversation.user("and?")
    assert len(late) > 40_000
    assert any(late in str(message["content"]) for message in conversation.request()["messages"])


def prose(tokens: int) -> str:
    return "".join(f"<p>pier {at} and ship {at * 7}</p>\n" for at in range(tokens // 13))


def write(arguments: object, name: str = "write_file", label: str = "w") -> dict[str, object]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": label, "type": "function", "function": {"name": name, "arguments": text}}


def turn(*calls: dict[str, object], says: str = "I write.", result: str = "OK") -> list[dict[str, object]]:
    return [
        {"role": "assistant", "content": says, "tool_calls": list(calls)},
        *({"role": "tool", "tool_call_id": one["id"], "content": result} for one in calls),
    ]


def old_turns() -> list[dict[str, object]]:
    messages: list[dict[str, object]] = [{"role": "user", "content": "Research the harbour, then make a page of it."}]
    for at in range(24):
        berths = "\n".join(f"pier {at} berth {n}: ship IMO{at * 1000 + n}" for n in range(30))
        messages += turn(
            write({"path": f"/data/pier_{at}.md"}, "read_file", f"c{at}"), says=f"I look at {at}.", result=berths
        )
    return messages


PAGE = {"path": "/out/index.html", "content": prose(9_000)}
NEWEST: dict[str, list[dict[str, object]]] = {
    "a call": turn(write(PAGE)),
    "several calls": turn(*(write({**PAGE, "content": prose(3_000)}, label=f"w{at}") for at in range(4))),
    "nested texts": turn(write({"files": [{"lines": [prose(1_500)]} for _ in range(6)]})),
    "numbers": turn(write({"path": "/out/rows.json", "rows": list(range(4_500))})),
    "no JSON": turn(write('{"content": "' + prose(9_000))),
    "text beside a call": turn(write({"path": "a"}, "read_file"), says=prose(9_000)),
    "a call and its result": turn(write(PAGE), result=prose(9_000)),
    "an answer": [{"role": "assistant", "content": prose(9_000)}, {"role": "user", "content": "Go on."}],
    "a question": [{"role": "assistant", "content": "Done."}, {"role": "user", "content": "Use this: " + prose(9_000)}],
}


@pytest.mark.parametrize("dialect", ["openai", "responses", "anthropic", "gemini"])
@pytest.mark.parametrize("newest", NEWEST)
def test_records_and_the_task_keep_their_room_beside_a_turn_larger_than_the_window(newest: str, dialect: str) -> None:
    conversation = Conversation.from_messages([*old_turns(), *NEWEST[newest]], budget=8_000)
    window = conversation.window()
    (record,) = (slot for slot in window.slots if isinstance(slot, FoldedSlot))
    assert window.tokens <= 8_000
    assert conversation.view.counter.count(record.text) > 800
    request = transom.render(window, dialect)
    assert "Research the harbour" in str(request)
    assert dialect_named(dialect).violations(request) == []


def test_of_large_arguments_the_ends_of_long_texts_stay() -> None:
    conversation = Conversation.from_messages([*old_turns(), *turn(write(PAGE))], budget=8_000)
    (shown,) = (
        json.loads(call["function"]["arguments"])
        for message in conversation.request()["messages"]
        for call in message.get("tool_calls", ())
        if call["id"] == "w"
    )
    assert shown["path"] == PAGE["path"]
    assert shown["content"].startswith("<p>pier 0 and")
    assert "left out; whole in entry" in shown["content"]
    assert shown["content"].endswith(PAGE["content"][-20:])


@pytest.mark.parametrize(
    ("most", "kept"), [(90, {"path", "file"}), (40, {"file"}), (5, set[str]())], ids=["both", "the shorter one", "none"]
)
def test_of_arguments_without_long_texts_the_names_of_files_stay_that_fit(most: int, kept: set[str]) -> None:
    view = seen(user_entries(0, 1))
    paths = {"path": "harbour/" * 12 + "piers.json", "file": "harbour/piers.json"}
    part = ShownPart(1, 0, json.dumps({**paths, "rows": [*range(5_000)]}), 15_000, 15_000)
    target = replace(target_of(view), counter=o200k())
    note = clip_arguments(target, part, most).note
    shown = json.loads(note)
    assert {name: paths[name] for name in kept} == {name: shown[name] for name in shown if name in paths}
    assert shown["left_out"] == "15000 tokens"
    assert o200k().count(note) <= most or not kept


def test_a_large_turn_is_read_once_however_many_of_its_results_are_clipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The turn is older than the index and larger than the older entries that it keeps."""
    conv = Conversation.open("memory:", "x", budget=1_500)
    conv.user("go")
    functions = [{"name": "look", "arguments": json.dumps({"page": page})} for page in range(1_000)]
    calls = [{"id": f"c{page}", "type": "function", "function": each} for page, each in enumerate(functions)]
    turn = conv.observe({"role": "assistant", "content": None, "tool_calls": calls})
    for page in range(1_000):
        conv.tool_result(f"c{page}", f"page {page} " + words(180))
    reads: list[int] = []
    read = Index._read

    def counted(index: Index, view: View, entry: Entry) -> Indexed:
        reads.append(entry.seq)
        return read(index, view, entry)

    monkeypatch.setattr(Index, "_read", counted)
    with suppress(transom.BudgetImpossible):
        conv.request()
    assert 0 < reads.count(turn) < 10
