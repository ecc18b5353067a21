"""Reads the labelled questions of a conversation in Transom's own form.

A question is `{"question", "asked_at", "answer", "evidence", "category"}`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from transom.core.message import Raw
from transom.errors import InvalidMessage
from transom.importers.recorded import LabelledQuestion
from transom.wire.fields import kind_of

CATEGORY = 40
"""Characters of a category that are kept."""


def questions_in(body: Raw, where: str, most: int) -> tuple[LabelledQuestion, ...]:
    """Read the questions of a conversation that has `most` messages.

    Raises InvalidMessage, naming the field, if `questions` is not a list, a question has no text, or `asked_at` is not
    a whole number from 0 to `most`. Evidence that is not the position of an earlier message is left out.
    """
    return tuple(_questions(body.get("questions"), where, most))


def _questions(value: object, where: str, most: int) -> Iterator[LabelledQuestion]:
    if value is None:
        return
    if not isinstance(value, list):
        raise InvalidMessage(where, f"questions must be a list, not {kind_of(value)}")
    for index, item in enumerate(cast("list[object]", value)):
        path = f"questions[{index}]"
        fields = cast("Raw", item) if isinstance(item, dict) else {}
        text, at = fields.get("question"), fields.get("asked_at")
        if not isinstance(text, str) or not text:
            found = "not an empty string" if text == "" else f"not {kind_of(text)}"
            raise InvalidMessage(
                where, f"{path}.question must be a text, {found if 'question' in fields else 'but is missing'}"
            )
        if at is None:
            at = most
        if not isinstance(at, int) or isinstance(at, bool) or not 0 <= at <= most:
            shown = f"{at!r:.40}" if kind_of(at) == "a number" else kind_of(at)
            raise InvalidMessage(where, f"{path}.asked_at must be a whole number from 0 to {most}, not {shown}")
        answer, places, category = fields.get("answer"), fields.get("evidence"), fields.get("category")
        listed = cast("list[object]", places) if isinstance(places, list) else []
        yield LabelledQuestion(
            index=index,
            text=text,
            asked_at=at,
            answer=None if answer is None else str(answer),
            evidence=tuple(place for place in listed if isinstance(place, int) and 0 <= place < at),
            category=category[:CATEGORY] if isinstance(category, str) else "",
        )
