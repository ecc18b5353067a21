"""Tries each extra alone: builds a wheel, installs it with one extra into an environment of its own, and runs what the
extra is for.

    python -m scripts.try_extras [EXTRA …]

Needs uv and the network. An environment takes some seconds and 70 to 400 MB; it is removed afterwards. Exits 1 if an
extra does not work.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent

_PROVIDER = "import transom.providers as p; print(p.provider_named({!r}).model)"
TRIALS = {
    "anthropic": _PROVIDER.format("anthropic:m"),
    "charts": "import pathlib; from transom.cli.picture import picture_paths as p; print(p(pathlib.Path('a.svg')))",
    "fastembed": "import fastembed, numpy; from transom.search.embedders import FastEmbedder; print(FastEmbedder)",
    "gemini": _PROVIDER.format("gemini:m"),
    "local": "from transom.providers.local import Local; print(Local.name)",
    "map": "from transom.repo_map import RepoMap; print(str(RepoMap('.').text(200))[:40])",
    "model2vec": "import model2vec, numpy; from transom.search.embedders import Model2VecEmbedder as m; print(m)",
    "openai": _PROVIDER.format("openai:m") + f"; {_PROVIDER.format('responses:m')}",
    "postgres": "from transom.stores.postgres import PostgresStore; print(PostgresStore.__name__)",
    "prices": "from transom.providers.models import context_size; print(context_size('openai', 'gpt-4o'))",
    "redact": "from transom.redaction import secrets_in; print(secrets_in('key AKIAIOSFODNN7EXAMPLQ'))",
    "telemetry": "import opentelemetry.trace, transom.telemetry",
    "testing": "from transom.testing import StoreConformance, laws; print(StoreConformance.__name__)",
}
"""For each extra, a program that needs it and neither a key nor a download."""

BARE = "import transom; print(transom.__version__, transom.fit([{'role': 'user', 'content': 'hi'}]))"
"""What works without any extra."""


def main(names: list[str]) -> int:
    """Try these extras, or all. The exit code."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    if missing := sorted(set(declared) ^ set(TRIALS)):
        sys.stdout.write(f"extras without a trial, or trials without an extra: {', '.join(missing)}\n")
        return 1
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        _run("uv", "build", "--quiet", "--wheel", "--out-dir", str(place), str(ROOT))
        (wheel,) = place.glob("*.whl")
        for name in names or ["", *sorted(declared)]:
            done = _trial(place / "venv", wheel, name)
            failed += done.returncode != 0
            said = (done.stdout + done.stderr).strip().splitlines()
            ends = "FAILS" if done.returncode else "works"
            sys.stdout.write(f"{name or 'no extra':10} {ends}  {said[-1] if said else ''}\n")
            sys.stdout.flush()
            shutil.rmtree(place / "venv", ignore_errors=True)
    return int(failed > 0)


def _trial(venv: Path, wheel: Path, extra: str) -> subprocess.CompletedProcess[str]:
    """What the program of an extra printed, in an environment that has nothing else."""
    _run("uv", "venv", "--quiet", "--python", sys.executable, str(venv))
    python = str(venv / "bin" / "python")
    what = f"transom[{extra}] @ {wheel.as_uri()}" if extra else str(wheel)
    _run("uv", "pip", "install", "--quiet", "--python", python, what)
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    env |= dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"), "none")
    program = TRIALS[extra] if extra else BARE
    return subprocess.run(  # noqa: S603 - our own program
        [python, "-c", program], env=env, cwd=venv, capture_output=True, text=True, check=False
    )


def _run(*command: str) -> None:
    own = ROOT / ".uv" / "bin" / "uv"
    program = str(own) if command[0] == "uv" and shutil.which("uv") is None and own.exists() else command[0]
    subprocess.run([program, *command[1:]], check=True)  # noqa: S603 - uv


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
