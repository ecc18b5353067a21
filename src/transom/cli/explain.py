"""`transom explain`: what one window shows of everything there was, and why."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from msgspec import Struct
from rich.console import Console

from transom.cli.commands import Explain
from transom.cli.locate import command, found_log
from transom.cli.streams import one_line
from transom.cli.terminal import STYLES, put, put_json, put_whole, terminal
from transom.core.entry import Sent
from transom.core.message import Failure, Head
from transom.core.reducer import build_view
from transom.core.unit import Folded
from transom.core.window import Break, Window, assemble
from transom.measure.call_numbers import call_number, sent_requests
from transom.measure.edit_costs import EditCost, edit_costs_since
from transom.measure.explain import Explanation, explain
from transom.measure.missing_names import MissingNames, missing_names
from transom.stores import StoredLog, open_view
from transom.tokenizer import o200k
from transom.wire.dialects import measure_of

WIDE = 70
"""Columns a terminal needs for reason and text to stand behind the rest."""
OPENING = 80
"""Characters of a fold's text that are shown."""
BLOCKS = {"kept": "█", "shortened": "▓", "folded": "░", "dropped": "·"}


class Explained(Struct, frozen=True, kw_only=True):
    """A window and its rows. `call` counts from 1, None for the window as it stands now.

    `reply` is the position of its reply in the list it was imported from, where the log knows it. `head` and `folds`
    are the tokens of what has no row: the instructions before everything, and the texts in place of what is folded,
    whose first words are in `texts`, by the same entries; so is in `losses` what no longer stands anywhere. `priced`:
    what the edits since the call before save and break.
    """

    conversation: str
    call: int | None
    calls: int
    reply: int | None
    limit: int
    tokens: int
    kept: int
    breaks: Break | None
    head: int
    folds: dict[int, int]
    texts: dict[int, str]
    losses: dict[int, MissingNames]
    priced: list[EditCost]
    rows: list[Explanation]


def run(wanted: Explain) -> int:
    """Print why."""
    with found_log(wanted.store, wanted.id) as log:
        found = explained(log, wanted.at)
    if wanted.json:
        put_json(found)
    else:
        print_explained(terminal(), found, every=wanted.every)
    return 0


def explained(log: StoredLog, at: int | None) -> Explained:
    """The window of call `at` (from 1, or from the last if negative), or as it stands now."""
    calls = sent_requests(log)
    if at is None:
        call, seq, view = None, -1, open_view(log, measure_of(log, o200k()))
        last = calls[-1].body if calls else None
    else:
        call = call_number(at, len(calls), log.name)
        seq, last = calls[call - 1].seq, calls[call - 1].body
        view = build_view(log, measure_of(log, o200k()), seq)
    limit = last.limit if isinstance(last, Sent) else 0
    window = assemble(view, limit, Window)
    folds = [slot for slot in view.slots if isinstance(slot, Folded)]
    head = (
        window.head_entry.tokens[0] if window.head_entry is not None and isinstance(window.head_entry.body, Head) else 0
    )
    return Explained(
        conversation=log.name,
        call=call,
        calls=len(calls),
        reply=None if call is None else _reply(log, seq),
        limit=limit,
        tokens=window.tokens,
        kept=window.shared_tokens,
        breaks=window.breaks,
        head=head,
        folds={fold.seq: fold.tokens for fold in folds},
        texts={fold.seq: _opening(fold.text) for fold in folds},
        losses=missing_names(view),
        priced=edit_costs_since(log, view.counter, view.length),
        rows=explain(view),
    )


def _opening(text: str) -> str:
    """The first characters of a fold's text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= OPENING else line[: OPENING - 1] + "…"


def _reply(log: StoredLog, sent: int) -> int | None:
    """Where the reply to a request stood in the list it came from."""
    for entry in log.read(sent + 1, sent + 2):
        answers = getattr(entry.body, "answers", None)
        if answers == sent and not isinstance(entry.body, Failure) and entry.meta is not None:
            return entry.meta.source
    return None


def print_explained(console: Console, found: Explained, *, every: bool = False, most: int | None = None) -> None:
    """Head line, bar, totals, and a line for each entry or run of entries folded alike; at most `most` of these."""
    _print_header(console, found)
    if found.priced:
        put_whole(console, (worth(found.priced), ""))
    _print_bar(console, found.rows)
    _print_totals(console, found)
    wide, named = console.width >= WIDE, set[int]()
    titles = _columns(wide, "entries", "role", "tokens")
    put(console, (f"\n{titles}{'state':<9} {'why, and the text' if wide else ''}", "bold"))
    runs = [[row] for row in found.rows] if every else _runs(found.rows)
    for run in runs[:most]:
        new = {edit: found.folds[edit] for edit in run[0].edits if edit in found.folds and edit not in named}
        named.update(new)
        _print_run(console, wide, run, sum(new.values()))
        for edit in new:
            put(console, (f"{'':{9 if wide else 7}} shown as {one_line(found.texts[edit])}", "dim"))
            put(console, (f"{'':{9 if wide else 7}} {_lost(found.losses[edit])}", "dim"))
    if most is not None and len(runs) > most:
        put(console, (f"{'…':>9} and {len(runs) - most:,} lines more", "dim"))


def _lost(loss: MissingNames) -> str:
    """What a fold's units named that stands nowhere any more, each with the entry to go to."""
    named = ", ".join(f"{one_line(name)} ({entry})" for name, entry in loss.gone)
    gone = f", not {named}" if named else ""
    return f"{loss.kept:,} of its {loss.names:,} names stand in this window{gone}"


