"""The message formats of libraries: a table for each, with the functions that it needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

from transom.core.message import Call, Raw, Text
from transom.importers.formats.chat_builder import CallResult, Piece, arguments, parsed_text, result_text
from transom.importers.formats.gemini_cli import GEMINI_CLI
from transom.importers.formats.shapes import MessageFormat, Shape, answer, both, call, found, media, thought, words
from transom.wire.fields import as_dict, as_items, objects_in, text
from transom.wire.frameworks import langchain_json, pydantic_ai_json

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
_LLAMA_ROLES = {**_ROLES, "model": "assistant", "function": "tool", "chatbot": "assistant"}


def _parts_of(value: object, key: str = "content") -> list[Raw]:
    return objects_in(as_dict(value).get(key))


# ---- LangChain and pydantic-ai, whose messages are written too


_NO_TEXTS = frozenset({"lc", "finish_reason", "service_tier", "system_fingerprint", "tool_kind", "media_type"})
"""Keys of messages of LangChain and pydantic-ai under which there are no texts."""

LANGCHAIN = MessageFormat(
    name="langchain",
    title="LangChain messages",
    is_message=langchain_json.is_message,
    to_chat=lambda values: (message for message in map(langchain_json.message, values) if message is not None),
    labels=_NO_TEXTS,
)
PYDANTIC_AI = MessageFormat(
    name="pydantic_ai",
    title="pydantic-ai messages",
    is_message=pydantic_ai_json.is_message,
    to_chat=pydantic_ai_json.to_chat,
    labels=_NO_TEXTS,
)


# ---- LlamaIndex: `ChatMessage.model_dump()`

_OPENAI_CALL = call(id="id", name=("function.name", "tool_name", "name"), args=("function.arguments", "tool_kwargs"))

_LLAMA_INDEX = Shape(
    roles=_LLAMA_ROLES,
    content=("blocks", "content"),
    kind="block_type",
    parts={
        "text": words(),
        "thinking": thought("content"),
        "tool_call": call(id="tool_call_id", name="tool_name", args="tool_kwargs"),
        "image": media(data="image", mime="image_mimetype"),
        "document": media(data="data", mime="document_mimetype", name="title"),
        "audio": media(data="audio", mime="format"),
    },
    before=(("additional_kwargs.reasoning_content", thought("")),),
    beside=(("additional_kwargs.tool_calls", _OPENAI_CALL),),
    answers="additional_kwargs.tool_call_id",
    tool="additional_kwargs.name",
)


def _is_llama_index(value: object) -> bool:
    blocks = _parts_of(value, "blocks")
    fields = as_dict(value)
    is_old = isinstance(fields.get("additional_kwargs"), dict) and "type" not in fields and "blocks" not in fields
    return "role" in fields and (is_old or any("block_type" in each for each in blocks))


def _llama_index(values: Iterable[object]) -> Iterator[Raw]:
    """Translate messages to OpenAI Chat. A call that stands in a message twice, as a block and in `additional_kwargs`,
    is read once."""
    once: list[Raw] = []
    for fields in map(as_dict, values):
        if any(each.get("block_type") == "tool_call" for each in _parts_of(fields, "blocks")):
            beside = {
                key: each for key, each in as_dict(fields.get("additional_kwargs")).items() if key != "tool_calls"
            }
            once.append({**fields, "additional_kwargs": beside})
        else:
            once.append(fields)
    return _LLAMA_INDEX.to_chat(once)


# ---- Semantic Kernel: `ChatHistory.model_dump()` of Python, and the JSON of .NET

_KERNEL = Shape(
    roles=_ROLES,
    role=("role", "role.Label", "role.label"),
    content=("items", "content"),
    kind="content_type",
    parts={
        "text": words(),
        "reasoning": thought(),
        "image": media(url=("uri", "data_uri"), mime="mime_type"),
        "binary": media(url=("uri", "data_uri"), mime="mime_type"),
        "file": media(url=("uri", "data_uri"), mime="mime_type"),
        "function_call": call(id=("call_id", "id"), name="name", args="arguments"),
        "function_result": answer(id=("call_id", "id"), name="name", value="result"),
    },
)
_KINDS_OF_NET = {
    "TextContent": "text",
    "ReasoningContent": "reasoning",
    "ImageContent": "image",
    "BinaryContent": "binary",
    "FunctionCallContent": "function_call",
    "FunctionResultContent": "function_result",
}


def _is_kernel(value: object) -> bool:
    fields = as_dict(value)
    items = _parts_of(fields, "items") or _parts_of(fields, "Items")
    if "Role" in fields:
        return bool(text(as_dict(fields["Role"]), "Label")) or "Items" in fields
    typed = fields.get("content_type") == "message" or any("content_type" in item for item in items)
    return "role" in fields and typed and "items" in fields


def _kernel(values: Iterable[object]) -> Iterator[Raw]:
    return _KERNEL.to_chat(_as_python(each) if "Role" in as_dict(each) else each for each in values)


def _as_python(value: object) -> Raw:
    """Return a message of .NET with the keys that Python writes."""
    fields = as_dict(value)
    role: Any = fields["Role"]
    items = [_item_of_net(item) for item in _parts_of(fields, "Items")]
    return {"role": text(as_dict(role), "Label") or role, "items": items, "content": fields.get("Content")}


def _item_of_net(item: Raw) -> Raw:
    name = "-".join(filter(None, (text(item, "PluginName"), text(item, "FunctionName"))))
    return {
        "content_type": _KINDS_OF_NET.get(text(item, "$type"), ""),
        "text": item.get("Text"),
        "id": item.get("CallId") or item.get("Id"),
        "name": name,
        "arguments": item.get("Arguments"),
        "result": item.get("Result"),
        "uri": item.get("DataUri") or item.get("Uri"),
        "mime_type": item.get("MimeType"),
    }


# ---- Vercel AI SDK: CoreMessage of version 4, ModelMessage of version 5, UIMessage of both

_AI_CALL = call(id="toolCallId", name="toolName", args=("input", "args", "rawInput"))
_AI_FAILED = frozenset({"error-text", "error-json", "execution-denied"})
_AI_RESULT = answer(
    id="toolCallId",
    name="toolName",
    value=("output", "result", "errorText", "content"),
    failed=lambda part: found(part, "output.type") in _AI_FAILED or found(part, "isError") is True,
)


def _ui_tool(part: Any) -> Iterable[Piece]:
    """Read a call in a UIMessage, and its result if that is there. The type of the part may have the name of the tool:
    `tool-weather`."""
    fields = as_dict(part)
    held = as_dict(fields.get("toolInvocation")) or fields
    name = text(held, "toolName") or text(fields, "type").removeprefix("tool-")
    label = text(held, "toolCallId")
    yield Call(label, name, arguments(found(held, ("input", "args", "rawInput"))))
    if text(held, "state") in {"result", "output-available", "output-error", "output-denied"}:
        denied = found(held, "approval.reason") or "The user denied this call."
        output = found(held, ("output", "result", "errorText"))
        failed = text(held, "state") in {"output-error", "output-denied"}
        yield CallResult(label, name, result_text(denied if output is None else output), failed)


_AI_SDK = Shape(
    roles={**_ROLES, "data": "user"},
    content=("parts", "content"),
    parts={
        "text": words(),
        "reasoning": thought(("text", "reasoning", "details")),
        "image": media(url="image", mime=("mediaType", "mimeType")),
        "file": media(url=("url", "data"), mime=("mediaType", "mimeType"), name="filename"),
        "tool-call": _AI_CALL,
        "tool-result": _AI_RESULT,
        "tool-error": answer(id="toolCallId", name="toolName", value="error", failed=lambda _: True),
        "tool-invocation": _ui_tool,
        "dynamic-tool": _ui_tool,
        "tool-*": _ui_tool,
    },
    before=(("reasoning", thought("")),),
    beside=(("toolInvocations", _ui_tool), ("experimental_attachments", media(mime="contentType", name="name"))),
)
_AI_KINDS = frozenset({"tool-call", "tool-result", "tool-invocation", "dynamic-tool", "step-start", "source-url"})


def _is_ai_sdk(value: object) -> bool:
    fields = as_dict(value)
    if text(fields, "role") not in _AI_SDK.roles or "kind" in fields:
        return False
    parts = fields.get("parts")
    if isinstance(parts, list) and parts and all(text(as_dict(part), "type") for part in cast("list[object]", parts)):
        return not any("content" in part for part in objects_in(cast("object", parts)))  # as OpenTelemetry has it
    parts = _parts_of(fields)
    if any(text(part, "type") in {"image", "file"} and {"mediaType", "mimeType"} & part.keys() for part in parts):
        return True
    kinds = {text(part, "type") for part in parts}
    return not _AI_KINDS.isdisjoint(kinds) or "toolInvocations" in fields


def _ai_sdk(values: Iterable[object]) -> Iterator[Raw]:
    """Translate messages to OpenAI Chat. Calls that a message of version 4 has twice are read once. What asks a person
    to approve a call, and the answer, are no calls and no results."""
    return _AI_SDK.to_chat(
        {**fields, "toolInvocations": [], "reasoning": None} if fields.get("parts") else fields
        for fields in map(_without_approvals, map(as_dict, values))
        if fields.get("content") != []
    )


def _without_approvals(fields: Raw) -> Raw:
    """A message without its parts about approvals; its content is an empty list if it has no others."""
    content = fields.get("content")
    if not isinstance(content, list):
        return fields
    parts = cast("list[object]", content)
    kept = [part for part in parts if not text(as_dict(part), "type").startswith("tool-approval-")]
    return fields if len(kept) == len(parts) else {**fields, "content": kept}


# ---- Amazon Bedrock's Converse, and Strands Agents

_CONVERSE = Shape(
    roles=_ROLES,
    kind="",
    parts={
        "text": words(),
        "reasoningContent": thought(("reasoningText.text", "text")),
        "toolUse": call(id="toolUseId", name="name", args="input"),
        "toolResult": lambda part: [
            CallResult(text(as_dict(part), "toolUseId"), "", _converse_result(part), found(part, "status") == "error")
        ],
        "image": lambda part: _converse_file("image", as_dict(part)),
        "document": lambda part: _converse_file("application", as_dict(part)),
        "citationsContent": words("content"),
    },
)
_CONVERSE_KEYS = frozenset({*_CONVERSE.parts, "cachePoint", "guardContent", "video", "audio", "searchResult"})


def _converse_file(kind: str, part: Raw) -> Iterable[Piece]:
    """Read a document or an image. Its media type is made of its kind and its format: `image/png`."""
    typed = {**part, "mime": f"{kind}/{text(part, 'format') or 'png'}"}
    yield from words("source.text")(part)
    yield from media(url="", data="source.bytes", mime="mime", name="name")(typed)


def _converse_result(part: object) -> str:
    content = as_dict(part).get("content")
    parts = [each.get("text", each.get("json", each)) for each in objects_in(content)]
    return "\n".join(map(result_text, parts)) if parts else result_text(content)


def _is_converse(value: object) -> bool:
    parts = _parts_of(value)
    return "role" in as_dict(value) and bool(parts) and all(part and part.keys() <= _CONVERSE_KEYS for part in parts)


# ---- Haystack: `ChatMessage.to_dict()`

_HAYSTACK = Shape(
    roles=_ROLES,
    role=("role", "_role"),
    content=("content", "_content"),
    kind="",
    parts={
        "text": words(),
        "reasoning": thought("reasoning_text"),
        "tool_call": call(id="id", name="tool_name", args="arguments"),
        "tool_call_result": answer(
            id="origin.id", name="origin.tool_name", value="result", failed=lambda part: found(part, "error") is True
        ),
        "image": media(url="", data="base64_image", mime="mime_type"),
        "file": media(url="", data="base64_data", mime="mime_type", name="filename"),
    },
)


def _is_haystack(value: object) -> bool:
    fields = as_dict(value)
    parts = _parts_of(fields) or _parts_of(fields, "_content")
    untyped = bool(parts) and all("type" not in part for part in parts)
    own = "meta" in fields or any(not {"tool_call", "tool_call_result"}.isdisjoint(part) for part in parts)
    return ("_role" in fields and "_content" in fields) or ("role" in fields and untyped and own)


# ---- Inspect: the messages of a sample

_INSPECT = Shape(
    roles=_ROLES,
    parts={
        "text": words(),
        "reasoning": thought(("reasoning", "summary")),
        "image": media(url="image", mime=""),
        "audio": media(url="audio", mime="format"),
        "video": media(url="video", mime="format"),
        "document": media(url="document", mime="mime_type", name="filename"),
        "tool_use": both(
            call(id="id", name="name", args="arguments"),
            answer(id="id", name="name", value=("error", "result"), failed=lambda part: bool(found(part, "error"))),
        ),
        "data": words("data"),
    },
    beside=(("tool_calls", call(id="id", name="function", args="arguments")),),
    answers="tool_call_id",
    tool="function",
    failed="error",
)


def _is_inspect(value: object) -> bool:
    fields = as_dict(value)
    calls = objects_in(fields.get("tool_calls"))
    parts = _parts_of(fields)
    named = any(isinstance(each.get("function"), str) for each in calls)
    reasons = any(text(part, "type") == "reasoning" and "reasoning" in part for part in parts)
    return "role" in fields and (named or reasons or (fields["role"] == "tool" and "function" in fields))


def _inspect(values: Iterable[object]) -> Iterator[Raw]:
    """Translate messages to OpenAI Chat. A result that failed often has no content: then its text is that of
    `error`."""
    return _INSPECT.to_chat(
        {**fields, "content": fields.get("content") or found(fields, "error.message") or ""}
        for fields in map(as_dict, values)
    )


# ---- Claude.ai: the messages of an exported chat

_CLAUDE_AI = Shape(
    roles={"human": "user", "assistant": "assistant"},
    role="sender",
    content=("content", "text"),
    parts={
        "text": words(),
        "thinking": thought("thinking"),
        "tool_use": call(id="id", name="name", args="input"),
        "tool_result": answer(
            id="tool_use_id", name="name", value="content", failed=lambda part: found(part, "is_error") is True
        ),
        "voice_note": words(("text", "title")),
    },
    before=(("attachments", both(words("file_name"), words("extracted_content"))), ("files", words("file_name"))),
)


# ---- ShareGPT


def _sharegpt_call(value: object) -> Iterable[Piece]:
    """Read the calls in a text: a JSON object is one call, a list of objects several. Any other text is read as
    text."""
    given = parsed_text(value)
    for each in objects_in(as_items(given)):
        yield Call("", text(each, "name"), arguments(each.get("arguments")))
    if not isinstance(given, dict | list):
        yield Text(str(value))


_SHAREGPT = Shape(
    roles={
        "system": "system",
        "human": "user",
        "user": "user",
        "gpt": "assistant",
        "chatgpt": "assistant",
        "bing": "assistant",
        "bard": "assistant",
        "assistant": "assistant",
        "model": "assistant",
        "tool": "tool",
        "observation": "tool",
        "function_response": "tool",
    },
    role="from",
    content=("value",),
    beside=(("calls", _sharegpt_call),),
)


def _sharegpt(values: Iterable[object]) -> Iterator[Raw]:
    """Translate the turns of a conversation to OpenAI Chat."""
    turns = [as_dict(each) for each in values]
    for number, fields in enumerate(turns):
        if text(fields, "from") == "function_call":
            turns[number] = {"from": "gpt", "value": "", "calls": fields.get("value")}
    return _SHAREGPT.to_chat(turns)


def _is_sharegpt(value: object) -> bool:
    fields = as_dict(value)
    return {"from", "value"} <= fields.keys() and isinstance(fields["from"], str)


# ---- ATIF: the steps of a trajectory of Harbor

_ATIF = Shape(
    roles={"system": "system", "user": "user", "agent": "assistant"},
    role="source",
    content=("message",),
    parts={"text": words(), "image": media(url="source.path", mime="source.media_type")},
    before=(("reasoning_content", thought("")),),
    beside=(
        ("tool_calls", call(id="tool_call_id", name="function_name", args="arguments")),
        ("observation.results", answer(id="source_call_id", value="content")),
    ),
)


# ---- OpenTelemetry: `gen_ai.input.messages`

_GEN_AI = Shape(
    roles=_ROLES,
    content=("parts",),
    parts={
        "text": words("content"),
        "reasoning": thought("content"),
        "tool_call": call(id="id", name="name", args="arguments"),
        "tool_call_response": answer(id="id", value=("response", "result")),
        "uri": media(url="uri", mime="mime_type"),
        "blob": media(url="", data="content", mime="mime_type"),
    },
)


def _is_gen_ai(value: object) -> bool:
    parts = _parts_of(value, "parts")
    kinds = {text(part, "type") for part in parts}
    says = any(not {"content", "arguments", "response", "result", "uri"}.isdisjoint(part) for part in parts)
    return "role" in as_dict(value) and says and kinds <= _GEN_AI.parts.keys()


MESSAGES = (
    MessageFormat(name="ai_sdk", title="Vercel AI SDK messages", is_message=_is_ai_sdk, to_chat=_ai_sdk),
    MessageFormat(name="otel", title="OpenTelemetry spans", is_message=_is_gen_ai, to_chat=_GEN_AI.to_chat),
    MessageFormat(name="llama_index", title="LlamaIndex messages", is_message=_is_llama_index, to_chat=_llama_index),
    MessageFormat(name="semantic_kernel", title="Semantic Kernel messages", is_message=_is_kernel, to_chat=_kernel),
    MessageFormat(name="haystack", title="Haystack messages", is_message=_is_haystack, to_chat=_HAYSTACK.to_chat),
    MessageFormat(name="bedrock", title="Bedrock Converse", is_message=_is_converse, to_chat=_CONVERSE.to_chat),
    GEMINI_CLI,
    MessageFormat(name="inspect", title="Inspect log", is_message=_is_inspect, to_chat=_inspect),
    MessageFormat(
        name="claude_ai",
        title="Claude.ai export",
        is_message=lambda value: {"sender", "uuid"} <= as_dict(value).keys(),
        to_chat=_CLAUDE_AI.to_chat,
    ),
    MessageFormat(name="sharegpt", title="ShareGPT conversation", is_message=_is_sharegpt, to_chat=_sharegpt),
    MessageFormat(
        name="atif",
        title="ATIF trajectory",
        is_message=lambda value: {"step_id", "source", "message"} <= as_dict(value).keys(),
        to_chat=_ATIF.to_chat,
    ),
)
"""All other message formats. The first one that recognises a message decides, so those with the most particular signs
come first."""
