"""The commands `transom pin`, `undo` and `window`: append an edit, print the window of the next call."""

from __future__ import annotations

from collections.abc import Sequence

from transom.cli import commands
from transom.cli.explain import edit_costs_text, explained_window, print_rows
from transom.cli.locate import open_log
from transom.cli.log import kind_of, text_of
from transom.cli.next_commands import command_for, print_next
from transom.cli.options import entry_number
from transom.cli.progress import at_work
from transom.cli.streams import one_line
from transom.cli.terminal import print_json, print_wrapped, terminal
from transom.cli.window_text import print_window_text
from transom.conversation.conversation import Conversation
from transom.conversation.request import render
from transom.conversation.summary_job import SummarizedBy
from transom.core.budget import Budget
from transom.core.draft import pin_by_hand
from transom.core.edit import Pin, Undo
from transom.core.entry import Sent
from transom.core.reducer import apply
from transom.core.undo import undo_last
from transom.core.view import View
from transom.errors import InvalidSetting
from transom.evaluation.fold_ranges import FoldRanges
from transom.policies import policy_named
from transom.prices import Prices
from transom.stores import StoredLog
from transom.tokenizer import o200k
from transom.wire.dialects import DIALECTS, counter_of_log, dialect_named


def run(options: commands.Pin | commands.Undo | commands.Window) -> int:
    """Print the window, or append a pin or an undo. Exit code 0."""
    with open_log(options.store, options.id, writing=isinstance(options, commands.Pin | commands.Undo)) as log:
        if isinstance(options, commands.Window):
            _print_window(log, options)
        else:
            _change(log, options)
    return 0


def _change(log: StoredLog, options: commands.Pin | commands.Undo) -> None:
    """Append a pin or an undo, and print what it does to the window. With --dry-run, append nothing; nor where the unit
    is pinned already."""
    conversation = open_conversation(log, Budget(), "passthrough", None)
    before = conversation.view
    if isinstance(options, commands.Pin) and (pin := pin_by_hand(before, _entry_of(options.entry))) is not None:
        pinned = before.fetch(pin).body
        assert isinstance(pinned, Pin)
        edits, seqs, after = [pinned], [pin], before
    elif isinstance(options, commands.Undo) and not options.edit:
        conversation.last_edit()  # raises if there is none
        entries = undo_last(before, why=options.why, at=0.0)
        edits = [entry.body for entry in entries if isinstance(entry.body, Pin | Undo)]
        after = apply(before, entries)
        seqs = [] if options.dry_run else conversation.undo(why=options.why)
    else:
        edit = _wanted_edit(options)
        edits, after = [edit], conversation.preview_edit(edit)
        seqs = [] if options.dry_run else [conversation.edit(edit)]
    _print_change(log.name, edits, seqs, before, after, last_limit(log), json=options.json)


def _wanted_edit(options: commands.Pin | commands.Undo) -> Pin | Undo:
    """Make the edit that the arguments name."""
    if isinstance(options, commands.Pin):
        return Pin(entry=_entry_of(options.entry), why=options.why)
    return Undo(edit=_entry_of(options.edit or []), why=options.why)


def _entry_of(words: Sequence[str]) -> int:
    """Parse the number of an entry from the words of an argument."""
    return entry_number(" ".join(words))


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
    """Print edits and what they do to the window.

    `seqs`: the entries that the edits became, or were before; empty for a dry run. `limit`: the tokens that the last
    window was planned for, None if none was sent.
    """
    tokens = before.tokens, after.tokens
    messages = before.total.messages, after.total.messages
    ranges = FoldRanges(before)
    lines = [f"{kind_of(edit)} {text_of(edit, ranges)}" for edit in edits]
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


def _print_window(log: StoredLog, options: commands.Window) -> None:
    if options.json and options.form == "text":
        raise InvalidSetting("--json is for programs and --as text is for people: use one of them")
    if options.full and options.form != "text":
        raise InvalidSetting("--full needs --as text")
    budget = budget_of(log, options.budget, Prices.named(options.prices))
    with at_work("planning the window"):
        conversation = open_conversation(log, budget, options.policy, options.dialect)
        window, edits = conversation.window(), conversation.edit_costs()
    if options.json:
        request = render(window, conversation.dialect)
        print_json({"conversation": log.name, "tokens": window.tokens, "edit_costs": edits, **request})
        return
    console = terminal()
    print_wrapped(console, (f"{one_line(log.name)}: the window of the next call, not logged", "bold"))
    print_wrapped(console, f"{window.tokens:,} of {budget.context:,} tokens, {window.size.messages:,} messages")
    if options.form == "text":
        console.print()
        if print_window_text(console, window, full=options.full):
            given = _window_options(options)
            full = command_for("window", options.id, store=options.store, options=[*given, "--as", "text", "--full"])
            print_next(console, [(full, "the same, nothing shortened")])
        return
    if (at := window.breaks) is not None:
        cause = f"entry {at.entry}" if at.entry < len(log) else "a new edit"
        print_wrapped(console, f"the cached prefix would break at slot {at.slot}, because of {cause} ({at.why})")
    if edits:
        print_wrapped(console, edit_costs_text(edits))
    print_rows(console, explained_window(log.name, window))
    text = command_for("window", options.id, store=options.store, options=[*_window_options(options), "--as", "text"])
    print_next(console, [(text, "what the model reads")])


def _window_options(options: commands.Window) -> list[object]:
    """Return the options that decide what is in the window, as they were given."""
    given: list[object] = [] if options.budget is None else ["--budget", options.budget]
    given += ["--policy", options.policy] if options.policy != "default" else []
    given += ["--prices", options.prices] if options.prices is not None else []
    return [*given, *(["--dialect", options.dialect] if options.dialect is not None else [])]


def budget_of(log: StoredLog, tokens: int | None, prices: Prices | None = None) -> Budget:
    """The budget with this number of tokens; None: with that of the conversation's last request.

    Raises InvalidSetting if there was no request.
    """
    if tokens is None:
        tokens = last_limit(log)
        if tokens is None:
            raise InvalidSetting(f"{one_line(log.name)}: no request was planned yet: give --budget N")
    return Budget(context=tokens, prices=prices)


def last_limit(log: StoredLog) -> int | None:
    """The tokens that the last request was planned with; None if there was none."""
    return next((entry.body.limit for entry in reversed([*log.read()]) if isinstance(entry.body, Sent)), None)


def open_conversation(
    log: StoredLog, budget: Budget, policy: str, dialect: str | None, *, summarizer: SummarizedBy | None = None
) -> Conversation:
    """Open the conversation of a log. `dialect` None: the one for which its entries were counted."""
    if dialect is None:
        name = counter_of_log(log, o200k()).name.rpartition("/")[2]
        dialect = name if name in DIALECTS else "openai"
    return Conversation(
        log,
        budget=budget,
        policy=policy_named(policy),
        counter=o200k(),
        dialect=dialect_named(dialect),
        summarizer=summarizer,
    )
