"""Stores the text of the file that entries were imported from, so that an export gives the same bytes again.

The text is kept in an entry of its own, of the kind `imported`, which is never sent. A long string of the file that an
imported entry contains too is not stored twice: a reference to that entry takes its place. Everything else (keys,
numbers, ids, white space) is stored as it is. So this works for any format, and for everything in a line that is no
message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from transom.core.entry import Entry
from transom.core.message import Opaque
from transom.errors import InvalidMessage

SHORTEST = 80
"""Characters. A shorter string is stored as it is: a reference would not be smaller."""

_LITERAL = re.compile(r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"')
"""Matches a JSON string with its quotes. JSON has no line end in a string, so a broken line spoils no other."""


class TextReference(Struct, frozen=True, array_like=True, omit_defaults=True):
    """Takes the place of a long string of the imported file; it says which entry of the log contains that string, and
    where.

    `form`: how the file writes the string, a key of `FORMS`. `entry`: the seq of the entry. `path`: the keys and
    indexes that lead to a string in the JSON of the entry's body. `start`: the file has this string from this character
    on. `inside`: if not None, the string at `path` is itself JSON (the arguments of a call), and these keys and indexes
    lead on in it.
    """

    form: str
    entry: int
    path: list[str | int]
    start: int = 0
    inside: list[str | int] | None = None


class SourceText(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The text of a file, or of some of its lines, that the entries from `first` up to this text's own entry were made
    from.

    `format`: the name of the file's format. `pieces`: the text in the order of the file, with references in place of
    long strings; bytes that are not UTF-8 are lone surrogates (`surrogateescape`). `whole`: it is the text of the whole
    conversation, and replaces every earlier one. `beside`: what the file's index says of the conversation.
    """

    format: str
    first: int
    pieces: list[str | TextReference]
    whole: bool = False
    beside: dict[str, Any] | None = None


_KIND = "imported"


def _html(text: str) -> str:
    """Write a text as a JSON string the way Go does, with <, > and & escaped."""
    out = json.dumps(text, ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return out.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


FORMS: dict[str, Callable[[str], str]] = {
    "json": lambda text: json.dumps(text, ensure_ascii=False),
    "ascii": json.dumps,
    "html": _html,
}
"""The ways to write a text as a JSON string, the most usual first."""


def body_of(source: SourceText) -> Opaque:
    """Encode a source text as the body of an entry."""
    return Opaque(raw={"kind": _KIND, **cast("dict[str, Any]", msgspec.to_builtins(source))})


def source_of(entry: Entry) -> SourceText | None:
    """Decode the source text that an entry holds; None for any other entry. Raises InvalidMessage if it is damaged."""
    body = entry.body
    if not isinstance(body, Opaque) or body.raw.get("kind") != _KIND:
        return None
    try:
        return msgspec.convert(body.raw, SourceText)
    except msgspec.ValidationError as problem:
        raise InvalidMessage(f"entry {entry.seq}", f"its source text cannot be read: {problem}") from None


def split_text(text: str, entries: Sequence[Entry]) -> list[str | TextReference]:
    """Split a file's text into pieces: a reference for each long string that one of these entries contains, the rest as
    it is.
    """
    known: dict[str, TextReference] = {}
    for entry in entries:
        for reference, value in _references(entry):
            known.setdefault(value, reference)
    pieces: list[str | TextReference] = []
    at = 0
    for match in _LITERAL.finditer(text):
        begin, end = match.span()
        if end - begin > SHORTEST and (reference := _known_text(match[0], known)) is not None:
            pieces += [text[at:begin], reference]
            at = end
    return [piece for piece in (*pieces, text[at:]) if piece != ""]


def _known_text(literal: str, known: dict[str, TextReference]) -> TextReference | None:
    """Return the reference to the string that a JSON literal writes; None if no entry has it, or if no form of `FORMS`
    gives exactly this literal.
    """
    try:
        value = json.loads(literal)
    except ValueError:
        return None
    reference = known.get(value)
    if reference is None:
        return None
    form = next((form for form, written in FORMS.items() if written(value) == literal), None)
    return None if form is None else replace(reference, form=form)


def joined_text(source: SourceText, fetch: Callable[[int], Entry]) -> str:
    """Restore the file's text from its pieces. `fetch`: returns an entry by its seq.

    Raises InvalidMessage if an entry does not contain the string that a reference names.
    """

    @lru_cache(maxsize=8)
    def contents(seq: int) -> object:
        return msgspec.to_builtins(fetch(seq).body)

    return "".join(piece if isinstance(piece, str) else _text_at(piece, contents) for piece in source.pieces)


def _text_at(reference: TextReference, contents: Callable[[int], Any]) -> str:
    """Return the JSON string that a reference replaces. Raises InvalidMessage if the entry does not contain it."""
    try:
        value = _follow(contents(reference.entry), reference.path)
        if reference.inside is not None:
            value = _follow(json.loads(value), reference.inside)
        return FORMS[reference.form](value[reference.start :])
    except (KeyError, IndexError, TypeError, ValueError):
        where = f"entry {reference.entry}"
        raise InvalidMessage(where, f"the text at {'.'.join(map(str, reference.path))} is not there any more") from None


def _follow(value: Any, path: Sequence[str | int]) -> Any:
    for key in path:
        value = value[key]
    return value


def _references(entry: Entry) -> Iterator[tuple[TextReference, str]]:
    """Yield every long string of an entry with a reference to it, which has no `form` yet.

    Also the data of a data URL alone, and the strings within arguments that are JSON: a file may write these so.
    """
    for path, value in _texts_in(msgspec.to_builtins(entry.body)):
        reference = TextReference(form="", entry=entry.seq, path=path)
        yield reference, value
        if value.startswith("data:") and (at := value.find(";base64,", 0, 200)) > 0:
            start = at + len(";base64,")
            yield replace(reference, start=start), value[start:]
        elif value.startswith(("{", "[")):
            with suppress(ValueError, RecursionError):
                for inside, text in _texts_in(json.loads(value)):
                    yield replace(reference, inside=inside), text


def _texts_in(value: object) -> Iterator[tuple[list[str | int], str]]:
    """Yield the strings of at least SHORTEST characters in a JSON value, each with the keys and indexes that lead to
    it.
    """
    stack: list[tuple[list[str | int], object]] = [([], value)]
    while stack:
        path, item = stack.pop()
        if isinstance(item, str):
            if len(item) >= SHORTEST:
                yield path, item
        elif isinstance(item, dict):
            stack.extend(([*path, key], each) for key, each in cast("dict[str, object]", item).items())
        elif isinstance(item, list | tuple):
            stack.extend(([*path, at], each) for at, each in enumerate(cast("list[object]", item)))
