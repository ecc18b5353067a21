"""`transom log`, `pin`, `undo` and `window`: what was decided, a decision of one's own, and what would come of it."""

from __future__ import annotations

from msgspec import Struct, to_builtins

from transom.cli import commands as asked
from transom.cli.places import found_log
from transom.cli.showing import kind_of, words
from transom.cli.term import STYLES, one_line, put, put_json, put_whole, terminal
from transom.core.budget import Budget
from transom.core.edit import Edit, Fold, Pin, Trim, Undo
from transom.core.folding import fold
from transom.core.view import View
from transom.drive.conversation import Conversation
from transom.drive.window import Window
from transom.measure.explain import Row
from transom.policies import policy_named
from transom.stores import StoredLog, open_view
from transom.tokenizer import o200k
from transom.wire.dialects import DIALECTS, dialect_named, measure_of


class Decision(Struct, frozen=True, kw_only=True):
    """An edit of a log: whether it is live, what it covers, and the tokens it saves by itself now."""

    seq: int
    kind: str
    live: bool
    text: str
    saves: int = 0


class Effect(Struct, frozen=True, kw_only=True):
    """What a change made, or would make: its number in the log if it was appended, tokens and messages of the view."""

    edit: str
    seq: int | None
    tokens: tuple[int, int]
    messages: tuple[int, int]


def run(wanted: asked.Log | asked.Pin | asked.Undo | asked.Window) -> int:
    """Do what was asked for."""
    with found_log(wanted.store, wanted.id) as log:
        if isinstance(wanted, asked.Log):
            _tell_decisions(log, decisions(log), json=wanted.json)
        elif isinstance(wanted, asked.Pin | asked.Undo):
            _tell_effect(log, changed(log, wanted), json=wanted.json)
        else:
            _tell_window(log, wanted)
    return 0


def decisions(log: StoredLog) -> list[Decision]:
    """Every edit of a log, in order."""
    view = open_view(log, measure_of(log, o200k()))
    return [
        _decision(view, entry.seq, entry.body)
        for entry in log.read()
        if isinstance(entry.body, (Fold, Trim, Pin, Undo))
    ]


def _decision(view: View, seq: int, edit: Edit) -> Decision:
    live = isinstance(edit, Undo) or view.is_live(seq)
    saves = 0
    if live and isinstance(edit, (Fold, Trim)):
        bare = fold(view, (view.entry(Undo(edit=seq), 0.0),))  # a branch nobody keeps
        saves = bare.total.tokens - view.total.tokens
    return Decision(seq=seq, kind=kind_of(edit), live=live, text=words(edit), saves=saves)


def changed(log: StoredLog, wanted: asked.Pin | asked.Undo) -> Effect:
    """Append a pin or an undo, or only look at what it would do."""
    conversation = _opened(log, Budget(), "passthrough", None)
    before = conversation.view.total
    if isinstance(wanted, asked.Pin):
        edit: Edit = Pin(entry=wanted.entry, why=wanted.why)
    else:
        edit = Undo(edit=conversation.newest_edit() if wanted.edit is None else wanted.edit, why=wanted.why)
    after = conversation.preview(edit).total
    seq = None if wanted.dry_run else conversation.edit(edit)
    name = f"{kind_of(edit)} {words(edit)}"
    return Effect(edit=name, seq=seq, tokens=(before.tokens, after.tokens), messages=(before.messages, after.messages))


def _opened(log: StoredLog, budget: Budget, policy: str, dialect: str | None) -> Conversation:
    """A conversation over a log, in the dialect its entries were counted for unless another is asked for."""
    if dialect is None:
        name = measure_of(log, o200k()).name.rpartition("/")[2]
        dialect = name if name in DIALECTS else "openai"
    spoken, chosen = dialect_named(dialect), policy_named(policy)
    return Conversation(log, budget=budget, policy=chosen, counter=o200k(), dialect=spoken)


def _tell_decisions(log: StoredLog, found: list[Decision], *, json: bool) -> None:
    if json:
        put_json({"conversation": log.name, "edits": to_builtins(found)})
        return
    console = terminal()
    live = sum(decision.live for decision in found)
    put(console, (f"{one_line(log.name)}: {len(found):,} edits, {live:,} of them live", "bold"))
    put(console, (f"{'entry':>7} {'kind':<6} {'saves':>9} {'state':<9} what", "bold"))
    for each in found:
        state = "live" if each.live else "not live"
        style = "" if each.live else "dim"
        saves = f"{each.saves:,}" if each.saves else ""
        put(console, (f"{each.seq:>7} {each.kind:<6} {saves:>9} {state:<9} {one_line(each.text)}", style))


def _tell_effect(log: StoredLog, effect: Effect, *, json: bool) -> None:
    if json:
        put_json({"conversation": log.name, **to_builtins(effect)})
        return
    done = "would be appended (dry run)" if effect.seq is None else f"is entry {effect.seq:,}"
    (before, after), (first, last) = effect.tokens, effect.messages
    put_whole(terminal(), (f"{one_line(log.name)}: {one_line(effect.edit)} {done}", "bold"))
    put_whole(terminal(), (f"the window: {before:,} → {after:,} tokens, {first:,} → {last:,} messages", ""))


def _tell_window(log: StoredLog, wanted: asked.Window) -> None:
    conversation = _opened(log, Budget(context=wanted.budget), wanted.policy, wanted.dialect)
    window = conversation.dry_run()
    if wanted.json:
        request = {"tokens": window.tokens, **window.request(conversation.dialect)}
        put_json({"conversation": log.name, **request})
        return
    _print_window(log, window, wanted)


def _print_window(log: StoredLog, window: Window, wanted: asked.Window) -> None:
    console = terminal()
    put_whole(console, (f"{one_line(log.name)}: the window of the next call, not logged", "bold"))
    put_whole(console, (f"{window.tokens:,} of {wanted.budget:,} tokens, {window.size.messages:,} messages", ""))
    if (broke := window.breaks) is not None:
        put_whole(console, (f"it would break the cached prefix at slot {broke.slot}: {broke.why}", ""))
    for row in window.explain():
        _print_row(row)


def _print_row(row: Row) -> None:
    if row.state in {"kept", "shortened"}:
        style = STYLES[row.state]
        put(
            terminal(),
            (f"{row.entry:>7} {row.role:<10} {row.shown:>8,} ", ""),
            (f"{row.state:<9} ", style),
            (one_line(row.text), "dim"),
        )
