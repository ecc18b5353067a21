"""Reads items and replies as facts. Nothing that the API takes is lost: fields without a place stay in `extra`.

Items of the model that follow one another (reasoning, messages, calls, the work of built-in tools) are one turn, which
remembers their order. An item of anybody else, or the output of a call, ends it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from itertools import groupby
from typing import Any, cast

from msgspec.structs import replace

from transom.core import message as m
from transom.core.message import Assistant, Part, Raw, turn_of
from transom.errors import InvalidMessage
from transom.wire.bound_reasoning import bind
from transom.wire.dialect import Placed
from transom.wire.fields import (
    MediaTypes,
    as_dict,
    as_text,
    dicts,
    is_text,
    json_copy,
    kind_of,
    other_part,
    require_dialect,
    require_object,
    require_role,
    take_content,
    take_text,
    text,
    text_part,
)
from transom.wire.replies import UsageFields, dumped, must_be_read, require_reply, stop_reason_of, with_usage
from transom.wire.responses.built_in_tools import BUILT_IN_OUTPUTS, client_outputs, is_clients, read_call, read_output
from transom.wire.translate import without_failed_mark

DIALECT_NAME = "responses"
"""The name of this dialect in facts."""

CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
"""The kinds of calls that the client answers, and the key of the arguments in each."""

OUTPUTS = {kind: f"{kind}_output" for kind in CALLS}
ANSWERS = frozenset(OUTPUTS.values())

TEXTS = {"input_text": "text", "output_text": "text", "refusal": "refusal", "summary_text": "text", "text": "text"}
"""The types of text parts, and the key of the text in each. (`text` is the chat API's: this API refuses it.)"""

MODEL_TEXT, USER_TEXT = "output_text", "input_text"
"""The type of a text part in the model's messages, and in all others."""

INSTRUCTIONS = "instructions"
"""Marks an instruction that a request has beside the items."""

ITEMS = "items"
"""The key in a turn's `extra` for the fields of the messages it came in; null for each item that is a part by itself.

A message there has `content` only if that was a string or empty: then the turn has one empty text for it.
"""

SETTINGS = frozenset({"additional_tools", "configuration_update"})
"""The types of items in which the developer adds tools, or changes settings (Codex) from there on."""

COMPACTIONS = frozenset({"compaction", "compaction_summary", "context_compaction"})
"""The types of items in which the provider has compacted what precedes them."""

RESPONSE_ONLY = ("created_by", "parsed_arguments", "provider_specific_fields")
"""Fields of items that only responses have. See docs/why/response-fields.md."""

MEDIA_TYPES: MediaTypes = {
    "input_file": "file",
    "input_audio": "file",
    "input_image": "image",
    "computer_screenshot": "image",
    "image_generation_call": "image",
    "computer_call_output": "image",
}
"""Types of content parts and items that hold an image or a file."""

APPROVAL_REQUEST, APPROVAL_RESPONSE = "mcp_approval_request", "mcp_approval_response"

_ROLES = ("user", "assistant", "system", "developer")

_Item = tuple[int, str, Raw]
"""An item: its index, what errors call it, and its fields."""


def kind(item: Raw) -> str:
    """The type of an item; "message" if it has none."""
    return item.get("type") or "message"


def is_item(part: Raw) -> bool:
    """Whether an object that stands among the parts of a message is in truth an item, which belongs into the list of
    items."""
    known = {*COMPACTIONS, *SETTINGS, *ANSWERS, *BUILT_IN_OUTPUTS, "message", "reasoning", "item_reference"}
    return part.get("type") in known or str(part.get("type")).startswith("mcp_")


def is_models(item: Raw) -> bool:
    """Whether the model made an item: its message, reasoning or call, or the work of the provider's own tools."""
    type_ = kind(item)
    if type_ == "tool_search_output":
        return item.get("execution") != "client"
    outputs = ANSWERS | BUILT_IN_OUTPUTS
    return item.get("role") == "assistant" if type_ == "message" else type_ not in outputs | SETTINGS


def read(
    items: Sequence[object], prefix: str = "", *, compacted: bool = False, reads_failed_mark: bool = True
) -> list[Placed]:
    """The facts of a list of items, each with the index of its first item. `items`: dicts; an object of a client
    library must have gone through `as_item`. Neighbouring items of the model are one turn. Reasoning is not marked as
    bound. `prefix`: empty, or what errors say in front of "item 3", with its comma ("fork, ").

    Messages that `responses.compact` has kept in front of its compaction belong to the turn of the compaction.
    `compacted`: the list is such an answer; otherwise they are known by their ids: only the provider gives an id to a
    message of the user. `reads_failed_mark`: an output whose text begins with the mark of failed results is read as a
    failed result. Raises InvalidMessage for an item that is not in this dialect.
    """
    known = [(at, where := f"{prefix}item {at}", _fields_of(item, where)) for at, item in enumerate(items)]
    outputs = client_outputs(fields for _, _, fields in known)
    kept = _kept_by_compaction([fields for _, _, fields in known], compacted=compacted)
    out: list[Placed] = []

    def is_of_turn(item: _Item) -> bool:
        at, _, fields = item
        return at in kept or (at not in outputs and (kind(fields) in BUILT_IN_OUTPUTS or is_models(fields)))

    for of_turn, run in groupby(known, is_of_turn):
        if of_turn:
            out.append(_turn(list(run), kept))
            continue
        for at, where, fields in run:
            label = outputs.get(at)
            fact = _others(fields, where) if label is None else read_output(fields, label, DIALECT_NAME)
            out.append((at, without_failed_mark(fact) if reads_failed_mark and label is None else fact))
    return out


def _kept_by_compaction(items: list[Raw], *, compacted: bool) -> set[int]:
    """The indexes of the messages that `responses.compact` has kept directly in front of its compaction. It keeps
    messages of the user: without one among them, none of the messages there counts as kept. `compacted`: see `read`."""
    kept, run = set[int](), list[int]()
    for at, item in enumerate(items):
        if kind(item) in COMPACTIONS and any(not is_models(items[before]) for before in run):
            kept.update(run)
        is_kept = kind(item) == "message" and (compacted or is_text(item.get("id")))
        run = [*run, at] if is_kept else []
    return kept


def _fields_of(item: object, where: str) -> Raw:
    """A copy of an item's fields that may be sent. Raises InvalidMessage for an item of another dialect."""
    fields = require_dialect(json_copy(require_object(item, where, "an item"), where), where, "responses")
    type_ = fields.get("type")
    if not is_text(type_) and (type_ is not None or "role" not in fields):
        what = f"the item has no role, and its type must be a string, not {kind_of(type_ or None)}"
        raise InvalidMessage(where, what)
    if kind(fields) == "message":
        require_role(_ROLES, fields.get("role"), where)
    _drop_response_only(fields)
    return fields


def _drop_response_only(fields: Raw) -> None:
    """Remove fields from an item, in place, that responses or the SDK's `.parse()` add and the API refuses."""
    for key in RESPONSE_ONLY:
        fields.pop(key, None)
    if kind(fields) == "custom_tool_call_output":
        fields.pop("status", None)
    content = fields.get("content")
    for part in cast("list[object]", content) if isinstance(content, list) else ():
        if isinstance(part, dict):
            cast("Raw", part).pop("parsed", None)


def _others(fields: Raw, where: str) -> m.Fact:
    """The fact of an item that is not the model's."""
    if kind(fields) in SETTINGS:
        return m.Instruction(parts=(m.Other(fields),), shape="parts", role="developer", dialect=DIALECT_NAME)
    if kind(fields) in ANSWERS:
        del fields["type"]  # its call says it
        return m.ToolResult(call=take_text(fields, "call_id", where, ""), **_user_fields(fields, "output", where))
    role = fields.pop("role")
    heard = _user_fields(fields, "content", where)
    return m.User(**heard) if role == "user" else m.Instruction(role=role, **heard)


def _user_fields(fields: Raw, key: str, where: str) -> dict[str, Any]:
    """The keyword arguments of a fact that is not the model's: the content under `key`, and the rest as `extra`."""
    parts, shape = _content(fields, key, where, USER_TEXT)
    return {"parts": parts, "shape": shape, "extra": fields or None, "dialect": DIALECT_NAME}


def _turn(items: list[_Item], kept: Collection[int]) -> Placed:
    """The turn of neighbouring items, and the index of the first. `kept`: what a compaction has kept."""
    pieces: list[m.Addressed] = []
    messages: list[Raw | None] = []
    order = ""  # with a bar before each message
    for at, where, fields in items:
        if at in kept or kind(fields) in COMPACTIONS:
            is_whole = at in kept or is_text(fields.get("encrypted_content"))
            pieces.append(m.Other(fields, compaction=is_whole))
            order += "|p"
            messages.append(None)
        elif kind(fields) == "reasoning":
            pieces.append(_thought(fields, where))
            order += "r"
        elif kind(fields) in CALLS or is_clients(fields):
            pieces.append(_call(fields, where) if kind(fields) in CALLS else read_call(fields))
            order += "c"
        else:
            said = _message(fields, where) if kind(fields) == "message" else (other_part(fields, MEDIA_TYPES),)
            pieces += said
            order += "|" + "p" * len(said)
            messages.append(fields if kind(fields) == "message" else None)
    shape = "parts" if messages else "absent"
    turn = turn_of(pieces, shape=shape, extra={ITEMS: messages} if messages else None, dialect=DIALECT_NAME)
    turn = replace(turn, order=order) if len(messages) > 1 else turn
    raw = [part.raw for part in turn.parts if isinstance(part, m.Other)]
    return items[0][0], m.with_pending_calls(turn, map(approval_request, raw), map(approved_request, raw), ())


def approval_request(item: Raw) -> str:
    """The id under which an item asks for an approval; empty for any other item."""
    return text(item, "id") if item.get("type") == APPROVAL_REQUEST else ""


def approved_request(item: Raw) -> str:
    """The id of the request for an approval that an item answers; empty for any other item."""
    return text(item, "approval_request_id") if item.get("type") == APPROVAL_RESPONSE else ""


def _message(fields: Raw, where: str) -> tuple[Part, ...]:
    """The parts of a message of the model, taken out of its fields; at least one, if only an empty text. If the content
    was a text, or was empty, a trace of that stays under `content` (see `ITEMS`)."""
    parts, shape = _content(fields, "content", where, MODEL_TEXT)
    if shape != "parts" or not parts:
        fields["content"] = [] if shape == "parts" else ""
    return parts or (m.Text(""),)


def _call(fields: Raw, where: str) -> m.Call:
    """The call in an item. A custom tool's keeps its type in `extra`. Arguments that are not a text become JSON."""
    label, name = (take_text(fields, key, where, "") for key in ("call_id", "name"))
    args = as_text(fields.pop(CALLS[kind(fields)], None))
    if kind(fields) == "function_call":
        del fields["type"]
    return m.Call(label, name, args, fields or None)


def _thought(fields: Raw, where: str) -> m.Reasoning:
    """The reasoning in an item. The whole item is in `extra`; the text is what is not encrypted."""
    words: list[str] = []
    for key in ("summary", "content"):
        listed: Any = fields.get(key) or []
        if not isinstance(listed, list):
            raise InvalidMessage(where, f"{key} must be a list, not {kind_of(listed)}")
        parts = [require_object(part, where, f"{key}[{at}]") for at, part in enumerate(cast("list[object]", listed))]
        words += [part["text"] for part in parts if isinstance(part.get("text"), str)]
    return m.Reasoning("\n".join(words), "reasoning", extra=fields)


def _content(fields: Raw, key: str, where: str, plain: str) -> tuple[tuple[Part, ...], m.Shape]:
    """The content taken out of an item. `plain`: the usual type of text parts here, which need not be kept."""
    fields.setdefault(key, None)
    return take_content(fields, key, where, "a string or a list of parts", partial(_part, plain=plain))


def _part(raw: Raw, where: str, path: str, *, plain: str) -> Part:
    """A content part."""
    type_: object = raw.get("type")
    if not isinstance(type_, str) or type_ not in TEXTS:
        return other_part(raw, MEDIA_TYPES)
    key = TEXTS[type_]
    return text_part(raw, key, where, path, drop={key, "type"} if type_ == plain else {key})


# ---- replies

TRANSFORMATIONS = "input_transformations"
"""The key under which a response says what the API has changed in its request: for example that reasoning was dropped,
because its prefix had changed."""

USAGE = UsageFields(
    prompt="input_tokens",
    cached="input_tokens_details.cached_tokens",
    output="output_tokens",
    cache_write="input_tokens_details.cache_write_tokens",
    reasoning="output_tokens_details.reasoning_tokens",
)


def parse_response(reply: object, *, bound: bool) -> Assistant:
    """The turn in a reply, with its usage if that came. `reply`: a response, one item, or a list of items, as objects
    or dicts. A reply without items gives a turn without content.

    A reply that reached a limit or was refused loses the calls of the provider's own tools that were still running.
    `bound`: see `ResponsesDialect`. Raises InvalidMessage for an error, for more than one turn, and for items that are
    not the model's.
    """
    plain = as_item(reply)
    if isinstance(plain, (list, tuple)):
        return _turn_of_reply(cast("list[object]", plain), bound=bound)
    if not isinstance(plain, dict):
        must_be_read(plain)
        raise InvalidMessage("reply", f"a response, an item or a list of items is needed, not {kind_of(plain)}")
    response = cast("Raw", plain)
    if "role" in response or response.get("type", "error") != "error":
        return _turn_of_reply([response], bound=bound)
    require_reply(response, "a response")
    if not isinstance(response.get("output"), list):
        raise InvalidMessage("reply", f"the reply's output must be a list, not {kind_of(response.get('output'))}")
    compacted = response.get("object") == "response.compaction"
    items: list[object] = response["output"]
    if stop_reason_of(response) in ("length", "filter"):
        items = without_unfinished_calls(items)
    turn = _turn_of_reply(items, bound=bound, model=response.get("model"), compacted=compacted)
    if changes := tuple(dicts(response.get(TRANSFORMATIONS))):
        turn = replace(turn, input_transformations=changes)
    return with_usage(turn, as_item(response.get("usage")), USAGE)


def as_item(value: object) -> object:
    """An object of a client library as a dict, without fields that were not sent; any other value as it is."""
    return dumped(value, mode="json", exclude_unset=True, by_alias=True)


def without_unfinished_calls(items: list[Any]) -> list[Any]:
    """The items of a response that ended too early, without calls of the provider's own tools that have not ended."""
    return [item for item in items if not _is_unfinished(as_dict(as_item(item)))]


def _is_unfinished(item: Raw) -> bool:
    """Whether an item is a call of the provider's own tools that has not ended."""
    type_ = text(item, "type")
    is_providers = type_.endswith("_call") and type_ not in CALLS and not is_clients(item)
    return is_providers and text(item, "status") not in ("", "completed", "failed")


def _turn_of_reply(items: list[object], *, bound: bool, model: object = None, compacted: bool = False) -> Assistant:
    """The turn in a list of items, maybe empty. Raises InvalidMessage if they are anything else."""
    if not items:
        return Assistant(shape="absent", dialect=DIALECT_NAME)
    facts = [fact for _, fact in read([as_item(item) for item in items], "reply, ", compacted=compacted)]
    if bound:
        facts = [bind(fact, model) for fact in facts]
    if len(facts) == 1 and isinstance(facts[0], Assistant):
        return facts[0]
    raise InvalidMessage("reply", "must be one turn of the model: neither anybody else's messages nor outputs of calls")
