"""If the core grows beyond this, there is a fifth wheel in it."""

from __future__ import annotations

from pathlib import Path

import transom.core

SOURCE = Path(transom.core.__file__).parent


def test_the_core_is_under_2500_lines():
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCE.glob("*.py")) < 2_500


def test_the_whole_source_is_well_under_12000_lines():
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCE.parent.rglob("*.py")) < 12_000
