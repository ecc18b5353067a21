"""A progress bar on stderr, for work that takes over a second in front of a person."""

from __future__ import annotations

from time import monotonic
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn

from transom.cli.waiting import Watch

PATIENCE = 1.0
"""Seconds before it shows."""


class Bar:
    """Shows how far the work is, from 0 to 1, and what it is at. Each step is one for `watch`, too."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._console = Console(stderr=True)
        self._begun = monotonic()
        self._progress: Progress | None = None
        self._task = TaskID(0)

    def at(self, share: float, label: str) -> None:
        """The work has come this far."""
        self._watch.step()
        if self._progress is None:
            if not self._console.is_terminal or monotonic() - self._begun < PATIENCE:
                return
            self._progress = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TaskProgressColumn(),
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )
            self._task = self._progress.add_task(label, total=1.0)
            self._progress.start()
        self._progress.update(self._task, completed=share, description=label)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()
