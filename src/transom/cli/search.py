"""The command `transom search`: finds what was said, in one conversation, in those of a user, or in a whole store."""

from __future__ import annotations

from datetime import datetime

from transom.cli.commands.stored import Search
from transom.cli.next_commands import command_for, print_next
from transom.cli.progress import ProgressBar
from transom.cli.stores import existing_store, find_name, store_url
from transom.cli.streams import counted, minute_of, one_line, print_notice
from transom.cli.terminal import print_json, print_line, terminal
from transom.errors import InvalidSetting
from transom.search import SearchFilters, SearchHit, SearchIndex, search_index
from transom.search.base import checked_filters
from transom.stores import Store
from transom.stores.postgres_url import without_password

INDEXED_AT_ONCE = 2_000
"""How many entries are indexed between two updates of the progress bar."""


def run(options: Search) -> int:
    """Index what is new, search, and print the hits. Exit code 1 if there are none."""
    if not options.query.strip():
        raise InvalidSetting("the query is empty: give the words to find")
    checked_filters({"roles": options.role or ()})
    url = store_url(options.store)
    with existing_store(url) as store:
        name = None if options.conversation is None else find_name(store, options.conversation, url)
        filters = SearchFilters(
            conversations=None if name is None else (name,),
            user_id=options.user,
            roles=tuple(options.role or ()),
            tools=tuple(options.tool or ()),
            file=options.file or "",
            since=_seconds(options.since),
            until=_seconds(options.until),
            include_hidden=True,
        )
        index = search_index(store)
        _catch_up(index, store, name)
        hits = index.search(options.query, filters=filters, limit=options.limit)
        if not hits:
            print_notice(f"nothing found in {counted(1 if name else len(store.names()), 'conversation')}")
    if options.json:
        print_json({"store": without_password(url), "query": options.query, "hits": hits})
    else:
        for hit in hits:
            _print(hit)
        if hits:
            words = hits[0].reference.split()
            whole = command_for("read", hits[0].conversation, *words, store=options.store)
            print_next(terminal(), [(whole, "the first one, whole")])
    return 0 if hits else 1


def _catch_up(index: SearchIndex, store: Store, name: str | None) -> None:
    """Index what is new, with a progress bar if that takes long. `name`: of one conversation, or None for all."""
    names = None if name is None else (name,)
    with ProgressBar() as progress:
        done = latest = index.update(names, most=INDEXED_AT_ONCE)
        total = 0
        while latest >= INDEXED_AT_ONCE:
            total = total or max(1, sum(len(store.open(each)) for each in names or store.names()))
            progress.update(min(1.0, done / total), f"indexing: {done:,} of {total:,} entries")
            latest = index.update(names, most=INDEXED_AT_ONCE)
            done += latest


def _print(hit: SearchHit) -> None:
    console = terminal()
    tool = f" {one_line(hit.tool)}" if hit.tool else ""
    when = minute_of(hit.at)
    print_line(console, (f"{one_line(hit.conversation)}: {hit.reference}", "bold"), f", {hit.role}{tool}, {when}")
    print_line(console, f"  {hit.snippet}")


def _seconds(when: datetime | None) -> float | None:
    return None if when is None else when.timestamp()
