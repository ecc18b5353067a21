"""The pytest plugin: files whose names end in `.check.toml` are collected, and each check is a test.

pytest loads it in every environment that has this package, so it imports nothing of it until it collects such a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from transom.reports.check_file import CheckFile
    from transom.reports.checks import CheckFailure, CheckResult


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Make the collector of a file of checks, by its name; None for any other file. A hook of pytest."""
    if file_path.name.endswith(".check.toml"):
        return CollectedFile.from_parent(parent, path=file_path)  # pyright: ignore[reportUnknownMemberType]
    return None


class CheckFailedError(Exception):
    """A check that failed. The message has the lines of all its failures."""

    def __init__(self, failures: tuple[CheckFailure, ...]) -> None:
        from transom.quoting import escaped  # noqa: PLC0415 - see the docstring of the module

        super().__init__("\n".join(escaped(line) for failure in failures for line in failure.lines()))


class CollectedFile(pytest.File):
    """A file of checks. Its conversations are replayed once, when the first of its checks runs."""

    _file: CheckFile | None = None
    _results: dict[str, CheckResult] | None = None

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test for each check. Raises CollectError if anything is wrong in the file."""
        from transom.errors import InvalidSetting  # noqa: PLC0415 - see the docstring of the module
        from transom.reports.check_file import read_check_file  # noqa: PLC0415 - likewise

        try:
            self._file = read_check_file(self.path)
        except InvalidSetting as wrong:
            raise self.CollectError(str(wrong)) from None
        for check in self._file.checks:
            yield CollectedCheck.from_parent(self, name=check.name)  # pyright: ignore[reportUnknownMemberType]

    def result(self, name: str) -> CheckResult:
        """Return what became of the check with this name. The first call replays the conversations of the file, and
        raises what `run_checks` raises. Call `collect` before."""
        from transom.reports.checks import run_checks  # noqa: PLC0415 - see the docstring of the module

        if self._results is None:
            assert self._file is not None
            self._results = {result.name: result for result in run_checks(self._file).results}
        return self._results[name]


class CollectedCheck(pytest.Item):
    """One check, as a test."""

    def runtest(self) -> None:
        """Raise CheckFailedError if the check fails."""
        assert isinstance(self.parent, CollectedFile)
        if failures := self.parent.result(self.name).failures:
            raise CheckFailedError(failures)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> object:  # type: ignore[override]
        """Show a failed check as its sentences, an expected error as its line, and anything else as pytest does."""
        from transom.errors import TransomError  # noqa: PLC0415 - see the docstring of the module

        if isinstance(excinfo.value, CheckFailedError | TransomError | OSError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)  # type: ignore[arg-type]

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Name the file, no line, and the check: what pytest prints of a test."""
        return self.path, None, self.name
