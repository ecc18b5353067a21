"""The commands that read or write files of recorded conversations, each as a struct of its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Struct
from typer import Argument, Option

from transom.cli.help_pages import block_text, help_text
from transom.cli.lazy_commands import command
from transom.cli.options import (
    COUNTED,
    AnyStore,
    Budget,
    Files,
    Format,
    Id,
    Json,
    Policy,
    Prices,
    SummaryModel,
    token_count,
)
from transom.reports.policy_figures import COMPARE, REPLAY, VERDICT

NAMES = "A name is a path, URL, identifier, id, number of 4 digits or more, or quoted string."
"""What the figures of `compare` count as a name: the end of its --help."""


@command(
    "replay",
    "Replay recorded conversations, check every window.",
    example="replay ~/.claude/projects --budget 32k",
    epilog=help_text(REPLAY),
)
class Replay(Struct, frozen=True, kw_only=True):
    """Replay recorded conversations: build the window of each model call, check it and count it.

    The format of each file is recognised. Windows are built for the API that a conversation was recorded with, or for
    that of --dialect. Prints a table of figures for each file, and a chart of the window sizes of the longest one.
    Exit code 1 if a window is invalid or over the budget, or if every call was refused.
    """

    files: Files
    budget: Annotated[int | None, token_count(f"{COUNTED} Default: 128000.")] = None
    policy: Policy = "default"
    prices: Prices = None
    dialect: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="The provider API that windows are built for: openai, mistral, responses, deepseek_responses, "
            "anthropic, anthropic_bedrock, anthropic_unsigned, gemini. Default: the one that each conversation was "
            "recorded with.",
        ),
    ] = None
    format: Format = None
    store: Annotated[
        str | None,
        Option(
            metavar="URL",
            help="Where the logs are stored: a path, or sqlite:///path, jsonl:///folder (four slashes for an "
            "absolute path), memory:. A conversation that the store has already is refused. Default: "
            ".transom/replays.db in this folder, where a new replay replaces the last one; `transom clean` removes it.",
        ),
    ] = None
    out: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Write every window, one JSON line for each call; compressed if FILE ends in .gz. Until it is "
            "complete the file is called .FILE.part. With -, the lines go to stdout and everything else to stderr.",
        ),
    ] = None
    json: Json = False


_MORE_FIGURES = tuple(figure for figure in COMPARE if figure not in VERDICT)


@command(
    "compare",
    "Replay recorded conversations under several policies.",
    example="compare chats.jsonl --budget 32k --policies default,sliding,codex",
    epilog=help_text(VERDICT, block_text("With --all, also", _MORE_FIGURES), NAMES),
)
class Compare(Struct, frozen=True, kw_only=True):
    """Replay recorded conversations under several policies, compare the windows, and say which policy to take.

    Prints a row for each policy: does it keep what the user asked, what does it cost with prompt caching, how often is
    the cache broken, what reasoning is lost. The last sentence says which policy to take and why, or that the figures
    cannot tell. With --all, all figures are printed.

    Nothing is stored. No model is called without --model; with it, each policy that shows summaries has a second row,
    for which the model writes them from the recorded texts. Exit code 1 if every call was refused, or if a window is
    invalid or over the budget.
    """

    files: Files
    budget: Budget
    policies: Annotated[
        str,
        Option(
            metavar="NAMES",
            help="The policies, separated by commas; all: every policy there is. Settings may follow a name: "
            "default,default:keep_recent=0.4.",
        ),
    ] = "default,sliding,passthrough"
    all: Annotated[bool, Option("--all", help="Print all figures.")] = False
    prices: Prices = None
    priced_by: Annotated[
        str | None,
        Option(
            "--priced-by",
            metavar="MODEL",
            help="Print costs in dollars, by the prices of this model: anthropic:claude-sonnet-5-5, openai:gpt-5. "
            'Needs `pip install "transom[prices]"`.',
        ),
    ] = None
    model: SummaryModel = None
    format: Format = None
    json: Json = False
    jobs: Annotated[int | None, Option(min=1, metavar="N", help="Number of processes. Default: one for each core.")] = (
        None
    )


CHECKS = (
    "\b\nA file of checks:\n"
    '  files = ["refund.jsonl"]      # recorded conversations, relative to this file\n'
    '  budget = "16k"\n'
    '  policy = "default"\n'
    "\n\b\n"
    "  [[check]]\n"
    '  name = "the limit for refunds stays"\n'
    '  contains = "Refunds over $500 need a manager"   # or matches = "an RE2 pattern"\n'
    "  at = -1                       # calls; default: all after it was said\n"
    "\n\b\n"
    "  [[check]]\n"
    "  min_cached_share = 0.6        # or max_tokens = 15000, or max_cost = 0.20 with\n"
    '                                # priced_by = "anthropic:claude-sonnet-5-5" above\n'
    "\nWith the package installed, `pytest` collects files whose names end in .check.toml: each check is a test."
)
"""What a file of checks looks like: the end of `check --help`."""


@command(
    "check",
    "Check that windows keep what they must, on recorded conversations.",
    example="check refund.check.toml",
    epilog=CHECKS,
)
class Check(Struct, frozen=True, kw_only=True):
    """Check what must be true of the windows of recorded conversations: that a text is in them, that they stay below a
    size or a cost, that the prompt cache holds.

    The conversations are replayed under the policy and the budget of the file, or under --policy and --budget. No model
    is called, and nothing is stored. A check that fails names the call at which it failed, if it is about one. For a
    missing text it also names the edit that hides it; for a broken cache, the edit that broke the prefix. The exit code
    is 0 if all checks hold, 1 if one fails, and 2 if a file cannot be read or has a mistake.
    """

    files: Annotated[
        list[Path],
        Argument(metavar="FILES", help="Files of checks. A folder: every file in it that ends in .check.toml."),
    ]
    policy: Annotated[
        str | None, Option("--policy", metavar="NAME", help="Check this policy in place of the one in the file.")
    ] = None
    budget: Annotated[int | None, token_count("Check this budget in place of the one in the file.")] = None
    json: Json = False


@command(
    "shadow",
    "Ask a model whether windows change what it does next.",
    example="shadow chats.jsonl --budget 32k --model openai:gpt-5-mini",
)
class Shadow(Struct, frozen=True, kw_only=True):
    """Ask a model whether the windows of a policy change what it does next, on a sample of recorded calls.

    At each call it answers twice with the whole history and once with the window. Two answers with the whole history
    differ too; only what the window adds to that is its harm. Two answers are the same if they call the same tools with
    the same arguments, or, without calls, share half of their words. Says what it costs, and asks first.

    Intervals are 95%: Wilson's (1927) for a share, Newcombe's (1998, method 10) for the difference. Exit code 1 if the
    window changes the next action beyond chance, or if no call could be compared.
    """

    files: Files
    budget: Budget
    model: Annotated[
        str, Option("--model", metavar="NAME", help="The model that answers: anthropic:claude-sonnet-5-5, local, …")
    ]
    policy: Policy = "default"
    prices: Prices = None
    calls: Annotated[int, Option("--calls", min=1, metavar="N", help="The most calls of the sample.")] = 20
    max_tokens: Annotated[int, token_count("The most tokens of an answer: 1000 or 1k.", "--max-tokens")] = 1_000
    format: Format = None
    yes: Annotated[bool, Option("--yes", help="Do not ask before the requests are sent.")] = False
    json: Json = False


@command(
    "audit", "Say what the compactions of Claude Code and Codex lost.", example="audit ~/.claude/projects/my-project"
)
class Audit(Struct, frozen=True, kw_only=True):
    """Say what the compactions that Claude Code and Codex made themselves have lost, by their session files.

    For each compaction: the messages of the user, the changed files and the decisions before it that are not told any
    more, and the calls that were made again behind it for the same result. A text counts as told if 60% of its words
    (four letters and more, or with a digit) are in what the model was left with, so a paraphrase counts. A summary that
    only the provider can read cannot be judged, and is left out.
    """

    files: Annotated[
        list[Path],
        Argument(
            metavar="FILES",
            help="Session files of Claude Code (~/.claude/projects) or Codex (~/.codex/sessions). Of a folder, every "
            ".json, .jsonl, .ndjson and .eval file, in its folders too.",
        ),
    ]
    all: Annotated[bool, Option("--all", help="Print everything that was lost, not only the first of each kind.")] = (
        False
    )
    format: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="The format of the files: claude_code, codex. Default: the content of each file decides.",
        ),
    ] = None
    json: Json = False


IMPORTED = (
    "Lines on stderr say what was left out. Below a conversation stands what of its file no window shows: lines that "
    "hold no message are not stored, and messages that the user had taken back are stored but never sent."
)
"""What `import` reports: the end of its --help."""


@command(
    "import_files",
    "Import conversations from files into a store.",
    example="import ~/.codex/sessions --store agent.db",
    epilog=IMPORTED,
)
class Import(Struct, frozen=True, kw_only=True):
    """Import conversations from files into a store: from then on they can be continued, searched and explained.

    Every file is read as `replay` reads it; a session of any size takes little memory. The same file again changes
    nothing; a session that has grown is continued where it ended. What a format has beside its messages is not
    stored: `export` gives the same messages again.
    """

    files: Annotated[
        list[Path], Argument(metavar="FILES", help="Files, folders or - (stdin), in any format that `replay` reads.")
    ]
    store: Annotated[
        str | None,
        Option(metavar="URL", help="The store: a URL or a path. Default: .transom/imports.db in this folder."),
    ] = None
    format: Format = None
    id: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="The id of the conversation. Default: its own id, or the name of the file where there is none.",
        ),
    ] = None
    json: Json = False


@command(
    "export_conversation",
    "Export a conversation of a store to a file format.",
    example="export trip --format openai -o trip.json",
)
class Export(Struct, frozen=True, kw_only=True):
    """Export a conversation in the format it was imported from, or in any other format.

    What happened is exported, not what a window shows: folds and trims are left out. What the format has no place for
    is left out too; lines on stderr say what that was.
    """

    id: Id
    format: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="openai, responses, anthropic, gemini, claude_code, codex, pi, langchain, pydantic_ai, openai_agents. "
            "Default: the one that the conversation was imported from.",
        ),
    ] = None
    out: Annotated[
        Path | None,
        Option(
            "-o",
            "--out",
            metavar="FILE",
            help="The file to write, compressed if its name ends in .gz. Default: stdout.",
        ),
    ] = None
    store: AnyStore = None
    json: Annotated[bool, Option("--json", help="Print one JSON object about the export. Needs -o.")] = False
