"""Turns: what stands together in a list of messages. The engine says what does; nothing here pairs by itself."""

from __future__ import annotations

from collections.abc import Sequence

from transom.core.budget import UNLIMITED, Budget
from transom.core.entry import Entry
from transom.core.folding import fold
from transom.core.frame import Frame
from transom.core.message import Head, Instruction, Raw
from transom.core.plan import plan
from transom.core.view import View
from transom.core.window import Window
from transom.policies.plain import PASSTHROUGH
from transom.wire.openai_chat import OPENAI_CHAT


class _Uncounted:
    """Nothing is cut here, so nothing need be counted."""

    name = "uncounted"

    def count(self, text: str) -> int:  # noqa: ARG002 - as a counter is asked
        return 0


def turns(messages: Sequence[object]) -> tuple[list[Raw], list[list[Raw]]]:
    """The system messages that lead, and the turns after them: each a message with all the answers to its calls.

    All of them one after another are a valid request, equal to `messages` if that was one. A result without a call is
    left out, a call without a result gets a made one, a result that stands elsewhere comes to its call, an empty
    message goes. Nothing is shared with the input. Raises InvalidMessage for what is no message.
    """
    facts = [fact for _, fact in OPENAI_CHAT.read(messages)]
    lead = next((at for at, fact in enumerate(facts) if not isinstance(fact, Instruction)), len(facts))
    head = Head(messages=tuple(fact for fact in facts[:lead] if isinstance(fact, Instruction)))
    log = [Entry(seq=seq, at=0.0, body=fact) for seq, fact in enumerate(facts[lead:])]  # type: ignore[arg-type]
    view = fold(View(log, _Uncounted()), log)
    view = plan(view, Frame(head=head), Budget(context=UNLIMITED), PASSTHROUGH, at=0.0, kind=Window).view
    return OPENAI_CHAT.head(head), [OPENAI_CHAT.slot(slot) for slot in view.slots]


def coherent(messages: Sequence[object]) -> list[Raw]:
    """The messages, every result behind its call. Equal to the input if that was valid. Raises InvalidMessage."""
    head, rest = turns(messages)
    return [*head, *(message for turn in rest for message in turn)]
