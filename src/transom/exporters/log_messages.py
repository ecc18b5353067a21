"""Renders a log as messages of any dialect, one turn after another, so that the memory does not grow with the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.entry import Body, Entry
from transom.core.message import (
    Assistant,
    Call,
    Fact,
    Media,
    Note,
    Other,
    Raw,
    Reasoning,
    Recalled,
    ToolResult,
    is_empty,
)
from transom.core.pairing import call_labels, open_call
from transom.core.plan import closing_result
from transom.core.unit import Unit, new_unit, with_result
from transom.texts import ABORTED
from transom.wire.arguments import CUSTOM_TYPES, WRAPPED, sent_text, takes_text
from transom.wire.dialect import Dialect, Rendered
from transom.wire.dialects import dialect_named
from transom.wire.fields import as_dict, objects_in
from transom.wire.openai.render import NOTES, message
from transom.wire.responses.built_in_tools import is_built_in
from transom.wire.translate import translate_fact

MOST_WAITING = 1_000
"""How many turns may wait behind one whose results have not all come; then that turn is rendered without them."""


class TimedMessage(Struct, frozen=True):
    """A message of a dialect, and when it was said, in seconds since the epoch."""

    message: Raw
    at: float


NO_PLACE = "the format has no place for them"
"""Why an export leaves out what no line of its format can hold."""

NO_OBJECT = f'arguments that are no JSON object, put under the key "{WRAPPED}"'
"""What a format holds in another form that has arguments only as an object."""


_NOT_TAKEN = "no API takes a call without one"


class LeftOut:
    """Counts what an export cannot give back, by kind."""

    def __init__(self) -> None:
        self._counts = Counter[tuple[str, str]]()

    def add(self, what: str, many: int = 1, *, why: str = "") -> None:
        """Count `many` losses of one kind. `what`: the kind in a few words, behind which a note has the number; `why`:
        the reason, which the note has in brackets; empty for none."""
        self._counts[what, why] += many

    def notes(self) -> tuple[str, ...]:
        """Return one line for each kind of loss: its words, how often it happened, and why."""
        counts = ((what, f"{many:,}", why) for (what, why), many in self._counts.items() if many)
        return tuple(f"{what}: {many} ({why})" if why else f"{what}: {many}" for what, many, why in counts)


def shown_messages(
    log_entries: Iterable[Entry], dialect: str, left_out: LeftOut, *, reasoning: bool = False, close_calls: bool = False
) -> Iterator[TimedMessage]:
    """Yield the messages of these entries in the dialect of this name, in the order of the log; but each result
    directly behind the turn with its call.

    Left out, and counted in `left_out`: messages that are never sent, recalled texts, edits, results that answer no
    call, and reasoning of another dialect. `reasoning`: the text of that reasoning is kept, and only its signature is
    left out. `close_calls`: a call without a result gets a result that says so, as in a window, because no API takes
    such a call. What is changed by these two is counted too, and notes, which become messages of the user. A turn whose
    results do not come within the next 1,000 turns (MOST_WAITING) is given without them.
    """
    spoken = dialect_named(dialect)
    batch: list[tuple[Rendered, Entry]] = []
    begun = False
    for unit in _units(log_entries, spoken.name, left_out, reasoning=reasoning):
        if unit.open_calls and close_calls:
            left_out.add("calls without a result that got one which says so", len(unit.open_calls), why=_NOT_TAKEN)
            unit = _with_closed_calls(unit)  # noqa: PLW2901
        elif unit.open_calls:
            left_out.add("turns with calls that have no result")
        rendered = spoken.render_slot(unit)
        if not rendered:
            continue
        _write_arguments(rendered, unit, left_out)
        if batch and _role(batch[-1][0]) != _role(rendered[0]):
            yield from _joined(spoken, batch, begun=begun)
            batch, begun = [], True
        entries = unit.entries or ()
        said = entries if len(rendered) == len(entries) else entries[:1] * len(rendered)
        batch += zip(rendered, said, strict=True)
    if batch:
        yield from _joined(spoken, batch, begun=begun)


def _with_closed_calls(unit: Unit) -> Unit:
    """The turn with a result for each of its calls that has none."""
    turn, entries = unit.first_fact, unit.entries
    assert isinstance(turn, Assistant)
    assert entries
    labels = call_labels(turn.calls, unit.key)
    for index in unit.open_calls:
        result = closing_result(turn.calls[index], labels[index], (unit.key, index), ABORTED)
        unit = with_result(unit, index, replace(entries[-1], body=result, tokens=(), meta=None))
    return unit


def _write_arguments(rendered: Sequence[Rendered], unit: Unit, left_out: LeftOut) -> None:
    """Write the arguments of a turn's calls as the model wrote them, in place, where the format has them as text.

    Rendering wraps what is no JSON object, because servers refuse it. A file says what happened. Arguments that a
    format has only as an object stay wrapped, and are counted.
    """
    turn = unit.first_fact
    if not isinstance(turn, Assistant):
        return
    calls = [call for call in turn.calls if not takes_text(call) and not is_built_in(call)]
    if turn.dialect not in CUSTOM_TYPES:
        wrapped = sum(call.args.strip() != "" and sent_text(call.args) != call.args for call in turn.calls)
        left_out.add(NO_OBJECT, wrapped)
        return
    if all(sent_text(call.args) == call.args for call in calls):
        return
    bodies = [body for each in rendered for body in _bodies(each.message)]
    if len(bodies) != len(calls):
        return  # a call that is neither this nor that: what is rendered stands
    for call, body in zip(calls, bodies, strict=True):
        body["arguments"] = call.args


def _bodies(message: Raw) -> list[Raw]:
    """The objects in a message of OpenAI's APIs that hold the arguments of a function call, in order."""
    if message.get("type") == "function_call":
        return [message]
    listed = [as_dict(each.get("function")) for each in objects_in(message.get("tool_calls"))]
    return [body for body in [*listed, as_dict(message.get("function_call"))] if "arguments" in body]


