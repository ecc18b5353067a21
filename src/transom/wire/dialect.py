"""The interface to a provider API: how its messages are read, rendered, counted and checked.

A dialect is one value whose methods are pure. A fact remembers the dialect in which it was read (`Fact.dialect`).
Rendered in that dialect, it comes out as it came in. Rendered in another one, its content is translated; content that
the other API cannot express becomes a placeholder text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, ClassVar, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from transom.core.message import Assistant, Fact, Head, Instruction, Raw, Usage
from transom.core.tokens import FormatCounter, TokenCounter
from transom.core.unit import FoldedSlot, Slot, Unit
from transom.wire.fields import without_lone_surrogates
from transom.wire.replies import UsageFields, usage_of_reply
from transom.wire.stream import Accumulator, turn_of_chunks
from transom.wire.tools import CHAT, ToolFormat, foreign_tools, rendered_tools
from transom.wire.violations import Violation

__all__ = ["Dialect", "Placed", "Rendered", "Violation"]

_encoder = msgspec.json.Encoder()

Placed = tuple[int, Fact]
"""The index of a message in the list it came from, and a fact of that message."""


class Rendered(Struct, frozen=True, gc=False, array_like=True):
    """A message as a dialect sends it (`message`: a dict in the API's own words). It can be unpacked as a pair.

    Neighbours of one role are joined to one message where the API wants that. A message with `joins` false is not
    joined to the one before it; the next one may be joined to it.
    """

    message: Raw
    """The message in the words of the dialect."""
    joins: bool = True

    def __iter__(self) -> Iterator[Any]:
        """Yield the message, then whether it joins: for unpacking."""
        return iter((self.message, self.joins))


class Dialect(Struct, frozen=True):
    """A provider API: reads its messages, renders windows for it, counts and checks its requests.

    - `name`: the name by which callers choose the dialect.
    - `digest_role`: the role of the message that shows the text of a fold; one of `digest_roles`.
    - `foreign_tools`: tools of another API's own are sent too, as they are: for a server that passes them on. By
      default they are left out, because the API refuses a request with them.

    All `parse` methods raise InvalidMessage for a value that is not in this dialect; the error names the place. The
    messages of a slot depend on that slot alone, so that they never change while the slot stays.
    """

    name: str
    digest_role: str = "user"
    foreign_tools: bool = False

    usage_fields: ClassVar[UsageFields | None] = None
    """Where a reply has its usage. None: only `parse_reply` knows it."""
    tool_format: ClassVar[ToolFormat] = CHAT
    """How the API writes the schemas of tools."""

    @property
    def digest_roles(self) -> tuple[str, ...]:
        """The roles that the message with the text of a fold may have in this API."""
        return ("user",)

    # ---- reading

    def parse(self, messages: Sequence[object], where: str = "") -> list[Placed]:
        """Read the messages of a request as facts, in order; each fact comes with the index of its message.

        A message is a dict, or an object of a client library, and may hold several facts. (OpenAI's Responses also
        takes a text in place of the list: a message of the user.) `where`: what errors say before the index of the
        message.
        """
        raise NotImplementedError

    def parse_system(self, value: object) -> list[Instruction]:
        """Read the instructions of a request: a text, or what else the API may have beside the messages. That is a list
        of text blocks in Anthropic's `system`, a content in Gemini's `systemInstruction`, and null for none in the
        `instructions` of OpenAI's Responses."""
        raise NotImplementedError

    def parse_user(self, content: object) -> Fact:
        """Read the content of a user message: a text, a list of this dialect's content parts, or None for an empty
        message. The fact is a `User`."""
        raise NotImplementedError

    def parse_tool_result(self, call: str, content: object) -> Fact:
        """Read the result of the call with the id `call`: a text, a list of this dialect's content parts, or None for
        an empty result. Gemini takes an object too; all others raise InvalidMessage for it. The fact is a
        `ToolResult`."""
        raise NotImplementedError

    def parse_reply(self, reply: object) -> Assistant:
        """Read the reply of the model: a response (object or dict), the model's message alone, or the list of a
        stream's chunks.

        The turn has its usage if the reply reports it.
        """
        if self.is_stream(reply):
            return turn_of_chunks(cast("Sequence[object]", reply), self.accumulator())
        return self._parse_response(reply)

    def _parse_response(self, reply: object) -> Assistant:
        """As `parse_reply`, for a reply that is no stream."""
        raise NotImplementedError

    def usage_of(self, reply: object) -> Usage | None:
        """The usage that a reply reports; None if it reports none. `reply`: what `parse_reply` takes, but also any
        other value. Never raises."""
        try:
            if isinstance(reply, (list, tuple)):
                chunks, accumulator = cast("Sequence[object]", reply), self.accumulator()
                for chunk in chunks:
                    accumulator.feed(chunk)
                return accumulator.usage
            found = None if self.usage_fields is None else usage_of_reply(reply, self.usage_fields)
            return self.parse_reply(reply).usage if found is None else found
        except Exception:  # noqa: BLE001 - the reply may be anything
            return None

    def is_stream(self, reply: object) -> bool:
        """Whether a reply is the list of a stream's chunks."""
        return isinstance(reply, (list, tuple))

    def accumulator(self) -> Accumulator:
        """A new accumulator, for the chunks of one streamed reply."""
        raise NotImplementedError

    # ---- rendering

    def render_head(self, head: Head) -> list[Rendered]:  # noqa: ARG002 - most APIs take them beside the messages
        """The messages for the instructions of a head, where the API takes them among the messages. Empty where `body`
        takes them."""
        return []

    def render_slot(self, slot: Slot) -> list[Rendered]:
        """The messages of a slot. A `FoldedSlot` gives its text, or the provider's compaction in place of the text, and
        then the units that are pinned out of it. A sealed slot gives none. Lone surrogates in a text are replaced."""
        if isinstance(slot, Unit):
            return messages_without_surrogates(self.render_unit(slot))
        if slot.sealed:
            return []
        text = [self.digest_message(slot)] if slot.compaction is None else self.render_unit(slot.compaction)
        return messages_without_surrogates([*text, *chain.from_iterable(map(self.render_unit, slot.pinned_units))])

    def user_message(self, text: str) -> Rendered:
        """A user message with a text of ours, for example the text of a fold."""
        return Rendered({"role": "user", "content": text})

    def digest_message(self, fold: FoldedSlot) -> Rendered:
        """The message with the text of a fold, under the role `digest_role`. It is a user message if the fold has
        excerpts of any units (`FoldedSlot.excerpted`), because these may be messages that the window must have."""
        if self.digest_role == "user" or fold.excerpted:
            return self.user_message(fold.text)
        return Rendered({"role": self.digest_role, "content": fold.text})

    def render_unit(self, unit: Unit) -> list[Rendered]:
        """The messages of a unit, for `render_slot`: its head, then the results of its calls in the order in which they
        came.

        A call without a result gets none here: a plan closes such calls before a request.
        """
        raise NotImplementedError

    def join(self, messages: Sequence[Rendered]) -> list[Raw]:
        """The rendered messages of a window as the list that is sent. Some APIs want neighbours of one role as one
        message.

        The given messages are not changed. More messages at the end never change the messages before the last one,
        except a call of the provider's own tool that waited for its result and got none.
        """
        return [rendered.message for rendered in messages]

    def required_user_turn(self, turn: Assistant) -> str:  # noqa: ARG002 - a dialect may need it
        """The text of the user message that must follow `turn` if it is the last one of a window; empty if none must.

        `turn` has no tool calls. Some APIs refuse a request that ends with the model's message.
        """
        return ""

    # ---- requests

    def render_tools(self, tools: Sequence[Raw]) -> list[Raw]:
        """The tool schemas as the API takes them.

        A schema in the API's own format stays as it is, byte for byte, and so does a tool of the API's own, such as a
        web search. A function in another API's format, or a `Tool.schema`, is translated. A tool of another API's own
        is left out (`left_out_tools`). One that could be anybody's is sent as it is.
        """
        return rendered_tools(tools, self.tool_format, foreign=self.foreign_tools)

    def left_out_tools(self, tools: Sequence[Raw]) -> list[Raw]:
        """The tools that `render_tools` leaves out: those whose form shows that they are another API's own. Of a tool
        of Gemini that declares functions too, a new dict with its other keys: the functions are sent. Empty with
        `foreign_tools`."""
        return [] if self.foreign_tools else foreign_tools(tools, self.tool_format)

    def body(self, head: Head, messages: list[Raw], tools: Sequence[Raw] = ()) -> Raw:  # noqa: ARG002 - for others
        """The body of a request without the model and the settings. `messages`: all messages as `join` returns them,
        those of `render_head` first. The instructions of `head` are added only where the API takes them beside the
        messages; `tools` are rendered here."""
        return {"messages": messages, **self._tools(tools)}

    def continuation(self, slots: Sequence[Slot]) -> Raw:  # noqa: ARG002 - most APIs need none
        """Fields beside the messages that a request with these slots needs because of the model's newest turn. For
        example Anthropic's `container`, while a tool of the provider waits in that turn. Empty for most APIs."""
        return {}

    def _tools(self, tools: Sequence[Raw]) -> Raw:
        """The `tools` of a body. No such key without tools: APIs refuse an empty list."""
        rendered = self.render_tools(tools)
        return {"tools": rendered} if rendered else {}

    def arguments(self, body: Raw) -> Raw:
        """The keyword arguments with which the provider's SDK is called for this body; the model's name is not among
        them. Most dialects return the body itself."""
        return body

    def compaction_request(self, live: Raw, instructions: str = "") -> Raw | None:  # noqa: ARG002 - most APIs have none
        """The request that has the provider compact the messages of a live request, as keyword arguments of its SDK.
        `instructions`: what it should keep, where the API takes that. None if the API has no compaction on demand."""
        return None

    def violations(self, body: Raw) -> list[Violation]:
        """Every rule of the API that a request's body breaks; empty for a valid body. Only what the body shows is
        checked: structure, order, ids, empty texts, numbers; not the model, signatures or tokens."""
        raise NotImplementedError

    def warnings(self, body: Raw) -> list[Violation]:
        """What the API's documentation forbids in a request's body, although the API took it when that was tested.
        Another server of the same API may refuse it.

        `violations` does not list these findings. Empty if there is none; by default always. A process logs the first
        finding as a warning, once for each conversation.
        """
        del body
        return []

    def format_counter(self, counter: TokenCounter) -> FormatCounter:
        """A counter of the tokens of facts as this dialect sends them. It counts texts with `counter`, and never counts
        fewer tokens than are sent."""
        raise NotImplementedError


def join_roles(messages: Sequence[Rendered], content: str) -> list[Raw]:
    """Join neighbouring messages of the same role into one, which has the parts of all of them.

    `content`: the key of the parts in a message; a text under it becomes a text part. A message with further fields
    beside this key and the role stays alone. A message with `joins` false is not joined to the one before it; the next
    one may be joined to it. No given message is changed.
    """
    out: list[Raw] = []
    ours = False  # whether the last one is new
    role: object = None  # of the last one
    for rendered in messages:
        message = rendered.message
        before, role = role, message.get("role")
        if role != before or not out or not rendered.joins or {*out[-1], *message} != {"role", content}:
            out.append(message)
            ours = False
            continue
        if not ours:
            out[-1] = {**out[-1], content: list(_pieces(out[-1][content]))}
            ours = True
        out[-1][content].extend(_pieces(message[content]))
    return out


def _pieces(content: str | list[Raw]) -> list[Raw]:
    """The content of a message as a list of parts."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def messages_without_surrogates(messages: list[Rendered]) -> list[Rendered]:
    """The messages with a question mark for each lone surrogate, in keys too (see `replace_surrogates`). If no message
    has one, the same list; otherwise a new list, in which all messages are copies."""
    try:
        _encoder.encode(messages)
    except UnicodeEncodeError:
        return [replace(rendered, message=without_lone_surrogates(rendered.message)) for rendered in messages]
    return messages
