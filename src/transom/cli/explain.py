"""The command `transom explain`: prints what one window contains of the whole log, and why. What became of each entry
is decided in `evaluation/explanations.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace
from rich.console import Console

from transom.cache_prices import CompactionCosts
from transom.cli.commands.stored import Explain
from transom.cli.next_commands import command_for, print_next, program_name
from transom.cli.output_file import STDOUT, output_file
from transom.cli.progress import at_work
from transom.cli.stores import current_view, open_log
from transom.cli.streams import counted, one_line, print_notice
from transom.cli.terminal import STYLES, print_json, print_line, print_row, print_wrapped, terminal
from transom.core.entry import Sent
from transom.core.learned_limit import LearnedLimit
from transom.core.message import Failure, Head, role_of
from transom.core.reducer import build_view
from transom.core.unit import FoldedSlot
from transom.core.view import View
from transom.core.window import Break, Window, assemble
from transom.errors import InvalidSetting, quote, shorten
from transom.evaluation.call_numbers import call_number, sent_requests
from transom.evaluation.call_views import CallViews
from transom.evaluation.edit_costs import EditCost, edit_costs_since
from transom.evaluation.explanations import (
    Explanation,
    as_provider_counts,
    costs_of_call,
    explain,
    hides_reasoning,
    two_counts,
)
from transom.evaluation.missing_names import MissingNames, missing_names
from transom.importers.logs.import_mark import newest_mark
from transom.stores import StoredLog
from transom.tokenizer import o200k
from transom.wire.dialects import counter_of_log

OPENING = 80
"""The most characters of a fold's text that are printed."""
BLOCKS = {"kept": "█", "shortened": "▓", "folded": "░", "dropped": "·"}
NO_REQUEST = "no request was sent yet: what the first one leaves out is not decided"


class PlanEdits(Struct, frozen=True, kw_only=True):
    """The edits behind a window that one plan decided. `plan`: the seq of its first entry, None for edits without a
    plan. `edits`: the seqs of the edits, by kind."""

    plan: int | None
    edits: dict[str, list[int]]


class Explained(Struct, frozen=True, kw_only=True):
    """A window, explained: what `transom explain --json` prints.

    `call`: the number of the call, from 1; None for the window of the log as it is now, without what the next request
    would decide. `calls`: how many calls the log has; with 0 nothing is decided yet, and `limit` is 0. `reply`: the
    position of the call's reply in the imported list of messages, None if the log does not know it.

    `limit`: the tokens that the window was planned for, 0 if none; `tokens`: those that it has, as the provider counts;
    `counted_tokens`: the same as Transom counts. All other tokens are as Transom counts. `shared_tokens`: those of the
    prefix that it shares with the window before; `breaks`: where that prefix ends, None if the whole window before is
    shared. `head`: the tokens of the system prompt and the tools.

    `folds`, `texts` and `losses` have, for the seq of each fold: the tokens of its text, the beginning of its text, and
    the names of its turns that are no longer in the window.

    `edit_costs`: what each edit since the call before saves and breaks. `costs`: what was compared when a compaction of
    this call was chosen by price (for the window as it is now: of the last call), or with `why` "soon", when a summary
    was asked for; otherwise None. `learned_limits`: by model, the most tokens of its requests, because it has refused
    more (`tokens`; the rest as in `transom.core.learned_limit`). `plans`: the edits behind this window, by plan.
    `rows`: an explanation of each fact.
    """

    conversation: str
    call: int | None = None
    calls: int = 0
    reply: int | None = None
    limit: int
    tokens: int
    counted_tokens: int
    shared_tokens: int
    breaks: Break | None
    head: int
    folds: dict[int, int]
    texts: dict[int, str]
    losses: dict[int, MissingNames]
    edit_costs: list[EditCost] = []
    costs: CompactionCosts | None = None
    learned_limits: dict[str, LearnedLimit] = {}
    plans: list[PlanEdits]
    rows: list[Explanation]


