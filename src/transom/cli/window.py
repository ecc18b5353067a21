"""The command `transom window`: prints the window of the next call."""

from __future__ import annotations

from transom.cache_prices import Prices
from transom.cli.commands.stored import Window
from transom.cli.explain import edit_costs_text, explained_window, print_rows
from transom.cli.next_commands import command_for, print_next
from transom.cli.open_conversation import budget_of, open_conversation
from transom.cli.progress import at_work
from transom.cli.stores import open_log
from transom.cli.streams import one_line
from transom.cli.terminal import print_json, print_wrapped, terminal
from transom.cli.window_text import print_window_text
from transom.conversation.conversation import Conversation
from transom.conversation.render_window import render
from transom.errors import InvalidSetting
from transom.stores import StoredLog


def run(options: Window) -> int:
    """Plan the next call of the conversation, and print its window. The log is not changed. Exit code 0. Raises
    InvalidSetting for options that do not go together, and if nothing says how large the window may be."""
    if options.json and options.form == "text":
        raise InvalidSetting("--json is for programs and --as text is for people: use one of them")
    if options.full and options.form != "text":
        raise InvalidSetting("--full needs --as text")
    with open_log(options.store, options.id) as log:
        budget = budget_of(log, options.budget, Prices.named(options.prices))
        with open_conversation(log, budget, options.policy, dialect=options.dialect) as conversation:
            _print_window(log, conversation, options)
    return 0


def _print_window(log: StoredLog, conversation: Conversation, options: Window) -> None:
    """Plan the window and print it: as JSON, as the text that the model reads, or as a table of entries."""
    with at_work("planning the window"):
        window, edits = conversation.window(), conversation.edit_costs()
    if options.json:
        request = render(window, conversation.dialect)
        print_json({"conversation": log.name, "tokens": window.tokens, "edit_costs": edits, **request})
        return
    console = terminal()
    print_wrapped(console, (f"{one_line(log.name)}: the window of the next call, not logged", "bold"))
    print_wrapped(
        console, f"{window.tokens:,} of {conversation.budget.context:,} tokens, {window.size.messages:,} messages"
    )
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


def _window_options(options: Window) -> list[object]:
    """Return the options that decide what is in the window, as they were given."""
    given: list[object] = [] if options.budget is None else ["--budget", options.budget]
    given += ["--policy", options.policy] if options.policy != "default" else []
    given += ["--prices", options.prices] if options.prices is not None else []
    return [*given, *(["--dialect", options.dialect] if options.dialect is not None else [])]
