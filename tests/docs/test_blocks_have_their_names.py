"""Every block of Python in the documentation is complete, or goes on with the blocks above it on its page."""

from __future__ import annotations

import ast
import builtins
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "why").glob("*.md"))]
YOURS = {"frameworks.md": {"tools"}, "wrap.md": {"task", "tools", "look"}}
"""What a page says is the reader's own, by the page in docs."""
_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


def defined(tree: ast.AST) -> Iterator[str]:
    """The names that some code binds, at any place in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs) and node.name:
            yield node.name


def missing_names(page: str) -> list[str]:
    """The names that a block of this page uses, and that neither it nor a block above it has."""
    known, missing = set(dir(builtins)), list[str]()
    for block in _BLOCK.findall(page):
        tree = ast.parse(textwrap.dedent(block))  # a block may go on inside a `with` of the one above
        known.update(defined(tree))
        used = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
        missing += dict.fromkeys(name for name in used if name not in known)
    return missing


def test_a_name_that_nothing_has_is_found() -> None:
    page = "```python\nimport a\n```\n```python\nb = a.c(lambda d: d)\nprint(b, openai)\n```\n"
    assert missing_names(page) == ["openai"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_block_uses_a_name_that_its_page_does_not_have(page: Path) -> None:
    text, yours = (
        page.read_text(encoding="utf-8"),
        YOURS.get(str(page.relative_to(ROOT / "docs")) if page.is_relative_to(ROOT / "docs") else "", set()),
    )
    assert set(missing_names(text)) == yours
    assert not yours or re.search("(of your own|are yours)", text)
