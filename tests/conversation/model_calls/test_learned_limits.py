"""What refusals teach about the longest request of a model, and how replies take it back."""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from typing import Any

import openai
import pytest

import transom
from transom import AsyncConversation, Conversation, InvalidEdit, ProviderError, Retry
from transom.adapters.model_call import error_of
from transom.core.learned_limit import MAX_PATIENCE, PATIENCE, LearnedLimit
from transom.core.message import Failure
from transom.overflow import classify
from transom.providers.scripted import Fault, Reply, Scripted

LIMIT = 4_096
WORDS = {
    "both numbers": "This model's maximum context length is {limit} tokens. However, your messages resulted in {used}.",
    "the limit": "This model's maximum context length is {limit} tokens.",
    "nothing": "prompt is too long",
}
AT_ONCE = Retry(wait=0)
WISH = "a room with a view of the harbour "
WISH_IN_JAPANESE = "港が見える部屋を探しています。"


def refusal(words: str, used: int = 0, limit: int = LIMIT) -> Fault:
    said = {"error": {"message": WORDS[words].format(limit=limit, used=used), "code": "context_length_exceeded"}}
    return Fault(kind="bad_request", status=400, body=json.dumps(said))


class Server:
    """A model that takes `LIMIT` tokens, and that counts `factor` tokens for four characters. `lies`: how many of the
    next requests it refuses although they are shorter."""

    def __init__(self, words: str, *, factor: float = 1.0, dialect: str = "openai", claims: int = 0) -> None:
        self.words, self.factor, self.claims, self.lies = words, factor, claims, 0
        self.provider = Scripted(then=self._answer, count=self.size, dialect=dialect)

    def size(self, body: Any) -> int:
        return int(len(json.dumps(body, ensure_ascii=False)) / 4 * self.factor)

    def _answer(self, body: Any) -> str | Fault:
        if self.lies:
            self.lies -= 1
            return refusal(self.words, self.claims)
        size = self.size(body)
        return refusal(self.words, size) if size > LIMIT else "Noted."

    @property
    def last_sizes(self) -> list[int]:
        return [self.size(body) for body in self.provider.requests[-8:]]


def refusals(conv: Any) -> int:
    return sum(isinstance(entry.body, Failure) for entry in conv.log)


@pytest.mark.parametrize(
    ("words", "factor", "most"), [("both numbers", 0.8, 1), ("the limit", 1.3, 2), ("nothing", 1.0, 5)]
)
def test_a_model_that_takes_less_than_the_budget_refuses_few_of_200_requests(
    words: str, factor: float, most: int
) -> None:
    server = Server(words, factor=factor)
    with Conversation.open("memory:", "c", budget=10_000) as conv:
        for turn in range(200):
            size = 40 if turn % 17 == 5 else 4 + turn * 7 % 20
            assert conv.run(WISH * (2 * size), provider=server.provider, retry=AT_ONCE).text
        assert 1 <= refusals(conv) <= most
        assert max(server.last_sizes) > 0.75 * LIMIT, "and its window is used"


class ServerOfTwoLanguages(Server):
    """A model that counts a token for each Japanese character."""

    def size(self, body: Any) -> int:
        text = json.dumps(body, ensure_ascii=False)
        japanese = sum(character > "\u3000" for character in text)
        return int(((len(text) - japanese) / 4 + japanese) * self.factor)


