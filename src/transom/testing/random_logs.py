"""Random logs for Hypothesis: valid and damaged ones, with every kind of entry, and with edits that do not apply.

A log is written from a list of steps. A step is a kind and four small numbers, which Hypothesis can shrink. What the
numbers mean is said at the function that writes this kind (`_user`, `_turn`, …). Zeros are the plain case, so that
shrunk examples read like ordinary conversations. `LogBuilder` uses the core's view only to know which entries a step
can refer to. This module needs Hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from hypothesis import strategies as st

from transom.cache_prices import ANTHROPIC, Prices
from transom.core.budget import Budget
from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.entry import Approval, ApprovalState, Body, Entry, Forked, Meta, Sent
from transom.core.message import (
    REASONING_REFUSED,
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
from transom.core.summary import NO_SUMMARY, Summary
from transom.core.unit import units_in
from transom.core.view import View
from transom.testing.builders import Item, call, entry, image, result, talk
from transom.testing.fakes import Entries, WordCounter

COUNTER = WordCounter()
"""Counts every entry of these logs."""

MODELS = ("openai:m", "openai:m", "", "openai:n")
"""The models that answer, and that refuse reasoning. One is more frequent, and one has no name."""

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
IDS = ("call_a", "call_a", "call_b", "", "\ud83d", "call-3-1")
MEDIA: tuple[Part, ...] = (
    image("data:image/png;base64," + "A" * 300),
    Media("file", {"type": "file", "file": {"file_id": "f1", "data": "B" * 80}}),
    Other({"type": "odd", "words": ["one", {"two": "three" * 20}], "n": 3}),
)


Kind = str
"""The kind of a step: a key of `_WRITERS`. A "reply" is a turn with bound reasoning; "provider" is a turn with a
compaction of the provider or with calls of its own tools; a "synthetic" result closes calls; an "approval" is a step of
an approval, a result by its place, or a fork; "other" are facts that neither a user, a model nor a tool wrote."""


class Step(NamedTuple):
    """An order to write no entry, one or a few. What its four numbers (from 0 to 15) mean depends on its kind: the
    docstring of the function for the kind says it."""

    kind: Kind
    """Which entries it writes."""
    a: int = 0
    """Most often, which of several texts, calls or entries."""
    b: int = 0
    """A second choice."""
    c: int = 0
    """A third choice."""
    d: int = 0
    """A fourth choice; large numbers make odd or wrong entries."""


class LogBuilder:
    """Writes a random log, step by step.

    `log`: its entries so far; it begins with a copy of the log that is given. `view`: the view of these entries.
    """

    def __init__(self, log: Iterable[Entry] = ()) -> None:
        self.log: list[Entry] = list(log)
        self.view = apply(View.empty(Entries(self.log), COUNTER), self.log)

    def append(self, body: Body, *, hidden: bool = False, injected: bool = False) -> None:
        """Append an entry with this body. An edit is appended even if it does not apply. `hidden`: no window contains
        it. `injected`: a program wrote it in the user's role."""
        model = MODELS[len(self.log) % 4] if isinstance(body, Assistant) else ""
        given = hidden or injected or model
        meta = Meta(include_in_context=not hidden, injected=injected, model=model) if given else None
        self.log.append(entry(body, self.log, at=float(len(self.log)), counter=COUNTER, meta=meta))
        self.view = apply(self.view.with_log(Entries(self.log)), self.log[-1:])

    def write(self, steps: Iterable[Step]) -> list[Entry]:
        """Append the entries for these steps, and return the new entries."""
        before = len(self.log)
        for step in steps:
            _WRITERS[step.kind](self, step)
        return self.log[before:]

    def calls(self) -> list[tuple[Call, ...]]:
        """The calls of each turn that has any, the oldest turn first."""
        turns = [entry.body for entry in self.log if isinstance(entry.body, Assistant)]
        return [turn.calls for turn in turns if turn.calls]

    def facts(self) -> list[Entry]:
        """The entries of all facts that are in a unit, folded or not, in order."""
        return [entry for entry in self.log if self.view.slot_of(entry.seq) is not None]

    def in_flight(self) -> int | None:
        """The seq of the request without a reply; None if there is none."""
        return self.view.in_flight.seq if self.view.in_flight is not None else None


