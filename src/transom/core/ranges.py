"""The ranges of numbers in the settings of strategies, as types: a strategy says `least: Share = 0.1`, and a policy
that has this strategy checks it."""

from __future__ import annotations

from functools import cache
from numbers import Integral, Real
from typing import Annotated, Any, get_args

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.structs import fields

from transom.errors import InvalidSetting, quote

Share = Annotated[float, Meta(ge=0, le=1, description="a number from 0 to 1")]
Count = Annotated[int, Meta(ge=0, description="a whole number, at least 0")]
Positive = Annotated[int, Meta(ge=1, description="a whole number, at least 1")]


def check_ranges(step: object) -> None:
    """Raise InvalidSetting if a setting of a strategy, keep rule or recall step is not in the range of its type.

    Only settings whose type says a range (`Share`, `Count`, `Positive`) are checked, and only in a msgspec Struct; a
    value of a wrong type is out of range too. If an annotation of the class cannot be evaluated, because its type is
    imported for type checkers only, none is checked.
    """
    for name, (kind, words) in _ranges(type(step)).items():
        value: object = getattr(step, name)
        try:
            convert(_plain(value), kind)
        except ValidationError:
            raise InvalidSetting(f"{type(step).__name__}: {name} must be {words}, not {quote(value)}") from None


def _plain(value: object) -> object:
    """A number of another type than Python's own, such as NumPy's, as one of these; other values as they are."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


@cache
def _ranges(step: type) -> dict[str, tuple[Any, str]]:
    """The settings of a class that have a range, with type and words; none if a type is for type checkers only."""
    found: dict[str, tuple[Any, str]] = {}
    try:
        settings = fields(step) if issubclass(step, Struct) else ()
    except (NameError, AttributeError, TypeError):
        return found
    for one in settings:
        metas = (meta for kind in (one.type, *get_args(one.type)) for meta in getattr(kind, "__metadata__", ()))
        if words := next((meta.description for meta in metas if isinstance(meta, Meta) and meta.description), ""):
            found[one.name] = one.type, words
    return found
