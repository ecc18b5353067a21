"""A map of a folder of source code: the files and symbols that a reader would need first, within a token budget."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import RLock
from typing import cast

from transom.core.tokens import TokenCounter
from transom.core.view import View
from transom.errors import InvalidSetting, quote
from transom.repo_map.facts_cache import FactsCache, Known, hash_of
from transom.repo_map.files import SourceFile, read_source, source_files
from transom.repo_map.focus import Focus, focus_of, focus_of_view
from transom.repo_map.graph import ReferenceGraph
from transom.repo_map.languages import require_extra
from transom.repo_map.map_text import LEAST_TOKENS, MappedFile, map_text
from transom.repo_map.symbols import file_facts
from transom.tokenizer import o200k

TOKENS = 1_000
"""The budget of a map, in tokens, if none is given."""

Progress = Callable[[float, str], None]
"""A function that is called with the share of the work that is done, from 0 to 1, and the path of a file."""


class RepoMap:
    """The files of a folder of source code, ranked by which file mentions whose symbols.

    Files are parsed once; each use looks at the folder and parses again what has changed on disk. `cache`: a file that
    keeps the parsed facts for the next process. If it cannot be read, everything is parsed; if it cannot be written, a
    warning is logged. `counter`: counts the tokens of the map (default: o200k). Several threads may use one map: one
    waits while another reads the folder. Needs `transom[map]`.

    The map has files of the languages that it can parse, 20,000 at most. Files that git ignores are left out, and so
    are hidden folders, `node_modules`, virtual environments, links, binary files, and files over 400,000 bytes. A file
    that cannot be read is left out; one with syntax errors has fewer symbols. Neither raises. Raises InvalidSetting if
    there is no such folder, or if a package of the extra is missing.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        cache: str | os.PathLike[str] | None = None,
        counter: TokenCounter | None = None,
    ) -> None:
        require_extra()
        if not isinstance(cast("object", folder), str | os.PathLike):
            raise InvalidSetting(f"folder: must be the path of a folder, not {quote(folder)}")
        self.folder = Path(folder).resolve()
        if not self.folder.is_dir():
            raise InvalidSetting(f"folder: {quote(os.fspath(folder))} is no folder")
        self._counter = o200k() if counter is None else counter
        self._cache = None if cache is None else FactsCache(Path(cache))
        self._known: dict[str, Known] | None = None
        self._graph = ReferenceGraph()
        self._lock = RLock()  # the maps of several conversations are made in the threads of their runs

    def refresh(self, progress: Progress | None = None) -> int:
        """Parse the files that have changed on disk, and return how many were parsed.

        `text` and `ranked` call this themselves. `progress`: called for each parsed file, with the share of the work
        that is done, from 0 to 1, and the path of the file.
        """
        with self._lock:
            return self._refresh(progress)

    def ranked(self, *, focus: str | Sequence[str] | View = ()) -> list[MappedFile]:
        """Refresh, and return all files, the one that a reader needs first at the beginning.

        `focus`: tasks, questions, paths and names, or the view of a conversation; empty: no focus. Equal files and an
        equal focus give an equal order. Raises InvalidSetting if `focus` is none of these.
        """
        return self._ranked(focus)

    def text(self, budget: int = TOKENS, *, focus: str | Sequence[str] | View = ()) -> str:
        """Refresh, and return the map within `budget` tokens: files in the order of their rank, each with its best
        symbols.

        Empty if there is no source file, or no room for one. The map has names from the folder: they are data, not
        instructions. Raises InvalidSetting if `budget` is not a whole number from 1, or if `focus` is neither texts nor
        a View.
        """
        _check_budget(budget)
        return map_text(self._ranked(focus, budget // LEAST_TOKENS), budget, self._counter)

    def head_part(self, budget: int = TOKENS, *, focus: str | Sequence[str] | None = None) -> Callable[[View], str]:
        """Return a function that makes the map within `budget` tokens, for
        `Conversation.open(…, head_parts={"repo map": repo_map.head_part(2_000)})`.

        The conversation calls it before the first request, and again only when the cached prefix breaks anyway.
        `focus`: as in `text`; None means the newest turns of the conversation. Raises InvalidSetting as `text` does.
        """
        _check_budget(budget)
        if focus is not None:
            _focus(focus)
        return lambda view: self.text(budget, focus=view if focus is None else focus)

    # ---- how

    def _refresh(self, progress: Progress | None) -> int:
        stored = self._known
        if stored is None:
            stored = {} if self._cache is None else self._cache.load()
        files = source_files(self.folder)
        known, parsed = dict[str, Known](), 0
        for at, file in enumerate(files):
            found, is_parsed = self._facts(file, stored.get(file.path))
            parsed += is_parsed
            if found is None:
                continue
            known[file.path] = found
            if is_parsed and progress is not None:
                progress(at / len(files), file.path)
        is_changed = known.keys() != stored.keys() or any(known[path] is not stored[path] for path in known)
        if self._cache is not None and is_changed:
            self._cache.store(known)
        if is_changed or self._known is None:
            self._graph.update({path: each.facts for path, each in known.items()})
        self._known = known
        return parsed

    def _facts(self, file: SourceFile, known: Known | None) -> tuple[Known | None, bool]:
        """Return what is known of a file now (None if it cannot be read), and whether it was parsed for that."""
        if known is not None and (known.size, known.modified) == (file.size, file.modified):
            return known, False
        data = read_source(self.folder, file.path)
        if data is None:
            return None, False
        digest = hash_of(data)
        if known is not None and known.digest == digest:
            return Known(file.size, file.modified, digest, known.facts), False
        return Known(file.size, file.modified, digest, file_facts(data, file.language)), True

    def _ranked(self, focus: str | Sequence[str] | View, most: int | None = None) -> list[MappedFile]:
        wanted = _focus(focus)
        with self._lock:
            self.refresh()
            assert self._known is not None
            known, ranks = self._known, self._graph.ranks(wanted)
        found = list[MappedFile]()
        for path in sorted(known, key=lambda path: (-ranks.files[path], path))[:most]:
            symbols = known[path].facts.symbols
            symbol_ranks = tuple(ranks.symbols[symbol.name] for symbol in symbols)
            found.append(MappedFile(path, ranks.files[path], symbols, symbol_ranks))
        return found


def _check_budget(budget: object) -> None:
    if type(budget) is not int or budget < 1:
        raise InvalidSetting(f"budget: must be a whole number of tokens, at least 1, not {quote(budget)}")


def _focus(given: str | Sequence[str] | View) -> Focus:
    if isinstance(given, View):
        return focus_of_view(given)
    if isinstance(given, str):
        return focus_of((given,))
    texts = cast("object", given)
    if not isinstance(texts, Sequence) or not all(isinstance(each, str) for each in cast("Sequence[object]", texts)):
        raise InvalidSetting("focus: must be a text, a list of texts, or a View")
    return focus_of(given)
