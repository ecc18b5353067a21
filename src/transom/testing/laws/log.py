"""The laws of a log and its view: 6, 7, 12 and 13."""

from __future__ import annotations

import json
from collections.abc import Sequence

from transom.core.edit import Edit, Fold, Pin, Trim
from transom.core.entry import Entry, Sent
from transom.core.message import Assistant, Text, addressed_parts
from transom.core.prefix_fingerprint import prefixes
from transom.core.reducer import apply, build_view
from transom.core.tokens import TokenCounter, part_bytes, replace_surrogates, text_bytes
from transom.core.unit import Unit
from transom.core.view import View
from transom.testing.fakes import Entries
from transom.testing.laws.shared import COUNTER, with_edit
from transom.testing.view_appearance import appearance_of


def check_order(log: Sequence[Entry], edits: Sequence[Edit], counter: TokenCounter = COUNTER) -> None:
    """Law 6: the order of trims and pins makes no difference, and each one twice is the same as once.

    `edits` are made behind the log, in this order and the reverse; those that are neither trims nor pins are left out.
    """
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


def check_thrift(log: Sequence[Entry]) -> None:
    """Law 7, for each fold and trim in a log: a fold saves bytes, a trim never adds any, and one that does not apply
    changes no size.

    Bound reasoning that shows again after an edit does not count: the edit brought back the prefix on which the
    reasoning was made (law 13).
    """
    view = View.empty(Entries(log), COUNTER)
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


def check_text(view: View) -> None:
    """Law 12, for each visible unit: no text is cut inside a character, the bytes of each are counted as they are sent,
    calls keep their ids and names, and JSON arguments stay JSON."""
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
    """Law 13: bound reasoning shows only on the prefix on which it was made: that of the `Sent` that its turn answers.

    A turn with a compaction of the provider is not checked: what precedes the turn is in the compaction, so its
    reasoning stays valid although the window no longer shows the request.

    Prefixes are compared by the fingerprints that Transom computes. That a fingerprint depends on everything before a
    turn is part of law 15.
    """
    view = build_view(Entries(log), counter)
    *before, _ = prefixes(view.head_entry, view.slots)  # the last one is that of the whole window
    for slot, (_, fingerprint) in zip(view.slots, before, strict=True):
        for unit in (slot,) if isinstance(slot, Unit) else slot.pinned_units:
            turn = unit.shown_facts()[0]
            if isinstance(turn, Assistant) and any(thought.bound for thought in turn.reasoning):
                assert isinstance(slot, Unit), "it shows behind the text of a fold"
                if turn.answers is not None and not turn.is_compaction:
                    sent = log[turn.answers].body
                    assert isinstance(sent, Sent)
                    assert sent.fingerprint == fingerprint, f"unit {unit.key} shows on another prefix"


def _is_json(text: str) -> bool:
    """Whether a text is JSON."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
