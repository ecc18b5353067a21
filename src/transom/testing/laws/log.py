"""The laws of a log and its view."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from itertools import pairwise

from transom.core.codec import encode
from transom.core.edit import Edit, Fold, Pin, Trim, Undo
from transom.core.entry import Entry, Sent
from transom.core.message import Assistant, Fact, Text, addressed_parts
from transom.core.reducer import apply, build_view
from transom.core.summary import Summary
from transom.core.tokens import TokenCounter, part_bytes, replace_surrogates, text_bytes
from transom.core.view import View
from transom.testing.fakes import Entries
from transom.testing.laws.shared import COUNTER, blanked, live_edits, unbound, visible, with_edit
from transom.testing.oracle import head_content, slot_fingerprint, slow_views
from transom.testing.view_appearance import REASONS, appearance_of


def check_definition(log: Sequence[Entry], counter: TokenCounter = COUNTER) -> None:
    """Law 15: after every entry, the view shows what the slow oracle shows."""
    view = View.empty(Entries(log), counter)
    for at, slow in enumerate(slow_views(log, counter)):
        if at:
            view = apply(view, log[at - 1 : at])
        assert appearance_of(view) == slow.appearance(), f"after {at} entries"


def check_undo(log: Sequence[Entry], edit: Edit, counter: TokenCounter = COUNTER) -> None:
    """Law 5: after an edit and its undo the window is as before; an undo can neither be repeated nor undone.

    An edit that does not apply is not checked.
    """
    before = build_view(Entries(log), counter)
    if before.refusal(edit) is not None or isinstance(edit, Undo):
        return
    undo = Undo(edit=len(log))
    view = with_edit(with_edit(before, edit), undo)
    assert visible(view) == visible(before), f"undoing {edit} does not show what was there before"
    assert view.refusal(undo) is not None, "an edit can be undone twice"
    assert view.refusal(Undo(edit=len(log) + 1)) is not None, "an undo can be undone"
    assert visible(with_edit(view, Undo(edit=len(log) + 1))) == visible(before)


def check_all_undone(
    log: Sequence[Entry], shuffle: Callable[[list[int]], object] | None = None, counter: TokenCounter = COUNTER
) -> None:
    """Law 5: with every live edit and summary undone, in any order, the view is that of the log without edits.

    `shuffle`: changes the order of a list of seqs in place. Reasoning counts as unsigned here: a signature holds for
    one prefix, and the log without edits has another.
    """
    log = [unbound(one) for one in log]
    view = build_view(Entries(log), counter)
    edits = live_edits(view)
    if shuffle is not None:
        shuffle(edits)
    for seq in edits:
        assert view.refusal(Undo(edit=seq)) is None, "a live edit cannot be undone"
        view = with_edit(view, Undo(edit=seq))
    assert isinstance(view.log, Entries)
    facts = [blanked(one) if isinstance(one.body, Edit | Summary) else one for one in view.log]
    bare = build_view(Entries(facts), counter)
    assert visible(view) == visible(bare)


def check_order(log: Sequence[Entry], edits: Sequence[Edit], counter: TokenCounter = COUNTER) -> None:
    """Law 6: the order of trims and pins makes no difference, and each one twice is the same as once. Other edits are
    ignored."""
    edits = [edit for edit in edits if isinstance(edit, (Trim, Pin))]
    once = build_view(Entries(log), counter)
    turned = once
    for edit, other in zip(edits, reversed(edits), strict=True):
        once, turned = with_edit(once, edit), with_edit(turned, other)
    assert appearance_of(turned) == appearance_of(once), "the order of the edits matters"
    twice = once
    for edit in edits:
        twice = with_edit(twice, edit)
    assert appearance_of(twice) == appearance_of(once), "an edit made twice is not the same as once"


def check_thrift(log: Sequence[Entry], counter: TokenCounter = COUNTER) -> None:
    """Law 7: a fold saves bytes, a trim never adds any, and an edit that does not apply changes nothing.

    Bound reasoning that an edit shows again does not count: the edit brought back the prefix that it was made on (law
    13).
    """
    view = View.empty(Entries(log), counter)
    for one in log:
        if not isinstance(one.body, (Fold, Trim)):
            view = apply(view, [one])
            continue
        before, applies = view, view.refusal(one.body) is None
        view = apply(view, [one])
        size = view.total.bytes - _reasoning_back(before, view)
        if not applies:
            assert view.total == before.total, f"entry {one.seq} does not apply, but changes the view"
        elif isinstance(one.body, Fold):
            assert size < before.total.bytes, f"fold {one.seq} saves nothing"
        else:
            assert size <= before.total.bytes, f"trim {one.seq} adds bytes"


def _reasoning_back(before: View, after: View) -> int:
    """The bytes of bound reasoning that `before` hides and `after` shows."""
    hidden = {unit.key for unit in before.visible_units() if unit.signature_stale}
    back = [unit.first_fact for unit in after.visible_units() if unit.key in hidden and not unit.signature_stale]
    turns = [head for head in back if isinstance(head, Assistant)]
    return sum(part_bytes(thought) for turn in turns for thought in turn.reasoning if thought.bound)


def check_kept(log: Sequence[Entry], counter: TokenCounter = COUNTER) -> None:
    """Law 9: every fact is in its unit, unchanged, or is reported as left out; and no stored fact has changed."""
    stored = [encode(one) for one in log]
    view = build_view(Entries(log), counter)
    appearance_of(view)
    for one in log:
        if not isinstance(one.body, Fact):
            assert view.slot_of(one.seq) is None
        elif view.slot_of(one.seq) is None:
            assert view.unit_of[one.seq] in REASONS, f"entry {one.seq} is lost"
        else:
            unit = view.unit(view.unit_of[one.seq])
            assert view.entries_of(unit)[unit.seqs.index(one.seq)] == one
    assert [encode(one) for one in log] == stored


def check_text(view: View) -> None:
    """Law 12: no text is cut inside a character, each is counted as it is sent, and JSON arguments stay JSON."""
    for unit in view.visible_units():
        for was, now in zip(unit.facts, unit.shown_facts(), strict=True):
            for _, part in addressed_parts(now):
                if isinstance(part, Text):
                    sent = replace_surrogates(part.text).encode("utf-8")  # raises for a lone surrogate
                    assert len(sent) == text_bytes(part.text), f"a text of {len(sent)} bytes is counted otherwise"
            if isinstance(was, Assistant) and isinstance(now, Assistant):
                for call, shown in zip(was.calls, now.calls, strict=True):
                    assert _is_json(shown.args) or not _is_json(call.args), (
                        f"arguments of {call.name} are not JSON any more"
                    )
                    assert (shown.id, shown.name) == (call.id, call.name), f"the call {call.name} has changed"


def check_bound(log: Sequence[Entry], counter: TokenCounter = COUNTER) -> None:
    """Law 13: bound reasoning shows only on the prefix that it was made on: that of the `Sent` that its turn
    answers.

    A turn with a compaction of the provider is not checked: what precedes it is in the compaction, so its reasoning
    stays valid although the window does not show the request any more.
    """
    view = build_view(Entries(log), counter)
    head = b"" if view.head_entry is None else head_content(view.head_entry.body)
    running = hashlib.blake2b(head, digest_size=16)
    for slot in appearance_of(view).slots:
        for unit in slot.units:
            turn = unit.facts[0]
            if isinstance(turn, Assistant) and any(thought.bound for thought in turn.reasoning):
                assert slot.fold is None, "it shows behind the text of a fold"
                if turn.answers is not None and not turn.is_compaction:
                    sent = log[turn.answers].body
                    assert isinstance(sent, Sent)
                    assert sent.fingerprint == running.hexdigest(), f"unit {unit.key} shows on another prefix"
        running.update(slot_fingerprint(slot))


def check_flat(work: Callable[[int], object], *lengths: int) -> None:
    """Law 14: `work(length)`, a count of operations on a log of that length, is the same for all `lengths`."""
    costs = [work(length) for length in lengths]
    for (short, cost), (long, other) in pairwise(zip(lengths, costs, strict=True)):
        assert other == cost, f"{other} at {long}, {cost} at {short}"


def _is_json(text: str) -> bool:
    """Whether a text is JSON."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
