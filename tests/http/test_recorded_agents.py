"""What real agents sent, sent again through the proxy: their side requests, marks, betas, items and resumed sessions.

The recordings were made on the same server, so that its replies are those that the requests go on with.
"""

from __future__ import annotations

import pytest
from test_proxy import post, proxied

from agent_recordings import read
from agent_server import agent_server
from transom.core.entry import Sent
from transom.stores import MemoryStore

STEPS = 6

AGENTS = {"claude": (30_000, "x-claude-code-session-id"), "codex": (18_000, "session-id"), "qwen": (28_000, "")}
"""For each agent a budget that its windows have to be made smaller for, and the header that names its session."""


@pytest.mark.parametrize("name", AGENTS)
def test_a_recorded_agent_has_one_log_and_windows_in_budget(name: str) -> None:
    store, requests, (budget, header) = MemoryStore(), read(name), AGENTS[name]
    with (
        agent_server(STEPS, pauses_at=STEPS // 2) as server,
        proxied(server, store, budget=budget, by_key=False) as url,
    ):
        for each in requests:
            assert post(url + each["path"], json=each["body"], headers=each["headers"]).status_code == 200
    assert (server.invalid, server.stale, server.lost, server.turn) == ([], 0, 0, STEPS)
    assert len(server.received) == len(requests)
    for sent, each in zip(server.received, requests, strict=True):
        assert sent["path"] == each["path"]
        assert each["headers"].items() <= {key.lower(): value for key, value in sent["headers"].items()}.items()
    windows = {
        each: [entry.body for entry in store.open(each).read() if isinstance(entry.body, Sent)]
        for each in store.names()
    }
    main = max(windows, key=lambda each: len(windows[each]))
    assert sorted(map(len, windows.values())) == [*[1] * server.side, STEPS]
    if header:
        assert main == requests[-1]["headers"][header]
    assert max(body.tokens for body in windows[main]) <= budget
    assert any(body.breaks is not None for body in windows[main])
