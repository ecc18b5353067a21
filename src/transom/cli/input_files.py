"""Reads the files of a command line: paths, folders, and `-` for stdin."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from transom.cli.streams import counted, one_line, print_notice
from transom.errors import InvalidMessage, InvalidSetting, listed
from transom.importers import FORMATS, Reader, Recorded, read
from transom.importers.lone_results import remark_on_results
from transom.wire.dialect import Placed

STDIN = Path("-")
MAX_LISTED_FILES = 8
"""The most files of which an error has the names. In a report, more files than this have one line together, in place of
a line each."""


def check_files(files: Sequence[Path], out: Path | None = None) -> None:
    """Check the files of a command line before anything is created. `-` (stdin) is not checked. `out`: the file that
    the command will write; None if it writes none, or to stdout.

    Raises OSError if a file does not exist, InvalidSetting if `out` is one of the files or in one of the folders.
    """
    for file in files:
        if file == STDIN:
            continue
        file.stat()
        if out is None:
            continue
        if file.is_dir() and out.resolve().is_relative_to(file.resolve()):
            raise InvalidSetting(f"--out: {out} is in one of the input folders")
        if out.exists() and out.samefile(file):
            raise InvalidSetting(f"--out: {out} is one of the input files")


def read_input(file: Path, format_name: str | None) -> Reader:
    """Return the reader of the conversations of a file, a folder or stdin (`-`). Nothing is read yet: iterate over it
    to get the conversations.

    `format_name`: the name of the format; None: the content decides. What is skipped is reported on stderr. Raises
    InvalidSetting for an unknown format.
    """
    source = sys.stdin.buffer if file == STDIN else file
    return read(source, format_name, on_skip=print_notice)


def readable_conversations(records: Iterable[Recorded], file: Path) -> Iterator[tuple[Recorded, list[Placed]]]:
    """Yield each conversation of `records` with the facts that follow its leading instructions, each fact with the
    position of its message.

    `file`: where the conversations are from. A notice on stderr says how many tool results answer no open call. A
    conversation without messages is skipped, with a notice on stderr. So is
    one with a message that its dialect does not allow, if `file` is a folder; in a single file it raises
    InvalidMessage.
    """
    for record in records:
        try:
            _, facts = record.facts()
        except InvalidMessage as problem:
            if not file.is_dir():
                raise
            print_notice(f"{problem.where}: skipped, {problem.why}")
            continue
        if not record.messages:
            print_notice(f"{record.source}: skipped, {record.id} has no messages")
            continue
        if remark := remark_on_results(fact for _, fact in facts):
            print_notice(f"{record.source}: {remark}")
        yield record, facts


def file_name(file: Path) -> str:
    """Return the name of a file as JSON output has it: the path, or "stdin"."""
    return "stdin" if file == STDIN else os.fspath(file)


def named_files(files: Sequence[Path]) -> str:
    """Return the files of a command line as an error names them: the paths of the first `MAX_LISTED_FILES` (8), each
    once, and how many more there are ("data/a.jsonl, …, data/h.jsonl and 3 more"). `-` is "stdin"."""
    return listed([one_line(file_name(file)) for file in dict.fromkeys(files)], MAX_LISTED_FILES)


def short_name(name: str) -> str:
    """Return the name of a file as other output has it: without its folders, on one line."""
    return one_line(Path(name).name or name)


def summary_lines(files: Sequence[tuple[str, Mapping[str, int]]]) -> Iterator[str]:
    """Yield a line for each file: "3 conversations from session.jsonl (Claude Code session)". More than
    MAX_LISTED_FILES (8) files have one line together.

    `files`: paths as texts (`file_name`), each with its number of conversations by the name of the format.
    """
    if len(files) > MAX_LISTED_FILES:
        total = sum((Counter(formats) for _, formats in files), Counter[str]())
        files = [(f"{len(files):,} files", total)]
    for name, formats in files:
        number = sum(formats.values())
        yield f"{counted(number, 'conversation')} from {short_name(name)}{_format_titles(formats)}"


def _format_titles(formats: Mapping[str, int]) -> str:
    """Return the titles of the formats in brackets, with the number of each if there are several; empty for no
    format."""
    titles = [FORMATS[name].title for name in formats]
    if len(formats) > 1:
        titles = [f"{title}: {number:,}" for title, number in zip(titles, formats.values(), strict=True)]
    return f" ({', '.join(titles)})" if titles else ""