def run(options: Explain) -> int:
    """Print why a window is what it is, or write it as a page of HTML. Exit code 0."""
    if options.html is not None and options.json:
        raise InvalidSetting("--json is for programs and --html is for people: use one of them")
    with open_log(options.store, options.id) as log:
        if options.at is not None:
            _must_have_calls(log, options.at)
        if options.html is not None:
            with at_work("making the page"):
                page = _html(log, options.at)
            _write_page(page, options.html)
            return 0
        with at_work("reading the log"):
            result = explained(log, options.at)
    if options.json:
        print_json(result)
    else:
        console = terminal()
        print_explained(console, result, every=options.every)
        print_next(console, _next_commands(result, options))
    return 0


def _must_have_calls(log: StoredLog, at: int) -> None:
    """Raise InvalidSetting with the way out if the log was imported and has no calls."""
    if not sent_requests(log) and newest_mark(log) is not None:
        replay = f"`{program_name()} replay FILE` makes the calls that its file has"
        raise InvalidSetting(f"there is no call {at}: {shorten(log.name)} was imported and has no calls; {replay}")


def _write_page(page: str, out: Path) -> None:
    """Write the page to a file, or to stdout if `out` is `-`."""
    with output_file(out) as file:
        file.write(page.encode() + b"\n")
    if out != STDOUT:
        print_notice(f"{out}: a page for a browser")


def _html(log: StoredLog, at: int | None) -> str:
    """Return the window of call `at` as a page of HTML; None: the window as it is now. Raises InvalidSetting if there
    is no such call."""
    from transom.inspector.window_html import window_html  # noqa: PLC0415 - only this option needs it

    views = CallViews(log, counter_of_log(log, o200k()))
    views.refresh()
    return window_html(views, at)


def _next_commands(result: Explained, options: Explain) -> list[tuple[str, str]]:
    """Return the commands with which the user can go on, each with what it prints."""

    def next_command(name: str, *arguments: object, given: Sequence[object] = ()) -> str:
        return command_for(name, options.id, *arguments, store=options.store, options=given)

    commands: list[tuple[str, str]] = []
    if result.folds and not options.every:
        at = [] if options.at is None else ["--at", options.at]
        commands.append((next_command("explain", given=[*at, "--all"]), "a line for every entry"))
    if result.folds:
        commands.append((next_command("read", "entry", max(result.folds)), "the text of a fold, whole"))
    if shortened := [row.entry for row in result.rows if row.state == "shortened"]:
        commands.append((next_command("read", "entry", shortened[-1]), "a shortened entry, whole"))
    if not result.calls:
        first = next_command("window", given=["--budget", "100k"])
        commands.append((first, "what the first request would send, within 100,000 tokens"))
    if result.call is None and result.limit:
        text = next_command("window", given=["--as", "text"])
        commands.append((text, "what the model reads next"))
    if result.call is None and result.plans:
        edit = max(seq for seqs in result.plans[-1].edits.values() for seq in seqs)
        commands.append((next_command("undo", edit, given=["--dry-run"]), "what taking back an edit changes"))
    return commands


def explained(log: StoredLog, at: int | None) -> Explained:
    """Explain the window of a call. `at`: its number, from 1, or from the last one if negative; None: the window of the
    log as it is now.

    Raises InvalidSetting if there is no such call.
    """
    calls = sent_requests(log)
    if at is None:
        call, seq, view = None, -1, current_view(log)
        last = calls[-1].body if calls else None
    else:
        call = call_number(at, len(calls), log.name)
        seq, last = calls[call - 1].seq, calls[call - 1].body
        view = build_view(log, counter_of_log(log, o200k()), seq)
    window = assemble(view, last.limit if isinstance(last, Sent) else 0)
    return replace(
        explained_window(log.name, window),
        call=call,
        calls=len(calls),
        reply=None if call is None else _reply(log, seq),
        edit_costs=edit_costs_since(log, view.counter, view.length),
        costs=costs_of_call(log, at),
    )


