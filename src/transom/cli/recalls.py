"""`transom read`, `grep` and `list`: their options. As in `app`, nothing heavy is imported before a job runs."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer
from msgspec import Struct

from transom.cli.app import AnyStore, Id, Job, Json, app


class Read(Struct, frozen=True, kw_only=True):
    """`transom read`, as it was asked for."""

    id: str
    reference: str
    start: int = 1
    column: int = 1
    lines: int | None = None
    store: str | None = None
    json: bool = False


class Grep(Struct, frozen=True, kw_only=True):
    """`transom grep`, as it was asked for."""

    id: str
    pattern: str
    reference: str | None = None
    start: int = 1
    limit: int
    context: int = 0
    store: str | None = None
    json: bool = False


class Listing(Struct, frozen=True, kw_only=True):
    """`transom list`, as it was asked for."""

    id: str
    first: int = 0
    last: int | None = None
    limit: int
    store: str | None = None
    json: bool = False


Words = Annotated[
    list[str],
    typer.Argument(
        metavar="REF", help="entry 412; a part of it: entry 412 text 0; several: entries 10-20.", show_default=False
    ),
]
Pattern = Annotated[
    str,
    typer.Argument(
        metavar="PATTERN", help="What to find within a line: a regular expression in RE2's syntax.", show_default=False
    ),
]
Lines = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="The most lines to show. Default: all of it.", show_default=False),
]
Start = Annotated[int, typer.Option(min=1, metavar="LINE", help="Line of the (first) entry to begin at.")]
Column = Annotated[int, typer.Option(min=1, metavar="N", help="Character of that line to begin at.")]
In = Annotated[
    str | None,
    typer.Option("--in", metavar="REF", help="Where to look, as for read. Default: everywhere.", show_default=False),
]
Limit = Annotated[int, typer.Option(min=1, metavar="N", help="The most lines to show.")]
Context = Annotated[int, typer.Option("--context", "-C", min=0, max=10, metavar="N", help="Lines around each match.")]
First = Annotated[int, typer.Option(min=0, metavar="ENTRY", help="Entry to begin at.")]
Last = Annotated[
    int | None, typer.Option(metavar="ENTRY", help="Entry to end with. Default: the newest.", show_default=False)
]


@app.command(short_help="What a marker stands for: entry 412.")
def read(
    id: Id,  # noqa: A002 - the word users see
    reference: Words,
    start: Start = 1,
    column: Column = 1,
    lines: Lines = None,
    store: AnyStore = None,
    json: Json = False,
) -> Job:
    """What an entry of a log holds, or several, whole: what a marker in a window stands for.

    Control characters are written out, but for line ends and tabs; with --json nothing is.
    """
    words = " ".join(reference)
    return _later(Read(id=id, reference=words, start=start, column=column, lines=lines, store=store, json=json))


@app.command(short_help="Find lines in a conversation.")
def grep(
    id: Id,  # noqa: A002 - the word users see
    pattern: Pattern,
    reference: In = None,
    start: Start = 1,
    limit: Limit = 50,
    context: Context = 0,
    store: AnyStore = None,
    json: Json = False,
) -> Job:
    """The lines of a whole log that match, also where no window shows them any more. Exit code 1 if none does."""
    wanted = Grep(
        id=id,
        pattern=pattern,
        reference=reference,
        start=start,
        limit=limit,
        context=context,
        store=store,
        json=json,
    )
    return _later(wanted)


@app.command("list", short_help="What there is to read in a conversation.")
def list_(
    id: Id,  # noqa: A002 - the word users see
    first: First = 0,
    last: Last = None,
    limit: Limit = 50,
    store: AnyStore = None,
    json: Json = False,
) -> Job:
    """What there is to read in a log, a line an entry. The whole log, decisions included, is what `show` shows."""
    return _later(Listing(id=id, first=first, last=last, limit=limit, store=store, json=json))


def _later(wanted: Read | Grep | Listing) -> Job:
    return lambda: import_module("transom.cli.reading").run(wanted)
