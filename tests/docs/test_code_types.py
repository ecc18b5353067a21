"""The agent loops have no type errors in strict mode, against the SDKs' own types."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("agent-loop-*.md"))


def python_of(page: Path) -> str:
    return "\n\n".join(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))


def test_the_agent_loops_pass_pyright_in_strict_mode(tmp_path):
    assert len(PAGES) == 4
    for page in PAGES:
        (tmp_path / f"{page.stem.replace('-', '_')}.py").write_text(python_of(page), encoding="utf-8")
    settings = {
        "include": ["."],
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "venvPath": str(Path(sys.prefix).parent),
        "venv": Path(sys.prefix).name,
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "-p", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(done.stdout)
    assert found["summary"]["filesAnalyzed"] == 4
    assert [f"{each['file']}: {each['message']}" for each in found["generalDiagnostics"]] == []
