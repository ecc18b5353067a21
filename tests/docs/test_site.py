"""The site: its navigation has every page once, and whoever has a task finds the answer in two clicks."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scripts.reference import groups_of_files

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SETTINGS = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
START = (DOCS / "README.md").read_text(encoding="utf-8")
TASKS = {
    "My agent overflows": "my-agent-overflows.md",
    "My bill is high": "my-bill-is-high.md",
    "My agent forgets": "my-agent-forgets.md",
    "What did the model see?": "what-did-the-model-see.md",
    "Put it before Claude Code": "proxy.md",
    "Bring my sessions": "import-export.md",
    "Write a strategy": "write-your-own-strategy.md",
}


def entries(nav: list[Any]) -> Iterator[tuple[str, str]]:
    """The pages of a navigation, each with its title; the page of a group has none."""
    for entry in nav:
        if isinstance(entry, str):
            yield "", entry
            continue
        for title, inside in entry.items():
            yield from [(title, inside)] if isinstance(inside, str) else entries(inside)


NAVIGATION = list(entries(SETTINGS["nav"]))


def test_the_navigation_has_every_page_once() -> None:
    pages = [page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")]
    assert sorted(page for _, page in NAVIGATION) == sorted(pages), "give the page a place in zensical.toml"


def test_the_reference_is_in_the_order_of_its_index() -> None:
    listed = [page.removeprefix("reference/") for _, page in NAVIGATION if page.startswith("reference/")]
    modules = [file for files in groups_of_files().values() for file in files]
    assert listed == ["README.md", *modules, "command-line.md"]


def test_each_task_is_one_click_from_the_start() -> None:
    groups = {title: inside for entry in SETTINGS["nav"] for title, inside in entry.items()}
    assert dict(entries(groups["What do you want to do?"])) == TASKS
    assert dict(re.findall(r"^\| \[([^\]]+)\]\(([^)]+)\) \|", START, re.MULTILINE)) == TASKS


def test_nothing_is_loaded_from_elsewhere() -> None:
    assert SETTINGS["theme"]["font"] is False
    assert "plugins" not in SETTINGS
    for page in DOCS.rglob("*.md"):
        assert not re.search(r"!\[[^\]]*\]\(\w+://|<(img|script|link|iframe)\b", page.read_text(encoding="utf-8")), page


def test_the_code_of_every_page_is_run() -> None:
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    pages = [page.name for page in DOCS.glob("*.md") if "```python" in page.read_text(encoding="utf-8")]
    by_pattern = [page for page in pages if page.startswith("agent-loop-")]  # tests/clients/test_agent_loops.py
    assert [page for page in pages if f'"{page}"' not in tests and page not in by_pattern] == []
