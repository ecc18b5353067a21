"""The window as callers meet it: in their provider's words, and ready to say why it is what it is."""

from __future__ import annotations

from typing import Any

from transom.core import window as core
from transom.core.view import View
from transom.measure.explain import Row, explain
from transom.wire.openai_chat import OPENAI_CHAT


class Window(core.Window, frozen=True, eq=False, kw_only=True):
    """A core window that knows the view it shows."""

    view: View

    @classmethod
    def of(cls, window: core.Window, view: View) -> Window:
        """`window`, made from `view`."""
        return cls(
            head=window.head,
            slots=window.slots,
            digest=window.digest,
            size=window.size,
            tokens=window.tokens,
            limit=window.limit,
            kept=window.kept,
            breaks=window.breaks,
            drawn=window.drawn,
            view=view,
        )

    def openai(self) -> list[dict[str, Any]]:
        """OpenAI chat messages. The list and its messages are yours to change; what lies deeper in them is shared."""
        return self.messages(OPENAI_CHAT)

    def explain(self) -> list[Row]:
        """For every fact of the log: kept, shortened, folded or dropped, why, and its tokens before and after."""
        return explain(self.view)
