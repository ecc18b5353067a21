"""Reports about recorded conversations: do the windows of a policy keep what they must (`run_checks`), and do they
change what a model does next (`run_shadow`)?

`run_checks(read_check_file(path))` is what the command `transom check` and the pytest plugin do; `plan_shadow` and
`run_shadow` are what `transom shadow` does. Each module is loaded at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transom.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from transom.reports.check_file import Check, CheckFile, read_check_file
    from transom.reports.checks import Checked, CheckFailure, CheckResult, HidingEdit, run_checks
    from transom.reports.shadow import Shadow, ShadowAnswer, ShadowCall, ShadowPlan, plan_shadow, run_shadow

__all__ = [
    "Check",
    "CheckFailure",
    "CheckFile",
    "CheckResult",
    "Checked",
    "HidingEdit",
    "Shadow",
    "ShadowAnswer",
    "ShadowCall",
    "ShadowPlan",
    "plan_shadow",
    "read_check_file",
    "run_checks",
    "run_shadow",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "reports.check_file": ("Check", "CheckFile", "read_check_file"),
        "reports.shadow": ("Shadow", "ShadowAnswer", "ShadowCall", "ShadowPlan", "plan_shadow", "run_shadow"),
        "reports.checks": ("CheckFailure", "CheckResult", "Checked", "HidingEdit", "run_checks"),
    },
)
