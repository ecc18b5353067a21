"""The reference names everything that is public, and everything public says what it does."""

from __future__ import annotations

import pkgutil
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from scripts.reference import (
    ELSEWHERE,
    EXPLAINED_AT,
    FOLDER,
    MODULES,
    PARTS,
    command_group,
    comment_behind,
    doc,
    field_texts,
    fields,
    file_of,
    is_function,
    members,
    pages,
    pages_of_names,
    protocol_doc,
    public_names,
)

import transom


# Not at the collection: these import every module with its framework, in each process that collects tests.
@cache
def names() -> list[tuple[str, str]]:
    return [(module, name) for module in MODULES for name in public_names(import_module(module))]


@cache
def classes() -> list[tuple[str, str, type]]:
    found = [(module, name, getattr(import_module(module), name)) for module, name in names()]
    return [(module, name, kind) for module, name, kind in found if isinstance(kind, type)]


@cache
def made() -> dict[str, str]:
    """Each page as the code makes it."""
    return pages()


@cache
def headings(page: str) -> set[str]:
    return {line for line in made()[page].splitlines() if line.startswith("#")}


@cache
def sections(page: str) -> dict[str, str]:
    """The text of a page below the heading of each public name."""
    return {text.partition("\n")[0]: text for text in made()[page].split("\n## ")[1:]}


def test_every_name_has_its_place() -> None:
    listed = [(page.module, name) for page in pages_of_names() for name in page.names]
    assert sorted(listed) == sorted(names()), "give the new name a place in PARTS of scripts/reference.py"
    assert set(PARTS) <= {page.title for page in pages_of_names()}


def test_the_settings_of_a_run_are_where_run_is() -> None:
    text = made()["transom-conversation.md"].split("\n### run\n")[1].split("\n### ")[0]
    assert all(f"\n| `{field}` | " in text for field in fields(transom.RunOptions))


def test_every_package_with_public_names_has_a_page() -> None:
    found = [f"transom.{module.name}" for module in pkgutil.iter_modules(transom.__path__) if module.ispkg]
    public = {name for name in found if hasattr(import_module(name), "__all__")}
    assert public <= set(MODULES)


def test_every_public_name_has_a_section() -> None:
    unlisted = [f"{module}.{name}" for module, name in names() if f"## {name}" not in headings(file_of(module, name))]
    assert unlisted == [], "they have no section"
    unexplained = [f"{module}.{name}" for module, name in names() if not explanation(module, name).strip()]
    assert unexplained == []


def explanation(module: str, name: str) -> str:
    """What a public name is for: a docstring, or the string behind a constant."""
    value = getattr(import_module(module), name)
    return doc(value) if is_function(value) else comment_behind(import_module(module), name)


def test_every_method_has_a_section_and_a_docstring() -> None:
    unlisted = [
        f"{module}.{name}.{method}"
        for module, name, kind in classes()
        for method, _ in members(kind)
        if f"### {method}" not in headings(file_of(module, name))
    ]
    assert unlisted == [], "they have no section"
    unexplained = [
        f"{module}.{name}.{method}"
        for module, name, kind in classes()
        for method, found in members(kind)
        if not (doc(found) or protocol_doc(import_module(module), method) or method.startswith("test_"))
    ]
    assert unexplained == [], "they have no docstring"


def test_every_field_is_explained() -> None:
    """By a text behind it, which is a row of a table, or by its name in the docstring of the class, or of its public
    base class that has it."""
    all_fields = [(module, name, field) for module, name, kind in classes() for field in fields(kind)]
    wrong = [
        f"{module}.{name}.{field}: {lack}" for module, name, field in all_fields if (lack := lacks(module, name, field))
    ]
    assert wrong == []


def lacks(module: str, name: str, field: str) -> str:
    """What the explanation of a field lacks; empty if nothing."""
    kind, kinds = getattr(import_module(module), name), {each for _, each in names()}
    bases = [base for base in kind.__mro__[1:] if base.__name__ in kinds and field in fields(base)]
    owner = bases[-1] if bases else kind
    if field not in field_texts(owner) and f"`{field}`" not in doc(owner):
        return "a text"
    section = sections(file_of(module, name))[name]
    if (
        owner is kind
        and name not in EXPLAINED_AT
        and f"\n| `{field}` | " not in section
        and f"`{field}`" not in section
    ):
        return "its place in the reference"
    return "" if f"{field}: " in section else "its type"


@pytest.mark.parametrize("name", command_group().commands)
def test_every_command_has_its_options(name: str) -> None:
    page = made()["command-line.md"]
    text = page[page.index(f"## transom {name}\n") :].split("\n## ")[0]
    for parameter in command_group().commands[name].params:
        if "--help" not in parameter.opts:
            assert f"`{', '.join(parameter.opts)}" in text or f"`{parameter.metavar}`" in text, parameter.opts
            assert parameter.help, f"{name} {parameter.opts} has no help"


def test_the_files_are_current() -> None:
    written = {file.name: file.read_text(encoding="utf-8") for file in FOLDER.glob("*.md")}
    assert written.keys() == made().keys(), "run `make reference`"
    for name, text in made().items():
        assert written[name] == text, f"docs/reference/{name} is not what the code says: run `make reference`"


@cache
def listed() -> dict[str, set[str]]:
    found = {module: set(public_names(import_module(module))) for module in MODULES}
    return found | {module: set(names) for module, names in ELSEWHERE.items()}


IMPORT = re.compile(r"^\s*from (transom[\w.]*) import (?:\(([^)]*)\)|([^\n#]*))", re.MULTILINE)
PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
ROOT = FOLDER.parent.parent
SHOWN = [ROOT / "README.md", *(page for page in ROOT.glob("docs/**/*.md") if FOLDER not in page.parents)]
SHOWN += sorted(ROOT.glob("examples/**/*.py"))


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: path.name)
def test_pages_and_examples_import_only_what_is_listed(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    code = text if path.suffix == ".py" else "\n".join(PYTHON.findall(text))
    for found in IMPORT.finditer(code):
        for name in filter(None, (each.partition(" as ")[0].strip() for each in (found[2] or found[3]).split(","))):
            is_module = f"{found[1]}.{name}" in listed()
            assert is_module or name in listed().get(found[1], ()), f"{found[1]}.{name} is not in the reference"
