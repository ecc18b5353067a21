"""What the documentation points at exists: pages, headings, files, commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
WRITTEN_BY_PROGRAMS = ("docs/policies.md", "docs/reference")
PLACES = [ROOT, *(path for path in (ROOT / "src" / "transom").rglob("*") if path.is_dir()), ROOT / "src" / "transom"]


def prose(path: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchors(path: Path) -> set[str]:
    """The headings of a page as GitHub links to them."""
    heads = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        path = page.parent / name if name else page
        assert path.exists(), target
        assert not anchor or anchor in anchors(path), target


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if not page.relative_to(ROOT).as_posix().startswith(WRITTEN_BY_PROGRAMS)],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_source_files_that_are_named_exist(page: Path) -> None:
    blocks = re.findall(r"<!-- (\w+\.py) -->", page.read_text(encoding="utf-8"))
    for name in re.findall(r"`([\w./]+\.py)`", prose(page)):
        assert name in blocks or any((place / name).is_file() for place in PLACES), name


def test_every_page_is_reached_from_the_readme() -> None:
    reached, waiting = set[Path](), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page.suffix != ".md" or page in reached:
            continue
        reached.add(page)
        links = (target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)))
        waiting += [(page.parent / link).resolve() for link in links if link and "://" not in link]
    assert sorted(set(PAGES) - reached) == []
