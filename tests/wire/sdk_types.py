"""The input types of the provider SDKs, walked: what a TypedDict holds, and what a hint allows."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, NotRequired, Required, Union, get_args, get_origin, get_type_hints

from typing_extensions import TypeAliasType, is_typeddict


def members(hint: Any) -> Iterator[Any]:
    """What a type hint allows: unions, lists and wrappers taken apart."""
    origin = get_origin(hint)
    if isinstance(hint, TypeAliasType) or isinstance(origin, TypeAliasType):
        yield from members(getattr(hint, "__value__", None) or origin.__value__)
    elif origin in (Required, NotRequired, Annotated):
        yield from members(get_args(hint)[0])
    elif origin in (Union, types.UnionType) or (origin is not None and _is_iterable(origin)):
        for each in get_args(hint):
            yield from members(each)
    else:
        yield hint


def _is_iterable(origin: Any) -> bool:
    return isinstance(origin, type) and issubclass(origin, Iterable) and not issubclass(origin, (dict, str))


def fields_of(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def dicts_in(hint: Any) -> list[Any]:
    return [each for each in members(hint) if is_typeddict(each)]
