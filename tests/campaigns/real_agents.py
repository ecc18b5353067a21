"""Real agents through `transom run`, against a strict server on the loopback: one log each, resumed once.

    python tests/campaigns/real_agents.py [--steps 60] [--agent claude] [--record FOLDER]

The agents are programs on the PATH; `make agents` installs them. Each runs half of the steps, ends, and is resumed by
its own means. `--record`: writes what the agents send, scrubbed of this machine's paths, for
`tests/http/test_recorded_agents.py`; that run goes to the server itself, and not through a proxy.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).parents[1]))

from agent_recordings import written
from agent_server import AgentServer, agent_server
from strict_provider import ANSWER, TASK
from transom.core.entry import Sent
from transom.core.message import Assistant, Head
from transom.stores import open_store

BUDGET = 30_000
GO_ON = "Go on with the files that are left."


class Agent(NamedTuple):
    """How an agent is started, and resumed (empty: it is not). `path`: what its provider's URL ends with. `prepare`:
    writes settings into its home."""

    first: tuple[str, ...]
    again: tuple[str, ...]
    path: str = ""
    prepare: Callable[[Path], None] = lambda _: None


def _gemini(home: Path) -> None:
    (home / ".gemini").mkdir()
    chosen = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "telemetry": {"enabled": False}}
    (home / ".gemini" / "settings.json").write_text(json.dumps(chosen))


_CODEX = ("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")
_MINI = ("-m", "openai/gpt-5", "-y", "--exit-immediately", "-o", "trajectory.json")

AGENTS = {
    "claude": Agent(
        ("-p", TASK, "--dangerously-skip-permissions"), ("-p", GO_ON, "--continue", "--dangerously-skip-permissions")
    ),
    "codex": Agent((*_CODEX, TASK), (*_CODEX, "resume", "--last", GO_ON), "/v1"),
    "gemini": Agent(("-p", TASK, "--yolo"), (), prepare=_gemini),
    "qwen": Agent(
        ("-p", TASK, "--yolo", "--auth-type", "openai"),
        ("-p", GO_ON, "--yolo", "--auth-type", "openai", "--continue"),
        "/v1",
    ),
    "mini": Agent((*_MINI, "-t", TASK), (), "/v1"),
}
"""mini-swe-agent resumes nothing. Gemini CLI resumes with other ids of calls and each result twice, which is a fork: it
is not resumed here."""

KEYS = {
    "ANTHROPIC_API_KEY": "sk-ant-test",
    "OPENAI_API_KEY": "sk-test",
    "CODEX_API_KEY": "sk-test",
    "GEMINI_API_KEY": "test",
    "OPENAI_MODEL": "gpt-5",
}
OTHERS = {
    "IS_SANDBOX": "1",
    "MSWEA_CONFIGURED": "true",
    "MSWEA_COST_TRACKING": "ignore_errors",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "no_proxy": "127.0.0.1",
    "GEMINI_CLI_TRUST_WORKSPACE": "true",
}


def environment(home: Path) -> dict[str, str]:
    """That of an agent whose home is empty. Nothing of an agent that runs this gets in."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("CLAUDE", "CODEX", "GEMINI", "MCP"))}
    return {**kept, **KEYS, **OTHERS, "HOME": str(home), "CODEX_HOME": str(home / ".codex")}


def waited(line: list[str], folder: Path, home: Path, variables: dict[str, str], timeout: float) -> str:
    """What a program wrote, or that it did not end in time: that is a row, and the other agents run all the same."""
    try:
        done = subprocess.run(
            line,
            cwd=folder,
            env={**environment(home), **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        return f"no end after {timeout:.0f} s: {(error.stderr or b'').decode(errors='replace')[-900:]}"
    return (
        f"{done.stdout}\n{done.stderr}"
        if done.returncode == 0
        else f"exit code {done.returncode}: {done.stderr[-900:]}"
    )


def run(name: str, steps: int, *, direct: bool = False) -> tuple[AgentServer, dict[str, Any]]:
    """One agent, in two runs. `direct`: without a proxy."""
    agent, half = AGENTS[name], steps // 2
    with tempfile.TemporaryDirectory() as top, agent_server(steps, pauses_at=half if agent.again else 0) as server:
        home, folder = Path(top) / "home", Path(top) / "project"
        for each in (home, home / ".codex", folder):
            each.mkdir()
        agent.prepare(home)
        store = f"sqlite:///{top}/agent.db?synchronous=normal"
        upstream, said, begun = server.url + agent.path, "", time.monotonic()
        for arguments in (agent.first, agent.again) if agent.again else (agent.first,):
            if direct:
                url = f"{server.url}/v1"
                own = ["-c", f'openai_base_url="{url}"'] if name == "codex" else []
                bases = {"ANTHROPIC_BASE_URL": server.url, "OPENAI_BASE_URL": url, "OPENAI_API_BASE": url}
                bases["GOOGLE_GEMINI_BASE_URL"] = server.url
                said = waited([name, *own, *arguments], folder, home, bases, 60 + 20 * steps)
            else:
                line = [sys.executable, "-m", "transom", "run", "--store", store, "--budget", str(BUDGET)]
                line += ["--upstream", upstream, name, "--", *arguments]
                said = waited(line, folder, home, {}, 60 + 20 * steps)
        row: dict[str, Any] = {
            "agent": name,
            "turns": server.turn,
            "side requests": server.side,
            "others": sorted(set(server.others)),
            "invalid": len(server.invalid),
            "stale": server.stale,
            "without task": server.lost,
            "most tokens": server.largest,
            "breaks": server.breaks,
            "seconds": round(time.monotonic() - begun),
            "answered": ANSWER in said or name == "mini",
        }
        if not direct:
            logs = open_store(store)
            bodies = {each: [entry.body for entry in logs.open(each).read()] for each in logs.names()}
            turns = {each: sum(isinstance(body, Assistant) for body in found) for each, found in bodies.items()}
            sent = [body for found in bodies.values() for body in found if isinstance(body, Sent)]
            with_tools = {
                each for each, found in bodies.items() if any(isinstance(body, Head) and body.tools for body in found)
            } or set(turns)  # Codex puts its tools into the input
            row["logs"] = {each: turns[each] for each in sorted(with_tools)}
            row["logs without tools"] = len(turns) - len(with_tools)
            row["over budget"] = int(server.largest > BUDGET)  # as the server counts: so budgets are meant
            row["breaks said"] = sum(body.breaks is not None for body in sent)
        if server.invalid or not row["answered"]:
            row["error"] = (server.invalid or [said[-900:]])[:2]
        if direct:
            row["scrub"] = {str(folder): "/home/me/project", str(home): "/home/me", top: "/tmp"}
        return server, row


def main() -> int:
    """Print a row for each agent. Exit code 1 if one has a fault, or more than one log of many turns."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--agent", action="append", choices=AGENTS)
    parser.add_argument("--record", type=Path)
    options = parser.parse_args()
    wrong = 0
    for name in options.agent or AGENTS:
        if shutil.which(name) is None:
            print(f"{name}: not on the PATH", flush=True)
            continue
        server, row = run(name, options.steps, direct=options.record is not None)
        scrub = row.pop("scrub", {})
        if options.record is not None:
            (options.record / f"{name}.jsonl").write_text(written(server.received, scrub), encoding="utf-8")
        print(json.dumps(row), flush=True)
        many = [turns for turns in row.get("logs", {"": 2}).values() if turns > 1]
        faults = sum(row.get(key, 0) for key in ("invalid", "stale", "without task", "over budget"))
        wrong += faults > 0 or len(many) != 1 or not row["answered"] or row["turns"] != options.steps
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
