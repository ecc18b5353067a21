"""A view frozen and thawed is the view: field by field, and in all that is folded onto it afterwards."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict, replace
from places import Place

from transom.core.calibration import Calibration
from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.entry import Body, Entry, Meta, Sent
from transom.core.message import (
    Assistant,
    Call,
    Failure,
    Head,
    Instruction,
    Media,
    Note,
    Reasoning,
    Text,
    ToolResult,
    User,
)
from transom.core.reducer import apply, build_view
from transom.core.tokens import FormatCounter
from transom.core.unit import FoldedSlot, Slot, Unit
from transom.core.view import View
from transom.core.window import assemble
from transom.stores import SqliteStore, open_view
from transom.stores.snapshot import decode_view, encode_view
from transom.testing import Entries, WordCounter, entries_of, user_entries

COUNTER = WordCounter()
SEEDS = range(60)


def portrait(view: View) -> dict[str, Any]:
    """Every field of a view's parts as plain values, without the log, the counter and what is only remembered."""
    apart = {"log", "counter", "hashed"}
    fields = {name: getattr(view, name) for name in view.__struct_fields__ if name not in apart}
    fields["summaries"] = asdict(view.summaries)
    fields["slots"] = [_slot(slot) for slot in view.slots]
    fields["notes"], fields["synthetic_results"] = list(view.notes.items()), list(view.synthetic_results.items())
    fields["digest"], fields["window"] = view.fingerprint(), _window(view)
    return fields


def _slot(slot: Slot) -> tuple[Any, ...]:
    fields = {name: getattr(slot, name) for name in slot.__struct_fields__ if name != "cached_fingerprint"}
    for name in {"children", "all_pinned"} & set(fields):
        fields[name] = [_slot(kid) for kid in fields[name]]
    return type(slot), fields


def _window(view: View) -> dict[str, Any]:
    window = assemble(view, 1_000)
    return {name: getattr(window, name) for name in window.__struct_fields__ if name != "view"}


