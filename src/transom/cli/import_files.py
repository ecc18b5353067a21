"""The command `transom import`: imports conversations from files into a store."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from transom.cli.commands.recorded import Import
from transom.cli.input_files import STDIN, check_files, named_files
from transom.cli.progress import ProgressBar
from transom.cli.stores import store_to_fill
from transom.cli.streams import counted, one_line, print_notice
from transom.cli.terminal import print_json, print_line, print_wrapped, terminal
from transom.cli.transom_folder import IMPORTS, url_of
from transom.errors import InvalidSetting
from transom.importers import FORMATS, Imported, import_file
from transom.stores import Store
from transom.stores.postgres_url import without_password


def run(options: Import) -> int:
    """Import the files, and print what became of each conversation. Exit code 0. Raises InvalidSetting if the files
    hold no conversation."""
    check_files(options.files)
    if options.id is not None and len(options.files) > 1:
        raise InvalidSetting("--id names one conversation, and there are several files: leave it out")
    shown = without_password(options.store or url_of(IMPORTS))
    console = terminal()
    done: list[Imported] = []
    with store_to_fill(options.store, IMPORTS) as store, ProgressBar() as bar:
        for one in _imported(options, store, bar):
            done.append(one)
            if not options.json:
                bar.above(lambda one=one: _print(console, one))
        has = len(store.names()) if done else 0
    if not done:
        raise InvalidSetting(f"no conversation in {named_files(options.files)}")
    if options.json:
        print_json({"store": shown, "conversations": done})
    else:
        read = len({one.conversation for one in done})
        of = f"{read:,} of the {counted(has, 'conversation')}" if has > read else counted(read, "conversation")
        print_line(console, one_line(f"{of} in {shown}"))
    return 0


def _imported(options: Import, store: Store, bar: ProgressBar) -> Iterator[Imported]:
    for number, file in enumerate(options.files):

        def progress(share: float, label: str, number: int = number) -> None:
            bar.update((number + share) / len(options.files), Path(label).name)

        source = sys.stdin.buffer if file == STDIN else file
        yield from import_file(
            source,
            store,
            format=options.format,
            id=options.id,
            on_skip=lambda line: bar.above(lambda: print_notice(line)),
            on_progress=progress,
        )


def _print(console: Console, one: Imported) -> None:
    """Print a line such as "trip: 12 messages (Claude Code session), 30 were there already", and a line for each
    remark.
    """
    line = f"{one.conversation}: {counted(one.messages, 'message')} ({FORMATS[one.format].title})"
    print_line(console, one_line(line + (f", {one.earlier:,} were there already" if one.earlier else "")))
    for remark in one.remarks:
        print_wrapped(console, one_line(remark), indent=4)
