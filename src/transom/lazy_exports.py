"""Packages whose names are imported at first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_exports(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` (PEP 562) of a package that imports its names at first use, and give it an
    `__all__` of these names if it has none.

    `modules`: for each module, named as below `transom`, the names that it has, separated by blanks. The `__getattr__`
    raises AttributeError for any other name. Type checkers read the names where the package imports them under
    TYPE_CHECKING: `from … import A as A` makes them public. (An `__all__` that they could not evaluate would hide
    them.)
    """
    module_of = {name: module for module, names in modules.items() for name in names.split()}
    vars(import_module(package)).setdefault("__all__", sorted(module_of))

    def get(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"transom.{module_of[name]}"), name)
        setattr(import_module(package), name, value)  # from now on it is found without this function
        return value

    def names() -> list[str]:
        return sorted({*vars(import_module(package)), *module_of})

    return get, names
