"""A recorded conversation as a value, which every importer makes, and the formats that it can come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from transom.conversation.appending.parse_messages import split_head
from transom.core.entry import Meta
from transom.core.message import Fact, Instruction, Raw, User
from transom.errors import InvalidMessage, InvalidSetting, quote
from transom.importers.formats import CONTAINERS, MESSAGE_FORMATS
from transom.importers.sessions.injected import INJECTED, is_injected
from transom.wire.dialect import Placed
from transom.wire.dialects import dialect_named
from transom.wire.tools import tools_in


class Format(Struct, frozen=True, kw_only=True):
    """A file format.

    `name`: what `--format` takes; `title`: for people; `dialect`: the dialect of its messages once they are read (of
    traces and replies, that of most); `written`: an export can write it.
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
    if each.name
}
FORMATS = {**_WRITTEN, **_READ}
"""All formats, by name."""


class Recorded(Struct, frozen=True, kw_only=True):
    """One conversation from a file. Its messages are in the form of its dialect, and are not checked yet.

    `id`: its own id, or one made of the file's name; `format`: the name of its format; `dialect`: of its messages.
    `system`: the instruction outside the messages, as the dialect's `parse_system` takes it, or None. `source`: how
    errors name the place: the file, and the line where a file holds several conversations. `injected`: the positions
    of the messages that the file calls injected. `compactions`: the positions of summaries with which the program that
    recorded it had replaced what was before; for each, all that the model still had of that.
    """

    id: str
    format: str
    dialect: str
    messages: list[Raw]
    """The messages, in order."""
    system: Any = None
    tools: tuple[Raw, ...] = ()
    """The schemas of its requests."""
    source: str = ""
    injected: frozenset[int] = frozenset()
    compactions: Mapping[int, str] = {}

    def facts(self) -> tuple[list[Instruction], list[Placed]]:
        """Parse the messages: return the leading instructions, and every later fact with the position of its message.

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
        """Return the tools in the form that a request of this dialect has.

        A provider's built-in tools are left out in other dialects.
        """
        known = [tool for tool in self.tools if self.dialect == dialect or tools_in(tool)]
        return dialect_named(dialect).render_tools(known)

    def meta_of(self, at: int, fact: Fact) -> Meta | None:
        """Return where a fact of the message at this position belongs, and whether a program injected it."""
        if isinstance(fact, User) and (at in self.injected or is_injected(fact, self.format)):
            return INJECTED
        return None

    def injected_in(self, facts: Iterable[Placed]) -> frozenset[int]:
        """Return the positions of the messages that a program wrote in the user's role, among these facts."""
        metas = ((at, self.meta_of(at, fact)) for at, fact in facts)
        return frozenset(at for at, meta in metas if meta is not None and meta.injected)


def format_named(name: object) -> Format:
    """Return the format with this name. Raises InvalidSetting if there is none."""
    if not isinstance(name, str) or name not in FORMATS:
        raise InvalidSetting(f"unknown format {quote(name)}: there are {', '.join(FORMATS)}")
    return FORMATS[name]


def format_list() -> str:
    """List the name of every format, for messages."""
    return ", ".join(FORMATS)
