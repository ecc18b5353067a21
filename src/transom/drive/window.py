"""The window as callers meet it: in their provider's words, and ready to say why it is what it is."""

from __future__ import annotations

from typing import Any

from transom.core import window as core
from transom.measure.explain import Row, explain
from transom.wire.openai_chat import OPENAI_CHAT


class Window(core.Window, frozen=True, eq=False):
    """A core window that speaks the dialects and explains itself."""

    def openai(self) -> list[dict[str, Any]]:
        """OpenAI chat messages. The list is yours. Its messages are shared with windows handed out before; changing one
        changes no window handed out after. What lies deeper in them is shared: replace it, do not change it."""
        return self.messages(OPENAI_CHAT)

    def explain(self) -> list[Row]:
        """For every fact of the log: kept, shortened, folded or dropped, why, and its tokens before and after."""
        return explain(self.view)
