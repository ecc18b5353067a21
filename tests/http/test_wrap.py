"""`transom.wrap` over the real SDKs: whole runs against a strict server, whose limit is below the one given."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
import threading
from itertools import pairwise
from typing import Any

import anthropic
import anyio
import httpx
import httpx2
import openai
import pytest

import transom
from sdk_agents import AGENTS, ChatAgent, anthropic_client, gemini_client, openai_client
from strict_provider import ANSWER, TASK, StrictProvider, messages_of, strict_provider
from transom.core.entry import Sent
from transom.core.message import Failure
from transom.errors import InvalidSetting
from transom.http import Gateway, Transport
from transom.providers.scripted import Fault, Scripted
from transom.stores import MemoryStore, open_store, usage_by_conversation

BUDGET, LIMIT, STEPS = 9_000, 6_000, 14


def run(agent: Any, steps: int = STEPS) -> str:
    """Step an agent until it answers."""
    for _ in range(steps + 2):
        if answer := agent.step():
            return answer
    return ""


async def arun(agent: Any, steps: int = STEPS) -> str:
    for _ in range(steps + 2):
        if answer := await agent.astep():
            return answer
    return ""


def faults(server: StrictProvider) -> dict[str, Any]:
    """What a strict provider has to say against a run; all of it empty or 0 for a good one."""
    return {"invalid": server.invalid, "stale": server.stale, "over": server.over, "lost": server.lost}


NONE = {"invalid": [], "stale": 0, "over": 0, "lost": 0}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("api", AGENTS)
def test_a_run_that_outgrows_the_model_ends_with_its_answer(api: str, stream: bool) -> None:
    store = MemoryStore()
    agent_class, client = AGENTS[api]
    with strict_provider(STEPS, limit=LIMIT) as server:
        agent = agent_class(transom.wrap(client(server.url), store=store, budget=BUDGET), stream=stream)
        assert run(agent) == ANSWER
    assert faults(server) == NONE
    assert server.refused == 1
    (name,) = store.names()
    sent = [entry.body for entry in store.open(name).read() if isinstance(entry.body, Sent)]
    assert len(sent) == len(server.requests) == STEPS + 1
    compacted = sum(each.breaks is not None for each in sent)
    assert 1 <= server.breaks <= compacted < STEPS / 3  # every other request begins with the one before


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("api", AGENTS)
def test_the_async_clients_do_the_same(api: str, stream: bool) -> None:
    store = MemoryStore()
    agent_class, client = AGENTS[api]
    with strict_provider(STEPS, limit=LIMIT) as server:
        agent = agent_class(transom.wrap(client(server.url, is_async=True), store=store, budget=BUDGET), stream=stream)

        async def main() -> str:
            return await arun(agent)

        assert anyio.run(main) == ANSWER
    assert faults(server) == NONE
    assert (server.refused, len(store.names())) == (1, 1)


@pytest.mark.parametrize("api", AGENTS)
def test_another_process_goes_on_where_one_has_died(api: str, tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path}/agent.db"
    agent_class, client = AGENTS[api]
    with strict_provider(STEPS) as server:
        first = agent_class(transom.wrap(client(server.url), store=url, budget=LIMIT))
        for _ in range(STEPS // 2):
            first.step()
        again = agent_class(transom.wrap(client(server.url), store=url, budget=LIMIT))
        kept = next(key for key in ("messages", "items", "contents") if hasattr(first, key))
        setattr(again, kept, json.loads(json.dumps(getattr(first, kept), default=lambda each: each.model_dump())))
        assert run(again) == ANSWER
    assert faults(server) == NONE
    assert len(open_store(url).names()) == 1


def test_a_stream_that_breaks_is_a_failure_in_the_log_and_the_retry_goes_on() -> None:
    store = MemoryStore()
    with strict_provider(6, breaks_at=3) as server:
        agent = AGENTS["anthropic"][0](
            transom.wrap(AGENTS["anthropic"][1](server.url), store=store, budget=BUDGET), stream=True
        )
        answer = ""
        for _ in range(9):
            try:
                if answer := agent.step():
                    break
            except httpx2.RemoteProtocolError:
                pass
    assert answer == ANSWER
    assert faults(server) == NONE
    (name,) = store.names()
    failures = [entry.body.failure for entry in store.open(name).read() if isinstance(entry.body, Failure)]
    assert failures == ["connection"]


def test_a_client_that_leaves_a_stream_leaves_a_valid_log() -> None:
    store = MemoryStore()
    with strict_provider(6, stalls_at=2) as server:
        client = transom.wrap(openai_client(server.url), store=store, budget=BUDGET)
        agent = AGENTS["openai"][0](client)
        agent.step()
        with client.chat.completions.create(**agent.arguments(), stream=True) as events:
            next(iter(events))
        server.go_on.set()
        assert run(agent) == ANSWER
    assert faults(server) == NONE
    (name,) = store.names()
    assert [entry.body.failure for entry in store.open(name).read() if isinstance(entry.body, Failure)] == [
        "interrupted"
    ]


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]


def test_two_conversations_that_begin_alike_never_mix() -> None:
    store = MemoryStore()
    with strict_provider(1) as server:
        client = transom.wrap(openai_client(server.url), store=store, budget=BUDGET)
        talks = [said(TASK), said(TASK)]
        for turn in range(3):
            for number, talk in enumerate(talks):
                reply = client.chat.completions.create(model="gpt-test", messages=talk)
                talk.append({"role": "assistant", "content": f"{reply.choices[0].message.content}"})
                talk.append({"role": "user", "content": f"secret-{number}-{turn}"})
    assert faults(server) == NONE
    for number, other in ((0, 1), (1, 0)):
        bodies = [json.dumps(body) for _, body in server.requests[number::2]]
        assert all(f"secret-{other}" not in body for body in bodies)
    for name in store.names():  # what both said until then may be in one log
        text = " ".join(repr(entry.body) for entry in store.open(name).read())
        assert not ("secret-0" in text and "secret-1" in text)


def test_the_same_request_from_many_threads_is_many_conversations() -> None:
    store = MemoryStore()
    with strict_provider(1) as server:
        client = transom.wrap(openai_client(server.url), store=store, budget=BUDGET)
        asked = [
            threading.Thread(target=lambda: client.chat.completions.create(model="m", messages=said(TASK)))
            for _ in range(8)
        ]
        for each in asked:
            each.start()
        for each in asked:
            each.join()
    assert len(server.requests) == 8
    assert faults(server) == NONE
    assert {len(messages_of(api, body)) for api, body in server.requests} == {2}


@pytest.mark.parametrize(("wait", "most_open", "name"), [(5, 256, "trip"), (5, 0, "trip"), (0, 256, "trip-?")])
def test_a_call_waits_for_another_process_or_gets_a_conversation_of_its_own(
    wait: float,
    most_open: int,
    name: str,
    tmp_path: Any,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("transom.http.gateway.MOST_OPEN_CONVERSATIONS", most_open)
    url = f"sqlite:///{tmp_path}/agent.db"
    with strict_provider(1) as server:
        client = transom.wrap(openai_client(server.url), store=url, budget=BUDGET, session="trip", wait=wait)
        talk = said(TASK)
        for _ in range(2):
            with transom.Conversation.open(url, "trip", budget=BUDGET) as elsewhere:
                lease = elsewhere.lease()
                lease.__enter__()
                end = threading.Timer(0.05, lease.__exit__, (None, None, None))
                end.start()
                reply = client.chat.completions.create(model="gpt-test", messages=talk)
                end.join()
            talk.append({"role": "assistant", "content": f"{reply.choices[0].message.content}"})
            talk.append({"role": "user", "content": "And then?"})
    assert faults(server) == NONE
    assert not caplog.records
    logged = [each for each in open_store(url).names() if len(open_store(url).open(each))]
    assert [re.sub(r"-\w{8}$", "-?", each) for each in logged] == [name]


def test_a_call_does_not_wait_for_a_process_that_has_said_something(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path}/agent.db"
    with (
        strict_provider(1) as server,
        transom.Conversation.open(url, "trip", budget=BUDGET) as elsewhere,
        elsewhere.lease(),
    ):
        elsewhere.user("Something else.")
        client = transom.wrap(openai_client(server.url), store=url, budget=BUDGET, session="trip")
        client.chat.completions.create(model="gpt-test", messages=said(TASK))
    assert [name.partition("-")[0] for name in open_store(url).names()] == ["trip", "trip"]


def test_what_another_process_has_gone_on_with_is_left_alone_each_time() -> None:
    sent: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.content)["messages"])
        message = {"role": "assistant", "content": f"reply {len(sent)}"}
        return httpx.Response(200, json={"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

    store, history = MemoryStore(), said(TASK)
    one, other = (
        httpx.Client(transport=Transport(Gateway(store, budget=BUDGET), inner=httpx.MockTransport(answer)))
        for _ in range(2)
    )

    def ask(client: httpx.Client, *more: Any) -> None:
        client.post("https://api.test/v1/chat/completions", json={"model": "m", "messages": [*history, *more]})
        assert sent[-1] == [*history, *more]

    ask(one)
    history.append({"role": "assistant", "content": "reply 1"})
    for client, text in ((other, "and now"), (one, "or rather"), (one, "no, this")):
        ask(client, {"role": "user", "content": text})
    assert len(store.names()) == 3


def test_an_edited_message_is_a_fork() -> None:
    store = MemoryStore()
    with strict_provider(1) as server:
        client = transom.wrap(openai_client(server.url), store=store, budget=BUDGET, session="talk")
        talk = said(TASK)
        for text in ("first", "second"):
            client.chat.completions.create(model="m", messages=talk)
            talk += [{"role": "assistant", "content": ANSWER}, {"role": "user", "content": text}]
        edited = [*talk[:-3], {"role": "user", "content": "other"}]
        client.chat.completions.create(model="m", messages=edited)
        assert [message["content"] for message in server.requests[-1][1]["messages"]] == [
            "Be brief.",
            TASK,
            ANSWER,
            "other",
        ]
        client.chat.completions.create(model="m", messages=talk)  # the old branch goes on
        assert server.requests[-1][1]["messages"][-1]["content"] == "second"
    first, fork = store.names()
    assert (first, fork.partition("@")[0]) == ("talk", "talk")


class Windows:
    """A server that answers each request with "Answer 1", "Answer 2", …, and the messages of each."""

    def __init__(self) -> None:
        self.sent: list[list[Any]] = []
        self.http = httpx2.Client(transport=httpx2.MockTransport(self._answer))

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.sent.append(json.loads(request.content)["messages"])
        said = {"role": "assistant", "content": f"Answer {len(self.sent)}"}
        usage = {"prompt_tokens": len(request.content) // 4, "completion_tokens": 5, "total_tokens": 0}
        choice = {"index": 0, "message": said, "finish_reason": "stop"}
        reply = {"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        return httpx2.Response(200, json={**reply, "usage": usage})

    def compactions(self) -> list[int]:
        """The index of each request that does not begin with all messages of the one before."""
        pairs = enumerate(pairwise(self.sent), 1)
        return [at for at, (before, now) in pairs if now[: len(before)] != before]


def test_replies_stored_in_another_form_keep_the_folds() -> None:
    store, server = MemoryStore(), Windows()
    given = openai.OpenAI(api_key="k", base_url="http://localhost/v1", http_client=server.http)
    client, talk = transom.wrap(given, store=store, budget=4_000, session="talk"), []
    for turn in range(60):
        talk.append({"role": "user", "content": f"Question {turn}: " + "word " * 100})
        reply = client.chat.completions.create(model="m", messages=talk).choices[0].message.content
        talk.append({"role": "assistant", "content": f"<p>{reply}</p>"})
    compactions = server.compactions()
    assert len(compactions) > 3
    assert not any(after - before == 1 for before, after in pairwise(compactions))
    assert server.sent[-1][-3:] == talk[-4:-1]
    usage = usage_by_conversation(store).values()
    assert (sum(each.requests for each in usage), sum(each.failures for each in usage)) == (60, 0)


def test_a_reply_that_is_asked_for_again_and_again_has_the_same_window() -> None:
    store, server = MemoryStore(), Windows()
    given = openai.OpenAI(api_key="k", base_url="http://localhost/v1", http_client=server.http)
    client, talk = transom.wrap(given, store=store, budget=4_000, session="talk"), []
    while not server.compactions():
        talk.append({"role": "user", "content": f"Question {len(talk)}: " + "word " * 100})
        reply = client.chat.completions.create(model="m", messages=talk).choices[0].message.content
        talk.append({"role": "assistant", "content": reply})
    for _ in range(4):
        client.chat.completions.create(model="m", messages=talk[:-1])
        assert server.sent[-1] == server.sent[-2]
    assert all(name.partition("@")[0] == "talk" for name in store.names())


def test_a_limit_is_learned_once_for_all_conversations_of_a_client() -> None:
    store = MemoryStore()
    with strict_provider(STEPS, limit=LIMIT) as server:
        client = transom.wrap(openai_client(server.url), store=store, budget=BUDGET)
        agent, messages = ChatAgent(client), []
        while not server.refused:
            messages = [*agent.messages]
            agent.step()
        for changed in ("one", "two"):  # each is a fork, from before the refusal, and as long as what was refused
            edited = [*messages]
            edited[3] = {**messages[3], "content": messages[3]["content"] + changed}
            client.chat.completions.create(**{**agent.arguments(), "messages": edited})
    assert (server.refused, server.over, len(store.names())) == (1, 0, 3)


@pytest.mark.parametrize(
    "source", [{"type": "file", "file_id": "file_1"}, {"type": "url", "url": "https://e.org/a.pdf"}]
)
def test_a_file_of_one_customer_that_is_too_long_leaves_the_windows_of_the_others(source: dict[str, str]) -> None:
    sizes = list[int]()

    def answer(body: Any) -> str | Fault:
        text = json.dumps(body)
        sizes.append(len(text) // 4 + 208_000 * ('"document"' in text))
        if sizes[-1] <= 200_000:
            return "Noted."
        error = {"type": "invalid_request_error", "message": f"prompt is too long: {sizes[-1]} tokens > 200000 maximum"}
        return Fault(kind="bad_request", status=400, body=json.dumps({"type": "error", "error": error}))

    http = Scripted(then=answer, dialect="anthropic").http_client()
    sdk = anthropic.Anthropic(api_key="none", max_retries=0, http_client=http)
    client = transom.wrap(sdk, store="memory:", budget=100_000)

    def ask(messages: list[Any], content: Any) -> None:
        messages.append({"role": "user", "content": content})
        reply = client.messages.create(model="claude", max_tokens=100, messages=messages)
        messages.append({"role": "assistant", "content": reply.content[0].text})

    talk = list[Any]()
    for turn in range(20):
        talk += [{"role": "user", "content": f"{turn} " + "facts " * 300}, {"role": "assistant", "content": "Noted."}]
    ask(talk, "Go on")
    ask([], [{"type": "document", "source": source}, {"type": "text", "text": "What is in this file?"}])
    ask(talk, "And then?")
    first, with_file, without, again = sizes
    assert with_file > 200_000
    assert without < 100
    assert again > first


def test_unknown_fields_and_headers_pass_and_the_callers_objects_stay_as_they_are() -> None:
    with strict_provider(1) as server:
        given = openai_client(server.url)
        before = (given._client, given._client._transport, given.max_retries)
        client = transom.wrap(given, budget=BUDGET)
        talk = said(TASK)
        client.chat.completions.create(
            model="gpt-test",
            messages=talk,
            temperature=0.25,
            extra_body={"provider_hint": {"a": [1, None]}},
            extra_headers={"x-mine": "kept", "x-transom-session": "s"},
        )
        assert talk == said(TASK)
        assert (given._client, given._client._transport, given.max_retries) == before
        (_, body), headers = server.requests[0], server.headers[0]
    assert {key: body[key] for key in ("model", "temperature", "provider_hint")} == {
        "model": "gpt-test",
        "temperature": 0.25,
        "provider_hint": {"a": [1, None]},
    }
    assert headers["x-mine"] == "kept"
    assert "x-transom-session" not in {name.lower() for name in headers}


def test_a_conversation_that_the_provider_keeps_passes_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryStore()
    with strict_provider(1) as server, caplog.at_level(logging.WARNING):
        client = transom.wrap(openai_client(server.url), store=store, budget=BUDGET)
        for _ in range(2):
            client.responses.create(model="m", input="go on", previous_response_id="resp_1")
    assert [json.loads(json.dumps(body))["previous_response_id"] for _, body in server.requests] == ["resp_1"] * 2
    assert [record.message for record in caplog.records if record.name.startswith("transom")] == [
        "requests with `previous_response_id` are passed on as they came: the provider keeps their conversation"
    ]
    assert store.names() == []


def test_an_error_of_the_provider_arrives_as_it_was() -> None:
    with strict_provider(1, limit=10) as server:
        client = transom.wrap(openai_client(server.url), budget=BUDGET)
        with pytest.raises(openai.BadRequestError) as raised:
            client.chat.completions.create(model="m", messages=said(TASK))
    assert raised.value.code == "context_length_exceeded"


def test_a_request_that_cannot_fit_passes_or_is_answered_with_an_error(caplog: pytest.LogCaptureFixture) -> None:
    talk = said(f"{TASK} " + "word " * 200)
    talk[0]["content"] = "rule " * 3_000
    with strict_provider(1) as server:
        passing = transom.wrap(openai_client(server.url), budget=1_000)
        assert passing.chat.completions.create(model="m", messages=talk).choices[0].message.content == ANSWER
        failing = transom.wrap(openai_client(server.url), budget=1_000, on_error="fail")
        with pytest.raises(openai.BadRequestError) as raised:
            failing.chat.completions.create(model="m", messages=talk)
    assert len(server.requests) == 1
    assert raised.value.body["code"] == "BudgetImpossible"
    assert "passed on as it came: need at least" in caplog.text


@pytest.mark.parametrize("http", [httpx, httpx2])
def test_the_transport_below_a_client_of_ones_own(http: Any) -> None:
    store = MemoryStore()
    with strict_provider(1) as server:
        transport = Transport(Gateway(store, budget=BUDGET), http=http.__name__)
        with http.Client(transport=transport, base_url=server.url) as client:
            body = {"model": "m", "messages": said(TASK)}
            answer = client.post("/v1/chat/completions", json=body).json()
            models = client.post("/v1/embeddings", json={"messages": []})
    assert answer["choices"][0]["message"]["content"] == ANSWER
    assert models.status_code != 599
    assert len(store.names()) == 1


@pytest.mark.parametrize(
    ("host", "kinds"),
    [
        ("api.deepseek.com", ["thinking", "tool_use"]),
        ("api.moonshot.cn", ["thinking", "tool_use"]),
        ("api.anthropic.com", ["tool_use"]),
        ("deepseek.com.example.org", ["tool_use"]),
    ],
)
def test_an_address_says_in_what_form_an_api_is_spoken(host: str, kinds: list[str]) -> None:
    sent: list[dict[str, Any]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.content))
        return httpx.Response(200, json={"type": "message", "role": "assistant", "content": [], "usage": {}})

    thought = {"type": "thinking", "thinking": "I need the file."}
    use = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}
    messages = [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": [thought, use]},
        {"role": "user", "content": [result]},
    ]
    transport = Transport(Gateway(MemoryStore(), budget=BUDGET), inner=httpx.MockTransport(answer))
    with httpx.Client(transport=transport) as client:
        body = {"model": "m", "max_tokens": 99, "messages": messages}
        client.post(f"https://{host}/anthropic/v1/messages", json=body)
    assert [block["type"] for block in sent[-1]["messages"][1]["content"]] == kinds


@pytest.mark.parametrize("client", [object(), None, "openai"])
def test_only_clients_are_wrapped(client: Any) -> None:
    with pytest.raises(InvalidSetting, match="must be a client of openai, anthropic or google-genai"):
        transom.wrap(client)


@pytest.mark.parametrize("budget", [20, "99", transom.Budget(context=60), transom.Budget(context=200, reserve=190)])
def test_a_budget_without_room_for_a_message_is_refused_at_once(budget: Any) -> None:
    with pytest.raises(InvalidSetting, match=r"must leave at least 100 tokens for a window, not \d\d: write 32_000"):
        transom.wrap(openai_client("http://127.0.0.1:9"), budget=budget)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("client_of", [openai_client, anthropic_client, gemini_client])
def test_a_client_is_wrapped_once(client_of: Any, is_async: bool) -> None:
    wrapped = transom.wrap(client_of("http://127.0.0.1:9", is_async=is_async))
    with pytest.raises(InvalidSetting, match="is wrapped already"):
        transom.wrap(wrapped)


def test_importing_transom_imports_none_of_it() -> None:
    program = (
        "import sys, transom; print([m for m in sys.modules if m.startswith(('transom.http', 'httpx', 'starlette'))])"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_setting_that_does_not_exist_is_named_with_the_one_that_was_meant() -> None:
    with pytest.raises(TypeError, match=r"there is no setting 'summariser': did you mean 'summarizer'\?"):
        transom.wrap(openai_client("http://x"), store="memory:", budget=BUDGET, summariser="openai:gpt-5-mini")
