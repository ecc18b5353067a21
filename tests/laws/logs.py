"""Logs that hold what real ones lack, from short lists of numbers that Hypothesis can shrink.

An act is a kind and four small numbers; `tell` turns acts into entries. Zeros are the plain case: shrunk examples read
like ordinary conversations. The teller looks at the core's view only to know what there is to point at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from hypothesis import strategies as st

from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.entry import Body, Entry, Meta, Sent
from transom.core.message import (
    Assistant,
    Call,
    Fact,
    Failure,
    Handoff,
    Head,
    Instruction,
    Media,
    Note,
    Opaque,
    Other,
    Part,
    Reasoning,
    Recalled,
    Text,
    ToolResult,
    User,
    addressed_parts,
)
from transom.core.reducer import apply
from transom.core.unit import units_in
from transom.core.view import View
from transom.testing.builders import entry, image
from transom.testing.fakes import Entries, WordCounter

COUNTER = WordCounter()

TEXTS = (
    "Please look at the failing test in src/app.py again. " * 4,
    "ok",
    "",
    "line of output 0123456789\n" * 40,
    "lone \ud83d half, and \udc00 more, in a text that is long enough to be cut somewhere in its middle",
    "汉字和表情 👩‍👩‍👧 mixed with e\u0301 marks " * 6,
    " \n ",
    "[entry 3: 1,200 tokens left out]",
)
ARGS = ('{"cmd": "cat src/app.py | head -200 | grep something"}', "{}", '{"cmd": ', "", '{"s": "\ud83d and more text"}')
NOTES = ("[cut]", "", "{}", '{"left_out": 1}', " ", "a note that is by far longer than what it stands for " * 30)
FOLDS = (
    "[folded]",
    "[entry 1-4: turns left out]",
    "",
    "  ",
    "a summary much longer than the original " * 60,
    "[\ud83d]",
)
IDS = ("call_a", "call_a", "call_b", "", "\ud83d", "call_3_1")
MEDIA: tuple[Part, ...] = (
    image("data:image/png;base64," + "A" * 300),
    Media("file", {"type": "file", "file": {"file_id": "f1", "data": "B" * 80}}),
    Other({"type": "odd", "words": ["one", {"two": "three" * 20}], "n": 3}),
)


class Act(NamedTuple):
    kind: str
    a: int = 0
    b: int = 0
    c: int = 0
    d: int = 0


class Teller:
    """A log in the making, and the view of it."""

    def __init__(self) -> None:
        self.log: list[Entry] = []
        self.view = View.empty(Entries(), COUNTER)

    def say(self, body: Body, *, hidden: bool = False) -> None:
        meta = Meta(include_in_context=False) if hidden else None
        self.log.append(entry(body, self.log, at=float(len(self.log)), counter=COUNTER, meta=meta))
        self.view = apply(self.view.with_log(Entries(self.log)), self.log[-1:])

    def turns(self) -> list[Entry]:
        return [entry for entry in self.log if isinstance(entry.body, Assistant) and entry.body.calls]

    def shown(self) -> list[Entry]:
        """The facts that are in a unit, folded or not."""
        return [entry for entry in self.log if self.view.slot_of(entry.seq) is not None]

    def outstanding(self) -> int | None:
        return self.view.in_flight.seq if self.view.in_flight is not None else None


def live_edits(view: View) -> list[int]:
    """The seqs of the edits that an `Undo` may take back."""
    return [seq for seq in range(view.length) if view.refusal(Undo(edit=seq)) is None]


def _parts(a: int, d: int) -> tuple[Part, ...]:
    text = TEXTS[a % len(TEXTS)]
    if d < 10:
        return (Text(text),)
    if d < 12:
        return ()
    if d == 12:
        return (Text(text), Text("second", {"cache_control": {"type": "ephemeral"}}))
    return (MEDIA[d % 3], Text(text), MEDIA[(a + d) % 3])


def _user(told: Teller, act: Act) -> None:
    told.say(User(parts=_parts(act.a, act.d), extra={"name": "ann"} if act.c == 9 else None), hidden=act.b == 9)


def _turn(told: Teller, act: Act) -> None:
    """a: text, b: calls, c: reasoning, d: what it answers."""
    answers = told.outstanding() if act.d < 6 else None if act.d < 9 else (act.a * act.d) % (len(told.log) + 1)
    calls = tuple(
        Call(
            IDS[(act.b + act.d) % len(IDS)] if act.b > 6 else f"c{len(told.log)}_{i}",
            ("sh", "read")[i % 2],
            ARGS[(act.a + i) % 5],
        )
        for i in range(act.b % 4)
    )
    if act.b == 12:
        calls = (Call("", "sh", ARGS[act.a % 5], None, legacy=True),)
    thoughts = tuple(
        Reasoning("thinking about it, step by step " * (1 + act.a % 3), bound=act.c % 2 == 1) for _ in range(act.c % 4)
    )
    parts = () if act.d == 5 else (Text(TEXTS[(act.a + 1) % len(TEXTS)]),)
    shape = "text" if parts else "null"
    told.say(Assistant(parts=parts, shape=shape, calls=calls, reasoning=thoughts, answers=answers), hidden=act.d == 15)


def _reply(told: Teller, act: Act) -> None:
    """A turn with bound reasoning that answers a request; `c` decides what comes in between."""
    if told.outstanding() is None:
        _sent(told, Act("sent", 1 if act.c == 11 else 0))
    if act.c % 4 == 2:
        _user(told, act)
    if act.c % 4 == 3:
        _trim(told, act)
    _turn(told, act._replace(c=1 + 2 * (act.c % 2), d=act.d % 5))


def _result(told: Teller, act: Act) -> None:
    """a: text, b: which call, c: to which turn, d: form."""
    turns = told.turns()
    call = Call("nobody", "sh", "{}")
    if turns and act.c < 14:
        calls = turns[-1 if act.c < 10 else -1 - act.c % len(turns)].body.calls
        call = calls[act.b % len(calls)]
    extra = {"name": call.name} if call.legacy and act.d % 2 else None
    parts = _parts(act.a + 3, act.d)
    told.say(ToolResult(parts=parts, call=call.id, legacy=call.legacy, extra=extra), hidden=act.d == 9)


def _made(told: Teller, act: Act) -> None:
    """Closes calls: all that are open, or one by a place that may be wrong."""
    places = [(key, index) for key in told.view.open_units for index in told.view.open_unit(key).open_calls]
    if act.a == 9:
        places = [(act.b, act.c)]
    for key, index in places:
        calls = told.view.open_unit(key).head.calls if key in told.view.open_units else ()
        label = calls[index].id if act.d < 8 and index < len(calls) else ""
        told.say(ToolResult(parts=(Text("[aborted]"),), call=label, place=(key, index), synthetic=True))


def _sent(told: Teller, act: Act) -> None:
    digest = "0" * 32 if act.a == 1 else told.view.digest()
    size = told.view.total
    told.say(Sent(digest=digest, limit=10_000, tokens=size.tokens, messages=size.messages))


def _own(told: Teller, act: Act) -> None:
    """Words of our own, and what is not shown."""
    text = TEXTS[act.a % len(TEXTS)]
    answers = told.outstanding() if act.b % 2 else None
    bodies: tuple[Body, ...] = (
        Note(key="mode", text=text),
        Recalled(text=text, refs=(0,)),
        Handoff(text=text, source="scout"),
        Failure(failure="timeout", text=text, shown=text, answers=answers),
        Failure(failure="abandoned", answers=answers),
        Instruction(parts=_parts(act.a, act.d), role="developer"),
        Opaque(raw={"kind": "later", "x": [act.a, "\ud800"]}),
    )
    told.say(bodies[act.c % len(bodies)], hidden=act.d == 9)


def _head(told: Teller, act: Act) -> None:
    tools = ({"type": "function", "function": {"name": "sh"}},) if act.b % 2 else ()
    told.say(Head(messages=(Instruction(parts=_parts(act.a, act.d)),), tools=tools))


def _fold(told: Teller, act: Act) -> None:
    """a: first slot, b: how many more, c: text, d: 3 to 5, every second unit carried; from 12 on, any keys."""
    slots, text = told.view.slots, FOLDS[act.c % 2 if act.c < 12 else act.c % len(FOLDS)]
    if not slots or act.d >= 12:
        told.say(Fold(first=act.a, last=act.a + act.b - 1, text=text))
        return
    first = act.a % len(slots)
    last = min(first + act.b % 6, len(slots) - 1)
    keys = [unit.key for slot in slots[first : last + 1] for unit in units_in(slot)]
    carries = tuple(keys[act.d % 2 :: 2]) if act.d in {3, 4, 5} else ()
    told.say(Fold(first=slots[first].first, last=slots[last].last, text=text, carries=carries))


def _trim(told: Teller, act: Act) -> None:
    """a, b: which part, c: how, d: note."""
    facts = told.shown() if act.d < 12 else [entry for entry in told.log if isinstance(entry.body, Fact)]
    if not facts or act.d == 15:
        told.say(Trim(entry=act.a - 1, part=("text", act.b), keep=((0, 1),), note="[cut]"))
        return
    fact = facts[(act.a + act.c) % len(facts)] if act.d % 2 else facts[-1 - act.a % len(facts)]
    places = list(addressed_parts(fact.body)) or [(("text", 0), Text(""))]
    address, part = places[act.b % len(places)]
    if act.d == 14:
        address = (address[0], 7)
    size, keep = len(getattr(part, "text", "")), ()
    if address[0] == "text" and act.c % 3 and size > 8:
        keep = (((0, size // 4),), ((0, 2), (size - 3, size)), ((size // 2, size),), ((3, 1), (0, size)))[act.c % 4]
    note = NOTES[(2 + act.d % 2) if address[0] == "args" and act.d < 10 else act.d % len(NOTES)]
    told.say(Trim(entry=fact.seq, part=address, keep=keep, note=note))


def _pin(told: Teller, act: Act) -> None:
    shown = told.shown()
    told.say(Pin(entry=shown[act.a * 5 % len(shown)].seq if shown and act.d < 13 else act.a + act.b))


def _undo(told: Teller, act: Act) -> None:
    """a: which live edit, the newest first; from d = 12 on any edit, from d = 14 on any entry."""
    edits = [entry.seq for entry in told.log if isinstance(entry.body, (Fold, Trim, Pin))]
    if act.d < 12:
        edits = live_edits(told.view)
    told.say(Undo(edit=edits[-1 - act.a % len(edits)] if edits and act.d < 14 else act.a))


_ACTS: dict[str, Callable[[Teller, Act], None]] = {
    "user": _user,
    "turn": _turn,
    "reply": _reply,
    "result": _result,
    "made": _made,
    "sent": _sent,
    "own": _own,
    "head": _head,
    "fold": _fold,
    "trim": _trim,
    "pin": _pin,
    "undo": _undo,
}
_FACTS = ("user", "turn", "result", "result", "reply", "reply", "made", "own")
_EDITS = ("fold", "fold", "fold", "trim", "trim", "pin", "undo", "undo")


def tell(acts: Iterable[Act], told: Teller | None = None) -> list[Entry]:
    """The log that these acts write (after what was told before)."""
    told = told or Teller()
    for act in acts:
        _ACTS[act.kind](told, act)
    return told.log


def _acts(kinds: tuple[str, ...], least: int, most: int) -> st.SearchStrategy[list[Act]]:
    small = st.integers(0, 15)
    act = st.builds(Act, st.sampled_from(kinds), small, small, small, small)
    return st.lists(act, min_size=least, max_size=most)


def logs() -> st.SearchStrategy[list[Entry]]:
    """Any log: small ones, which shrink well, and longer ones, with edits behind a stretch of facts."""
    mixed = (*_FACTS, *_EDITS, "sent", "head")
    long = st.tuples(_acts(_FACTS, 5, 12), _acts(mixed, 12, 30)).map(lambda both: both[0] + both[1])
    return st.one_of(_acts(mixed, 1, 12), long).map(tell)


def acts(*kinds: str, most: int = 6) -> st.SearchStrategy[list[Act]]:
    """A few acts of these kinds, to be told after a log."""
    return _acts(kinds, 1, most)


def retold(log: list[Entry]) -> Teller:
    """A teller that goes on after a log."""
    told = Teller()
    told.log = list(log)
    told.view = apply(View.empty(Entries(log), COUNTER), log)
    return told
