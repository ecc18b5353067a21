"""The command `transom log`: prints the entries of a log, one line each."""

from __future__ import annotations

from msgspec import Struct

from transom.cli.commands.stored import Log
from transom.cli.progress import at_work
from transom.cli.stores import current_view, open_log
from transom.cli.streams import counted, one_line
from transom.cli.terminal import STYLES, print_json, print_line, print_row, print_wrapped, terminal
from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.entry import Approval, Body, Entry, Forked, Sent
from transom.core.message import Failure, Head, role_of
from transom.core.summary import Summary
from transom.core.view import View
from transom.evaluation.edit_costs import EditCost, edit_costs
from transom.evaluation.explanations import Explanation, explain
from transom.evaluation.fold_ranges import FoldRanges
from transom.importers.logs.import_mark import mark_of
from transom.stores import StoredLog

EDITS = frozenset({"fold", "trim", "pin", "undo"})
"""The kinds of lines that are edits."""
NARROW = 70
"""On a terminal of fewer columns, the entries that an edit is about stand below its line if they do not fit."""


class LogLine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The line of one entry.

    `kind`: the role of a fact, or the type of another entry. `tokens`: of the whole entry; `shown_tokens`: of what the
    window has of it now. `state`: of a fact, its state in that window ("kept", "folded", …); of an edit or a summary,
    "live" or "not live", where an undo is always live; else empty. `why`: the reason for the state of a fact. `source`:
    the position of the message in the imported list; None if it was not imported.

    `saves`: by how many raw tokens an edit made the window smaller; below 0 if it made the window larger, as the undo
    of a fold does. `plan`: the seq of the first entry of the plan that decided the edit; None if a person, a program,
    or the client that shortened the message decided it.
    """

    seq: int
    kind: str
    text: str
    tokens: int = 0
    shown_tokens: int = 0
    state: str = ""
    why: str = ""
    source: int | None = None
    saves: int = 0
    plan: int | None = None


def run(options: Log) -> int:
    """Print the entries of a log, or with --edits only its edits. Exit code 0."""
    with open_log(options.store, options.id) as log:
        with at_work("reading the log"):
            lines = lines_of(log)
            shown = [line for line in lines if line.kind in EDITS] if options.edits else lines
        if options.json:
            print_json({"conversation": log.name, "entries": shown})
        else:
            _print(_heading(log.name, lines, shown), shown)
    return 0


def lines_of(log: StoredLog) -> list[LogLine]:
    """Return the line of every entry of a log, in order."""
    view = current_view(log)
    explanations = {row.entry: row for row in explain(view)}
    entries = list(log.read())
    costs = {cost.entry: cost for cost in edit_costs(View.empty(log, view.counter), entries)}
    ranges = FoldRanges(view)
    return [
        _fact_line(entry, explanations[entry.seq])
        if entry.seq in explanations
        else _other_line(view, ranges, view.counted(entry), costs.get(entry.seq))
        for entry in entries
    ]


def _fact_line(entry: Entry, explanation: Explanation) -> LogLine:
    text, body = explanation.text, entry.body
    if isinstance(body, Failure) and body.limit:
        text = f"at most {body.limit:,} tokens from here on: {text}"
    return LogLine(
        seq=entry.seq,
        kind=explanation.role,
        text=text,
        tokens=explanation.tokens,
        shown_tokens=explanation.shown_tokens,
        state=explanation.state,
        why=explanation.why,
        source=entry.meta.source if entry.meta is not None else None,
    )


def _other_line(view: View, ranges: FoldRanges, entry: Entry, cost: EditCost | None) -> LogLine:
    if (mark := mark_of(entry)) is not None:
        made = f"entries {mark.first}–{entry.seq - 1}" if mark.first < entry.seq else "nothing new"
        return LogLine(seq=entry.seq, kind="imported", text=f"{made}, from a file ({mark.format})")
    body, state = entry.body, ""
    if isinstance(body, (Fold, Trim, Pin, Undo, Summary)):
        state = "live" if isinstance(body, Undo) or view.is_live(entry.seq) else "not live"
    return LogLine(
        seq=entry.seq,
        kind=role_of(body),
        text=text_of(body, ranges),
        tokens=sum(entry.tokens),
        state=state,
        saves=0 if cost is None else cost.saved_tokens,
        plan=None if cost is None else cost.plan,
    )


def text_of(body: Body, ranges: FoldRanges) -> str:
    """Describe an entry that is no fact: what it is about, and for a fold or a summary its whole text, which may have
    many lines. Nothing is escaped: print it with `one_line`. Empty for a fact, and for a kind without a description.

    `ranges`: of a view that has this entry; it says which entries a fold covers.
    """
    match body:
        case Fold():
            return f"{ranges.text(body)}, {body.why or 'fold'}: {body.text}"
        case Trim():
            return f"entry {body.entry} {body.part[0]}[{body.part[1]}], {body.why or 'trim'}: {body.note.strip()}"
        case Pin():
            return f"entry {body.entry}" + (f", {body.why}" if body.why else "")
        case Undo():
            return f"of entry {body.edit}" + (f", {body.why}" if body.why else "")
        case Sent():
            size = f"{body.tokens:,} tokens in {body.messages:,} messages"
            return f"{size}, {body.shared_tokens:,} shared with the window before{_break_text(body)}"
        case Forked():
            return f"from {body.source}: the entries before this one are a copy of its first ones"
        case Approval():
            changed = f", with the arguments {body.arguments}" if body.arguments else ""
            return f"call {body.place[0]}.{body.place[1]}: {body.state}{changed}" + (
                f", {body.why}" if body.why else ""
            )
        case Summary():
            made = f"made by {body.made_by or 'code'}" + (", to be made again" if body.degraded else "")
            return f"up to entry {body.last}, {made}: {body.text}"
        case Head():
            return f"{len(body.messages)} instructions, {len(body.tools)} tools"
        case _:
            return ""


def _break_text(sent: Sent) -> str:
    return "" if sent.breaks is None else f"; breaks at slot {sent.breaks[0]}: {sent.breaks[2]}"


def _heading(name: str, lines: list[LogLine], shown: list[LogLine]) -> str:
    """Return the heading: the size of the log, and the number of edits before it, if only these are `shown`."""
    tokens = sum(line.tokens for line in lines if not line.state or line.state in STYLES)
    edits = "" if shown is lines else f"{counted(len(shown), 'edit')} of "
    return f"{one_line(name)}: {edits}{counted(len(lines), 'entry', 'entries')}, {tokens:,} tokens"


def _print(heading: str, lines: list[LogLine]) -> None:
    console = terminal()
    print_wrapped(console, (heading, "bold"))
    print_line(console, (f"{'entry':>7} {'kind':<11} {'tokens':>9} {'state':<10} text", "bold"))
    for line in lines:
        style = "" if line.state in STYLES else "dim"
        start = f"{line.seq:>7} {line.kind:<11} {line.tokens:>9,} "
        state = f"{line.state:<10}", STYLES.get(line.state, "dim")
        by = "no plan" if line.plan is None else f"plan {line.plan}"
        saves = f"saves {line.saves:,} tokens, {by}: " if line.kind in EDITS else ""
        text = saves + one_line(line.text)
        if saves and console.width < NARROW:
            about, text = saves + one_line(line.text).partition(": ")[0], ""
        else:
            about = ""
        print_row(console, (start, style), state, " ", needed=(about, style), rest=(text, style))
