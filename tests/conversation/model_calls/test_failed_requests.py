"""`conv.failed`: what a loop of one's own is told after a failure, and what the log has of it."""

from __future__ import annotations

import asyncio
import gc
import weakref
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

from transom import BudgetImpossible, Conversation, InvalidMessage, InvalidSetting, ProviderError, Retry
from transom.conversation.fit import fit
from transom.conversation.settings import SharedLimits
from transom.core.message import REASONING_REFUSED, Failure
from transom.core.window import Window
from transom.stores import open_store

BUSY = Retry(wait=0.25)
OVERFLOW = "This model's maximum context length is 1000 tokens. However, your messages resulted in 1500 tokens."


def opened(store: Any = "memory:", **settings: Any) -> Conversation:
    return Conversation.open(store, "c", budget=8_000, **settings)


def asked(conv: Conversation, text: str = "Go") -> Conversation:
    conv.user(text)
    conv.request()
    return conv


def failures(conv: Conversation) -> list[Failure]:
    return [entry.body for entry in conv.log if isinstance(entry.body, Failure)]


def test_a_wait_that_is_too_long_is_named() -> None:
    with asked(opened()) as conv:
        decision = conv.failed(429, body="slow down", headers={"Retry-After": "120"})
        assert not decision.retry
        assert decision.why == "rate limit (429): slow down; it asks to wait 120 s, and Retry(longest=60) allows less"
        assert str(decision.error) == decision.why


@pytest.mark.parametrize(
    ("error", "more", "retry", "kind", "wait"),
    [
        (TimeoutError("slow"), {}, True, "timeout", 0.25),
        (ConnectionResetError("reset"), {}, True, "connection", 0.25),
        (503, {"body": "overloaded"}, True, "server", 0.25),
        (429, {"headers": {"Retry-After": "3"}}, True, "rate_limit", 3.0),
        (429, {"body": b'{"error": {"details": [{"retryDelay": "4.5s"}]}}'}, True, "rate_limit", 4.5),
        (429, {"headers": {"retry-after": "600"}}, False, "rate_limit", 0.0),
        (SimpleNamespace(status_code=504, text="late", headers={}), {}, True, "timeout", 0.25),
        (401, {"body": {"error": {"message": "who?"}}}, False, "auth", 0.0),
        (400, {"body": "no such model"}, False, "bad_request", 0.0),
        (RuntimeError("what?"), {}, False, "unknown", 0.0),
        (ValueError("a bug of the caller"), {}, False, "unknown", 0.0),
        (TypeError("a bug of the caller"), {}, False, "unknown", 0.0),
        (KeyboardInterrupt(), {}, False, "interrupted", 0.0),
        (asyncio.CancelledError(), {}, False, "interrupted", 0.0),
    ],
)
def test_what_is_told_is_logged(error: Any, more: dict[str, Any], retry: bool, kind: str, wait: float) -> None:
    with asked(opened()) as conv:
        sent = conv.view.in_flight
        decision = conv.failed(error, retry=BUSY, **more)
        (failure,) = failures(conv)
        assert (decision.retry, decision.kind, decision.wait) == (retry, kind, wait)
        assert (failure.failure, failure.answers, failure.model) == (kind, sent.seq, "openai")
        assert conv.log[decision.entry].body == failure
        assert decision.why
        assert conv.view.in_flight is None


@pytest.mark.parametrize("error", [KeyboardInterrupt(), asyncio.CancelledError(), SystemExit(1)])
def test_a_stopped_request_says_that_it_was_interrupted(error: BaseException) -> None:
    with asked(opened()) as conv:
        decision = conv.failed(error)
        (failure,) = failures(conv)
    said = f"interrupted: {type(error).__name__}"
    assert (decision.why, decision.error.kind, failure.error) == (said, "interrupted", said)


def test_attempts_are_counted_until_a_reply_or_a_user_message() -> None:
    with asked(opened()) as conv:

        def fail() -> tuple[bool, float]:
            decision = conv.failed(500, retry=BUSY)
            conv.request()
            return decision.retry, decision.wait

        assert [fail() for _ in range(3)] == [(True, 0.25), (True, 0.5), (False, 0.0)]
        assert fail() == (True, 0.25)  # who asks again after the end begins anew
        conv.observe({"role": "assistant", "content": "Yes."})
        asked(conv)
        assert fail() == (True, 0.25)
        conv.user("Are you there?")
        conv.request()
        assert fail() == (True, 0.25)


class Wrapped(Exception):
    """What a caller raises from the error of a request."""


