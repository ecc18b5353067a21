"""The Python of the page about PostgreSQL runs on a real server."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from postgres_server import TestServer, schema_for

PAGE = Path(__file__).parents[2] / "docs" / "postgres.md"


def test_the_page_about_postgresql_runs(postgres: TestServer, tmp_path: Path) -> None:
    blocks = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL))
    address = '"postgresql://agents@db.example.com/agents"'
    assert address in blocks
    code = blocks.replace(address, repr(postgres.url(schema_for(str(tmp_path)))))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("0 User\n1 User\n2 User\n", "")
