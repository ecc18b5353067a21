"""The tools of a chat: read, write, grep and shell, in the folder where the chat was started."""

from __future__ import annotations

import difflib
import os
import select
import signal
import stat
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from transom.errors import InvalidSetting, quote
from transom.providers.base import without_key_variables
from transom.quoting import escaped
from transom.readback.patterns import Pattern, compile_pattern, matching_lines

NAMES = ("read", "write", "grep", "shell")
NEEDS_CONSENT = frozenset({"write", "shell"})

MAX_FILE = 2_000_000
"""The most bytes of a file that `read` reads and `grep` searches; a larger file is refused or left out."""
MAX_MATCHES = 100
MAX_LINE = 300
"""The most characters of a line that `grep` shows."""
MAX_OUTPUT = 100_000
"""The most bytes of a command's output that the model gets: half of them from its beginning, half from its end."""
MAX_SECONDS = 600
SHOWN_LINES = 40
"""The most lines of a change that are shown before the user is asked."""


class ToolError(Exception):
    """Raised by a tool for a call that cannot be carried out, such as one with a wrong path. The run makes the message
    the result of the call, so that the model reads it."""


class ChatTools:
    """Tools that work in one folder. `read`, `write` and `grep` refuse paths outside of it; `shell` cannot."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._starting = threading.Lock()

    def named(self, names: str) -> list[Callable[..., Any]]:
        """Return the tools with these names, which are separated by commas, each once, in this order; "none" and an
        empty name give no tool.

        Raises InvalidSetting for an unknown name.
        """
        wanted = [name for each in names.split(",") if (name := each.strip()) and name != "none"]
        if unknown := [name for name in wanted if name not in NAMES]:
            raise InvalidSetting(f"tools: there is no {quote(unknown[0])}; there are {', '.join(NAMES)}, none")
        return [getattr(self, name) for name in dict.fromkeys(wanted)]

    def stop(self) -> None:
        """Kill every command that `shell` is running."""
        with self._starting:  # a command that has begun, and is not in the set yet, would go on
            running = tuple(self._running)
        for process in running:
            _kill(process)

    # ---- what the model can call

    def read(self, path: str, start: int = 1, lines: int = 500) -> str:
        """Read a text file, with line numbers.

        Args:
            path: the file, relative to the working folder
            start: the first line to read, from 1
            lines: how many lines to read
        """
        file = self._inside(path)
        if not file.is_file():
            raise ToolError(f"there is no file {path}")
        text = _text(file)
        if text is None:
            raise ToolError(f"{path} is binary, or larger than {MAX_FILE:,} bytes")
        found = text.splitlines()
        first, last = max(1, start), min(len(found), max(1, start) + max(1, lines) - 1)
        shown = [f"{number:>5}  {found[number - 1]}" for number in range(first, last + 1)]
        rest = [f"({len(found):,} lines in all; start={last + 1} goes on)"] if last < len(found) else []
        return "\n".join([*shown, *rest]) or "(empty)"

    def write(self, path: str, content: str) -> str:
        """Write a whole text file. The user is asked first.

        Args:
            path: the file, relative to the working folder
            content: everything that the file is to contain
        """
        file = self._inside(path)
        existed = file.exists()
        file.parent.mkdir(parents=True, exist_ok=True)
        with _opened(file, os.O_WRONLY | os.O_CREAT) as stream:
            stream.truncate()
            stream.write(content.encode("utf-8", "replace"))
        return f"{path} {'replaced' if existed else 'created'}, {len(content.splitlines()):,} lines"

    def grep(self, pattern: str, path: str = ".") -> str:
        """Search the lines of text files. Hidden files and folders are left out.

        Args:
            pattern: a regular expression in the syntax of RE2
            path: a file or a folder, relative to the working folder
        """
        compiled = compile_pattern(pattern)
        found: list[str] = []
        for file in _files(self._inside(path)):
            for line in _matches(file, compiled):
                if len(found) == MAX_MATCHES:
                    return "\n".join([*found, f"(only the first {MAX_MATCHES} matches)"])
                found.append(f"{file.relative_to(self._folder).as_posix()}:{line}")
        return "\n".join(found) or "no match"

    def shell(self, command: str, timeout: int = 120) -> str:
        """Run a command in a shell, in the working folder, without input. The user is asked first.

        Args:
            command: what to run
            timeout: seconds until it is ended
        """
        seconds = min(max(1, timeout), MAX_SECONDS)
        with self._starting:
            process = subprocess.Popen(  # noqa: S602 - a shell is what was asked for, and the user has agreed
                command,
                shell=True,
                cwd=self._folder,
                env=without_key_variables(os.environ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # so that all of it can be ended, and Ctrl-C does not reach it twice
            )
            self._running.add(process)
        late = threading.Event()

        def end() -> None:
            late.set()
            _kill(process)

        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()
        try:
            output = _output(process, time.monotonic() + seconds)
            code = process.wait()
        finally:
            timer.cancel()
            self._running.discard(process)
        if late.is_set():
            return f"{output}\n(ended after {seconds} s)"
        return output if code == 0 and output else f"{output}\n(exit code {code})".strip()

    # ---- for the user

    def preview(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Describe what a call of `write` or `shell` would do, for the user who is asked: the first `SHOWN_LINES` (40)
        lines of the diff, or the whole command. `arguments` may be wrong; nothing is raised. Control characters are not
        escaped: `Screen.print` does it."""
        if name == "shell":
            first, *more = str(arguments.get("command", "")).split("\n")
            return "\n".join([f"$ {first}", *(f"> {line}" for line in more)])
        path, content = escaped(str(arguments.get("path", ""))), str(arguments.get("content", ""))
        before = ""
        with suppress(ToolError, OSError):
            before = _text(self._inside(str(arguments.get("path", "")))) or ""
        changed = difflib.unified_diff(before.splitlines(), content.splitlines(), path, path, lineterm="", n=2)
        lines = [line for number, line in enumerate(changed) if number > 1]
        more = [f"… and {len(lines) - SHOWN_LINES:,} lines more"] if len(lines) > SHOWN_LINES else []
        return "\n".join([f"write {path}", *lines[:SHOWN_LINES], *more])

    def _inside(self, path: str) -> Path:
        """Resolve a path, links included. Raises ToolError if it is not in the working folder, and if no file can have
        it: it has a null character or half a surrogate pair, or its links lead back to it."""
        try:
            found = (self._folder / path).resolve()
            with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                found.stat()  # since Python 3.13 `resolve` does not raise for links that lead back
        except (OSError, ValueError, RuntimeError) as error:
            raise ToolError(f"{path!r} is no path: {error}") from None
        if not found.is_relative_to(self._folder):
            raise ToolError(f"{path} is outside of the working folder")
        return found