def _parts(a: int, d: int) -> tuple[Part, ...]:
    """The content parts of a message. a: the text; d: 10 and 11 no part, 12 two texts, from 13 on media around the
    text."""
    text = TEXTS[a % len(TEXTS)]
    if d < 10:
        return (Text(text),)
    if d < 12:
        return ()
    if d == 12:
        return (Text(text), Text("second", {"cache_control": {"type": "ephemeral"}}))
    return (MEDIA[d % 3], Text(text), MEDIA[(a + d) % 3])


def _user(builder: LogBuilder, step: Step) -> None:
    """A user message. a: its text; b: 9 hides it, 8 says that a program wrote it; c: 9 names the user; d: see
    `_parts`."""
    extra = {"name": "ann"} if step.c == 9 else None
    message = User(parts=_parts(step.a, step.d), extra=extra)
    builder.append(message, hidden=step.b == 9, injected=step.b == 8)


def _turn(builder: LogBuilder, step: Step) -> None:
    """A turn of the model. a: its text; b: how many calls, and whether their ids are odd; c: its reasoning; d: below 6
    it answers the request in flight, below 9 none, else any entry; 5 is a turn without text, 15 hides it."""
    answers = builder.in_flight() if step.d < 6 else None if step.d < 9 else (step.a * step.d) % (len(builder.log) + 1)
    calls = tuple(
        Call(
            IDS[(step.b + step.d) % len(IDS)] if step.b > 6 else f"c{len(builder.log)}_{i}",
            ("sh", "read")[i % 2],
            ARGS[(step.a + i) % 5],
        )
        for i in range(step.b % 4)
    )
    if step.b == 12:
        calls = (Call("", "sh", ARGS[step.a % 5], None, legacy=True),)
    thought = Reasoning("thinking about it, step by step " * (1 + step.a % 3), bound=step.c % 8 != 2)
    parts = () if step.d == 5 else (Text(TEXTS[(step.a + 1) % len(TEXTS)]),)
    shape = "text" if parts else "null"
    turn = Assistant(parts=parts, shape=shape, calls=calls, reasoning=(thought,) * (step.c % 4), answers=answers)
    builder.append(turn, hidden=step.d == 15)


def _reply(builder: LogBuilder, step: Step) -> None:
    """A turn with bound reasoning that answers a request. If none is in flight, one is written first; c = 11 gives it a
    wrong fingerprint. c % 4: what is written between the two: 2 a user message, 3 a trim, else nothing. a, b, d: as in
    a turn."""
    if builder.in_flight() is None:
        _sent(builder, Step("sent", 1 if step.c == 11 else 0))
    if step.c % 4 == 2:
        _user(builder, step)
    if step.c % 4 == 3:
        _trim(builder, step)
    _turn(builder, step._replace(c=1 + 2 * (step.c % 2), d=step.d % 5))


def _provider(builder: LogBuilder, step: Step) -> None:
    """A turn with the provider's own parts. a: which call; b: 0 compaction, 1 and 2 a call with a later result, 3 such
    a result, 4 a call of the client's that the provider's code makes; c: bound reasoning, d: as in a turn, and 4 hides
    it."""
    label, kind = f"p{step.a % 3}", step.b % 5
    answers = builder.in_flight() if step.d < 6 else None
    raw = {"type": ("compaction", "use", "use", "outcome", "note")[kind], "words": "of the provider " * (1 + step.a)}
    calls = (Call(f"c{len(builder.log)}", "sh", "{}"),) if kind in {1, 4} else ()
    thought = Reasoning("thinking about it, step by step", bound=True)
    turn = Assistant(
        parts=(Other(raw, compaction=kind == 0),),
        shape="parts",
        calls=calls,
        reasoning=(thought,) * (step.c % 2),
        answers=answers,
        pending_calls=(label,) if kind in {1, 2, 4} else (),
        continued_calls=(label,) if kind in {3, 4} else (),
    )
    builder.append(turn, hidden=step.d == 4)


