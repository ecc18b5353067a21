"""Each law fails where something breaks it: a strategy, a plan, a log or the view is broken on purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from log_laws import check_all_undone, check_flat, check_kept, check_undo
from msgspec.structs import replace

from oracle import check_definition
from transom import Budget, Policy
from transom.core import reducer
from transom.core.edit import Edit, Fold, Pin, Trim, Undo
from transom.core.entry import Entry, Sent
from transom.core.message import Assistant, Opaque, Other, Reasoning, Text, User
from transom.core.policy import Target
from transom.core.unit import Unit
from transom.core.view import View
from transom.errors import BudgetImpossible
from transom.policies import policy_named
from transom.testing import Entries, LogBuilder, call, result, says, talk
from transom.testing.laws import (
    COUNTER,
    check_bound,
    check_fits,
    check_order,
    check_plan_undo,
    check_prefix,
    check_present,
    check_proposals,
    check_reachable,
    check_refusal,
    check_replay,
    check_settled,
    check_text,
    check_thrift,
    check_valid,
    plan_call,
)

LONG = "a line of output\n" * 40
LOG = talk(
    "fix it", call("sh"), result(LONG), call("sh"), result(LONG), says("done"), "go on", call("sh"), result("ok")
)
WIDE = Budget(context=100_000)


def policy(strategy: Callable[[View, Target], Iterator[Edit]]) -> Policy:
    return Policy(name="broken", pressure=(strategy,), trigger=0.0, target=0.0)


def fails(law: Callable[..., None], *arguments, match: str | None = None, **settings) -> None:
    with pytest.raises(AssertionError, match=match):
        law(*arguments, **settings)


def test_valid() -> None:
    """A view with an open call, which no request may show."""
    window = plan_call(talk("fix it"), WIDE, policy_named("passthrough")).window
    check_valid(window)
    unanswered = reducer.build_view(Entries(talk("fix it", call("sh"), "go on")), window.view.counter)
    fails(check_valid, replace(window, view=unanswered))


@pytest.mark.parametrize(
    "limits", [{"context": 100}, {"max_messages": 3}, {"max_bytes": 500}], ids=["tokens", "messages", "bytes"]
)
def test_fits(limits: dict[str, int]) -> None:
    window = plan_call(LOG, WIDE, policy_named("passthrough")).window
    check_fits(window, WIDE)
    fails(check_fits, window, Budget(**{"context": 100_000, **limits}))


def test_refusal() -> None:
    fails(check_refusal, BudgetImpossible({"need": 10, "limit": 20}, "tokens"))


def test_prefix() -> None:
    """Another conversation does not go on from this one."""
    first, other = (plan_call(log, WIDE, policy_named("passthrough")).window for log in (LOG, talk("hello")))
    fails(check_prefix, first, other, match="without a name")


def test_replay() -> None:
    """A log in which an entry is not what the plan saw."""
    made = plan_call(LOG, WIDE, policy_named("passthrough"))
    check_replay(made)
    changed = [replace(LOG[0], body=User(parts=(Text("break it"),))), *LOG[1:]]
    fails(check_replay, made._replace(log=changed))


def ignoring(monkeypatch: pytest.MonkeyPatch, kind: type) -> None:
    """From now on the reducer passes over edits of this kind."""

    def apply(view: View, entries: list[Entry]) -> View:
        blank = [
            replace(one, body=Opaque(raw={"kind": "nothing"})) if isinstance(one.body, kind) else one for one in entries
        ]
        return reducer.apply(view, blank)

    monkeypatch.setattr("transom.testing.laws.shared.apply", apply)


def test_undo(monkeypatch: pytest.MonkeyPatch) -> None:
    fold = Fold(first=0, last=1, text="[folded]")
    check_undo(LOG, fold)
    edited = LogBuilder(LOG)
    edited.append(fold)
    check_all_undone(edited.log)
    ignoring(monkeypatch, Undo)
    fails(check_undo, LOG, fold)
    fails(check_all_undone, edited.log)


def test_plan_undo(monkeypatch: pytest.MonkeyPatch) -> None:
    def fold(view: View, target: Target) -> Iterator[Edit]:
        yield Fold(first=1, last=3, text="[entry 1 to entry 4]", why="compaction")

    made = plan_call(LOG, WIDE, policy(fold))
    check_plan_undo(made)
    monkeypatch.setattr("transom.testing.laws.planned.undo_last", lambda view, why, at: ())
    fails(check_plan_undo, made)


def test_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reducer in which the last trim of a part wins, and not the shortest."""
    short, long = (Trim(entry=2, part=("text", 0), note="[x]", keep=((0, keep),)) for keep in (5, 50))
    check_order(LOG, [short, long])
    monkeypatch.setattr(
        Unit, "effective_trims", lambda unit: {cut.place: cut for cut in sorted(unit.trims, key=lambda cut: cut.seq)}
    )
    with pytest.raises(AssertionError):
        check_order(LOG, [short, long])


