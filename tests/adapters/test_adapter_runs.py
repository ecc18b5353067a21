"""Each adapter with its real framework against a server on the loopback: a sample of `make adapters`.

Strands, ADK and agent-framework are in another environment than the developers': `make frameworks` runs these tests
there.
"""

from __future__ import annotations

import gc
import sys
import weakref
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from framework_runs import LIMIT, PACKAGES, RUNS, Files, set_environment
from scripted_api import ANSWER, FAULTS, LONG_EVERY, output_of, report, scripted_api

from transom.core.message import Text, ToolResult
from transom.extras import install_command
from transom.stores import open_store

SAY_REASONING_TOO = ("strands", "google_adk", "agent_framework")
"""Frameworks whose answer may have the text of the reasoning before it."""


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("name", RUNS)
@pytest.mark.filterwarnings("ignore")  # of the frameworks
def test_a_run_with_an_overflow_a_crash_and_a_resume(name: str, stream: bool, tmp_path: Path) -> None:
    pytest.importorskip(PACKAGES[name])
    set_environment()
    steps, crash_at = (8, 3) if stream else (24, 13)
    files = Files(crash_at)
    with scripted_api(steps, limit=LIMIT) as api:
        said = RUNS[name](api, tmp_path, files, stream=stream)
    if name in SAY_REASONING_TOO:
        assert said.endswith(ANSWER)
    else:
        assert said == ANSWER
    row = report(name, api)
    assert {fault: row[fault] for fault in FAULTS if row[fault]} == {}
    assert row["requests"] == steps + 1
    assert stream or row["refused"] >= 1  # a short run need not reach the limit
    assert row["reasoning sent"] >= steps
    assert row["most tokens"] <= LIMIT
    # Of long results the framework has what windows show, and the log has the middle too. The first one fits the
    # budget: it was whole in a window before the server said that its limit is lower.
    long = [at for at in range(1, steps + 1) if at % LONG_EVERY == 0]
    kept = [at for at in long if f"file {at}.0.0 " in files.kept]
    assert kept[-2:] == long[-2:]
    assert {at for at in kept if f"file {at}.0.300 " in files.kept} <= {kept[0]}
    store = open_store(f"sqlite:///{tmp_path}/agent.db")
    logs = [store.open(each).read() for each in store.names()]
    whole = {text_of(entry.body) for entries in logs for entry in entries if isinstance(entry.body, ToolResult)}
    store.close()
    assert [at for at in kept if output_of(at, 0) not in whole] == []


@pytest.mark.parametrize("name", PACKAGES)
def test_without_its_packages_an_adapter_says_how_to_install_them(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, package = f"transom.adapters.{name}", PACKAGES[name]
    monkeypatch.delitem(sys.modules, module, raising=False)
    for known in [package, *(each for each in sys.modules if each.startswith(f"{package}."))]:
        monkeypatch.setitem(sys.modules, known, None)
    with pytest.raises(ImportError) as caught:
        import_module(module)
    assert str(caught.value).endswith(install_command(name.replace("_", "-")))


def test_tools_that_are_made_anew_for_each_request_are_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("langchain")
    adapter: Any = import_module("transom.adapters.langchain")
    messages: Any = import_module("langchain_core.messages")
    tools: Any = import_module("langchain_core.tools")
    monkeypatch.setattr(adapter, "MOST_SCHEMAS", 3)
    middleware = adapter.TransomMiddleware("memory:", budget=32_000)

    def look(place: str) -> str:
        return place

    def request() -> weakref.ref[Any]:
        tool = tools.StructuredTool.from_function(look, description="Looks.")
        given = SimpleNamespace(
            system_message=None,
            tools=[tool],
            runtime=SimpleNamespace(execution_info=None, config={"configurable": {"thread_id": "trip"}}),
            messages=[messages.HumanMessage("Look.")],
            model=None,
            override=lambda **_: None,
        )
        middleware.wrap_model_call(given, lambda _: messages.AIMessage("Done."))
        return weakref.ref(tool)

    made = [request() for _ in range(6)]
    gc.collect()
    assert [each() is None for each in made] == [True] * 3 + [False] * 3


def text_of(result: ToolResult) -> str:
    return "".join(part.text for part in result.parts if isinstance(part, Text))
