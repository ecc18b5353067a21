"""Turns the exceptions of the SDKs, and of the HTTP libraries below them, into ProviderError.

Exceptions are told apart by their fields and names, not by their classes: three SDKs over four HTTP libraries have
dozens.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, cast
from urllib.parse import urlsplit

from transom.errors import ProviderError, ProviderErrorKind, shorten
from transom.redaction import without_keys
from transom.wire.fields import as_dict, loaded

__all__ = ["error_kind", "error_reply", "http_error", "provider_error"]

BODY_CHARACTERS = 8_000
"""The most characters of an error's body that are kept."""
LONGEST_WAIT = 3_600.0
"""The most seconds to wait that are taken from a provider's answer."""

_BY_STATUS: dict[int, ProviderErrorKind] = {401: "auth", 403: "auth", 408: "timeout", 429: "rate_limit", 504: "timeout"}

_BY_WORD: tuple[tuple[str, ProviderErrorKind], ...] = (
    ("server_error", "server"),
    ("rate_limit", "rate_limit"),
    ("resource_exhausted", "rate_limit"),
    ("authentication", "auth"),
    ("permission", "auth"),
    ("api_key", "auth"),
    ("quota", "rate_limit"),
    ("invalid", "bad_request"),
    ("badrequest", "bad_request"),
    ("context", "bad_request"),
    ("image", "bad_request"),
    ("timeout", "timeout"),
)
"""The kind of an error that came inside a stream, whose status is 200, by a word in its type or code."""

_FILTER_CODES = frozenset(
    {
        *("content_filter", "contentfilter", "responsibleaipolicyviolation"),  # Azure
        *("moderation_blocked", "content_policy_violation"),  # OpenAI, LiteLLM
        *("data_inspection_failed", "datainspectionfailed"),  # DashScope
        "1301",  # Zhipu
    }
)
"""Types and codes, in lower case, by which a provider says that its filter has refused the prompt."""

_FILTER_WORDS = re.compile(
    r"(?i)(?<!output )\bblocked by (?:our |the )?content filter|\bcontent management policy\b"  # Azure
    r"|\bprompt was flagged\b|\bcontent exists risk\b|\bconsidered high risk\b"  # OpenAI; DeepSeek; Moonshot
)
"""What the message of such an error says, if it has no code of its own. OpenAI's `invalid_prompt` is none: OpenRouter
gives it to any request that it cannot read. And Anthropic's "Output blocked" is not about the prompt."""

_FILTER_NAMES = ("ContentPolicyViolation", "ContentFilter")
"""Parts of the names of the exceptions that clients raise for it: LiteLLM, OpenAI's `parse`, pydantic-ai."""

_CONNECTION = (
    "Connect",
    "Network",
    "Protocol",
    "ReadError",
    "WriteError",
    "ClosedResource",
    "BrokenResource",
    "Payload",
)
"""Parts of the names of the exceptions that HTTP libraries raise for a broken connection."""


def provider_error(error: Exception, *secrets: str, is_stream: bool = False, is_of_sdk: bool = True) -> ProviderError:
    """Turn what an SDK raised into a ProviderError, with `secrets` and API keys replaced in its texts. A ProviderError
    is returned as it is.

    `is_stream`: it was raised while chunks were read, so an unreadable answer means that the connection broke.
    `is_of_sdk`: the call of an SDK raised it. Otherwise it may come from the caller's own code, so a TypeError or
    ValueError says nothing about the request.
    """
    if isinstance(error, ProviderError):
        return error
    names = [kind.__name__ for kind in type(error).__mro__]
    status, details = _status(error), _details(error)
    body = without_keys(_body_text(error, details), *secrets)[:BODY_CHARACTERS]
    if status is None and details is not None:  # OpenAI's SDK, of an error inside a stream
        status = 200
    is_filter = any(part in name for name in names for part in _FILTER_NAMES)
    if status is not None:
        kind = "filter" if is_filter else error_kind(status, details)
        message = "" if body else without_keys(shorten(f"{type(error).__name__}: {error}", 300), *secrets)
        return ProviderError(kind, message, status=status, body=body, retry_after=_retry_after(error, details))
    cause = error.__cause__ or error
    message = without_keys(shorten(f"{type(cause).__name__}: {cause}", 300), *secrets)
    if is_filter:
        return ProviderError("filter", message)
    if any("Timeout" in name for name in names):
        return ProviderError("timeout", f"{_address(error)}{message}")
    if isinstance(error, OSError) or any(part in name for name in names for part in _CONNECTION):
        return ProviderError("connection", without_keys(f"{_address(error)}{_without_connection(cause)}", *secrets))
    if isinstance(error, (json.JSONDecodeError, UnicodeDecodeError)):  # only an answer is decoded
        if is_stream:
            return ProviderError("connection", f"the stream broke off: {message}")
        return ProviderError("malformed", f"the answer cannot be read: {message}")
    if isinstance(error, (TypeError, ValueError)):  # the SDK refuses an argument, or cannot read the answer
        about_the_reply = "Response" in f"{getattr(error, 'title', '')}{names[0]}"  # a title is pydantic's
        kind = "bad_request" if is_of_sdk else "unknown"
        return ProviderError("malformed" if about_the_reply else kind, message)
    return ProviderError("unknown", message)


def http_error(status: int | None, body: str, headers: Mapping[str, str] | None = None, *secrets: str) -> ProviderError:
    """Turn an HTTP answer that is an error into a ProviderError, with `secrets` and API keys replaced in its `body`,
    which is cut after `BODY_CHARACTERS`.

    `status`: None for an answer whose status is not known; 200 for an error that came inside a stream. `headers`: those
    of the answer, which may say when to try again: `retry_after` of the error is that, at most an hour.
    """
    held = loaded(body)
    details = cast("dict[str, Any]", held) if isinstance(held, dict) else None
    found = {} if headers is None else {str(name).lower(): value for name, value in headers.items()}
    wait = _from_headers(found) if found else None
    return ProviderError(
        error_kind(status, details),
        status=status,
        body=without_keys(body, *secrets)[:BODY_CHARACTERS],
        retry_after=_bounded(_from_delay(details) if wait is None else wait),
    )


