"""Recognises the format of a JSON value, and finds the conversations in it.

A value may be a request body, a list of messages, a list of conversations, a container such as an export or a trace,
or a whole session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from transom.core.message import Raw
from transom.errors import InvalidMessage, listed
from transom.importers.formats import (
    MESSAGE_FORMATS,
    Container,
    container_of,
    left_out_texts,
    message_format,
    request_bodies,
)
from transom.importers.recorded import FORMATS, Recorded, format_list
from transom.importers.sessions import codex
from transom.importers.sessions.claude_code import ClaudeCodeReader
from transom.importers.sessions.pi import PiReader
from transom.importers.sessions.session_reader import (
    Said,
    SessionEvent,
    SessionReader,
    SystemPrompt,
    accepted_messages,
    is_in,
    subagent_name,
)
from transom.wire.dialects import dialect_named
from transom.wire.fields import as_dict, kind_of, text
from transom.wire.frameworks import langchain_json

OnSkip = Callable[[str], None]
"""A function that is called with one line of text for each thing that is left out: what it is, and where."""


SESSIONS: dict[str, type[SessionReader]] = {"claude_code": ClaudeCodeReader, "codex": codex.CodexReader, "pi": PiReader}
"""The readers of session files, by the name of the format."""

UNDECIDED = 100
"""How many values are looked at to recognise the format of a file."""


class UnrecognisedError(InvalidMessage):
    """Raised where no conversation in a known format was found. `seen`: what was found instead, in a few words."""

    def __init__(self, where: str, seen: str, why: str = "") -> None:
        self.seen = seen
        formats = f"The formats are {format_list()}; --format chooses one"
        super().__init__(where, why or f"no conversation is recognised here, but {seen}. {formats}")


class ReadOptions(Struct, frozen=True, kw_only=True):
    """How values are read.

    `format`: the name of the format, or None to let the content decide; `on_skip`: called with one line of text for
    each thing that is left out.
    """

    format: str | None
    on_skip: OnSkip

    @property
    def session(self) -> str:
        """The format that was asked for, if it is a format of session files; otherwise empty."""
        return self.format if self.format is not None and self.format in SESSIONS else ""


def is_message(value: object) -> bool:
    """True if a value looks like one message, of an API or of a library."""
    return bool(message_format(value)) or request_bodies.is_message(value)


def is_conversation(value: object) -> bool:
    """True if a value is an object that holds the messages of one or more conversations: a body, a container, a whole
    session."""
    fields = as_dict(value)
    known = (
        "messages" in fields or bool(request_bodies.key_of(fields)) or langchain_json.messages_in(fields) is not None
    )
    return known or bool(whole_session(value)[0]) or container_of(value) is not None


def session_format(value: object) -> str:
    """Return the name of the session format that a value is a line of; empty if it is no line of a session.

    A container counts as no line, although traces and logs have some keys of such lines too.
    """
    kind = next((name for name, each in SESSIONS.items() if each.is_line(value)), "")
    return "" if kind and container_of(value) is not None else kind


def whole_session(value: object) -> tuple[str, list[object]]:
    """Return the name of the format and the lines of a whole session that is one JSON object. For any other value the
    name is empty, and the list means nothing.

    Codex wrote its first sessions so, and Claude Code on the web gives its sessions so.
    """
    if codex.is_document(value):
        return "codex", list(codex.lines_of(cast("Raw", value)))
    fields = as_dict(value)
    if isinstance(fields.get("loglines"), list):
        return "claude_code", cast("list[object]", fields["loglines"])
    listed = fields.get("data") or fields.get("events")
    lines = cast("list[object]", listed) if isinstance(listed, list) else []
    return next((kind for line in lines[:UNDECIDED] if (kind := session_format(line))), ""), lines


def is_window(value: object) -> bool:
    """True if a value is a line that `transom replay --out` wrote. It is one request, and no conversation to import."""
    fields = as_dict(value)
    return {"conversation", "at"} <= fields.keys() and ("refused" in fields or {"tokens", "breaks"} <= fields.keys())


def description_of(value: object) -> str:
    """Describe a value in a few words, for an error that says what was found instead of a conversation."""
    if is_window(value):
        return "windows that `transom replay --out` wrote"
    if not isinstance(value, dict):
        return kind_of(value)
    keys = [f"{key!r:.24}" for key in cast("Raw", value)]
    return f"an object with the keys {listed(keys, 6)}" if keys else "an empty object"


def conversations(value: object, where: str, name: str, options: ReadOptions) -> Iterator[Recorded]:
    """Yield the conversations that a JSON value holds: a body, a list of messages or of conversations, a container, or
    a whole session.

    `where`: how errors name the value; `name`: the id for a conversation that has none; of several, they get "NAME:1",
    "NAME:2" and so on. Raises InvalidMessage if the value is neither an object nor a list, or if its messages are in no
    known format, or not in that of `options`.
    """
    container = container_of(value)
    kind, lines = ("", []) if container is not None else whole_session(value)
    # one without a name of its own may be of any format
    if container is not None and (not container.name or options.format in {None, container.name}):
        yield from _contained(container, cast("Raw", value), where, name, options)
    elif kind and options.format in {None, kind}:
        yield from session(kind, lines, where, name, options)
    elif isinstance(value, list):
        yield from _listed(cast("list[object]", value), where, name, options)
    elif options.session and isinstance(value, dict):
        yield from session(options.session, [cast("object", value)], where, name, options)
    elif isinstance(value, dict):
        yield conversation(cast("Raw", value), where, name, options)
    else:
        raise InvalidMessage(where, f"a conversation must be an object, not {kind_of(value)}")


def _contained(container: Container, value: Raw, where: str, name: str, options: ReadOptions) -> Iterator[Recorded]:
    """Yield the conversations in a container. Texts of the container that no conversation has are reported."""
    bodies = list(container.bodies(value))
    kept: list[object] = []
    for number, body in enumerate(bodies, start=1):
        at, title = (where, name) if len(bodies) == 1 else (f"{where}, conversation {number}", f"{name}:{number}")
        fields: Raw = {"messages": body.messages, "tools": body.tools or []}
        if body.system is not None:
            fields["system"] = body.system
        for note in body.notes:
            options.on_skip(f"{at}: {note}")
        inner = replace(options, format=body.format or (None if container.name else options.format))
        record = conversation(fields, at, body.id or title, inner, whole=False)
        kept.append([record.messages, record.system, record.tools])
        if number == len(bodies):
            _report_left_out(where, left_out_texts(container.said_in(value, bodies), kept, container.labels), options)
        yield replace(record, format=container.name or record.format)


def _report_left_out(where: str, left_out: str, options: ReadOptions) -> None:
    if left_out:
        options.on_skip(f"{where}: {left_out}")


def session(kind: str, values: Iterable[object], where: str, name: str, options: ReadOptions) -> Iterator[Recorded]:
    """Yield the conversations of one session: first the session itself, with the id `name`, then one for each subagent,
    with the id "NAME#SUBAGENT". If all lines are of one subagent that they name, its id begins with the session's own
    id, which the lines have. `kind`: the name of the session format; `values`: the lines, parsed; `where`: how errors
    name them.

    Messages that were taken back, or that their API would refuse, are left out, and reported to `options.on_skip`. The
    whole session is in memory; an import reads it line by line instead (`logs/import_session.py`).
    """
    reader = SESSIONS[kind]()
    dialect = dialect_named(FORMATS[kind].dialect)
    said: dict[str, list[Said]] = {}
    system: str | None = None
    lines = events_of(kind, values, where, options)
    events: list[SessionEvent] = []
    broken = 0
    for line in lines:
        events += reader.feed(line)
        broken += _is_broken(line)
    if broken:
        options.on_skip(f"{where}: {broken:,} broken line{' holds' if broken == 1 else 's hold'} no message")
    for event in (*events, *reader.flush()):
        if isinstance(event, SystemPrompt):
            system = event.text
        else:
            said.setdefault(event.branch, []).append(event)
    for line in reader.left_out:
        options.on_skip(f"{where}: {line}")
    for branch, messages in sorted((said or {"": []}).items(), key=lambda item: item[0] != ""):
        gone = reader.taken_back.get(branch, [])
        kept = [each for each in messages if not is_in(each.first, gone)]
        if dropped := sum(each.lines for each in messages) - sum(each.lines for each in kept):
            many = "1 message" if dropped == 1 else f"{dropped:,} messages"
            options.on_skip(f"{where}: left out {many} of branches that were taken back")
        kept, _ = accepted_messages(
            kept, dialect, lambda at, why: options.on_skip(f"{where}, message {at}: left out, {why}")
        )
        is_main = len(said) < 2 or not branch
        session_id = next(reversed(reader.ids), "") if is_main and branch not in {"", *reader.unnamed} else ""
        yield Recorded(
            id=name if is_main and not session_id else subagent_name(session_id or name, branch),
            format=kind,
            dialect=dialect.name,
            messages=[each.message for each in kept],
            system=system if is_main else None,
            source=where,
            injected=frozenset(at for at, each in enumerate(kept) if each.injected),
            compactions={at: each.left_with for at, each in enumerate(kept) if each.left_with},
        )


def _is_broken(line: object) -> bool:
    """Whether a line of a session is no object, or should have a message of the user or the model and has none."""
    fields = as_dict(line)
    kind = text(fields, "type")
    if kind == "response_item":
        return not isinstance(fields.get("payload"), dict)
    said = as_dict(fields.get("message")).get("content")
    return not fields or (kind in {"user", "assistant"} and not isinstance(said, (str, list)))


def wrong_format(where: str, wanted: str, value: object) -> UnrecognisedError:
    """Make the error for a value that is not in the format `wanted`, which the caller has asked for by name."""
    kind = session_format(value)
    found = f"events of a {FORMATS[kind].title}" if kind else description_of(value)
    why = f"this is no {FORMATS[wanted].title}, but {found}: name another --format than {wanted}, or none"
    return UnrecognisedError(where, found, why)


def events_of(kind: str, values: Iterable[object], where: str, options: ReadOptions) -> Iterator[object]:
    """Return an iterator over all of the values, after a check that they may be lines of a session of the format
    `kind`.

    They are checked only if `options` name this format. Then one of the first UNDECIDED values must be a line of it,
    and no line of another session format may stand before; otherwise UnrecognisedError is raised. For Codex, an item
    without its envelope counts too.
    """
    values = iter(values)
    if kind != options.session:
        return values
    first = [*islice(values, UNDECIDED)]
    for each in first:
        if SESSIONS[kind].is_line(each) or (kind == "codex" and request_bodies.is_item(each)):
            return chain(first, values)
        if session_format(each) or each is first[-1]:
            raise wrong_format(where, kind, each)
    return values


def require_no_session(value: object, where: str, options: ReadOptions) -> None:
    """Raise UnrecognisedError if the value is a line of a session, and `options` name a format that is not one of
    session files."""
    if options.format is not None and not options.session and session_format(value):
        raise wrong_format(where, options.format, value)


def conversation(body: Raw, where: str, name: str, options: ReadOptions, *, whole: bool = True) -> Recorded:
    """Read one conversation from an object: a body of an API, messages of a library, or Transom's own form.

    `where`: how errors name the object; `name`: the id if the object has none. Texts that no message has are reported
    to `options.on_skip`. `whole`: False for an object that was made of a container, which has decided the format and
    reports such texts itself. Raises InvalidMessage if the messages are no list, are in no known format or not in that
    of `options`, or if the object has an `id` that is empty, or neither a text nor a whole number.
    """
    if is_window(body):
        raise UnrecognisedError(where, description_of(body))
    if (dumped := langchain_json.messages_in(body)) is not None:
        body = {"messages": dumped}
    messages = _messages(body, where)
    named = "" if options.format is None or options.session else options.format
    kind = named or request_bodies.format_of(body, messages)
    unknown = "" if named and whole else request_bodies.unknown_roles(messages, kind)
    if not unknown and not named and kind in {"openai", "anthropic"}:
        unknown = request_bodies.unknown_texts(messages)
    if not kind or unknown:
        seen = unknown or request_bodies.unknown_parts(messages)
        way = "--format chooses a format, and docs/formats.md has their names"
        raise UnrecognisedError(where, seen, f"no conversation is recognised here, but {seen}. {way}")
    title = body.get("id")
    title = str(title) if isinstance(title, int) and not isinstance(title, bool) else title
    if title is not None and (not isinstance(title, str) or not title):
        raise InvalidMessage(where, f"id must be a text, {_found(body, 'id')}")
    if kind not in _DIALECTS:
        library = MESSAGE_FORMATS.get(kind)
        if library is None or (whole and messages and not any(map(library.is_message, messages))):
            raise wrong_format(where, kind, messages[0] if messages else body)
        source, messages = messages, cast("list[object]", list(library.to_chat(messages)))
        if whole:
            _report_left_out(where, left_out_texts(source, messages, library.labels), options)
    system = request_bodies.system_of(body, kind)
    if messages and as_dict(messages[0]) == {"role": "system", "content": system}:
        system = None  # the first message is that, too
    return Recorded(
        id=title or name,
        format=kind,
        dialect=FORMATS[kind].dialect,
        messages=cast("list[Raw]", messages),
        system=system,
        tools=request_bodies.tools_of(body),
        source=where,
    )


_DIALECTS = frozenset({"openai", "responses", "anthropic", "gemini", "openai_agents"})
"""The formats whose messages are those of an API."""


def _listed(items: list[object], where: str, name: str, options: ReadOptions) -> Iterator[Recorded]:
    """Yield the conversations of a list of bodies, lists of messages, messages, or events of a session."""
    if options.session or not items or not all(is_conversation(item) or isinstance(item, list) for item in items):
        yield from _one_list(items, where, name, options)
        return
    for number, item in enumerate(items, start=1):
        at, title = f"{where}, conversation {number}", f"{name}:{number}"
        if isinstance(item, list):
            yield from _one_list(cast("list[object]", item), at, title, options)
        else:
            yield from conversations(item, at, title, options)


def _one_list(items: list[object], where: str, name: str, options: ReadOptions) -> Iterator[Recorded]:
    """Yield the conversations of a list: of one session if it holds events, otherwise the one that its messages are."""
    kinds = (session_format(item) for item in items[:UNDECIDED])
    kind = options.session or next((kind for kind in kinds if kind), "")
    if kind:
        require_no_session(next(item for item in items if options.session or session_format(item)), where, options)
        yield from session(kind, items, where, name, options)
    else:
        yield conversation({"messages": items}, where, name, options)


def _messages(body: Raw, where: str) -> list[object]:
    """Return the messages of a body. Raises InvalidMessage if it has none; the error says what it may be instead."""
    key = request_bodies.key_of(body)
    if key and isinstance(body[key], str):  # `input` may be what the user says
        return [{"role": "user", "content": body[key]}]
    if key:
        return cast("list[object]", body[key])
    hint = "; this looks like a single message" if is_message(body) else ""
    if not hint and body.keys().isdisjoint({"messages", "id"}):
        raise UnrecognisedError(where, description_of(body))
    raise InvalidMessage(where, f"messages must be a list, {_found(body, 'messages')}{hint}")


def _found(fields: Raw, key: str) -> str:
    """Say what is under a key in place of the right value: "but is missing", "not a number", …."""
    value = fields.get(key)
    return "but is missing" if key not in fields else f"not {'an empty string' if value == '' else kind_of(value)}"
