"""The command `transom memory`: lists, shows and edits the memory blocks of a store; lists, searches and removes an
archive."""

from __future__ import annotations

from transom.cli.commands.stored import Memory as Options
from transom.cli.stores import existing_store, store_url
from transom.cli.streams import counted, may_forget, minute_of, one_line, print_notice
from transom.cli.terminal import print_json, print_line, print_wrapped, terminal
from transom.errors import InvalidSetting, UnknownLog, quote
from transom.memory import Block, Memory
from transom.stores.postgres_url import without_password

WRITES = "set", "restore", "forget"
"""The options that change the memory."""


def run(options: Options) -> int:
    """Do what the options say. Exit code 1 if the user does not agree to forget a block or the archive, or if --find
    finds nothing. Raises InvalidSetting for options that do not go together."""
    asked = [name for name in (*WRITES, "history") if getattr(options, name) not in (None, False)]
    if len(asked) > 1:
        raise InvalidSetting(f"memory: one of --{' and --'.join(asked)} at a time")
    if options.find is not None and not options.archive:
        raise InvalidSetting("memory: --find needs --archive: blocks are not searched")
    if options.find is not None and options.forget:
        raise InvalidSetting("memory: --forget removes the whole archive: leave --find out")
    if options.archive and (options.label is not None or set(asked) - {"forget"}):
        raise InvalidSetting("memory: --archive goes with --find or --forget, and with no block")
    if asked and options.label is None and not options.archive:
        raise InvalidSetting(f"memory: --{asked[0]} needs the label of a block")
    if asked and asked[0] in WRITES and options.store is None:
        raise InvalidSetting(f"memory: --{asked[0]} needs --store: memory is written only into a store that is named")
    url = store_url(options.store)
    with existing_store(url) as store:
        memory = Memory.open(store, user_id=options.user, name=options.name, agent="command line")
        if options.archive:
            return forget_archive(memory, options, url) if options.forget else show_archive(memory, options)
        if options.label is None:
            return _list(memory, options, url)
        if options.forget:
            return _forget(memory, options.label, options)
        if options.history:
            return _history(memory, options.label, options)
        return _show(_edit(memory, options.label, options), options)


def _edit(memory: Memory, label: str, options: Options) -> Block:
    """Make the edit that --set or --restore asks for, if one is given, and return the block."""
    if options.restore is not None:
        return memory.restore(label, options.restore)
    if options.set is None:
        return memory.block(label)
    return memory.rethink(label, options.set) if label in memory.labels() else memory.add_block(label, text=options.set)


def _list(memory: Memory, options: Options, url: str) -> int:
    url = without_password(url)
    blocks = memory.blocks()
    if options.json:
        print_json({"store": url, "user": options.user, "blocks": blocks})
        return 0
    whose = f" of user {options.user}" if options.user else ""
    console = terminal()
    print_line(console, (one_line(f"{url}: {counted(len(blocks), 'memory block')}{whose}"), "bold"))
    for block in blocks:
        size = f"{len(block.text):>7,} of {block.limit:,} characters, version {block.version}"
        print_line(console, (f"{one_line(block.label):<20} ", "bold"), f"{size}  {one_line(block.text)[:60]}")
    return 0


def _show(block: Block, options: Options) -> int:
    if options.json:
        print_json(block)
        return 0
    console = terminal()
    about = f": {one_line(block.description)}" if block.description else ""
    size = f"{len(block.text):,} of {block.limit:,} characters, version {block.version}"
    print_line(console, (f"{one_line(block.label)}{about} ({size})", "bold"))
    for line in block.text.splitlines():
        print_wrapped(console, one_line(line))
    return 0


def _history(memory: Memory, label: str, options: Options) -> int:
    versions = memory.history(label)
    if options.json:
        print_json({"label": label, "versions": versions})
        return 0
    console = terminal()
    for one in versions:
        when = minute_of(one.at)
        print_line(console, (f"{one.version:>4} {when} {one.operation:<8} {one_line(one.by)}", "bold"))
        for line in one.text.splitlines():
            print_wrapped(console, f"     {one_line(line)}")
    return 0


def _forget(memory: Memory, label: str, options: Options) -> int:
    count = len(memory.history(label))
    what = f"memory block {one_line(label)}: {counted(count, 'version')}"
    if not may_forget(what, repr(label), yes=options.yes):
        return 1
    memory.forget(label)
    if options.json:
        print_json({"label": label, "versions": count})
    else:
        print_wrapped(terminal(), f"{what}, forgotten")
    return 0


MOST_FOUND = 20
"""The most texts of the archive that a search prints."""


def show_archive(memory: Memory, options: Options) -> int:
    """Print all texts of the archive, the newest first; with --find the MOST_FOUND (20) that fit the query best.

    Exit code 1 if --find finds nothing; else 0, also if the archive is empty.
    """
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
    if not may_forget(what, "the archive", yes=options.yes):
        return 1
    memory.archive.forget()
    if options.json:
        print_json({"user": options.user, "texts": many})
    else:
        print_wrapped(terminal(), f"{what}, forgotten")
    return 0
