"""A strict provider for real agents: it answers with calls of a tool that the agent has said that it has.

Requests that offer no such tool are side requests (a title, a check of a key): they get a short text and are no step.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from loopback_server import Json, PostHandler, serving
from strict_provider import REPLIES, TOOL, StrictProvider, with_text
from transom.wire.dialects import dialect_named

LONG_EVERY = 5
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""What ends a run of mini-swe-agent, which takes no answer without a call."""


def command_of(turn: int) -> str:
    """A command with some lines of output; at each fifth step with several thousand tokens."""
    lines = 500 if turn % LONG_EVERY == 0 else 20
    return f"seq -f 'file {turn}.%g has some bytes, owner user{turn}' 1 {lines}"


def _arguments(name: str, command: str) -> Json | str:
    if name == "exec":  # Codex: a program in JavaScript
        return f"const done = await tools.exec_command({json.dumps({'cmd': command})}); text(done.output);"
    described = name in {"Bash", "run_shell_command"}
    return {"command": command, **({"description": "Lists a file."} if described else {})}


SHELLS = ("Bash", "exec", "run_shell_command", "bash")
"""The tools that run a command: of Claude Code, Codex, Gemini CLI and qwen-code, mini-swe-agent."""


def tools_in(value: Any) -> Iterator[str]:
    """The names of all tools that a request offers, also those within namespaces and items."""
    if isinstance(value, list):
        for each in value:
            yield from tools_in(each)
    elif isinstance(value, dict):
        if isinstance(name := value.get("name"), str):
            yield name
        for key in ("function", "functionDeclarations", "tools"):
            yield from tools_in(value.get(key, ()))


class AgentServer(StrictProvider):
    """`steps`: calls until it answers; `pauses_at`: the step at which it answers too, and the run ends for now. `side`:
    the number of side requests. `others`: methods and paths of requests that ask for no reply."""

    def __init__(self, steps: int, *, limit: int = 10**9, pauses_at: int = 0) -> None:
        super().__init__(steps, limit=limit)
        self.pauses_at, self.side, self.others = pauses_at, 0, list[str]()
        self.received: list[Json] = []
        """All requests as they came."""

    def post(self, handler: PostHandler, path: str, body: Json) -> None:
        self.received.append({"path": handler.path, "headers": dict(handler.headers), "body": body})
        if not path.endswith(("/messages", "/responses", "/completions", "GenerateContent", "generateContent")):
            self.others.append(f"POST {path}")
            handler.reply(404, "application/json", b'{"error": {"message": "not here"}}')
            return
        super().post(handler, path, body)

    def _answer(self, api: str, body: Json) -> tuple[int, Json]:
        offered = {*tools_in(body.get("tools", ())), *tools_in(body.get("input", ()))}
        shell = next((name for name in SHELLS if name in offered), None)
        if shell is None:
            self.side += 1
            self.invalid += [f"side, {api}: {each.rule} {each.why}" for each in dialect_named(api).violations(body)]
            return 200, with_text(REPLIES[api](0, "signature-0", [], 1), '{"title": "Count lines"}')
        if self.turn + 1 == self.pauses_at:
            steps, self.steps = self.steps, self.turn + 1
            status, found = super()._answer(api, body)
            self.steps = steps
        else:
            status, found = super()._answer(api, body)
        is_over = self.turn in (self.pauses_at, self.steps)
        if shell == "bash" and status == 200 and is_over:
            found = REPLIES[api](self.turn, "", [f"{TOOL}_{self.turn}_0"], 1)
        command = SUBMIT if shell == "bash" and is_over else command_of(self.turn)
        return status, _with_call(found, shell, _arguments(shell, command))

    def get(self, handler: PostHandler) -> None:
        """Whatever is no POST."""
        self.others.append(f"{handler.command} {handler.path.partition('?')[0]}")
        handler.reply(404, "application/json", b"{}")


def _with_call(value: Any, name: str, arguments: Json | str) -> Any:
    """A reply whose calls are calls of another tool."""
    if isinstance(value, list):
        return [_with_call(item, name, arguments) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("name") != TOOL:
        return {key: _with_call(item, name, arguments) for key, item in value.items()}
    if isinstance(arguments, str):
        kept = {key: value[key] for key in ("id", "call_id", "status")}
        return {"type": "custom_tool_call", **kept, "id": f"ctc_{value['call_id']}", "name": name, "input": arguments}
    given = {"arguments": json.dumps(arguments), "input": arguments, "args": arguments}
    return {**value, "name": name, **{key: given[key] for key in given if key in value}}


@contextmanager
def agent_server(steps: int, **script: int) -> Iterator[AgentServer]:
    """A running server."""
    state = AgentServer(steps, **script)
    with serving(state.post, state.get) as state.url:
        yield state