@pytest.mark.parametrize("with_usage", [True, False])
@pytest.mark.parametrize("words", WORDS)
def test_so_does_one_whose_tokens_are_more_than_twice_ours_and_differ_by_language(words: str, with_usage: bool) -> None:
    server = ServerOfTwoLanguages(words, factor=1.7)
    with Conversation.open("memory:", "c", budget=10_000) as conv:
        for turn in range(120):
            conv.user((WISH, WISH_IN_JAPANESE)[turn // 7 % 2] * (4 + turn * 7 % 20))
            while True:
                try:
                    reply: Any = server.provider.complete(dict(conv.request()))
                except ProviderError as error:
                    assert conv.failed(error).retry
                    continue
                break
            conv.observe(reply if with_usage else reply["choices"][0]["message"])
        assert 1 <= refusals(conv) <= 5
        assert max(server.last_sizes) > 0.75 * LIMIT, "and its window is used"


def test_sizes_that_differ_little_contradict_no_refusal_and_the_patience_has_an_end() -> None:
    learned = LearnedLimit(3_000).after_refusal(3_000, 4_000, 0, 0)
    for _ in range(3):
        learned = learned.after_reply(4_200)
    assert learned.refused == 4_000
    again = learned.after_refusal(2_800, 3_700, 0, 0)
    assert (again.patience, again.answered) == (4 * PATIENCE, 0)
    assert learned.after_refusal(500, 1_000, 0, 0).patience == PATIENCE
    for size in range(4_000, 4_400, 10):
        learned = learned.after_reply(3_900).after_refusal(3_000, size, 0, 0)
    assert learned.patience == MAX_PATIENCE


@pytest.mark.parametrize("lies", [1, 2, 3, 6])
@pytest.mark.parametrize("words", WORDS)
def test_windows_grow_again_after_refusals_that_were_not_true(words: str, lies: int) -> None:
    server = Server(words, claims=8_000)
    with Conversation.open("memory:", "c", budget=10_000) as conv:

        def run(turns: int) -> None:
            for _ in range(turns):
                try:
                    conv.run(WISH * 20, provider=server.provider, retry=AT_ONCE)
                except ProviderError as error:
                    assert error.kind == "overflow"

        run(20)
        before, server.lies = max(server.last_sizes), lies
        run(2)
        assert server.last_sizes[-1] < before
        run(38)
        assert max(server.last_sizes) > 0.9 * before


@pytest.mark.parametrize("dialect", ["openai", "responses", "anthropic", "gemini", "mistral"])
def test_so_do_those_of_every_dialect(dialect: str) -> None:
    server = Server("the limit", dialect=dialect)
    with Conversation.open("memory:", "c", budget=10_000, dialect=dialect) as conv:
        for turn in range(50):
            server.lies = 2 if turn == 20 else 0
            conv.run(WISH * 20, provider=server.provider, retry=AT_ONCE)
            if turn == 20:
                assert conv.window_usage.budget < 1_250
        assert conv.window_usage.budget > 0.75 * LIMIT


def test_so_do_those_of_an_async_stream_and_those_of_a_log_that_is_opened_again(tmp_path: Any) -> None:
    place, server = str(tmp_path / "c.db"), Server("nothing")

    async def talk(turns: int, lies: int) -> int:
        async with await AsyncConversation.open(place, "c", budget=10_000) as conv:
            for turn in range(turns):
                server.lies = lies if turn == turns - 1 else 0
                async for _ in conv.stream(WISH * 20, provider=server.provider, retry=AT_ONCE):
                    pass
            return conv.window_usage.budget

    assert asyncio.run(talk(20, 2)) < 1_250
    assert asyncio.run(talk(30, 0)) > 3_000


def test_so_do_those_of_a_wrapped_client_in_all_its_conversations(tmp_path: Any) -> None:
    server = Server("the limit")

    def client() -> Any:
        sdk = openai.OpenAI(api_key="none", http_client=server.provider.http_client(), max_retries=0)
        return transom.wrap(sdk, store=str(tmp_path / "c.db"), budget=10_000)

    def ask(client: Any, messages: list[Any], text: str) -> None:
        messages.append({"role": "user", "content": text})
        try:
            reply = client.chat.completions.create(model="m", messages=messages)
            messages.append({"role": "assistant", "content": reply.choices[0].message.content})
        except openai.BadRequestError:
            messages.append({"role": "assistant", "content": "(failed)"})

    wrapped, talk, other = client(), list[Any](), list[Any]()
    for _ in range(20):
        ask(wrapped, talk, WISH * 20)
    server.lies = 3
    ask(wrapped, talk, WISH * 20)
    for _ in range(15):
        ask(wrapped, talk, WISH * 20)
    again = client()  # a new process
    for _ in range(15):
        ask(again, talk, WISH * 20)
    assert max(server.last_sizes) > 2_500
    for turn in range(30):
        ask(again, other, f"{turn} " + WISH * 20)
    assert max(server.last_sizes) > 2_500


def test_a_ratio_that_a_refusal_claims_is_taken_back_without_cached_counts() -> None:
    server = Server("both numbers", claims=5_500)
    with Conversation.open("memory:", "c", budget=10_000) as conv:
        ratios = list[float]()
        for turn in range(40):
            server.lies = 1 if turn == 20 else 0
            conv.run(WISH * 20, provider=server.provider, retry=AT_ONCE)
            ratios.append(conv.view.calibration)
        assert ratios[21] > 1.2 * ratios[19]
        assert ratios[-1] <= 1.1 * ratios[19]


def test_a_refusal_far_below_the_stated_limit_ends_in_an_error_that_says_so(caplog: pytest.LogCaptureFixture) -> None:
    faults = [refusal("the limit")] * 3
    with Conversation.open("memory:", "c", budget=10_000) as conv:
        conv.user(WISH * 100)
        conv.observe({"role": "assistant", "content": "Noted."})
        with pytest.raises(ProviderError, match=r"not about the length of this request.*a gateway"):
            conv.run("Hello", provider=Scripted(*faults), retry=AT_ONCE)
    assert "'scripted:scripted' refused a request of" in caplog.text
    assert "stated a limit of 4,096" in caplog.text


def test_the_client_of_a_wrapped_spiral_is_told_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    sdk = openai.OpenAI(api_key="none", http_client=Scripted(*[refusal("the limit")] * 3).http_client(), max_retries=0)
    client = transom.wrap(sdk, store="memory:", budget=10_000)
    with caplog.at_level(logging.WARNING), pytest.raises(openai.BadRequestError):
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": WISH * 100}])
    assert "not about the length of this request" in caplog.text


def test_replies_of_another_model_say_nothing() -> None:
    with Conversation.open("memory:", "c", budget=10_000) as conv:
        for _ in range(8):
            conv.user(WISH * 20)
            conv.observe({"role": "assistant", "content": "Noted."})
        conv.plan_for("openai:small")
        conv.user("Hello")
        conv.request()
        assert conv.failed(400, body=json.dumps({"error": "prompt is too long"})).retry
        conv.request()
        conv.observe({"role": "assistant", "content": "Noted."})
        limit = conv.view.learned_limits["openai:small"]
        conv.plan_for("openai:large")
        for _ in range(8):
            conv.user(WISH * 20)
            conv.request()
            conv.observe({"role": "assistant", "content": "Noted."})
        assert conv.view.learned_limits == {"openai:small": limit}


def test_a_reply_without_usage_counts() -> None:
    server = Scripted(*["Noted."] * 18, *[refusal("nothing")] * 2, then=Reply(text="Noted."))
    with Conversation.open("memory:", "c", budget=10_000) as conv:
        for _ in range(30):
            conv.user(WISH * 20)
            while True:
                request = conv.request()
                try:
                    reply: Any = server.complete(dict(request))
                except ProviderError as error:
                    assert conv.failed(error).retry
                    continue
                break
            conv.observe(reply["choices"][0]["message"])
        assert refusals(conv) == 2
        assert conv.window_usage.budget > 2_500


TOO_LARGE = "<html><head><title>413 Request Entity Too Large</title></head><center>nginx</center></html>"


class Gateway:
    """A gateway that refuses bodies of more than `most` bytes, before a model that takes any request."""

    def __init__(self, most: int, body: str = TOO_LARGE, status: int = 413) -> None:
        self.most, self.fault = most, Fault(kind="bad_request", status=status, body=body)
        self.provider = Scripted(then=self._answer)

    def _answer(self, body: Any) -> str | Fault:
        return self.fault if len(json.dumps(body)) > self.most else "Noted."

    def client(self) -> Any:
        sdk = openai.OpenAI(api_key="none", http_client=self.provider.http_client(), max_retries=0)
        return transom.wrap(sdk, store="memory:", budget=10_000)

    @property
    def last_bytes(self) -> int:
        return len(json.dumps(self.provider.requests[-1]))


def picture(size: int) -> dict[str, Any]:
    url = {"url": "data:image/png;base64," + "A" * size}
    return {"role": "user", "content": [{"type": "text", "text": "See."}, {"type": "image_url", "image_url": url}]}


def history(turns: int) -> list[dict[str, Any]]:
    return [
        message
        for turn in range(turns)
        for message in ({"role": "user", "content": f"{turn} " + WISH * 20}, {"role": "assistant", "content": "Noted."})
    ]


def test_a_body_that_is_too_large_for_a_gateway_teaches_no_limit_to_a_wrapped_client() -> None:
    gateway = Gateway(1_000_000)
    client = gateway.client()
    reply = client.chat.completions.create(model="m", messages=[picture(2_000_000)])
    assert (reply.choices[0].message.content, len(gateway.provider.requests)) == ("Noted.", 2)
    other = [*history(30), {"role": "user", "content": "Hello"}]
    assert client.chat.completions.create(model="m", messages=other).choices[0].message.content == "Noted."
    assert gateway.last_bytes > 0.9 * len(json.dumps(other))


BYTES = {
    "nginx": (413, TOO_LARGE),
    "empty": (413, ""),
    "express": (413, '{"message": "request entity too large", "expected": 90210, "limit": 51200}'),
    "Anthropic": (
        413,
        '{"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}',
    ),
    "Vertex": (400, "400 Request payload size exceeds the limit: 51200 bytes."),
}


@pytest.mark.parametrize("server", BYTES)
def test_nor_to_a_run_or_a_loop_of_ones_own(server: str) -> None:
    status, body = BYTES[server]
    gateway = Gateway(30_000, body, status)
    with Conversation.open("memory:", "c", budget=10_000) as conv:
        conv.extend(history(45))
        assert conv.run("Hello", provider=gateway.provider, retry=AT_ONCE).failures == 1
        assert gateway.last_bytes < 30_000
        assert conv.view.learned_limits == {}
        assert conv.window_usage.budget > 7_000
        conv.extend(history(15))
        conv.user("And now?")
        conv.request()
        decision = conv.failed(status, body=body)
        assert (decision.kind, decision.retry, decision.smaller) == ("overflow", True, True)
        assert conv.window().tokens <= conv.window_usage.budget < 7_000
        conv.request()
        conv.observe({"role": "assistant", "content": "Noted."})
        assert conv.view.learned_limits == {}
        assert conv.window_usage.budget > 7_000


def test_a_gateway_that_refuses_everything_is_named_and_the_budget_stays() -> None:
    gateway = Gateway(0)
    with Conversation.open("memory:", "c", budget=10_000) as conv:
        conv.extend(history(30))
        with pytest.raises(ProviderError, match=r"it is about the bytes of the request: .*a gateway") as raised:
            conv.run("Hello", provider=gateway.provider, retry=AT_ONCE)
        assert (raised.value.kind, len(gateway.provider.requests)) == ("overflow", 3)
        assert conv.view.learned_limits == {}
        assert conv.window_usage.budget > 7_000
        gateway.most = 100_000
        assert conv.run("And now?", provider=gateway.provider).failures == 0


def test_attempts_that_all_failed_by_their_bytes_are_gone_on_with_and_can_be_undone() -> None:
    gateway = Gateway(3_000)
    with Conversation.open("memory:", "c", budget=10_000) as conv:
        conv.extend(history(40))
        with pytest.raises(ProviderError, match="next request begins with less: `undo` brings it back"):
            conv.run("Hello", provider=gateway.provider, retry=AT_ONCE)
        left = gateway.last_bytes
        assert conv.run("Hello?", provider=gateway.provider, retry=AT_ONCE).failures > 0
        assert len(json.dumps(gateway.provider.requests[3])) < 1.1 * left, "no attempt begins anew"
        gateway.most = 100_000
        with suppress(InvalidEdit):  # until there is no live edit
            for _ in range(99):
                conv.undo()
        conv.run("And now?", provider=gateway.provider)
        assert gateway.last_bytes > 2 * left


def test_an_exception_of_a_framework_that_names_the_context_still_teaches_a_limit() -> None:
    class ContextWindowOverflowException(Exception):
        pass

    error = error_of(ContextWindowOverflowException("The request was refused"))
    found = classify(error.status, error.body)
    assert found is not None
    assert found.measured_in == "tokens"


NAMED_FILES = {
    "openai": {"type": "file", "file": {"file_id": "file-1"}},
    "responses": {"type": "input_file", "file_url": "https://e.org/manual.pdf"},
    "anthropic": {"type": "document", "source": {"type": "file", "file_id": "file-1"}},
    "gemini": {"fileData": {"mimeType": "application/pdf", "fileUri": "https://e.org/manual.pdf"}},
}
IS_NAMED_FILE = ("file-1", "manual.pdf")


class ServerOfFiles(Server):
    """A model that takes `most` tokens, and for which a named file has `file` tokens."""

    def __init__(self, words: str, *, file: int, most: int, dialect: str = "openai") -> None:
        super().__init__(words, dialect=dialect)
        self.file, self.most = file, most

    def size(self, body: Any) -> int:
        return super().size(body) + self.file * any(name in json.dumps(body) for name in IS_NAMED_FILE)

    def _answer(self, body: Any) -> str | Fault:
        size = self.size(body)
        return refusal(self.words, size, self.most) if size > self.most else "Noted."


def question(dialect: str) -> list[dict[str, Any]]:
    text = "What is in this file?"
    return [
        NAMED_FILES[dialect],
        {"gemini": {"text": text}, "responses": {"type": "input_text", "text": text}}.get(
            dialect, {"type": "text", "text": text}
        ),
    ]


def failures_of(conv: Any) -> list[Failure]:
    return [entry.body for entry in conv.log if isinstance(entry.body, Failure)]


@pytest.mark.parametrize("dialect", NAMED_FILES)
def test_a_file_by_id_or_url_that_alone_is_too_long_is_left_out_and_teaches_nothing(
    dialect: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = ServerOfFiles("both numbers", file=208_000, most=200_000, dialect=dialect)
    with Conversation.open("memory:", "c", budget=100_000, dialect=dialect) as conv:
        for _ in range(20):
            conv.run(WISH * 20, provider=server.provider)
        before = conv.window_usage.budget
        assert conv.run(question(dialect), provider=server.provider, retry=AT_ONCE).failures == 1
        with_file, without = server.last_sizes[-2:]
        assert with_file - without == pytest.approx(208_000, abs=100), "the text stays"
        assert (conv.view.learned_limits, conv.window_usage.budget) == ({}, before)
        assert [(each.limit, each.used) for each in failures_of(conv)] == [(0, 0)]
        assert conv.view.token_calibration.of_refusal == 0
        assert conv.run("And now?", provider=server.provider).failures == 0
    assert "file left out" in caplog.text
    assert "requests have at most" not in caplog.text


@pytest.mark.parametrize("words", WORDS)
def test_nor_does_one_beside_which_less_text_has_room(words: str) -> None:
    server = ServerOfFiles(words, file=9_000, most=12_000)
    with Conversation.open("memory:", "c", budget=20_000) as conv:
        conv.extend(history(40))
        before = conv.window_usage.budget
        assert conv.run(question("openai"), provider=server.provider, retry=AT_ONCE).failures >= 1
        if words == "both numbers":
            assert server.last_sizes[-1] > 0.75 * 12_000, "with the file, and with as much text as has room"
        assert (conv.view.learned_limits, conv.window_usage.budget) == ({}, before)
        assert {(each.limit, each.used) for each in failures_of(conv)} == {(0, 0)}


def test_a_file_that_the_model_has_accepted_stays_if_a_new_one_is_too_long() -> None:
    def answer(body: Any) -> str | Fault:
        size = Server("both numbers").size(body) + 208_000 * ("file-2" in json.dumps(body))
        return refusal("both numbers", size, 200_000) if size > 200_000 else "Noted."

    provider = Scripted(then=answer)
    with Conversation.open("memory:", "c", budget=100_000) as conv:
        conv.run(question("openai"), provider=provider)
        conv.run([{"type": "file", "file": {"file_id": "file-2"}}], provider=provider, retry=AT_ONCE)
    assert "file-1" in json.dumps(provider.requests[-1])
    assert "file-2" not in json.dumps(provider.requests[-1])


def test_a_loop_of_ones_own_is_told_that_a_file_is_left_out() -> None:
    with Conversation.open("memory:", "c", budget=100_000) as conv:
        conv.extend(history(20))
        conv.user(question("openai"))
        conv.request()
        decision = conv.failed(400, body=refusal("both numbers", 208_000, 200_000).body)
        assert (decision.kind, decision.retry, decision.smaller) == ("overflow", True, True)
        assert "file that only a URL or an id names" in decision.why
        assert "file-1" not in json.dumps(dict(conv.request()))
        assert conv.view.learned_limits == {}
