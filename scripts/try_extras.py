"""Tries a release: installs it with each extra alone into an environment of its own, and runs what the extra is for.

    python -m scripts.try_extras [EXTRA …] [--dist FOLDER] [--lowest]

`--dist`: a folder with a wheel and a source archive, which are tried both; without it a wheel is built. `--lowest`:
with the lowest versions that pyproject.toml allows, not with the newest. Needs uv and the network. An environment takes
some seconds and 40 to 400 MB; it is removed afterwards. Exits 1 if an extra does not work.
"""

from __future__ import annotations

import argparse
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
    "agent-framework": "import transom.adapters.agent_framework",
    "anthropic": _PROVIDER.format("anthropic:m"),
    "fastembed": "import fastembed, numpy; from transom.search.embedders import FastEmbedder; print(FastEmbedder)",
    "gemini": _PROVIDER.format("gemini:m"),
    "google-adk": "import transom.adapters.google_adk",
    "inspect": "import starlette, uvicorn; from transom.inspector import server; print(server.__name__)",
    "langchain": "import transom.adapters.langchain",
    "local": "from transom.providers.local import Local; print(Local.name)",
    "map": "from transom.repo_map import RepoMap; print(str(RepoMap('.').text(200))[:40])",
    "mcp": "from transom.mcp.server import make_server; print(make_server.__name__)",
    "model2vec": "import model2vec, numpy; from transom.search.embedders import Model2VecEmbedder as m; print(m)",
    "openai": _PROVIDER.format("openai:m") + f"; {_PROVIDER.format('responses:m')}",
    "openai-agents": "import transom.adapters.openai_agents",
    "postgres": "from transom.stores.postgres import PostgresStore; print(PostgresStore.__name__)",
    "prices": "from transom.providers.model_prices import context_size; print(context_size('openai:gpt-4o'))",
    "proxy": "from transom.proxy.serve import serve; from transom.http import Gateway; print(Gateway('memory:').store)",
    "pydantic-ai": "import transom.adapters.pydantic_ai",
    "redact": "from transom.redaction import secrets_in; print(secrets_in('key AKIAIOSFODNN7EXAMPLQ'))",
    "strands": "import transom.adapters.strands",
    "telemetry": "import opentelemetry.trace, transom.telemetry",
    "testing": "from transom.testing import StoreConformance, laws; print(StoreConformance.__name__)",
}
"""For each extra, a program that needs it and neither a key nor a download."""

BARE = "import transom; print(transom.__version__, transom.fit([{'role': 'user', 'content': 'hi'}]))"
"""What works without any extra."""


def main(arguments: list[str]) -> int:
    """Try these extras, or all. The exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.try_extras")
    parser.add_argument("extras", nargs="*", choices=[*TRIALS, []], metavar="EXTRA")
    parser.add_argument("--dist", type=Path)
    parser.add_argument("--lowest", action="store_true")
    options = parser.parse_args(arguments)
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    if missing := sorted(set(declared) ^ set(TRIALS)):
        sys.stdout.write(f"extras without a trial, or trials without an extra: {', '.join(missing)}\n")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if options.dist is None:
            _run("uv", "build", "--quiet", "--wheel", "--out-dir", str(place), str(ROOT))
        (wheel,) = (options.dist or place).glob("*.whl")
        trials = [(name, wheel) for name in options.extras or ["", *sorted(declared)]]
        trials += (
            [] if options.extras or options.lowest else [("", sdist) for sdist in (options.dist or place).glob("*.gz")]
        )
        failed = [
            name
            for name, archive in trials
            if not _works(place / "venv", archive.resolve(), name, lowest=options.lowest)
        ]
    return int(bool(failed))


def _works(venv: Path, archive: Path, extra: str, *, lowest: bool) -> bool:
    """Whether an extra works, in an environment that has nothing else. Prints a line."""
    try:
        done = _trial(venv, archive, extra, lowest=lowest)
    except subprocess.CalledProcessError as problem:
        done = subprocess.CompletedProcess[str](problem.cmd, 1, "", f"{problem.cmd[1:3]} failed")
    said = (done.stdout + done.stderr).strip().splitlines()
    ends = "FAILS" if done.returncode else "works"
    what = f"{extra or 'no extra'}{'' if archive.suffix == '.whl' else ', sdist'}"
    sys.stdout.write(f"{what:15} {'lowest' if lowest else 'newest'} {ends}  {said[-1] if said else ''}\n")
    sys.stdout.flush()
    shutil.rmtree(venv, ignore_errors=True)
    return not done.returncode


def _trial(venv: Path, archive: Path, extra: str, *, lowest: bool) -> subprocess.CompletedProcess[str]:
    """What the program of an extra printed."""
    _run("uv", "venv", "--quiet", "--python", sys.executable, str(venv))
    python = str(venv / "bin" / "python")
    install = ("uv", "pip", "install", "--quiet", "--python", python)
    if lowest:  # the requirements of a wheel would not count as direct ones
        chosen = ("--extra", extra) if extra else ()
        _run(*install, "--resolution", "lowest-direct", "-r", str(ROOT / "pyproject.toml"), *chosen)
        _run(*install, "--no-deps", str(archive))
    else:
        _run(*install, f"transom[{extra}] @ {archive.as_uri()}" if extra else str(archive))
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