def explained_window(name: str, window: Window) -> Explained:
    """Explain a window of the conversation `name`, without what only its call and its log could say: `call`, `calls`,
    `reply`, `edit_costs` and `costs` have their defaults."""
    view, head = window.view, window.head_entry
    folds = [slot for slot in view.slots if isinstance(slot, FoldedSlot)]
    rows = explain(view)
    return Explained(
        conversation=name,
        limit=window.limit,
        tokens=window.tokens,
        counted_tokens=window.size.tokens,
        shared_tokens=window.shared_tokens,
        breaks=window.breaks,
        head=head.tokens[0] if head is not None and isinstance(head.body, Head) else 0,
        folds={fold.seq: fold.tokens for fold in folds},
        texts={fold.seq: _opening(fold.text) for fold in folds},
        losses=missing_names(view),
        learned_limits=dict(view.model_limits),
        plans=_plans(view, rows),
        rows=rows,
    )


def _plans(view: View, rows: Sequence[Explanation]) -> list[PlanEdits]:
    """Group the edits that the rows name by plan, in the order of the plans; those without a plan come last."""
    found = {edit: plan for row in rows for edit, plan in zip(row.edits, row.plans, strict=True)}
    plans: dict[int | None, dict[str, list[int]]] = {}
    for edit, plan in sorted(found.items()):
        plans.setdefault(plan, {}).setdefault(role_of(view.fetch(edit).body), []).append(edit)
    by_hand = plans.pop(None, None)
    listed = [*sorted(plans.items()), *([(None, by_hand)] if by_hand else [])]
    return [PlanEdits(plan=plan, edits=edits) for plan, edits in listed]


def _opening(text: str) -> str:
    """Return the beginning of a fold's text, on one line."""
    return shorten(" ".join(text.split()), OPENING)


def _reply(log: StoredLog, sent: int) -> int | None:
    """Return the position of the reply to a request in the imported list of messages. None if the log does not know it.

    `sent`: the seq of the request.
    """
    for entry in log.read(sent + 1, sent + 2):
        answers = getattr(entry.body, "answers", None)
        if answers == sent and not isinstance(entry.body, Failure) and entry.meta is not None:
            return entry.meta.source
    return None


def print_explained(console: Console, result: Explained, *, every: bool = False, most: int | None = None) -> None:
    """Print everything that is explained: a header, learned limits, costs, and then what `print_rows` prints, with its
    arguments `every` and `most`."""
    _print_header(console, result)
    for model, learned in result.learned_limits.items():
        print_wrapped(console, learned_limit_text(model, learned))
    if result.edit_costs:
        print_wrapped(console, edit_costs_text(result.edit_costs))
    if result.costs is not None:
        for line in costs_lines(result.costs):
            print_wrapped(console, line)
    print_rows(console, result, every=every, most=most)


def print_rows(console: Console, result: Explained, *, every: bool = False, most: int | None = None) -> None:
    """Print a bar, totals, and the entries. Neighbouring entries of one fold have one line together.

    `every`: print a line for each entry. `most`: the most lines of entries that are printed; None: all.
    """
    _print_bar(console, result.rows)
    _print_totals(console, result)
    named = set[int]()
    print_line(console, (f"\n{_columns('entries', 'role', 'tokens')}{'state':<9} reason, then text", "bold"))
    runs = [[row] for row in result.rows] if every else _runs(result.rows)
    for run in runs[:most]:
        new = {edit: result.folds[edit] for edit in run[0].edits if edit in result.folds and edit not in named}
        named.update(new)
        _print_run(console, run, sum(new.values()))
        for edit in new:
            print_line(console, (f"{'':9} text: {one_line(result.texts[edit])}", "dim"))
            print_line(console, (f"{'':9} {_names(result.losses[edit])}", "dim"))
    if most is not None and len(runs) > most:
        print_line(console, (f"{'…':>9} and {len(runs) - most:,} lines more", "dim"))
    elif result.plans:
        _print_plans(console, result.plans)