def test_thrift(monkeypatch: pytest.MonkeyPatch) -> None:
    """A predicate that lets through folds larger than what they stand for."""
    builder = LogBuilder(talk("fix it", "ok", "and on"))
    builder.append(Fold(first=1, last=1, text="a summary that is far too long " * 9))
    check_thrift(builder.log)
    monkeypatch.setattr(View, "refusal", lambda view, edit: None)
    fails(check_thrift, builder.log, match="saves nothing")


def test_settled() -> None:
    """A strategy that finds something to shorten each time it runs."""

    def nibble(view: View, target: Target) -> Iterator[Edit]:
        left = len(LONG) - 20 - 5 * len(view.unit(1).trims)
        yield Trim(entry=2, part=("text", 0), keep=((0, left),), note="[entry 2]", why="nibble")

    check_settled(plan_call(LOG, WIDE, policy_named("passthrough")))
    fails(check_settled, plan_call(LOG, WIDE, policy(nibble)))


BROKEN_NOTES = {
    "no reference": "[left out]",
    "another entry": "[left out; whole in entry 4]",
    "an entry that is not there": "[left out; whole in entry 999]",
    "a message": "[left out; whole in message 2]",
}


@pytest.mark.parametrize("note", BROKEN_NOTES.values(), ids=BROKEN_NOTES)
def test_reachable_by_a_trim(note: str) -> None:
    def trim(view: View, target: Target) -> Iterator[Edit]:
        yield Trim(entry=2, part=("text", 0), note=note, why="stub")

    def good(view: View, target: Target) -> Iterator[Edit]:
        yield Trim(entry=2, part=("text", 0), note="[left out; whole in entry 2]", why="stub")

    check_reachable(plan_call(LOG, WIDE, policy(good)).after)
    fails(check_reachable, plan_call(LOG, WIDE, policy(trim)).after)


@pytest.mark.parametrize("text", ["[entry 1 to entry 3]", "[entry 2 to entry 4]", "[turns left out]", "[entry 4-1]"])
def test_reachable_by_a_fold(text: str) -> None:
    """The fold stands for the entries 1 to 4, and its text names fewer."""

    def fold(view: View, target: Target) -> Iterator[Edit]:
        yield Fold(first=1, last=3, text=text, why="compaction")

    fails(check_reachable, plan_call(LOG, WIDE, policy(fold)).after)


def test_reachable_where_reading_loses_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transom.readback.readable_entries.replace_surrogates", lambda text: text[:100])

    def fold(view: View, target: Target) -> Iterator[Edit]:
        yield Fold(first=1, last=3, text="[entry 1 to entry 4]", why="compaction")

    fails(check_reachable, plan_call(LOG, WIDE, policy(fold)).after, match="is read back without")


