"""The options that several commands have, each with its help."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, BadParameter, Option


def entry_number(reference: str | int) -> int:
    """Parse the seq of an entry: "412", "entry 412" or "[entry 412]", or the number itself. Raises BadParameter for any
    other text, also for a negative number. Whether there is such an entry is not checked."""
    match = re.fullmatch(r"\[?(?:entry\s+)?(\d{1,15})\]?", str(reference).strip(), re.ASCII | re.IGNORECASE)
    if match is None:
        raise BadParameter(f"{str(reference)[:40]!r} is no entry: write 412, or entry 412")
    return int(match[1])


def tokens(text: str | int) -> int:
    """Parse a number of tokens: 128000, 128k (128,000) or 1m (1,000,000). Raises BadParameter for any other text."""
    from transom.core.budget import parse_token_count  # noqa: PLC0415 - nothing slow is imported before a command runs
    from transom.errors import InvalidSetting  # noqa: PLC0415 - likewise

    try:
        return parse_token_count(str(text))
    except InvalidSetting as wrong:
        raise BadParameter(str(wrong)) from None


def token_count(about: str, *names: str) -> Any:
    """Make a typer option whose value is a number of tokens. `about`: its help. `names`: its names ("--tokens"); none:
    the name is made of its field."""
    return Option(*names, parser=tokens, metavar="N", help=about)


COUNTED = "The most tokens that a request may have (counted with o200k_base): 128000, 128k or 1m."
PLAIN = "The most tokens that a request may have: 128000, 128k or 1m."

Files = Annotated[
    list[Path],
    Argument(
        metavar="FILES",
        help="Requests, lists of messages, session files of Claude Code (~/.claude/projects), Codex "
        "(~/.codex/sessions) or pi (~/.pi/agent/sessions), LangChain's messages: JSON, or JSON Lines with a "
        "conversation, a message or an event a line; packed with gzip or not. Of a folder, every .json, .jsonl, "
        ".ndjson and .eval file, in its folders too. -: stdin.",
    ),
]
Format = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="The format of the files: openai, responses, anthropic, gemini, claude_code, codex, pi, langchain, "
        "pydantic_ai, openai_agents, or another one of docs/formats.md. Default: the content of each file "
        "decides.",
    ),
]
Id = Annotated[str, Argument(metavar="ID", help="The conversation's id, or an unambiguous part of it.")]
Budget = Annotated[int, token_count(COUNTED)]
LastBudget = Annotated[int | None, token_count(f"{PLAIN} Default: the budget of the conversation's last request.")]
Policy = Annotated[
    str,
    Option(
        metavar="NAME",
        help="How a full window is made smaller: default, sliding, passthrough, or the name of a system, for example "
        "codex. Settings may follow (keep_recent, clip, trigger, target), as shares of the room: "
        "default:keep_recent=0.3:target=0.6.",
    ),
]
Prices = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="Compact a window before it is full, as soon as that is cheaper by these prices: anthropic, openai.",
    ),
]
SummaryModel = Annotated[
    str | None, Option("--model", metavar="NAME", help="Who writes the summary: anthropic:claude-haiku-4-5, local, …")
]
AnyStore = Annotated[
    str | None,
    Option(metavar="URL", help="The store: a URL or a path. Default: the one that was filled last in this folder."),
]
Json = Annotated[bool, Option("--json", help="Print one JSON object, for programs.")]
ProxyStore = Annotated[
    str, Option(metavar="URL", help="Where conversations are stored: a URL or a path. Default: .transom/proxy.db.")
]
ProxyBudget = Annotated[
    int | None,
    token_count(
        "The most tokens that a request and its answer may have: 128000, 128k or 1m. Default: the context size of each "
        "request's model."
    ),
]
OnError = Annotated[
    Literal["pass", "fail"],
    Option(
        "--on-error",
        help="What happens to a request that no window can be built for: it is sent as it came, or answered with an "
        "error.",
    ),
]
Why = Annotated[str, Option(metavar="TEXT", help="The reason, which the log stores.")]
CleanYes = Annotated[bool, Option("--yes", help="Do not ask.")]
DryRun = Annotated[bool, Option("--dry-run", help="Change nothing, only print what would change.")]
User = Annotated[str | None, Option(metavar="ID", help="Only conversations of the user with this id.")]
Start = Annotated[int, Option(min=1, metavar="LINE", help="The line of the first entry to begin at.")]
