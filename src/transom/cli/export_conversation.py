"""The command `transom export`: writes a conversation of a store to a file."""

from __future__ import annotations

from pathlib import Path

from transom.cli.commands.recorded import Export
from transom.cli.output_file import STDOUT, output_file
from transom.cli.progress import ProgressBar
from transom.cli.stores import open_log
from transom.cli.streams import counted, one_line, print_notice
from transom.cli.terminal import print_json, print_wrapped, terminal
from transom.errors import InvalidSetting
from transom.exporters import Exported, export
from transom.importers import FORMATS
from transom.stores import StoredLog


def run(options: Export) -> int:
    """Write the conversation to a file or to stdout; say on stderr what the format cannot hold or says in other words.
    Of a file, also say what was written: a line on stderr, or with --json one object on stdout. Exit code 0. Raises
    InvalidSetting for --json without a file."""
    out = options.out or STDOUT
    if options.json and out == STDOUT:
        raise InvalidSetting("--json: the conversation goes to stdout; name a file with -o")
    with open_log(options.store, options.id) as log, ProgressBar() as bar:
        report = _write(log, options.format, out, bar)
    if report.session not in {"", report.conversation}:
        print_notice(f"the session has an id of its own: {report.session}")
    for note in report.notes:
        print_wrapped(terminal(aside=True), f"{one_line(note[0].upper() + note[1:])}.")
    if options.json:
        print_json(report)
    elif out != STDOUT:
        print_notice(f"{out}: {_line(report)}")
    return 0


def _write(log: StoredLog, format_name: str | None, out: Path, bar: ProgressBar) -> Exported:
    """Write the conversation to `out`, and return what was written."""
    found = export(log, format_name)
    with output_file(out) as file:
        for piece in found:
            file.write(piece)
            bar.update(found.progress, log.name)
    return found.report


def _line(report: Exported) -> str:
    return f"{counted(report.messages, 'message')} ({FORMATS[report.format].title})"