def _result(builder: LogBuilder, step: Step) -> None:
    """The result of a call. a: its text; b: which call; c: of which turn, from 14 on of no turn; d: see `_parts`, 9
    hides it."""
    turns = builder.calls()
    answered = Call("nobody", "sh", "{}")
    if turns and step.c < 14:
        calls = turns[-1 if step.c < 10 else -1 - step.c % len(turns)]
        answered = calls[step.b % len(calls)]
    extra = {"name": answered.name} if answered.legacy and step.d % 2 else None
    parts = _parts(step.a + 3, step.d)
    answer = ToolResult(parts=parts, call=answered.id, legacy=answered.legacy, extra=extra)
    builder.append(answer, hidden=step.d == 9)


def _synthetic(builder: LogBuilder, step: Step) -> None:
    """Synthetic results: for all open calls; if a is 9, for the call at b and c, which may not exist. d: from 8 on,
    without the call's id."""
    open_units = {key: builder.view.open_unit(key) for key in builder.view.open_units}
    places = [(key, index) for key, unit in open_units.items() for index in unit.open_calls]
    if step.a == 9:
        places = [(step.b, step.c)]
    for key, index in places:
        turn = open_units[key].first_fact if key in open_units else None
        calls = turn.calls if isinstance(turn, Assistant) else ()
        label = calls[index].id if step.d < 8 and index < len(calls) else ""
        builder.append(ToolResult(parts=(Text("[aborted]"),), call=label, place=(key, index), synthetic=True))


def _approval(builder: LogBuilder, step: Step) -> None:
    """A step of an approval, or a result by its place. a: which call, the newest first.

    b % 4: which step: 0 that it waits, else approved, started or rejected. With b = 0 or 4 any call is meant, with any
    other b one that had a step, if there is one. c: from 8 on, the step has other arguments. d: 3 to 6, in place of a
    step the result by its place, with d = 6 a synthetic one; 7, a fork; from 13 on, any place.
    """
    turns = [(entry.seq, entry.body) for entry in builder.facts() if isinstance(entry.body, Assistant)]
    places = [(builder.view.key_of(seq), index) for seq, turn in turns for index in range(len(turn.calls))]
    places = sorted(builder.view.approvals) if (step.b % 4 or step.b >= 8) and builder.view.approvals else places
    place = places[-1 - step.a % len(places)] if places and step.d < 13 else (step.a, step.c)
    if step.d == 7:
        builder.append(Forked(source="before"))
    elif 3 <= step.d <= 6:
        builder.append(ToolResult(parts=(Text("done"),), place=place, synthetic=step.d == 6))
    else:
        state: ApprovalState = ("pending", "approved", "started", "rejected")[step.b % 4]
        builder.append(Approval(place=place, state=state, arguments="{}" if step.c >= 8 else ""))


def _sent(builder: LogBuilder, step: Step) -> None:
    """A request of the window as it is. a: 1 gives it a wrong fingerprint."""
    fingerprint = "0" * 32 if step.a == 1 else builder.view.fingerprint()
    size = builder.view.total
    builder.append(Sent(fingerprint=fingerprint, limit=10_000, tokens=size.tokens, messages=size.messages))


def _other(builder: LogBuilder, step: Step) -> None:
    """A fact that neither a user, a model nor a tool wrote. c: which kind; b: odd, it answers the request in flight; d:
    9 hides it. Some kinds never show."""
    text = TEXTS[step.a % len(TEXTS)]
    answers = builder.in_flight() if step.b % 2 else None
    bodies: tuple[Body, ...] = (
        Note(key="mode", text=text),
        Recalled(text=text, refs=(0,)),
        Handoff(text=text, source="scout"),
        Failure(failure="timeout", text=text, shown=text, answers=answers),
        Failure(failure="abandoned", answers=answers),
        Failure(failure=REASONING_REFUSED, answers=answers, model=MODELS[step.a % 3]),
        Instruction(parts=_parts(step.a, step.d), role="developer"),
        Opaque(raw={"kind": "later", "x": [step.a, "\ud800"]}),
    )
    builder.append(bodies[step.c % len(bodies)], hidden=step.d == 9)


