"""A recorded conversation as a value, which every importer makes, and the formats that it can come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from transom.conversation.appending.parse_messages import split_head
from transom.core.entry import Meta
from transom.core.message import Fact, Instruction, Raw, User
from transom.errors import InvalidMessage, InvalidSetting, quote
from transom.importers.formats import CONTAINERS, MESSAGE_FORMATS
from transom.importers.sessions.injected_messages import INJECTED, is_injected
from transom.wire.dialect import Placed
from transom.wire.dialects import dialect_named
from transom.wire.openai.render import message
from transom.wire.tools import tools_in
from transom.wire.translate import translate_fact


class Format(Struct, frozen=True, kw_only=True):
    """A file format of recorded conversations.

    `name`: what `--format` takes; `title`: for people. `dialect`: the dialect that its messages have once they are
    read. `written`: an export can write it; the others can only be read.
    """

    name: str
    title: str
    dialect: str
    written: bool = True


_WRITTEN = {
    each.name: each
    for each in (
        Format(name="openai", title="OpenAI Chat", dialect="openai"),
        Format(name="responses", title="OpenAI Responses", dialect="responses"),
        Format(name="anthropic", title="Anthropic Messages", dialect="anthropic"),
        Format(name="gemini", title="Gemini", dialect="gemini"),
        Format(name="claude_code", title="Claude Code session", dialect="anthropic"),
        Format(name="codex", title="Codex session", dialect="responses"),
        Format(name="pi", title="pi session", dialect="openai"),
        Format(name="langchain", title="LangChain messages", dialect="openai"),
        Format(name="pydantic_ai", title="pydantic-ai messages", dialect="openai"),
        Format(name="openai_agents", title="OpenAI Agents items", dialect="responses"),
    )
}
_READ = {
    each.name: Format(name=each.name, title=each.title, dialect="openai", written=False)
    for each in (*MESSAGE_FORMATS.values(), *CONTAINERS)
    if each.title and each.name not in _WRITTEN
}
FORMATS = {**_WRITTEN, **_READ}
"""All formats, by name."""


class Recorded(Struct, frozen=True, kw_only=True):
    """One conversation from a file. Its messages are in the form of its dialect, and are not checked yet.

    `id`: its own id, or one made of the file's name; `format`: the name of its format; `dialect`: of its messages.
    `system`: the instruction outside the messages, as the dialect's `parse_system` takes it, or None. `source`: how
    errors name the place: the file, and the line where a file holds several conversations. `injected`: the positions of
    the messages that the file calls injected; `meta_of` also knows others, by their text.

    `compactions`: where the program that wrote the file had compacted the conversation itself. The key is the position
    of the message with its summary, the value is the text that the model was left with of everything before.
    """

    id: str
    format: str
    dialect: str
    messages: list[Raw]
    """The messages, in order."""
    system: Any = None
    tools: tuple[Raw, ...] = ()
    """The schemas of the tools that its requests have."""
    source: str = ""
    injected: frozenset[int] = frozenset()
    compactions: Mapping[int, str] = {}

    def facts(self) -> tuple[list[Instruction], list[Placed]]:
        """Parse the messages: return the leading instructions, and every later fact with the position of its message in
        `messages`, from 0. The instructions begin with those of `system`.

        Raises InvalidMessage, naming the place, for a message that its dialect does not allow.
        """
        dialect = dialect_named(self.dialect)
        head, facts = split_head(self.messages, self.source, dialect)
        if self.system is None:
            return head, facts
        try:
            return [*dialect.parse_system(self.system), *head], facts
        except InvalidMessage as problem:
            raise InvalidMessage(f"{self.source}, {problem.where}", problem.why) from None

    def tools_for(self, dialect: str) -> list[Raw]:
        """Return the tools as a request of this dialect has them.

        If it is not the conversation's own dialect, the built-in tools of a provider are left out.
        """
        known = [tool for tool in self.tools if self.dialect == dialect or tools_in(tool)]
        return dialect_named(dialect).render_tools(known)

    def meta_of(self, at: int, fact: Fact) -> Meta | None:
        """Return `INJECTED` if a program wrote the message at this position, and `fact`, which was read from it, is in
        the user's role; otherwise None."""
        if isinstance(fact, User) and (at in self.injected or is_injected(fact, self.format)):
            return INJECTED
        return None

    def injected_in(self, facts: Iterable[Placed]) -> frozenset[int]:
        """Return the positions of the messages that a program wrote in the user's role. `facts`: those of `facts()`,
        each with the position of its message."""
        metas = ((at, self.meta_of(at, fact)) for at, fact in facts)
        return frozenset(at for at, meta in metas if meta is not None and meta.injected)


def as_openai_chat(recorded: Recorded) -> Recorded:
    """Return a recorded conversation with its messages translated to OpenAI Chat, so that conversations of different
    dialects can be compared.

    Content is translated as for a request in another dialect: reasoning, and whatever OpenAI Chat has no form for, is
    left out. `system` becomes the first messages; `tools` stay as they are. A conversation of this dialect without
    `system` comes back unchanged. Raises InvalidMessage if a message is not of the conversation's dialect.
    """
    if recorded.dialect == "openai" and recorded.system is None:
        return recorded
    head, facts = recorded.facts()
    messages = [
        message(translate_fact(fact, "openai", keep_custom=True)) for fact in (*head, *(fact for _, fact in facts))
    ]
    marked = recorded.injected_in(facts)
    placed = [(number, at) for number, (at, _) in enumerate(facts, start=len(head))]
    injected = frozenset(number for number, at in placed if at in marked)
    compactions = {number: recorded.compactions[at] for number, at in placed if at in recorded.compactions}
    return replace(
        recorded, dialect="openai", messages=messages, system=None, injected=injected, compactions=compactions
    )


def format_named(name: object, known: Iterable[str] = FORMATS) -> Format:
    """Return the format with this name. `known`: the names that the error of an unknown one lists. Raises
    InvalidSetting if there is none."""
    if not isinstance(name, str) or name not in FORMATS:
        raise InvalidSetting(f"unknown format {quote(name)}: there are {', '.join(known)}")
    return FORMATS[name]


def format_list() -> str:
    """Return the names of all formats in one text, separated by commas."""
    return ", ".join(FORMATS)
