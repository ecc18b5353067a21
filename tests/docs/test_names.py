"""One word, one meaning: the places of docs/names.md exist, and old words stay out of the source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "transom"
ROWS = re.findall(
    r"^\| (?!term)([^|]+) \| ([^|]+) \| `([^`|]+)` \|$", (ROOT / "docs" / "names.md").read_text(), re.MULTILINE
)

NOUNS = {
    "pairing",
    "ranking",
    "quoting",
    "caching",
    "grounding",
    "masking",
    "reasoning",
    "rendering",
    "testing",
    "opening",
}
"""Standard nouns of the field that end in -ing."""

RETIRED = frozenset(
    {
        "Ahead",
        "Aim",
        "AppendOnly",
        "Brakes",
        "Builder",
        "ByIdentity",
        "Chain",
        "Compactor",
        "Complete",
        "Cut",
        "Dedupe",
        "Derived",
        "DropMedia",
        "DropReasoning",
        "Elide",
        "ErrorPurge",
        "Folded",
        "Frame",
        "Keeper",
        "LADDER",
        "Losses",
        "Measure",
        "Rolling",
        "Settle",
        "Settled",
        "SourceText",
        "Stretch",
        "StubStale",
        "SummaryWork",
        "Tally",
        "TextReference",
        "Told",
        "Want",
        "_Cutter",
        "_dressed",
        "_looks",
        "_nudge",
        "_press",
        "_put",
        "_relieve",
        "_revoid",
        "_spare",
        "_touch",
        "binds",
        "fold_over",
        "forget_digest",
        "front",
        "joined_text",
        "kid_at",
        "newest_edit",
        "nudge",
        "priced",
        "refilled",
        "resized",
        "soft_limit",
        "source_text",
        "split_text",
        "stow",
        "sum_of_costs",
        "surfaced_units",
        "view_at",
        "view_of",
        "voided",
    }
)
"""Identifiers that had a meaning of their own, and have a better name now."""

RETIRED_WORDS = frozenset(
    {
        "aim",
        "chain",
        "cuts",
        "cutter",
        "dead",
        "drawing",
        "drawn",
        "handed",
        "handing",
        "mend",
        "mended",
        "nudge",
        "saying",
        "stow",
        "stretch",
        "tell",
        "telling",
        "told",
        "voided",
    }
)
"""Words that no identifier contains."""

RETIRED_FOLDERS = frozenset({"drive"})


def names_in(tree: ast.AST) -> Iterator[str]:
    """What a module gives a name to: classes, functions, parameters, variables, attributes."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.arg(arg=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.alias(asname=str(name)):
                yield name
            case _:
                pass


def words_of(name: str) -> set[str]:
    """The words of an identifier: snake_case and CamelCase."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def old_words(code: str) -> set[str]:
    """The identifiers of a module that should have another name."""
    return {name for name in names_in(ast.parse(code)) if name in RETIRED or words_of(name) & RETIRED_WORDS}


def has(tree: ast.Module | ast.ClassDef, path: list[str]) -> bool:
    """Whether a module or a class defines a name, and that name the next."""
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                if name == path[0]:
                    return len(path) == 1 or (isinstance(node, ast.ClassDef) and has(node, path[1:]))
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                if name == path[0]:
                    return len(path) == 1
            case _:
                pass
    return False


def test_each_term_lives_where_the_page_says() -> None:
    assert [f"{term}: there is no {place}" for term, _, place in ROWS if not exists(place)] == []


def exists(place: str) -> bool:
    """Whether there is such a file, with such a name if the place has one behind a colon."""
    name, _, inside = place.partition(":")
    return (SOURCE / name).exists() and (not inside or has(tree_of(SOURCE / name), inside.split(".")))


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def test_each_term_is_explained_once() -> None:
    terms = [term for term, _, _ in ROWS]
    assert len(terms) == len(set(terms)) > 40
    listed = [line for line in (ROOT / "docs" / "names.md").read_text().splitlines() if line.startswith("|")]
    tables = sum(line.startswith("|---") for line in listed)
    assert len(listed) == len(ROWS) + 2 * tables, "each row has a term, a meaning and one place"


def test_old_words_stay_out() -> None:
    files = {file: file.relative_to(SOURCE) for file in sorted(SOURCE.rglob("*.py"))}
    assert len(files) > 400
    found = {f"{path}": old for file, path in files.items() if (old := old_words(file.read_text(encoding="utf-8")))}
    assert found == {}
    ending = [
        path for path in files.values() if path.stem.endswith("ing") and path.stem.rpartition("_")[2] not in NOUNS
    ]
    assert ending == []
    assert [path for path in files.values() if RETIRED_FOLDERS.intersection(path.parts)] == []


def test_an_old_word_would_be_found() -> None:
    code = "class Cut: pass\ndef stow_all(aims, aim): self.telling = x\nimport a as Ahead\nfor view_of in x: cut = 1"
    assert old_words(code) == {"Cut", "stow_all", "aim", "telling", "Ahead", "view_of"}
