"""Translates a recorded conversation of any dialect to OpenAI Chat, so that conversations can be compared."""

from __future__ import annotations

from msgspec.structs import replace

from transom.importers.recorded import Recorded
from transom.wire.openai.render import message
from transom.wire.translate import translate_fact


def as_openai_chat(recorded: Recorded) -> Recorded:
    """Return a recorded conversation with its messages translated to OpenAI Chat; itself if that is its dialect
    already.

    Content is translated as for a request in another dialect: reasoning, and whatever OpenAI Chat has no form for, is
    left out. Raises InvalidMessage if its messages are not of its
    dialect.
    """
    if recorded.dialect == "openai" and recorded.system is None:
        return recorded
    head, facts = recorded.facts()
    messages = [message(translate_fact(fact, "openai")) for fact in (*head, *(fact for _, fact in facts))]
    begin = len(head)
    marked = recorded.injected_in(facts)
    injected = frozenset(begin + number for number, (at, _) in enumerate(facts) if at in marked)
    return replace(recorded, dialect="openai", messages=messages, system=None, injected=injected)
