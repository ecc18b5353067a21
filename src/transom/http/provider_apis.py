"""The APIs of the providers: which one a path belongs to, and in which fields a request body has what we need."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import msgspec

from transom.core.message import Fact, Instruction, Raw, ToolResult, User, is_empty
from transom.errors import InvalidMessage
from transom.wire.dialect import Dialect
from transom.wire.dialects import DIALECTS, dialect_at, dialect_named, with_foreign_tools
from transom.wire.fields import as_dict, as_parts, text

Fields = dict[str, msgspec.Raw]
"""A body's fields, each as the bytes that came."""


class Api(NamedTuple):
    """The names of the fields in which the request bodies of one API have what we read and change.

    - `dialect`: the dialect that the API speaks.
    - `messages`: the field of the messages.
    - `system`: the fields that may have a system prompt beside the messages; empty if the first messages are it.
    - `answer`: the fields that may limit the tokens of the answer, the most important first. If a body has none of
      them and a limit is needed, the first one is set. "a.b" is field b of the object in field a.
    - `held`: the fields that name a conversation that the provider keeps.
    """

    dialect: str
    messages: str
    system: tuple[str, ...] = ()
    answer: tuple[str, ...] = ("max_tokens",)
    held: tuple[str, ...] = ()


_GEMINI = Api(
    "gemini",
    "contents",
    system=("systemInstruction", "system_instruction"),
    answer=("generationConfig.maxOutputTokens",),
    held=("cachedContent",),
)

APIS = {
    "/chat/completions": Api("openai", "messages", answer=("max_completion_tokens", "max_tokens")),
    "/responses": Api(
        "responses",
        "input",
        system=("instructions",),
        answer=("max_output_tokens",),
        held=("previous_response_id", "conversation", "prompt"),
    ),
    "/messages": Api("anthropic", "messages", ("system",), held=("thread",)),
    ":generateContent": _GEMINI,
    ":streamGenerateContent": _GEMINI,
}
"""The APIs by the end of a request's path."""

COUNTING = {"/messages/count_tokens": APIS["/messages"]}
"""The paths that count the tokens of a request and do not send it."""

_MODEL_IN_PATH = re.compile(r"/models/([^/:]+):")
_HEAD_ROLES = ("system", "developer")
_MODEL_ROLES = ("assistant", "model")
_BILLING = "x-anthropic-billing-header:"
"""How the first block of Claude Code's system prompt begins. The block is not for the model and differs in each
request, so it is no part of the system prompt that is logged."""


_GEMINI_STATUS = {400: "INVALID_ARGUMENT", 413: "INVALID_ARGUMENT", 415: "INVALID_ARGUMENT", 504: "DEADLINE_EXCEEDED"}
"""The name that Gemini has for a status of ours; UNAVAILABLE for all others."""


def error_body(status: int, kind: str, code: str | int, message: str) -> bytes:
    """The body of an error that we answer with, as JSON, in a form that the SDKs of all APIs read. `status`: the HTTP
    status, of which Gemini's name for it is made. `kind`: the error's `type`. `code`: the error's `code`, a status or
    the name of an exception."""
    said = {"type": kind, "code": code, "message": message, "status": _GEMINI_STATUS.get(status, "UNAVAILABLE")}
    return msgspec.json.encode({"type": "error", "error": said})


def api_of(path: str, table: dict[str, Api] = APIS) -> Api | None:
    """The API of a request to this path, which has no query; None if the path is not known. `table`: the APIs by the
    end of a path. Whatever stands before that end does not count."""
    return next((api for end, api in table.items() if path.endswith(end)), None)


def dialect_of(api: Api, wanted: str | Dialect | None, host: str = "") -> Dialect:
    """The dialect of a request to this API: `wanted`, if it is a form of the API, as "mistral" is one of chat
    completions; else (also if `wanted` is a form of another API) the form that the server at `host` speaks, for an
    unknown host the API's own. Raises InvalidSetting for a name of no dialect. The dialect sends every tool, also one
    of another provider: the client knows its server."""
    own = dialect_named(dialect_at(host, api.dialect))
    if wanted is None:
        return with_foreign_tools(own)
    given = dialect_named(wanted)
    module = DIALECTS.get(given.name, "").partition(":")[0]
    return with_foreign_tools(given if module.startswith(DIALECTS[api.dialect].partition(":")[0]) else own)


