"""The code of the README and of the pages right behind it passes strict type checks, against the SDKs' own types."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SINGLE_BLOCKS = [ROOT / "README.md", ROOT / "docs" / "own-loop.md", ROOT / "docs" / "choose-a-policy.md"]
"""Pages whose blocks stand alone, each a file of its own."""
CACHE = ROOT / ".cache" / "mypy"
"""It checks the whole of Transom behind the pages, for some seconds; the files that have not changed only once."""
FILES = 13
PAGES = sorted((ROOT / "docs").glob("agent-loop-*.md"))
SDKS = "[mypy-openai.*,anthropic.*,google.*]\nfollow_imports = skip\nignore_missing_imports = True\n"
"""The SDKs' own types are pyright's part, as mypy reads them for half a minute; so what they return is `Any`."""

CALL = """
import transom
{imported}


def call(client: {client}, conv: transom.Conversation) -> None:
    conv.observe({call})
"""
"""A row of the table of calls in docs/own-loop.md, as code."""


def blocks_of(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def calls_of_the_table() -> dict[str, str]:
    """The call of each row of the table of dialects, as a function; by the first dialect of the row."""
    rows = re.findall(
        r"^\| `(\w+)`.* \| `(client\..*)` \|$",
        (ROOT / "docs" / "own-loop.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    others = {
        "anthropic": ("import anthropic", "anthropic.Anthropic"),
        "gemini": ("from google import genai", "genai.Client"),
    }
    clients = {name: others.get(name, ("import openai", "openai.OpenAI")) for name, _ in rows}
    return {
        name: CALL.format(
            imported=clients[name][0],
            client=clients[name][1],
            call=call.replace("model=…", 'model="m"').replace("max_tokens=…", "max_tokens=9"),
        )
        for name, call in rows
    }


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    """A folder with a file for each agent loop, each block of the other pages, and each row of the table."""
    folder = tmp_path_factory.mktemp("code")
    pages = {page.stem.replace("-", "_"): "\n\n".join(blocks_of(page)) for page in PAGES}
    blocks = {
        f"{page.stem.lower().replace('-', '_')}_{at}": block
        for page in SINGLE_BLOCKS
        for at, block in enumerate(blocks_of(page))
    }
    calls = {f"call_{name}": text for name, text in calls_of_the_table().items()}
    assert (len(pages), len(blocks), len(calls)) == (4, FILES - 8, 4)
    for name, text in (pages | blocks | calls).items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


def run(*args: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *(str(arg) for arg in args)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_code_of_the_pages_passes_pyright_in_strict_mode(code):
    settings = {
        "include": ["."],
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "venvPath": str(Path(sys.prefix).parent),
        "venv": Path(sys.prefix).name,
    }
    (code / "pyrightconfig.json").write_text(json.dumps(settings))
    found = json.loads(run("pyright", "--outputjson", "-p", code).stdout)
    assert found["summary"]["filesAnalyzed"] == FILES
    assert [f"{each['file']}: {each['message']}" for each in found["generalDiagnostics"]] == []


def test_the_code_of_the_pages_passes_mypy_in_strict_mode(code):
    (code / "mypy.ini").write_text(f"[mypy]\nstrict = True\nwarn_return_any = False\npython_version = 3.11\n\n{SDKS}")
    done = run("mypy", "--config-file", code / "mypy.ini", "--cache-dir", CACHE, *sorted(code.glob("*.py")))
    assert done.stdout == f"Success: no issues found in {FILES} source files\n"
