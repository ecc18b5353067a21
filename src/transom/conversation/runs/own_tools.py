"""The tools that a run answers itself: `context_manager`, and those that read the log back.

With `context_manager` the model itself compacts its window: `tools=[*my_tools, CONTEXT_MANAGER]`. It runs when all
other calls of the reply have their results, so that a compaction never happens between two of them. A second call of it
in the same reply is refused: there is nothing left to compact. Below LEAST_USED of the budget it does nothing. Notes
and a focus are refused where the conversation makes no summaries.

The tools that read back are offered so that a marker in a window leads somewhere. Tools stand before everything else in
a request: adding them later would break the cached prefix. So they are there from a conversation's first request on, or
not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from transom import texts
from transom.conversation.events import Compacted
from transom.conversation.function_tool import names_of
from transom.conversation.runnable import RunnableConversation
from transom.conversation.runs.awaited_work import ToolOutcome
from transom.conversation.summary_job import SummarySteps
from transom.core.message import Raw
from transom.core.summary import SummaryOptions
from transom.core.tool import Tool
from transom.errors import InvalidSetting, TransomError, quote
from transom.readback import TOOLS

LEAST_USED = 0.2
"""The share of the budget below which `context_manager` does nothing."""


# The docstring and the descriptions of the fields are sent to the model.
class ContextArguments(Struct, kw_only=True, forbid_unknown_fields=True):
    """Make room in your context window: older turns become a summary. Use it between two pieces of work. Everything
    stays in the log."""

    notes: Annotated[str, Meta(description="What you must still know to the letter. It is kept unchanged.")] = ""
    focus: Annotated[str, Meta(max_length=1_000, description="What the summary should keep above all.")] = ""


_SCHEMA = msgspec.json.schema(ContextArguments)["$defs"]["ContextArguments"]

CONTEXT_MANAGER = Tool(
    name=texts.CONTEXT_MANAGER,
    description=" ".join((ContextArguments.__doc__ or "").split()),
    parameters={key: _SCHEMA[key] for key in ("type", "properties")},
)
"""The tool `context_manager`, which `Conversation.run` answers by itself."""


def context_outcome(conv: RunnableConversation, arguments: str) -> SummarySteps[tuple[ToolOutcome, Compacted | None]]:
    """Compact the window as the model asked. Returns the result that the model reads, and the event of the compaction;
    None in its place if nothing was compacted. `arguments`: the JSON that the model wrote; empty or null: no arguments.
    Wrong arguments, and errors of the compaction, are not raised: the result is a failed one that says so. In a window
    that is less than 20% full (`LEAST_USED`) nothing is done, and the result says that, without being a failed one."""
    try:
        written = "{}" if arguments.strip() in ("", "null") else arguments
        asked = msgspec.json.decode(written, type=ContextArguments)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as wrong:
        return ToolOutcome(content=quote(str(wrong)), failed=True), None
    if conv.window_usage.used < LEAST_USED * conv.window_usage.budget:
        return ToolOutcome(content=texts.NOTHING_TO_SUMMARISE), None
    notes = (asked.notes,) if asked.notes.strip() else ()
    compact = conv._compact_in_run  # pyright: ignore[reportPrivateUsage] - within a run, which `compact` refuses
    try:
        done = yield from compact(SummaryOptions(waits=True, focus=asked.focus, notes=notes))
    except InvalidSetting:
        return ToolOutcome(content=texts.NO_NOTES, failed=True), None
    except TransomError as error:
        return ToolOutcome(content=str(error), failed=True), None
    failure = texts.context_failure(done.failure) if done.failure else ""
    if not done.edits:
        return ToolOutcome(content=failure or texts.NOTHING_TO_SUMMARISE, failed=bool(failure)), None
    content = texts.context_compacted(done.tokens_before, done.tokens_after)
    return ToolOutcome(content=f"{content}\n{failure}" if failure else content), done


LEAST_BUDGET = 8_000
"""The smallest budget, in tokens, with which a run offers them unasked. Their schemas take about 900."""

Schemas = Sequence[Raw | Tool]


def with_readback(conv: RunnableConversation, schemas: Schemas | None, asked: bool | None) -> Schemas | None:
    """The tools of a run, with or without those that read back. `schemas`: the caller's tools; None: those of the last
    request. It is returned itself if nothing has to change.

    `asked`: true adds the readback tools, false takes them out. None: they are added if the last request had them;
    before the first request, if there are other tools and a window may have 8,000 tokens (`LEAST_BUDGET`).
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
