"""The README does what it says."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


class Reply:
    """A provider's response object: attributes, and a dump of itself."""

    def __init__(self, message, prompt):
        calls = [SimpleNamespace(**call) for call in message.get("tool_calls", ())]
        self.choices = [SimpleNamespace(message=SimpleNamespace(tool_calls=calls))]
        self._dump = {"choices": [{"message": message}], "usage": {"prompt_tokens": prompt, "completion_tokens": 9}}

    def model_dump(self):
        return self._dump


class Client:
    """Asks for one tool call; keeps what it was sent."""

    def __init__(self):
        self.sent = []
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=self._create))

    def _create(self, **request):
        self.sent.append(request)
        call = {"id": "call_1", "type": "function", "function": {"name": "flights", "arguments": '{"to": "LIS"}'}}
        return Reply({"role": "assistant", "content": None, "tool_calls": [call]}, prompt=60)


def test_its_python_runs(capsys):
    client = Client()
    tools = [{"type": "function", "function": {"name": "flights", "parameters": {"type": "object"}}}]
    names = {"client": client, "tools": tools, "run_tool": lambda call: f"nothing flies for {call.id}"}
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == 2
    assert sum(len(block.strip().splitlines()) for block in blocks) <= 20
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert names["short"] == names["messages"]
    assert client.sent[0]["messages"] == [
        {"role": "system", "content": "You book trips."},
        {"role": "user", "content": "Find me a flight to Lisbon"},
    ]
    assert re.fullmatch(r"\d+ tokens in the next window\n", capsys.readouterr().out)


def test_its_sample_of_the_demo_is_current(run):
    (sample,) = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
    out = run("demo")[1]
    assert steady(sample) == steady(out), "paste the output of `COLUMNS=80 transom demo` into the README"


def steady(text):
    """Without what differs from machine to machine: the time. Without empty ends of lines and of the text."""
    text = re.sub(r"(ms per call +)[\d.]+", r"\1–", text)
    return [line.rstrip() for line in text.strip().splitlines()]


def test_what_it_points_at_is_there():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).is_file(), target
