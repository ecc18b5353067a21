"""Messages as they leave: dicts that tell when somebody changes them, and can be handed out again until then."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, cast

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
    """Copies of messages, all that lies in them included, under a seal."""
    return [_sealed(message, seal) for message in messages]


_put = dict[str, Any].__setitem__


def _sealed(value: Any, seal: Seal) -> Any:
    if isinstance(value, dict):
        fields = cast("Raw", value)
        out = Apart(fields) if isinstance(value, Apart) else SealedDict(fields)
        for key, inner in fields.items():
            if type(inner) is not str:
                _put(out, key, _sealed(inner, seal))
        out.seal = seal
        return out
    if isinstance(value, list):
        items = SealedList([_sealed(item, seal) for item in cast("list[Any]", value)])
        items.seal = seal
        return items
    return value


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