def decoded(raw: bytes | msgspec.Raw) -> Any:
    """Parse a part of a body as JSON. Raises InvalidMessage if it is no JSON, or has what cannot be read: a number out
    of range, half a character, too many levels."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
        raise InvalidMessage("body", f"not the JSON of a request: {wrong}") from None


class CallBody:
    """The body of a request, of which only what is needed is parsed. `content`: its bytes, unpacked. `path`: of the
    request, in which Gemini names the model. Raises InvalidMessage if the bytes are no JSON object, or have no list of
    messages; the messages themselves are checked by `facts`.

    - `messages`: each message as bytes, as it came. In an API that has no field for the system prompt, the system
      messages at the beginning are in `system` instead. An `input` that is a text is one message of the user.
    - `system`: the system prompt as instructions, without the block that Claude Code writes for billing.
    - `tools`: the schemas of the tools in the field for tools. `offers_tools`: whether there are tools in that field
      or, as Codex sends them, in an item.
    - `model`: the model that the body names; if it names none, the one in the path; empty if neither does.
    - `has_marks`: whether the client sets cache marks itself ("cache_control" anywhere in the body).
    """

    def __init__(self, api: Api, dialect: Dialect, path: str, content: bytes) -> None:
        self.api, self.dialect, self.content = api, dialect, content
        try:
            self.fields = msgspec.json.decode(content, type=Fields)
            self.messages = self._messages()
            self.system = self._system()
            self.tools = cast("list[Raw]", self.value("tools") or [])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
            raise InvalidMessage("body", f"not the JSON of a request in the dialect {dialect.name}: {wrong}") from None
        named = self.value("model") if "model" in self.fields else None
        found = _MODEL_IN_PATH.search(path)
        self.model = named if isinstance(named, str) else found[1] if found else ""
        self.has_marks = b'"cache_control"' in content
        self.offers_tools = bool(self.tools) or b'"additional_tools"' in content

    def value(self, key: str) -> Any:
        """The value of a field at the top of the body, parsed; None if the body does not have it, or if it is null.
        Raises InvalidMessage if the value cannot be read."""
        raw = self.fields.get(key)
        return None if raw is None else decoded(raw)

    def kept_by_provider(self) -> str:
        """The name of the field by which the request goes on with a conversation that the provider keeps; empty if
        there is none."""
        return next((key for key in self.api.held if self.value(key)), "")

    def facts(self) -> list[Fact]:
        """The facts of all messages, without the system prompt. Raises InvalidMessage for a message of no known
        form."""
        return [fact for _, fact in self.dialect.parse([decoded(raw) for raw in self.messages])]

    def shows_something(self, facts: Sequence[Fact]) -> bool:
        """Whether the window of a new conversation with these facts, those of `facts()`, has a message. It has none if
        all of them are empty, or results without a call before them. In an API whose system prompt is a message, a
        system prompt is enough."""
        if not self.api.system and not all(map(is_empty, self.system)):
            return True
        return not all(isinstance(fact, ToolResult) or is_empty(fact) for fact in facts)

    @property
    def longest_answer(self) -> int | None:
        """The most tokens that the answer may have, as the body says; None if it does not say."""
        for key in self.api.answer:
            outer, _, inner = key.partition(".")
            found = self.value(outer)
            value = as_dict(found).get(inner) if inner else found
            if type(value) is int and value > 0:
                return value
        return None

    def rendered(self, window: Raw, longest_answer: int | None = None) -> bytes:
        """Return the body, as JSON, with the messages, the system prompt and the tools of a window in place of its own.

        `window`: the fields of a request, rendered in the dialect of this body. Every other field of the body stays as
        it came; of the window's other fields those are added that the body does not have. `longest_answer`: the most
        tokens of the answer, in place of the body's limit; None leaves that.

        A window contains no empty message. If it ends with a message of the system or of the model, the user's empty
        messages at the end of the client's list follow as they came. The block for billing of Claude Code stays in
        front of the system prompt.
        """
        fields: dict[str, Any] = dict(self.fields)
        given = {self.api.messages, "tools", *self.api.system}
        for key in self.api.system:
            fields.pop(key, None)
        for key, value in window.items():
            if key in given or key not in fields:
                fields[key] = value
        messages = cast("list[object]", fields[self.api.messages])
        if not messages or as_dict(messages[-1]).get("role") in (*_HEAD_ROLES, *_MODEL_ROLES):
            fields[self.api.messages] = [*messages, *self._empty_end()]
        if self._billing:
            fields["system"] = [*self._billing, *as_parts(fields.get("system"))]
        if longest_answer is not None:
            self._set_answer(fields, longest_answer)
        return msgspec.json.encode(fields)

    def _empty_end(self) -> list[msgspec.Raw]:
        """The user's messages without content at the end of the client's list, as they came."""
        at = len(self.messages)
        while at and self._is_empty(self.messages[at - 1]):
            at -= 1
        return self.messages[at:]

    def _is_empty(self, raw: msgspec.Raw) -> bool:
        message = decoded(raw)
        if as_dict(message).get("role", "user") != "user":
            return False
        return all(isinstance(fact, User) and is_empty(fact) for _, fact in self.dialect.parse([message]))

    def _set_answer(self, fields: dict[str, Any], tokens: int) -> None:
        """Set the most tokens of the answer, in the field that the body has for it."""
        key = next((key for key in self.api.answer if key in fields), self.api.answer[0])
        outer, _, inner = key.partition(".")
        fields[outer] = {**(self.value(outer) or {}), inner: tokens} if inner else tokens

    def _messages(self) -> list[msgspec.Raw]:
        """Each message as its bytes. A text in place of the list is one message of the user."""
        raw = self.fields.get(self.api.messages)
        if raw is None:
            raise InvalidMessage("body", f"there is no {self.api.messages!r}")
        if bytes(memoryview(raw)[:1]) == b'"' and self.api.messages == "input":
            item = msgspec.json.encode({"role": "user", "content": raw})
            return [msgspec.Raw(item)]
        return msgspec.json.decode(raw, type=list[msgspec.Raw])

    def _system(self) -> list[Instruction]:
        """The system prompt: a field of the body, or the first messages. The block for billing is kept apart."""
        self._billing: list[Raw] = []
        if not self.api.system:
            return self._leading()
        value: object = next((found for key in self.api.system if (found := self.value(key))), None)
        if isinstance(value, list):
            blocks = cast("list[Raw]", value)
            self._billing = [block for block in blocks[:1] if text(as_dict(block), "text").startswith(_BILLING)]
            value = blocks[len(self._billing) :]
        return self.dialect.parse_system(value) if value else []

    def _leading(self) -> list[Instruction]:
        """Take the instructions before all other messages out of the list, and return them."""
        head: list[Raw] = []
        for raw in self.messages:
            message = as_dict(decoded(raw))
            if message.get("role") not in _HEAD_ROLES:
                break
            head.append(message)
        self.messages = self.messages[len(head) :]
        return [fact for _, fact in self.dialect.parse(head) if isinstance(fact, Instruction)]
