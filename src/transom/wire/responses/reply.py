"""Reads replies of the Responses API: a response as an object or a dict, an item, or a list of items."""

from __future__ import annotations

from typing import Any, cast

from msgspec.structs import replace

from transom.core.message import Assistant, Raw
from transom.errors import InvalidMessage
from transom.wire.bound_reasoning import bind
from transom.wire.fields import kind_of
from transom.wire.responses.built_in import is_clients
from transom.wire.responses.parse import CALLS, DIALECT_NAME, read
from transom.wire.sdk_objects import UsageFields, dumped, require_reply, with_usage
from transom.wire.stop_reason import stop_reason_of
from transom.wire.violations import as_dict, dicts, text

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
    """The turn in a reply, with its usage if that came. A reply without items gives a turn without content.

    `bound`: see `ResponsesDialect`.

    A reply that reached a limit or was refused has no calls of the provider's own tools that were still running.

    Raises InvalidMessage for an error, for more than one turn, and for items that are not the model's.
    """
    plain = as_item(reply)
    if isinstance(plain, (list, tuple)):
        return _turn(cast("list[object]", plain), bound=bound)
    if not isinstance(plain, dict):
        raise InvalidMessage("reply", f"a response, an item or a list of items is needed, not {kind_of(plain)}")
    response = cast("Raw", plain)
    if "role" in response or response.get("type", "error") != "error":
        return _turn([response], bound=bound)
    require_reply(response, "a response")
    if not isinstance(response.get("output"), list):
        raise InvalidMessage("reply", f"the reply's output must be a list, not {kind_of(response.get('output'))}")
    compacted = response.get("object") == "response.compaction"
    items: list[object] = response["output"]
    if stop_reason_of(response) in ("length", "filter"):
        items = without_unfinished_calls(items)
    turn = _turn(items, bound=bound, model=response.get("model"), compacted=compacted)
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
    kind = text(item, "type")
    is_providers = kind.endswith("_call") and kind not in CALLS and not is_clients(item)
    return is_providers and text(item, "status") not in ("", "completed", "failed")


def _turn(items: list[object], *, bound: bool, model: object = None, compacted: bool = False) -> Assistant:
    """The turn in a list of items, empty if there are none. `compacted`: they are an answer of `responses.compact`.
    Raises InvalidMessage if they are more than one turn."""
    if not items:
        return Assistant(shape="absent", dialect=DIALECT_NAME)
    facts = [fact for _, fact in read([as_item(item) for item in items], "reply, ", compacted=compacted)]
    if bound:
        facts = [bind(fact, model) for fact in facts]
    if len(facts) == 1 and isinstance(facts[0], Assistant):
        return facts[0]
    raise InvalidMessage("reply", "must be one turn of the model: neither anybody else's messages nor outputs of calls")