def learned_limit_text(model: str, learned: LearnedLimit) -> str:
    """Return a sentence that says how many tokens the requests to a model may have, and by which refusal this was
    learned."""
    size = f" of {learned.refused:,} tokens" if learned.refused else ""
    stated = f"; the model states a limit of {learned.stated:,}" if learned.stated else ""
    where = f" (entry {learned.entry})" if learned.entry >= 0 else ""
    return (
        f"learned limit: requests to {one_line(model)} have at most {learned.tokens:,} tokens, because it refused "
        f"one{size} as too long{where}{stated}; replies near the limit raise it"
    )


def _print_plans(console: Console, plans: Sequence[PlanEdits]) -> None:
    """Print a line for each plan: how many edits of each kind it made, and where they are in the log."""
    print_line(console, ("\nthe edits behind this window, by the plan that decided them", "bold"))
    for each in plans:
        seqs = sorted(seq for numbers in each.edits.values() for seq in numbers)
        counts = ", ".join(counted(len(numbers), kind) for kind, numbers in each.edits.items())
        where = f"entry {seqs[0]}" if len(seqs) == 1 else f"entries {seqs[0]} to {seqs[-1]}"
        name = "no plan" if each.plan is None else f"plan {each.plan}"
        print_wrapped(console, f"{name:>9}: {counts} ({where})")


def _names(fold: MissingNames) -> str:
    """Say how many names of a fold's turns are in the window. List those that are not, each with an entry that has
    it."""
    missing = ", ".join(f"{quote(one_line(name))} (entry {entry})" for name, entry in fold.missing)
    if more := fold.names - fold.found - len(fold.missing):
        missing += f" and {more:,} more"
    return f"{fold.found:,} of its {fold.names:,} names are in this window{f'; not {missing}' if missing else ''}"


def edit_costs_text(edits: Sequence[EditCost]) -> str:
    """Return one sentence that says how many tokens these edits together save in each request, and how many of the
    cached prefix they break once. `edits` must not be empty."""
    saves, breaks = sum(edit.saved_tokens for edit in edits), sum(edit.broken_tokens for edit in edits)
    one = len(edits) == 1
    verb = "save" if saves >= 0 else "add"
    changes = f"{counted(len(edits), 'new edit')} {verb}{'s' if one else ''} {abs(saves):,} tokens a request"
    if not breaks:
        return f"{changes}, and {'does' if one else 'do'} not break the cached prefix"
    return f"{changes}, and {'breaks' if one else 'break'} {breaks:,} tokens of the cached prefix"


def costs_lines(costs: CompactionCosts) -> Iterator[str]:
    """Yield a line that says why a compaction was made, then a line for each choice with what it would have cost.

    The unit of all costs is the price of one fresh input token.
    """
    window = f"{costs.tokens:,} tokens, growing by {costs.growth:,.0f} a call"
    if costs.why == "full":
        yield f"compacted because the window was full: {window}"
    elif costs.why == "price":
        yield (
            f"compacted before the window was full ({window}): reading on what a compaction would have removed has "
            f"cost {costs.excess:,.0f}, a compaction costs {costs.compaction:,.0f}"
        )
    else:
        yield f"the next compaction is prepared ({window}): the cheapest choice needs a new summary"
    for one in costs.choices:
        summary = f", {one.summary:,.0f} of it for a summary" if one.summary else ""
        taken = ", taken" if one.name == costs.taken else ""
        yield (
            f"  {one.name}: {one.per_call:,.0f} a call ({one.once:,.0f} once{summary}, for {one.calls:,.0f} calls that "
            f"begin with {one.tokens:,} tokens){taken}"
        )


