"""The arguments of a call: the values in its JSON, and what the name of one says of its value."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, cast

from transom.core.message import Call
from transom.strategies.text.identifiers import MAX_NAME, names_of
from transom.strategies.text.one_line import LONGEST_PATH

PATHS = ("file_path", "path", "filename", "file_name", "file", "target_file", "notebook_path", "filepath", "filepaths")
"""Arguments that hold the path of a file."""

REPLACED = frozenset(("old_string", "old_str", "oldText", "old_text", "oldString", "old_content"))
"""Arguments of an edit that hold text which it takes away: what was true only until then."""

ADDED = frozenset(("new_string", "new_str", "newText", "new_text", "newString", "new_content"))
WRITTEN = frozenset(("content", "contents", "file_text"))
"""Arguments that hold the text that an edit puts in, and the text of a whole file."""

DESCRIBES = ("description", "justification", "explanation", "summary")
"""Arguments in which agents say what a call is for."""

FOLDERS = ("workdir", "cwd")
"""Arguments that name the folder in which a command is run."""

SETTINGS = frozenset(
    (
        *("description", "status", "timeout", "output_mode", "justification", "run_in_background", "replace_all"),
        *FOLDERS,
    )
)
"""Arguments that say how a call is made, not what it is about. Numbers say that too."""

NUMBER = re.compile(r"\s*(?:-?\d{1,9}|true|false|null)\s*")
"""A value that is a number, or that says yes or no."""

_LIMITS = ("ms", "tokens", "seconds", "timeout", "limit", "offset")
"""How the name of an argument ends that only says how long or how much, if its value is a number."""

_NO_NAME = re.compile(r"\s|\A\d{0,6}\Z|\A\d{4}-\d\d-\d\d")
_ID = re.compile(r"(?=.*[A-Z\d])[\w#@.:-]{4,64}\Z")


def arguments(call: Call) -> Sequence[tuple[str, str]]:
    """The values in a call's arguments, at every depth, in their order: pairs of the nearest key around a value ("" if
    there is none) and the value. A number, true, false and null are given as JSON ("5", "null"). Arguments that are not
    JSON are one value, without a key."""
    try:
        stack: list[tuple[str, object]] = [("", json.loads(call.args))]
    except (ValueError, RecursionError):
        return [("", call.args)]
    found: list[tuple[str, str]] = []
    while stack:
        key, item = stack.pop()
        if isinstance(item, dict):
            stack.extend(reversed([(str(k), v) for k, v in cast("dict[Any, Any]", item).items()]))
        elif isinstance(item, list):
            stack.extend((key, kid) for kid in reversed(cast("list[Any]", item)))
        else:
            found.append((key, item if isinstance(item, str) else json.dumps(item)))
    return found


def is_limit(key: str, value: str) -> bool:
    """Whether an argument only says how long or how much: its name ends with a word such as "timeout", "limit" or
    "offset", and its value is a whole number, true, false or null."""
    return bool(NUMBER.fullmatch(value)) and key.lower().endswith(_LIMITS)


def noun_of(key: str) -> str:
    """What an argument is the id of, in small letters: "reservation" for `reservation_id` and `reservationId`; "" for
    `id`, and for a key that names no id."""
    is_id = key.endswith(("_id", "Id", "ID")) or key == "id"
    return key[:-2].rstrip("_").lower() if is_id else ""


def is_name(key: str, value: str) -> bool:
    """Whether an argument names a file or an object: it is one name, not a text, a number or a setting."""
    if key in PATHS:
        return 0 < len(value) <= LONGEST_PATH and "\n" not in value and not NUMBER.fullmatch(value)
    if key in SETTINGS or _NO_NAME.search(value):
        return False
    return value in names_of(value[:MAX_NAME]) or bool((noun_of(key) or key == "id") and _ID.match(value))
