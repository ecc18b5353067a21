"""How facts enter the log: in one append, a reply at its request, a result that answers no call with a warning."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, cast

from msgspec.structs import replace

from transom.conversation.appending.log_writer import LogWriter
from transom.core.entry import Body, Entry, Meta
from transom.core.message import Assistant, Call, Fact, Head, Instruction, Raw, ToolResult
from transom.core.view import STRAY, View
from transom.errors import InvalidMessage, quote, shorten
from transom.wire.dialect import Dialect, Placed
from transom.wire.dialects import dialect_named
from transom.wire.fields import compact_json
from transom.wire.media import form_of_parts
from transom.wire.openai import OPENAI_CHAT
from transom.wire.translate import translate_fact

_logger = logging.getLogger(__name__)

NAMED_CALLS = 8


def split_head(
    messages: Sequence[object], where: str = "", dialect: Dialect = OPENAI_CHAT
) -> tuple[list[Instruction], list[Placed]]:
    """The leading instructions, and every later fact with the position of its message. Raises InvalidMessage.

    A message is a dict, or a client library's object that can dump itself as one.
    """
    facts = dialect.parse(messages, where)
    head: list[Instruction] = []
    for _, fact in facts:
        if not isinstance(fact, Instruction):
            break
        head.append(fact)
    if not dialect.render_head(Head(messages=tuple(head))):  # this dialect has no system messages among the others
        return [], facts
    return head, facts[len(head) :]


def parse_result(dialect: Dialect, call_id: str, content: str | list[Any] | Raw) -> Fact:
    """A tool result. An object goes to a dialect that takes objects; for the others it is its JSON text. Parts in the
    form of another API are translated."""
    if isinstance(content, dict):
        with suppress(InvalidMessage):
            return dialect.parse_tool_result(call_id, content)
        content = compact_json(content)
    form = form_of_parts(content) if isinstance(content, list) else None
    own = dialect.parse_tool_result(call_id, "").dialect
    if form is None or form == own:
        return dialect.parse_tool_result(call_id, content)
    return translate_fact(dialect_named(form).parse_tool_result(call_id, content), own)


def append_facts(
    writer: LogWriter, facts: Sequence[Fact], meta: Meta | None = None, *, known_calls_only: bool = False
) -> list[int]:
    """Append the facts, all in one go, and return their seqs.

    Warns of a result that no window will show, because its call is not open and was not given up. An importer
    (`meta.source`) reports these itself. With `known_calls_only`, a result of a call that the log never had raises
    InvalidMessage; one more result of an answered call is stored, and the warning is all."""
    strays: list[ToolResult] = []
    waiting: list[str] = []

    def entries_of(view: View, at: float) -> list[Entry]:
        bodies = _at_its_request(facts, view.in_flight)
        return [
            replace(view.entry(cast("Body", body), at, meta), seq=view.length + number)
            for number, body in enumerate(bodies)
        ]

    def check(before: View, after: View, entries: Sequence[Entry]) -> None:
        late = after.late_results  # in a note of the next request
        bodies = [entry.body for entry in entries if after.unit_of[entry.seq] == STRAY and entry.seq not in late]
        strays[:] = [body for body in bodies if isinstance(body, ToolResult)]
        if strays:
            waiting[:] = _open_call_ids(before)
        if strays and known_calls_only and not _knows_call(before, strays[0].call):
            raise InvalidMessage("tool_result", _stray_line(strays[0].call, waiting))

    entries = writer.append_new(entries_of, check)
    if strays and (meta is None or meta.source is None):
        more = f" ({len(strays):,} results)" if len(strays) > 1 else ""
        _logger.warning("tool result: %s; it is stored, and never shown%s", _stray_line(strays[0].call, waiting), more)
    return [entry.seq for entry in entries]


def _at_its_request(facts: Sequence[Fact], in_flight: Entry | None) -> Iterator[Fact]:
    """The facts; the first reply among them that does not name its request answers the one in flight."""
    for fact in facts:
        if isinstance(fact, Assistant) and fact.answers is None and in_flight is not None:
            yield replace(fact, answers=in_flight.seq)
            in_flight = None
        else:
            yield fact


def _open_call_ids(view: View) -> list[str]:
    """The ids of the calls that wait for a result; of a call without an id, its name."""
    ids: list[str] = []
    for key in view.open_units:
        unit = view.open_unit(key)
        turn = unit.first_fact
        assert isinstance(turn, Assistant)
        ids += [turn.calls[index].id or turn.calls[index].name for index in unit.open_calls]
    return ids


def _knows_call(view: View, label: str) -> bool:
    """Whether any reply of the log has a call that is answered by this label. Reads the log, newest first."""
    for seq in range(view.length - 1, -1, -1):
        body = view.log[seq].body
        if isinstance(body, Assistant) and any(_is_answered_by(label, call) for call in body.calls):
            return True
    return False


def _is_answered_by(label: str, call: Call) -> bool:
    return label == call.id if call.id else label in {"", call.name}


def _stray_line(label: str, open_ids: list[str]) -> str:
    """Why a result finds no open call, with the ids of those that are open."""
    waiting = ", ".join(quote(each, 60) for each in open_ids[:NAMED_CALLS])
    if len(open_ids) > NAMED_CALLS:
        waiting += f" and {len(open_ids) - NAMED_CALLS:,} more"
    return shorten(f"no open call has the id {quote(label, 60)}; open calls: {waiting or 'none'}", 300)
