"""What `import transom` may not bring along: HTTP clients, and dialects that nobody asked for."""

from __future__ import annotations

import subprocess
import sys


def test_the_import_brings_no_http_client_and_no_second_dialect():
    heavy = {"http.client", "urllib.request", "re2", "typer", "importlib.metadata", "asyncio"}
    heavy |= {"transom.wire.anthropic", "transom.wire.gemini", "transom.strategies.fold.layered_records"}
    code = f"import sys, transom; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
