"""A progress bar on stderr, for work that takes over a second in front of a person."""

from __future__ import annotations

from time import monotonic
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn

from transom.cli.lock_notice import Watch

PATIENCE = 1.0
"""Seconds before it shows."""


class Bar:
    """Shows how far the work is, from 0 to 1, and what it is at. Each step is one for `watch`, too."""

    def __init__(self, watch: Watch) -> None:
        self._watch, self._begun = watch, monotonic()
        self._task: TaskID | None = None
        columns = TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn()
        self._progress = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)

    def at(self, share: float, label: str) -> None:
        """The work has come this far."""
        self._watch.step()
        if self._task is None:
            if not self._progress.console.is_terminal or monotonic() - self._begun < PATIENCE:
                return
            self._task = self._progress.add_task(label, total=1.0)
            self._progress.start()
        self._progress.update(self._task, completed=share, description=label)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._task is not None:
            self._progress.stop()
