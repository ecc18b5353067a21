"""Shows on stderr what a command is doing. Nothing is shown in the first second, and nothing where there is no
terminal."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock, Timer
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


class ProgressBar:
    """A context with a progress bar, which shows what is being done and which share of the work is done.

    The bar appears after DELAY seconds. Until `update` is called, it says "reading", and a share of 0.
    """

    def __init__(self) -> None:
        self._lock = RLock()  # the timer's thread shows the bar
        self._is_shown = False
        self._progress = Progress(*self._columns(), console=terminal(aside=True), transient=True)
        self._task = self._progress.add_task("reading", total=1.0)
        self._timer = Timer(DELAY, self._show)
        self._timer.daemon = True

    def _columns(self) -> tuple[ProgressColumn, ...]:
        return TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()

    def update(self, share: float, label: str) -> None:
        """Set the share, from 0 to 1, and the label."""
        self._progress.update(self._task, completed=share, description=label)

    def above(self, show: Callable[[], None]) -> None:
        """Hide the bar, call `show`, which prints something, and show the bar again below that."""
        with self._lock:
            if self._is_shown:
                self._progress.stop()
            show()
            if self._is_shown:
                self._progress.start()

    def _show(self) -> None:
        with self._lock:
            self._is_shown = True
            self._progress.start()

    def __enter__(self) -> Self:
        if self._progress.console.is_terminal:
            self._timer.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._timer.cancel()
        if self._timer.is_alive():
            self._timer.join()
        if self._is_shown:
            self._progress.stop()


class _Spinner(ProgressBar):
    def _columns(self) -> tuple[ProgressColumn, ...]:
        return SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()


def at_work(label: str) -> ProgressBar:
    """A context that shows what is being done, and for how long, from DELAY seconds on until the block ends.

    This is for work of which nobody knows the share that is done. The block must not print.
    """
    spinner = _Spinner()
    spinner.update(0.0, label)
    return spinner
