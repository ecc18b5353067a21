"""Reports about recorded conversations: do the windows of a policy keep what they must (`run_checks`)?

`run_checks(read_check_file(path))` is what the command `transom check` and the pytest plugin do. Each module is loaded
at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transom.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from transom.reports.check_file import Check, CheckFile, read_check_file
    from transom.reports.checks import Checked, CheckFailure, CheckResult, HidingEdit, run_checks

__all__ = [
    "Check",
    "CheckFailure",
    "CheckFile",
    "CheckResult",
    "Checked",
    "HidingEdit",
    "read_check_file",
    "run_checks",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "reports.check_file": ("Check", "CheckFile", "read_check_file"),
        "reports.checks": ("CheckFailure", "CheckResult", "Checked", "HidingEdit", "run_checks"),
    },
)
