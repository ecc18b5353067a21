"""Writes messages as lines of session files of Claude Code, Codex and pi."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from uuid import NAMESPACE_URL, uuid5

from transom.core.message import Head, Raw, Text
from transom.exporters.log_messages import NO_OBJECT, NO_PLACE, LeftOut, TimedMessage
from transom.importers.sessions.pi_notes import fields_of_result, noted_blocks
from transom.texts import FAILED, left_out_marker
from transom.wire.arguments import WRAPPED
from transom.wire.chat_json import name_and_arguments
from transom.wire.fields import as_dict, as_parts, compact_json, data_of, iso_time, objects_in, plain_text, text
from transom.wire.openai.parse import MEDIA_TYPES

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def session_id(conversation: str) -> str:
    """Return the id that a conversation with this name has as an exported session: the name if it is a UUID, else a
    UUID made from the name, the same in every export.

    So an imported session keeps its id, by which its program finds it again. All other conversations (forks, subagents,
    those that the user named) need an id of their own: programs take only UUIDs, and two sessions must not have one id.
    """
    return conversation if _UUID.fullmatch(conversation) else str(uuid5(NAMESPACE_URL, f"transom:{conversation}"))


class _SessionWriter:
    """Writes messages as lines of a session. A subclass makes the lines of one format."""

    def __init__(self, conversation: str, left_out: LeftOut) -> None:
        self._left_out = left_out
        self._session = session_id(conversation)
        self._last = ""  # the id of the last line
        self._lines = 0

    def whole(self, head: Head, messages: Iterable[TimedMessage]) -> Iterator[str]:
        """Yield the text of a new file with this head and these messages, in pieces."""
        if head.tools:
            self._left_out.add("tool schemas left out", len(head.tools), why=NO_PLACE)
        begin, messages = _first_time(messages)
        for line in self._head_lines("\n\n".join(_texts(head)), begin):
            yield f"{compact_json(line)}\n"
        for shown in messages:
            for line in self._of_message(shown.message, iso_time(shown.at)):
                self._lines += 1
                yield f"{compact_json(line)}\n"

    def _label(self) -> str:
        """Make an id for the next line, the same in every export."""
        return str(uuid5(NAMESPACE_URL, f"{self._session}:{self._last}:{self._lines}"))

    def _head_lines(self, system: str, at: str) -> list[Raw]:
        """Return the lines at the beginning. `system`: the system prompt, or empty; `at`: the first message's time."""
        raise NotImplementedError

    def _of_message(self, message: Raw, at: str) -> list[Raw]:
        """Return the lines of a message, which was said at this time."""
        raise NotImplementedError


class ClaudeCodeWriter(_SessionWriter):
    """Writes Anthropic messages as the lines of a session file of Claude Code. A system prompt has no place there."""

    def _head_lines(self, system: str, at: str) -> list[Raw]:
        if system:
            self._left_out.add("system prompts left out", why=NO_PLACE)
        del at
        return []

    def _of_message(self, message: Raw, at: str) -> list[Raw]:
        role, content = message["role"], message["content"]
        label = self._label()
        line: Raw = {
            "parentUuid": self._last or None,
            "isSidechain": False,
            "sessionId": self._session,
            "type": "assistant" if role == "assistant" else "user",
            "message": {"role": "user", "content": content},
            "uuid": label,
            "timestamp": at,
        }
        if role == "assistant":
            said = {
                "id": f"msg_{label.replace('-', '')}",
                "type": "message",
                "role": role,
                "content": as_parts(content),
            }
            line["message"] = {**said, "model": "", "stop_reason": None, "stop_sequence": None, "usage": {}}
        elif role != "user":
            self._left_out.add("system messages that became the user's")
        self._last = label
        return [line]


class CodexWriter(_SessionWriter):
    """Writes items of the Responses API as the lines of a rollout file of Codex."""

    def _head_lines(self, system: str, at: str) -> list[Raw]:
        payload: Raw = {"id": self._session, "timestamp": at, "originator": "transom", "cwd": "", "cli_version": ""}
        if system:
            payload["base_instructions"] = {"text": system}
        return [{"timestamp": at, "type": "session_meta", "payload": payload}]

    def _of_message(self, message: Raw, at: str) -> list[Raw]:
        item = message if "type" in message else {"type": "message", **message}
        if isinstance(item.get("content"), str) and item["type"] == "message":
            kind = "output_text" if item.get("role") == "assistant" else "input_text"
            item = {**item, "content": [{"type": kind, "text": item["content"]}]}
        if item["type"] == "local_shell_call_output":  # Codex itself answers a local shell like a function
            label = item.get("call_id", item.get("id"))
            item = {"type": "function_call_output", "call_id": label, "output": item["output"]}
        return [{"timestamp": at, "type": "response_item", "payload": item}]


