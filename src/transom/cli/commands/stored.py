"""The commands for the conversations of a store, each as a struct of its options."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Struct
from typer import Argument, Option

from transom.cli.help_pages import explained
from transom.cli.lazy_commands import command
from transom.cli.options import (
    AnyStore,
    CleanYes,
    DryRun,
    Id,
    Json,
    LastBudget,
    Policy,
    Prices,
    Start,
    SummaryModel,
    User,
    Why,
)

STATES_OF_ENTRIES = {
    "kept": "In the window as it was logged.",
    "shortened": "In the window, with a marker in place of a part.",
    "folded": "The text of a fold is in the window in its place.",
    "dropped": "In no window, for the reason given: for example a result that answers no call.",
}


EXPLAIN = (
    "\b\nStates of an entry:\n"
    + "\n".join(explained(state, meaning, indent=13) for state, meaning in STATES_OF_ENTRIES.items())
    + "\n\nTokens: 19,240 → 8,522 means 19,240 tokens in the log, and 8,522 in this window. The bar is the whole log "
    "from left to right, by tokens. Edits save tokens in every later request. An edit before the end of the last "
    "request breaks the cached prefix: everything behind it must be written to the provider's cache again. "
    "[entry 39] names the edit that is the reason."
)
"""What the output of `explain` means: the end of its --help."""


@command("log", "Print the log of a conversation, one line for each entry.", example="log trip")
class Log(Struct, frozen=True, kw_only=True):
    """Print the log of a conversation, one line for each entry: what happened, what was decided, what was sent.

    For an edit the line says by how many tokens it made the window smaller (below 0: larger), whether it is still live,
    and who decided it. `plan 41`: the plan whose first entry is 41. `no plan`: a person, a program, or the client that
    shortened the message.
    """

    id: Id
    edits: Annotated[bool, Option("--edits", help="Only the edits: folds, trims, pins and undos.")] = False
    store: AnyStore = None
    json: Json = False


@command(
    "explain",
    "Explain the window of a call: what it contains of each entry, and why.",
    example="explain trip --at 17",
    epilog=EXPLAIN,
)
class Explain(Struct, frozen=True, kw_only=True):
    """Explain the window of a call, or without --at the window of the log as it is now: what it contains of each entry
    of the log, and why. What the next request would decide is not logged yet: `transom window` has it.

    With --html, make one page for a browser instead, which needs no store: every message as the model read it, what was
    done to it, and why. It holds the texts of the conversation, so read it before you give it away.
    """

    id: Id
    at: Annotated[
        int | None,
        Option(
            metavar="CALL",
            help="The number of the call, from 1; -1 is the last one. Default: the window of the log as it is now.",
        ),
    ] = None
    store: AnyStore = None
    every: Annotated[bool, Option("--all", help="Print a line for every entry, folded or not.")] = False
    html: Annotated[
        Path | None,
        Option("--html", metavar="FILE", help="Write one page of HTML to this file, to send to people. -: stdout."),
    ] = None
    json: Json = False


@command("inspect_store", "Look at the conversations of a store in the browser.", example="inspect --store agent.db")
class Inspect(Struct, frozen=True, kw_only=True):
    """Show the conversations of a store as a page in the browser: what the model read at each call, and why.

    The page is served on this machine only, under a link that works once. It shows conversations as they go on. An
    undo, a pin or a compaction is tried first, and written only when you say so. Ctrl-C ends it. Needs
    `pip install "transom[inspect]"`.
    """

    id: Annotated[
        str | None, Argument(metavar="ID", help="The conversation to show first: its id, or an unambiguous part of it.")
    ] = None
    store: AnyStore = None
    port: Annotated[
        int, Option(min=0, max=65_535, metavar="N", help="The port on this machine. Default: any free one.")
    ] = 0
    no_open: Annotated[bool, Option("--no-open", help="Do not open a browser, only print the link.")] = False
    read_only: Annotated[bool, Option("--read-only", help="Nothing can be changed from the page.")] = False


@command("mcp_server", "Serve the conversations of a store to an MCP client.", example="mcp --store agent.db")
class Mcp(Struct, frozen=True, kw_only=True):
    """Serve as an MCP server: search, read, grep, list, explain, notes and memory over the conversations of a store.

    Over stdio, or with --port over streamable HTTP on this machine, with a bearer token: that of TRANSOM_MCP_TOKEN, or
    a new one, which is printed. Nothing is written without --write. Needs `pip install "transom[mcp]"`.
    """

    store: AnyStore = None
    user: Annotated[
        str | None, Option("--user", metavar="ID", help="Whose conversations. Default: those of nobody.")
    ] = None
    port: Annotated[
        int | None, Option("--port", min=1, max=65_535, metavar="N", help="Serve over HTTP at this port.")
    ] = None
    write: Annotated[bool, Option("--write", help="With the tools that edit the memory.")] = False


@command("edits", "Keep an entry in every window from now on.", example='pin trip 412 --why "the plan"')
class Pin(Struct, frozen=True, kw_only=True):
    """Keep an entry, with its calls and results, in every window that has room, from now on. `undo` takes the pin
    back."""

    id: Id
    entry: Annotated[list[str], Argument(metavar="ENTRY", help="The entry: 412, or entry 412 (see `log`).")]
    why: Why = ""
    dry_run: DryRun = False
    store: AnyStore = None
    json: Json = False


@command("edits", "Take back a fold, a trim or a pin.", example="undo trip --dry-run")
class Undo(Struct, frozen=True, kw_only=True):
    """Take back a fold, a trim or a pin. What it hid is in the window again, as long as the budget has room for it.

    Without EDIT it takes back the newest live edit, and everything else that the same plan decided.
    """

    id: Id
    edit: Annotated[
        list[str] | None,
        Argument(
            metavar="EDIT",
            help="The edit: 412, or entry 412 (see `log --edits`). Default: the newest one, with all others of its "
            "plan.",
        ),
    ] = None
    why: Why = ""
    dry_run: DryRun = False
    store: AnyStore = None
    json: Json = False


@command(
    "memory", "List, show and edit the memory blocks of a store.", example="memory human --user ana --store agent.db"
)
class Memory(Struct, frozen=True, kw_only=True):
    """List the memory blocks of a store, show or change one of them, or with --archive show, search or forget the
    archive.

    Models edit blocks with tools; every edit is a version that can be restored. A block belongs to a user (`--user`),
    and nobody else sees it. Without `--user`: the blocks that belong to no user. Exit code 1 if --find finds nothing,
    or if the answer to a question was no.
    """

    label: Annotated[str | None, Argument(metavar="LABEL", help="The block. Without it: a list of all.")] = None
    user: Annotated[
        str | None, Option("--user", metavar="ID", help="Whose memory it is. Default: that of everybody.")
    ] = None
    name: Annotated[str, Option(metavar="NAME", help="The name of the memory, if an application has several.")] = (
        "memory"
    )
    set: Annotated[
        str | None, Option("--set", metavar="TEXT", help="Write the block anew; makes it if there is none.")
    ] = None
    history: Annotated[bool, Option("--history", help="Print every version of the block.")] = False
    restore: Annotated[int | None, Option(metavar="VERSION", help="Make this version the newest one.")] = None
    archive: Annotated[bool, Option("--archive", help="List the texts of the archive instead of the blocks.")] = False
    find: Annotated[str | None, Option("--find", metavar="QUERY", help="With --archive: only texts that fit this.")] = (
        None
    )
    forget: Annotated[
        bool, Option("--forget", help="Remove the block for good, with all its versions; or the archive.")
    ] = False
    yes: CleanYes = False
    store: AnyStore = None
    json: Json = False


@command("compact", "Compact a conversation now.", example='compact trip --focus "the plan"')
class Compact(Struct, frozen=True, kw_only=True):
    """Compact a conversation now, as if its window were full: older turns become a record with a summary.

    Nothing is lost, and `undo` takes the compaction back. With --model a model writes the summary; without --model, the
    summary is put together from the turns.
    """

    id: Id
    budget: LastBudget = None
    policy: Policy = "summary"
    focus: Annotated[str, Option("--focus", metavar="TEXT", help="What the summary should keep above all.")] = ""
    note: Annotated[
        list[str] | None,
        Option("--note", metavar="TEXT", help="A text that the summary holds to the letter; repeatable."),
    ] = None
    model: SummaryModel = None
    dry_run: DryRun = False
    store: AnyStore = None
    json: Json = False


@command("conversations", "List the conversations of a store.", example="conversations --store agent.db --full")
class Conversations(Struct, frozen=True, kw_only=True):
    """List the conversations of a store: entries, time of the last entry, dialect, id, and the beginning of the first
    message.

    Exit code 1 if a conversation is damaged. Without --full only the beginning and the end of each are read.
    """

    full: Annotated[
        bool, Option("--full", help="Read all entries: model calls, bytes, cost, and every damaged conversation.")
    ] = False
    user: User = None
    store: AnyStore = None
    json: Json = False


@command("usage", "Print the tokens and the cost of conversations.", example="usage trip")
class Usage(Struct, frozen=True, kw_only=True):
    """Print the tokens of all requests to models, whatever became of their replies, and what they cost.

    With an ID: those of one conversation, by run, with its summaries and sub-agents. Without: those of each
    conversation of the store, or of a user; there a sub-agent is a conversation of its own. A cost with a + is not
    whole: the price of a part is not known. Imported and replayed replies have no usage: their tokens and cost are
    "?". Exit code 1 if a conversation is damaged and does not count.
    """

    id: Annotated[
        str | None, Argument(metavar="ID", help="One conversation: its id, or an unambiguous part of it.")
    ] = None
    user: User = None
    store: AnyStore = None
    json: Json = False


@command("fork", "Begin a conversation with the past of another one.", example="fork trip --at 412")
class Fork(Struct, frozen=True, kw_only=True):
    """Begin a conversation that has everything up to an entry of another one, and its own future. Prints its id.

    The new conversation is in the same store. Behind the copied entries, one more entry names the conversation they are
    from.
    """

    id: Id
    at: Annotated[
        str | None,
        Option("--at", metavar="ENTRY", help="The last entry to have: 412, or entry 412. Default: the newest."),
    ] = None
    name: Annotated[
        str | None,
        Option("--name", metavar="NEW", help="The new id. Default: the old one with the entry, as in trip@41."),
    ] = None
    store: AnyStore = None
    json: Json = False


@command("forget", "Remove a conversation, or everything of a user, for good.", example="forget --user ana")
class Forget(Struct, frozen=True, kw_only=True):
    """Remove a conversation from its store for good, with the large bodies that no other one refers to. Asks first;
    exit code 1 if the answer was no.

    With `--user`, which needs --store: all conversations of the user, the logs of their sub-agents, the memory blocks
    and the archives. A damaged conversation stays: nobody can say whose it is.

    Copies elsewhere (windows of `replay --out`, exports, a folder of mirrored results) are not removed.
    """

    id: Annotated[str | None, Argument(metavar="ID", help="The conversation's id, or an unambiguous part of it.")] = (
        None
    )
    user: Annotated[str | None, Option("--user", metavar="ID", help="Everything that the store has of this user.")] = (
        None
    )
    subagents: Annotated[
        bool, Option("--subagents", help="Its subagents too (ID#…, ID/…). Without it they stay, and stderr says so.")
    ] = False
    yes: Annotated[bool, Option("--yes", help="Do not ask. ID must be the whole id.")] = False
    store: AnyStore = None
    json: Json = False


@command("window", "Print the window of the next call, without logging it.", example="window trip --as text")
class Window(Struct, frozen=True, kw_only=True):
    """Print the window of the next call under this budget, policy and prices. The log is not changed.

    With --as text, print what the model reads: each message below its role, with its tokens; the quotes of a record are
    indented. With --json, print one object: `conversation`, `tokens`, `edit_costs`, and the fields of a request in the
    dialect. --json and --as text exclude each other; --full needs --as text.
    """

    id: Id
    budget: LastBudget = None
    policy: Policy = "default"
    prices: Prices = None
    dialect: Annotated[str | None, Option(metavar="NAME", help="The provider API. Default: the one of the log.")] = None
    form: Annotated[
        Literal["table", "text"],
        Option(
            "--as",
            metavar="FORM",
            help="table: what the window has of each entry, and why. text: what the model reads, for people; long "
            "texts are shortened.",
        ),
    ] = "table"
    full: Annotated[bool, Option("--full", help="With --as text: shorten nothing.")] = False
    store: AnyStore = None
    json: Json = False


@command("readback", "Print a whole entry, as a marker names it: entry 412.", example="read trip entry 412")
class Read(Struct, frozen=True, kw_only=True):
    """Print one or several entries whole. A marker in a window names the entry that it stands for.

    Control characters except line ends and tabs are escaped. With --json, texts are raw.
    """

    id: Id
    reference: Annotated[
        list[str],
        Argument(metavar="REF", help="412 or entry 412; a part of it: entry 412 text 0; several: entries 10-20."),
    ]
    start: Start = 1
    column: Annotated[int, Option(min=1, metavar="N", help="The character of that line to begin at.")] = 1
    lines: Annotated[int | None, Option(min=1, metavar="N", help="The most lines to print. Default: all.")] = None
    store: AnyStore = None
    json: Json = False


@command("readback", "Search the lines of a conversation.", example="grep trip 'Error: .*'")
class Grep(Struct, frozen=True, kw_only=True):
    """Search all lines of a log, also those that are in no window any more. Exit code 1 if none matches.

    Calls of the readback tools and their results are searched only if --in names that entry alone.
    """

    id: Id
    pattern: Annotated[
        str, Argument(metavar="PATTERN", help="What to find in a line: a regular expression in the syntax of RE2.")
    ]
    reference: Annotated[
        str | None, Option("--in", metavar="REF", help="The entries to search, as for read. Default: all.")
    ] = None
    start: Start = 1
    limit: Annotated[int, Option(min=1, metavar="N", help="The most matches to print.")] = 50
    context: Annotated[
        int, Option("--context", "-C", min=0, max=10, metavar="N", help="Lines to print around each match.")
    ] = 0
    store: AnyStore = None
    json: Json = False


@command("search", "Search what was said, by words.", example='search "the spare key" --role user')
class Search(Struct, frozen=True, kw_only=True):
    """Search what was said, in all conversations of a store or in some of them: words, names, parts of names, the text
    of an error, in any language. No character of the query has a special meaning.

    The best entry comes first. What was appended since the last search is indexed first; the index is kept with the
    store. Exit code 1 if nothing is found.
    """

    query: Annotated[str, Argument(metavar="QUERY", help="What to find.")]
    conversation: Annotated[
        str | None, Option(metavar="ID", help="Only this conversation: its id, or an unambiguous part of it.")
    ] = None
    user: User = None
    role: Annotated[
        list[str] | None,
        Option("--role", metavar="ROLE", help="Only entries of this role: user, assistant, tool, note, …"),
    ] = None
    tool: Annotated[list[str] | None, Option("--tool", metavar="NAME", help="Only calls and results of this tool.")] = (
        None
    )
    file: Annotated[
        str | None, Option(metavar="PATH", help="Only entries that name this file, or part of its path.")
    ] = None
    since: Annotated[
        datetime | None,
        Option(metavar="TIME", help="Only entries appended at this time or later: 2026-11-23, or 2026-11-23T18:00:00."),
    ] = None
    until: Annotated[datetime | None, Option(metavar="TIME", help="Only entries appended at this time or earlier.")] = (
        None
    )
    limit: Annotated[int, Option("--limit", min=1, max=1_000, metavar="N", help="The most entries to print.")] = 10
    store: AnyStore = None
    json: Json = False
