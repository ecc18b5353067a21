"""The commands: what may be asked for, as values."""

from __future__ import annotations

from msgspec import Struct

from transom.cli import options as o
from transom.cli.app import command


@command("replay", "Play recorded conversations again, judge every window.")
class Replay(Struct, frozen=True, kw_only=True):
    """Play recorded conversations again, with a window before each model call.

    The format of each file is recognised, and windows are for the API that a conversation was recorded with.
    Prints for each file what the windows cost and whether all are valid and within the budget, then a chart of window
    size over the calls. Exit code 1 if a window is invalid or over the budget, or if every call was refused.
    """

    files: o.Files
    budget: o.Budget
    policy: o.Policy = "default"
    prices: o.Prices = None
    dialect: o.Dialect = None
    format: o.Format = None
    store: o.ReplayStore = None
    questions: o.Questions = False
    out: o.Out = None
    json: o.Json = False
    chart: o.Chart = None


@command("compare", "Play recorded conversations again under several policies.")
class Compare(Struct, frozen=True, kw_only=True):
    """Play recorded conversations again under several policies, and put side by side what comes of each.

    A row for each policy: whether its windows are valid and within the budget, what they would cost with prompt
    caching, how often they begin like the window before, and grounding: of the identifiers that the next real message
    uses and that stood in the history, the share present in the window with their surroundings. Nothing is stored.
    Exit code 1 if a window is invalid or over the budget.
    """

    files: o.Files
    budget: o.Budget
    policies: o.Policies = "default,sliding,passthrough"
    prices: o.Prices = None
    format: o.Format = None
    min_messages: o.MinMessages = 0
    max_messages: o.MaxMessages = None
    min_tokens: o.MinTokens = 0
    every: o.EveryNth = 1
    json: o.Json = False
    chart: o.Picture = None
    jobs: o.Jobs = None


@command("log", "The log of a conversation, an entry a line.")
class Log(Struct, frozen=True, kw_only=True):
    """The log of a conversation, an entry a line: what happened, what was decided, what was sent."""

    id: o.Id
    store: o.AnyStore = None
    json: o.Json = False


@command("explain", "Why a call saw what it saw.")
class Explain(Struct, frozen=True, kw_only=True):
    """Why a call saw what it saw: what was kept, shortened, folded or dropped, and the reason."""

    id: o.Id
    at: o.At = None
    store: o.AnyStore = None
    every: o.Every = False
    json: o.Json = False


@command("demo", "Replay an agent session whose tools really ran; start here.")
class Demo(Struct, frozen=True, kw_only=True):
    """Replay the session that ships with Transom, and look at one of its windows.

    Its agent is scripted; its tools really ran, on the project's own source.
    """

    budget: o.DemoBudget = 16_000
    policy: o.Policy = "default"
    json: o.Json = False


@command("edits", "What was decided about a conversation: folds, trims, pins, undos.")
class Edits(Struct, frozen=True, kw_only=True):
    """What was decided about a conversation, an edit a line: whether it holds still, and the tokens it saves."""

    id: o.Id
    store: o.AnyStore = None
    json: o.Json = False


@command("edits", "Keep an entry in every window from now on.")
class Pin(Struct, frozen=True, kw_only=True):
    """Keep an entry, with what belongs to it, in every window from now on. `undo` takes it back."""

    id: o.Id
    entry: o.Entry
    why: o.Why = ""
    dry_run: o.DryRun = False
    store: o.AnyStore = None
    json: o.Json = False


@command("edits", "Take back a fold, a trim or a pin.")
class Undo(Struct, frozen=True, kw_only=True):
    """Take back a fold, a trim or a pin: what it hid shows again, and stays so as long as the limit allows."""

    id: o.Id
    edit: o.Edit = None
    why: o.Why = ""
    dry_run: o.DryRun = False
    store: o.AnyStore = None
    json: o.Json = False


@command("conversations", "What a store holds, a conversation a line.")
class Conversations(Struct, frozen=True, kw_only=True):
    """What a store holds, a conversation a line: entries, model calls, size, time of the last entry, dialect, id."""

    store: o.StoreArgument = None
    json: o.Json = False


@command("clean", "Remove the replays of this folder.")
class Clean(Struct, frozen=True, kw_only=True):
    """Remove what replays without --store have left in .transom of this folder. Asks first."""

    yes: o.CleanYes = False
    json: o.Json = False


@command("forget", "Remove a conversation for good.")
class Forget(Struct, frozen=True, kw_only=True):
    """Remove a conversation from its store for good, large bodies too that no other one there holds. Asks first.

    What was written elsewhere (windows of `replay --out`, a folder of mirrored results) stays.
    """

    id: o.Id
    yes: o.Yes = False
    store: o.AnyStore = None
    json: o.Json = False


@command("edits", "The window the next call would see; nothing is logged.")
class Window(Struct, frozen=True, kw_only=True):
    """The window the next call would see under this budget, policy and prices. A dry run: the log stays as it is.

    With --json, what a request of the dialect holds of the conversation.
    """

    id: o.Id
    budget: o.Budget
    policy: o.Policy = "default"
    prices: o.Prices = None
    dialect: o.AnyDialect = None
    store: o.AnyStore = None
    json: o.Json = False


@command("readback", "What a marker stands for: entry 412.")
class Read(Struct, frozen=True, kw_only=True):
    """What an entry of a log holds, or several, whole: what a marker in a window stands for.

    Control characters are written out, but for line ends and tabs; with --json nothing is.
    """

    id: o.Id
    reference: o.Words
    start: o.Start = 1
    column: o.Column = 1
    lines: o.Lines = None
    store: o.AnyStore = None
    json: o.Json = False


@command("readback", "Find lines in a conversation.")
class Grep(Struct, frozen=True, kw_only=True):
    """The lines of a whole log that match, also where no window shows them any more. Exit code 1 if none does."""

    id: o.Id
    pattern: o.Pattern
    reference: o.In = None
    start: o.Start = 1
    limit: o.Limit = 50
    context: o.Context = 0
    store: o.AnyStore = None
    json: o.Json = False


@command("readback", "What there is to read in a conversation.")
class Entries(Struct, frozen=True, kw_only=True):
    """What there is to read in a log, a line an entry. The whole log, decisions included, is what `show` shows."""

    id: o.Id
    first: o.First = 0
    last: o.Last = None
    limit: o.Limit = 50
    store: o.AnyStore = None
    json: o.Json = False
