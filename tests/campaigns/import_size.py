"""Import a session file of any size, made up here, and export it again: how much memory, how long, the same bytes?

    python tests/campaigns/import_size.py [--mb 2000] [--most-memory 300]

The import and the export are processes of their own, whose peak memory Linux reports (`getrusage` would count that of
the process that began them, too). Exits 1 if the memory is more than allowed, or if other bytes come out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

WORDS = [
    "the",
    "file",
    "has",
    "two",
    "lines",
    "and",
    "a",
    "test",
    "that",
    "fails",
    "because",
    "its",
    "name",
    "is",
    "wrong",
]

IMPORT = """
import sys
from transom.importers import import_file
from transom.stores import open_store
store = open_store(sys.argv[2])
for done in import_file(sys.argv[1], store):
    print(done.messages, done.earlier, file=sys.stderr)
store.close()
print(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
"""

EXPORT = """
import hashlib, sys
from transom.importers import export
from transom.stores import open_store
store = open_store(sys.argv[2])
digest = hashlib.sha256()
for piece in export(store.open(store.names()[0])):
    digest.update(piece)
store.close()
print(digest.hexdigest(), open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
"""


def session_lines(size: int, seed: int = 0) -> Iterator[bytes]:
    """Lines of a Claude Code session with about `size` bytes: prompts, thoughts, calls, results of all lengths."""
    draw = random.Random(seed)
    made, number, parent = 0, 0, None
    while made < size:
        for turn in range(12):
            number += 1
            for line in _turn(draw, number, parent, is_prompt=turn == 0):
                parent = line["uuid"]
                text = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
                made += len(text)
                yield text


def _turn(draw: random.Random, number: int, parent: str | None, *, is_prompt: bool) -> list[dict]:
    def words(most: int) -> str:
        return " ".join(draw.choices(WORDS, k=draw.randint(1, most))) + f" {draw.getrandbits(32):x}\n"

    def line(kind: str, name: str, before: str | None, content: object, **more: object) -> dict:
        label = f"{number:08}-{name}"
        said = {"role": kind, "content": content, **({"id": f"msg_{number}"} if kind == "assistant" else {})}
        head = {"parentUuid": before, "isSidechain": False, "sessionId": "s", "type": kind, "message": said}
        return {**head, "uuid": label, "timestamp": "2026-01-02T03:04:05.000Z", **more}

    lines: list[dict] = [line("user", "u", parent, words(60))] if is_prompt else []
    before = lines[-1]["uuid"] if lines else parent
    call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": words(30)}}
    output = words(draw.choice([20, 200, 2_000]))
    lines.append(line("assistant", "a", before, [{"type": "text", "text": words(40)}]))
    lines.append(line("assistant", "b", lines[-1]["uuid"], [call]))
    result = [{"type": "tool_result", "tool_use_id": f"t{number}", "content": output}]
    lines.append(line("user", "r", lines[-1]["uuid"], result, toolUseResult={"stdout": output, "stderr": ""}))
    return lines


def write_session(path: Path, size: int) -> str:
    """Write a session file; the hash of its bytes."""
    digest = hashlib.sha256()
    with path.open("wb") as file:
        for line in session_lines(size):
            digest.update(line)
            file.write(line)
    return digest.hexdigest()


def measured(program: str, path: Path, store: str) -> tuple[list[str], float]:
    """What a program prints, and the seconds that it takes."""
    begin = time.monotonic()
    done = subprocess.run([sys.executable, "-c", program, os.fspath(path), store], capture_output=True, check=True)
    return done.stdout.decode().split(), time.monotonic() - begin


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=2_000)
    parser.add_argument("--most-memory", type=int, default=300, help="in MB")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="transom-") as folder:
        path, store = Path(folder, "s.jsonl"), f"sqlite:///{folder}/a.db"
        digest = write_session(path, options.mb * 1_000_000)
        (imported,), seconds = measured(IMPORT, path, store)
        stored = sum(file.stat().st_size for file in Path(folder).glob("a.db*")) / 1e6
        size = path.stat().st_size / 1e6
        print(f"import: {size:,.0f} MB in {seconds:,.0f} s, peak {int(imported) / 1e3:,.0f} MB, store {stored:,.0f} MB")
        (again, exported), seconds = measured(EXPORT, path, store)
        same = "the same bytes" if again == digest else "OTHER BYTES"
        print(f"export: {seconds:,.0f} s, peak {int(exported) / 1e3:,.0f} MB, {same}")
        return int(again != digest or max(int(imported), int(exported)) > options.most_memory * 1_000)


if __name__ == "__main__":
    sys.exit(main())
