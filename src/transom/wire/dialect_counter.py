"""`DialectCounter`, the base class of the counters of all dialects: counts the tokens of facts as a dialect sends
them. The counter of each API stands beside its dialect, in `wire/API/dialect.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from transom import texts
from transom.core import message as m
from transom.core.message import Assistant, Call, Fact, Raw, Text
from transom.core.tokens import FormatCounter, TokenCounter
from transom.wire.arguments import CUSTOM_TYPES, function_arguments, object_text, sent_text, takes_text
from transom.wire.media import pixels
from transom.wire.media_tokens import LOW_DETAIL, OPENAI, file_tokens, is_low_detail
from transom.wire.translate import Takes, safe_name

ToolRenderer = Callable[[Sequence[Raw]], list[Raw]]
"""Renders tool schemas in the format of a dialect."""

_LONGEST_LABEL = "call-999999999-99"
"""The longest label that `unique_calls` makes. It is counted where the real one is not known yet."""

_OF_OPENAI = frozenset({"openai", "responses"})
"""The dialects whose images have a `detail`, and whose results have no field that says that a call failed: they render
such results by `with_failed_mark`."""


class DialectCounter(FormatCounter):
    """A format counter that never counts less than a dialect sends.

    Calls that came in another dialect are counted with the longest id under which they may be sent, and parts that the
    API does not take with their placeholder.

    - `counter`: counts the tokens of texts. `dialect`: the dialect's name; the facts that came in it keep their ids.
    - `objects`: the API takes arguments as JSON objects; False: as their text.
    - `tools`: renders tool schemas.
    - `takes`: whether the API takes the id of one of its own calls; None: it takes all.
    - `name`: a name for a variant of the dialect that counts differently; it is stored with the counts.
    """

    def __init__(
        self,
        counter: TokenCounter,
        dialect: str,
        *,
        objects: bool,
        tools: ToolRenderer,
        takes: Takes | None = None,
        name: str = "",
    ) -> None:
        super().__init__(counter, dialect, name)
        self._render_tools = tools
        self._objects, self._takes, self.place = objects, takes, self.count(_LONGEST_LABEL)
        self._failed = self.count(f"{texts.FAILED} ")
        self.left_out = self.count(texts.left_out_marker("image"))
        """The tokens of the longest placeholder for a part."""

    rates = OPENAI
    """What a page of a PDF, and a second of sound or film, cost at the provider."""

    def count_tools(self, tools: Sequence[Raw]) -> int:
        """The tokens of tool schemas as they are sent, each as compact JSON. `tools`: in any form that the dialect's
        `render_tools` takes; those that it leaves out do not count."""
        return super().count_tools(self._render_tools(tools))

    def image(self, width: int, height: int) -> int:  # noqa: ARG002 - a dialect may mind
        """The tokens of an image of this size in pixels, by the provider's formula; 0 if no formula is known.
        `count_part` takes this number only if it is higher than the fixed 1,000 of an image. An image with OpenAI's
        `detail: "low"` counts 100."""
        return 0

    def count_part(self, part: m.Addressed) -> int:
        """The tokens of a part as it will be sent, or of the placeholder in its place."""
        if isinstance(part, Text):
            return self.count(part.text)
        if isinstance(part, Call):
            return self.count(self._sent_arguments(part))
        if isinstance(part, m.Media) and part.media == "file":
            return max(self.left_out, file_tokens(part, self.rates))
        tokens = super().count_part(part)
        if self.dialect in _OF_OPENAI and isinstance(part, m.Media) and is_low_detail(part):
            return LOW_DETAIL
        if self.dialect != "openai" and isinstance(part, m.Media) and part.media == "image" and (size := pixels(part)):
            return max(tokens, self.image(*size))
        return max(self.left_out, tokens) if isinstance(part, m.Other) else tokens

    def count_envelope(self, fact: Fact) -> int:
        """The tokens of a fact beside its parts, as it will be sent. An id that will be replaced, of a call or a
        result, counts as the longest label; a tool name that will be changed counts as the longer one of the two; and
        a failed result of an API without a field for it counts with its mark."""
        tokens, count, own, takes = super().count_envelope(fact), self.count, fact.dialect == self.dialect, self._takes
        if isinstance(fact, m.ToolResult) and fact.failed and self.dialect in _OF_OPENAI:
            tokens += self._failed
        ids = [call.id for call in fact.calls] if isinstance(fact, Assistant) else []
        if isinstance(fact, m.ToolResult):
            ids.append(fact.call)
        for label in ids:
            stays = own and (takes is None or takes(label))
            tokens += 0 if stays else max(0, self.place - count(label))
        if isinstance(fact, Assistant) and not own:
            tokens += sum(max(0, count(safe_name(call.name)) - count(call.name)) for call in fact.calls)
        return tokens

    def _sent_arguments(self, call: Call) -> str:
        """The arguments of a call as this API gets them, as text. Its own custom tools take free text."""
        if takes_text(call):
            is_own = (call.extra or {}).get("type") == CUSTOM_TYPES.get(self.dialect)
            return call.args if is_own else function_arguments(call)
        return object_text(call.args) if self._objects else sent_text(call.args)
