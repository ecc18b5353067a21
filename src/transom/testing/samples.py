"""Entries for tests of stores: bodies of every kind, entries with every field, plain user messages."""

from __future__ import annotations

from collections.abc import Sequence

from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.entry import Approval, Body, Entry, Forked, Meta, Sent
from transom.core.message import (
    Assistant,
    Call,
    Failure,
    Handoff,
    Head,
    Instruction,
    Media,
    Note,
    Opaque,
    Other,
    Reasoning,
    Recalled,
    Text,
    ToolResult,
    Usage,
    User,
)
from transom.core.summary import Summary

EVERY_KIND: tuple[Body, ...] = (
    Head(messages=(Instruction(parts=(Text("You book trips."),)),), tools=({"type": "function", "n": 1},)),
    User(parts=(Text("Lisbon\n\u2028\0", {"cache_control": {"type": "ephemeral"}}), Media("image", {"url": "data:"}))),
    User(parts=(Text("lone \ud800 surrogate"),), extra={"name": "\udfff", "unknown": [None, {"deep": [1.5, True]}]}),
    User(parts=(Other({"type": "future", "n": 2**70}),), shape="parts", extra={"big": -(2**200)}),
    Instruction(role="developer", parts=(Text("Be brief."),)),
    Sent(fingerprint="d1", limit=9, tokens=5, messages=2, shared_tokens=1, breaks=(0, 1, "head")),
    Assistant(
        parts=(Text("I look."),),
        calls=(Call("a", "search", "{not json"), Call("", "old", "{}", {"x": 1}, legacy=True)),
        reasoning=(Reasoning("hm", "thinking", bound=True, extra={"signature": "s"}),),
        answers=5,
        usage=Usage(prompt=10, cached=3, output=2),
    ),
    ToolResult(call="a", parts=(Text("found"),)),
    ToolResult(call="", place=(6, 1), synthetic=True, legacy=True, parts=(Text("[aborted]"),)),
    Note(key="mode", text="quick", refs=(1, 2)),
    Recalled(text="once", refs=(1,)),
    Failure(failure="interrupted", text="t", shown="s", answers=5),
    Handoff(text="done", source="scout"),
    Fold(first=1, last=4, text="[folded]", why="room"),
    Trim(entry=7, part=("text", 0), keep=((0, 2), (3, 4)), note="…", why="long"),
    Pin(entry=1, why="asked", implied=True),
    Undo(edit=13, why="no"),
    Summary(
        last=6,
        text="The user wants to go to Lisbon \ud800.",
        state={"intent": ["Lisbon"], "n": 2**70},
        notes=("by train",),
        prior=3,
        made_by="openai:m",
        degraded=True,
        usage=Usage(prompt=9, output=1),
        cost=0.5,
    ),
    Opaque(raw={"kind": "from_the_future", "n": 2**100, "s": "\udc00", "list": [{}]}),
    Forked(source="trip \ud800"),
    Approval(place=(6, 1), state="pending"),
    Approval(place=(6, 1), state="approved", arguments='{"n": 2}', why="only two \ud800"),
)
"""At least one body of each kind. They contain what is hard to store: control characters, lone surrogates, integers
beyond 64 bits, a kind that this version does not know."""

_META = Meta(
    evaluation_id="e",
    sequence=1,
    mode="m",
    run_id="r",
    workflow_id="w",
    agent_id="a",
    tool_name="t",
    duration=0.5,
    source=3,
    extra={"k": "\ud83d"},
)


def entries_of(bodies: Sequence[Body], start: int = 0) -> list[Entry]:
    """Entries with these bodies, whose seqs count from `start`. Those with odd seqs have token counts and metadata."""
    return [
        Entry(seq=seq, at=seq / 7, body=body, tokens=(4, seq), counter="words", meta=_META)
        if seq % 2
        else Entry(seq=seq, at=float(seq), body=body)
        for seq, body in enumerate(bodies, start=start)
    ]


def user_entries(start: int, count: int, size: int = 40) -> list[Entry]:
    """`count` user messages of at least `size` characters; the seq of the first is `start`. A text depends only on its
    seq and on `size`."""
    return entries_of(
        [User(parts=(Text(f"message {seq} ".ljust(size, "x")),)) for seq in range(start, start + count)], start
    )