def worth(edits: Sequence[EditCost]) -> str:
    """What edits come to together."""
    saves, breaks = sum(edit.saves for edit in edits), sum(edit.breaks for edit in edits)
    cached = f"{breaks:,} of the cached prefix" if breaks else "nothing"
    return f"edits: {len(edits):,}; they save {saves:,} tokens a request and break {cached}"


def _print_header(console: Console, found: Explained) -> None:
    call = "the window as it stands now" if found.call is None else f"call {found.call:,} of {found.calls:,}"
    reply = "" if found.reply is None else f", reply is message {found.reply:,}"
    put_whole(console, (f"{one_line(found.conversation)}: {call}{reply}", "bold"))
    limit = f" of {found.limit:,}" if found.limit else ""
    put_whole(console, (f"{found.tokens:,}{limit} tokens, {found.kept:,} of them as in the window before", ""))
    if found.limit and found.tokens > found.limit:
        put_whole(
            console, (f"over the limit: the next call cuts it first, if it can (see `{command()} window`)", "bold")
        )
    if (broke := found.breaks) is not None:
        put_whole(console, (f"breaks the cached prefix at slot {broke.slot}, by entry {broke.entry}: {broke.why}", ""))


def _print_bar(console: Console, rows: list[Explanation]) -> None:
    """The whole log from left to right, each cell in the state of the entry that fills it, by tokens."""
    total = sum(row.tokens for row in rows)
    width = min(console.width, 100)
    cells: list[tuple[str, str]] = []
    reached = 0
    for row in rows:
        reached += row.tokens
        upto = reached * width // max(1, total)
        cells.extend([(BLOCKS[row.state], STYLES[row.state])] * (upto - len(cells)))
    if cells:
        put(console, *cells)


def _print_totals(console: Console, found: Explained) -> None:
    legend: list[tuple[str, str]] = []
    for state, block in BLOCKS.items():
        rows = [row for row in found.rows if row.state == state]
        shown = sum(row.shown for row in rows) + (sum(found.folds.values()) if state == "folded" else 0)
        if rows:
            count = f"{block} {len(rows):,} {state} "
            legend += [(count, STYLES[state]), (f"{sum(row.tokens for row in rows):,} → {shown:,}   ", "")]
    head = f"{found.head:,} in the head" if found.head else ""
    put_whole(console, *legend, (head, "dim"))


def _runs(rows: list[Explanation]) -> list[list[Explanation]]:
    """Neighbours folded alike by the same edit stand together, everything else by itself."""
    alike = groupby(rows, key=lambda row: (row.edits, row.why) if row.state == "folded" else row.entry)
    return [list(run) for _, run in alike]


def _print_run(console: Console, wide: bool, run: list[Explanation], text_tokens: int) -> None:
    """A row, or neighbours folded alike, with the tokens of the fold's text if that is named here.

    Where there is little room the reason has a line of its own, and the text is left out.
    """
    first, last = run[0], run[-1]
    tokens, shown = sum(row.tokens for row in run), sum(row.shown for row in run) + text_tokens
    which = f"{first.entry}" if first is last else f"{first.entry}–{last.entry}"
    role = first.role if first is last else f"{len(run):,} entries"
    count = f"{tokens:,}" if tokens == shown else f"{tokens:,} → {shown:,}"
    start = (_columns(wide, which, role, count), "")
    why = first.why and first.why + "".join(f" [entry {edit}]" for edit in first.edits)
    if wide:
        text = one_line(first.text) if first is last else ""
        state = f"{first.state:<9} "
        put(console, start, (state, STYLES[first.state]), (f"{why}  " if why else "", "italic"), (text, "dim"))
        return
    put(console, start, (first.state, STYLES[first.state]))
    if why:
        put_whole(console, (why, "italic"), indent=8)


def _columns(wide: bool, which: str, role: str, count: str) -> str:
    return f"{which:>9} {role:<10} {count:>14} " if wide else f"{which:>7} {role:<9} {count:>11} "
