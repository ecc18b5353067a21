"""Reads conversations from files: finds out how a file is laid out, and yields one conversation at a time.

A file is one JSON value (a document), or it has one value a line. Each line is then a whole conversation, or a message
of one conversation, or an event of one session. The first line that can be recognised decides what all lines are.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Any, Self, cast

from msgspec.structs import replace

from transom.errors import InvalidMessage
from transom.importers import recognise
from transom.importers.open_file import (
    NOT_ENDED,
    SUBAGENTS,
    ZIP,
    FileLine,
    NotRegularError,
    OpenFile,
    buffered,
    checked_source,
    files_in,
    is_zip,
    label_of,
    on_disk,
    opened,
    parsed,
    stem_of,
    stream_file,
    zip_members,
)
from transom.importers.recognise import UNDECIDED, OnSkip, ReadOptions, UnrecognisedError
from transom.importers.recorded import Recorded, format_named

_BREAKS = (b"{", b"[", b",")
"""What ends the first line of a JSON value that is written over several lines."""

_MESSAGES, _CONVERSATIONS = "messages", "conversations"
"""How a file with one value a line is laid out: a message a line, or one conversation or several. A file with an event
of a session a line is laid out as the format of the session."""


class Reader(Iterator[Recorded]):
    """Iterates over the conversations of a file, a folder or an open stream, in order. A file with one conversation a
    line is read one conversation at a time, and a stream as its lines come; a JSON document is read whole. A zip
    archive that comes as a stream is copied to a temporary file.

    `label`: names the file in messages; empty means its path, or the stream's own name. Making a reader raises
    InvalidSetting if `source` is neither a path nor an open file.

    The iteration raises OSError; InvalidSetting for a folder in which no file is named as SUFFIXES say; and
    InvalidMessage, which names the file, the line and the field, for a file that cannot be read as conversations. In a
    folder InvalidMessage is not raised: the rest of that file is reported to `options.on_skip` and left out. In a zip
    archive, a file that is no conversation is reported and left out; if no file is one, the first error is raised.
    """

    def __init__(self, source: str | Path | IO[Any], options: ReadOptions, *, label: str = "") -> None:
        self._source = checked_source(source)
        self._options, self._label = options, label
        self._file: OpenFile | None = None
        self._files, self._done = 1, 0.0
        self._all = self._read()

    @property
    def progress(self) -> float:
        """The share of the files that was read, from 0 to 1. Always 0 for a stream, except within an archive."""
        return (self._done + (0.0 if self._file is None else self._file.share)) / self._files

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Recorded:
        return next(self._all)

    def _read(self) -> Iterator[Recorded]:
        if not isinstance(self._source, Path):
            yield from self._read_stream(buffered(self._source), self._label or label_of(self._source))
            return
        if not self._source.is_dir():
            yield from self._read_file(self._source, self._label or str(self._source))
            return
        paths = files_in(self._source)
        self._files = len(paths)
        beside = {path for path in paths if SUBAGENTS in path.relative_to(self._source).parts}
        named = {stem_of(path.name) for path in beside}
        held: dict[str, Recorded] = {}  # from the file of its session, until the file of its own is read
        for path in paths:
            try:
                for record in self._read_file(path, str(path)):
                    if path in beside:
                        yield from self._with_held(record, held)
                    elif record.format == "claude_code" and f"agent-{record.id.rpartition('#')[2]}" in named:
                        held[record.id] = record
                    else:
                        yield record
            except InvalidMessage as problem:  # a folder holds other files, too
                self._options.on_skip(skipped_file(problem))
            self._done += 1
        yield from held.values()

    def _with_held(self, record: Recorded, held: dict[str, Recorded]) -> Iterator[Recorded]:
        """Yield a subagent out of a file of its own; or the one out of the file of its session, if that is the whole of
        which this one is the beginning. It is held no longer, if either is a beginning of the other."""
        of_session = held.get(record.id)
        if of_session is None:
            yield record
        elif of_session.messages[: len(record.messages)] == record.messages:
            self._options.on_skip(f"{record.source}: skipped, the file of the session has this subagent too")
            yield held.pop(record.id)
        else:
            if record.messages[: len(of_session.messages)] == of_session.messages:
                self._options.on_skip(f"{of_session.source}: left out the beginning of {record.id}, which has a file")
                del held[record.id]
            yield record

    def _read_stream(self, stream: io.BufferedReader, label: str) -> Iterator[Recorded]:
        if stream.peek(len(ZIP))[: len(ZIP)] == ZIP:  # its list of files is at its end
            with on_disk(cast("IO[bytes]", stream), label) as (path, _):
                yield from self._read_archive(path, label)
            return
        yield from _in_file(stream_file(stream, label), self._options)

    def _read_file(self, path: Path, label: str) -> Iterator[Recorded]:
        if is_zip(path):
            yield from self._read_archive(path, label)
            return
        with opened(path, label) as file:
            self._file = file
            try:
                yield from _in_file(file, self._options)
            finally:
                self._file = None

    def _read_archive(self, path: Path, label: str) -> Iterator[Recorded]:
        """Yield the conversations in a zip archive, as the class says."""
        found, refused = False, None
        done = self._done
        try:
            for file, share in zip_members(path, label):
                self._done = done + share
                try:
                    for record in _in_file(file, self._options):
                        found = True
                        yield record
                except UnrecognisedError as problem:
                    refused = refused or problem
                    self._options.on_skip(skipped_file(problem))
        finally:
            self._done = done
        if refused is not None and not found:
            raise refused


def skipped_file(problem: InvalidMessage) -> str:
    """Return the line that says why a file of a folder is skipped, or its rest if a part of it was read already."""
    if isinstance(problem, UnrecognisedError):
        return f"{problem.where}: skipped, it holds {problem.seen}"
    if isinstance(problem, NotRegularError):
        return f"{problem.where}: skipped, {problem.why}"
    return f"{problem.where}: the rest of the file is skipped, {problem.why}"


def read(
    source: str | Path | IO[Any],
    format: str | None = None,  # noqa: A002 - the word that users know
    *,
    on_skip: OnSkip | None = None,
) -> Reader:
    """Read the recorded conversations of a file, a folder or an open file; iterate to get one at a time.

    `format`: a name out of `FORMATS`; without it the content decides. `on_skip`: called with one line of text for
    everything that is left out (a broken line of a session, a branch that was taken back, a file of a folder that is no
    conversation); without it such lines are logged as warnings.

    Raises InvalidSetting if `source` is neither a path nor an open file, and for an unknown format. The iteration
    raises OSError, InvalidSetting for a folder in which no file is named as SUFFIXES say (`.json`, `.jsonl`, …), and
    InvalidMessage for a file that cannot be read as conversations; in a folder the rest of such a file is left out
    instead.
    """
    name = None if format is None else format_named(format).name
    skip = logging.getLogger(__package__).warning if on_skip is None else on_skip
    return Reader(source, ReadOptions(format=name, on_skip=skip))


def session_in(file: OpenFile, options: ReadOptions) -> str:
    """Return the name of the session format that a file's lines have; empty for a file that is no session.

    The beginning of the file is read: open it again to read its lines. Raises InvalidMessage if the first UNDECIDED
    lines are in no known format, or not in the one that was asked for.
    """
    document, lines = _begun(file)
    found = _recognised(lines, options) if document is None else None
    if found is None or found[0] not in recognise.SESSIONS:
        return ""
    kind, lines = found
    values = _values(lines, replace(options, on_skip=ignore))
    recognise.events_of(kind, values, file.label, options)  # raises if it is none
    return kind


def ignore(line: str) -> None:
    """Do nothing: the `on_skip` of one of two readings of the same lines. The other one reports what is left out."""


def _in_file(file: OpenFile, options: ReadOptions) -> Iterator[Recorded]:
    """Yield the conversations of one file: of a single JSON value, or of one value on each line."""
    first, lines = _begun(file)
    if first is not None:
        text = b"\n" * (first.number - 1) + first.raw + file.rest()  # so that errors have the number of the line
        yield from recognise.conversations(parsed(text, file.label), file.label, file.stem, options)
        return
    found = _recognised(lines, options)
    if found is None:
        return
    layout, lines = found
    if layout == _MESSAGES:
        messages = list(_values(lines, options))
        yield recognise.conversation({"messages": messages}, file.label, file.stem, options)
    elif layout == _CONVERSATIONS:
        has_read = False
        for line in lines:  # a broken one raises, so that no whole conversation is lost without notice
            value = parsed(line.text, line.where)
            try:
                yield from recognise.conversations(value, line.where, f"{file.stem}:{line.number}", options)
            except UnrecognisedError as problem:
                if has_read:  # the file holds conversations, and this one is wrong
                    raise InvalidMessage(problem.where, problem.why) from None
                raise
            has_read = True
    else:
        yield from recognise.session(layout, _values(lines, options), file.label, file.stem, options)


def _begun(file: OpenFile) -> tuple[FileLine | None, Iterator[FileLine]]:
    """Read the beginning of a file. If it is a document, one JSON value on one or several lines, return its first line;
    else None and all its lines. Blank lines do not count."""
    lines = file.lines()
    first = next(lines, None)
    if first is None:
        return None, lines
    if _goes_on(first, file):
        return first, lines
    second = next(lines, None)
    if second is None and file.is_document:
        return first, lines
    return None, chain([first] if second is None else [first, second], lines)


def _goes_on(first: FileLine, file: OpenFile) -> bool:
    """True if the first line is the beginning of a JSON value that goes on in the next line."""
    if not file.is_document and not first.text.endswith(_BREAKS):
        return False
    try:
        parsed(first.text, first.where)
    except InvalidMessage:
        return True
    return False


def _recognised(lines: Iterator[FileLine], options: ReadOptions) -> tuple[str, Iterator[FileLine]] | None:
    """Return how a file with one value a line is laid out, and all its lines; None if there is no line. Raises
    InvalidMessage if none of the first UNDECIDED lines can be recognised."""
    before: list[FileLine] = []
    broken: InvalidMessage | None = None
    unknown: InvalidMessage | None = None
    for line in lines:
        before.append(line)
        try:
            value = parsed(line.text, line.where)
        except InvalidMessage as problem:
            broken = broken or problem
        else:
            recognise.require_no_session(value, line.where, options)
            if layout := _layout_of(value, options):
                return layout, chain(before, lines)
            unknown = unknown or UnrecognisedError(line.where, recognise.description_of(value))
        if len(before) == UNDECIDED:
            break
    if (problem := unknown or broken) is not None:
        raise problem
    return None


def _layout_of(value: object, options: ReadOptions) -> str:
    """Return the layout of a file that has this value on a line; empty if the value does not decide it."""
    if kind := options.session or recognise.session_format(value):
        return kind
    if recognise.is_message(value):
        return _MESSAGES
    is_whole = recognise.is_conversation(value) or recognise.is_window(value) or isinstance(value, list)
    return _CONVERSATIONS if is_whole else ""


def _values(lines: Iterator[FileLine], options: ReadOptions) -> Iterator[object]:
    """Yield the values of lines that are parts of one conversation. A broken line is reported and left out."""
    for line in lines:
        try:
            yield parsed(line.text, line.where)
        except InvalidMessage as problem:
            is_whole = not line.raw or line.raw.endswith(b"\n")
            options.on_skip(f"{problem.where}: " + (f"skipped, {problem.why}" if is_whole else NOT_ENDED))