class PiWriter(_SessionWriter):
    """Writes OpenAI Chat messages as the lines of a session file of pi. A system prompt has no place there."""

    def __init__(self, conversation: str, left_out: LeftOut) -> None:
        super().__init__(conversation, left_out)
        self._names: dict[str, str] = {}  # of the tools, by the id of the call

    def _head_lines(self, system: str, at: str) -> list[Raw]:
        if system:
            self._left_out.add("system prompts left out", why=NO_PLACE)
        return [{"type": "session", "version": 3, "id": self._session, "timestamp": at, "cwd": ""}]

    def _of_message(self, message: Raw, at: str) -> list[Raw]:
        label = self._label()[:8]
        line = {"type": "message", "id": label, "parentId": self._last or None, "timestamp": at}
        self._last = label
        return [{**line, "message": self._said(message)}]

    def _said(self, message: Raw) -> Raw:
        role, content = text(message, "role"), message.get("content")
        if role == "assistant":
            return {"role": role, "content": self._blocks(message), "api": "", "provider": "", "model": ""}
        if role in {"tool", "function"}:
            label = text(message, "tool_call_id") or text(message, "name")
            named = self._names.get(label) or text(message, "name")
            said, failed = _without_failed_mark(self._parts(content))
            answer = {"role": "toolResult", "toolCallId": label, "toolName": named, "content": said}
            return {**answer, "isError": failed, **fields_of_result(message)}
        if role != "user":
            self._left_out.add("system messages that became the user's")
        return {"role": "user", "content": content if isinstance(content, str) else self._parts(content)}

    def _blocks(self, message: Raw) -> list[Raw]:
        """The blocks of a turn: as they were, if it was imported from pi; else its thought, its text, and its calls."""
        thought = text(message, "reasoning_content") or text(message, "reasoning")
        calls, content = list(self._calls(message)), message.get("content")
        texts = [content] if isinstance(content, str) else [text(part, "text") for part in objects_in(content)]
        if (noted := noted_blocks(message, thought, texts, calls)) is not None:
            return list(noted)
        first = [{"type": "thinking", "thinking": thought}] if thought else []
        said = plain_text(content)
        return [*first, *([{"type": "text", "text": said}] if said else []), *calls]

    def _calls(self, message: Raw) -> Iterator[Raw]:
        legacy = as_dict(message.get("function_call"))  # beside `tool_calls` it says the same again
        for call in objects_in(message.get("tool_calls")) or ([{"function": legacy}] if legacy else []):
            name, args = name_and_arguments(call)
            if not isinstance(args, dict):  # pi has them only as an object
                self._left_out.add(NO_OBJECT)
                args = {WRAPPED: args}
            label = text(call, "id") or name
            self._names[label] = name
            yield {"type": "toolCall", "id": label, "name": name, "arguments": args}

    def _parts(self, content: object) -> list[Raw]:
        if isinstance(content, str):
            return [{"type": "text", "text": content}]
        out: list[Raw] = []
        for part in objects_in(content):
            url = text(as_dict(part.get("image_url")), "url") or text(part, "image_url")
            if found := data_of(url):
                out.append({"type": "image", "data": found[1], "mimeType": found[0]})
            elif url:  # pi has only the bytes of an image
                self._left_out.add("images at URLs that became the text of the URL")
                out.append({"type": "text", "text": url})
            elif (kind := text(part, "type")) in MEDIA_TYPES:
                self._left_out.add("files left out", why=NO_PLACE)
                out.append({"type": "text", "text": left_out_marker(MEDIA_TYPES[kind])})
            else:
                out.append({"type": "text", "text": text(part, "text") or compact_json(part)})
        return out


def _without_failed_mark(blocks: list[Raw]) -> tuple[list[Raw], bool]:
    """The blocks of a result without the mark of failed results, and whether they had it: pi has a field for that."""
    first = text(blocks[0], "text") if blocks else ""
    if first != FAILED and not first.startswith(f"{FAILED} "):
        return blocks, first.startswith(FAILED)
    rest = first.removeprefix(FAILED).removeprefix(" ")
    is_mark_alone = first == FAILED and len(blocks) > 1  # the mark stands before an image
    return [*([] if is_mark_alone else [{**blocks[0], "text": rest}]), *blocks[1:]], True


def _texts(head: Head) -> list[str]:
    """Return the text of each instruction. Its parts are paragraphs: without a blank line two words became one."""
    return ["\n\n".join(part.text for part in each.parts if isinstance(part, Text)) for each in head.messages]


def _first_time(messages: Iterable[TimedMessage]) -> tuple[str, Iterable[TimedMessage]]:
    """Return the time of the first message, as ISO 8601, and all the messages, the first one included.

    Without a message, the time is that of the epoch (1970). The caller must use the returned messages: the given
    iterable may be used up.
    """
    rest = iter(messages)
    first = next(rest, None)
    return (iso_time(0.0), ()) if first is None else (iso_time(first.at), chain([first], rest))
