"""The Python of the pages about PostgreSQL and forks runs, the first one on a real server."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from postgres_server import TestServer, schema_for

DOCS = Path(__file__).parents[2] / "docs"


def code_of(page: str) -> str:
    return "\n".join(re.findall(r"```python\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL))


def printed(code: str) -> tuple[str, str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    return done.stdout, done.stderr


def test_the_page_about_postgresql_runs(postgres: TestServer, tmp_path: Path) -> None:
    code, address = code_of("postgres.md"), '"postgresql://agents@db.example.com/agents"'
    assert address in code
    code = code.replace(address, repr(postgres.url(schema_for(str(tmp_path)))))
    assert printed(code) == ("0 User\n1 User\n2 User\n", "")


def test_the_page_about_forks_runs() -> None:
    assert printed(code_of("fork.md")) == ("trip@3 6 5\n", "")
