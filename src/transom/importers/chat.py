"""A conversation of any dialect as OpenAI Chat messages, for what compares conversations with one another."""

from __future__ import annotations

from bisect import bisect_left

from msgspec.structs import replace

from transom.importers.recorded import Recorded
from transom.wire.openai.render import message
from transom.wire.translate import translate_fact


def as_openai_chat(recorded: Recorded) -> Recorded:
    """The same conversation in OpenAI Chat's words; itself if it is in these. Raises InvalidMessage.

    Content is translated as for a request in another dialect: reasoning is left out, and so is what has no form there.
    """
    if recorded.dialect == "openai" and recorded.system is None:
        return recorded
    head, facts = recorded.facts()
    messages = [message(translate_fact(fact, "openai")) for fact in (*head, *(fact for _, fact in facts))]
    begin, places = len(head), [at for at, _ in facts]

    def moved(at: int) -> int:
        """Where the first message is now that stood at or behind this position."""
        return begin + bisect_left(places, at)

    questions = tuple(
        replace(one, asked_at=moved(one.asked_at), evidence=tuple(map(moved, one.evidence)))
        for one in recorded.questions
    )
    return replace(recorded, dialect="openai", messages=messages, system=None, questions=questions)
