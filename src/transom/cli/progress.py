"""Shows on stderr what a command is doing. Nothing is shown in the first second, and nothing where there is no
terminal."""

from __future__ import annotations

from collections.abc import Callable
from threading import Timer
from typing import Self

from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from transom.cli.terminal import terminal

DELAY = 1.0
"""Seconds of work before something appears."""

LABEL = TextColumn("{task.description}", markup=False)


class ProgressBar:
    """A context with a progress bar on stderr, which shows what is being done and which share of the work is done.

    The bar appears after DELAY (1) seconds, and only if stderr is a terminal; it is gone at the end of the block. Until
    `update` is called, it says `label` and a share of 0. `columns`: of rich, in place of the usual ones.
    """

    def __init__(self, *columns: ProgressColumn, label: str = "reading") -> None:
        shown = columns or (LABEL, BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        self._progress = Progress(*shown, console=terminal(aside=True), transient=True)
        self._task = self._progress.add_task(label, total=1.0)
        self._timer = Timer(DELAY, self._progress.start)
        self._timer.daemon = True

    def update(self, share: float, label: str) -> None:
        """Set the share of the work that is done, from 0 to 1, and the label that says what is being done."""
        self._progress.update(self._task, completed=share, description=label)

    def above(self, show: Callable[[], None]) -> None:
        """Hide the bar, call `show`, which prints something, and show the bar again below that."""
        is_shown = self._progress.live.is_started
        if is_shown:
            self._progress.stop()
        show()
        if is_shown:
            self._progress.start()

    def __enter__(self) -> Self:
        if self._progress.console.is_terminal:
            self._timer.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._timer.cancel()
        if self._timer.is_alive():
            self._timer.join()
        if self._progress.live.is_started:
            self._progress.stop()


def at_work(label: str) -> ProgressBar:
    """A context that shows `label`, what is being done, and for how long, from DELAY (1) seconds on until the block
    ends; only if stderr is a terminal.

    This is for work of which nobody knows the share that is done. The block must not print.
    """
    return ProgressBar(SpinnerColumn(), LABEL, TimeElapsedColumn(), label=label)
