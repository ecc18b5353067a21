"""Which texts of a file no message has: whatever was read, in any format, is compared with what came of it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator
from typing import cast

from msgspec import Struct

_LABELS = re.compile(
    r"(?:uuid|id|ids|type|\$type|\$rewindTo|kind|role|from|sender|source|origin|object|status|state|model|format|version"
    r"|encoding|language|name|author_name|url|uri|detail|phase|weight|level"
    r"|.*(?:_id|Id|ID|_uuid|_ids|_type|Type|_at|At|_time|Time|[tT]imestamp|_kind|[mM]ime|[sS]ignature|[hH]ash|_role|_status"
    r"|[pP]ath|_token|_?[rR]eason|_pointer|Version|Updated|_format|encrypted_content))"
)
"""Keys under which there are labels, not texts."""

_SEARCHED = 500_000_000
"""Characters that are searched at most, to find texts within others; what is then not found counts as left out."""


class LeftOutTexts(Struct, frozen=True, kw_only=True):
    """Texts that no message has. `keys`: the keys that they are under, the most frequent first."""

    texts: int
    characters: int
    keys: tuple[str, ...]

    def __str__(self) -> str:
        many = "1 text" if self.texts == 1 else f"{self.texts:,} texts"
        size = "1 character" if self.characters == 1 else f"{self.characters:,} characters"
        return f"left out {many} with {size}, under {', '.join(self.keys)}"


def left_out_texts(source: object, kept: object, labels: Collection[str] = ()) -> LeftOutTexts | None:
    """Return what of the texts in `source` is in none of the texts in `kept`; None if everything is there.

    Both are JSON values. `labels`: further keys under which the format has no texts. A text counts as kept where its
    lines stand in others, and where it is within the JSON of one (the arguments of a call, a result). Labels are
    no texts: ids, types, times, names of models.
    """
    whole = {text for _, text in _texts(kept)}
    missing = [
        (key, text)
        for key, text in _texts(source)
        if text not in whole and key not in labels and not _LABELS.fullmatch(key) and _json_in(text) is None
    ]
    if not missing:
        return None
    joined, searched = "\0".join(whole), 0
    keys, characters = Counter[str](), 0
    for key, text in missing:
        searched += len(joined)
        if searched > _SEARCHED or not all(line.strip() in joined for line in text.splitlines()):
            keys[key] += 1
            characters += len(text)
    if not keys:
        return None
    return LeftOutTexts(
        texts=keys.total(), characters=characters, keys=tuple(key[:40] or "the list" for key, _ in keys.most_common(5))
    )


def _texts(value: object) -> Iterator[tuple[str, str]]:
    """Yield every text in a JSON value with the key that it is under; those within a text that is JSON, too."""
    stack: list[tuple[str, object]] = [("", value)]
    while stack:
        at, item = stack.pop()
        if isinstance(item, str):
            if item.strip():
                yield at, item
                stack.append((at, _json_in(item)))
        elif isinstance(item, dict):
            stack.extend(reversed(list(cast("dict[str, object]", item).items())))
        elif isinstance(item, list | tuple):
            stack.extend((at, each) for each in reversed(cast("list[object]", item)))


def _json_in(text: str) -> object:
    """Return the object or list that a text is the JSON of, or None."""
    if text.lstrip()[:1] not in {"{", "["}:
        return None
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("object", value) if isinstance(value, dict | list) else None
