"""Helpers of several laws: views with one more edit, and what a window shows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from transom.core.edit import Edit
from transom.core.entry import Entry
from transom.core.message import Assistant, Opaque, strings_in
from transom.core.reducer import apply
from transom.core.view import View
from transom.testing.builders import entry
from transom.testing.fakes import Entries, WordCounter
from transom.testing.view_appearance import Appearance, appearance_of
from transom.wire.dialect import Dialect
from transom.wire.rendering import render

COUNTER = WordCounter()
"""Counts the random logs."""


def messages_of(view: View, dialect: str | Dialect = "openai") -> list[dict[str, Any]]:
    """The messages of a view as a request in this dialect has them, whatever the API calls them (items, contents)."""
    body = render(view, dialect)
    return [message for key in ("messages", "input", "contents") for message in body.get(key, ())]


def texts_in(value: object) -> Iterator[str]:
    """Every string in a JSON value, in order, without the keys. A string that is a JSON object is followed by its own
    strings."""
    for text in strings_in(value, without=()):
        yield text
        if text.startswith("{"):
            with suppress(ValueError):
                yield from texts_in(json.loads(text))


def with_edit(view: View, edit: Edit) -> View:
    """The view that `view` becomes if its log had one more entry, this edit. Nothing is appended to the log."""
    log = [view.log[seq] for seq in range(view.length)]
    log.append(entry(edit, log, at=float(len(log)), counter=COUNTER))
    return apply(view.with_log(Entries(log)), log[-1:])


def visible(view: View) -> Appearance:
    """The appearance of a view without `restored`, which changes plans and not the window."""
    return appearance_of(view)._replace(restored=())


def blanked(one: Entry) -> Entry:
    """A copy of an entry whose body means nothing: it keeps the place, so that other entries keep their numbers."""
    return replace(one, body=Opaque(raw={"kind": "nothing"}))


def unbound(one: Entry) -> Entry:
    """A copy of an entry whose reasoning is not bound to a prefix, because another log has another prefix. A turn that
    answers a `Sent` stays as it is."""
    body = one.body
    if isinstance(body, Assistant) and body.answers is None:
        body = replace(body, reasoning=tuple(replace(thought, bound=False) for thought in body.reasoning))
    return replace(one, body=body)
