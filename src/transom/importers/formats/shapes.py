"""A message format as a table: where the role, the content, the calls and the results of a message stand.

A path such as `"function.name"` leads through objects; several paths in a tuple are tried in order, and the first one
that leads to a value is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

from msgspec import Struct

from transom.core.message import Call, Media, MediaKind, Raw, Reasoning, Text
from transom.importers.formats.chat_builder import CallResult, ChatBuilder, Piece, arguments, result_text
from transom.wire.chat_json import chat_media
from transom.wire.fields import as_dict, data_url

Paths = str | tuple[str, ...]

Rule = Callable[[Any], Iterable[Piece]]
"""A function that reads one part of a message, or one field beside its content, and returns the pieces in it."""


class MessageFormat(Struct, frozen=True, kw_only=True):
    """How a library writes messages, other than in the form of an API.

    `name` and `title`: as in `Format`. `is_message`: true for a message that only this library writes so. `to_chat`:
    translates a list of these messages to OpenAI Chat messages; other values are left out. `labels`: keys under which
    the library has words for its own program, which are no texts of a conversation.
    """

    name: str
    title: str
    is_message: Callable[[object], bool]
    to_chat: Callable[[Iterable[object]], Iterator[Raw]]
    labels: frozenset[str] = frozenset()


class Shape(Struct, frozen=True, kw_only=True):
    """Says where the things of a message stand, as paths and keys. A path is the keys of objects in one another
    ("function.name"); of several paths in a tuple the first that leads to a value is taken (see `found`). A rule reads
    the pieces of a part or a field (see `words`, `call`, `answer`); of a list it reads each item.

    - `role`: the path to the role. `roles`: for each role of the library the one in OpenAI Chat; a message of any other
      role is left out.
    - `content`: the keys under which the content may be, a text or a list of parts; the first that is not empty is
      read. `kind`: the key with the type of a part; empty if a part says its type by the key that it has.
    - `parts`: for each type of part the rule that reads it. A type that ends with `*` stands for all types with this
      beginning; a part of any other type is left out.
    - `before`, `beside`: paths to fields beside the content, each with its rule. Their pieces come before the content,
      or behind it.
    - In a message of a tool, the paths `answers`: to the id of the call; `tool`: to the name of the tool; `failed`: to
      a field that is set only if the call failed.
    """

    roles: Mapping[str, str]
    role: Paths = "role"
    content: tuple[str, ...] = ("content",)
    kind: str = "type"
    parts: Mapping[str, Rule] = {}
    before: tuple[tuple[str, Rule], ...] = ()
    beside: tuple[tuple[str, Rule], ...] = ()
    answers: Paths = ""
    tool: Paths = ""
    failed: Paths = ""

    def to_chat(self, values: Iterable[object]) -> Iterator[Raw]:
        """Translate messages of this shape to OpenAI Chat messages. A message whose role is not in `roles` is left
        out."""
        builder = ChatBuilder()
        for fields in map(as_dict, values):
            role = self.roles.get(str(found(fields, self.role)))
            if role is not None:
                yield from builder.messages(role, self.pieces(fields, role))

    def pieces(self, fields: Raw, role: str) -> Iterator[Piece]:
        """Yield the pieces of one message: those of `before`, of the content, and of `beside`. If `role`, its role in
        OpenAI Chat, is "tool" and no part is a result, its text is the result."""
        for key, rule in self.before:
            yield from _each(found(fields, key), rule)
        content = next((fields[key] for key in self.content if fields.get(key)), None)
        read = list(self._content(content))
        answered = any(isinstance(piece, CallResult) for piece in read)
        if role == "tool" and not answered:
            text = "\n".join(piece.text for piece in read if isinstance(piece, Text)) or result_text(content)
            failed = bool(self.failed and found(fields, self.failed))
            yield CallResult(_text(fields, self.answers), _text(fields, self.tool), text, failed)
            read = [piece for piece in read if not isinstance(piece, Text)]
        yield from read
        for key, rule in self.beside:
            yield from _each(found(fields, key), rule)

    def _content(self, content: object) -> Iterator[Piece]:
        if isinstance(content, str):
            yield Text(content)
        elif isinstance(content, list):
            for item in cast("list[object]", content):
                yield from self._content(item) if isinstance(item, str) else self._part(as_dict(item))
        elif isinstance(content, dict):
            yield from self._part(cast("Raw", content))

    def _part(self, part: Raw) -> Iterator[Piece]:
        if not self.kind:  # the keys say what it is
            for key, value in part.items():
                if key in self.parts:
                    yield from _each(value, self.parts[key])
            return
        kind = part.get(self.kind)
        if isinstance(kind, str):
            rule = self.parts.get(kind) or next(
                (rule for name, rule in self.parts.items() if name.endswith("*") and kind.startswith(name[:-1])), None
            )
            yield from rule(part) if rule is not None else ()


def _each(value: object, rule: Rule) -> Iterator[Piece]:
    """Apply a rule to a value; to each item if it is a list. Nothing comes of None."""
    for item in cast("list[object]", value) if isinstance(value, list) else [value]:
        if item is not None:
            yield from rule(item)


def found(value: object, paths: Paths) -> Any:
    """Return the value at the first of these paths that leads to one; null counts as none. None if none does. A path is
    keys with dots between them, and leads through objects only. The empty path leads to `value` itself."""
    for path in (paths,) if isinstance(paths, str) else paths:
        at = value
        for key in path.split(".") if path else ():
            at = as_dict(at).get(key)
        if at is not None:
            return at
    return None


def _text(value: object, paths: Paths) -> str:
    at = found(value, paths) if paths else None
    return at if isinstance(at, str) else ""


# ---- rules


def words(paths: Paths = "text") -> Rule:
    """Make the rule for a text. `paths`: where the text is in the part; a part that is a text itself is taken whole.
    Nothing comes of an empty text."""
    return lambda part: [Text(text)] if (text := _words(part, paths)) else []


def thought(paths: Paths = "text") -> Rule:
    """Make the rule for reasoning of the model. `paths`: where its text is in the part; a part that is a text itself is
    taken whole. Nothing comes of an empty text."""
    return lambda part: [Reasoning(text)] if (text := _words(part, paths)) else []


def _words(part: object, paths: Paths) -> str:
    if isinstance(part, str):
        return part
    at = found(part, paths)
    return "" if at is None else result_text(at)


def call(*, id: Paths, name: Paths, args: Paths) -> Rule:  # noqa: A002 - the word of the formats
    """Make the rule for a call of a tool. The paths lead to its id, the name of the tool and the arguments, a text or
    an object. An id or a name that is missing, or no text, is empty."""
    return lambda part: [Call(_text(part, id), _text(part, name), arguments(found(part, args)))]


def answer(
    *,
    id: Paths,  # noqa: A002 - the word of the formats
    value: Paths,
    name: Paths = "",
    failed: Callable[[Any], bool] = lambda part: False,  # noqa: ARG005
) -> Rule:
    """Make the rule for the result of a call. `id`: the path to the id of the call; `value`: to the result, of which
    `result_text` makes a text; `name`: to the name of the tool. An id or a name that is missing, or no text, is empty.
    `failed`: true for a part that says that the call failed."""
    return lambda part: [CallResult(_text(part, id), _text(part, name), result_text(found(part, value)), failed(part))]


def both(*rules: Rule) -> Rule:
    """Make the rule that applies each of these rules to a part, in this order."""
    return lambda part: [piece for rule in rules for piece in rule(part)]


def media(*, url: Paths = "url", data: Paths = "data", mime: Paths = "mimeType", name: Paths = "") -> Rule:
    """Make the rule for an image or another file. The paths `url`, `data` and `mime` lead to its URL, or to its base64
    data and its media type; `name` leads to the name of a file.

    What has no media type counts as an image. Nothing comes of a part without a URL and without data.
    """

    def rule(part: Any) -> Iterable[Piece]:
        kind, held, link = _text(part, mime), _text(part, data), _text(part, url)
        link = link or (data_url(kind or "image/png", held) if held else "")
        if not link:
            return []
        is_image = kind.startswith("image/") or link.startswith("data:image/") or not kind
        medium: MediaKind = "image" if is_image else "file"
        return [Media(medium, chat_media(medium, link, _text(part, name)))]

    return rule
