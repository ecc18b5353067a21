"""A list of messages is found again by the bytes of its beginning, also if it is long and an old message changed."""

import json
from typing import Any

import msgspec
import pytest

from transom.core.message import Assistant
from transom.http import prefix_hashes
from transom.http.conversation_matcher import Matcher
from transom.stores.prefix_index import KnownPrefix, SqlitePrefixIndex
from transom.wire.dialects import dialect_named

START = prefix_hashes.begin("tenant", "", "openai")
OPENAI = dialect_named("openai")


def raw(*messages: Any) -> list[msgspec.Raw]:
    return [msgspec.Raw(json.dumps(message).encode()) for message in messages]


def talk(count: int) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[at % 2], "content": f"message {at}"} for at in range(count)]


def test_where_a_message_ends_counts() -> None:
    assert prefix_hashes.raw_digests(START, [b"1", b"23"])[-1] != prefix_hashes.raw_digests(START, [b"12", b"3"])[-1]


def known(count: int) -> Matcher:
    """A matcher that knows where so many messages end."""
    matcher = Matcher(SqlitePrefixIndex())
    match = matcher.match(START, raw(*talk(count)), OPENAI)
    assert match.place is None
    assert len(match.new) == count
    matcher.add((match.digest, KnownPrefix("chat", count)))
    return matcher


@pytest.mark.parametrize("count", [1, 63, 64, 65, 200])
@pytest.mark.parametrize("more", [0, 2, 150])
def test_a_list_goes_on_where_its_longest_known_beginning_ends(count: int, more: int) -> None:
    matcher = known(count)
    match = matcher.match(START, raw(*talk(count + more)), OPENAI)
    assert match.place == KnownPrefix("chat", count)
    assert len(match.new) == more


@pytest.mark.parametrize("changed", [5, 100, 199])
def test_the_place_before_a_changed_message_is_found(changed: int) -> None:
    matcher = known(4)
    for length in range(5, 202):  # as a client sends them, one more with each request
        match = matcher.match(START, raw(*talk(length)), OPENAI)
        matcher.add((match.digest, KnownPrefix("chat", length)))
    messages = talk(201)
    messages[changed]["content"] = "something else"
    match = matcher.match(START, raw(*messages), OPENAI)
    assert match.place == KnownPrefix("chat", changed)
    assert len(match.new) == 201 - changed


@pytest.mark.parametrize("is_before_known", [True, False])
@pytest.mark.parametrize("more", range(28, 36))
def test_a_turn_that_is_known_by_its_calls_is_found_far_from_the_end(more: int, is_before_known: bool) -> None:
    matcher = Matcher(SqlitePrefixIndex())
    before = matcher.match(START, raw(*talk(3)), OPENAI)
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    turn = {"role": "assistant", "content": None, "tool_calls": [call]}
    [(_, fact)] = OPENAI.parse([turn])
    assert isinstance(fact, Assistant)
    matcher.add((prefix_hashes.after_calls(before.outline, fact), KnownPrefix("chat", 4)))
    if is_before_known:
        matcher.add((before.digest, KnownPrefix("chat", 3)))
    messages = [*talk(3), {**turn, "content": "Changed."}, {"role": "tool", "tool_call_id": "c", "content": "r"}]
    match = matcher.match(START, raw(*messages, *talk(more)), OPENAI)
    assert (match.place, match.is_changed) == (KnownPrefix("chat", 4), not is_before_known)
    assert len(match.new) == 1 + more