def _head(builder: LogBuilder, step: Step) -> None:
    """A head. a, d: the system prompt, see `_parts`; b: odd, with a tool."""
    tools = ({"type": "function", "function": {"name": "sh"}},) if step.b % 2 else ()
    builder.append(Head(messages=(Instruction(parts=_parts(step.a, step.d)),), tools=tools))


def _fold(builder: LogBuilder, step: Step) -> None:
    """A fold. a: its first slot; b: how many more; c: its text; d: 3 to 5, every second unit is excerpted; from 12 on,
    it covers any keys."""
    slots, text = builder.view.slots, FOLDS[step.c % 2 if step.c < 12 else step.c % len(FOLDS)]
    if not slots or step.d >= 12:
        builder.append(Fold(first=step.a, last=step.a + step.b - 1, text=text))
        return
    first = step.a % len(slots)
    last = min(first + step.b % 6, len(slots) - 1)
    keys = [unit.key for slot in slots[first : last + 1] for unit in units_in(slot)]
    excerpted = tuple(keys[step.d % 2 :: 2]) if step.d in {3, 4, 5} else ()
    builder.append(Fold(first=slots[first].first, last=slots[last].last, text=text, excerpted=excerpted))


def _trim(builder: LogBuilder, step: Step) -> None:
    """A trim. a, b: of which part; c: which spans stay; d: its note; from 12 on it may not apply."""
    facts = builder.facts() if step.d < 12 else [entry for entry in builder.log if isinstance(entry.body, Fact)]
    if not facts or step.d == 15:
        builder.append(Trim(entry=step.a - 1, part=("text", step.b), keep=((0, 1),), note="[cut]"))
        return
    fact = facts[(step.a + step.c) % len(facts)] if step.d % 2 else facts[-1 - step.a % len(facts)]
    parts = addressed_parts(fact.body) if isinstance(fact.body, Fact) else ()
    places = list(parts) or [(("text", 0), Text(""))]
    address, part = places[step.b % len(places)]
    if step.d == 14:
        address = (address[0], 7)
    size, keep = len(getattr(part, "text", "")), ()
    if address[0] == "text" and step.c % 3 and size > 8:
        keep = (((0, size // 4),), ((0, 2), (size - 3, size)), ((size // 2, size),), ((3, 1), (0, size)))[step.c % 4]
    note = NOTES[(2 + step.d % 2) if address[0] == "args" and step.d < 10 else step.d % len(NOTES)]
    builder.append(Trim(entry=fact.seq, part=address, keep=keep, note=note))


def _pin(builder: LogBuilder, step: Step) -> None:
    """A pin. a: of which entry that is in a unit; d: from 13 on, of any number."""
    facts = builder.facts()
    builder.append(Pin(entry=facts[step.a * 5 % len(facts)].seq if facts and step.d < 13 else step.a + step.b))


def _undo(builder: LogBuilder, step: Step) -> None:
    """An undo. a: of which live edit, the newest first; d: from 12 on, of any edit; from 14 on, of any number."""
    edits = [entry.seq for entry in builder.log if isinstance(entry.body, (Fold, Trim, Pin, Summary))]
    if step.d < 12:
        edits = [seq for seq in range(builder.view.length) if builder.view.refusal(Undo(edit=seq)) is None]
    builder.append(Undo(edit=edits[-1 - step.a % len(edits)] if edits and step.d < 14 else step.a))


def _summary(builder: LogBuilder, step: Step) -> None:
    """A summary. a: its text; b: how far back its turns end; c: up to 7 a model made it; d: from 13 on, a failure to
    make one."""
    if step.d >= 13:
        builder.append(Failure(failure=NO_SUMMARY, error="nothing usable"))
        return
    keys = [entry.seq for entry in builder.facts()] or [0]
    last = keys[-1 - step.b % len(keys)] if step.b < 15 else step.a
    text = TEXTS[step.a % len(TEXTS)]
    builder.append(Summary(last=last, text=text, degraded=step.c > 7, notes=("keep this",) * (step.c % 2)))


_WRITERS: dict[Kind, Callable[[LogBuilder, Step], None]] = {
    "user": _user,
    "turn": _turn,
    "reply": _reply,
    "provider": _provider,
    "result": _result,
    "synthetic": _synthetic,
    "approval": _approval,
    "sent": _sent,
    "other": _other,
    "head": _head,
    "fold": _fold,
    "trim": _trim,
    "pin": _pin,
    "undo": _undo,
    "summary": _summary,
}
_OFTEN = ("result", "reply", "provider", "approval")
_FACTS: tuple[Kind, ...] = ("user", "turn", *_OFTEN, *_OFTEN, "synthetic", "other", "summary")
_EDITS: tuple[Kind, ...] = ("fold", "fold", "fold", "trim", "trim", "pin", "undo", "undo")


def write_log(steps: Iterable[Step]) -> list[Entry]:
    """Write the log for these steps."""
    return LogBuilder().write(steps)


def logs() -> st.SearchStrategy[list[Entry]]:
    """A Hypothesis strategy for random logs: short ones, which shrink well, and longer ones, which begin with facts and
    then have edits too. Seqs count from 0."""
    mixed: tuple[Kind, ...] = (*_FACTS, *_EDITS, "sent", "head")
    long = st.tuples(_step_lists(_FACTS, 5, 12), _step_lists(mixed, 12, 30)).map(lambda both: both[0] + both[1])
    return st.one_of(_step_lists(mixed, 1, 12), long).map(write_log)


def steps(*kinds: Kind, most: int = 6) -> st.SearchStrategy[list[Step]]:
    """A Hypothesis strategy for lists of 1 to `most` steps of these kinds, to be written behind a log:
    `LogBuilder(log).write(steps)`."""
    return _step_lists(kinds, 1, most)


def _step_lists(kinds: tuple[Kind, ...], least: int, most: int) -> st.SearchStrategy[list[Step]]:
    """Lists of steps of these kinds."""
    small = st.integers(0, 15)
    step = st.builds(Step, st.sampled_from(kinds), small, small, small, small)
    return st.lists(step, min_size=least, max_size=most)


_TOOLS = ("read", "read", "write_file", "edit", "sh", "transom_read")
_PATHS = tuple(f'{{"path": "src/{name}.py", "text": "{"new text " * 60}"}}' for name in ("a", "b"))
_RESULTS = ("line of a file\n" * 60, "another line\n" * 90, "Error: it went wrong " * 30, "{}")


def work_logs() -> st.SearchStrategy[list[Entry]]:
    """A Hypothesis strategy for random logs like those of a coding agent: a task, 2 to 16 tool calls, most of them with
    long results, and then 1 to 6 edits. Some edits do not apply."""
    choices = st.tuples(*(st.integers(0, len(each) - 1) for each in (_TOOLS, _PATHS, _RESULTS)))
    return st.builds(_worked, st.lists(choices, min_size=2, max_size=16), steps("pin", "undo", "trim", "fold"))


def _worked(choices: Sequence[tuple[int, ...]], edits: Sequence[Step]) -> list[Entry]:
    """The log with these tool calls (each as indexes of `_TOOLS`, `_PATHS` and `_RESULTS`) and these edits."""
    items: list[Item] = ["fix it"]
    for tool, path, text in choices:
        items += [call(_TOOLS[tool], _PATHS[path]), result(_RESULTS[text])]
    log = talk(*items)
    return [*log, *LogBuilder(log).write(edits)]


def budgets() -> st.SearchStrategy[Budget]:
    """A Hypothesis strategy for budgets: small and large limits of every kind, with and without prices."""
    always = Prices(write=1.0, read=1.0)  # a compaction costs nothing and always pays
    return st.builds(
        Budget,
        context=st.sampled_from([60, 150, 400, 1_500, 100_000]),
        max_messages=st.sampled_from([None, None, 2, 5, 12]),
        max_bytes=st.sampled_from([None, None, 700, 4_000]),
        max_images=st.sampled_from([None, None, 0, 1]),
        prices=st.sampled_from([None, None, ANTHROPIC, always]),
    )


def states() -> st.SearchStrategy[dict[str, str]]:
    """A Hypothesis strategy for states to announce: none, a mode, or a mode and a goal."""
    return st.sampled_from([{}, {"mode": "plan"}, {"mode": "act", "goal": "green tests " * 6}])
