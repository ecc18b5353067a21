"""The window as callers meet it: in their provider's words, and ready to say why it is what it is."""

from __future__ import annotations

from typing import Any

from transom.core import window as core
from transom.core.entry import Sent
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

    @classmethod
    def sent(cls, view: View) -> Window:
        """The window of the request in flight, which is the newest entry of this view: it is what the view shows."""
        assert view.sent is not None
        sent = view.sent.body
        assert isinstance(sent, Sent)
        return cls(
            head=view.head,
            slots=tuple(view.slots),
            digest=sent.digest,
            size=view.total,
            tokens=round(view.total.tokens * view.ratio),
            limit=sent.limit,
            kept=sent.kept,
            breaks=None if sent.breaks is None else core.Break(*sent.breaks),
            drawn=view.drawn,
            view=view,
        )

    def openai(self) -> list[dict[str, Any]]:
        """OpenAI chat messages. The list and its messages are yours to change; what lies deeper in them is shared."""
        return self.messages(OPENAI_CHAT)

    def explain(self) -> list[Row]:
        """For every fact of the log: kept, shortened, folded or dropped, why, and its tokens before and after."""
        return explain(self.view)
