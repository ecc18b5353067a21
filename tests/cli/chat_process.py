"""`transom chat` at a pseudo-terminal, with a scripted model.

Run as a program it is the chat itself: `chat_process.py SCRIPT ARGUMENTS…`.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Self

from transom.providers import PROVIDERS
from transom.providers.scripted import Fault, Scripted, call

LONG = " ".join(f"The crane MV-{number} lifts a container." for number in range(60))
HOSTILE = (
    "\x1b]0;owned\x07 \x1b[2J <http://x/%1B%5D0;owned%07> &#8238;abc [link](http://x/y) \u202eright "
    "`\x9b31m code`\n\n```\n\x1b[31mred\x1b]8;;http://x\x07\n```\n"
)
TALK = ["Hello, I am **bold**.\n\n- one\n- two\n\nThe end.", LONG, "A second answer."]
HARMFUL = [
    HOSTILE,
    call("shell\x1b]0;owned\x07", command="\x1b[2J"),
    call("read", path="\x1b[2J"),
    call("shell", command="echo \x1b[2J\x07"),
    HOSTILE,
    "Done.",
]
PRICES = "def total(prices):\n    return sum(prices[1:])\n"
SAMPLE = [
    call("read", path="prices.py"),
    "`total` adds the prices, but it leaves out the **first** one: `prices[1:]`.",
    call("write", path="prices.py", content=PRICES.replace("[1:]", "")),
    call("shell", command="python3 -c 'from prices import total; print(total([1, 2]))'"),
    "It adds all of them now.",
]
SAMPLE_LINES = ["What is wrong in prices.py?", "Mend it", "y", "y", "/context", "/quit"]
FILES = [
    call("write", path="notes.txt", content="one\ntwo\n"),
    "It is written.",
    call("shell", command="echo from-the-shell; exit 3"),
    "You refused.",
    call("shell", command="echo no"),
    "You refused again.",
    call("shell", command="touch made-by-shell; echo from-the-shell"),
    call("read", path="../secret.txt"),
    call("grep", pattern="tw."),
    "All done.",
]
SLOW = [
    LONG,
    "The rest of it.",
    Fault(kind="auth", status=401),
    "It works again.",
    call("shell", command="echo $$ > pid; sleep 60"),
]


class Slow(Scripted):
    """Sends its chunks slowly enough to be interrupted."""

    def stream(self, *arguments, **settings):
        for chunk in super().stream(*arguments, **settings):
            time.sleep(0.01)
            yield chunk


def talk(_model: str, **_: object) -> Scripted:
    return Scripted(*TALK)


def hostile(_model: str, **_: object) -> Scripted:
    return Scripted(*HARMFUL)


def sample(_model: str, **_: object) -> Scripted:
    return Scripted(*SAMPLE)


def files(_model: str, **_: object) -> Scripted:
    return Scripted(*FILES)


def slow(_model: str, **_: object) -> Scripted:
    return Slow(*SLOW)


class ChatTerminal:
    """A chat in a process of its own, and the terminal that it runs in."""

    def __init__(self, script: str, *arguments: str, cwd: Path | None = None) -> None:
        self._master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (24, 100))
        paths = os.pathsep.join(filter(None, (str(Path(__file__).parent), os.environ.get("PYTHONPATH"))))
        environment = {**os.environ, "TERM": "xterm", "PYTHONPATH": paths, "INPUTRC": os.devnull}
        environment.pop("COLUMNS", None)
        self._process = subprocess.Popen(
            [sys.executable, __file__, script, *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            cwd=cwd,
            start_new_session=True,
        )
        os.close(slave)
        self._bytes = b""
        self._seen = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._master)

    def type(self, line: str) -> None:
        os.write(self._master, f"{line}\r".encode())

    def interrupt(self) -> None:
        os.write(self._master, b"\x03")

    def interrupt_until(self, pattern: str) -> str:
        """What is printed up to the pattern, with Ctrl-C at every prompt. Again after some time: one that comes while
        the line editor begins to read is not seen before the next."""
        for _ in range(10):
            self.interrupt()
            end = time.monotonic() + 2
            while time.monotonic() < end:
                if re.compile(pattern).search(self.text(), self._seen):
                    return self.expect(pattern)
                self._read(0.1)
        return self.expect(pattern)

    def expect(self, pattern: str, seconds: float = 20.0) -> str:
        """What is printed up to the pattern. Fails if it does not come in time."""
        end = time.monotonic() + seconds
        while True:
            text = self.text()
            if found := re.compile(pattern).search(text, self._seen):
                before, self._seen = text[self._seen : found.end()], found.end()
                return before
            assert time.monotonic() < end, f"no {pattern!r} in {text[self._seen :]!r}"
            self._read(0.1)

    def ended(self) -> int:
        """The exit code, when the chat has ended."""
        while self._process.poll() is None:
            self._read(0.1)
        return self._process.wait(20)

    @property
    def raw(self) -> str:
        """Everything that came to the terminal."""
        return self._bytes.decode("utf-8", "ignore")

    def text(self) -> str:
        """What was printed, without the sequences by which the program moves its own cursor."""
        return re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]|\r", "", self.raw)

    def _read(self, seconds: float) -> None:
        if select.select([self._master], [], [], seconds)[0]:
            try:
                self._bytes += os.read(self._master, 65_536)
            except OSError:  # the other end is closed
                time.sleep(0.01)


if __name__ == "__main__":
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    PROVIDERS["scripted"] = f"chat_process:{sys.argv[1]}"
    from transom.cli import main

    sys.exit(main(["chat", *sys.argv[2:]]))
