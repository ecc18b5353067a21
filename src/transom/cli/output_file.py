"""Opens the file that a command writes. The file is complete or does not exist: a failed command leaves no part."""

from __future__ import annotations

import gzip
import io
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, TextIO, cast

from transom import private_files
from transom.cli.terminal import json_escaped

STDOUT = Path("-")


@contextmanager
def output_file(path: Path) -> Generator[IO[bytes]]:
    """Open the file at `path` for writing during the block; `-` is stdout.

    The file is written as `.NAME.part`, compressed if its name ends in `.gz`, and renamed if the block ends well. If
    the block fails, the part is removed, and an older file stays. Only the owner may read a new file. A pipe or a
    device is written directly. At a terminal, what the block writes is printed at its end, with a JSON escape for each
    unprintable character. Raises OSError that names `path`.
    """
    if path == STDOUT:
        with _for_terminal(sys.stdout) if sys.stdout.isatty() else nullcontext(sys.stdout.buffer) as file:
            yield cast("IO[bytes]", file)
        sys.stdout.buffer.flush()
        return
    directly = path.exists() and not path.is_file()
    target = path if directly else path.resolve()
    part = target if directly else target.with_name(f".{target.name}.part")
    try:
        with private_files.opened(part) as raw, _compressed(raw, path) as file:
            yield file
        if not directly:
            private_files.keep_mode(part, target)
            part.replace(target)
    except BaseException as problem:
        if not directly:
            part.unlink(missing_ok=True)
        if isinstance(problem, OSError) and problem.filename in {None, part, os.fspath(part)}:
            problem.filename = os.fspath(path)
        raise


@contextmanager
def _for_terminal(stream: TextIO) -> Generator[IO[bytes]]:
    """Collect what the block writes, and print it at the end with a JSON escape for every unprintable character.

    This is for a terminal; a pipe and a file get the exact bytes.
    """
    with SpooledTemporaryFile(8_000_000) as held:
        yield cast("IO[bytes]", held)
        held.seek(0)
        lines = io.TextIOWrapper(cast("IO[bytes]", held), "utf-8", "replace", newline="\n")
        stream.writelines(map(json_escaped, lines))


@contextmanager
def _compressed(raw: IO[bytes], path: Path) -> Generator[IO[bytes]]:
    """Yield a file that writes to `raw`, compressed if the path ends in .gz."""
    if path.suffix != ".gz":
        yield raw
        raw.flush()
        return
    with gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=6, mtime=0) as file:
        yield cast("IO[bytes]", file)
