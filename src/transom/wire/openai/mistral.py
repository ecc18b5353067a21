"""The dialect of Mistral's chat API: OpenAI's, with stricter rules.

- M1: a tool call's id is exactly nine letters and digits (E, R: all accepted ones are).
- M2: no user message directly after a tool's result (E; R: clients put an assistant's "OK" between).
- M3: the last message is a user's or a tool's, or is marked `prefix` (E).
- M4: roles are system, user, assistant and tool (D).
- M5: a message has no key that its role does not know (E: `extra_forbidden`, of `name`, `reasoning_content`, clients'
  own).
"""

from __future__ import annotations

import hashlib
import re
import string
from collections.abc import Iterator, Sequence
from itertools import pairwise

from transom import texts
from transom.core.message import Assistant, Fact, Head, Instruction, Raw, ToolResult
from transom.core.tokens import MESSAGE_TOKENS, FormatCounter, TokenCounter
from transom.core.unit import Unit
from transom.wire.dialect import Rendered, Violation
from transom.wire.fields import dicts
from transom.wire.openai.dialect import ChatCounter, OpenAIChatDialect
from transom.wire.openai.parse import DIALECT_NAME
from transom.wire.violations import Finding, Must, collect_violations, short_repr, wrong_fields

_LETTERS = string.digits + string.ascii_letters
_LABEL = re.compile(r"[a-zA-Z0-9]{9}")
_KEYS = {
    "system": ("role", "content"),
    "user": ("role", "content"),
    "assistant": ("role", "content", "tool_calls", "prefix"),
    "tool": ("role", "content", "tool_call_id", "name"),
}


def nine_letters(label: str) -> str:
    """A label of nine letters and digits: `label` itself if it is one, else a hash of it."""
    if _LABEL.fullmatch(label):
        return label
    number = int.from_bytes(hashlib.blake2b(label.encode("utf-8", "replace"), digest_size=16).digest())
    return "".join(_LETTERS[number // len(_LETTERS) ** place % len(_LETTERS)] for place in range(9))


class MistralDialect(OpenAIChatDialect, frozen=True):
    """Chat messages as Mistral takes them. Messages that came from Mistral's API come out unchanged, except for system
    messages behind the head: they become marked user messages."""

    name: str = "mistral"

    def required_user_turn(self, turn: Assistant) -> str:
        """`texts.CONTINUE`; empty if the turn is marked `prefix`, so that the model goes on with it (M3)."""
        return "" if turn.extra and turn.extra.get("prefix") and turn.dialect == DIALECT_NAME else texts.CONTINUE

    def render_head(self, head: Head) -> list[Rendered]:
        """The messages for the instructions, all of them with the role system (M4), without keys that Mistral does not
        know (M5)."""
        return [Rendered(_strict(message)) for message, _ in super().render_head(head)]

    def render_unit(self, unit: Unit) -> list[Rendered]:
        """The messages of a unit as Mistral takes them: with call ids of nine letters and digits (M1), without keys
        that it does not know (M5), and an instruction as a marked user message."""
        return [Rendered(_as_user_message(_strict(message))) for message, _ in super().render_unit(unit)]

    def join(self, messages: Sequence[Rendered]) -> list[Raw]:
        """The messages, with a short one of the assistant between a tool's result and the user (M2)."""
        out: list[Raw] = []
        for message, _ in messages:
            if message["role"] == "user" and out and out[-1]["role"] == "tool":
                out.append({"role": "assistant", "content": texts.ACKNOWLEDGED})
            out.append(message)
        return out

    def format_counter(self, counter: TokenCounter) -> FormatCounter:
        """A counter with room for labels of nine tokens, and for the short message after each result."""
        return _MistralCounter(counter, DIALECT_NAME, objects=False, tools=self.render_tools, name=self.name)

    def violations(self, body: Raw) -> list[Violation]:
        """Every rule of OpenAI's API, and of M1 to M5, that a body breaks."""
        messages = dicts(body.get("messages"))
        each = [list(_of_message(message, before)) for before, message in pairwise([{}, *messages])]
        said = [message for message in messages if message.get("role") != "system"]
        last = messages[-1] if said else {"role": "user"}  # of a system prompt alone nothing is known
        if last.get("role") not in ("user", "tool") and not last.get("prefix"):
            each[-1].append(("M3", f"the last message is of {short_repr(last.get('role'))}"))
        return collect_violations((), each, super().violations(body))


class _MistralCounter(ChatCounter):
    """Counts for Mistral: ids of nine letters, and the short message that may follow a result."""

    def messages(self, fact: Fact) -> int:
        """Two for a turn with calls: a short message may follow its results."""
        return 2 if isinstance(fact, Assistant) and fact.calls else 1

    def count_envelope(self, fact: Fact) -> int:
        """The tokens beside the parts. An id of nine letters counts as nine tokens; it cannot have more."""
        tokens = super().count_envelope(fact)
        if isinstance(fact, Assistant):
            return tokens + sum(max(0, 9 - self.count(call.id)) for call in fact.calls)
        if isinstance(fact, Instruction):
            return tokens + self.count(texts.instruction_text("system", "")) + len(fact.parts)
        if isinstance(fact, ToolResult):
            return tokens + 9 + MESSAGE_TOKENS + self.count(texts.ACKNOWLEDGED)
        return tokens


def _as_user_message(message: Raw) -> Raw:
    """Make an instruction a marked user message, in place: a system message must not be the last one (M3)."""
    if message["role"] == "system":
        content = message["content"]
        words = content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
        message.update(role="user", content=texts.instruction_text("system", words))
    return message


def _strict(message: Raw) -> Raw:
    """A message of OpenAI's as Mistral takes it: other ids and role, in place, and without unknown keys."""
    if message["role"] == "developer":
        message["role"] = "system"
    if (legacy := message.pop("function_call", None)) is not None:
        message["tool_calls"] = [{"id": nine_letters(legacy["name"]), "type": "function", "function": legacy}]
    elif message["role"] == "function":
        message["role"], message["tool_call_id"] = "tool", nine_letters(message.get("name", ""))
    for call in dicts(message.get("tool_calls")):
        call["id"] = nine_letters(call.get("id") or "")
    if message["role"] == "tool":
        message["tool_call_id"] = nine_letters(message.get("tool_call_id") or "")
    if not message.get("content") and not message.get("tool_calls"):
        message["content"] = message.get("refusal") or ""
    return {key: value for key, value in message.items() if key in _KEYS[message["role"]]}


def _of_message(message: Raw, before: Raw) -> Iterator[Finding]:
    """Findings of M1, M2, M4 and M5 in a message. `before`: the message before it."""
    role = message.get("role")
    if role not in ("system", "user", "assistant", "tool"):
        yield "M4", f"role {short_repr(role)}"
    else:
        yield from (("M5", f"key {short_repr(key)}") for key in message if key not in _KEYS[role])
    if role == "user" and before.get("role") == "tool":
        yield "M2", "a user message right after a tool's answer"
    for call in dicts(message.get("tool_calls")) if role == "assistant" else ():
        yield from wrong_fields("tool_calls", call, {"id": Must("M1", _LABEL)})
    if role == "tool":
        yield from wrong_fields("", message, {"tool_call_id": Must("M1", _LABEL)})


MISTRAL = MistralDialect()