class Story:
    """A log that grows at random, and its view."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.strange = seed % 3 == 0
        self.entries: list[Entry] = []
        self.view = View.empty(Entries(), COUNTER)

    def grow(self, count: int) -> None:
        for _ in range(count):
            act = self.chance.choice(ACTS)
            for body in act(self):
                self.add(body)

    def add(self, body: Body) -> None:
        seq, hidden = len(self.entries), self.chance.random() < 0.03
        counted = self.chance.random() < 0.7 and not isinstance(body, Trim)
        tokens, name = (FormatCounter(COUNTER).count_body(body), COUNTER.name) if counted else ((), "")
        meta = Meta(include_in_context=False) if hidden else None
        self.entries.append(Entry(seq=seq, at=float(seq), body=body, tokens=tokens, counter=name, meta=meta))
        self.view = apply(self.view.with_log(Entries(self.entries)), self.entries[-1:])

    def text(self, words: int = 12) -> str:
        tail = "\ud83d" if self.strange and self.chance.random() < 0.2 else ""
        return "".join(f"word{self.chance.randrange(99)} " for _ in range(words)) + tail

    def seq(self) -> int:
        return self.chance.randrange(len(self.entries)) if self.entries else 0


def user(story: Story) -> list[Body]:
    image = Media("image", {"url": "data:" + "A" * 99})
    return [User(parts=(Text(story.text()), image) if story.chance.random() < 0.3 else (Text(story.text()),))]


def empty(story: Story) -> list[Body]:
    return [User(parts=(Text(""),))]


def turn(story: Story) -> list[Body]:
    sent, bound = story.view.in_flight, story.chance.random() < 0.5
    labels = story.chance.choice([(), ("a",), ("a", "b"), ("a", "a"), ("", "")])
    calls = tuple(Call(label, "tool", '{"x": "' + story.text(5)[:30].strip("\ud83d") + '"}') for label in labels)
    thoughts = (Reasoning(story.text(6), bound=bound),) if story.chance.random() < 0.5 else ()
    answers = sent.seq if sent is not None and story.chance.random() < 0.8 else None
    return [Assistant(parts=(Text(story.text(6)),), calls=calls, reasoning=thoughts, answers=answers)]


def result(story: Story) -> list[Body]:
    return [ToolResult(call=story.chance.choice(["a", "b", "", "stray"]), parts=(Text(story.text(30)),))]


def close(story: Story) -> list[Body]:
    for key in story.view.open_units:
        unit = story.view.open_unit(key)
        turn = unit.first_fact
        assert isinstance(turn, Assistant)
        index = unit.open_calls[0]
        return [ToolResult(call=turn.calls[index].id, place=(key, index), synthetic=True, parts=(Text("[aborted]"),))]
    return []


def sent(story: Story) -> list[Body]:
    view = story.view
    return [Sent(fingerprint=view.fingerprint(), limit=1_000, tokens=view.total.tokens, messages=view.total.messages)]


def failed(story: Story) -> list[Body]:
    answers = None if story.view.in_flight is None else story.view.in_flight.seq
    return [Failure(failure="interrupted", shown=story.chance.choice(["", "[no answer]"]), answers=answers)]


def note(story: Story) -> list[Body]:
    key = story.chance.choice(["mode", "goal", ""])
    return [Note(key=key, text=story.text(3), refs=tuple(story.view.late_results)[:1] if not key else ())]


def head(story: Story) -> list[Body]:
    return [Head(messages=(Instruction(parts=(Text(story.text(3)),)),))] if story.chance.random() < 0.3 else []


def folds(story: Story) -> list[Body]:
    slots = story.view.slots
    if len(slots) < 3:
        return []
    first, last = sorted(story.chance.choices(range(len(slots) - 1), k=2))
    text, excerpted = "[f " + story.text(1) + "]", (slots[first].first,) if story.chance.random() < 0.5 else ()
    return [Fold(first=slots[first].first, last=slots[last].last, text=text, excerpted=excerpted, why="room")]


def trim(story: Story) -> list[Body]:
    if not story.entries:
        return []
    kind = story.chance.choice([("text", 0), ("args", 0), ("image", 0), ("reasoning", 0)])
    keep, note = (((0, 4),), "…") if kind[0] == "text" else ((), "" if kind[0] == "reasoning" else "{}")
    return [Trim(entry=story.seq(), part=kind, keep=keep, note=note)]


def pin(story: Story) -> list[Body]:
    return [Pin(entry=story.seq(), implied=True)]


def undo(story: Story) -> list[Body]:
    edits = [entry.seq for entry in story.entries if isinstance(entry.body, (Fold, Trim, Pin))]
    return [Undo(edit=story.chance.choice(edits))] if edits else []


ACTS = [user, user, turn, turn, turn, result, result, result, close, sent, sent, failed, note, head, empty]
ACTS += [folds, folds, folds, trim, trim, trim, pin, undo]


def told(seed: int) -> Story:
    story = Story(seed)
    story.grow(30 + seed * 3)
    return story


@pytest.mark.parametrize("seed", SEEDS)
def test_thawed_is_the_view_that_was_frozen(seed: int) -> None:
    story = told(seed)
    log = Entries(story.entries)
    thawed = decode_view(encode_view(story.view), log, COUNTER)
    assert portrait(thawed) == portrait(story.view) == portrait(build_view(log, COUNTER))
    assert thawed.log is log
    assert encode_view(thawed) == encode_view(story.view)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_folded_onto_it_is_the_same(seed: int) -> None:
    story = told(seed)
    data, n = encode_view(story.view), story.view.length
    story.grow(40)
    thawed = decode_view(data, Entries(story.entries), COUNTER)
    assert portrait(apply(thawed, story.entries[n:])) == portrait(story.view)


def test_the_stories_hold_what_a_view_can_hold() -> None:
    views = [told(seed).view for seed in SEEDS]
    units = [unit for view in views for slot in view.slots for unit in _all(slot)]
    folds = [slot for view in views for slot in view.slots if isinstance(slot, FoldedSlot)]
    fields = ["head_entry", "in_flight", "sent_tokens", "since_break", "open_units", "notes"]
    fields += ["synthetic_results", "late_results", "shared_slots", "first_break", "has_signed"]
    fields += ["live_edits", "restored"]
    portraits = [portrait(view) for view in views]
    assert [name for name in fields if not any(shown[name] for shown in portraits)] == []
    assert any(view.calibration == 1.0 for view in views)
    assert any(isinstance(kid, FoldedSlot) and kid.pinned_units for slot in folds for kid in slot.children)
    for name in ("trims", "undone_trims", "pins", "signed_prefix", "signature_stale", "open_calls", "answered_calls"):
        assert any(getattr(unit, name) for unit in units if isinstance(unit, Unit)), name
    assert {encode_view(view)[62:63] == b"{" for view in views} == {True, False}, "with and without lone surrogates"


def _all(slot: Slot) -> list[Unit]:
    return [slot] if isinstance(slot, Unit) else [unit for kid in slot.children for unit in _all(kid)]


def test_calibration_survives() -> None:
    view = told(1).view
    view = replace(view, token_calibration=Calibration(1.37, ((9, 1.5),)))
    assert decode_view(encode_view(view), view.log, COUNTER).token_calibration == view.token_calibration


def test_an_empty_view() -> None:
    view = View.empty(Entries(), COUNTER)
    assert portrait(decode_view(encode_view(view), Entries(), COUNTER)) == portrait(view)


class Other(WordCounter):
    name = "other"


def _longer(entries: Sequence[Entry], at: int) -> list[Entry]:
    changed = Entry(seq=at, at=float(at), body=User(parts=(Text("longer than it was, by far"),)))
    return [*entries[:at], changed, *entries[at + 1 :]]


def test_what_does_not_belong_together_is_refused() -> None:
    entries = user_entries(0, 5)
    data = encode_view(build_view(Entries(entries), COUNTER))
    for wrong in (b"", b"x", data[:-1], data[:20], b"transom view ?" + data[14:], data[:40] + b"\xff" + data[41:]):
        with pytest.raises(ValueError, match="damaged"):
            decode_view(wrong, Entries(entries), COUNTER)
    with pytest.raises(ValueError, match="counted by words, not other"):
        decode_view(data, Entries(entries), Other())
    with pytest.raises(ValueError, match="made of 5 entries, the log has 4"):
        decode_view(data, Entries(entries[:4]), COUNTER)
    with pytest.raises(ValueError, match="another log"):
        decode_view(data, Entries(_longer(entries, 4)), COUNTER)
    with pytest.raises(ValueError, match="what it shows is not what the log has"):
        decode_view(data, Entries(_longer(entries, 2)), COUNTER)
    with pytest.raises(ValueError, match="entry 2 is no fact"):
        decode_view(data, Entries([*entries[:2], Entry(seq=2, at=0.0, body=Undo(edit=0)), *entries[3:]]), COUNTER)


def test_a_head_must_still_be_one() -> None:
    entries = entries_of([Head(tools=({"a": 1},)), User(parts=(Text("hello"),))])
    data = encode_view(build_view(Entries(entries), COUNTER))
    with pytest.raises(ValueError, match="entry 0 is not what it was"):
        decode_view(data, Entries([*user_entries(0, 1), entries[1]]), COUNTER)


def test_folds_nest_without_bound() -> None:
    bodies: list[Body] = [User(parts=(Text("first " * 50),))]
    for seq in range(1, 6_000, 2):
        bodies += [User(parts=(Text("more " * 50),)), Fold(first=0, last=seq, text=f"[to {seq}]")]
    log = Entries(entries_of(bodies))
    view = build_view(log, COUNTER)
    thawed = decode_view(encode_view(view), log, COUNTER)
    depth, slot = 0, thawed.slots[0]
    while isinstance(slot, FoldedSlot):
        depth, slot = depth + 1, slot.children[0]
    assert depth == 3_000
    assert (thawed.fingerprint(), encode_view(thawed)) == (view.fingerprint(), encode_view(view))
    assert thawed.unit_of == view.unit_of


@pytest.mark.parametrize("seed", range(8))
def test_every_store_opens_a_view(place: Place, seed: int) -> None:
    story = told(seed)
    log = place.open().open("trip")
    log.append(story.entries, 0)
    log.save_snapshot(story.view.length, encode_view(story.view.with_log(log)))
    story.grow(20)
    log.append(story.entries[len(log) :], len(log))
    opened = open_view(place.open().open("trip"), COUNTER)
    assert portrait(opened) == portrait(story.view)
    log.save_snapshot(len(log), b"not a snapshot")
    assert portrait(open_view(log, COUNTER)) == portrait(story.view)


def test_opening_reads_only_what_shows(tmp_path: Path) -> None:
    entries = [*user_entries(0, 40, 500), *entries_of([Fold(first=0, last=30, text="[the first 31]")], 40)]
    with closing(SqliteStore(str(tmp_path / "a.db"))) as store:
        log = store.open("trip")
        log.append(entries, 0)
        whole = open_view(log, COUNTER)
        log.save_snapshot(41, encode_view(whole))
        with store.file.writing() as db:
            db.execute("DELETE FROM entries WHERE seq <= 30")
        assert portrait(open_view(log, COUNTER)) == portrait(whole)
