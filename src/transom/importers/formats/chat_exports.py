"""Reads the exports of ChatGPT and Claude.ai.

Their messages form a tree: a message that was edited or answered again has several children. The conversation is the
path from the root to the newest message. The messages on other branches were taken back, and are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from transom.core.message import Call, Raw, Reasoning, Text
from transom.importers.formats.chat_builder import CallResult, ChatBuilder, Piece, arguments, parsed_text, result_text
from transom.importers.formats.containers import Container, ConversationBody
from transom.wire.fields import as_dict, objects_in, text

MessagePath = tuple[list[Raw], int]
"""The messages on the path to the newest one, the oldest first, and how many are on other branches."""


def path_to(newest: str, messages: Mapping[str, Raw], parent: str) -> MessagePath:
    """Return the messages on the path from the root to the message with the id `newest`, the root first, and how many
    others there are.

    `messages`: all messages by id; `parent`: the key under which a message has the id of its parent. The path is empty
    if there is no message with the id `newest`.
    """
    out: list[Raw] = []
    at, passed = newest, set[str]()
    while at in messages and at not in passed:
        passed.add(at)
        out.append(messages[at])
        at = text(messages[at], parent)
    return out[::-1], len(messages) - len(out)


def claude_ai_path(chat: Raw) -> MessagePath:
    """Return the messages on the path to the newest message of a chat of Claude.ai, the oldest first, and how many are
    on other branches.

    If the messages do not form a tree, all are returned, in their order: exports of earlier years name no parents.
    """
    listed = objects_in(chat.get("chat_messages"))
    known = {text(each, "uuid"): each for each in listed}
    if len(known) < len(listed) or not any(text(each, "parent_message_uuid") in known for each in listed):
        return listed, 0
    newest = text(chat, "current_leaf_message_uuid")
    return path_to(newest if newest in known else text(listed[-1], "uuid"), known, "parent_message_uuid")


def chatgpt_path(chat: Raw) -> MessagePath:
    """Return the messages on the path to the newest message of a chat of ChatGPT, the oldest first, and how many are on
    other branches. Nodes of the tree without a message do not count."""
    nodes = {key: as_dict(node) for key, node in as_dict(chat.get("mapping")).items()}
    newest = text(chat, "current_node")
    if newest not in nodes:
        newest = next(reversed(nodes), "")
    way, _ = path_to(newest, nodes, "parent")
    said = [as_dict(node.get("message")) for node in way]
    whole = sum(bool(as_dict(node.get("message"))) for node in nodes.values())
    kept = [each for each in said if each]
    return kept, whole - len(kept)


def chatgpt_messages(values: Iterable[object]) -> Iterator[Raw]:
    """Translate messages of ChatGPT to OpenAI Chat messages.

    A message of the model whose recipient is not "all", "assistant" or empty is a call of the tool that the recipient
    names. Thoughts are messages of their own in the export, and become the reasoning of what the model says next.
    """
    builder = ChatBuilder()
    thoughts: list[Piece] = []
    for message in map(as_dict, values):
        author = as_dict(message.get("author"))
        role, name = text(author, "role"), text(author, "name")
        pieces = list(_pieces(as_dict(message.get("content"))))
        recipient = text(message, "recipient")
        if role == "assistant" and recipient not in {"", "all", "assistant"}:
            said = "\n".join(piece.text for piece in pieces if isinstance(piece, Text))
            given = parsed_text(said)
            call = Call(text(message, "id"), recipient, said if isinstance(given, dict) else arguments({"input": said}))
            pieces = [call, *(piece for piece in pieces if not isinstance(piece, Text))]
        if role == "tool":
            said = "\n".join(piece.text for piece in pieces if isinstance(piece, Text))
            pieces = [CallResult("", name, said)] if said else []
        if role == "assistant" and pieces and all(isinstance(piece, Reasoning) for piece in pieces):
            thoughts += pieces
            continue
        if pieces and role == "assistant":
            pieces = [*thoughts, *pieces]
        elif pieces:
            yield from builder.messages("assistant", thoughts)
        thoughts = [] if pieces else thoughts
        yield from builder.messages(role if role in {"system", "assistant", "tool"} else "user", pieces)
    yield from builder.messages("assistant", thoughts)


_TEXT_KEYS = ("text", "result", "title", "content", "summary", "user_profile", "user_instructions", "model_set_context")
"""The keys of a content, other than `parts`, under which ChatGPT has texts."""


def _pieces(content: Raw) -> Iterator[Piece]:
    kind = text(content, "content_type")
    if kind in {"thoughts", "reasoning_recap"}:
        for each in objects_in(content.get("thoughts")):
            yield Reasoning("\n".join(filter(None, (text(each, "summary"), text(each, "content")))))
        if said := text(content, "content"):
            yield Reasoning(said)
        return
    parts: Any = content.get("parts")
    for part in cast("list[object]", parts) if isinstance(parts, list) else []:
        fields = as_dict(part)
        if isinstance(part, str):
            yield from [Text(part)] if part else []
        elif text(fields, "asset_pointer"):
            yield Text(f"[{text(fields, 'content_type') or 'file'}: {fields['asset_pointer']}]")
        elif fields:
            yield Text(text(fields, "text") or result_text(fields))
    for key in _TEXT_KEYS:
        if said := text(content, key):
            yield Text(said)


def _branches(left_out: int) -> tuple[str, ...]:
    if not left_out:
        return ()
    return (f"left out {'1 message' if left_out == 1 else f'{left_out:,} messages'} of branches that were taken back",)


def _chatgpt(value: Raw) -> Iterator[ConversationBody]:
    messages, left_out = chatgpt_path(value)
    yield ConversationBody(
        id=text(value, "conversation_id") or text(value, "id"),
        messages=list(chatgpt_messages(messages)),
        format="openai",
        notes=_branches(left_out),
    )


def _claude_ai(value: Raw) -> Iterator[ConversationBody]:
    messages, left_out = claude_ai_path(value)
    yield ConversationBody(id=text(value, "uuid"), messages=messages, format="claude_ai", notes=_branches(left_out))


CHAT_EXPORTS = (
    Container(
        name="chatgpt",
        title="ChatGPT export",
        is_one=lambda value: isinstance(value.get("mapping"), dict),
        bodies=_chatgpt,
        texts=lambda value: [each.get("content") for each in chatgpt_path(value)[0]],
    ),
    Container(name="claude_ai", is_one=lambda value: isinstance(value.get("chat_messages"), list), bodies=_claude_ai),
)
