"""The command `transom conversations`: lists the conversations of a store."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.filesize import decimal

from transom.cli.commands.stored import Conversations
from transom.cli.progress import ProgressBar
from transom.cli.stores import existing_store, store_url
from transom.cli.streams import counted, minute_of, one_line, print_notice
from transom.cli.terminal import print_json, print_line, print_row, print_wrapped, terminal
from transom.stores.conversation_list import StoredConversation, conversations_in
from transom.stores.postgres_url import without_password


def run(options: Conversations) -> int:
    """Print the conversations of a store. Exit code 1 if one of them is damaged, as far as they were read."""
    url = store_url(options.store)
    with existing_store(url) as store, ProgressBar() as progress:
        every = conversations_in(store, full=options.full, update=progress.update)
        conversations = [one for one in every if options.user in (None, one.user_id)]
    code = 1 if any(one.damaged for one in conversations) else 0
    if options.json:
        print_json({"store": without_password(url), "conversations": conversations})
        return code
    title = f"{one_line(without_password(url))}: {counted(len(conversations), 'conversation')}"
    _print_rows(terminal(), title, conversations, full=options.full)
    for one in conversations:
        if one.damaged:
            print_notice(f"{one.id}: {one.damaged}")
    return code


def _print_rows(console: Console, title: str, conversations: Sequence[StoredConversation], *, full: bool) -> None:
    """Print a line for each conversation, cut at the width of the terminal; an id that does not fit stands below."""
    print_wrapped(console, (title, "bold"))
    if conversations:
        figures = f"{'calls':>7} {'size':>9} {'cost':>9} " if full else ""
        print_line(console, (f"{'entries':>9} {figures}{'last entry':<16} {'dialect':<10} id", "bold"))
    for one in conversations:
        last = "" if one.last is None else minute_of(one.last)
        cost = f"${one.cost:.4f}" if one.cost is not None else "" if one.damaged else "unknown"
        figures = f"{one.calls or 0:>7,} {decimal(one.size or 0):>9} {cost:>9} " if full else ""
        entries = "damaged" if one.entries is None else f"{one.entries:,}"
        line = f"{entries:>9} {figures}{last:<16} {one.dialect or '':<10} "
        said = f"  {one_line(one.title)}", "dim"
        print_row(console, (line, "red" if one.damaged else ""), needed=one_line(one.id), rest=said)
