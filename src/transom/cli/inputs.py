"""The files of a command line: paths, folders, and stdin as `-`."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from transom.cli.streams import one_line, say
from transom.core.message import Instruction, Raw
from transom.errors import InvalidMessage, InvalidSetting
from transom.importers import FORMATS, Reader, Recorded, read
from transom.wire.dialect import Placed
from transom.wire.dialects import dialect_named
from transom.wire.tools import tools_in

STDIN = Path("-")
LISTED = 8
"""With more files than that, they are counted and not named."""


def check_files(files: Sequence[Path], out: Path | None = None) -> None:
    """What is wrong with the files is said before anything is made. Raises OSError, InvalidSetting."""
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


def opened_input(file: Path, *, format_name: str | None, questions: bool) -> Reader:
    """The conversations of a file. What is left out is said on stderr."""
    source = sys.stdin.buffer if file == STDIN else file
    return read(source, format_name, questions=questions, on_skip=_say)


def readable(records: Iterable[Recorded], file: Path) -> Iterator[tuple[Recorded, list[Instruction], list[Placed]]]:
    """Each conversation with its instructions and facts. One of a folder that cannot be read is left out, which is
    said on stderr; one of a file raises InvalidMessage."""
    for record in records:
        try:
            head, facts = record.facts()
        except InvalidMessage as problem:
            if not file.is_dir():
                raise
            _say(f"{problem.where}: skipped, {problem.why}")
            continue
        yield record, head, facts


def tools_for(record: Recorded, dialect: str) -> list[Raw]:
    """The tools of a recorded conversation as a request in this dialect has them. A provider's own tools are left out
    elsewhere."""
    known = [tool for tool in record.tools if record.dialect == dialect or tools_in(tool)]
    return dialect_named(dialect).render_tools(known)


def name_of(file: Path) -> str:
    """What a file is called in results for programs."""
    return "stdin" if file == STDIN else os.fspath(file)


def short_name(name: str) -> str:
    """The same for people: without the folders that it is in."""
    return one_line(Path(name).name or name)


def found_lines(files: Sequence[tuple[str, Mapping[str, int]]]) -> Iterator[str]:
    """What was found, a line a file: "3 conversations from session.jsonl (Claude Code session)"."""
    if len(files) > LISTED:
        total = sum((Counter(formats) for _, formats in files), Counter[str]())
        files = [(f"{len(files):,} files", total)]
    for name, formats in files:
        yield f"{_counted(sum(formats.values()))} from {short_name(name)}{_titles(formats)}"


def _counted(many: int) -> str:
    return "1 conversation" if many == 1 else f"{many:,} conversations"


def _titles(formats: Mapping[str, int]) -> str:
    """The formats in brackets, with their numbers if there are several."""
    alone = len(formats) == 1
    titles = [FORMATS[name].title if alone else f"{FORMATS[name].title}: {many:,}" for name, many in formats.items()]
    return f" ({', '.join(titles)})" if titles else ""


def _say(line: str) -> None:
    say(line, 0)
