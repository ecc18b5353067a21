"""Repairs items just before they are sent: it changes what the API would refuse, and nothing else.

A repair always gives the same result. The rules are those of `rules`; the two share no code, so that each tests the
other.
"""

from __future__ import annotations

from typing import Any

from transom import texts
from transom.core.message import Raw
from transom.wire.responses.built_in import is_clients
from transom.wire.responses.parse import ANSWERS, CALLS, COMPACTIONS, MODEL_TEXT, TEXTS, USER_TEXT, is_models, kind

_BLURRED = frozenset(
    {*CALLS, "message", "tool_search_call", "tool_search_output", "shell_call", "shell_call_output", "apply_patch_call"}
)
"""Types of items that the API accepts without an id."""

_NAMED = {"computer_call": "cu", "local_shell_call": "lsh"}
"""Calls that the client answers and that need an id, and what the id begins with."""

_TAKEN = {"assistant": {"output_text", "refusal"}, "result": {"input_text", "input_image", "input_file"}}
"""The only types of parts in a message of the model, and in an output."""

_CHATS = frozenset({"text", "image_url", "file"})
"""Types of parts of the chat API, which this API refuses."""


def left_out() -> Raw:
    """A message of the assistant that says that a part was left out."""
    return {"role": "assistant", "content": texts.left_out_marker("part")}


# ---- reasoning and what it produced


def _unbound(item: Raw) -> Raw:
    """A copy of an item of the model without the id that binds it to reasoning. An item that needs its id becomes a
    placeholder."""
    if kind(item) in COMPACTIONS:  # it was made of all that went before, and R9 wants it untouched
        return item
    if kind(item) in _NAMED and is_clients(item):  # its output stays, so it does: under an id that nothing binds
        return {**item, "id": f"{_NAMED[kind(item)]}_{item['call_id']}"}
    if kind(item) not in _BLURRED:
        return left_out()
    nameless = _without(item, "id")
    return _easy_message(nameless) if kind(item) == "message" else nameless


def _easy_message(item: Raw) -> Raw:
    """A message of the model without an id. The SDK's types want its content as one string, and no status. The texts of
    its parts are joined as the SDK's `output_text` joins them."""
    content: str | list[Raw] = item["content"]
    if not isinstance(content, str):
        parts = [_part(part, "assistant") for part in content]
        content = "".join(part[TEXTS[part["type"]]] for part in parts)
    return {**_without(item, "status"), "content": content}


def is_sendable(reasoning: Raw) -> bool:
    """Whether a reasoning item may be sent: it has an id, or is encrypted. The SDK's types want an id; OpenAI, which
    encrypted it, does not."""
    return isinstance(reasoning.get("id"), str) or isinstance(reasoning.get("encrypted_content"), str)


def _without(item: Raw, *keys: str) -> Raw:
    """An item without these keys."""
    return {key: value for key, value in item.items() if key not in keys}


def without_orphans(items: list[Raw]) -> list[Raw]:
    """A turn's items after some were trimmed. The output of a tool search whose call is gone becomes a placeholder."""
    asked = [item.get("call_id") for item in items if kind(item) == "tool_search_call"]
    alone = [item for item in items if kind(item) == "tool_search_output" and item.get("call_id") not in asked]
    return [left_out() if item in alone else item for item in items]


def beside_compaction(items: list[Raw]) -> list[Raw]:
    """A turn's items from its newest compaction on. Before it stay calls, which have outputs, and messages that
    `responses.compact` has kept: then there are messages of the user among them.

    Items of the model have no ids here unless reasoning precedes them: some models ask by such an id for the reasoning,
    which went into the compaction.
    """
    newest = max((at for at, item in enumerate(items) if kind(item) in COMPACTIONS), default=-1)
    if newest < 0:
        return items
    has_kept = any(kind(item) == "message" and not is_models(item) for item in items[:newest])
    staying = ("message", *CALLS) if has_kept else CALLS
    before = [item for item in items[:newest] if kind(item) in staying or is_clients(item)]
    out, has_reasoning = list[Raw](), False
    for item in (*before, *items[newest:]):
        has_reasoning = has_reasoning or kind(item) == "reasoning"
        is_bound = kind(item) in ("message", *CALLS) and is_models(item) and not has_reasoning
        out.append(_unbound(item) if is_bound else item)
    return out


def with_distinct_ids(items: list[Raw], *, lost: bool = False) -> list[Raw]:
    """The items, in which no id comes twice, because the API refuses that: the later item loses its id.

    Reasoning cannot be sent without its id. Where some is missing, the API would ask for it by the ids of what it
    produced (R6). So from there on, the turn has neither reasoning nor ids. `lost`: some is missing before the first
    item.
    """
    out: list[Raw] = []
    seen = set[str]()
    for item in items:
        label: Any = None if kind(item) == "local_shell_call_output" else item.get("id")  # that names its call
        is_repeated = isinstance(label, str) and label in seen
        if not is_repeated and not lost:  # nearly always
            out.append(item)
            if isinstance(label, str):
                seen.add(label)
            continue
        models = is_models(item)
        lost = models and (lost or (is_repeated and kind(item) == "reasoning"))
        if lost and kind(item) == "reasoning":
            continue
        said = _unbound(item) if models and (is_repeated or lost) else item
        out.append(_without(said, "id") if is_repeated and said.get("id") == label else said)
        if isinstance(label, str):
            seen.add(label)
    return out


# ---- one item by itself


def repair(item: Raw) -> Raw:
    """Repair an item and return it; it may be changed in place, or replaced. A valid item stays as it is."""
    answer = kind(item) in ANSWERS
    if answer or kind(item) == "message":
        key, role = ("output", "result") if answer else ("content", item["role"])
        if role == "assistant" and not isinstance(item.get("id"), str):
            return _easy_message(item)
        item[key] = [_part(part, role) for part in item[key]] if isinstance(item[key], list) else item[key]
    elif kind(item) == "reasoning" and not isinstance(item.get("summary"), list):
        item["summary"] = []
    elif kind(item) in COMPACTIONS and not isinstance(item.get("encrypted_content"), str):  # R9: nothing is left of it
        return left_out()
    return item


def _part(part: Raw, role: str) -> Raw:
    """A content part that this role may have; a text or a placeholder for any other."""
    given, plain = part.get("type"), MODEL_TEXT if role == "assistant" else USER_TEXT
    type_ = given if isinstance(given, str) else ""
    # new kinds of parts come for the model to hear: the caller knows its model
    if type_ in _TAKEN[role] if role in _TAKEN else type_ and type_ not in _CHATS:
        return part
    words = part.get(TEXTS.get(type_ or plain, ""))
    medium = next((medium for medium in ("image", "file") if medium in type_), "part")
    return {"type": plain, "text": words if isinstance(words, str) else texts.left_out_marker(medium)}
