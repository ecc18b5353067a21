"""The options of the commands: what people type, and the help they read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILES",
        help='JSON Lines (plain or .gz), each line {"id", "messages": [OpenAI chat messages]}; or a .json file '
        "with one such object or just the list of messages.",
        show_default=False,
    ),
]
Id = Annotated[
    str, typer.Argument(metavar="ID", help="The conversation's id, or an unambiguous part of it.", show_default=False)
]
Budget = Annotated[
    int, typer.Option(metavar="N", help="Tokens a whole request may have (o200k_base).", show_default=False)
]
DemoBudget = Annotated[int, typer.Option(metavar="N", help="Tokens a whole request may have.")]
Policy = Annotated[
    str, typer.Option(metavar="NAME", help="How a full window is made smaller: default, sliding or passthrough.")
]
Dialect = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="What windows are for: openai, mistral, responses, deepseek_responses, anthropic, gemini.",
    ),
]
AnyDialect = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The provider API. Default: that of the log.", show_default=False),
]
ReplayStore = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Where the logs go: sqlite:///path, jsonl:///folder or memory:. The same store again continues an "
        "interrupted replay. Default: a fresh SQLite file .transom/replay-N.db, written without waiting for the "
        "disk at each call, since a replay can be repeated.",
        show_default=False,
    ),
]
AnyStore = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="Where the log is. Default: the store of the last replay here.", show_default=False
    ),
]
Questions = Annotated[bool, typer.Option("--questions", help="Also build the window of each labelled question.")]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write every window, one JSON line a call; gzip if it ends in .gz. Until all are there the file is "
        "called .FILE.part; what a killed run left of that is written anew. With - the lines go to stdout, and what "
        "else is printed to stderr.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, for programs.")]
Chart = Annotated[
    str | None,
    typer.Option(metavar="ID", help="The conversation to draw. Default: the longest.", show_default=False),
]
At = Annotated[
    int | None,
    typer.Option(
        metavar="CALL",
        help="Which call: counted from 1, or from the last with -1, -2, … Default: the window as it stands now.",
        show_default=False,
    ),
]
Every = Annotated[bool, typer.Option("--all", help="A line for every entry, folded or not.")]
Entry = Annotated[int, typer.Argument(metavar="ENTRY", help="The entry's number (see `show`).", show_default=False)]
Edit = Annotated[
    int | None,
    typer.Argument(
        metavar="EDIT", help="The edit's number (see `log`). Default: the newest live one.", show_default=False
    ),
]
Why = Annotated[str, typer.Option(metavar="TEXT", help="The reason, kept in the log.", show_default=False)]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what it would change.")]
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
