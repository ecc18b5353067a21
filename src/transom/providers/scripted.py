"""A provider that plays a script: for tests, examples and demonstrations, without a network.

It answers in any dialect, whole or streamed, and fails when the script says so. It checks every request as the real API
would: a request that breaks a rule of the dialect, or is longer than `context`, is refused with status 400.

    provider = Scripted(call("weather", city="Lisbon"), "It is sunny.")
    print(conv.run("How is the weather in Lisbon?", provider=provider, tools=[weather]).text)
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, cast, get_args

from msgspec import Struct
from msgspec.structs import replace

from transom.errors import InvalidSetting, ProviderError, ProviderErrorKind, quote
from transom.providers.base import Provider
from transom.providers.scripted_replies import Json, Reply, ScriptedCall, writer_for
from transom.wire.dialects import dialect_named
from transom.wire.request_fields import http_body

__all__ = ["Fault", "Reply", "Scripted", "ScriptedCall", "ScriptedStep", "call", "calls", "echo"]


class Fault(Struct, frozen=True, kw_only=True):
    """What a scripted provider does instead of a reply: it raises ProviderError.

    `kind`, `status`, `body`, `retry_after` (seconds): of that error. `after`: in a stream, how many chunks of `reply`
    come before the error, but never its last two; 0: none. `reply.delay`: seconds before the error or the first chunk.
    Raises InvalidSetting for an unknown kind.
    """

    kind: ProviderErrorKind = "server"
    status: int | None = None
    body: str = ""
    retry_after: float | None = None
    after: int = 0
    reply: Reply = Reply(text="This answer is never finished, because the connection breaks.")

    def __post_init__(self) -> None:
        known = get_args(ProviderErrorKind)
        if self.kind not in known:
            raise InvalidSetting(f"scripted: the kind of a Fault is one of {', '.join(known)}, not {quote(self.kind)}")

    def error(self) -> ProviderError:
        """Make the error that is raised."""
        return ProviderError(self.kind, status=self.status, body=self.body, retry_after=self.retry_after)


ScriptedStep = Reply | Fault | str
"""What happens to one request. A text is a reply of only that text."""


def call(name: str, /, **arguments: object) -> Reply:
    """Make a reply that calls one tool with these arguments."""
    return calls((name, arguments))


def calls(*wanted: tuple[str, Mapping[str, object]], text: str = "") -> Reply:
    """Make a reply that calls several tools. `wanted`: for each call a pair of the tool's name and the arguments.
    `text`: what the reply says beside them."""
    return Reply(text=text, calls=tuple(ScriptedCall(name, json.dumps(arguments)) for name, arguments in wanted))


class Scripted:
    """A provider that plays steps in order, one for each request; after the last one it repeats `then`.

    - `steps`, `then`: texts, replies, faults, or functions that take a copy of the request and return one of these.
      `then` is the text "OK." if it is not given.
    - `dialect`: the dialect of requests and replies. `model`: the name of the model, for logs and events.
    - `context`: the most tokens of a request together with its `max_tokens`; a longer one is refused. None: any length.
    - `count`: counts the tokens of a request; by default a fourth of the characters of its JSON.
    - `chunk`: the characters in a chunk of a stream.

    A request that breaks a rule of the dialect, or is too long, raises ProviderError and takes no step. `requests`
    collects every request, refused ones too; `violations` every broken rule. Raises InvalidSetting for a step of
    another type, and for a dialect that is not known or has no scripted replies.
    """

    name = "scripted"

    def __init__(
        self,
        *steps: ScriptedStep | Callable[[Json], ScriptedStep],
        then: ScriptedStep | Callable[[Json], ScriptedStep] = "OK.",
        dialect: str = "openai",
        model: str = "scripted",
        context: int | None = None,
        count: Callable[[Json], int] | None = None,
        chunk: int = 8,
    ) -> None:
        for step in (*steps, then):
            if not isinstance(cast("object", step), (str, Reply, Fault)) and not callable(step):
                raise InvalidSetting(f"scripted: a step is a text, a Reply, a Fault or a function, not {quote(step)}")
        self.dialect, self.model = dialect, model
        self.context = context
        self.requests: list[Json] = []
        self.violations: list[str] = []
        self._steps, self._then = iter(steps), then
        self._dialect, self._writer = dialect_named(dialect), writer_for(dialect)
        self._count, self._chunk = count or _quarter_of_json, chunk
        self._calls = 0

    def complete(
        self, request: Mapping[str, Any], *, max_tokens: int | None = None, timeout: float | None = None
    ) -> object:
        """Play the next step as a response: a dict in the format of the API. `max_tokens` counts towards `context`.

        Raises ProviderError for a Fault, for a request that the API would refuse, and if the step's delay exceeds
        `timeout`; that error comes at once. (The step counts as played.)
        """
        step, prompt = self._next(request, max_tokens)
        time.sleep(_delay(step, timeout))
        return self._response(step, prompt)

    def stream(
        self, request: Mapping[str, Any], *, max_tokens: int | None = None, timeout: float | None = None
    ) -> Iterator[object]:
        """Play the next step as chunks. It is taken when the first chunk is asked for. Raises ProviderError as
        `complete` does; for a Fault with `after`, only after that number of chunks (`Fault`)."""
        step, prompt = self._next(request, max_tokens)
        time.sleep(_delay(step, timeout))
        yield from self._chunks(step, prompt)

    async def acomplete(
        self, request: Mapping[str, Any], *, max_tokens: int | None = None, timeout: float | None = None
    ) -> object:
        """Do the same as `complete`, on an event loop."""
        from anyio import sleep  # noqa: PLC0415 - only for those who run on an event loop

        step, prompt = self._next(request, max_tokens)
        await sleep(_delay(step, timeout))
        return self._response(step, prompt)

    async def astream(
        self, request: Mapping[str, Any], *, max_tokens: int | None = None, timeout: float | None = None
    ) -> AsyncIterator[object]:
        """Do the same as `stream`, on an event loop."""
        from anyio import lowlevel, sleep  # noqa: PLC0415 - only for those who run on an event loop

        step, prompt = self._next(request, max_tokens)
        await sleep(_delay(step, timeout))
        for chunk in self._chunks(step, prompt):
            await lowlevel.checkpoint()
            yield chunk

    def http_client(self) -> Any:
        """Make an HTTP client whose requests this provider answers: the SDK around it is the real one.

            client = openai.OpenAI(api_key="none", http_client=Scripted("It is sunny.").http_client())

        A `Fault` in a stream is answered as an error, without the chunks before it.
        """
        return http_client(self, "Client")

    def async_http_client(self) -> Any:
        """Do the same as `http_client`, for an async client of the SDK."""
        return http_client(self, "AsyncClient")

    # ---- how

    def _next(self, request: Mapping[str, Any], max_tokens: int | None) -> tuple[Reply | Fault, int]:
        """Record and check the request; return the next step and the tokens of the request. Raises ProviderError if it
        is refused."""
        body = cast("Json", json.loads(json.dumps(request)))
        self.requests.append(body)
        if broken := self._dialect.violations(http_body(body)):
            self.violations += [f"{each.rule} at {each.index}: {each.why}" for each in broken]
            raise ProviderError("bad_request", status=400, body=f"invalid request: {self.violations[-1]}")
        prompt = self._count(body)
        if self.context is not None and prompt + (max_tokens or 0) > self.context:
            raise ProviderError("bad_request", status=400, body=_too_long(self.context, prompt, max_tokens or 0))
        step = next(self._steps, self._then)
        while not isinstance(step, (Reply, Fault, str)):
            step = step(body)
        if isinstance(step, str):
            step = Reply(text=step)
        return (step if isinstance(step, Fault) else self._with_ids(step)), prompt

    def _with_ids(self, reply: Reply) -> Reply:
        """Return the reply with an id for each call that has none."""
        labelled: list[ScriptedCall] = []
        for wanted in reply.calls:
            self._calls += 1
            labelled.append(wanted if wanted.id else wanted._replace(id=f"call{self._calls:05d}"))
        return replace(reply, calls=tuple(labelled))

    def _response(self, step: Reply | Fault, prompt: int) -> Json:
        if isinstance(step, Fault):
            raise step.error()
        return self._writer.response(step, prompt)

    def _chunks(self, step: Reply | Fault, prompt: int) -> Iterator[Json]:
        if isinstance(step, Reply):
            yield from self._writer.chunks(step, prompt, self._chunk)
            return
        given = list(self._writer.chunks(self._with_ids(step.reply), prompt, self._chunk))
        yield from given[: min(step.after, len(given) - 2)] if step.after else ()
        raise step.error()


def _delay(step: Reply | Fault, timeout: float | None) -> float:
    """The seconds before the first byte of a step. Raises ProviderError if the caller does not wait so long."""
    delay = (step.reply if isinstance(step, Fault) else step).delay
    if timeout is not None and delay > timeout:
        raise ProviderError("timeout", f"no byte in {timeout:g} s")
    return delay


def _quarter_of_json(body: Json) -> int:
    return len(json.dumps(body, ensure_ascii=False)) // 4


def _too_long(context: int, prompt: int, max_tokens: int) -> str:
    """Write the error of a request that is too long, in OpenAI's words."""
    total = prompt + max_tokens
    parts = f" ({prompt} in the messages, {max_tokens} in the completion)" if max_tokens else ""
    return json.dumps(
        {
            "error": {
                "message": f"This model's maximum context length is {context} tokens. However, you requested {total} "
                f"tokens{parts}. Please reduce the length of the messages or completion.",
                "type": "invalid_request_error",
                "code": "context_length_exceeded",
            }
        }
    )