def _opened(file: Path, flags: int) -> IO[bytes]:
    """Open a regular file, with flags of `os.open`. Raises ToolError if it cannot be opened, and for a pipe, a device
    or a folder: a tool must not wait for another process.

    The open file is checked, not its name, which may stand for another file by then.
    """
    try:
        number = os.open(file, flags | os.O_NONBLOCK, 0o666)
    except OSError as error:  # ENXIO: a pipe that nobody reads, a socket
        raise ToolError(f"{file.name} cannot be opened: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise ToolError(f"{file.name} is no regular file")
    return os.fdopen(number, "wb" if flags & os.O_WRONLY else "rb")


def _text(file: Path) -> str | None:
    """Read a text file; None if it is missing, no regular file, binary, or larger than MAX_FILE."""
    with suppress(ToolError), _opened(file, os.O_RDONLY) as stream:
        data = stream.read(MAX_FILE + 1)
        if len(data) <= MAX_FILE and b"\0" not in data:
            return data.decode("utf-8", "replace")
    return None


def _files(place: Path) -> Iterator[Path]:
    """Yield a file itself, or the files below a folder in the order of their names, without hidden files and links."""
    if place.is_file():
        yield place
        return
    for folder, names, files in os.walk(place):
        names[:] = sorted(name for name in names if not name.startswith("."))
        for name in sorted(files):
            file = Path(folder, name)
            if not name.startswith(".") and not file.is_symlink():
                yield file


def _matches(file: Path, pattern: Pattern) -> Iterator[str]:
    with suppress(OSError):
        text = _text(file)
        lines = [] if text is None else text.split("\n")
        for match in matching_lines("\n".join(lines).encode(), pattern):
            yield f"{match.line}: {lines[match.line - 1][:MAX_LINE]}"


def _output(process: subprocess.Popen[bytes], end: float) -> str:
    """Return what a process prints until it closes its output; of more than MAX_OUTPUT bytes, the beginning and the
    end.

    `end`: when to stop reading, by the monotonic clock. A process in the background may never close the output.
    """
    assert process.stdout is not None
    head, tail, left_out = bytearray(), bytearray(), 0
    half = MAX_OUTPUT // 2
    with process.stdout as stream:
        while select.select([stream], [], [], max(0.0, end - time.monotonic()))[0]:
            if not (chunk := os.read(stream.fileno(), 65_536)):
                break
            room = half - len(head)
            head += chunk[:room]
            tail += chunk[room:]
            if len(tail) > 2 * half:
                left_out += len(tail) - half
                del tail[:-half]
    if len(tail) > half:
        left_out += len(tail) - half
        del tail[:-half]
    between = f"\n(… {left_out:,} bytes left out …)\n".encode() if left_out else b""
    return bytes(head + between + tail).decode("utf-8", "replace").rstrip("\n")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with all processes that it has started. Does nothing if it has ended."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
