"""The file of windows: a JSON line a call, the same bytes for the same calls, there whole or not at all."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from transom.conversation.replay import Step
from transom.core.codec import plain

STDOUT = Path("-")


def line_of(conversation: str, step: Step, request: dict[str, Any]) -> bytes:
    """A step as it stands in the file, on one line; `request` is what its window puts in a request."""
    line: dict[str, Any] = {"conversation": conversation, "at": step.at}
    if step.refused is not None:
        line["refused"] = step.refused.bill
    elif step.window is not None:
        broke = step.window.breaks
        line.update(request, tokens=step.window.tokens)
        line["breaks"] = None if broke is None else {"slot": broke.slot, "entry": broke.entry, "why": broke.why}
    if step.question is not None:
        line["question"] = step.question
    return plain(line) + b"\n"


@contextmanager
def windows_file(path: Path | None) -> Generator[IO[bytes] | None]:
    """The file at `path`, written beside it under a name ending in `.part` and renamed at the end; None for no path.

    What is no regular file (a pipe, a device) is written straight, and `-` is stdout. Raises OSError that names the
    path.
    """
    if path is None:
        yield None
        return
    if path == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    straight = path.exists() and not path.is_file()
    goal = path if straight else path.resolve()
    part = goal if straight else goal.with_name(f".{goal.name}.part")
    try:
        with part.open("wb") as raw, _packed(raw, path) as file:
            yield file
        if not straight:
            part.replace(goal)
    except BaseException as problem:
        if not straight:
            part.unlink(missing_ok=True)
        if isinstance(problem, OSError) and problem.filename in {None, part, os.fspath(part)}:
            problem.filename = os.fspath(path)
        raise


@contextmanager
def _packed(raw: IO[bytes], path: Path) -> Generator[IO[bytes]]:
    if path.suffix != ".gz":
        yield raw
        raw.flush()
        return
    with gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=6, mtime=0) as file:
        yield cast("IO[bytes]", file)