def echo(model: str, *, base_url: str | None = None) -> Scripted:  # noqa: ARG001 - every provider is made this way
    """A provider whose reply is always the last text of the request. `model`: a dialect; "openai" if empty. `base_url`:
    ignored. Raises as `Scripted`."""
    return Scripted(then=_repeated, dialect=model or "openai", model="echo")


def _repeated(body: Json) -> str:
    texts = re.findall(r'"(?:text|content)": "((?:[^"\\]|\\.)*)"', json.dumps(body))
    return json.loads(f'"{texts[-1]}"') if texts else "Hello."


def http_client(provider: Provider, kind: str) -> Any:
    """Make an HTTP client whose requests the provider answers: for `http_client=` of an SDK.

    `kind`: "Client" or "AsyncClient". Newer SDKs are made on `httpx2`, older ones on `httpx`: the newer one is taken
    where it is installed. A request is answered as a stream if it asks for one: with `stream` in its body, as those of
    OpenAI, Mistral and Anthropic do; or, as Gemini's do, in its URL. A ProviderError becomes an answer with its status
    and body; the status is 500 if the error has none.
    """
    http: Any = import_module("httpx2" if find_spec("httpx2") else "httpx")

    def answer(request: Any) -> Any:
        body: Json = json.loads(request.content)
        streamed = bool(body.pop("stream", False)) or request.url.path.endswith(":streamGenerateContent")
        try:
            if streamed:
                events = b"".join(_events(provider.dialect, provider.stream(body)))
                return http.Response(200, headers={"content-type": "text/event-stream"}, content=events)
            return http.Response(200, json=provider.complete(body))
        except ProviderError as error:
            return http.Response(error.status or 500, text=error.body or "{}")

    return getattr(http, kind)(transport=http.MockTransport(answer))


def _events(dialect: str, chunks: Iterable[Any]) -> Iterable[bytes]:
    """The chunks of a stream as server-sent events, as the API writes them."""
    is_chat = dialect.startswith(("openai", "mistral"))
    for chunk in chunks:
        name = f"event: {chunk['type']}\n" if "type" in chunk else ""  # only Responses and Anthropic name their events
        yield f"{name}data: {json.dumps(chunk)}\n\n".encode()
    if is_chat:
        yield b"data: [DONE]\n\n"
