"""Ranks files and symbols: PageRank over which file mentions whose symbols, personalised by a focus.

Brin and Page, "The anatomy of a large-scale hypertextual web search engine" (1998); the personalised form is that of
Haveliwala, "Topic-sensitive PageRank" (2002). The weights of edges follow Aider's repository map
(https://aider.chat/docs/repomap.html). The words of a focus count by BM25 (Robertson and Zaragoza, 2009).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from transom.repo_map.focus import Focus, words_of_name
from transom.repo_map.symbols import FileFacts

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, Any]

DAMPING = 0.85
"""The share of a file's rank that goes to the files whose symbols it mentions."""

FOCUSED_DAMPING = 0.35
"""The same share where there is a focus: less, so that the rank stays near the files that the focus names."""

ITERATIONS, ENOUGH = 50, 1e-5

UNFOCUSED = 0.1
"""The share of the starting rank that is spread over all files although there is a focus."""

MENTIONED = COMPOUND = 10.0
PRIVATE = EVERYWHERE = PLAIN = 0.1
"""Factors for the weight of a mention. `MENTIONED`: the focus has the name. `COMPOUND`: a long name that is compound or
a type's. `PRIVATE`: the name begins with "_". `EVERYWHERE`: many files define it. `PLAIN`: a plain word, of which half
the mentions mean something else."""

MANY = 5
"""A name that more files than this define says little."""

TEST = 0.3
"""The factor for the words of a focus in a test, if the focus does not ask for tests."""

_TEST = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__)/|(?:^|/)test_[^/]*$|[._-](?:test|spec)s?\.[^/]*$", re.IGNORECASE
)
_COMPOUND = re.compile(r"[^_]_[^_]|[a-z0-9][A-Z]|^[A-Z]")
_PLAIN = re.compile(r"[a-z]+")

PATH_MENTIONS, SYMBOL_MENTIONS = 8, 4
"""How many mentions a word is worth in the path of a file, and in the name of one of its symbols."""

BM25_K, BM25_B = 1.2, 0.6
NEWEST = 0.97
"""Each word of a focus counts less by this factor than the word after it in the text: the newest say what is needed
now.
"""

TOP_FILES = 40
"""The most files that are preferred because of the words of a focus."""


class Ranks(NamedTuple):
    """`files`: the rank of each file, by its path; all together are 1. `symbols`: the rank of a symbol, by its name, in
    each file that defines it: the rank that flows to the name is divided equally among these files."""

    files: dict[str, float]
    symbols: Mapping[str, float]


class _Row(NamedTuple):
    """One file as numbers: the names that it mentions, how often in code and in prose, and the names defined in it."""

    facts: FileFacts
    ids: Array
    code: Array
    prose: Array
    defined: Array


class _Table(NamedTuple):
    """All files as numbers: pairs of a file and a name that it mentions, with how often, or that it defines."""

    paths: list[str]
    ref_file: Array
    ref_id: Array
    in_code: Array
    in_prose: Array
    def_file: Array
    def_id: Array


