"""The command `transom compact`: compacts a conversation of a store now."""

from __future__ import annotations

from msgspec.structs import asdict

from transom.cli.commands.stored import Compact
from transom.cli.next_commands import command_for, print_next
from transom.cli.open_conversation import budget_of, open_conversation
from transom.cli.progress import at_work
from transom.cli.stores import open_log
from transom.cli.streams import one_line
from transom.cli.terminal import print_json, print_wrapped, terminal
from transom.conversation.summary_job import summary_settings
from transom.core.summary import Summary
from transom.errors import InvalidSetting
from transom.stores.in_memory import ScratchLog


def run(options: Compact) -> int:
    """Compact the conversation, and print what the compaction did. Exit code 0, also if there was nothing to compact.
    With --dry-run nothing is written: the conversation is compacted on a scratch log, and InvalidSetting is raised for
    --model, as no model is asked."""
    if options.dry_run and options.model is not None:
        raise InvalidSetting("--dry-run asks no model for a summary: leave out --model")
    made_by = summary_settings(options.model)  # raises before anything is opened
    with open_log(options.store, options.id) as log:
        budget = budget_of(log, options.budget)
        written = ScratchLog(log) if options.dry_run else log
        with (
            open_conversation(written, budget, options.policy, summarizer=made_by) as conversation,
            at_work("compacting" if options.model is None else "waiting for the model's summary"),
        ):
            done = conversation.compact(focus=options.focus, notes=options.note or [])
        shown = None if done.summary is None else conversation.log[done.summary].body
        summary = shown if isinstance(shown, Summary) else None
        if options.json:
            made_by, text = ("", "") if summary is None else (summary.made_by, summary.text)
            print_json({"conversation": log.name, **asdict(done), "made_by": made_by, "text": text})
            return 0
        console = terminal()
        if done.failure:
            print_wrapped(console, f"No summary in the window: {one_line(done.failure)}")
        if not done.edits:
            print_wrapped(console, f"{one_line(log.name)}: nothing to compact")
            return 0
        saved = done.tokens_before - done.tokens_after
        name = one_line(log.name)
        change = f"{name}: {done.tokens_before:,} → {done.tokens_after:,} tokens, {saved:,} saved"
        print_wrapped(console, f"{change}; nothing changed (dry run)" if options.dry_run else change)
        if summary is not None:
            by = "made without a model" if done.degraded else f"made by {one_line(summary.made_by)}"
            verb = "would be" if options.dry_run else "is"
            print_wrapped(console, f"The summary {verb} entry {done.summary}, {by}:")
            for line in summary.text.splitlines():
                print_wrapped(console, one_line(line))
        if not options.dry_run:  # on a line of its own: a wrapped command cannot be copied
            print_next(console, [(command_for("undo", log.name, store=options.store), "takes the compaction back")])
    return 0
