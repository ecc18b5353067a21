"""Finds what one file defines and mentions: its symbols, with tree-sitter, and how often each identifier occurs in
it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from msgspec import Struct

from transom.repo_map.languages import Language, grammar

MAX_SYMBOLS = 2_000
MAX_IDENTIFIERS = 3_000
"""The most identifiers of one file that are kept, the commonest. A file that has more is generated."""

SIGNATURE_CHARACTERS = 120
"""The most characters of a signature; a longer one ends with an ellipsis."""

_IDENTIFIER = re.compile(r"[^\W\d]\w{2,63}")
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]+")
_TRANSPARENT = frozenset(("namespace", "container"))
_SCOPES = frozenset(("class", *_TRANSPARENT))


class Symbol(Struct, frozen=True):
    """A class, function, method, type or constant that a file defines.

    `kind`: one of these words. In Python and Rust a method has the kind `function`, and a `parent`; in Ruby a function
    has the kind `method`. `line`: from 1. `signature`: its declaration on one line, without its body, at most 120
    characters; of a constant its name. `parent`: the class that it is in, or empty.
    """

    name: str
    """Without the class that it is in."""
    kind: str
    line: int
    signature: str
    parent: str = ""


class FileFacts(Struct, frozen=True):
    """What is known of a file. `symbols`: in the order of the source, at most 2,000.

    `identifiers`: how often each identifier occurs in the code; `prose`: how often each occurs in comments and strings.
    Each has the 3,000 commonest identifiers. An identifier has 3 to 64 characters.
    """

    symbols: tuple[Symbol, ...] = ()
    identifiers: dict[str, int] = {}
    prose: dict[str, int] = {}


def file_facts(data: bytes, language: Language) -> FileFacts:
    """Parse a file: `data` is its bytes. What a function defines within itself is no symbol. In a file with syntax
    errors, the symbols that the parser recognises around them are found; nothing is raised. Raises ImportError if the
    grammar of the language is not installed."""
    parser, search = grammar(language)
    definitions: dict[int, tuple[str, Any, Any]] = {}
    code, prose, at = list[bytes](), list[bytes](), 0
    for _, captures in search().matches(parser.parse(data).root_node):
        for text in captures.pop("prose", ()):
            if text.start_byte >= at:
                code.append(data[at : text.start_byte])
                prose.append(data[text.start_byte : text.end_byte])
                at = text.end_byte
        if not captures:
            continue
        name = captures.pop("name")[0]
        ((kind, (node, *_)),) = captures.items()
        known = definitions.get(name.start_byte)
        if known is None or node.end_byte - node.start_byte > known[1].end_byte - known[1].start_byte:
            definitions[name.start_byte] = kind, node, name  # the whole of it, not the declarator alone
    code.append(data[at:])
    return FileFacts(
        symbols=tuple(islice(_symbols(data, definitions.values()), MAX_SYMBOLS)),
        identifiers=_counts(code),
        prose=_counts(prose),
    )


def _counts(pieces: Iterable[bytes]) -> dict[str, int]:
    counts = Counter(_IDENTIFIER.findall(b" ".join(pieces).decode("utf-8", "replace")))
    return dict(counts.most_common(MAX_IDENTIFIERS) if len(counts) > MAX_IDENTIFIERS else counts)


def _symbols(data: bytes, definitions: Iterable[tuple[str, Any, Any]]) -> Iterator[Symbol]:
    """Yield the definitions that are not local to a function, in the order of the source."""
    around: list[tuple[int, str, str]] = []  # the end, the kind and the name of each definition around this one
    for kind, node, name in sorted(definitions, key=lambda each: (each[1].start_byte, -each[1].end_byte)):
        while around and around[-1][0] <= node.start_byte:
            around.pop()
        is_local = any(outer not in _SCOPES for _, outer, _ in around)
        parent = next((outer_name for _, outer, outer_name in reversed(around) if outer != "namespace"), "")
        text = _one_line(name.text, 64)
        around.append((node.end_byte, kind, text))
        is_machinery = kind == "constant" and text.startswith("__")  # `__all__`
        if not (is_local or is_machinery or kind in _TRANSPARENT):
            yield Symbol(text, kind, node.start_point[0] + 1, _signature(data, kind, node, text), parent)


def _signature(data: bytes, kind: str, node: Any, name: str) -> str:
    """Return a declaration without its body, on one line; for a constant, its name."""
    if kind == "constant":
        return name
    body = node.child_by_field_name("body")
    end = node.end_byte if body is None else body.start_byte
    source = data[node.start_byte : min(end, node.start_byte + 4 * SIGNATURE_CHARACTERS)]
    if body is None and kind != "type":
        source = source.split(b"\n", 1)[0]
    return _one_line(source, SIGNATURE_CHARACTERS) or name


def _one_line(source: bytes, most: int) -> str:
    text = _BLANKS.sub(" ", source.decode("utf-8", "replace")).strip().rstrip(":{=; ")
    text = text.replace("( ", "(").replace(", )", ")").replace(" )", ")")
    return text if len(text) <= most else text[: most - 1] + "…"