def _print_header(console: Console, result: Explained) -> None:
    now = "the window as it is now" if result.calls else "everything in the log"
    call = now if result.call is None else f"call {result.call:,} of {result.calls:,}"
    reply = "" if result.reply is None else f", answered by message {result.reply:,}"
    print_wrapped(console, (f"{one_line(result.conversation)}: {call}{reply}", "bold"))
    limit = f" of {result.limit:,}" if result.limit else ""
    shared = as_provider_counts(result.shared_tokens, result.tokens, result.counted_tokens)
    print_wrapped(console, f"{result.tokens:,}{limit} tokens, {shared:,} of them shared with the window before")
    if said := two_counts(result.tokens, result.counted_tokens):
        print_wrapped(console, said)
    if not result.calls:
        print_wrapped(console, (NO_REQUEST, "bold"))
    if result.limit and result.tokens > result.limit:
        over = f"over the limit: the next call compacts it first (see `{program_name()} window`)"
        print_wrapped(console, (over, "bold"))
    if (at := result.breaks) is not None:
        print_wrapped(console, f"the cached prefix breaks at slot {at.slot}, because of entry {at.entry} ({at.why})")


def _print_bar(console: Console, rows: list[Explanation]) -> None:
    """Print the whole log from left to right, by tokens: each cell has the state of the entry that fills it."""
    total = sum(row.tokens for row in rows)
    width = min(console.width, 100)
    cells: list[tuple[str, str]] = []
    reached = 0
    for row in rows:
        reached += row.tokens
        upto = reached * width // max(1, total)
        cells.extend([(BLOCKS[row.state], STYLES[row.state])] * (upto - len(cells)))
    if cells:
        print_line(console, *cells)


def _print_totals(console: Console, result: Explained) -> None:
    legend: list[tuple[str, str]] = []
    for state, block in BLOCKS.items():
        rows = [row for row in result.rows if row.state == state]
        shown = sum(row.shown_tokens for row in rows) + (sum(result.folds.values()) if state == "folded" else 0)
        if rows:
            count = f"{block} {len(rows):,} {state} "
            legend += [(count, STYLES[state]), (f"{sum(row.tokens for row in rows):,} → {shown:,}   ", "")]
    head = f"system prompt {result.head:,}" if result.head else ""
    print_wrapped(console, *legend, (head, "dim"))
    if hidden := [row for row in result.rows if hides_reasoning(row)]:
        print_wrapped(console, f"the reasoning of {counted(len(hidden), 'turn')} in this window is hidden")


def _runs(rows: list[Explanation]) -> list[list[Explanation]]:
    """Group the rows: neighbours that the same edits fold are one run, every other entry is a run of its own."""
    alike = groupby(rows, key=lambda row: (row.edits, row.why) if row.state == "folded" else row.entry)
    return [list(run) for _, run in alike]


def _print_run(console: Console, run: list[Explanation], text_tokens: int) -> None:
    """Print one line for a run of entries. `text_tokens`: the tokens of the fold's text, which count as shown."""
    first, last = run[0], run[-1]
    tokens, shown = sum(row.tokens for row in run), sum(row.shown_tokens for row in run) + text_tokens
    which = f"{first.entry}" if first is last else f"{first.entry}–{last.entry}"
    role = first.role if first is last else f"{len(run):,} entries"
    count = f"{tokens:,}" if tokens == shown else f"{tokens:,} → {shown:,}"
    why = first.why and first.why + "".join(f" [entry {edit}]" for edit in first.edits)
    text = one_line(first.text) if first is last else ""
    state = (f"{first.state:<9} ", STYLES[first.state])
    reason = f"{why}  " if why and text else why, "italic"
    print_row(console, _columns(which, role, count), state, needed=reason, rest=(text, "dim"))


def _columns(which: str, role: str, count: str) -> str:
    return f"{which:>9} {role:<10} {count:>14} "
