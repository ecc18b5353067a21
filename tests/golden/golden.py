"""What golden files say, and (as a script) the writing of those that are missing. See README.md beside this file."""

from __future__ import annotations

import json
from pathlib import Path

from transom import quoting, texts
from transom.core.codec import decode, plain
from transom.core.entry import Entry, Sent
from transom.core.reducer import build_view
from transom.core.unit import FoldedSlot, Unit
from transom.core.view import EMPTY_MESSAGE, HIDDEN_MESSAGE, STRAY_RESULT, View
from transom.testing import Entries, WordCounter

HERE = Path(__file__).parent
TEXTS = HERE / "texts.jsonl"
LOGS = sorted((HERE / "logs").glob("*.jsonl"))
RENAMED = {
    "late": "late_result_note",
    "superseded": "superseded_note",
    "unsaid": "state_removed",
    "clipped": "clip_marker",
    "stub": "stub_marker",
    "arguments": "trimmed_arguments",
    "arguments_but": "trimmed_arguments_but",
    "gap": "gap_mark",
    "cut_line_mark": "CUT_LINE",
    "gap_in_line": "GAP_IN_LINE",
    "state": "state_note",
    "NUDGE": "CONTINUE",
    "left_out": "left_out_marker",
    "instruction": "instruction_text",
    "excerpt": "excerpt_marker",
    "bare": "bare_marker",
    "media": "media_marker",
    "duplicate": "duplicate_marker",
    "outdated": "outdated_marker",
    "masked": "masked_marker",
}
"""Functions that the file names by an older name: it never changes."""


def says(line: dict) -> str:
    """The text that a line of `texts.jsonl` names."""
    named = (vars(quoting) | vars(texts))[RENAMED.get(line["call"], line["call"])]
    return named(*line["args"], **line.get("kwargs", {})) if callable(named) else named


def read(path: Path) -> list[Entry]:
    """The entries of a golden log."""
    return [decode(line) for line in path.read_bytes().splitlines()]


def render(log: list[Entry]) -> str:
    """What a log shows when each request leaves, and at its end."""
    stops = [entry.seq for entry in log if isinstance(entry.body, Sent)]
    return "\n".join(_picture(build_view(Entries(log), WordCounter(), stop)) for stop in [*stops, len(log)])


def _picture(view: View) -> str:
    size = view.total
    sizes = f"{size.tokens} tokens, {size.bytes} bytes, {size.images} images, {size.messages} messages"
    lines = [f"after {view.length} entries: {sizes}, digest {view.fingerprint()}"]
    if view.head_entry is not None:
        lines.append(f"  head: entry {view.head_entry.seq}")
    for slot in view.slots:
        lines.extend(_folded(slot) if isinstance(slot, FoldedSlot) else _unit(slot, "  "))
    for code, reason in ((STRAY_RESULT, "stray"), (EMPTY_MESSAGE, "empty"), (HIDDEN_MESSAGE, "hidden")):
        out = [seq for seq in range(view.length) if view.unit_of[seq] == code]
        lines.extend([f"  {reason}: {out}"] if out else [])
    lines.extend([f"  open: {sorted(view.open_units)}"] if view.open_units else [])
    return "\n".join([*lines, ""])


def _folded(slot: FoldedSlot) -> list[str]:
    lines = [f"  fold {slot.seq} of {slot.first}..{slot.last}, {slot.unit_count} units: {plain(slot.text).decode()}"]
    for unit in slot.pinned_units:
        lines.extend(_unit(unit, "    "))
    return lines


def _unit(unit: Unit, indent: str) -> list[str]:
    facts = zip(unit.seqs, unit.shown_facts(), strict=True)
    return [f"{indent}unit {unit.key}", *(f"{indent}  {seq}: {plain(fact).decode()}" for seq, fact in facts)]


def _filled(line: str) -> str:
    """A line of `texts.jsonl` with what it shows; one that has it stays as it is written."""
    if "shows" in (read := json.loads(line)):
        return line
    filled = json.dumps({**read, "shows": says(read)}, ensure_ascii=False)
    return "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in filled)


def _write_missing() -> None:
    lines = TEXTS.read_text("utf-8").split("\n")[:-1]
    TEXTS.write_text("".join(f"{_filled(line)}\n" for line in lines), "utf-8")
    for path in LOGS:
        picture = path.with_suffix(".txt")
        if not picture.exists():
            picture.write_text(render(read(path)), "utf-8")
            print("wrote", picture.name)


if __name__ == "__main__":
    _write_missing()
