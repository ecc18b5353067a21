"""The commands as structs of options, each with its help."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from transom.cli import options as o
from transom.cli.app import command
from transom.cli.help_pages import block_text, explained, help_text
from transom.reports.figures import COMPARE, REPLAY, VERDICT

STATES_OF_ENTRIES = {
    "kept": "In the window as it was logged.",
    "shortened": "In the window, with a marker in place of a part.",
    "folded": "The text of a fold is in the window in its place.",
    "dropped": "In no window, for the reason given: for example a result that answers no call.",
}

NAMES = "A name is a path, URL, identifier, id, number of 4 digits or more, or quoted string."
"""What the figures of `compare` count as a name: the end of its --help."""

EXPLAIN = (
    "\b\nStates of an entry:\n"
    + "\n".join(explained(state, meaning, indent=13) for state, meaning in STATES_OF_ENTRIES.items())
    + "\n\nTokens: 19,240 → 8,522 means 19,240 tokens in the log, and 8,522 in this window. The bar is the whole log "
    "from left to right, by tokens. Edits save tokens in every later request. An edit before the end of the last "
    "request breaks the cached prefix: everything behind it must be written to the provider's cache again. "
    "[entry 39] names the edit that is the reason."
    "\n\nWith --all, folded turns have their line in the record, and quotes the names or words that are nowhere "
    "else in the window: (3×) means that 3 messages of the user and the model have it."
)
"""What the output of `explain` means: the end of its --help."""


@command(
    "replay",
    "Replay recorded conversations, check every window.",
    example="replay ~/.claude/projects --budget 32k",
    epilog=help_text(REPLAY),
)
class Replay(Struct, frozen=True, kw_only=True):
    """Replay recorded conversations: build the window of each model call, check it and count it.

    The format of each file is recognised. Windows are built for the API that a conversation was recorded with, or for
    that of --dialect. Prints a table of figures for each file, and a chart of the window sizes of one conversation.
    Exit code 1 if a window is invalid or over the budget, or if every call was refused.
    """

    files: o.Files
    budget: o.ReplayBudget = None
    policy: o.Policy = "default"
    prices: o.Prices = None
    dialect: o.Dialect = None
    format: o.Format = None
    store: o.ReplayStore = None
    out: o.Out = None
    json: o.Json = False
    chart: o.Chart = None


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

    files: o.Files
    budget: o.Budget
    policies: o.Policies = "default,sliding,passthrough"
    all: o.AllFigures = False
    prices: o.Prices = None
    priced_by: o.PricedBy = None
    model: o.SummaryModel = None
    format: o.Format = None
    json: o.Json = False
    jobs: o.Jobs = None


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

    files: o.CheckFiles
    policy: o.CheckPolicy = None
    budget: o.CheckBudget = None
    json: o.Json = False


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

    files: o.Files
    budget: o.Budget
    model: o.ShadowModel
    policy: o.Policy = "default"
    prices: o.Prices = None
    calls: o.ShadowCalls = 20
    max_tokens: o.MaxTokens = 1_000
    format: o.Format = None
    yes: o.ShadowYes = False
    json: o.Json = False


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

    files: o.AuditFiles
    all: o.AllLost = False
    format: o.AuditFormat = None
    json: o.Json = False


@command("log", "Print the log of a conversation, one line for each entry.", example="log trip")
class Log(Struct, frozen=True, kw_only=True):
    """Print the log of a conversation, one line for each entry: what happened, what was decided, what was sent.

    Of an edit it says by how many tokens it made the window smaller, whether it is still live, and the plan that
    decided it. `no plan`: a person decided, a program, or the client that shortened the message.
    """

    id: o.Id
    edits: o.OnlyEdits = False
    store: o.AnyStore = None
    json: o.Json = False


@command(
    "explain",
    "Explain the window of a call: what it contains of each entry, and why.",
    example="explain trip --at 17",
    epilog=EXPLAIN,
)
class Explain(Struct, frozen=True, kw_only=True):
    """Explain the window of a call, or without --at the window of the log as it is now: what it contains of each entry
    of the log, and why.

    With --html, make one page for a browser instead, which needs no store: every message as the model read it, what was
    done to it, and why. It holds the texts of the conversation, so read it before you give it away.
    """

    id: o.Id
    at: o.At = None
    store: o.AnyStore = None
    every: o.Every = False
    html: o.Html = None
    json: o.Json = False


@command("inspect_store", "Look at the conversations of a store in the browser.", example="inspect --store agent.db")
class Inspect(Struct, frozen=True, kw_only=True):
    """Show the conversations of a store as a page in the browser: what the model read at each call, and why.

    The page is served on this machine only, under a link that works once. It shows conversations as they go on. An
    undo, a pin or a compaction is tried first, and written only when you say so. Ctrl-C ends it. Needs
    `pip install "transom[inspect]"`.
    """

    id: o.InspectId = None
    store: o.AnyStore = None
    port: o.Port = 0
    no_open: o.NoOpen = False
    read_only: o.ReadOnly = False


@command("mcp_server", "Serve the conversations of a store to an MCP client.", example="mcp --store agent.db")
class Mcp(Struct, frozen=True, kw_only=True):
    """Serve as an MCP server: search, read, grep, list, explain, notes and memory over the conversations of a store.

    Over stdio, or with --port over streamable HTTP on this machine, with a bearer token: that of TRANSOM_MCP_TOKEN, or
    a new one, which is printed. Nothing is written without --write. Needs `pip install "transom[mcp]"`.
    """

    store: o.AnyStore = None
    user: o.McpUser = None
    port: o.McpPort = None
    write: o.McpWrite = False


@command(
    "proxy",
    "Serve as a proxy to a model provider, that logs and compacts.",
    example="proxy --upstream https://api.openai.com --budget 100k",
)
class Proxy(Struct, frozen=True, kw_only=True):
    """Listen as a proxy in front of a model provider: OpenAI Chat Completions and Responses, Anthropic, Gemini.

    Point an agent's base URL at it. Each request is matched to its conversation by its messages, logged, and sent with
    a window within the budget; one that is refused as too long is sent again with less. All other requests pass. Each
    API key has conversations of its own; keys are not stored. /healthz says ok, /metrics is for Prometheus. Ctrl-C ends
    it. Needs `pip install "transom[proxy]"`.
    """

    upstream: o.Upstream
    store: o.ProxyStore = ".transom/proxy.db"
    budget: o.ProxyBudget = None
    policy: o.Policy = "default"
    on_error: o.OnError = "pass"
    host: o.Host = "127.0.0.1"
    port: o.ProxyPort = 8787
    max_body: o.MaxBody = 64
    concurrency: o.Concurrency = 512
    timeout: o.Timeout = 600.0


@command(
    "run_agent",
    "Run claude, codex or another agent behind a proxy of its own.",
    example='run claude -- -p "Fix the failing test"',
)
class Run(Struct, frozen=True, kw_only=True):
    """Run an agent behind a proxy of its own, on a free port of this machine, until it ends.

    The agent gets the proxy's URL in the environment variables that it knows: `transom run claude -- -p "fix it"`. Its
    conversations stay in the store, for `transom explain` and all other commands. The exit code is the agent's. Needs
    `pip install "transom[proxy]"`.
    """

    agent: o.Agent
    arguments: o.AgentArguments = None
    upstream: o.AgentUpstream = None
    store: o.ProxyStore = ".transom/proxy.db"
    budget: o.ProxyBudget = None
    policy: o.Policy = "default"
    on_error: o.OnError = "pass"


@command("demo", "Replay the session that ships with Transom. Start here.", example="demo")
class Demo(Struct, frozen=True, kw_only=True):
    """Replay the session that ships with Transom, and explain one of its windows.

    Its agent is scripted. Its tools really ran, on the source of this project.
    """

    budget: o.DemoBudget = 16_000
    policy: o.Policy = "default"
    json: o.Json = False


@command("doctor", "Say what is installed, which stores are here, and what to do about problems.", example="doctor")
class Doctor(Struct, frozen=True, kw_only=True):
    """Print the version, the extras that are installed, the stores of this folder, whether keys are set, and each
    problem with what to do about it.

    Of keys it says only whether they are set. Exit code 1 if there is a problem. `conversations --full` reads every
    entry of a store; this command reads the beginning and the end of each conversation.
    """

    store: o.DoctorStore = None
    json: o.Json = False


IMPORTED = (
    "Lines on stderr say what was left out. Below a conversation stands what of its file no window shows: lines that "
    "hold no message are not stored, and messages that the user had taken back are stored but never sent."
)
"""What `import` reports: the end of its --help."""

SLASH_COMMANDS = {
    "/compact": "make the context smaller now",
    "/undo [EDIT]": "take back the last compaction, pin or discarded answer, or the edit with this number",
    "/context": "what is in the context",
    "/explain [CALL]": "every entry of the log: what the model sees of it, and why",
    "/pin ENTRY [WHY]": "keep an entry in the context (/explain has the numbers)",
    "/note TEXT": "a note that the model reads with every message",
    "/model [NAME]": "go on with another model, or print which one it is",
    "/mode [MODE]": "chat, agent, or run DIRECTIVE; or print which one it is",
    "/retry": "discard the last answer and ask again; after a failure, go on",
    "/help": "these commands",
    "/quit": "leave; the same id goes on",
}
"""The slash commands of a chat, each with what it does."""

CHAT = (
    "\b\nCommands in a chat:\n"
    + "\n".join(f"  {name:<18} {about}" for name, about in SLASH_COMMANDS.items())
    + "\n\nCtrl-C stops an answer; what had arrived is kept. The tools read and grep work in this folder; write and "
    "shell ask first."
)
"""What can be typed in a chat: the end of its --help."""


@command("chat.command", "Chat with a model, with tools.", example="chat trip --model openai:gpt-5", epilog=CHAT)
class Chat(Struct, frozen=True, kw_only=True):
    """Chat with a model at the terminal. Shows its answers as they come, and how full the context is.

    Everything is logged: the same ID goes on where the last chat ended. What is shortened when the context is full can
    be looked at (`explain`), read back and undone.
    """

    id: o.ChatId = None
    store: o.ChatStore = None
    model: o.Model = None
    budget: o.ChatBudget = None
    policy: o.Policy = "default"
    tools: o.ChatTools = "read,write,grep,shell"
    system: o.System = None


@command("edits", "Keep an entry in every window from now on.", example='pin trip 412 --why "the plan"')
class Pin(Struct, frozen=True, kw_only=True):
    """Keep an entry, with its calls and results, in every window that has room, from now on. `undo` takes the pin
    back."""

    id: o.Id
    entry: o.Entry
    why: o.Why = ""
    dry_run: o.DryRun = False
    store: o.AnyStore = None
    json: o.Json = False


@command("edits", "Take back a fold, a trim or a pin.", example="undo trip --dry-run")
class Undo(Struct, frozen=True, kw_only=True):
    """Take back a fold, a trim or a pin. What it hid is in the window again, as long as the budget has room for it.

    Without EDIT it takes back the newest live edit, and everything else that the same plan decided.
    """

    id: o.Id
    edit: o.Edit = None
    why: o.Why = ""
    dry_run: o.DryRun = False
    store: o.AnyStore = None
    json: o.Json = False


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

    files: o.ImportFiles
    store: o.ImportStore = None
    format: o.Format = None
    id: o.ImportId = None
    json: o.Json = False


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

    id: o.Id
    format: o.ExportFormat = None
    out: o.ExportOut = None
    store: o.AnyStore = None
    json: o.ExportJson = False


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

    label: o.Label = None
    user: o.MemoryUser = None
    name: o.MemoryName = "memory"
    set: o.SetText = None
    history: o.History = False
    restore: o.Restore = None
    archive: o.UseArchive = False
    find: o.FindText = None
    forget: o.ForgetBlock = False
    yes: o.CleanYes = False
    store: o.AnyStore = None
    json: o.Json = False


@command("compact", "Compact a conversation now.", example='compact trip --focus "the plan"')
class Compact(Struct, frozen=True, kw_only=True):
    """Compact a conversation now, as if its window were full: older turns become a record with a summary.

    Nothing is lost, and `undo` takes the compaction back. With --model a model writes the summary; without --model, the
    summary is put together from the turns.
    """

    id: o.Id
    budget: o.LastBudget = None
    policy: o.Policy = "summary"
    focus: o.SummaryFocus = ""
    note: o.Notes = None
    model: o.SummaryModel = None
    dry_run: o.DryRun = False
    store: o.AnyStore = None
    json: o.Json = False


@command("conversations", "List the conversations of a store.", example="conversations --store agent.db --full")
class Conversations(Struct, frozen=True, kw_only=True):
    """List the conversations of a store: entries, time of the last entry, dialect, id, and the beginning of the first
    message.

    With --full, exit code 1 if anything is damaged.
    """

    full: o.FullList = False
    user: o.User = None
    store: o.AnyStore = None
    json: o.Json = False


@command("usage", "Print the tokens and the cost of conversations.", example="usage trip")
class Usage(Struct, frozen=True, kw_only=True):
    """Print the tokens of all requests to models, whatever became of their replies, and what they cost.

    With an ID: those of one conversation, by run, with its summaries and sub-agents. Without: those of each
    conversation of the store, or of a user; there a sub-agent is a conversation of its own. A cost with a + is not
    whole: the price of a part is not known. Exit code 1 if a conversation is damaged and does not count.
    """

    id: o.UsageId = None
    user: o.User = None
    store: o.AnyStore = None
    json: o.Json = False


@command("repo_map", "Print a map of a folder of source code.", example='map . --focus "the parser"')
class Map(Struct, frozen=True, kw_only=True):
    """Print the files and symbols of a folder that a reader would need first, within a number of tokens.

    Files are ranked by who mentions whose symbols, and by the words of --focus. If the current folder has a .transom,
    what was parsed is kept there, so that the next map is there at once. Exit code 1 if there is nothing to print.
    Needs `pip install "transom[map]"`.
    """

    folder: o.Folder = Path()
    tokens: o.MapTokens = 1_000
    focus: o.Focus = None
    json: o.Json = False


@command("clean", "Remove the replays of this folder.", example="clean")
class Clean(Struct, frozen=True, kw_only=True):
    """Remove what `replay`, `demo` and `map` have stored in .transom of this folder; with --imports, what `import` has
    stored too. Asks first. Exit code 1 if the answer was no."""

    imports: o.CleanImports = False
    yes: o.CleanYes = False
    json: o.Json = False


@command("fork", "Begin a conversation with the past of another one.", example="fork trip --at 412")
class Fork(Struct, frozen=True, kw_only=True):
    """Begin a conversation that has everything up to an entry of another one, and its own future. Prints its id.

    The new conversation is in the same store. Behind the copied entries, one more entry names the conversation they are
    from.
    """

    id: o.Id
    at: o.ForkAt = None
    name: o.ForkName = None
    store: o.AnyStore = None
    json: o.Json = False


@command("forget", "Remove a conversation, or everything of a user, for good.", example="forget --user ana")
class Forget(Struct, frozen=True, kw_only=True):
    """Remove a conversation from its store for good, with the large bodies that no other one refers to. Asks first;
    exit code 1 if the answer was no.

    With `--user`, which needs --store: all conversations of the user, the logs of their sub-agents, the memory blocks
    and the archives. A damaged conversation stays: nobody can say whose it is.

    Copies elsewhere (windows of `replay --out`, exports, a folder of mirrored results) are not removed.
    """

    id: o.ForgetId = None
    user: o.ForgetUser = None
    yes: o.Yes = False
    store: o.AnyStore = None
    json: o.Json = False


@command("window", "Print the window of the next call, without logging it.", example="window trip --as text")
class Window(Struct, frozen=True, kw_only=True):
    """Print the window of the next call under this budget, policy and prices. The log is not changed.

    With --as text, print what the model reads: each message below its role, with its tokens; the quotes of a record are
    indented. With --json, print one object: `conversation`, `tokens`, `edit_costs`, and the fields of a request in the
    dialect. --json and --as text exclude each other; --full needs --as text.
    """

    id: o.Id
    budget: o.LastBudget = None
    policy: o.Policy = "default"
    prices: o.Prices = None
    dialect: o.AnyDialect = None
    form: o.As = "table"
    full: o.Full = False
    store: o.AnyStore = None
    json: o.Json = False


@command("readback", "Print a whole entry, as a marker names it: entry 412.", example="read trip entry 412")
class Read(Struct, frozen=True, kw_only=True):
    """Print one or several entries whole. A marker in a window names the entry that it stands for.

    Control characters except line ends and tabs are escaped. With --json, texts are raw.
    """

    id: o.Id
    reference: o.Reference
    start: o.Start = 1
    column: o.Column = 1
    lines: o.Lines = None
    store: o.AnyStore = None
    json: o.Json = False


@command("readback", "Search the lines of a conversation.", example="grep trip 'Error: .*'")
class Grep(Struct, frozen=True, kw_only=True):
    """Search all lines of a log, also those that are in no window any more. Exit code 1 if none matches.

    Calls of the readback tools and their results are searched only if --in names that entry alone.
    """

    id: o.Id
    pattern: o.Pattern
    reference: o.In = None
    start: o.Start = 1
    limit: o.Limit = 50
    context: o.Context = 0
    store: o.AnyStore = None
    json: o.Json = False


@command("search", "Search what was said, by words.", example='search "the spare key" --role user')
class Search(Struct, frozen=True, kw_only=True):
    """Search what was said, in all conversations of a store or in some of them: words, names, parts of names, the text
    of an error, in any language. No character of the query has a special meaning.

    The best entry comes first. What was appended since the last search is indexed first; the index is kept with the
    store. Exit code 1 if nothing is found.
    """

    query: o.Query
    conversation: o.InConversation = None
    user: o.User = None
    role: o.Roles = None
    tool: o.Tools = None
    file: o.File = None
    since: o.Since = None
    until: o.Until = None
    limit: o.Hits = 10
    store: o.AnyStore = None
    json: o.Json = False
