"""One request that passes: matched to a conversation, sent with its window, tried again if it was too long, logged.

`Exchange.steps` is a generator that uses no network and never waits: its only I/O is that of the store. It yields what
it waits for: `Send` (a request body, of which a `ServerAnswer` comes back), `NextChunk` (bytes of a streamed answer,
None at its end) and `AwaitSummary`. It returns a `ClientReply`. So the same code runs below a sync client, below an
async one, and in the proxy (`send.py`).

What holds at each yield: what the client had said is in the log, and each request that was sent has a `Sent`.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Mapping
from typing import Any, NamedTuple, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from transom.conversation.conversation import Conversation
from transom.conversation.failures import leave_out_refused
from transom.conversation.model_calls.model_call import PartialReply, model_of_reply
from transom.conversation.model_calls.retry import Attempts, FailedAttempt, Retry
from transom.conversation.summary_job import AwaitSummary
from transom.core.entry import Meta
from transom.core.message import Assistant, Raw, Usage, is_empty
from transom.errors import BudgetImpossible, InvalidMessage, ProviderError, TransomError, quote, shorten
from transom.http import prefix_hashes
from transom.http.gateway import Gateway, OpenConversation
from transom.http.provider_apis import COUNTING, Api, CallBody, api_of, dialect_of, error_body
from transom.http.requesters import requester_of
from transom.http.stream_reply import StreamReply
from transom.providers.base import Provider, model_name
from transom.providers.model_prices import cost
from transom.providers.sdk_errors import error_kind, error_reply
from transom.redaction import without_keys
from transom.stores.prefix_index import KnownPrefix
from transom.wire.dialect import Dialect
from transom.wire.fields import as_dict, loaded
from transom.wire.rendering import Request, shared_body
from transom.wire.replies import error_in

_logger = logging.getLogger(__name__)

_ERROR_CHARACTERS = 2_000


class Send(NamedTuple):
    """A step of an exchange: send the request to the server, with this body; None: with the body that the client sent.
    Its outcome is a `ServerAnswer`."""

    body: bytes | None


class NextChunk(NamedTuple):
    """A step of an exchange: read more of the streamed answer. Its outcome is bytes, or None at the end."""


class ServerAnswer(NamedTuple):
    """What a server answered. `content`: the whole body, not compressed; None for a stream of events, which is read by
    `NextChunk`."""

    status: int
    content: bytes | None


class ClientReply(NamedTuple):
    """What the client gets: the last answer of the server; or, if `status` is not None, an error of ours with this HTTP
    status.

    `content`: the bytes of the body; None for a stream of the server. `begun`: the chunks that were read of that stream
    already; the client gets them first.
    """

    content: bytes | None = None
    begun: tuple[bytes, ...] = ()
    status: int | None = None


Steps = Generator[Send | NextChunk | AwaitSummary, Any, ClientReply]


class RequestedModel(Struct, frozen=True):
    """The model that a request asks, in the place of a `Provider`: planning and logging need no more of one. `name`: of
    the provider, which is the dialect's name; `model`: empty if the request names none."""

    name: str
    model: str
    dialect: str


class Figures(Struct):
    """What became of one request, for the metrics of the proxy.

    `passed`: why it was sent as it came: the field by which the provider keeps the conversation, "empty", or the type
    of an error ("BudgetImpossible"); empty if it was sent with a window, or if the client got an error of ours.
    `overflows`: how often it was refused as too long and sent again.
    `usage`: of its reply, as the provider says; None if it says nothing.
    """

    passed: str = ""
    overflows: int = 0
    usage: Usage | None = None