def unchanged_messages(entries: Iterable[Entry], left_out: LeftOut) -> Iterator[TimedMessage]:
    """Yield the facts of these entries as the OpenAI Chat messages that they were read from, in the order of the log.

    Nothing is repaired, moved or joined, so that an import reads the same facts. Messages that are never sent, recalled
    texts and edits are left out, and counted in `left_out`.
    """
    for entry in entries:
        body = entry.body
        _count_edit(body, left_out)
        if isinstance(body, Fact) and _is_shown(entry, body, left_out):
            yield TimedMessage(message(_translated_fact(body, "openai")), entry.at)


def _role(rendered: Rendered) -> str:
    """Return "model" for a message of the model, and "user" for any other."""
    return "model" if rendered.message.get("role") in {"assistant", "model"} else "user"


def _joined(dialect: Dialect, batch: Sequence[tuple[Rendered, Entry]], *, begun: bool) -> Iterator[TimedMessage]:
    """Join rendered messages that follow one another, as the API wants them. Joined messages have the time of the
    first.

    `begun`: messages were yielded before. The dialect takes its input for the beginning of a request, and would put a
    message of the user before one of the model; so one is put there first and removed again.
    """
    rendered, said = [each for each, _ in batch], [entry for _, entry in batch]
    if not begun or _role(rendered[0]) != "model":
        messages = dialect.join(rendered)
    else:
        guard = dialect.user_message("…")
        messages = dialect.join([Rendered(guard.message, joins=False), *rendered])[1:]
    entries = said if len(messages) == len(said) else [said[0]] * len(messages)
    return (TimedMessage(each, entry.at) for each, entry in zip(messages, entries, strict=True))


def _units(entries: Iterable[Entry], dialect: str, left_out: LeftOut, *, reasoning: bool) -> Iterator[Unit]:
    """Yield the turns of these entries in order, each with all its results, translated to the dialect.

    What the translation leaves out is counted in `left_out`.
    """
    waiting = _Waiting()
    for entry in entries:
        body = entry.body
        _count_edit(body, left_out)
        if not isinstance(body, Fact) or is_empty(body) or not _is_shown(entry, body, left_out):
            continue
        _count_left_out(body, dialect, left_out)
        fact = _translated(body, dialect, left_out, reasoning=reasoning)
        known = replace(entry, body=cast("Body", fact))
        if not isinstance(fact, ToolResult):
            waiting.units.append(new_unit(_key(entry), known))
        elif not waiting.attach(known, fact):
            left_out.add("results left out that answer no call")
        yield from waiting.take_ready()
    yield from waiting.take_ready(everything=True)


def _key(entry: Entry) -> int:
    """Return the key of the unit that an entry begins: its seq, but for a reply the seq of the `Sent` that it answers,
    because its results name that."""
    answers = entry.body.answers if isinstance(entry.body, Assistant) else None
    return entry.seq if answers is None else answers


