"""The example of docs/search.md runs."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "search.md"


def test_the_example_runs():
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    exec(block, {})
