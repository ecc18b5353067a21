"""What the caller announces beside the conversation: state, and parts of the head that change with time.

State is what is true now (a goal, a step). It is announced in notes when it changes, so that the prefix stays.

A head part is anything that the model should know: a repo map, memory blocks. A new head costs the whole cached prefix.
So a part's function is called before the first request, and later only when the cached prefix is lost anyway: another
system prompt, mode or tools, or a compaction. Until then the model reads the old text.

Each part is one system message of the head, behind the system prompt, with its name in a marker. By the marker the
parts that were sent are known again in a log that is opened later.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from transom import texts
from transom.conversation.argument_checks import kind_of
from transom.core.message import Head, Instruction, Text
from transom.core.view import View
from transom.errors import InvalidSetting, quote
from transom.wire.dialect import Dialect

State = str | Callable[[], str | None]
"""A text that is true now, or a function that returns it. None and an empty text: there is nothing to announce."""

HeadPart = str | Callable[[View], str | None]
"""A text, or a function of the view that returns one. None and an empty text: the part is left out."""

_PART_NAME = re.compile(r"[^\[\]\n\r]{1,60}")


def checked_state(given: object) -> dict[str, State]:
    """Return a copy of what the caller gave as `state`; None gives an empty dict. Functions are not called. Raises
    InvalidSetting unless it maps keys to texts or functions. A key is a text that is not empty; an empty text for a key
    is no error, and announces nothing."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidSetting(f"state: must map keys to texts or functions that return a text, not {kind_of(given)}")
    for key, value in cast("Mapping[object, object]", given).items():
        if not isinstance(key, str) or not key:
            raise InvalidSetting(f"state: a key must be a text of at least one character, not {kind_of(key)}")
        if not isinstance(value, str) and not callable(value):
            name = quote(key)
            raise InvalidSetting(f"state: {name} must be a text or a function that returns one, not {kind_of(value)}")
    return {str.__str__(key): value for key, value in cast("Mapping[str, State]", given).items()}


def checked_head_parts(given: object) -> dict[str, HeadPart]:
    """Return a copy of what the caller gave as `head_parts`; None gives an empty dict. Functions are not called. Raises
    InvalidSetting unless it maps names to texts or functions; a name has 1 to 60 characters that can be printed, and no
    square brackets."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidSetting(f"head_parts: must map names to texts or functions, not {quote(given)}")
    for name, part in cast("Mapping[object, object]", given).items():
        if not isinstance(name, str) or not _PART_NAME.fullmatch(name) or not name.isprintable():
            raise InvalidSetting(f"head_parts: a name has 1 to 60 characters and no brackets, not {quote(name)}")
        if not isinstance(part, str) and not callable(part):
            raise InvalidSetting(f"head_parts: {quote(name)} must be a text or a function of the view that returns one")
    return dict(cast("Mapping[str, HeadPart]", given))


def must_be_of_user(what: str, given: Mapping[str, object], user_id: str) -> None:
    """Raise InvalidSetting if one of the functions reads the memory of another user than `user_id` (empty: of any
    user). `what`: the setting, with which the error begins."""
    for key, value in given.items():
        whose = getattr(value, "user_id", "")
        if whose and whose != user_id:
            of = f"user {quote(user_id)}" if user_id else "no user"
            raise InvalidSetting(f"{what}: {quote(key)} belongs to user {quote(whose)}, this conversation to {of}")


def current_texts(given: Mapping[str, State]) -> dict[str, str]:
    """Return the texts of the state now, by key: functions are called, empty texts and None left out. Raises
    InvalidSetting for a function that returns neither a text nor None, and what a function raises, with a note that
    names the key."""
    return dict(_texts_now("state", given))


def part_messages(parts: Mapping[str, HeadPart], view: View, dialect: Dialect) -> tuple[Instruction, ...]:
    """The head parts as they are now, each as one system message: functions are called with the view, empty texts left
    out. Raises InvalidSetting for a function that returns neither a text nor None, and what a function raises, with a
    note that names the part."""
    now = _texts_now("head_parts", parts, view)
    return tuple(each for name, text in now for each in dialect.parse_system(texts.head_part(name, text)))


def _texts_now(setting: str, given: Mapping[str, Any], *arguments: object) -> Iterator[tuple[str, str]]:
    """Yield each key of a setting with its text now, if it has one: functions are called with these arguments."""
    for key, value in given.items():
        try:
            text: object = value if isinstance(value, str) else value(*arguments)
        except Exception as error:
            error.add_note(f"raised by the function for {quote(key)} in `{setting}`")
            raise
        if text is not None and not isinstance(text, str):
            raise InvalidSetting(
                f"{setting}: the function for {quote(key)} must return a text or None, not {kind_of(text)}"
            )
        if text:
            yield key, str.__str__(text)


def system_prompt_and_parts(head: Head) -> tuple[tuple[Instruction, ...], tuple[Instruction, ...]]:
    """The instructions of a head, in two: the system prompt, and the head parts behind it, which are known by their
    marker."""
    at = len(head.messages)
    while at and texts.is_head_part(_text(head.messages[at - 1])):
        at -= 1
    return head.messages[:at], head.messages[at:]


def _text(message: Instruction) -> str:
    first: Sequence[object] = message.parts[:1]
    return first[0].text if first and isinstance(first[0], Text) else ""
