"""The options of the commands, each with its help."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, BadParameter, Option


def entry_number(reference: str | int) -> int:
    """Parse the seq of an entry: "412", "entry 412" or "[entry 412]". Raises BadParameter for any other text."""
    match = re.fullmatch(r"\[?(?:entry\s+)?(\d{1,15})\]?", str(reference).strip(), re.ASCII | re.IGNORECASE)
    if match is None:
        raise BadParameter(f"{str(reference)[:40]!r} is no entry: write 412, or entry 412")
    return int(match[1])


def tokens(text: str | int) -> int:
    """Parse a number of tokens: 128000, 128k or 1m. Raises BadParameter for any other text."""
    from transom.core.budget import parse_token_count  # noqa: PLC0415 - nothing slow is imported before a command runs
    from transom.errors import InvalidSetting  # noqa: PLC0415 - likewise

    try:
        return parse_token_count(str(text))
    except InvalidSetting as wrong:
        raise BadParameter(str(wrong)) from None


def token_count(about: str, *names: str) -> Any:
    """An option that is a number of tokens. `names`: its own, if it is not called as its field."""
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
AuditFiles = Annotated[
    list[Path],
    Argument(
        metavar="FILES",
        help="Session files of Claude Code (~/.claude/projects) or Codex (~/.codex/sessions). Of a folder, every "
        ".json, .jsonl, .ndjson and .eval file, in its folders too.",
    ),
]
AuditFormat = Annotated[
    str | None,
    Option(
        "--format",
        metavar="NAME",
        help="The format of the files: claude_code, codex. Default: the content of each file decides.",
    ),
]
CheckFiles = Annotated[
    list[Path], Argument(metavar="FILES", help="Files of checks. A folder: every file in it that ends in .check.toml.")
]
CheckPolicy = Annotated[
    str | None, Option("--policy", metavar="NAME", help="Check this policy in place of the one in the file.")
]
CheckBudget = Annotated[int | None, token_count("Check this budget in place of the one in the file.")]
ShadowModel = Annotated[
    str, Option("--model", metavar="NAME", help="The model that answers: anthropic:claude-sonnet-5-5, local, …")
]
ShadowCalls = Annotated[int, Option("--calls", min=1, metavar="N", help="The most calls of the sample.")]
MaxTokens = Annotated[int, token_count("The most tokens of an answer: 1000 or 1k.", "--max-tokens")]
ShadowYes = Annotated[bool, Option("--yes", help="Do not ask before the requests are sent.")]
AllLost = Annotated[bool, Option("--all", help="Print everything that was lost, not only the first of each kind.")]
ImportFiles = Annotated[
    list[Path], Argument(metavar="FILES", help="Files, folders or - (stdin), in any format that `replay` reads.")
]
ImportStore = Annotated[
    str | None, Option(metavar="URL", help="The store: a URL or a path. Default: .transom/imports.db in this folder.")
]
ImportId = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="The id of the conversation. Default: its own id; for a session file, and where "
        "there is none, the name of the file.",
    ),
]
ExportFormat = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="openai, responses, anthropic, gemini, claude_code, codex, pi, langchain, pydantic_ai, openai_agents. "
        "Default: the one that the conversation was imported from.",
    ),
]
ExportOut = Annotated[
    Path | None,
    Option(
        "-o", "--out", metavar="FILE", help="The file to write, compressed if its name ends in .gz. Default: stdout."
    ),
]
ExportJson = Annotated[bool, Option("--json", help="Print one JSON object about the export. Needs -o.")]
Id = Annotated[str, Argument(metavar="ID", help="The conversation's id, or an unambiguous part of it.")]
Budget = Annotated[int, token_count(COUNTED)]
ReplayBudget = Annotated[int | None, token_count(f"{COUNTED} Default: 128000.")]
LastBudget = Annotated[int | None, token_count(f"{PLAIN} Default: the budget of the conversation's last request.")]
DemoBudget = Annotated[int, token_count("The most tokens that a request may have.")]
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
PricedBy = Annotated[
    str | None,
    Option(
        "--priced-by",
        metavar="MODEL",
        help="Print costs in dollars, by the prices of this model: anthropic:claude-sonnet-5-5, openai:gpt-5. Needs "
        '`pip install "transom[prices]"`.',
    ),
]
AllFigures = Annotated[bool, Option("--all", help="Print all figures.")]
Dialect = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="The provider API that windows are built for: openai, mistral, responses, deepseek_responses, anthropic, "
        "anthropic_bedrock, anthropic_unsigned, gemini. Default: the one that each conversation was recorded with.",
    ),
]
AnyDialect = Annotated[str | None, Option(metavar="NAME", help="The provider API. Default: the one of the log.")]
ChatId = Annotated[
    str | None, Argument(metavar="ID", help="The conversation: a new id, or one to go on with. Default: a new one.")
]
ChatStore = Annotated[
    str | None,
    Option(metavar="URL", help="The store of the chat: a URL or a path. Default: .transom/chats.db in this folder."),
]
Model = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="The model: anthropic:claude-sonnet-5-5, openai:gpt-5, openai:qwen3@http://localhost:8000/v1, local. "
        "Default: what TRANSOM_MODEL says.",
    ),
]
ChatBudget = Annotated[
    int | None, token_count(f"{PLAIN} Default: the model's context window if it is known, else 128,000.")
]
ChatTools = Annotated[
    str, Option(metavar="NAMES", help="The tools, separated by commas: read, write, grep, shell; or none.")
]
System = Annotated[
    str | None, Option(metavar="TEXT", help="The system prompt. Default: a short one, or the one of the log.")
]
ReplayStore = Annotated[
    str | None,
    Option(
        metavar="URL",
        help="Where the logs are stored: a path, or sqlite:///path, jsonl:///folder (four slashes for an "
        "absolute path), memory:. A conversation that the store has already is refused. Default: .transom/replays.db "
        "in this folder, where a new replay replaces the last one; `transom clean` removes it.",
    ),
]
SummaryFocus = Annotated[str, Option("--focus", metavar="TEXT", help="What the summary should keep above all.")]
Notes = Annotated[
    list[str] | None, Option("--note", metavar="TEXT", help="A text that the summary holds to the letter; repeatable.")
]
SummaryModel = Annotated[
    str | None, Option("--model", metavar="NAME", help="Who writes the summary: anthropic:claude-haiku-4-5, local, …")
]
AnyStore = Annotated[
    str | None,
    Option(metavar="URL", help="The store: a URL or a path. Default: the one that was filled last in this folder."),
]
DoctorStore = Annotated[
    str | None, Option(metavar="URL", help="The store to look at. Default: the stores of this folder and of .transom.")
]
Policies = Annotated[
    str,
    Option(
        metavar="NAMES",
        help="The policies, separated by commas; all: every policy there is. Settings may follow a name: "
        "default,default:keep_recent=0.4.",
    ),
]
Jobs = Annotated[int | None, Option(min=1, metavar="N", help="Number of processes. Default: one for each core.")]
Out = Annotated[
    Path | None,
    Option(
        metavar="FILE",
        help="Write every window, one JSON line for each call; compressed if FILE ends in .gz. Until it is complete "
        "the file is called .FILE.part. With -, the lines go to stdout and everything else to stderr.",
    ),
]
Json = Annotated[bool, Option("--json", help="Print one JSON object, for programs.")]
InspectId = Annotated[
    str | None, Argument(metavar="ID", help="The conversation to show first: its id, or an unambiguous part of it.")
]
Port = Annotated[int, Option(min=0, max=65_535, metavar="N", help="The port on this machine. Default: any free one.")]
Upstream = Annotated[
    str, Option(metavar="URL", help="The provider that requests are sent to, for example https://api.anthropic.com.")
]
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
Host = Annotated[str, Option(metavar="ADDRESS", help="The address to listen at. Keys come to it: keep it private.")]
ProxyPort = Annotated[int, Option(min=0, max=65_535, metavar="N", help="The port to listen at; 0: any free one.")]
MaxBody = Annotated[int, Option("--max-body", min=1, metavar="MIB", help="The largest body of a request, unpacked.")]
Concurrency = Annotated[int, Option(min=1, metavar="N", help="The most requests at once; more are answered with 503.")]
Timeout = Annotated[float, Option(min=0.1, metavar="SECONDS", help="How long the provider may be silent.")]
Agent = Annotated[str, Argument(metavar="AGENT", help="claude, codex, or any program that takes a base URL.")]
AgentArguments = Annotated[
    list[str] | None, Argument(metavar="-- ARGS", help="The arguments of the agent, behind two dashes.")
]
AgentUpstream = Annotated[
    str | None,
    Option(
        metavar="URL",
        help="The provider. Default: what the agent's environment variable names, or the agent's own; OpenAI if it is "
        "not claude, codex or gemini.",
    ),
]
NoOpen = Annotated[bool, Option("--no-open", help="Do not open a browser, only print the link.")]
ReadOnly = Annotated[bool, Option("--read-only", help="Nothing can be changed from the page.")]
FullList = Annotated[
    bool, Option("--full", help="Read all entries: model calls, bytes, cost, and every damaged conversation.")
]
As = Annotated[
    Literal["table", "text"],
    Option(
        "--as",
        metavar="FORM",
        help="table: what the window has of each entry, and why. text: what the model reads, for people; long texts "
        "are shortened.",
    ),
]
Full = Annotated[bool, Option("--full", help="With --as text: shorten nothing.")]
Chart = Annotated[str | None, Option(metavar="ID", help="The conversation of the chart. Default: the longest.")]
At = Annotated[
    int | None,
    Option(
        metavar="CALL",
        help="The number of the call, from 1; -1 is the last one. Default: the window of the log as it is now.",
    ),
]
Html = Annotated[
    Path | None,
    Option("--html", metavar="FILE", help="Write one page of HTML to this file, to send to people. -: stdout."),
]
Every = Annotated[bool, Option("--all", help="Print a line for every entry, folded or not.")]
OnlyEdits = Annotated[bool, Option("--edits", help="Only the edits: folds, trims, pins and undos.")]
Entry = Annotated[list[str], Argument(metavar="ENTRY", help="The entry: 412, or entry 412 (see `log`).")]
Edit = Annotated[
    list[str] | None,
    Argument(
        metavar="EDIT",
        help="The edit: 412, or entry 412 (see `log --edits`). Default: the newest one, with all others of its plan.",
    ),
]
Why = Annotated[str, Option(metavar="TEXT", help="The reason, which the log stores.")]
CleanYes = Annotated[bool, Option("--yes", help="Do not ask.")]
CleanImports = Annotated[bool, Option("--imports", help="Also the conversations that `import` stored in .transom.")]
ForkAt = Annotated[
    str | None, Option("--at", metavar="ENTRY", help="The last entry to have: 412, or entry 412. Default: the newest.")
]
ForkName = Annotated[
    str | None, Option("--name", metavar="NEW", help="The new id. Default: the old one with the entry, as in trip@41.")
]
Yes = Annotated[bool, Option("--yes", help="Do not ask. ID must be the whole id.")]
ForgetId = Annotated[str | None, Argument(metavar="ID", help="The conversation's id, or an unambiguous part of it.")]
UsageId = Annotated[str | None, Argument(metavar="ID", help="One conversation: its id, or an unambiguous part of it.")]
ForgetUser = Annotated[str | None, Option("--user", metavar="ID", help="Everything that the store has of this user.")]
DryRun = Annotated[bool, Option("--dry-run", help="Change nothing, only print what would change.")]
Reference = Annotated[
    list[str], Argument(metavar="REF", help="412 or entry 412; a part of it: entry 412 text 0; several: entries 10-20.")
]
Pattern = Annotated[
    str, Argument(metavar="PATTERN", help="What to find in a line: a regular expression in the syntax of RE2.")
]
Query = Annotated[str, Argument(metavar="QUERY", help="What to find.")]
InConversation = Annotated[
    str | None, Option(metavar="ID", help="Only this conversation: its id, or an unambiguous part of it.")
]
User = Annotated[str | None, Option(metavar="ID", help="Only conversations of the user with this id.")]
Roles = Annotated[
    list[str] | None, Option("--role", metavar="ROLE", help="Only entries of this role: user, assistant, tool, note, …")
]
Tools = Annotated[list[str] | None, Option("--tool", metavar="NAME", help="Only calls and results of this tool.")]
File = Annotated[str | None, Option(metavar="PATH", help="Only entries that name this file, or part of its path.")]
Since = Annotated[
    datetime | None,
    Option(metavar="TIME", help="Only entries appended at this time or later: 2026-11-23, or 2026-11-23T18:00:00."),
]
Until = Annotated[datetime | None, Option(metavar="TIME", help="Only entries appended at this time or earlier.")]
Hits = Annotated[int, Option("--limit", min=1, max=1_000, metavar="N", help="The most entries to print.")]
Lines = Annotated[int | None, Option(min=1, metavar="N", help="The most lines to print. Default: all.")]
Start = Annotated[int, Option(min=1, metavar="LINE", help="The line of the first entry to begin at.")]
Column = Annotated[int, Option(min=1, metavar="N", help="The character of that line to begin at.")]
In = Annotated[str | None, Option("--in", metavar="REF", help="The entries to search, as for read. Default: all.")]
Limit = Annotated[int, Option(min=1, metavar="N", help="The most matches to print.")]
Context = Annotated[
    int, Option("--context", "-C", min=0, max=10, metavar="N", help="Lines to print around each match.")
]
Folder = Annotated[
    Path, Argument(metavar="FOLDER", show_default=False, help="The folder of source code. Default: this one.")
]
MapTokens = Annotated[int, token_count("The most tokens that the map may have: 2000 or 2k.", "--tokens")]
Focus = Annotated[
    list[str] | None,
    Option(metavar="TEXT", help="What the map is for: a task, a question, a path, a name. May be given several times."),
]
Label = Annotated[str | None, Argument(metavar="LABEL", help="The block. Without it: a list of all.")]
MemoryUser = Annotated[
    str | None, Option("--user", metavar="ID", help="Whose memory it is. Default: that of everybody.")
]
MemoryName = Annotated[str, Option(metavar="NAME", help="The name of the memory, if an application has several.")]
SetText = Annotated[
    str | None, Option("--set", metavar="TEXT", help="Write the block anew; makes it if there is none.")
]
History = Annotated[bool, Option("--history", help="Print every version of the block.")]
Restore = Annotated[int | None, Option(metavar="VERSION", help="Make this version the newest one.")]
UseArchive = Annotated[bool, Option("--archive", help="List the texts of the archive instead of the blocks.")]
FindText = Annotated[str | None, Option("--find", metavar="QUERY", help="With --archive: only texts that fit this.")]
ForgetBlock = Annotated[
    bool, Option("--forget", help="Remove the block for good, with all its versions; or the archive.")
]

McpUser = Annotated[str | None, Option("--user", metavar="ID", help="Whose conversations. Default: those of nobody.")]
McpPort = Annotated[int | None, Option("--port", min=1, max=65_535, metavar="N", help="Serve over HTTP at this port.")]
McpWrite = Annotated[bool, Option("--write", help="With the tools that edit the memory.")]
