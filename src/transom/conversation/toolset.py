"""Tools that something else holds, such as an MCP server: opened when a run begins, closed when it ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self, cast

from transom import texts
from transom.conversation.function_tool import FunctionTool, names_of, tools_by_name

MAX_NAME = 64
"""The most characters that providers take for the name of a tool."""


class Toolset(ABC):
    """Several tools in one item of `tools`, which must be opened before they are known.

    A run opens it and closes it. A caller may keep it open for several runs: so `__enter__` and `__exit__` may be
    nested, and the last `__exit__` closes. `name`: the prefix of a tool whose name another tool of the run has too.
    """

    name: str

    @property
    @abstractmethod
    def tools(self) -> Sequence[FunctionTool]:
        """The tools, while it is open, in an order that stays."""

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


def opened_tools(tools: Sequence[object], stack: ExitStack) -> list[object]:
    """The tools of a run: `tools`, with the tools of each toolset in its place. Each toolset is opened, and stays open
    until the stack ends.

    A tool of a toolset gets the name of its toolset in front ("github_search") if another tool of the run has the same
    name, or one that the run answers itself. Raises what opening a toolset raises, and InvalidSetting for what
    `tools_by_name` refuses.
    """
    found = [list(stack.enter_context(each).tools) if isinstance(each, Toolset) else [each] for each in tools]
    own = [each for each in tools if not isinstance(each, Toolset)]
    taken = names_of(tools_by_name(own)[0]) | texts.READ_BACK | {texts.CONTEXT_MANAGER}
    held = [tool for each, tools_of in zip(tools, found, strict=True) if isinstance(each, Toolset) for tool in tools_of]
    counts = Counter(tool.name for tool in cast("list[FunctionTool]", held))
    used = taken | {name for name, count in counts.items() if count == 1}
    named: list[object] = []
    for each, tools_of in zip(tools, found, strict=True):
        for tool in cast("list[Any]", tools_of):
            if isinstance(each, Toolset) and (tool.name in taken or counts[tool.name] > 1):
                named.append(tool.renamed(free_name(f"{each.name}_{tool.name}", used)))
            else:
                named.append(tool)
    return named


def free_name(wanted: str, used: set[str]) -> str:
    """A name that is not in `used`: the wanted one, cut to 64 characters, or if it is used already, with a number
    behind it ("github_search_2", 64 characters together). The name is added to `used`."""
    name, number = wanted[:MAX_NAME], 1
    while name in used:
        number += 1
        name = f"{wanted[: MAX_NAME - len(str(number)) - 1]}_{number}"
    used.add(name)
    return name
