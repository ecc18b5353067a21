"""The window as callers meet it: in their provider's words, and ready to say why it is what it is."""

from __future__ import annotations

from typing import Any

from msgspec import field

from transom.core import window as core
from transom.core.derived import Derived
from transom.core.unit import Folded
from transom.measure.explain import Explanation, explain
from transom.wire.dialect import Dialect
from transom.wire.dialects import dialect_named
from transom.wire.openai import OPENAI_CHAT
from transom.wire.rendering import message_count, render_messages


class Window(core.Window, frozen=True, eq=False):
    """A core window that speaks the dialects and explains itself. `derived` keeps the messages rendered so far."""

    derived: Derived = field(default_factory=Derived)

    def openai(self) -> list[dict[str, Any]]:
        """OpenAI chat messages, as plain dicts that are yours to change."""
        return render_messages(self.view, OPENAI_CHAT, self.derived)

    def messages(self, dialect: Dialect) -> list[dict[str, Any]]:
        """The messages of any dialect; as for `openai`."""
        return render_messages(self.view, dialect, self.derived)

    def anthropic(self, *, cache: bool = False) -> dict[str, Any]:
        """For Anthropic's Messages API: `messages`, and `system` if there is any; as for `request`.

        `cache`: with cache marks at the end of the system prompt, of the message that holds the last fold, and of the
        history, as far as the marks of the tools leave any.
        """
        request = self.request("anthropic")
        if not cache:
            return request
        from transom.wire.anthropic import breakpoints  # noqa: PLC0415 - loaded by who asks for it

        folds = [at for at, slot in enumerate(self.slots) if isinstance(slot, Folded)]
        before = message_count(self.view, dialect_named("anthropic"), folds[-1] + 1, self.derived) if folds else 0
        marked = breakpoints({**request, "tools": list(self.view.head.tools)}, [-1, *([before - 1] if before else [])])
        return {key: value for key, value in marked.items() if key != "tools"}

    def responses(self) -> dict[str, Any]:
        """For OpenAI's Responses API: `input`, and `instructions` if there are any; as for `request`."""
        return self.request("responses")

    def gemini(self) -> dict[str, Any]:
        """For Gemini's generateContent: `contents`, and `systemInstruction` if there is any; as for `request`."""
        return self.request("gemini")

    def request(self, dialect: str | Dialect) -> dict[str, Any]:
        """What a request to a provider API holds of the conversation, by the API's own keys.

        Valid and within the budget in the dialect the conversation was opened in; in another it costs other tokens, and
        may end with the model's words where that API wants the user's. It is yours, as for `openai`. Raises
        InvalidSetting for an unknown dialect.
        """
        spoken = dialect_named(dialect)
        return spoken.body(self.view.head, self.messages(spoken))

    def explain(self) -> list[Explanation]:
        """For every fact of the log: kept, shortened, folded or dropped, why, and its tokens before and after."""
        return explain(self.view)