def _is_shown(entry: Entry, fact: Fact, left_out: LeftOut) -> bool:
    """True if an export has a fact; otherwise the loss is counted. A note is shown, and counted too."""
    if entry.meta is not None and not entry.meta.include_in_context:
        left_out.add("messages left out that are never sent")
        return False
    if isinstance(fact, Recalled):
        left_out.add("recalled texts left out", why="they repeat what is there")
        return False
    if isinstance(fact, Note):
        left_out.add("notes of Transom that became messages of the user")
    return True


def _count_edit(body: Body, left_out: LeftOut) -> None:
    if isinstance(body, Fold | Trim | Pin | Undo):
        left_out.add("edits of windows left out", why="the export has every message as it was said")


def _count_left_out(fact: Fact, dialect: str, left_out: LeftOut) -> None:
    """Count what the translation of this fact leaves out."""
    if isinstance(fact, ToolResult) and fact.synthetic:
        left_out.add("results written by Transom, for calls that had none")
    if fact.dialect == dialect:
        left_out.add("fields of messages left out that only their own program takes", NOTES in (fact.extra or ()))
        return
    for key in fact.extra or ():
        if key != "refusal" and not (key == "name" and isinstance(fact, ToolResult)):
            left_out.add("fields of messages left out that only their own provider takes")
    own = (call for call in fact.calls if _is_of_own_kind(call)) if isinstance(fact, Assistant) else ()
    lost = sum(not (takes_text(call) and dialect in CUSTOM_TYPES) for call in own)
    left_out.add("calls of a kind that only their own provider has, which became calls of functions", lost)
    for part in fact.parts:
        if isinstance(part, Other):
            left_out.add("parts of another provider that became placeholders")
        elif isinstance(part, Media):
            left_out.add(
                "images and files translated, or replaced by a placeholder where the format has no place for them"
            )


def _translated(fact: Fact, dialect: str, left_out: LeftOut, *, reasoning: bool) -> Fact:
    """Translate a fact to the dialect, so that rendering takes its ids for the dialect's own.

    Reasoning of another dialect is left out and counted; with `reasoning` its text stays, without its signature.
    """
    out = _translated_fact(fact, dialect)
    if fact is out:
        return fact
    if dialect == "anthropic":
        out = replace(out, shape="parts")  # a turn that is one text has no place for its calls
    if not isinstance(fact, Assistant) or not fact.reasoning:
        return out
    if not reasoning:
        left_out.add("reasoning left out", len(fact.reasoning), why="only its own provider takes it")
        return out
    texts = tuple(Reasoning(thought.text) for thought in fact.reasoning if thought.text)
    left_out.add("signatures of reasoning left out", len(fact.reasoning))
    return replace(out, reasoning=texts, order="")


def _translated_fact(fact: Fact, dialect: str) -> Fact:
    """Translate a fact to the dialect. Unlike in a window, a call of a custom tool stays one if the dialect has such
    tools, and a call of a function without arguments has an empty object."""
    out = translate_fact(fact, dialect, keep_custom=True)
    if fact is out or not isinstance(out, Assistant):
        return out
    calls = (call if takes_text(call) or call.args.strip() else replace(call, args="{}") for call in out.calls)
    return replace(out, calls=tuple(calls))


def _is_of_own_kind(call: Call) -> bool:
    """True if a call is one of a tool that is no function."""
    return takes_text(call) or is_built_in(call)


class _Waiting:
    """Holds turns whose results have not all come, and the turns behind them. (It has what `open_call` needs:
    `OpenTurns`.)"""

    def __init__(self) -> None:
        self.units: list[Unit] = []

    @property
    def open_units(self) -> tuple[int, ...]:
        return tuple([unit.key for unit in self.units if unit.open_bits])

    def open_unit(self, key: int) -> Unit:
        return next(unit for unit in self.units if unit.key == key)

    def attach(self, entry: Entry, result: ToolResult) -> bool:
        """Attach a result to the call that it answers. Return false if no turn that is held has that call."""
        found = open_call(self, result)
        if found is None:
            return False
        unit, index = found
        self.units[self.units.index(unit)] = with_result(unit, index, entry)
        return True

    def take_ready(self, *, everything: bool = False) -> Iterator[Unit]:
        """Remove and yield the turns before the first one that waits for a result; with `everything`, all turns.

        A turn behind which `MOST_WAITING` others wait is yielded without its results.
        """
        many = 0
        for unit in self.units:
            if unit.open_calls and not everything and len(self.units) - many <= MOST_WAITING:
                break
            many += 1
        done, self.units = self.units[:many], self.units[many:]
        yield from done
