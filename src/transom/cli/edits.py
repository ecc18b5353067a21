"""The commands `transom pin` and `transom undo`: append an edit."""

from __future__ import annotations

from collections.abc import Sequence

from transom.cli.commands import stored as commands
from transom.cli.log import text_of
from transom.cli.open_conversation import last_limit, open_conversation
from transom.cli.options import entry_number
from transom.cli.stores import open_log
from transom.cli.streams import one_line
from transom.cli.terminal import print_json, print_wrapped, terminal
from transom.conversation.edits import live_edit
from transom.core.budget import Budget
from transom.core.edit import Pin, Undo
from transom.core.message import role_of
from transom.core.plan_draft import pin_by_hand
from transom.core.reducer import apply
from transom.core.undo import undo_last
from transom.core.view import View
from transom.evaluation.fold_ranges import FoldRanges


def run(options: commands.Pin | commands.Undo) -> int:
    """Append a pin or an undo, and print what it does to the window. Exit code 0.

    Nothing is appended with --dry-run, nor if the unit of a pin is pinned already.
    """
    with open_log(options.store, options.id) as log, open_conversation(log, Budget(), "passthrough") as conversation:
        before = conversation.view
        named = options.entry if isinstance(options, commands.Pin) else options.edit
        number = entry_number(" ".join(named)) if named else None
        if number is None:
            live_edit(before, "undo")  # raises if there is none
            entries = undo_last(before, why=options.why, at=0.0)
            edits = [entry.body for entry in entries if isinstance(entry.body, Pin | Undo)]
            after = apply(before, entries)
            seqs = [] if options.dry_run else conversation.undo(why=options.why)
        elif isinstance(options, commands.Pin) and (pin := pin_by_hand(before, number)) is not None:
            pinned = before.fetch(pin).body
            assert isinstance(pinned, Pin)
            edits, seqs, after = [pinned], [pin], before
        else:
            is_pin = isinstance(options, commands.Pin)
            edit = Pin(entry=number, why=options.why) if is_pin else Undo(edit=number, why=options.why)
            edits, after = [edit], conversation.preview_edit(edit)
            seqs = [] if options.dry_run else [conversation.edit(edit)]
        _print_change(log.name, edits, seqs, before, after, last_limit(log), json=options.json)
    return 0


def _print_change(
    name: str,
    edits: Sequence[Pin | Undo],
    seqs: Sequence[int],
    before: View,
    after: View,
    limit: int | None,
    *,
    json: bool,
) -> None:
    """Print edits, and how the window changes from the view `before` to the view `after`.

    `seqs`: the entries that the edits are; empty for a dry run. `limit`: the tokens that the last request was planned
    with, None if there was none.
    """
    tokens = before.tokens, after.tokens
    messages = before.total.messages, after.total.messages
    ranges = FoldRanges(before)
    lines = [f"{role_of(edit)} {text_of(edit, ranges)}" for edit in edits]
    if json:
        print_json({"conversation": name, "edits": lines, "seqs": seqs, "tokens": tokens, "messages": messages})
        return
    console = terminal()
    for at, line in enumerate(lines):
        done = f"is entry {seqs[at]}" if seqs else "would be appended (dry run)"
        done += " already" if seqs and seqs[at] < before.length else ""
        print_wrapped(console, (f"{one_line(name)}: {one_line(line)} {done}", "bold"))
    change = "the window: {:,} → {:,} tokens, {:,} → {:,} messages".format(*tokens, *messages)
    print_wrapped(console, change)
    if limit is not None and after.tokens > limit:
        print_wrapped(
            console, f"over the budget of {limit:,} tokens: the next call {'compacts' if seqs else 'would compact'}"
        )
