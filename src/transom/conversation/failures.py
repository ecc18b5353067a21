"""What follows a failed request in a loop of the caller's own (`Conversation.failed`): the failure is logged, and a
`RetryDecision` says whether to try again.

A run decides by the same rules (`retry.py`).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from transom import texts
from transom.conversation.lock_and_lease import Lease
from transom.conversation.model_calls.model_call import CutReply, PartialReply, model_of_reply
from transom.conversation.model_calls.retry import Attempts, FailedAttempt, Retry, checked_retry
from transom.conversation.planning.request_planner import RequestPlanner
from transom.conversation.runnable import RunnableConversation
from transom.core.edit import Trim
from transom.core.entry import Entry
from transom.core.message import REASONING_REFUSED, Failure
from transom.core.plan_request import entry_ref
from transom.core.tokens import part_bytes, text_bytes
from transom.core.trims import find_part
from transom.core.view import View
from transom.core.window import Window
from transom.errors import InvalidEdit, InvalidMessage, InvalidSetting, ProviderError, quote, shorten
from transom.providers.sdk_errors import error_reply, http_error, provider_error
from transom.strategies.summary.native_compaction import without_compaction
from transom.wire.dialect import Dialect
from transom.wire.refused_parts import COMPACTION, RefusedPart, prompt_parts
from transom.wire.rendering import Request
from transom.wire.replies import ErrorReply

_logger = logging.getLogger(__name__)


class RetryDecision(Struct, frozen=True, kw_only=True):
    """What to do after a failed request: ask again, or give up.

    - `retry`: if true, wait `wait` seconds, and send what `conv.request()` gives then. If false, give up.
    - `why`: the reason in one line, for people.
    - `kind`: why the request failed, as in `ProviderError.kind`; "interrupted" if it was stopped; "reasoning_refused"
      if the provider refused the reasoning in it.
    - `smaller`: the next request is smaller than this one, or without what the provider refused.
    - `max_tokens`: the longest answer that the next request may ask for; None leaves it as it is.
    - `error`: the failure as a ProviderError, to be raised by who gives up.
    - `entry`: the seq of the `Failure` in the log.
    """

    retry: bool
    why: str
    kind: str
    error: ProviderError
    entry: int
    wait: float = 0.0
    smaller: bool = False
    max_tokens: int | None = None


def reported_error(error: object, body: object, headers: Mapping[str, str] | None) -> ProviderError:
    """Make a ProviderError of what a caller of `Conversation.failed` reports.

    `error`: an exception, of which `body` and `headers` are not looked at (Ctrl-C and a cancelled task are of the kind
    "interrupted"); an HTTP status from 300 to 599; or a response with such a `status_code`, whose own text and headers
    are read where `body` or `headers` are empty. `body`: a text, bytes or JSON. Raises InvalidSetting for anything
    else.
    """
    if isinstance(error, ErrorReply):  # of `observe`
        return error_reply(error.details)
    if isinstance(error, InvalidMessage):
        return ProviderError("malformed", str(error))
    if isinstance(error, Exception):
        return provider_error(error, is_of_sdk=False)
    if isinstance(error, BaseException):  # a cancelled task, Ctrl-C
        return ProviderError("interrupted", type(error).__name__)
    status: object = error if type(error) is int else getattr(error, "status_code", None)
    if isinstance(status, int) and 100 <= status < 300:
        raise InvalidSetting(f"failed: HTTP {status} is not a failure; give its body to observe")
    if not isinstance(status, int) or not 300 <= status <= 599:
        raise InvalidSetting(f"failed: must be an exception, an HTTP status or a response, not {quote(error)}")
    if headers is not None and not isinstance(cast("object", headers), Mapping):
        raise InvalidSetting(f"failed: headers must be a mapping of names to values, not {quote(headers)}")
    if not isinstance(error, int):
        body = body or _attribute(error, "text")
        headers = headers or cast("Mapping[str, str] | None", _attribute(error, "headers"))
    return http_error(status, _as_text(body), headers)


def _attribute(response: object, name: str) -> object:
    with suppress(Exception):  # httpx raises for a body that was not read
        return getattr(response, name, None)
    return None


def _as_text(body: object) -> str:
    if isinstance(body, (bytes, bytearray)):
        return bytes(body).decode("utf-8", "replace")
    if body is None or isinstance(body, str):
        return body or ""
    try:
        return json.dumps(body, default=quote)
    except (TypeError, ValueError, RecursionError):  # what no JSON parser gives
        raise InvalidSetting(f"failed: the body must be text, bytes or JSON, not {quote(body)}") from None


def unreadable_reply(reply: object, dialect: Dialect, sent: Entry | None, why: InvalidMessage) -> Failure | None:
    """The failure to log for a reply that cannot be read, with the usage that the reply reports; None if it reports no
    tokens. `sent`: the request in flight, which the failure closes; None if there is none. `why`: the error of reading
    the reply."""
    usage = dialect.usage_of(reply)
    if usage is None or not (usage.prompt or usage.output):
        return None
    return Failure(
        failure="malformed",
        answers=None if sent is None else sent.seq,
        error=shorten(str(why)),
        model=model_of_reply(reply, dialect),
        usage=usage,
    )


class OwnLoop:
    """The attempts at one reply in a loop of the caller's own: does what `Conversation.failed` promises.

    It has no reference to the conversation. So a conversation that nobody closes is freed at once, and gives its lease
    back.
    """

    def __init__(self, planner: RequestPlanner, lease: Lease) -> None:
        self._planner, self._lease = planner, lease
        self.attempts: Attempts[str] | None = None
        """None unless the newest request has failed, and the caller was asked to try again."""

    def begin_anew(self) -> None:
        """Forget the attempts, and the limits that only they had to keep to: a reply or a user message has come, so the
        next failure is the first again."""
        self.attempts = None
        self._planner.use_limits_of(self._planner.model, was_refused=False)

    def failed(
        self,
        conversation: RunnableConversation,
        error: object,
        body: object,
        headers: Mapping[str, str] | None,
        *,
        text: str,
        model: str,
        retry: Retry,
    ) -> RetryDecision:
        """Log the failure of the request in flight, trim what the provider refused, and decide what follows. See
        `Conversation.failed` for the arguments."""
        raised = reported_error(error, body, headers)
        planner, writer = self._planner, self._planner.writer
        sent, name, entry = planner.view.in_flight, model or planner.model, len(writer.log) - 1
        if sent is not None:
            request = Request.of(Window.of_request_in_flight(planner.view), planner.settings.dialect)
        elif entry >= 0 and isinstance(writer.log[entry].body, Failure):  # `observe` has logged what it could not read
            request = Request({}, planner.window(None, None, None))
        else:
            raise InvalidSetting("failed: no request is open: it must come after request()")
        retry = checked_retry(retry)
        attempts = self.attempts or Attempts(retry, (name,), None)
        failed = attempts.after(raised, request)
        gives_up = failed.error is not None
        self.attempts = None if gives_up else attempts
        if sent is not None:
            partial = raised.partial if isinstance(raised, CutReply) else PartialReply()
            partial = replace(partial, text=text) if text else partial
            failure = failed.failure(partial, answers=sent.seq, model=name, final=gives_up)
            (entry,) = writer.append_facts([failure])
            text = partial.text
        leave_out_refused(conversation, failed, request.window.view, said=text)
        at_most = 0 if gives_up else attempts.at_most
        planner.use_limits_of(name, was_refused=failed.kind == "overflow", at_most=at_most)
        if gives_up:
            self._lease.release()
        return _decision(failed, raised, entry, None if gives_up else attempts.max_tokens)


def _decision(failed: FailedAttempt, error: ProviderError, entry: int, max_tokens: int | None) -> RetryDecision:
    """What `Conversation.failed` returns."""
    smaller = bool(failed.limit or failed.left_out) or failed.kind == REASONING_REFUSED
    return RetryDecision(
        retry=failed.error is None,
        why=_why(failed, max_tokens),
        kind=failed.kind,
        error=failed.error or error,
        entry=entry,
        wait=failed.wait,
        smaller=smaller and failed.error is None,
        max_tokens=max_tokens,
    )


def _why(failed: FailedAttempt, max_tokens: int | None) -> str:
    if failed.error is not None:
        return str(failed.error)
    if failed.kind == "overflow" and failed.left_out:
        return "the request was too long because of a file that only a URL or an id names: the next one is without it"
    if failed.limit:
        return f"the request was too long: the next one has at most {failed.limit:,} tokens"
    if failed.kind == "overflow":
        return f"the request left no room for the answer: ask for at most {max_tokens or 0:,} tokens"
    if failed.kind == REASONING_REFUSED:
        return "the provider refused the reasoning in the request: the next one has less of it"
    if failed.left_out:
        kinds = ", ".join(sorted({kind for _, _, kind in failed.left_out}))
        return f"the provider refused a part of the request ({kinds}): the next one is without it"
    return f"{failed.text}: try again in {failed.wait:g} s" if failed.wait else f"{failed.text}: try again"


def leave_out_refused(conversation: RunnableConversation, failed: FailedAttempt, view: View, *, said: str) -> None:
    """Trim what the provider refused, so that it is in no later request: the parts that it named; files that alone are
    too long; or, if a filter refused the prompt and nobody asks again, what is new in the request. A provider's
    compaction is replaced by a record. A part that cannot be trimmed stays, with a warning.

    `view`: of the failed request. `said`: what had arrived of its reply; if there is any, the filter has stopped the
    reply, and nothing new in the request is trimmed.
    """
    _leave_out(conversation, failed.left_out, failed.text)
    if failed.error is not None and failed.kind == "filter" and not said:
        _leave_out(conversation, prompt_parts(view), failed.text)


def _leave_out(conversation: RunnableConversation, parts: Sequence[RefusedPart], error: str) -> None:
    """Trim these parts, each with a text in its place; a record takes the place of a compaction. An undo brings a part
    back. A warning says what was left out, and what could not be."""
    for entry, part, kind in parts:
        ref, why = entry_ref(entry), f"the provider refused it: {error}"
        if kind == COMPACTION:
            for edit in list(without_compaction(conversation.view, entry, why)):
                conversation.edit(edit)
            continue
        note = texts.refused_part(ref, kind)
        found = find_part(conversation.log[entry], part)
        is_short = found is not None and part_bytes(found[0]) <= text_bytes(note)
        placeholder = texts.refused_short(ref) if is_short else note
        name = quote(conversation.log.name)
        try:
            conversation.edit(Trim(entry=entry, part=part, note=placeholder, why=why, refused=True))
        except InvalidEdit as impossible:
            _logger.warning("conversation %s: the refused %s in %s stays: %s", name, kind, ref, impossible)
        else:
            _logger.warning("conversation %s: %s", name, note)