def test_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A view that gives the entries of another unit."""
    check_kept(LOG)
    entries_of = View.entries_of
    monkeypatch.setattr(View, "entries_of", lambda view, unit: entries_of(view, view.unit(0)) * len(unit.seqs))
    fails(check_kept, LOG)


def test_present() -> None:
    """A fold that says that it carries the first task, and does not."""

    def fold(view: View, target: Target) -> Iterator[Edit]:
        yield Fold(first=0, last=3, text="[entries left out]", excerpted=(0,), why="compaction")

    made = plan_call(LOG, WIDE, policy(fold), state={"mode": "plan"})
    fails(check_present, made, match="entry 0 is neither there nor named")
    whole = plan_call(LOG, WIDE, policy_named("passthrough"), state={"mode": "plan"})
    check_present(whole)
    fails(check_present, whole._replace(options=replace(whole.options, state={"mode": "act"})), match="mode")


def test_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """A note in place of arguments that is not JSON."""
    log = talk("fix it", call("sh", '{"cmd": "cat src/app.py and more of it"}'), result("ok"), "on")
    log = talk(Trim(entry=1, part=("args", 0), note="[left out]"), after=log)
    check_text(reducer.build_view(Entries(log), COUNTER))
    monkeypatch.setattr("transom.core.edit_refusal._is_json", lambda text: True)
    fails(check_text, reducer.build_view(Entries(log), COUNTER), match="not JSON")


def test_bound() -> None:
    """A log whose `Sent` holds the digest of another window."""
    log = talk("fix it")
    view = reducer.build_view(Entries(log), COUNTER)
    log = talk(Sent(fingerprint=view.fingerprint(), limit=1, tokens=1, messages=1), after=log)
    log = talk(says("well", thought="hm", bound=True, answers=1), after=log)
    check_bound(log)
    turn = log[2].body
    assert isinstance(turn, Assistant)
    assert turn.reasoning == (Reasoning("hm", bound=True),)
    real = reducer.build_view
    other = [log[0], replace(log[1], body=replace(log[1].body, fingerprint="0" * 32)), log[2]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("transom.testing.laws.log.build_view", lambda entries, counter: real(Entries(log), counter))
        fails(check_bound, other, match="another prefix")


def test_reasoning_beside_a_compaction_is_bound_to_what_is_behind_it() -> None:
    """The request that the turn answers is in no window any more; that is no fault."""
    log = talk("fix it")
    view = reducer.build_view(Entries(log), COUNTER)
    log = talk(Sent(fingerprint=view.fingerprint(), limit=1, tokens=1, messages=1), after=log)
    log = talk(says("well", thought="hm", bound=True, answers=1), after=log)
    turn = log[2].body
    assert isinstance(turn, Assistant)
    log[2] = replace(log[2], body=replace(turn, parts=(Other({"type": "compaction"}, compaction=True), *turn.parts)))
    (_, shown) = reducer.build_view(Entries(log), COUNTER).slots
    assert not shown.signature_stale
    check_bound(log)


def test_flat() -> None:
    check_flat(lambda length: 3, 10, 100)
    fails(check_flat, lambda length: length, 10, 100)


def test_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    log = talk(Pin(entry=0), Fold(first=0, last=1, text="[folded]"), after=LOG)
    check_definition(log)
    monkeypatch.setattr(Unit, "shown_facts", lambda unit: ())
    fails(check_definition, log, match="after 1 entries")


def test_proposals() -> None:
    def newest(view: View, target: Target) -> Iterator[Edit]:
        yield Fold(first=view.newest_unit, last=view.newest_unit, text="[x]")

    def other_each_time() -> Callable[[View, Target], Iterator[Edit]]:
        asked = iter(range(9))

        def strategy(view: View, target: Target) -> Iterator[Edit]:
            yield Trim(entry=2, part=("text", 0), note=f"[{next(asked)}]")

        return strategy

    fails(check_proposals, talk("go", "a long message " * 9), newest, match="newest unit")
    fails(check_proposals, LOG, other_each_time(), match="second time")
