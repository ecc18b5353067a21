"""Two writers run agents on one conversation: a result stands under its own call, whoever sends a request meanwhile."""

from __future__ import annotations

from threading import Barrier, Thread

import pytest

from transom import Conversation, ConversationBusy
from transom.core.message import Assistant, ToolResult
from transom.providers.scripted import Scripted, call
from transom.providers.scripted_replies import Reply, ScriptedCall
from transom.stores import open_store


def f() -> str:
    """The tool of the first writer."""
    return "REAL"


def shown(conversation: Conversation) -> list[tuple[str, str]]:
    return [(message["role"], message.get("content") or "calls") for message in conversation.request()["messages"]]


def test_a_request_of_another_writer_waits_until_the_run_is_over() -> None:
    store = open_store("memory:")
    a = Conversation.open(store, "c", budget=8_000)
    b = Conversation.open(store, "c", budget=8_000)

    def meanwhile(*_: object) -> object:
        b.user("B asks")
        with pytest.raises(ConversationBusy, match="in use by this process"):
            b.request()
        return call("f")

    a.run("A asks", provider=Scripted(meanwhile, "done"), tools=[f])
    assert shown(a) == [
        ("user", "A asks"),
        ("assistant", "calls"),
        ("tool", "REAL"),
        ("user", "B asks"),
        ("assistant", "done"),
    ]


def test_results_of_two_runs_at_once_are_never_mixed_up(tmp_path) -> None:
    start = Barrier(2)
    failed = list[BaseException]()

    def work(name: str) -> None:
        def f(number: int) -> str:
            """Answer with whose call it is."""
            return f"{name}{number}"

        calls = [
            Reply(calls=(ScriptedCall("f", f'{{"number": {number}}}', f"{name}-{number}"),)) for number in range(8)
        ]
        try:
            with Conversation.open(f"sqlite:///{tmp_path / 'two.db'}", "c", budget=64_000) as conversation:
                start.wait()
                conversation.run(f"{name} asks", provider=Scripted(*calls, f"{name} is done"), tools=[f], wait=30)
        except BaseException as error:  # noqa: BLE001 - for the test's own thread
            failed.append(error)

    threads = [Thread(target=work, args=(name,)) for name in "AB"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    with Conversation.open(f"sqlite:///{tmp_path / 'two.db'}", "c", budget=64_000) as conversation:
        bodies = [entry.body for entry in conversation.log]
        assert sum(len(body.calls) for body in bodies if isinstance(body, Assistant)) == 16
        real = [body for body in bodies if isinstance(body, ToolResult) and not body.synthetic]
        assert sorted(body.call.replace("-", "") for body in real) == sorted(body.parts[0].text for body in real)
        messages = conversation.request()["messages"]
        text = "\n".join(str(message.get("content")) for message in messages)
        for body in real:
            name = body.parts[0].text
            assert name in text, f"the result {name} is not shown"
        for message in messages:
            if message["role"] == "tool" and not message["content"].startswith("["):
                assert message["tool_call_id"].replace("-", "") == message["content"]
