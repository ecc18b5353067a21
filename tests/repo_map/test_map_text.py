"""The text of a map: which lines it has first."""

from __future__ import annotations

import random

from transom.repo_map.map_text import FOLLOWING, MappedFile, _lines
from transom.repo_map.symbols import Symbol


def _files(count: int, ranks: random.Random) -> list[MappedFile]:
    files = list[MappedFile]()
    for at in range(count):
        symbols = tuple(_symbol(f"name_{at}_{number}") for number in range(ranks.randint(0, 6)))
        files.append(MappedFile(f"f{at}.py", ranks.choice([0.0, 0.1, 0.2, 0.5]), symbols, _ranks(len(symbols), ranks)))
    return sorted(files, key=lambda file: -file.rank)


def _symbol(name: str) -> Symbol:
    return Symbol(name=name, kind="function", line=1, signature=f"def {name}()")


def _ranks(count: int, ranks: random.Random) -> tuple[float, ...]:
    return tuple(ranks.choice([0.1, 0.2, 0.3]) for _ in range(count))


def test_lines_come_by_worth_and_equal_ones_by_place() -> None:
    for seed in range(50):
        files = _files(12, random.Random(seed))
        expected = list[tuple[float, int, int, int | None]]()
        for at, file in enumerate(files):
            worth = file.rank
            expected.append((-worth, at, 0, None))
            best = sorted(range(len(file.symbols)), key=lambda symbol: -file.symbol_ranks[symbol])
            for place, symbol in enumerate(best, 1):
                worth *= FOLLOWING
                expected.append((-worth, at, place, symbol))
        expected.sort(key=lambda line: line[:3])
        assert list(_lines(files)) == [(at, symbol) for _, at, _, symbol in expected]
