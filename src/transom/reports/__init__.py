"""Reports about recorded conversations: do the windows of a policy keep what they must (`run_checks`), and do they
change what a model does next (`run_shadow`)?

`run_checks(read_check_file(path))` is what the command `transom check` and the pytest plugin do; `plan_shadow` and
`run_shadow` are what `transom shadow` does. Each module is loaded at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transom.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from transom.reports.check_file import Check as Check
    from transom.reports.check_file import CheckFile as CheckFile
    from transom.reports.check_file import read_check_file as read_check_file
    from transom.reports.checks import Checked as Checked
    from transom.reports.checks import CheckFailure as CheckFailure
    from transom.reports.checks import CheckResult as CheckResult
    from transom.reports.checks import HidingEdit as HidingEdit
    from transom.reports.checks import run_checks as run_checks
    from transom.reports.shadow import Shadow as Shadow
    from transom.reports.shadow import ShadowAnswer as ShadowAnswer
    from transom.reports.shadow import ShadowCall as ShadowCall
    from transom.reports.shadow import ShadowPlan as ShadowPlan
    from transom.reports.shadow import plan_shadow as plan_shadow
    from transom.reports.shadow import run_shadow as run_shadow

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "reports.check_file": "Check CheckFile read_check_file",
        "reports.shadow": "Shadow ShadowAnswer ShadowCall ShadowPlan plan_shadow run_shadow",
        "reports.checks": "CheckFailure CheckResult Checked HidingEdit run_checks",
    },
)
