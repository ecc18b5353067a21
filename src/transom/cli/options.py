"""The options of the commands: what people type, and the help they read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from typer import Argument, BadParameter, Option


def entry_number(words: str | int) -> int:
    """The number of an entry, named as markers name it or by the number alone. Raises BadParameter."""
    found = re.fullmatch(r"\[?(?:entry\s+)?(\d{1,15})\]?", str(words).strip(), re.ASCII | re.IGNORECASE)
    if found is None:
        raise BadParameter(f"{str(words)[:40]!r} names no entry: write 412, or entry 412")
    return int(found[1])


Files = Annotated[
    list[Path],
    Argument(
        metavar="FILES",
        help="Requests, lists of messages, session files of Claude Code (~/.claude/projects) or Codex "
        "(~/.codex/sessions), LangChain's messages: JSON, or JSON Lines with a conversation, a message or an event a "
        "line; packed with gzip or not. A folder: every .json, .jsonl and .ndjson file in it. -: stdin.",
    ),
]
Format = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="The format of the files: openai, responses, anthropic, gemini, claude_code, codex, langchain. Default: "
        "the content of each file decides.",
    ),
]
Id = Annotated[str, Argument(metavar="ID", help="The conversation's id, or an unambiguous part of it.")]
Budget = Annotated[int, Option(metavar="N", help="Tokens a whole request may have (o200k_base).")]
DemoBudget = Annotated[int, Option(metavar="N", help="Tokens a whole request may have.")]
Policy = Annotated[
    str,
    Option(
        metavar="NAME",
        help="How a full window is made smaller: default, sliding, passthrough, or a system by name, such as codex.",
    ),
]
Prices = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="Also cut before a window is full, as soon as that is cheaper by these prices: anthropic, openai.",
    ),
]
Dialect = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="What windows are for: openai, mistral, responses, deepseek_responses, anthropic, gemini. Default: the "
        "API that each conversation was recorded with.",
    ),
]
AnyDialect = Annotated[str | None, Option(metavar="NAME", help="The provider API. Default: that of the log.")]
ReplayStore = Annotated[
    str | None,
    Option(
        metavar="URL",
        help="Where the logs go: sqlite:///path, jsonl:///folder or memory:. The same store again continues an "
        "interrupted replay. Default: the file .transom/replays.db of this folder, where a new replay takes the place "
        "of the last one that was asked for alike; `transom clean` removes it.",
    ),
]
AnyStore = Annotated[
    str | None, Option(metavar="URL", help="Where the log is. Default: the store of the last replay here.")
]
StoreArgument = Annotated[
    str | None, Argument(metavar="STORE", help="URL of a store. Default: the store of the last replay here.")
]
Policies = Annotated[
    str, Option(metavar="NAMES", help="Which policies, with commas between them, or all for every one there is.")
]
MinMessages = Annotated[int, Option(min=0, metavar="N", help="Only conversations of at least so many messages.")]
MaxMessages = Annotated[int | None, Option(min=0, metavar="N", help="Only conversations of at most so many messages.")]
MinTokens = Annotated[int, Option(min=0, metavar="N", help="Only conversations whose texts have at least N tokens.")]
EveryNth = Annotated[int, Option(min=1, metavar="K", help="Only every Kth of the conversations chosen so.")]
Picture = Annotated[
    Path | None,
    Option(
        metavar="PATH",
        help="Draw cost against grounding, a point a policy, to PATH: .svg or .png, or both if it ends in neither.",
    ),
]
Jobs = Annotated[int | None, Option(min=1, metavar="N", help="Processes at work. Default: one for each core.")]
Questions = Annotated[bool, Option("--questions", help="Also build the window of each labelled question.")]
Out = Annotated[
    Path | None,
    Option(
        metavar="FILE",
        help="Write every window, one JSON line a call; gzip if it ends in .gz. Until all are there the file is "
        "called .FILE.part; what a killed run left of that is written anew. With - the lines go to stdout, and what "
        "else is printed to stderr.",
    ),
]
Json = Annotated[bool, Option("--json", help="One JSON object on stdout, for programs.")]
Chart = Annotated[str | None, Option(metavar="ID", help="The conversation to draw. Default: the longest.")]
At = Annotated[
    int | None,
    Option(
        metavar="CALL",
        help="Which call: counted from 1, or from the last with -1, -2, … Default: the window as it stands now.",
    ),
]
Every = Annotated[bool, Option("--all", help="A line for every entry, folded or not.")]
Entry = Annotated[list[str], Argument(metavar="ENTRY", help="The entry: 412, or entry 412 (see `log`).")]
Edit = Annotated[
    list[str] | None,
    Argument(metavar="EDIT", help="The edit: 412, or entry 412 (see `edits`). Default: the newest live one."),
]
Why = Annotated[str, Option(metavar="TEXT", help="The reason, kept in the log.")]
CleanYes = Annotated[bool, Option("--yes", help="Do not ask.")]
Yes = Annotated[bool, Option("--yes", help="Do not ask; ID is then the whole id.")]
DryRun = Annotated[bool, Option("--dry-run", help="Only say what it would change.")]
Words = Annotated[
    list[str], Argument(metavar="REF", help="412 or entry 412; a part of it: entry 412 text 0; several: entries 10-20.")
]
Pattern = Annotated[
    str, Argument(metavar="PATTERN", help="What to find within a line: a regular expression in RE2's syntax.")
]
Lines = Annotated[int | None, Option(min=1, metavar="N", help="The most lines to show. Default: all of it.")]
Start = Annotated[int, Option(min=1, metavar="LINE", help="Line of the (first) entry to begin at.")]
Column = Annotated[int, Option(min=1, metavar="N", help="Character of that line to begin at.")]
In = Annotated[str | None, Option("--in", metavar="REF", help="Where to look, as for read. Default: everywhere.")]
Limit = Annotated[int, Option(min=1, metavar="N", help="The most lines to show.")]
Context = Annotated[int, Option("--context", "-C", min=0, max=10, metavar="N", help="Lines around each match.")]
First = Annotated[int, Option(parser=entry_number, metavar="ENTRY", help="Entry to begin at: 412, or 'entry 412'.")]
Last = Annotated[
    int | None, Option(parser=entry_number, metavar="ENTRY", help="Entry to end with. Default: the newest.")
]
