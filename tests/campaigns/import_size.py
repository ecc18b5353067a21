"""Import a session file of any size, made up here, and export it again: how much memory, how long, all messages?

    python tests/campaigns/import_size.py [--mb 2000] [--most-memory 300]

The import and the export are processes of their own, whose peak memory Linux reports (`getrusage` would count that of
the process that began them, too). Exits 1 if the memory is more than allowed, or if messages are missing.
"""

from __future__ import annotations

import argparse
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
(done,) = import_file(sys.argv[1], store)
store.close()
print(done.messages, open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
"""

EXPORT = """
import sys
from transom.exporters import export
from transom.stores import open_store
store = open_store(sys.argv[2])
found = export(store.open(store.names()[0]))
for piece in found:
    pass
store.close()
print(found.report.messages, open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
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
        with path.open("wb") as file:
            file.writelines(session_lines(options.mb * 1_000_000))
        (messages, imported), seconds = measured(IMPORT, path, store)
        stored = sum(file.stat().st_size for file in Path(folder).glob("a.db*")) / 1e6
        size = path.stat().st_size / 1e6
        print(f"import: {size:,.0f} MB in {seconds:,.0f} s, peak {int(imported) / 1e3:,.0f} MB, store {stored:,.0f} MB")
        (again, exported), seconds = measured(EXPORT, path, store)
        print(f"export: {seconds:,.0f} s, peak {int(exported) / 1e3:,.0f} MB, {again} of {messages} messages")
        return int(again != messages or max(int(imported), int(exported)) > options.most_memory * 1_000)


if __name__ == "__main__":
    sys.exit(main())
