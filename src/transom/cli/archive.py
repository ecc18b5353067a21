"""The option `--archive` of `transom memory`: lists, searches and removes the archive of a memory."""

from __future__ import annotations

from transom.cli.commands import Memory as Options
from transom.cli.confirm import is_confirmed
from transom.cli.streams import counted, minute_of, one_line, print_notice
from transom.cli.terminal import print_json, print_line, print_wrapped, terminal
from transom.errors import UnknownLog, quote
from transom.memory import Memory
from transom.stores.postgres_url import without_password

MOST_FOUND = 20
"""Texts that one search shows."""


def show_archive(memory: Memory, options: Options) -> int:
    """Print the texts, the newest first, or those that fit a query, the best first. Exit code 1 if none does."""
    archive = memory.archive
    if options.find is None:
        found = [archive.read(number) for number in reversed(range(len(archive)))]
    else:
        found = archive.search(options.find, MOST_FOUND)
    if options.json:
        print_json({"user": options.user, "texts": found})
    else:
        console = terminal()
        for one in found:
            tags = f" ({one_line(', '.join(one.tags))})" if one.tags else ""
            when = minute_of(one.at)
            print_line(console, (f"text {one.number}{tags}", "bold"), f", {when}")
            for line in one.text.splitlines():
                print_wrapped(console, f"  {one_line(line)}")
        if not found:
            print_notice("the archive is empty" if options.find is None else "nothing found in the archive")
    return 1 if options.find is not None and not found else 0


def forget_archive(memory: Memory, options: Options, url: str) -> int:
    """Ask the user, and remove the whole archive. Exit code 1 if the user does not agree.

    `url`: of the store. Raises UnknownLog if there is no archive: the user or the name may be mistyped.
    """
    many = len(memory.archive)
    what = f"archive: {counted(many, 'text')}"
    if not many:
        memory.archive.forget()  # an interrupted one may have left bytes
        whose = "everybody" if options.user is None else f"user {quote(options.user)}"
        raise UnknownLog(f"archive {quote(options.name)} of {whose}: there is none in {without_password(url)}")
    if not is_confirmed(f"{what}. Forget it for good?", yes=options.yes, why="forgetting the archive cannot be undone"):
        print_notice(f"{what}, nothing was removed")
        return 1
    memory.archive.forget()
    if options.json:
        print_json({"user": options.user, "texts": many})
    else:
        print_wrapped(terminal(), f"{what}, forgotten")
    return 0
