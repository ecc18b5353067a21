"""Which requests of a run offer the tools that read the log back, so that a marker in a window leads somewhere.

Tools stand before everything else in a request: adding them later would break the cached prefix. So they are there from
a conversation's first request on, or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence

from transom import texts
from transom.conversation.function_tool import names_of
from transom.conversation.runs.runnable import RunnableConversation
from transom.core.message import Raw
from transom.core.tool import Tool
from transom.readback import TOOLS

LEAST_BUDGET = 8_000
"""The smallest budget, in tokens, with which a run offers them unasked. Their schemas take about 900."""

Schemas = Sequence[Raw | Tool]


def with_readback(conv: RunnableConversation, schemas: Schemas | None, asked: bool | None) -> Schemas | None:
    """The tools of a run, with or without those that read back. `schemas`: the caller's tools; None: those of the last
    request.

    `asked`: true adds the readback tools, false takes them out. None: they are added if the last request had them;
    before the first request, if there are other tools and the budget is at least `LEAST_BUDGET`.
    """
    sent = conv.head.tools
    given = sent if schemas is None else schemas
    wanted = asked
    if asked is None:
        is_first = not conv.view.sent_tokens
        is_worth_it = bool(given) and conv.budget.usable >= LEAST_BUDGET
        wanted = is_worth_it if is_first else not texts.READ_BACK.isdisjoint(names_of(sent))
    if asked is False:
        kept = [each for each in given if texts.READ_BACK.isdisjoint(names_of([each]))]
        return schemas if len(kept) == len(given) else kept
    missing = [tool for tool in TOOLS if tool.name not in names_of(given)]
    return [*given, *missing] if wanted and missing else schemas