def error_reply(details: Mapping[str, Any]) -> ProviderError:
    """Turn an error that came with status 200, in place of a reply or inside a stream, into a ProviderError. `details`:
    the error as the provider sent it."""
    body = json.dumps({"type": "error", "error": details}, ensure_ascii=False, default=str)
    error = http_error(200, body)
    said = without_keys(str(details.get("message") or ""))
    return ProviderError(error.kind, shorten(said, 500), status=200, body=error.body, retry_after=error.retry_after)


def _address(error: BaseException) -> str:
    """Where a request went ("http://host:port: "), without credentials and path; empty if it is not known."""
    for each in (error, error.__cause__):
        with suppress(Exception):  # httpx raises an error for a request that was not set
            url = urlsplit(str(cast("Any", each).request.url))
            port = url.port or {"http": 80, "https": 443}[url.scheme]
            return f"{url.scheme}://{url.hostname}:{port}: "
    return ""


def _without_connection(cause: BaseException) -> str:
    """The text of an exception without the word with which our message begins: "refused" of "Connection refused"."""
    text = re.sub(r"(?i)\bconnection (error\W*$)?", "", str(cause)).strip()
    return shorten(text or type(cause).__name__, 300)


def _status(error: Exception) -> int | None:
    for each in (error, getattr(error, "response", None)):  # httpx and requests keep it in the response
        for name in ("status_code", "code"):
            value = getattr(each, name, None)
            if isinstance(value, int) and 100 <= value < 600:
                return value
    return None


def _details(error: Exception) -> dict[str, Any] | None:
    """Return the error as the provider sent it, if the SDK has parsed it; else None."""
    for name in ("body", "details"):
        value = getattr(error, name, None)
        if isinstance(value, dict):
            return cast("dict[str, Any]", value)
    return None


def _body_text(error: Exception, details: dict[str, Any] | None) -> str:
    """The body of the answer. An error from inside a stream, which the SDK has unwrapped, is wrapped again."""
    response = getattr(error, "response", None)
    if details is not None and getattr(response, "status_code", 200) == 200:
        return json.dumps(details if "error" in details else {"error": details}, ensure_ascii=False)
    with suppress(Exception):  # a body that was never read
        text = getattr(response, "text", None)
        if isinstance(text, str) and text:
            return text
    return "" if details is None else json.dumps(details, ensure_ascii=False)


def error_kind(status: int | None, details: dict[str, Any] | None) -> ProviderErrorKind:
    """Decide the kind of an error. It is "filter" if `details` say so, unless the status is 401, 402 or 429. Otherwise
    the status decides, if it is at least 400. An error from inside a stream has no such status: then a status or a
    known word in the fields `type`, `code` and `status` of `details` decides. Without either it is "server".

    `status`: None if it is not known. `details`: the error as the provider sent it; None if it is not known.
    """
    if status not in (401, 402, 429) and _is_of_filter(details):
        return "filter"
    if status is None or status < 400:
        inner = as_dict((details or {}).get("error", details))
        words = [str(inner[key]).lower() for key in ("type", "code", "status") if inner.get(key) is not None]
        code = next((int(word) for word in words if re.fullmatch("[45][0-9][0-9]", word)), None)
        if code is None:
            for word, kind in _BY_WORD:
                if any(word in each for each in words):
                    return kind
            return "server"
        status = code
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return "server" if status >= 500 or status == 409 else "bad_request"


def _is_of_filter(details: dict[str, Any] | None) -> bool:
    """Whether an error says that the provider's filter has refused the prompt, by its code or in its message."""
    inner: object = (details or {}).get("error", details)
    fields = as_dict(inner)
    holders = (fields, as_dict(fields.get("innererror")))
    codes = {str(holder[key]).lower() for holder in holders for key in ("type", "code") if holder.get(key) is not None}
    message = inner if isinstance(inner, str) else str(fields.get("message") or "")
    return bool(codes & _FILTER_CODES) or _FILTER_WORDS.search(message[:BODY_CHARACTERS]) is not None


def _retry_after(error: Exception, details: dict[str, Any] | None) -> float | None:
    """The seconds to wait before a new try, at most an hour; None if neither headers nor body say."""
    headers = getattr(getattr(error, "response", error), "headers", None)  # urllib's error is itself the response
    found = _from_headers(cast("Mapping[str, str]", headers)) if isinstance(headers, Mapping) else None
    return _bounded(_from_delay(details) if found is None else found)


def _bounded(seconds: float | None) -> float | None:
    return None if seconds is None else min(max(0.0, seconds), LONGEST_WAIT)


def _from_delay(details: dict[str, Any] | None) -> float | None:
    """Read Google's `retryDelay` in the body of an error; return seconds, or None."""
    delay = None if details is None else re.search(r'"retryDelay": "(\d+(?:\.\d+)?)s"', json.dumps(details))
    return float(delay[1]) if delay else None


def _from_headers(headers: Mapping[str, str]) -> float | None:
    """Read `Retry-After` in milliseconds, in seconds or as a date; return seconds, or None."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(ValueError, KeyError):
            return float(headers[name]) * unit
    with suppress(ValueError, TypeError, KeyError):  # a date
        return (parsedate_to_datetime(headers["retry-after"]) - datetime.now(UTC)).total_seconds()
    return None