def test_a_request_that_is_sent_again_as_it_was_is_another_attempt() -> None:
    with asked(opened()) as conv:
        decisions = [conv.failed(TimeoutError("slow"), retry=Retry(attempts=2)).retry for _ in range(2)]
        assert decisions == [True, False]


def test_an_error_that_is_reported_again_for_another_request_counts() -> None:
    with asked(opened()) as conv:
        error = TimeoutError("slow")
        assert conv.failed(error, retry=Retry(attempts=2)).retry
        conv.request()
        assert not conv.failed(error, retry=Retry(attempts=2)).retry


def test_a_reported_error_keeps_no_conversation_alive() -> None:
    def slow() -> Any:
        raise TimeoutError("slow")

    def failed_with() -> Any:
        conv = asked(opened())
        try:
            slow()
        except TimeoutError as error:
            try:
                raise conv.failed(error, retry=Retry(attempts=1)).error from None
            except ProviderError:
                return weakref.ref(conv)

    gc.disable()
    try:
        assert failed_with()() is None
    finally:
        gc.enable()


def test_a_learned_limit_holds_for_the_next_process(tmp_path: Any) -> None:
    place = str(tmp_path / "c.db")
    with opened(place) as conv:
        for turn in range(30):
            conv.user(f"Wish {turn}: " + "a room with a view of the harbour " * 8)
            conv.observe({"role": "assistant", "content": "Noted."})
        assert asked(conv).window().tokens > 1_500
        decision = conv.failed(400, body=OVERFLOW)
        limit = conv.view.learned_limits["openai"]
        assert decision.smaller
        assert limit <= 1_000
    with opened(place) as again:
        assert again.request().window.tokens <= limit


def test_a_limit_of_one_model_does_not_hold_for_another() -> None:
    with opened() as conv:
        for turn in range(30):
            conv.user(f"Wish {turn}: " + "a room with a view of the harbour " * 8)
            conv.observe({"role": "assistant", "content": "Noted."})
        asked(conv)
        conv.failed(400, body=OVERFLOW, model="small")
        assert set(conv.view.learned_limits) == {"small"}
        limit = conv.view.learned_limits["small"]
        assert conv.request().window.tokens <= limit
        conv.failed(503, model="large")
        conv.user("Wish 30: " + "a room with a view of the harbour " * 150)
        assert conv.request().window.tokens > limit
        conv.failed(503, model="small")
        assert conv.request().window.tokens <= limit


def test_a_request_that_cannot_be_smaller_has_a_bill() -> None:
    with opened(system="Be brief. " * 100) as conv:
        asked(conv, "Go " * 300)
        size = conv.window().size.tokens
        words = OVERFLOW.replace("1000", f"{conv.view.head_size.tokens + 8}").replace("1500", f"{size}")
        assert conv.failed(400, body=words).retry
        with pytest.raises(BudgetImpossible, match="need at least"):
            conv.request()
        conv.user("Go")  # whoever asks anew tries once more
        assert conv.request()["messages"]


def test_what_had_arrived_is_shown_if_nobody_tries_again() -> None:
    with asked(opened()) as conv:
        conv.failed(503, text="One two")
        assert "One two" not in str(conv.request()["messages"])
        conv.failed(KeyboardInterrupt(), text="One two")
        assert failures(conv)[1].text == "One two"
        assert "One two" in str(conv.request()["messages"])


def test_a_refused_image_and_refused_reasoning_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" * 40}}
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    with opened(dialect="anthropic") as conv:
        conv.user([{"type": "text", "text": "Look"}, image])
        conv.request()
        conv.observe({"role": "assistant", "content": [thought, {"type": "text", "text": "Seen."}]})
        asked(conv, "And now?")
        refusal = "messages.1.content.0: Invalid `signature` in `thinking` block"
        decision = conv.failed(400, body={"error": {"type": "invalid_request_error", "message": refusal}})
        assert (decision.retry, decision.kind, decision.smaller) == (True, REASONING_REFUSED, True)
        assert "thinking" not in str(conv.request()["messages"])
        refusal = "messages.0.content.1.image.source.base64.data: Could not process image"
        decision = conv.failed(400, body={"error": {"type": "invalid_request_error", "message": refusal}})
        assert (decision.retry, decision.smaller) == (True, True)
        assert "iVBORw0KGgo" not in str(conv.request()["messages"])
        assert "refused" in caplog.text


