"""Finds the texts of a file that no message has, in any format: what was read is compared with what came of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from typing import cast

from transom.errors import listed
from transom.wire.fields import loaded

_LABELS = re.compile(
    r"(?:uuid|id|ids|type|\$type|\$rewindTo|kind|role|from|sender|source|origin|object|status|state|model|format|version"
    r"|encoding|language|name|author_name|url|uri|detail|phase|weight|level"
    r"|.*(?:_id|Id|ID|_uuid|_ids|_type|Type|_at|At|_time|Time|[tT]imestamp|_kind|[mM]ime|[sS]ignature|[hH]ash|_role|_status"
    r"|[pP]ath|_token|_?[rR]eason|_pointer|Version|Updated|_format|encrypted_content))"
)
"""Keys under which there are labels, not texts."""

_MOST_SEARCHED = 500_000_000
"""How many characters are searched for texts within others. What was not found by then counts as left out."""


_MOST_KEYS = 5
"""How many keys a line about texts that were left out names."""


def left_out_texts(source: object, kept: object, labels: Collection[str] = ()) -> str:
    """Return one line about the texts in `source` that no text in `kept` has: how many, with how many characters, and
    the five keys that have most of them. Empty if `kept` has them all.

    `source` and `kept` are JSON values. `kept` also has a text if each of its lines is in a kept text, or if the text
    is within the JSON of a kept text (the arguments of a call, a result). What is under the key of a label (an id, a
    type, a time, the name of a model) is no text; `labels`: further such keys of this format.
    """
    whole = {text for _, text in _texts(kept)}
    missing = [
        (key, text)
        for key, text in _texts(source)
        if text not in whole and key not in labels and not _LABELS.fullmatch(key) and _json_in(text) is None
    ]
    if not missing:
        return ""
    joined, searched = "\0".join(whole), 0
    keys, characters = Counter[str](), 0
    for key, text in missing:
        searched += len(joined)
        if searched > _MOST_SEARCHED or not all(line.strip() in joined for line in text.splitlines()):
            keys[key] += 1
            characters += len(text)
    if not keys:
        return ""
    many = "1 text" if keys.total() == 1 else f"{keys.total():,} texts"
    size = "1 character" if characters == 1 else f"{characters:,} characters"
    by_number = [key[:40] or "the list" for key, _ in keys.most_common()]
    return f"left out {many} with {size}, under {listed(by_number, _MOST_KEYS)}"


def _texts(value: object) -> Iterator[tuple[str, str]]:
    """Yield every text in a JSON value with the key that it is under. Of a text that is JSON, yield the texts in it
    too."""
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
    return loaded(text) if text.lstrip()[:1] in {"{", "["} else None
