"""`transom edits`, `pin`, `undo` and `window`: what was decided, a decision of one's own, and what would come of it."""

from __future__ import annotations

from msgspec import Struct

from transom.cli import commands
from transom.cli.explain import worth
from transom.cli.locate import found_log
from transom.cli.log import kind_of, words
from transom.cli.options import entry_number
from transom.cli.streams import one_line
from transom.cli.terminal import STYLES, put, put_json, put_whole, terminal
from transom.conversation.conversation import Conversation
from transom.conversation.request import render
from transom.core.budget import Budget
from transom.core.edit import Edit, Fold, Pin, Trim, Undo
from transom.core.prices import Prices
from transom.core.reducer import apply
from transom.core.view import View
from transom.measure.explain import explain
from transom.policies import policy_named
from transom.stores import StoredLog, open_view
from transom.tokenizer import o200k
from transom.wire.dialects import DIALECTS, dialect_named, measure_of


class LoggedEdit(Struct, frozen=True, kw_only=True):
    """An edit of a log: whether it is live, what it covers, and the tokens it saves by itself now."""

    seq: int
    kind: str
    live: bool
    text: str
    saves: int = 0


def run(options: commands.Edits | commands.Pin | commands.Undo | commands.Window) -> int:
    """Do what was asked for."""
    with found_log(options.store, options.id, writing=isinstance(options, commands.Pin | commands.Undo)) as log:
        if isinstance(options, commands.Edits):
            _print_edits(log, options)
        elif isinstance(options, commands.Window):
            _print_window(log, options)
        else:
            _change(log, options)
    return 0


def _print_edits(log: StoredLog, options: commands.Edits) -> None:
    """Every edit of a log, in order."""
    view = open_view(log, measure_of(log, o200k()))
    edits = (Fold, Trim, Pin, Undo)
    found = [_logged_edit(view, entry.seq, entry.body) for entry in log.read() if isinstance(entry.body, edits)]
    if options.json:
        put_json({"conversation": log.name, "edits": found})
        return
    console = terminal()
    live = sum(edit.live for edit in found)
    put(console, (f"{one_line(log.name)}: {len(found):,} edits, {live:,} of them live", "bold"))
    put(console, (f"{'entry':>7} {'kind':<6} {'saves':>9} {'state':<9} what", "bold"))
    for each in found:
        state, style = ("live", "") if each.live else ("not live", "dim")
        saves = f"{each.saves:,}" if each.saves else ""
        put(console, (f"{each.seq:>7} {each.kind:<6} {saves:>9} {state:<9} {one_line(each.text)}", style))


def _logged_edit(view: View, seq: int, edit: Edit) -> LoggedEdit:
    live = isinstance(edit, Undo) or view.is_live(seq)
    saves = 0
    if live and isinstance(edit, (Fold, Trim)):
        bare = apply(view, (view.entry(Undo(edit=seq), 0.0),))  # a branch nobody keeps
        saves = bare.total.tokens - view.total.tokens
    return LoggedEdit(seq=seq, kind=kind_of(edit), live=live, text=words(edit), saves=saves)


def _change(log: StoredLog, options: commands.Pin | commands.Undo) -> None:
    """Append a pin or an undo, or only look at what it would do: tokens and messages of the view before and after."""
    conversation = _opened(log, Budget(), "passthrough", None)
    before = conversation.view.total
    if isinstance(options, commands.Pin):
        edit: Edit = Pin(entry=entry_number(" ".join(options.entry)), why=options.why)
    else:
        seq = entry_number(" ".join(options.edit)) if options.edit else conversation.last_edit()
        edit = Undo(edit=seq, why=options.why)
    after = conversation.preview_edit(edit).total
    seq = None if options.dry_run else conversation.edit(edit)
    name = f"{kind_of(edit)} {words(edit)}"
    tokens, messages = (before.tokens, after.tokens), (before.messages, after.messages)
    if options.json:
        put_json({"conversation": log.name, "edit": name, "seq": seq, "tokens": tokens, "messages": messages})
        return
    done = "would be appended (dry run)" if seq is None else f"is entry {seq:,}"
    put_whole(terminal(), (f"{one_line(log.name)}: {one_line(name)} {done}", "bold"))
    change = "the window: {:,} → {:,} tokens, {:,} → {:,} messages".format(*tokens, *messages)
    put_whole(terminal(), (change, ""))


def _print_window(log: StoredLog, options: commands.Window) -> None:
    budget = Budget(context=options.budget, prices=Prices.named(options.prices))
    conversation = _opened(log, budget, options.policy, options.dialect)
    window, edits = conversation.window(), conversation.edit_costs()
    if options.json:
        request = render(window, conversation.dialect)
        put_json({"conversation": log.name, "tokens": window.tokens, "edit_costs": edits, **request})
        return
    console = terminal()
    put_whole(console, (f"{one_line(log.name)}: the window of the next call, not logged", "bold"))
    put_whole(console, (f"{window.tokens:,} of {options.budget:,} tokens, {window.size.messages:,} messages", ""))
    if (broken := window.breaks) is not None:
        put_whole(console, (f"it would break the cached prefix at slot {broken.slot}: {broken.why}", ""))
    if edits:
        put_whole(console, (worth(edits), ""))
    for row in explain(window):
        if row.state in {"kept", "shortened"}:
            start = f"{row.entry:>7} {row.role:<10} {row.shown_tokens:>8,} "
            put(console, (start, ""), (f"{row.state:<9} ", STYLES[row.state]), (one_line(row.text), "dim"))


def _opened(log: StoredLog, budget: Budget, policy: str, dialect: str | None) -> Conversation:
    """A conversation over a log, in the dialect its entries were counted for unless another is asked for."""
    if dialect is None:
        name = measure_of(log, o200k()).name.rpartition("/")[2]
        dialect = name if name in DIALECTS else "openai"
    spoken, chosen = dialect_named(dialect), policy_named(policy)
    return Conversation(log, budget=budget, policy=chosen, counter=o200k(), dialect=spoken)
