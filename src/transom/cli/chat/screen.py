"""Shows a chat on the terminal (Markdown as it arrives, lines about tools, the gauge) and reads the user's lines.

No control character of a model, a tool or a log reaches the terminal. Texts are escaped before they are laid out, and
the terminal checks the result again, because Markdown can write a character as `&#8238;` or `%1B`.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.markdown import Markdown
from rich.segment import Segment
from rich.text import Text

from transom.cli.streams import forget_typed_input
from transom.cli.terminal import Terminal, terminal
from transom.quoting import escaped

GAUGE_WIDTH = 20
"""The width of the gauge, in characters."""
GAUGE_STYLES = {"normal": "green", "warning": "yellow", "compacting": "red"}
_FENCE = re.compile(r" {0,3}(```+|~~~+)")


def printable(text: str) -> str:
    """Escape the control characters of a text from outside. Line ends stay, a tab becomes 4 spaces."""
    return "\n".join(escaped(line) for line in text.replace("\r\n", "\n").replace("\t", "    ").split("\n"))


class Trimmed:
    """A renderable of rich that shows another one without empty lines around it and without spaces at line ends.

    `last_lines`: show at most this many lines, those at its end; None: all.
    """

    def __init__(self, renderable: RenderableType, *, last_lines: int | None = None) -> None:
        self._renderable, self._last_lines = renderable, last_lines

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the segments of the lines that are shown. Rich calls this."""
        lines = [_clean(line) for line in console.render_lines(self._renderable, options, pad=False)]
        while lines and not lines[-1]:
            lines.pop()
        begin = next((at for at, line in enumerate(lines) if line), 0)
        if self._last_lines is not None:
            begin = max(begin, len(lines) - self._last_lines)
        for line in lines[begin:]:
            yield from line
            yield Segment.line()


def _clean(line: list[Segment]) -> list[Segment]:
    """Return a line without control segments and without spaces at its end."""
    segments = [each for each in line if not each.control]
    while segments and not segments[-1].text.strip():
        segments.pop()
    if segments:
        segments[-1] = Segment(segments[-1].text.rstrip(), segments[-1].style)
    return segments


class MarkdownStream:
    """Shows Markdown that arrives in pieces: call `add` for each, and `end` at the end of each text, also after an
    error: until then, nothing else may be printed.

    A finished block is printed once. At a terminal, the block that is not finished is drawn again with each piece.
    Control characters are escaped.
    """

    def __init__(self, console: Terminal) -> None:
        self._console = console
        self._text = ""
        self._has_printed = False
        self._live: Live | None = None

    def add(self, piece: str) -> None:
        """Add the next piece of the text. Blocks that are finished are printed; at a terminal, what is not finished yet
        is shown too."""
        self._text += printable(piece)
        if "\n" in piece and (done := _finished(self._text)):
            self._print(self._text[:done])
            self._text = self._text[done:]
        if self._console.is_terminal and self._text.strip():
            if self._live is None:
                self._live = Live(console=self._console, transient=True, refresh_per_second=10, redirect_stdout=False)
                self._live.start()
            self._live.update(Trimmed(_markdown(self._text), last_lines=max(1, self._console.height - 2)))

    def end(self) -> None:
        """Print what is left of the text. The next piece begins a new text."""
        if self._live is not None:
            self._live.update("")
            self._live.stop()
            self._live = None
        rest, self._text = self._text, ""
        self._print(rest)
        self._has_printed = False

    def _print(self, text: str) -> None:
        if text.strip():
            if self._has_printed:
                self._console.print()
            self._has_printed = True
            self._console.print(Trimmed(_markdown(text)), crop=False)


class Screen:
    """The terminal of a chat: `is_interactive` is true if a person types there."""

    def __init__(self) -> None:
        self.console = terminal()
        self.is_interactive = sys.stdin.isatty()
        if self.is_interactive:
            import_module("readline")  # `input` edits lines, and has a history

    def ask(self, prompt: str, *, fresh: bool = False) -> str:
        """Print `prompt` as it is, and read one line from the user, without blanks at both ends. Raises EOFError at the
        end of the input, KeyboardInterrupt for Ctrl-C.

        `fresh`: what was typed at a terminal before now is not the answer, and is thrown away.
        If the input is no terminal, the line is printed too, so that the output shows it.
        """
        self.console.file.flush()
        if fresh:
            forget_typed_input()
        line = input(prompt)
        if not self.is_interactive:
            self.console.print(printable(line), soft_wrap=True)
        return line.encode("utf-8", "replace").decode("utf-8").strip()

    def print(self, text: str = "", style: str = "") -> None:
        """Print a text of one or more lines, in a style of rich. Its control characters are escaped."""
        self.console.print(Text(printable(text), style=style), soft_wrap=True)

    def print_markdown(self, text: str) -> None:
        """Print a complete text as Markdown. Its control characters are escaped."""
        self.console.print(Trimmed(_markdown(printable(text))), crop=False)

    def gauge(self, percent: float, status: str, words: str) -> None:
        """Print a bar that shows how full the window is.

        `percent`: 0 to 100; `status`: a key of GAUGE_STYLES, which gives the colour (none for another text); `words`:
        stand behind the bar.
        """
        cells = min(GAUGE_WIDTH, round(percent * GAUGE_WIDTH / 100) or int(percent > 0))
        bar = ("█" * cells, GAUGE_STYLES.get(status, ""))
        rest = ("░" * (GAUGE_WIDTH - cells), "dim")
        self.console.print(Text.assemble(bar, rest, (f" {words}", "dim")), soft_wrap=True)


def _markdown(text: str) -> Markdown:
    """Make Markdown whose links show their address, because the model chooses both the text and the address."""
    return Markdown(text, hyperlinks=False, code_theme="ansi_dark")


def _finished(text: str) -> int:
    """Return where the finished blocks end: behind the last empty line that is not in a code block; 0 if there is
    none."""
    done = at = 0
    fence = ""
    for line in text.splitlines(keepends=True):
        at += len(line)
        if found := _FENCE.match(line):
            if not fence:
                fence = found[1]
            elif found[1].startswith(fence):
                fence = ""
        elif not fence and not line.strip() and line.endswith("\n"):
            done = at
    return done