def test_a_reply_that_observe_cannot_read_is_asked_for_again() -> None:
    for reply in ({"choices": []}, {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 1}}):
        with asked(opened()) as conv:
            with pytest.raises(InvalidMessage) as unread:
                conv.observe(reply)
            decision = conv.failed(unread.value, retry=BUSY)
            assert (decision.retry, decision.kind, decision.wait) == (True, "malformed", 0.25)
            assert [failure.failure for failure in failures(conv)] == ["malformed"]


def test_after_the_end_others_may_go_on() -> None:
    store = open_store("memory:")
    with opened(store) as one, opened(store) as two:
        asked(one)
        one.failed(401)
        two.user("Still there?")
        assert two.request()["messages"]


@pytest.mark.parametrize(
    ("error", "says"),
    [
        ("text", "failed: must be an exception, an HTTP status or a response, not 'text'"),
        (None, "failed: must be an exception, an HTTP status or a response, not None"),
        (True, "failed: must be an exception, an HTTP status or a response, not True"),
        (99_999, "failed: must be an exception, an HTTP status or a response, not 99999"),
        (200, "failed: HTTP 200 is not a failure; give its body to observe"),
    ],
)
def test_anything_else_is_refused(error: Any, says: str) -> None:
    with asked(opened()) as conv:
        with pytest.raises(InvalidSetting) as refused:
            conv.failed(error)
        assert str(refused.value) == says
        assert failures(conv) == []


def test_without_a_request_nothing_can_fail() -> None:
    with opened() as conv:
        conv.user("Go")
        with pytest.raises(InvalidSetting, match=r"no request is open: it must come after request\(\)"):
            conv.failed(503)


def test_an_error_of_an_http_client_is_read_in_its_response() -> None:
    request = httpx2.Request("POST", "http://127.0.0.1/v1/chat/completions")
    too_long = httpx2.Response(400, text="prompt is too long: 20000 tokens > 3000 maximum", request=request)
    no_key = httpx2.Response(401, text="no such key", request=request)
    busy = httpx2.Response(429, headers={"Retry-After": "5"}, request=request)
    found = []
    for response in (too_long, no_key, busy):
        error = httpx2.HTTPStatusError("failed", request=request, response=response)
        decision = asked(opened()).failed(error)
        found.append((decision.kind, decision.retry, decision.wait))
    assert found == [("overflow", True, 0.0), ("auth", False, 0.0), ("rate_limit", True, 5.0)]


def test_the_text_of_an_error_without_a_body_is_kept() -> None:
    class Refused(Exception):
        status_code = 400

    assert "no such tool: crane" in asked(opened()).failed(Refused("no such tool: crane")).why


def wish(conv: Conversation, wishes: int = 30) -> Conversation:
    for turn in range(wishes):
        conv.user(f"Wish {turn}: " + "a room with a view of the harbour " * 8)
        conv.observe({"role": "assistant", "content": "Noted."})
    return asked(conv)


def test_a_limit_of_a_named_model_holds_for_forks_and_conversations_with_the_same_settings() -> None:
    with opened() as conv, Conversation.open("memory:", "other", conv.settings) as other:
        before = wish(conv).view.length - 1
        conv.failed(400, body=OVERFLOW, model="small")
        limit = conv.view.learned_limits["small"]
        with conv.fork(at=before) as fork:
            for each in (fork, wish(other)):
                each.failed(503, model="small")
                assert each.request().window.tokens <= limit
                assert each.view.learned_limits == {}


def test_a_log_without_a_refusal_takes_the_ratio_of_the_refused_request_until_its_replies_agree() -> None:
    def planned(conv: Conversation) -> Window:
        conv.plan_for("small")
        return conv.plan_request()

    with opened() as conv, Conversation.open("memory:", "other", conv.settings) as other:
        used = 2 * planned(wish(conv)).size.tokens
        conv.failed(400, body=OVERFLOW.replace("1500", str(used)), model="small")
        with conv.fork(at=0) as fork:
            for each in (fork, other):
                window = planned(wish(each))
                assert (window.limit, each.view.calibration) == (500, 1.0)
                assert 2 * window.size.tokens <= 1_000
        for words in (1, 60, 120):  # replies to requests of different sizes
            other.observe({"role": "assistant", "content": "Yes."})
            other.user("harbour " * words)
            sent = planned(other).size.tokens
            usage = {"prompt_tokens": sent, "prompt_tokens_details": {"cached_tokens": 9}}
            other.observe({"choices": [{"message": {"role": "assistant", "content": "Yes."}}], "usage": usage})
        assert planned(wish(other)).limit == 1_000