class ClientRequest(NamedTuple):
    """A request of a client.

    `path`: of the URL, without the query. `headers`: must find a name in lower case, however the client wrote it.
    `content`: the body, unpacked. `tenant`: whose conversations the request may go on with; empty if all requests have
    one owner. `host`: the name of the server that it is sent to; it decides the dialect, if the gateway has none.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    content: bytes
    tenant: str = ""
    host: str = ""

    def body(self, gateway: Gateway, api: Api) -> CallBody:
        """Parse the body as one of this API, in the dialect of the gateway or of `host` (`dialect_of`). Raises
        InvalidMessage if it is no such body; the messages are not checked yet."""
        return CallBody(api, dialect_of(api, gateway.dialect, self.host), self.path, self.content)


def exchange_of(gateway: Gateway, request: ClientRequest) -> Exchange | None:
    """Make the exchange of a request; None if the request does not ask a model for a reply, because it is no POST or
    its path is that of no known API. The body is not parsed yet: `Exchange.steps` does it, and copes with a wrong
    one."""
    api = api_of(request.path) if request.method.upper() == "POST" else None
    return None if api is None else Exchange(gateway, api, request)


def count_tokens(gateway: Gateway, request: ClientRequest) -> int | None:
    """Answer a request to count tokens: return how many tokens the window has that would be sent in place of these
    messages. Nothing is sent or logged.

    None if the provider should count instead: that window has no fold, the conversation is not known or cannot be read,
    its log says more than the request, another request has it now, or the body is wrong. No TransomError is raised. The
    path must end with one of `COUNTING`: that is not checked.
    """
    api = api_of(request.path, COUNTING)
    assert api is not None
    try:
        body = request.body(gateway, api)
        return gateway.count_tokens(body, requester_of(request.tenant, request.headers, body, gateway.session))
    except TransomError:
        return None


class Exchange:
    """One request, from its arrival to the end of its reply.

    Run `steps` first. If the reply is a stream, give its chunks to `feed`; call `whole` when `feed` returns True, and
    `broke_off` at the end. If sending fails during `steps`, call `broke_off` too: until then no other request enters
    the conversation. `send.drive` and `send.relayed` do all of it. `figures`: for the metrics; complete at the end.
    """

    def __init__(self, gateway: Gateway, api: Api, request: ClientRequest) -> None:
        self._gateway, self._api, self._request = gateway, api, request
        self.figures = Figures()
        self._opened: OpenConversation | None = None
        self._stream: StreamReply | None = None
        self._digest = self._outline = b""
        self._model = RequestedModel("", "", "")

    # ---- until the reply begins

    def steps(self) -> Steps:
        """Return a generator that yields what must be done for the request, one step after another (see this module),
        and returns the reply for the client.

        A request that the model refuses as too long is sent again with less. If less is not possible, the client gets
        the server's last answer. A request whose conversation the provider keeps, or that has nothing to show to a
        model, is sent as it came: the provider says what is wrong with it. If no window can be built, no TransomError
        is raised: the request is sent as it came, and a warning is logged; or, if the gateway has `on_error="fail"`,
        the reply is an error with status 400 for the request itself and 503 for everything else.
        """
        try:
            body = self._body()
            conv = None if body is None else self._enter(body)
            if body is not None and conv is not None:
                return (yield from self._attempts(body, conv))
        except TransomError as error:
            self.close()
            if self._gateway.on_error == "fail":
                return self._refused(error)
            _logger.warning("a request is passed on as it came: %s", error)
            self.figures.passed = type(error).__name__
        answer = yield Send(None)
        return ClientReply(answer.content)

    def _body(self) -> CallBody | None:
        """The body of the request. None if the provider keeps the conversation: such a request passes as it came, and
        the first one is told with a warning. Raises InvalidMessage if the body cannot be read."""
        body = self._request.body(self._gateway, self._api)
        if field := body.kept_by_provider():
            self.figures.passed = field
            self._gateway.warn_once(
                field, f"requests with `{field}` are passed on as they came: the provider keeps their conversation"
            )
            return None
        return body

    def _attempts(self, body: CallBody, conv: Conversation) -> Steps:
        """Send the window. If it is refused as too long, or for a part that can be left out, send a smaller one.
        Returns the last answer."""
        model = self._model = RequestedModel(body.dialect.name, body.model, body.dialect.name)
        provider = cast("Provider", model)
        attempts = Attempts(Retry(attempts=1), [provider], body.longest_answer)
        reply = ClientReply()
        while True:
            use = conv._use_model  # pyright: ignore[reportPrivateUsage]
            use(provider, was_refused=attempts.refused is not None, at_most=attempts.at_most)
            try:
                window = yield from conv._plan_request_steps(tools=body.tools)  # pyright: ignore[reportPrivateUsage]
            except BudgetImpossible:
                if attempts.refused is None:
                    raise
                break
            rendered = shared_body(window.view, body.dialect, cache=body.has_marks, indexes=conv.indexes)
            longest = attempts.max_tokens if attempts.max_tokens != body.longest_answer else None
            answer: ServerAnswer = yield Send(body.rendered(rendered, longest))
            if answer.content is None:
                reply, error = yield from self._begin_stream(body.dialect)
            else:
                reply, error = ClientReply(answer.content), _error_of(answer)
            if error is None:
                if answer.content is not None:
                    self._observe_whole(answer.content)
                    self.close()
                return reply
            failed = attempts.after(error, Request(body.dialect.arguments(rendered), window))
            self._log_failure(failed)
            leave_out_refused(conv, failed, window.view, said="")
            if failed.error is not None:
                if failed.kind == "overflow":  # the client gets the server's own words
                    _logger.warning("conversation %s: %s", quote(conv.log.name), failed.error)
                break
            self.figures.overflows += failed.kind == "overflow"
        self.close()
        return reply

    def _enter(self, body: CallBody) -> Conversation | None:
        """Enter the conversation. Log what the client says that is new, and the head if it has changed. None if the
        request has nothing to show to a model: nothing is logged, and the first such request is told with a warning."""
        gateway, request = self._gateway, self._request
        entered = gateway.enter(body, requester_of(request.tenant, request.headers, body, gateway.session))
        if entered is None:
            self.figures.passed = "empty"
            gateway.warn_once("empty", "requests without any content are passed on as they came, and not logged")
            return None
        opened, match = entered
        self._digest, self._outline, new = match.digest, match.outline, match.new
        self._opened, conv = opened, opened.conv
        conv.budget = gateway.budget_of(body)
        if tuple(body.system) != conv.head.messages:
            conv.system = body.system
        if new:
            opened.length = 1 + conv._append_facts(new)[-1]  # pyright: ignore[reportPrivateUsage] - parsed already
        gateway.matcher.add((self._digest, KnownPrefix(opened.name, opened.length)))
        return conv

    def _begin_stream(self, dialect: Dialect) -> Generator[NextChunk, Any, tuple[ClientReply, ProviderError | None]]:
        """Read a stream until the reply begins in it. Returns what was read, and the error if one came before the
        reply: some servers find out only in the stream that a request is too long."""
        stream, begun = StreamReply(dialect), list[bytes]()
        self._stream = stream
        while not (stream.has_begun or stream.error):
            chunk = yield NextChunk()
            if chunk is None:
                break
            stream.feed(chunk)
            begun.append(chunk)
        error = None
        if stream.error is not None:
            self._stream, error = None, error_reply(stream.error)
        elif stream.finished:
            self.whole()
        return ClientReply(None, tuple(begun)), error

    # ---- while the reply passes

    def feed(self, chunk: bytes) -> bool:
        """Read the next bytes of a streamed reply. Return whether these bytes complete the reply. If so, call `whole`
        before the client gets the bytes, so that its next request finds the reply in the log."""
        return self._stream is not None and self._stream.feed(chunk)

    def whole(self) -> None:
        """Log the streamed reply, which is complete, and let other requests into the conversation. An error of the
        store is a warning, because the client has the reply."""
        self._observe_stream()
        self.close()

    def broke_off(self, error: BaseException | None) -> None:
        """End the exchange. Called at the end of every stream, and when sending raised an error.

        A stream that is complete but not logged yet is logged. If the reply is not complete, a failure is logged with
        what had arrived: "connection" if `error` is an Exception; "interrupted" for None, or another BaseException such
        as a cancellation. After `whole` or `close` it does nothing.
        """
        stream = self._stream
        if stream is not None and stream.finished:
            self._observe_stream()
        elif self._opened is not None and self._opened.conversation is not None:
            kind = "connection" if isinstance(error, Exception) else "interrupted"
            text = "" if error is None else f"{type(error).__name__}: {error}"
            self._log_failure(FailedAttempt(kind=kind, text=text))
        self.close()

    def close(self) -> None:
        """Leave the conversation, so that other requests may enter it. A second call does nothing."""
        opened, self._opened, self._stream = self._opened, None, None
        if opened is not None:
            self._gateway.leave(opened)

    # ---- the log

    def _observe_whole(self, content: bytes) -> None:
        """Log a reply that came as one body. If it cannot be read, a failure is logged."""
        assert self._opened is not None
        conv = self._opened.conv
        try:
            value = msgspec.json.decode(content)
            if isinstance(value, list):  # a stream of Gemini's that was not asked for as events
                accumulator = conv.dialect.accumulator()
                for chunk in cast("list[object]", value):
                    accumulator.feed(chunk)
                self._log_turn(accumulator.final_turn(), self._model_of(cast("list[object]", value)))
            else:
                self._log_turn(conv.dialect.parse_reply(value), self._model_of(value))
        except (InvalidMessage, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as unreadable:
            self._log_failure(FailedAttempt(kind="malformed", text=str(unreadable)))

    def _observe_stream(self) -> None:
        """Log the reply that has passed as a stream. If it cannot be read, a failure is logged."""
        stream, self._stream = self._stream, None
        if stream is None:
            return
        try:
            self._log_turn(stream.accumulator.final_turn(), stream.model)
        except InvalidMessage as unreadable:
            self._log_failure(FailedAttempt(kind="malformed", text=str(unreadable)), stream.accumulator.usage)

    def _model_of(self, reply: object) -> str:
        assert self._opened is not None
        return model_of_reply(reply, self._opened.conv.dialect)

    def _log_turn(self, turn: Assistant, model: str) -> None:
        """Log the model's turn, and index the place behind it, so that the client's next request finds it. An empty
        turn is a failure. An error of the store is a warning, because the client has the reply."""
        opened = self._opened
        assert opened is not None
        self.figures.usage = turn.usage
        if is_empty(turn):
            self._log_failure(FailedAttempt(kind="empty", text="the reply has no text and no calls"), turn.usage)
            return
        named = model or model_name(cast("Provider", self._model))
        try:
            at = opened.conv.append(turn, Meta(model=named, cost=cost(turn.usage, named)))
            opened.length = at + 1
            place = KnownPrefix(opened.name, opened.length)
            ids = prefix_hashes.after_calls(self._outline, turn)
            self._gateway.matcher.add((ids, place), (prefix_hashes.after(self._digest, turn), place))
        except TransomError as error:
            _logger.warning("conversation %s: a reply is not logged: %s", quote(opened.name), error)

    def _log_failure(self, failed: FailedAttempt, usage: Usage | None = None) -> None:
        """Log that a request gave no reply, with what had arrived of it. No window shows that, because the client
        decides what it goes on with. `failed`: why it has failed, with the numbers of an overflow."""
        opened, stream = self._opened, self._stream
        assert opened is not None
        partial = PartialReply(usage=usage)
        if stream is not None:
            said, thought = (stream.accumulator.arrived(kind) for kind in ("text", "reasoning"))
            partial = PartialReply(text=said, reasoning=thought, usage=usage or stream.accumulator.usage)
        sent = opened.conv.view.in_flight
        failure = replace(failed, text=shorten(without_keys(failed.text), _ERROR_CHARACTERS)).failure(
            partial,
            answers=None if sent is None else sent.seq,
            model=model_name(cast("Provider", self._model)),
            final=False,
        )
        self._stream = None
        try:
            opened.conv.append(failure, Meta(cost=cost(failure.usage, failure.model)))
        except TransomError as wrong:
            _logger.warning("conversation %s: a failure is not logged: %s", quote(opened.name), wrong)

    def _refused(self, error: TransomError) -> ClientReply:
        """The answer to a request that no window can be built for."""
        status = 400 if isinstance(error, (BudgetImpossible, InvalidMessage)) else 503
        return ClientReply(error_body(status, "transom_error", type(error).__name__, str(error)), status=status)


def _error_of(answer: ServerAnswer) -> ProviderError | None:
    """The error that a server answered with, also one with the status of a reply; None for a reply."""
    if answer.content is None:
        return None
    if answer.status < 400:
        details = _error_in(answer.content)
        return None if details is None else error_reply(details)
    text = answer.content[: 40 * _ERROR_CHARACTERS].decode("utf-8", "replace")
    said = text[:_ERROR_CHARACTERS] or f"status {answer.status}"
    kind = error_kind(answer.status, as_dict(loaded(text)))
    return ProviderError(kind, said, status=answer.status, body=text)


def _error_in(content: bytes) -> Raw | None:
    """The error in the body of a reply; None if it has none."""
    if b"error" not in content:  # nearly every reply
        return None
    try:
        value = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return error_in(cast("Raw", value)) if isinstance(value, dict) else None
