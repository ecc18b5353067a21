"""Shows on stderr what a command is doing, for work that takes more than a second on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Timer
from time import monotonic
from typing import Self

from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from transom.cli.terminal import terminal

DELAY = 1.0
"""Seconds of work before something appears."""


class ProgressBar:
    """A context with a progress bar, which shows the share of the work that is done and what is being done."""

    def __init__(self) -> None:
        self._begin = monotonic()
        self._task: TaskID | None = None
        columns = TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn()
        self._progress = Progress(*columns, TimeRemainingColumn(), console=terminal(aside=True), transient=True)

    def update(self, share: float, label: str) -> None:
        """Set the share, from 0 to 1, and the label.

        The bar appears at the first update after DELAY seconds, on a terminal only.
        """
        if self._task is None:
            if not self._progress.console.is_terminal or monotonic() - self._begin < DELAY:
                return
            self._task = self._progress.add_task(label, total=1.0)
            self._progress.start()
        self._progress.update(self._task, completed=share, description=label)

    def above(self, show: Callable[[], None]) -> None:
        """Call `show`, which prints something, while the bar is hidden."""
        if self._task is not None:
            self._progress.stop()
        show()
        if self._task is not None:
            self._progress.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._task is not None:
            self._progress.stop()


@contextmanager
def at_work(label: str) -> Generator[None]:
    """Show what is being done and for how long, from DELAY seconds on until the block ends, on a terminal only.

    For work whose share is not known. The block prints nothing.
    """
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    progress = Progress(*columns, console=terminal(aside=True), transient=True)
    if not progress.console.is_terminal:
        yield
        return
    progress.add_task(label, total=None)
    timer = Timer(DELAY, progress.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        progress.stop()
