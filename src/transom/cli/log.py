"""`transom log`: the log of a conversation, an entry a line."""

from __future__ import annotations

from msgspec import Struct

from transom.cli.commands import Log
from transom.cli.locate import found_log
from transom.cli.streams import one_line
from transom.cli.terminal import STYLES, put, put_json, terminal
from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.entry import Body, Entry, Sent
from transom.core.message import Fact, Head, role_of
from transom.core.view import View
from transom.measure.explain import Explanation, explain
from transom.stores import StoredLog, open_view
from transom.tokenizer import o200k
from transom.wire.dialects import measure_of


class Line(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An entry as it is shown: `state` is a fact's state now, or whether an edit is live."""

    seq: int
    kind: str
    text: str
    tokens: int = 0
    shown: int = 0
    state: str = ""
    why: str = ""
    source: int | None = None


def run(options: Log) -> int:
    """Print the log."""
    with found_log(options.store, options.id) as log:
        lines = lines_of(log)
        if options.json:
            put_json({"conversation": log.name, "entries": lines})
        else:
            _print(log, lines)
    return 0


def lines_of(log: StoredLog) -> list[Line]:
    """Every entry of a log."""
    view = open_view(log, measure_of(log, o200k()))
    rows = {row.entry: row for row in explain(view)}
    return [_line(view, view.counted(entry), rows.get(entry.seq)) for entry in log.read()]


def _line(view: View, entry: Entry, row: Explanation | None) -> Line:
    body = entry.body
    if row is None:
        state = "" if not isinstance(body, (Fold, Trim, Pin)) else "live" if view.is_live(entry.seq) else "not live"
        return Line(seq=entry.seq, kind=kind_of(body), text=words(body), tokens=sum(entry.tokens), state=state)
    return Line(
        seq=entry.seq,
        kind=row.role,
        text=row.text,
        tokens=row.tokens,
        shown=row.shown_tokens,
        state=row.state,
        why=row.why,
        source=entry.meta.source if entry.meta is not None else None,
    )


def kind_of(body: Body) -> str:
    """A fact's role, or what an entry is by its type."""
    return role_of(body) if isinstance(body, Fact) else type(body).__name__.lower()


def words(body: Body) -> str:
    """What an entry that is no fact does, in few words."""
    match body:
        case Fold():
            return f"entries {body.first}–{body.last}, {body.why or 'fold'}: {body.text}"
        case Trim():
            return f"entry {body.entry} {body.part[0]}[{body.part[1]}], {body.why or 'trim'}: {body.note.strip()}"
        case Pin():
            return f"entry {body.entry}" + (f", {body.why}" if body.why else "")
        case Undo():
            return f"of entry {body.edit}" + (f", {body.why}" if body.why else "")
        case Sent():
            return f"{body.tokens:,} tokens in {body.messages:,} messages, {body.shared_tokens:,} as before" + _broke(
                body
            )
        case Head():
            return f"{len(body.messages)} instructions, {len(body.tools)} tools"
        case _:
            return ""


def _broke(sent: Sent) -> str:
    return "" if sent.breaks is None else f"; breaks at slot {sent.breaks[0]}: {sent.breaks[2]}"


def _print(log: StoredLog, lines: list[Line]) -> None:
    console = terminal()
    tokens = sum(line.tokens for line in lines if not line.state or line.state in STYLES)
    put(console, (f"{one_line(log.name)}: {len(lines):,} entries, {tokens:,} tokens", "bold"))
    put(console, (f"{'entry':>7} {'kind':<11} {'tokens':>9} {'state':<10} text", "bold"))
    for line in lines:
        style = "" if line.state in STYLES else "dim"
        start = f"{line.seq:>7} {line.kind:<11} {line.tokens:>9,} "
        state = f"{line.state:<10} ", STYLES.get(line.state, "dim")
        put(console, (start, style), state, (one_line(line.text), style))
