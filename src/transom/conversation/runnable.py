"""What a run is given: its conversation and its settings.

`RunnableConversation` is the part of `Conversation` that a run uses, and `failed`, as a protocol. So their files need
not import `Conversation`, which imports them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from msgspec import Struct

from transom.conversation.events import Compacted, ToolCalled
from transom.conversation.function_tool import FunctionTool
from transom.conversation.model_calls.retry import Retry
from transom.conversation.output_type import OutputType
from transom.conversation.settings import Settings
from transom.conversation.state_and_head_parts import State
from transom.conversation.summary_job import SummarySteps
from transom.conversation.usage import WindowUsage
from transom.core.budget import Budget
from transom.core.edit import Edit
from transom.core.entry import Meta
from transom.core.message import Fact, Head, Raw
from transom.core.summary import Summary, SummaryOptions
from transom.core.tool import Tool
from transom.core.view import View
from transom.providers.base import Provider
from transom.providers.model_prices import TokenPrices
from transom.stores import Store, StoredLog
from transom.wire.dialect import Dialect
from transom.wire.rendering import Request


class RunnableConversation(Protocol):
    """What a run needs of a conversation. `Conversation` says what each member does."""

    @property
    def log(self) -> StoredLog: ...
    @property
    def view(self) -> View: ...
    @property
    def head(self) -> Head: ...
    @property
    def store(self) -> Store | None: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def budget(self) -> Budget: ...
    @property
    def window_usage(self) -> WindowUsage: ...
    @property
    def summary(self) -> Summary | None: ...
    @property
    def dialect(self) -> Dialect: ...
    @property
    def tags(self) -> Meta: ...

    def append(self, fact: Fact, meta: Meta | None = None) -> int:
        """Log a fact. Returns the number of its entry."""
        ...

    def edit(self, edit: Edit) -> int:
        """Log an edit. Returns the number of its entry."""
        ...

    def extend(self, messages: Sequence[object]) -> list[int]:
        """Log messages, all or none. Returns the numbers of their entries."""
        ...

    def readback(self, name: str, arguments: object) -> str:
        """The answer to a call of one of the tools that read the log back."""
        ...

    def _request_steps(
        self,
        *,
        tools: Sequence[Raw | Tool] | None = None,
        state: Mapping[str, State] | None = None,
        cache: bool = False,
    ) -> SummarySteps[Request]:
        """The steps of `request`: a run lets its driver wait for a summary."""
        ...

    def _exclusively(self) -> AbstractContextManager[None]:
        """A context manager for a run: only one run at a time. Raises ConversationBusy."""
        ...

    def _use_model(self, provider: Provider, *, was_refused: bool = False, at_most: int = 0) -> None:
        """Plan the next requests for the model of this provider (`RequestPlanner.use_model`)."""
        ...

    def _pending_calls(self) -> list[ToolCalled]: ...
    def _log_pending(self, calls: Sequence[ToolCalled]) -> None:
        """Log that these calls wait for approval."""
        ...

    def take_approved(self) -> list[ToolCalled]:
        """Log that the approved calls are started, and return them."""
        ...

    def _compact_in_run(self, asked: SummaryOptions) -> SummarySteps[Compacted]:
        """The steps of a compaction within a run."""
        ...


Approver = Callable[[ToolCalled], Any]
"""Says whether a call may run: True, False, a text that says why not, or None to let it wait. The function may be
async."""


class RunSettings(Struct, frozen=True, kw_only=True, eq=False):
    """The settings of a run, checked. The fields mean what they mean in `RunOptions`, except:

    - `providers`: the first one is asked for each reply; if it fails for good, the next one is. The next reply begins
      with the first again.
    - `sdk_arguments`: the `settings` of `RunOptions`.
    - `schemas`, `functions`: made of its `tools`: the schemas to send, None for those of the last request; and the
      functions, by the name of their tool.
    - `output`: made of its `output_type`. `stream`: whether replies are asked for in pieces.
    """

    providers: tuple[Provider, ...]
    schemas: Sequence[Raw | Tool] | None = None
    functions: Mapping[str, FunctionTool] = {}
    readback: bool | None = None
    unavailable: Callable[[], Collection[str]] = tuple
    approve: Approver | None = None
    state: Mapping[str, Any] | None = None
    sdk_arguments: Mapping[str, Any] = {}
    reset_tool_choice: bool = True
    output: OutputType | None = None
    output_retries: int = 2
    max_tokens: int | None = None
    max_steps: int | None = None
    max_total_tokens: int | None = None
    max_cost: float | None = None
    timeout: float | None = None
    tool_timeout: float | None = None
    retry: Retry = Retry()
    stream: bool = False
    prices: TokenPrices | None = None
