"""What needs an extra that is not installed says how to install it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

WITHOUT = "import sys; sys.modules[{package!r}] = None; "


def run_without(package: str, code: str) -> subprocess.CompletedProcess[str]:
    """Run Python code in a process that cannot import `package`."""
    whole = WITHOUT.format(package=package) + code
    return subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("transom.mcp.server", "mcp", "mcp"),
        ("transom.telemetry", "opentelemetry", "telemetry"),
        ("transom.stores.postgres", "psycopg", "postgres"),
        ("transom.stores.postgres", "psycopg_pool", "postgres"),
    ],
)
def test_the_import_of_a_module_names_its_extra(module: str, package: str, extra: str):
    code = f"""
try:
    import {module}
except ImportError as error:
    print(error)
"""
    said = run_without(package, f"exec({code!r})").stdout
    assert "install" in said
    assert f"[{extra}]" in said


@pytest.mark.parametrize("package", ["psycopg", "psycopg_pool"])
@pytest.mark.parametrize("command", ["conversations", "doctor"])
def test_a_command_on_a_server_without_the_extra(package: str, command: str):
    url = "postgresql://ana:s3cret@127.0.0.1:1/agents"
    arguments = [command, "--store", url, "--json"]
    done = run_without(package, f"from transom.cli import main; sys.exit(main({arguments!r}))")
    said = json.loads(done.stdout)["stores"][0]["problem"] if command == "doctor" else done.stderr
    assert "needs the packages psycopg and psycopg_pool" in said
    assert "[postgres]" in said
    assert "Traceback" not in done.stderr
    assert "s3cret" not in done.stdout + done.stderr
