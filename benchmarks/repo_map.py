"""What a repo map costs: making it for 1,000 files, and again when one of them has changed.

    python benchmarks/repo_map.py [FILES]

The files are copies of Transom's own, in folders of their own.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from time import perf_counter, process_time

from transom.repo_map import RepoMap
from transom.tokenizer import o200k

ROOT = Path(__file__).parents[1]
TASK = "why was this unit folded"


def timed(what: str, work: Callable[[], object]) -> None:
    """Print how long a piece of work takes."""
    begun, cpu = perf_counter(), process_time()
    work()
    print(f"{what:<46} {1e3 * (perf_counter() - begun):8,.0f} ms {1e3 * (process_time() - cpu):8,.0f} ms of CPU")


def main(count: int) -> None:
    """Measure and print."""
    sources = sorted((ROOT / "src").rglob("*.py"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "repo"
        for at, source in enumerate(islice(cycle(sources), count)):
            copy = folder / f"copy{at // len(sources)}" / source.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)
        size = sum(file.stat().st_size for file in folder.rglob("*.py"))
        print(f"{count:,} files, {size:,} bytes")
        o200k().count("loaded")
        repo_map = RepoMap(folder, cache=Path(name) / "cache")
        timed("first map, 1,000 tokens", lambda: repo_map.text(1_000, focus=TASK))
        changed = folder / "copy0" / "src" / "transom" / "core" / "plan.py"
        for tokens in (1_000, 4_000):
            changed.write_text(changed.read_text() + "\nCHANGED = 1\n")
            timed(f"one file changed, {tokens:,} tokens", lambda: repo_map.text(tokens, focus=TASK))  # noqa: B023
            timed(f"no file changed, {tokens:,} tokens", lambda: repo_map.text(tokens, focus=TASK))  # noqa: B023
        timed("another process, from the cache", lambda: RepoMap(folder, cache=Path(name) / "cache").text(1_000))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
