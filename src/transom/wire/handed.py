"""Messages as they leave: dicts that tell when somebody changes them, and can be handed out again until then."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial, wraps
from typing import Any

from transom.core.message import Raw


class Seal:
    """Whether everything handed out under it is as it was."""

    __slots__ = ("whole",)

    def __init__(self) -> None:
        self.whole = True


class SealedDict(dict[str, Any]):
    """A dict like any other, but that a change of it breaks its seal, if it has one. A copy of it is a plain dict."""

    __slots__ = ("seal",)

    def __reduce_ex__(self, protocol: object) -> tuple[type[Raw], tuple[Raw]]:
        return dict, (dict(self),)


class SealedList(list[Any]):
    """A list like any other, but that a change of it breaks its seal. A copy of it is a plain list."""

    __slots__ = ("seal",)

    def __reduce_ex__(self, protocol: object) -> tuple[type[list[Any]], tuple[list[Any]]]:
        return list, (list(self),)


class Apart(SealedDict):
    """A message that came by itself though its neighbour has the same role: it is not joined to the one before it."""

    __slots__ = ()


def handed(messages: Iterable[Raw], seal: Seal) -> list[Raw]:
    """Copies of messages, all dicts and lists that lie in them included, under a seal."""
    return [_COPIES[type(message)](message, seal) for message in messages]


_put_in, _put_at = dict[str, Any].__setitem__, list[Any].__setitem__


def _dict(fields: dict[str, object], seal: Seal, kind: type[SealedDict] = SealedDict) -> SealedDict:
    out = kind(fields)
    for key, inner in fields.items():
        if (copy := _COPIES[type(inner)]) is not None:
            _put_in(out, key, copy(inner, seal))
    out.seal = seal
    return out


def _list(items: list[object], seal: Seal) -> SealedList:
    out = SealedList(items)
    for at, inner in enumerate(items):
        if (copy := _COPIES[type(inner)]) is not None:
            _put_at(out, at, copy(inner, seal))
    out.seal = seal
    return out


class _Copies(dict[type, Any]):
    """How a value of a kind is copied; None for what cannot change."""

    def __missing__(self, kind: type) -> Any:
        self[kind] = copy = _dict if issubclass(kind, dict) else _list if issubclass(kind, list) else None
        return copy


_COPIES = _Copies({Apart: partial(_dict, kind=Apart)})


def like(message: Raw, changed: Raw) -> Raw:
    """What a message was changed to, which stands apart if the message does."""
    return Apart(changed) if isinstance(message, Apart) else changed


def _breaking(change: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(change)
    def changed(self: Any, *args: Any, **fields: Any) -> Any:
        if (seal := getattr(self, "seal", None)) is not None:
            seal.whole = False
        return change(self, *args, **fields)

    return changed


_CHANGES = {
    SealedDict: "__setitem__ __delitem__ __ior__ clear pop popitem setdefault update",
    SealedList: "__setitem__ __delitem__ __iadd__ __imul__ append clear extend insert pop remove reverse sort",
}
for _kind, _names in _CHANGES.items():
    for _name in _names.split():
        setattr(_kind, _name, _breaking(getattr(_kind, _name)))
