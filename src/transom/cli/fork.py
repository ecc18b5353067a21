"""The command `transom fork`: begins a conversation with the entries of another one."""

from __future__ import annotations

from transom.cli.commands.stored import Fork
from transom.cli.options import entry_number
from transom.cli.progress import at_work
from transom.cli.stores import existing_store, find_name, store_url
from transom.cli.streams import counted, one_line
from transom.cli.terminal import print_json, print_wrapped, terminal
from transom.stores import fork_log


def run(options: Fork) -> int:
    """Fork the conversation, and print the id of the new one and the number of copied entries. Exit code 0."""
    url = store_url(options.store)
    at = None if options.at is None else entry_number(options.at)
    with existing_store(url) as store:
        source = store.open(find_name(store, options.id, url))
        with at_work("copying the log"):
            fork = fork_log(store, source, at=at, name=options.name)
        copied = len(fork) - 1
    if options.json:
        print_json({"conversation": fork.name, "source": source.name, "entries": copied})
    else:
        done = f"{one_line(fork.name)}: {counted(copied, 'entry', 'entries')} of {one_line(source.name)}"
        print_wrapped(terminal(), done)
    return 0