class ReferenceGraph:
    """Which files of a folder mention the symbols of which others. Ranks the files and symbols by that.

    An update takes in only the files that have changed.
    """

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._names: list[str] = []
        self._weights: list[float] = []
        self._with_word: dict[str, list[int]] = {}
        self._rows: dict[str, _Row] = {}

    def update(self, files: Mapping[str, FileFacts]) -> None:
        """Replace the files of the graph by these: the facts of each file, by its path. A file that is not among them
        is gone.

        Only files whose facts are other objects than before are taken in anew.
        """
        for path in self._rows.keys() - files.keys():
            del self._rows[path]
        for path, facts in files.items():
            row = self._rows.get(path)
            if row is None or row.facts is not facts:
                self._rows[path] = self._row(facts)

    def ranks(self, focus: Focus) -> Ranks:
        """Compute the ranks of all files and of the names that they define. An empty focus prefers no file. Both ranks
        are empty if the graph has no files."""
        import numpy as np  # noqa: PLC0415 - an extra

        if not self._rows:
            return Ranks({}, {})
        table, size = self._table(), len(self._rows)
        definers = np.bincount(table.def_id, minlength=len(self._ids))
        start = self._start(table, focus)
        ref_file, ref_id, weight = self._references(table, definers, focus)
        out = np.bincount(ref_file, weights=weight, minlength=size)
        share = weight / np.maximum(out, 1e-12)[ref_file]
        per_definer = 1 / np.maximum(definers, 1)
        damping = DAMPING if focus == Focus() else FOCUSED_DAMPING
        rank, of_name = start, per_definer
        for _ in range(ITERATIONS):
            of_name = np.bincount(ref_id, weights=share * rank[ref_file], minlength=len(self._ids)) * per_definer
            flow = np.bincount(table.def_file, weights=of_name[table.def_id], minlength=size)
            new = (1 - damping) * start + damping * (flow + rank[out == 0].sum() * start)
            change, rank = np.abs(new - rank).sum(), new
            if change < ENOUGH:
                break
        return Ranks(
            dict(zip(table.paths, rank.tolist(), strict=True)), dict(zip(self._ids, of_name.tolist(), strict=True))
        )

    # ---- how

    def _row(self, facts: FileFacts) -> _Row:
        import numpy as np  # noqa: PLC0415

        code = {self._id(name): count for name, count in facts.identifiers.items()}
        prose = {self._id(name): count for name, count in facts.prose.items()}
        both = code | prose
        for symbol in facts.symbols:  # a name that a file defines means its own
            code.pop(self._id(symbol.name), None)
        defined = sorted({self._id(symbol.name) for symbol in facts.symbols})
        return _Row(
            facts,
            np.fromiter(both, np.int64, len(both)),
            np.fromiter((code.get(name, 0) for name in both), np.float64, len(both)),
            np.fromiter((prose.get(name, 0) for name in both), np.float64, len(both)),
            np.fromiter(defined, np.int64, len(defined)),
        )

    def _id(self, name: str) -> int:
        """Return the index of a name in the graph's tables; a new name is added to them."""
        known = self._ids.get(name)
        if known is None:
            known = self._ids[name] = len(self._names)
            self._names.append(name)
            self._weights.append(_weight(name))
            for word in dict.fromkeys(words_of_name(name)):
                self._with_word.setdefault(word, []).append(known)
        return known

    def _table(self) -> _Table:
        import numpy as np  # noqa: PLC0415

        paths = sorted(self._rows)
        rows = [self._rows[path] for path in paths]
        numbers = np.arange(len(rows))
        return _Table(
            paths,
            np.repeat(numbers, [len(row.ids) for row in rows]),
            np.concatenate([row.ids for row in rows]),
            np.concatenate([row.code for row in rows]),
            np.concatenate([row.prose for row in rows]),
            np.repeat(numbers, [len(row.defined) for row in rows]),
            np.concatenate([row.defined for row in rows]),
        )

    def _references(self, table: _Table, definers: Array, focus: Focus) -> tuple[Array, Array, Array]:
        """The mentions of names that another file defines and this one does not: file, name and weight of each."""
        import numpy as np  # noqa: PLC0415

        kept = (definers[table.ref_id] > 0) & (table.in_code > 0)
        ref_file, ref_id, count = table.ref_file[kept], table.ref_id[kept], table.in_code[kept]
        factor = np.asarray(self._weights)
        factor[definers > MANY] *= EVERYWHERE
        factor[self._mentioned(focus)] *= MENTIONED
        return ref_file, ref_id, np.sqrt(count) * factor[ref_id]

    def _mentioned(self, focus: Focus) -> list[int]:
        """Return the indices of the names that the focus mentions, sorted."""
        words = frozenset(focus.words)
        some = {known for word in words for known in self._with_word.get(word, ())}
        by_words = {known for known in some if words.issuperset(words_of_name(self._names[known]))}
        return sorted(by_words | {self._ids[name] for name in focus.identifiers if name in self._ids})

    def _start(self, table: _Table, focus: Focus) -> Array:
        """Return the starting rank of each file."""
        import numpy as np  # noqa: PLC0415

        size = len(table.paths)
        everywhere = np.full(size, 1 / size)
        by_word = self._bm25(table, focus.words) ** 2
        by_word[by_word < np.sort(by_word)[-TOP_FILES:][0]] = 0.0
        if "test" not in focus.words:
            by_word[[_TEST.search(path) is not None for path in table.paths]] *= TEST
        by_path = np.asarray([float(any(_is_meant(path, named) for named in focus.paths)) for path in table.paths])
        wanted = [part / part.sum() for part in (by_word, by_path) if part.sum() > 0]
        if not wanted:
            return everywhere
        return UNFOCUSED * everywhere + (1 - UNFOCUSED) * sum(wanted) / len(wanted)

    def _bm25(self, table: _Table, words: Sequence[str]) -> Array:
        """Score each file by these words: by those of its identifiers, of its symbols and of its path."""
        import numpy as np  # noqa: PLC0415

        size = len(table.paths)
        count = table.in_code + table.in_prose
        length = np.bincount(table.ref_file, weights=count, minlength=size)
        norm = BM25_K * (1 - BM25_B + BM25_B * length / max(length.mean(), 1.0))
        in_path = [frozenset(words_of_name(path)) for path in table.paths]
        score = np.zeros(size)
        for at, word in enumerate(words):
            has_word = np.zeros(len(self._ids))
            has_word[self._with_word.get(word, [])] = 1.0
            times = np.bincount(table.ref_file, weights=count * has_word[table.ref_id], minlength=size)
            times += SYMBOL_MENTIONS * np.bincount(table.def_file, weights=has_word[table.def_id], minlength=size)
            times += PATH_MENTIONS * np.asarray([word in found for found in in_path])
            having = int((times > 0).sum())
            rarity = np.log(1 + (size - having + 0.5) / (having + 0.5))
            score += NEWEST**at * rarity * times * (BM25_K + 1) / (times + norm)
        return score


def _weight(name: str) -> float:
    if name.startswith("_"):
        return PRIVATE
    if len(name) >= 8 and _COMPOUND.search(name):
        return COMPOUND
    return PLAIN if _PLAIN.fullmatch(name) else 1.0


def _is_meant(path: str, named: str) -> bool:
    """True if a path that somebody wrote names this file: wholly, by its end, or by a folder that it is in."""
    return path == named or path.endswith(f"/{named}") or named.endswith(f"/{path}") or path.startswith(f"{named}/")
