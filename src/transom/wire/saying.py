"""What every dialect does on the way out."""

from __future__ import annotations

from typing import Any, cast

from transom.core.message import Raw
from transom.core.tokens import clean


def copied(value: Any) -> Any:
    """A JSON value that shares nothing with the one it is a copy of. Parsing has bounded its depth."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in cast("Raw", value).items()}
    return [copied(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value


def cleaned(value: Any) -> Any:
    """A copy without lone surrogates, which have no UTF-8. Parsing has bounded its depth."""
    if isinstance(value, dict):
        return {clean(key): cleaned(item) for key, item in cast("Raw", value).items()}
    if isinstance(value, list):
        return [cleaned(item) for item in cast("list[Any]", value)]
    return clean(value) if isinstance(value, str) else value


class Apart(dict[str, Any]):
    """A message that came by itself though its neighbour has the same role: it is not joined to the one before it."""

    def copy(self) -> Apart:
        return Apart(self)


def joined(messages: list[Raw], content: str) -> list[Raw]:
    """Neighbours of one role as one message, their lists under the key `content` put together; `Apart` ones stand.

    Both must hold nothing but role and content. No message is changed: a joined one is new.
    """
    out: list[Raw] = []
    for message in messages:
        last = out[-1] if out else None
        if (
            last is None
            or isinstance(message, Apart)
            or last.get("role") != message.get("role")
            or not (isinstance(last.get(content), list) and isinstance(message.get(content), list))
            or {*last, *message} - {"role", content}
        ):
            out.append(message)
        else:
            out[-1] = {**last, content: [*last[content], *message[content]]}
            if isinstance(last, Apart):
                out[-1] = Apart(out[-1])
    return out
