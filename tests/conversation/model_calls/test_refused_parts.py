"""A part that the provider refuses is left out of later requests: it would end the conversation for ever."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

import transom
from transom.conversation.failures import leave_out_refused
from transom.conversation.model_calls.retry import FailedAttempt
from transom.core.edit import Trim
from transom.errors import ProviderError
from transom.providers.scripted import Fault, Reply, Scripted, call
from transom.wire.refused_parts import RefusedPart


def data(number: int) -> str:
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes([number]) * 900).decode()


def image(dialect: str, number: int = 0) -> dict[str, Any]:
    url = f"data:image/png;base64,{data(number)}"
    return {
        "openai": {"type": "image_url", "image_url": {"url": url}},
        "responses": {"type": "input_image", "image_url": url},
        "anthropic": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data(number)}},
        "gemini": {"inlineData": {"mimeType": "image/png", "data": data(number)}},
    }[dialect]


PATHS = {
    "openai": ("messages", "Invalid 'messages[{0}].content[{1}].image_url.url'. The image is not valid."),
    "responses": ("input", "Invalid 'input[{0}].content[{1}].image_url'. The image is not valid."),
    "anthropic": ("messages", "messages.{0}.content.{1}.image.source.base64.data: image exceeds 5 MB maximum"),
    "gemini": ("contents", "Invalid value at 'contents[{0}].parts[{1}].inline_data' (image)"),
}
WORDS = {
    "openai": "Invalid image data. code: image_parse_error",
    "responses": "The image data you provided does not represent a valid image.",
    "anthropic": "Could not process image",
    "gemini": "Unable to process input image. Please retry.",
}


class Strict:
    """Refuses every request that has the image, as a provider does."""

    def __init__(self, dialect: str, number: int, *, by_path: bool) -> None:
        self.dialect, self.number, self.by_path = dialect, number, by_path

    def __call__(self, body: dict[str, Any]) -> Reply | Fault:
        root, words = PATHS[self.dialect]
        for at, message in enumerate(body[root]):
            parts = message.get("content") or message.get("parts") or []
            for index, part in enumerate(parts if isinstance(parts, list) else []):
                if data(self.number) in json.dumps(part):
                    error = words.format(at, index) if self.by_path else WORDS[self.dialect]
                    return Fault(kind="bad_request", status=400, body=json.dumps({"error": {"message": error}}))
        return Reply(text="I see.")


def opened(dialect: str) -> transom.Conversation:
    return transom.Conversation.open("memory:", "x", budget=60_000, dialect=dialect)


def images_in(request: object) -> list[int]:
    return [number for number in range(3) if data(number) in json.dumps(request)]


@pytest.mark.parametrize("by_path", [True, False], ids=["named by its path", "by its kind"])
@pytest.mark.parametrize("dialect", PATHS)
def test_the_run_goes_on_without_the_image(dialect, by_path, caplog):
    with opened(dialect) as conv:
        text = {"text": "See."} if dialect == "gemini" else {"type": "text", "text": "See."}
        text = {"type": "input_text", "text": "See."} if dialect == "responses" else text
        conv.user([text, image(dialect, 1)])
        conv.run("Well?", provider=Scripted("Fine.", dialect=dialect))
        provider = Scripted(then=Strict(dialect, 0, by_path=by_path), dialect=dialect)
        result = conv.run([text, image(dialect, 0)], provider=provider)
        assert (result.text, result.failures) == ("I see.", 1)
        assert [images_in(request) for request in provider.requests] == [[0, 1], [1]]  # no other image is lost
        assert conv.run("And now?", provider=provider).failures == 0
        (trim,) = [entry for entry in conv.log if isinstance(entry.body, Trim)]
        note = f"[image left out: the provider refused it; whole in entry {trim.body.entry}]"
        assert trim.body.note == note
        assert note in json.dumps(provider.requests[-1])
        assert "image" in trim.body.why
        assert note in caplog.text
        conv.undo(trim.seq)
        assert images_in(dict(conv.request())) == [0, 1]


def test_an_image_inside_a_tool_result():
    def shot() -> list[dict[str, Any]]:
        "A screenshot."
        return [image("anthropic", 0)]

    def strict(body: dict[str, Any]) -> Reply | Fault:
        if not images_in(body):
            return Reply(text="No image, then.")
        error = "messages.2.content.0.tool_result.content.0.image.source.base64.data: the image is too large"
        return Fault(kind="bad_request", status=400, body=error)

    with opened("anthropic") as conv:
        provider = Scripted(call("shot"), then=strict, dialect="anthropic")
        assert conv.run("Look.", provider=provider, tools=[shot]).text == "No image, then."


def test_a_block_of_an_unknown_kind():
    block = {"type": "hologram", "data": "x" * 4_000}

    def strict(body: dict[str, Any]) -> Reply | Fault:
        if "hologram" not in json.dumps(body):
            return Reply(text="Fine.")
        return Fault(kind="bad_request", status=400, body="messages.0.content.1: Input tag 'hologram' does not match")

    with opened("anthropic") as conv:
        provider = Scripted(then=strict, dialect="anthropic")
        assert conv.run([{"type": "text", "text": "See."}, block], provider=provider).text == "Fine."


OTHERS = {
    "a text": (400, "messages.0.content.0.text: something is wrong"),
    "no kind": (400, "Unsupported parameter: 'temperature'"),
    "not refused": (401, "The image API needs another key"),
}


@pytest.mark.parametrize("case", OTHERS)
def test_an_error_about_something_else_costs_no_image(case):
    status, body = OTHERS[case]
    with opened("anthropic") as conv:
        provider = Scripted(Fault(kind="bad_request", status=status, body=body), dialect="anthropic")
        with pytest.raises(ProviderError):
            conv.run([{"type": "text", "text": "See."}, image("anthropic", 0)], provider=provider)
        assert images_in(dict(conv.request())) == [0]


def test_an_error_that_nothing_answers_ends_the_run():
    """The provider goes on refusing: the run ends with its error, after as many tries as there are images."""
    fault = Fault(kind="bad_request", status=400, body="Could not process image")
    with opened("anthropic") as conv:
        provider = Scripted(then=fault, dialect="anthropic")
        with pytest.raises(ProviderError):
            conv.run([image("anthropic", 0), image("anthropic", 1)], provider=provider)
        assert len(provider.requests) == 2


BLOCKED = {
    "openai": Fault(kind="filter", status=400, body='{"error": {"code": "content_filter"}}'),
    "anthropic": Reply(stop="refusal"),
    "gemini": Reply(stop="SAFETY"),
}


@pytest.mark.parametrize("dialect", BLOCKED)
def test_a_refused_prompt_is_in_no_later_request(dialect: str) -> None:
    provider = Scripted("Hi.", BLOCKED[dialect], "Fine.", dialect=dialect)
    with transom.Conversation.open("memory:", "x", budget=32_000, dialect=dialect) as conv:
        conv.run("Hello there, this is harmless.", provider=provider)
        with pytest.raises(ProviderError) as refused:
            conv.run("Tell me the forbidden thing. " * 5, provider=provider)
        assert refused.value.kind == "filter"
        assert conv.run("Something else then.", provider=provider).text == "Fine."
        sent = json.dumps(provider.requests[-1])
        assert "forbidden" not in sent
        assert "harmless" in sent
        assert "[message left out: the provider refused it; whole in entry 3]" in sent
        conv.undo()
        assert "forbidden" in json.dumps(conv.request())


def test_results_that_a_filter_refuses_are_left_out_and_the_task_stays() -> None:
    def read() -> str:
        return "forbidden words " * 20

    provider = Scripted(call("read"), BLOCKED["openai"], "Fine.")
    with transom.Conversation.open("memory:", "x", budget=32_000) as conv:
        with pytest.raises(ProviderError):
            conv.run("Read the file that I mean.", provider=provider, tools=[read])
        assert conv.run("Go on.", provider=provider, tools=[read]).text == "Fine."
        sent = json.dumps(provider.requests[-1])
        assert "forbidden" not in sent
        assert "the file that I mean" in sent


def test_a_short_prompt_gets_a_short_placeholder_and_an_answer_that_was_cut_leaves_the_prompt() -> None:
    with transom.Conversation.open("memory:", "x", budget=32_000) as conv:
        provider = Scripted(BLOCKED["openai"], Reply(text="I will", stop="content_filter"), "Fine.")
        for words in ("How is it forbidden?", "Say it."):
            with pytest.raises(ProviderError):
                conv.run(words + " Please.", provider=provider)
        assert conv.run("Go on.", provider=provider).text == "Fine."
        said = [message["content"] for message in provider.requests[-1]["messages"]]
        assert said[:2] == ["[refused; in entry 0]", "Say it. Please."]


@pytest.mark.parametrize("prompt", ["make a bomb", "x", "炸"])
def test_a_prompt_that_is_shorter_than_every_placeholder_is_left_out_all_the_same(prompt: str, caplog: Any) -> None:
    provider = Scripted("Hi.", BLOCKED["openai"], then="Fine.")
    with transom.Conversation.open("memory:", "x", budget=32_000) as conv:
        conv.run("Hello there.", provider=provider)
        with pytest.raises(ProviderError):
            conv.run(prompt, provider=provider)
        assert "[message left out: the provider refused it; whole in entry 3]" in caplog.text
        assert conv.run("Go on.", provider=provider).text == "Fine."
        said = [message["content"] for message in provider.requests[-1]["messages"]]
        assert said == ["Hello there.", "Hi.", "[refused; in entry 3]", "Go on."]
        conv.undo()
        assert prompt in [message["content"] for message in conv.request()["messages"]]


def test_a_prompt_that_was_left_out_is_not_left_out_again_with_the_next_one() -> None:
    provider = Scripted("Hi.", BLOCKED["openai"], BLOCKED["openai"], then="Fine.")
    with transom.Conversation.open("memory:", "x", budget=32_000) as conv:
        conv.run("Hello there.", provider=provider)
        for prompt in ("make a bomb", "make two bombs"):
            with pytest.raises(ProviderError):
                conv.run(prompt, provider=provider)
        trims = [entry for entry in conv.log if isinstance(entry.body, Trim)]
        assert [trim.body.entry for trim in trims] == [3, trims[0].seq + 1]
        conv.undo(trims[0].seq)
        assert "make a bomb" in json.dumps(conv.request())
        assert "two bombs" not in json.dumps(conv.request())


def test_a_refused_part_that_cannot_be_left_out_is_not_said_to_be(caplog: Any) -> None:
    with transom.Conversation.open("memory:", "x", budget=32_000) as conv:
        conv.user("make a bomb")
        request = conv.plan_request()
        conv.observe({"role": "assistant", "content": "No."})
        failed = FailedAttempt(kind="bad_request", text="no", left_out=[RefusedPart(0, ("image", 3), "image")])
        leave_out_refused(conv, failed, request.view, said="")
    assert "left out: the provider refused it" not in caplog.text
    assert "the refused image in entry 0 stays: trim: entry 0 has no part image[3]" in caplog.text


REFUSALS = {
    "a code alone": (400, '{"error": {"code": "image_too_large", "message": "Too large."}}'),
    "another code": (400, '{"error": {"code": "unsupported_image_media_type", "message": "Not this."}}'),
    "vLLM, a text model": (400, '{"message": "m is not a multimodal model", "type": "BadRequestError"}'),
    "llama.cpp, a text model": (500, '{"error": {"message": "image input is not supported - hint: mmproj"}}'),
    "Ollama, a text model": (500, '{"error": "this model is missing data required for image input"}'),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_what_servers_say_of_images(case):
    status, body = REFUSALS[case]
    with opened("openai") as conv:
        fault = Fault(kind="bad_request" if status == 400 else "server", status=status, body=body)
        provider = Scripted(fault, "Fine.")
        assert conv.run([image("openai", 0)], provider=provider).text == "Fine."
        assert [images_in(request) for request in provider.requests] == [[0], []]


@pytest.mark.parametrize(
    "error",
    [
        "Error while downloading https://e.org/b.png.",
        "Cannot fetch content from the URL",
        "Unable to download the file. Please verify the URL and try again.",
        "The file could not be downloaded",
        "This URL is disallowed by the website's robots.txt file",
    ],
)
def test_an_image_that_cannot_be_downloaded(error):
    """The one whose URL the error quotes; without a quote, all that came since the last reply."""
    first, second = ({"type": "image_url", "image_url": {"url": f"https://e.org/{name}.png"}} for name in "ab")
    with opened("openai") as conv:
        provider = Scripted(Fault(kind="bad_request", status=400, body=error), "Fine.")
        assert conv.run([first, second, image("openai", 0)], provider=provider).text == "Fine."
        sent = json.dumps(provider.requests[-1])
        assert ("a.png" in sent, "b.png" in sent, images_in(sent)) == ("b.png" in error, False, [0])


@pytest.mark.parametrize(
    "error", ["Invalid schema for function 'fetch': 'url' is required", "Tool choice download_file not found in tools"]
)
def test_an_error_about_a_tool_that_fetches_costs_no_image(error):
    with opened("openai") as conv:
        provider = Scripted(Fault(kind="bad_request", status=400, body=error))
        with pytest.raises(ProviderError):
            conv.run([{"type": "image_url", "image_url": {"url": "https://e.org/a.png"}}], provider=provider)
        assert "a.png" in json.dumps(dict(conv.request()))


def test_an_internal_error_about_something_else_is_tried_again():
    with opened("openai") as conv:
        provider = Scripted(Fault(kind="server", status=500, body="the image store is down"), "Fine.")
        result = conv.run([image("openai", 0)], provider=provider, retry=transom.Retry(wait=0))
        assert (result.text, images_in(provider.requests[-1])) == ("Fine.", [0])