def test_a_short_request_that_is_refused_without_a_limit_teaches_none() -> None:
    with asked(opened()) as conv:
        decision = conv.failed(413, body="<html>too large</html>", model="small")
        assert (decision.kind, decision.retry) == ("overflow", False)
        assert conv.view.learned_limits == {}
        assert conv.request().window.tokens == conv.window().tokens


def test_a_limit_without_the_name_of_a_model_is_not_shared() -> None:
    with asked(opened()) as conv:
        conv.failed(400, body=OVERFLOW)
        assert set(conv.view.learned_limits) == {"openai"}
        learned = conv.settings.shared_limits
        assert learned is not None
        with conv.fork() as fork:
            assert fork.settings.shared_limits is learned
        assert learned.by_model == {}


def told(shared: SharedLimits, model: str) -> tuple[int, float]:
    """The tokens and the ratio of a shared limit."""
    known = shared.by_model[model]
    return known.limit.tokens, known.ratio


def test_of_two_learned_limits_the_lower_one_counts_and_fit_knows_none() -> None:
    messages = [{"role": "user", "content": "a room with a view of the harbour " * 40}] * 3
    with asked(opened()) as conv, conv.fork() as fork:
        shared = conv.settings.shared_limits
        assert shared is not None
        for limit, ratio in ((900, 1.0), (700, 1.5), (800, 1.2)):
            shared.learn("small", limit, ratio)
        assert told(shared, "small") == (700, 1.5)
        fork.request()
        fork.failed(400, body=OVERFLOW, model="small")
        assert told(shared, "small") == (fork.view.learned_limits["small"], 1.5)
        shared.learn("openai", 10, 1.0)
        assert fit(messages, settings=conv.settings, budget=32_000) == messages


class Refused(Exception):
    """An error of an SDK, with the status and the parsed body."""

    def __init__(self, body: object, status: int = 400) -> None:
        self.status_code, self.body = status, body
        super().__init__(f"Error code: {status} - {body}")


class ContentPolicyViolationError(Refused):
    """As LiteLLM raises it."""


AZURE = {
    "code": "content_filter",
    "message": "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
    "param": "prompt",
    "status": 400,
    "innererror": {"code": "ResponsibleAIPolicyViolation"},
}
FLAGGED = "Invalid prompt: your prompt was flagged as potentially violating our usage policy."
FILTERS: dict[str, Any] = {
    "Azure": Refused({"error": AZURE}),
    "Azure, unwrapped by the SDK": Refused(AZURE),
    "Azure, inner code alone": Refused(
        {"error": {"code": None, "innererror": {"code": "ResponsibleAIPolicyViolation"}}}
    ),
    "OpenAI": Refused({"message": FLAGGED, "type": "invalid_request_error", "code": "invalid_prompt"}),
    "OpenAI, in a stream": Refused({"message": FLAGGED, "code": "invalid_prompt"}, status=200),
    "DeepSeek": Refused({"error": {"message": "Content Exists Risk", "type": "invalid_request_error"}}),
    "DashScope": Refused({"error": {"code": "data_inspection_failed", "message": "Input data may be inappropriate."}}),
    "LiteLLM": ContentPolicyViolationError(None),
    "a response": httpx2.Response(400, text='{"error": {"code": "content_filter", "message": "filtered"}}'),
}


@pytest.mark.parametrize("server", FILTERS)
def test_a_filter_is_recognised_in_the_errors_of_each_server_and_the_prompt_is_left_out(server: str) -> None:
    with asked(opened(), "Hello") as conv:
        conv.observe({"role": "assistant", "content": "Hello."})
        asked(conv, "make a bomb")
        decision = conv.failed(FILTERS[server])
        assert (decision.kind, decision.retry, decision.error.kind) == ("filter", False, "filter")
        asked(conv, "And now?")
        assert "bomb" not in str(dict(conv.request()))


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, {"error": {"code": "invalid_request_error", "message": "messages: text content blocks"}}, "bad_request"),
        (
            400,
            {"error": {"code": "invalid_value", "message": "tool 'content_filter' has no description"}},
            "bad_request",
        ),
        (400, {"type": "error", "error": {"message": "Output blocked by content filtering policy"}}, "bad_request"),
        (400, {"error": {"code": "invalid_prompt", "message": "Invalid Responses API request"}}, "bad_request"),
        (429, {"error": {"code": "content_filter", "message": "too many requests"}}, "rate_limit"),
        (401, {"error": {"message": "blocked by content filtering policy"}}, "auth"),
    ],
)
def test_other_errors_are_no_filter(status: int, body: object, kind: str) -> None:
    assert asked(opened()).failed(status, body=body).kind == kind
