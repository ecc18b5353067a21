"""The store of the page `docs/write-your-own-store.md`, run as the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import transom

PAGE = Path(__file__).parents[2] / "docs" / "write-your-own-store.md"


def files_of_the_page(folder: Path) -> dict[str, str]:
    """The code blocks that have a file name, written to a folder."""
    found = dict(re.findall(r"<!-- (\w+\.py) -->\n```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))
    for name, code in found.items():
        (folder / name).write_text(code, encoding="utf-8")
    return found


def test_the_store_of_the_page_passes_the_suite(tmp_path: Path) -> None:
    files = files_of_the_page(tmp_path)
    assert set(files) == {"my_store.py", "test_my_store.py"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_my_store.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3_000:]
    (passed,) = re.findall(r"(\d+) passed, 2 skipped", done.stdout)
    assert int(passed) > 40


def test_the_first_block_runs_with_the_files_of_the_page(tmp_path: Path) -> None:
    files_of_the_page(tmp_path)
    first = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0]
    done = subprocess.run([sys.executable, "-c", first], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_page_names_every_method() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for protocol in (transom.stores.Store, transom.stores.StoredLog):
        for name in vars(protocol):
            if not name.startswith("_"):
                assert f"`{name}" in text or f".{name}(" in text, name
