"""Files come back after a compaction: those that were read or changed last, as they are now.

The caller gives a reader, and decides with it what may be read. Only paths that calls of the conversation named reach
the reader, as the calls wrote them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

from msgspec import Struct

from transom import texts
from transom.core.edit import Fold
from transom.core.entry import Sent
from transom.core.message import Assistant, Call, Recalled, ToolResult
from transom.core.policy import Target
from transom.core.tokens import TokenCounter, replace_surrogates
from transom.core.unit import Unit
from transom.core.view import View
from transom.errors import InvalidSetting
from transom.strategies.actions.action import action_of
from transom.strategies.actions.arguments import PATHS, arguments, is_name
from transom.strategies.actions.tool_table import PLAN_TOOLS
from transom.strategies.text.one_line import LONGEST_PATH
from transom.strategies.text.stubs import ending, tool_words

Reader = Callable[[str], str | None]
"""Gives a file's text for a path as a call named it; None if there is none, or none to be shown."""

READ_WORDS = frozenset(("read", "view", "open", "cat", "get", "show", "load"))
"""Words in the names of tools that read files."""

WHY = "files read again after a compaction"

REACH_ENTRIES = 2_000
"""Entries, from the newest back, in which calls are looked for."""

CHARACTERS_PER_TOKEN = 8
"""More of a file is not counted: only its beginning can fit."""


class Rehydrate(Struct, frozen=True, kw_only=True):
    """A recall step (`Policy.recall`) that reads files again after a compaction, and gives their text as it is now for
    the end of the window.

    It takes the files that calls read or changed last and that the window does not show whole: at most `files` of them,
    the newest first. Together they have at most `tokens` tokens, or in a small window the share `share` of the budget's
    usable tokens, if that is less.

    Raises InvalidSetting if `reader` is no function, if `files` or `tokens` is below 1, or if `share` is not above 0
    and at most 1.
    """

    reader: Reader
    """Returns the text of a file by its path; None if it is not there."""
    files: int = 5
    tokens: int = 20_000
    share: float = 0.1

    def __post_init__(self) -> None:
        if not callable(cast("object", self.reader)):
            raise InvalidSetting("rehydrate: reader must be a function that takes a path")
        if self.files < 1 or self.tokens < 1 or not 0 < self.share <= 1:
            raise InvalidSetting("rehydrate: files and tokens must be 1 or more, share above 0 and at most 1")

    def __call__(self, view: View, target: Target) -> Iterator[Recalled]:
        """One fact with the files, if a fold is newer than the last request and the window lacks any; else nothing."""
        if is_compacted(view):
            room = target.budget.share(self.tokens, self.share)
            yield from rehydrated(view, target, self.reader, files=self.files, tokens=room)


def rehydrated(
    view: View, target: Target, reader: Reader, *, files: int = 5, tokens: int = 20_000
) -> Iterator[Recalled]:
    """Yield one fact with the beginnings of at most `files` files (1 or more, not checked), as `reader` gives them now:
    those that calls named last, the newest first. Only the newest 2,000 entries are searched (`REACH_ENTRIES`), and
    calls that failed do not count. Yields nothing if there are no such files.

    Left out is a file that was last only read, in a turn that the window shows untrimmed; one that was changed never is
    for that reason. Left out is also one for which `reader` raises, or returns None or a blank text. Together the files
    have at most `tokens` tokens; each has at most an equal share of what is left, and loses its end. `target`: counts
    tokens, and says how texts name an entry. Whether there was a compaction is not asked: see `Rehydrate`.
    """
    blocks: list[str] = []
    entries: list[int] = []
    left = tokens - target.counter.count(texts.FILES_TITLE) - 4
    for path, entry in _newest_files(view):
        text = _read(reader, path)
        if text is None:
            continue
        most = left // (files - len(blocks))
        block = _block(path, text, target.reference(entry), target.counter, most)
        if block:
            blocks.append(block)
            entries.append(entry)
            left -= target.counter.count(block) + 1
        if len(blocks) == files:
            break
    if blocks:
        yield Recalled(text="\n".join([texts.FILES_TITLE, *blocks]), refs=tuple(sorted(set(entries))), why=WHY)


def is_compacted(view: View) -> bool:
    """Whether the newest fold is newer than the last request. False if there is no fold."""
    for seq in range(view.length - 1, -1, -1):
        body = view.fetch(seq).body
        if isinstance(body, (Fold, Sent)):
            return isinstance(body, Fold)
    return False


def _newest_files(view: View) -> Iterator[tuple[str, int]]:
    """The paths that calls read or changed, with the entry of the call, the newest first, each once; not those that the
    window shows whole."""
    whole = {slot.key for slot in view.slots if isinstance(slot, Unit) and not slot.trims}
    seen: set[str] = set()
    for seq in range(view.length - 1, max(-1, view.length - 1 - REACH_ENTRIES), -1):
        body = view.fetch(seq).body
        if not isinstance(body, Assistant) or not body.calls:
            continue
        unit = view.unit(view.unit_of[seq]) if view.unit_of[seq] >= 0 else None
        answers = () if unit is None else zip(unit.answered_calls, unit.seqs[1:], strict=True)
        results = ((index, view.fetch(answer).body) for index, answer in answers)  # ids repeat, and some APIs have none
        failed = {index for index, result in results if isinstance(result, ToolResult) and ending(result)[1]}
        for index, call in reversed(list(enumerate(body.calls))):
            if index in failed:
                continue
            reads, changes = _paths(call)
            for path in (*changes, *reads):
                if path not in seen:
                    seen.add(path)
                    if path in changes or view.unit_of[seq] not in whole:
                        yield path, seq


def _paths(call: Call) -> tuple[list[str], list[str]]:
    """The paths that a call reads, and those that it changes."""
    if call.name in PLAN_TOOLS:
        return [], []
    named = [
        value for key, value in arguments(call) if key in PATHS and len(value) <= LONGEST_PATH and is_name(key, value)
    ]
    changed = sorted(path for path in action_of(call).changes if "/" in path or "." in path.strip("."))
    changes = [path for path in changed if len(path) <= LONGEST_PATH]
    return (named if tool_words(call.name) & READ_WORDS else []), changes


def _read(reader: Reader, path: str) -> str | None:
    """What the reader gives; whatever goes wrong in it, the file is left out."""
    try:
        text: object = reader(path)
    except Exception:  # noqa: BLE001 - somebody's reader may raise anything, and a window does not depend on it
        return None
    return replace_surrogates(text) if isinstance(text, str) and text.strip() else None


def _block(path: str, text: str, reference: str, counter: TokenCounter, most: int) -> str:
    """A file between fences, as much of its beginning as fits; empty if nothing does."""
    shown = text[: CHARACTERS_PER_TOKEN * max(0, most)]
    while shown:
        block = texts.file_block(path, reference, shown, len(text) - len(shown))
        tokens = counter.count(block)
        if tokens <= most:
            return block
        keep = min(len(shown) - 1, int(len(shown) * most / tokens * 0.95) - 8)
        shown = shown[: max(0, shown.rfind("\n", keep // 2, keep) + 1 or keep)]
    return ""
