"""What a message of pi has and OpenAI Chat has no place for: signatures, details of results, the order of blocks.

It is kept in a field of the message (`NOTES`), which is never sent, so that an export gives it back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from transom.core.message import Raw
from transom.wire.fields import as_dict, objects_in, text
from transom.wire.openai.render import NOTES

_WORDS = {"thinking": "thinking", "text": "text"}
"""The field that holds the words of a block, by the block's type."""
_OF_CALLS = ("id", "name", "arguments")
_OF_RESULTS = frozenset({"role", "toolCallId", "toolName", "content", "isError", "timestamp"})


def notes_of_result(message: Raw) -> Raw:
    """Return the fields to add to the chat message of pi's tool result `message`: NOTES, with the fields of pi that the
    chat message has no place for. Empty if there are no such fields."""
    rest = {key: value for key, value in message.items() if key not in _OF_RESULTS}
    return {NOTES: {"pi": rest}} if rest else {}


def fields_of_result(message: Raw) -> Raw:
    """Return the fields of pi that `notes_of_result` has put into the chat message of a tool result; empty if it has
    none."""
    return as_dict(as_dict(message.get(NOTES)).get("pi"))


def notes_of_turn(blocks: Sequence[Raw]) -> Raw:
    """Return the fields to add to the chat message of a turn of the model, whose blocks in pi these are: NOTES, with
    each block without what the chat message says of it, and with the length of a thought.

    Empty if the chat message says everything: at most one thought, then at most one text, then calls, none of them
    empty, and no other field.
    """
    noted = [_noted(block) for block in blocks]
    kinds = [text(block, "type") for block in blocks]
    plain = [*(kind for kind in _WORDS if kind in kinds), *("toolCall" for kind in kinds if kind == "toolCall")]
    is_empty = any(not text(block, _WORDS[kind]) for block, kind in zip(blocks, kinds, strict=True) if kind in _WORDS)
    if kinds == plain and not is_empty and all(note.keys() <= {"type", "length"} for note in noted):
        return {}
    return {NOTES: {"pi": noted}}


def _noted(block: Raw) -> Raw:
    kind = text(block, "type")
    if kind == "toolCall":
        return {key: value for key, value in block.items() if key not in _OF_CALLS}
    rest = {key: value for key, value in block.items() if key != _WORDS.get(kind)}
    return {**rest, "length": len(text(block, "thinking"))} if kind == "thinking" else rest


def noted_blocks(message: Raw, thought: str, texts: Sequence[str], calls: Sequence[Raw]) -> Iterator[Raw] | None:
    """Return the blocks of pi for a turn of the model, in their first order and with all fields, by the notes that
    `notes_of_turn` has put into its chat message. None if the message has no notes, or none that fit.

    `thought`: all thoughts of the turn, a line break between two; `texts`: the texts of its parts; `calls`: the blocks
    of its calls.
    """
    noted = objects_in(as_dict(message.get(NOTES)).get("pi"))
    kinds = [text(note, "type") for note in noted]
    parts = len(kinds) - kinds.count("thinking") - kinds.count("toolCall")
    if not noted or kinds.count("toolCall") != len(calls) or parts < len(texts):
        return None
    return _with_notes(noted, thought, texts, calls)


def _with_notes(noted: Sequence[Raw], thought: str, texts: Sequence[str], calls: Sequence[Raw]) -> Iterator[Raw]:
    thought_from, said, made = 0, iter(texts), iter(calls)
    for note in noted:
        kind = text(note, "type")
        if kind == "toolCall":
            yield {**next(made), **note}
        elif kind == "thinking":
            length = note.get("length")
            to = thought_from + (length if isinstance(length, int) else 0)
            rest = {key: value for key, value in note.items() if key != "length"}
            yield {**rest, "thinking": thought[thought_from:to]}
            thought_from = to + 1 if to > thought_from else to  # behind the line break
        else:
            words = next(said, "")
            yield {**note, "text": words} if kind == "text" else note
