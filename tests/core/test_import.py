"""What `import transom` may not bring along: HTTP clients, and dialects that nobody asked for."""

from __future__ import annotations

import subprocess
import sys


def test_the_import_brings_no_http_client_and_no_second_dialect():
    heavy = {"http.client", "urllib.request", "re2", "typer", "importlib.metadata", "asyncio"}
    heavy |= {"transom.wire.anthropic", "transom.wire.gemini", "transom.strategies.fold.layered_records"}
    code = f"import sys, transom; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def loaded_by(*arguments: str) -> set[str]:
    """The modules that a command line has loaded when it ends."""
    code = f"import sys; from transom.cli import main; main({list(arguments)}); print(*sys.modules, file=sys.stderr)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout
    return set(found.stderr.split())


def test_the_version_and_the_help_bring_no_conversation():
    assert not {"transom.core.view", "transom.conversation.conversation"} & loaded_by("--version")
    assert not {"pydantic", "transom.core.view", "transom.conversation.conversation"} & loaded_by("--help")


def test_each_public_name_and_each_module_is_there_at_first_use():
    code = (
        "import transom\n"
        "assert set(transom.__all__) <= set(dir(transom))\n"
        "assert all(getattr(transom, name) is getattr(transom, name) for name in transom.__all__)\n"
        "assert issubclass(transom.errors.InvalidEdit, transom.TransomError)\n"
        "assert transom.overflow.recognise\n"
        "assert not hasattr(transom, 'no_such_name')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
