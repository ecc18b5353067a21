"""Checks which rules of the Messages API a request breaks. Written from the rules, not from the code that renders.

Each rule names its source: D the provider's documentation, E an error text seen in public, R a recorded exchange, P a
public program, K general knowledge without a source. These are not violations: an id that comes again in a later turn
(A5: R contradicts D; `warnings` finds it), the same role twice in a row (A7: they are merged), an assistant message
first (A8: R), a system message after the first message (A9: refused by older models), empty content of a result or of
the model (A10: D), a turn of only the work of the provider's own tools, also as the last (A16, A12: R), the size of
images (A17). Two rules cannot be checked in a request: reasoning that was changed (A13), and reasoning that was signed
for another prefix (A15). A12 depends on the model, but is a violation: only old models still take a prefill.

A `Violation.rule` is A1 to A6, A9 to A12, A14, A16 to A19; or, where a rule has no number: empty, message, role,
content, call, name, thinking, system, text, container, compaction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import dropwhile
from types import NoneType
from typing import NamedTuple

from transom.core.message import Raw
from transom.wire import violations as v
from transom.wire.dialect import Violation
from transom.wire.fields import as_dict, as_list, dicts, text

_ID = v.Must("A6", re.compile(r"[a-zA-Z0-9_-]+"))  # A6 (K: `String should match pattern '^[a-zA-Z0-9_-]+$'`)
_NAME = v.Must("name", re.compile(r"[a-zA-Z0-9_-]{1,128}"))  # K
_BLOCKS = {
    "text": v.TEXT,
    "tool_use": {"id": _ID, "name": _NAME, "input": v.Must("call", dict)},
    "tool_result": {"tool_use_id": _ID, "content": v.Must("content", (str, list, NoneType))},
    "thinking": {"thinking": v.Must("thinking", str), "signature": v.Must("thinking", str)},
    "redacted_thinking": {"data": v.Must("thinking", str)},
}
"""D: what blocks of these kinds must hold."""
_BY = {"tool_use": "assistant", "thinking": "assistant", "redacted_thinking": "assistant", "tool_result": "user"}
"""D: who says blocks of these kinds."""
_SYSTEM = {"system": v.Must("system", (str, list, NoneType))}
_CONTENT = {"content": v.Must("content", (str, list))}
_MOST_IMAGES, _MOST_MARKS = 100, 4
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})
_LABELLED = {"tool_use": ("assistant", "id"), "tool_result": ("user", "tool_use_id")}


def violations(request: object, *, user_first: bool = False, unsigned: bool = False) -> list[Violation]:
    """Every rule that a request breaks, in the order of its messages; empty for a valid one. Any JSON value may be
    given.

    `user_first`: the rules of Amazon Bedrock, where the first message must be the user's. `unsigned`: those of
    endpoints whose thinking has no signature.
    """
    fields = as_dict(request)
    messages = as_list(fields.get("messages"))
    if not messages:  # D: `messages: at least one message is required`
        return [Violation("empty", -1, "no messages")]
    each = [list(_of_message(at, _signed(each) if unsigned else each)) for at, each in enumerate(messages)]
    if user_first and as_dict(messages[0]).get("role") != "user":
        # E: "A conversation must start with a user message. Try again with a conversation that starts with a user …"
        each[0].append(("first", "the first message is not the user's"))
    return v.collect_violations(_of_request(fields), each, _of_turns(dicts(messages), as_dict(fields.get("thinking"))))


def warnings(request: object) -> list[Violation]:
    """What the documentation forbids in a request, and the API was seen to take: the id of a call that comes again in a
    later turn (A5; D: `tool_use ids must be unique`; R: taken)."""
    first, found = dict[str, int](), list[Violation]()
    for at, message in enumerate(as_list(as_dict(request).get("messages"))):
        fields = as_dict(message)
        blocks = dicts(fields.get("content")) if fields.get("role") == "assistant" else []
        for label in filter(None, (text(block, "id") for block in blocks if block.get("type") == "tool_use")):
            if first.setdefault(label, at) != at:
                why = f"the id {v.short_repr(label)} is that of a call in message {first[label]}"
                found.append(Violation("A5", at, why))
    return found


def _signed(message: object) -> object:
    """A message in which every thinking block has a signature, if only an empty one."""
    fields = as_dict(message)
    if not isinstance(fields.get("content"), list):
        return message
    blocks = dicts(fields["content"])
    return {**fields, "content": [{"signature": "", **b} if b.get("type") == "thinking" else b for b in blocks]}


def _of_request(fields: Raw) -> Iterator[v.Finding]:
    """Findings in the request as a whole: system, tools, numbers of images and cache marks."""
    system, tools, messages = fields.get("system"), dicts(fields.get("tools")), dicts(fields["messages"])
    yield from v.wrong_fields("", fields, _SYSTEM)
    if _is_blank(system):
        yield "A10", "system is blank"
    for at, block in enumerate(dicts(system)):
        if block.get("type") == "text":
            yield from _of_block("user", f"system[{at}]", block)
        else:  # D: text blocks
            yield "system", f"system[{at}] is no text block"
    for at, tool in enumerate(tools):
        if tool.get("name") is not None:  # an MCP toolset has no name
            yield from v.wrong_fields(f"tools[{at}]", tool, {"name": _NAME})
    blocks = [block for message in messages for block in _blocks_in(message)]
    if (images := sum(block.get("type") == "image" for block in blocks)) > _MOST_IMAGES:  # A17 (E: frontman#1094)
        yield "A17", f"{images} images"
    marks = sum(block.get("cache_control") is not None for block in [*dicts(system), *tools, *blocks])
    if marks > _MOST_MARKS:  # A19 (P: promptcachelint CL007)
        yield "A19", f"{marks} blocks with cache_control"
    marked = [each["cache_control"] for each in [*tools, *dicts(system), *blocks] if each.get("cache_control")]
    hours = [as_dict(mark).get("ttl") == "1h" for mark in marked]
    if hours != sorted(hours, reverse=True):  # A19 (E: headroom#2939, "a ttl='1h' cache_control block must not come …")
        yield "A19", "a cache_control of 1h behind one of 5m"
    yield from v.lone_surrogates([system, fields["messages"]])


def _blocks_in(message: Raw) -> Iterator[Raw]:
    """The blocks of a message, those inside a result before the result."""
    for block in dicts(message.get("content")):
        if block.get("type") == "tool_result":
            yield from dicts(block.get("content"))
        yield block


def _of_message(index: int, message: object) -> Iterator[v.Finding]:
    """Findings in one message by itself."""
    fields = as_dict(message)
    role, content = fields.get("role"), fields.get("content")
    if not isinstance(message, dict):
        yield "message", "not an object"
    elif role not in ("user", "assistant", "system"):  # D
        yield "role", f"no such role: {v.short_repr(role)}"
    else:
        if role == "system" and index == 0:  # A9 (D: `Unexpected role "system"`)
            yield "A9", "a system message first"
        yield from v.wrong_fields("", fields, _CONTENT)
        if content == [] and role != "assistant":  # A10 (E: `user messages must have non-empty content`)
            yield "A10", "content is empty"
        # A10 (E: home-assistant#175637, `text content blocks must be non-empty`; D: the model's may be empty)
        if _is_blank(content) and (content or role != "assistant"):
            yield "A10", "content is blank"
        for at, block in enumerate(dicts(content)):
            yield from _of_block(role, f"content[{at}]", block)


def _of_block(role: str, where: str, block: Raw) -> Iterator[v.Finding]:
    """Findings in one block of a message of this role."""
    kind = text(block, "type")
    if _BY.get(kind, role) != role:
        yield "content", f"{where} is {kind!r}"
    else:
        yield from v.wrong_fields(where, block, _BLOCKS.get(kind, v.TYPED))
    if kind == "text" and _is_blank(block.get("text")):  # A10 (E: claude-code#59812, `must contain non-whitespace …`)
        yield "A10", f"{where} is blank"
    if kind == "tool_result" and role == "user":
        inner = [(each, each.get("type") == "text") for each in dicts(block.get("content"))]
        for at, (each, is_text) in enumerate(inner):
            yield from v.wrong_fields(f"{where}.content[{at}]", each, v.TEXT if is_text else v.TYPED)
        said = [text(block, "content"), *(text(each, "text") if is_text else "x" for each, is_text in inner)]
        if block.get("is_error") is True and not any(words.strip() for words in said):  # A18 (E: Bedrock's wording)
            yield "A18", f"{where} is an error without content"


def _is_blank(value: object) -> bool:
    """Whether a value is a text of only white space."""
    return isinstance(value, str) and not value.strip()


# ---- turns: neighbours of one role (A7, R)


class _MergedTurn(NamedTuple):
    """Neighbouring messages of one role."""

    role: object
    blocks: list[tuple[int, Raw]]
    """Each block with the index of its message."""

    def labels(self, kind: str) -> list[tuple[int, str]]:
        """The ids of the turn's calls (`tool_use`) or results (`tool_result`), each with the index of its message; none
        in a turn of the other role."""
        role, key = _LABELLED[kind]
        return [(at, text(each, key)) for at, each in self.blocks if self.role == role and each.get("type") == kind]


def _of_turns(messages: list[Raw], thinking: Raw) -> Iterator[Violation]:
    """Violations between messages: of all turns, and A11, A12 and A14 of the last."""
    turns = _turns(messages)
    for before, turn in zip([_MergedTurn(None, []), *turns], [*turns, _MergedTurn(None, [])], strict=True):
        yield from _of_results(turn, before)
        yield from _unanswered(before, turn)
    for turn in turns[:-1]:
        yield from _of_last_thoughts(turn)
    yield from _of_the_end(len(messages) - 1, turns[-1])
    yield from _of_server_tools(turns)
    yield from _of_compactions(turns)
    if thinking.get("type") == "enabled" and len(turns) > 1:
        yield from _of_thinking(turns[-2], turns[-1])


def _turns(messages: list[Raw]) -> list[_MergedTurn]:
    """The messages as turns: neighbours of one role together."""
    turns: list[_MergedTurn] = []
    for index, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        if not turns or turns[-1].role != role:
            turns.append(_MergedTurn(role, []))
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) and content else dicts(content)
        turns[-1].blocks.extend((index, block) for block in blocks)
    return turns


def _of_results(turn: _MergedTurn, before: _MergedTurn) -> Iterator[Violation]:
    """Violations of A2, A3 and A4: results without a call, in the wrong place, or twice."""
    called, seen = {label for _, label in before.labels("tool_use")}, set[str]()
    for at, label in turn.labels("tool_result"):
        if label not in called:  # A2 (D; P: openhands, "unexpected `tool_use_id` found in `tool_result` blocks")
            yield Violation("A2", at, f"no call {label!r} in the turn before it")
        elif label in seen:  # A4 (P: openhands, "each tool_use must have a single result")
            yield Violation("A4", at, f"a second result for {label!r}")
        seen.add(label)
    behind = dropwhile(lambda each: each[1].get("type") == "tool_result", turn.blocks)
    late = next((at for at, block in behind if block.get("type") == "tool_result"), None)
    if turn.role == "user" and late is not None:  # A3 (D; E: language-servers#1235; R: none of 312 accepted ones)
        yield Violation("A3", late, "a result behind other content")


def _unanswered(turn: _MergedTurn, after: _MergedTurn) -> Iterator[Violation]:
    """Violations of A1 and A5: calls without a result, or with the same id."""
    calls, answered = turn.labels("tool_use"), {label for _, label in after.labels("tool_result")}
    missing, seen = dict[int, list[str]](), set[str]()
    for at, label in calls:
        if label in seen:  # A5 (D: `tool_use ids must be unique`; R: across turns they need not be)
            yield Violation("A5", at, f"two calls share the id {label!r}")
        elif label not in answered:
            missing.setdefault(at, []).append(label)
        seen.add(label)
    for at, labels in missing.items():
        # A1 (D, E: "`tool_use` ids were found without `tool_result` blocks immediately after")
        yield Violation("A1", at, f"no result for {', '.join(sorted(labels))}")


def _of_last_thoughts(turn: _MergedTurn) -> Iterator[Violation]:
    """The violation that a turn of the model ends with thinking. Of the last turn A12 says the same."""
    at, last = turn.blocks[-1] if turn.role == "assistant" and turn.blocks else (-1, {})
    if last.get("type") in _THOUGHTS:
        # E: forgecode#2107, "The final block in an assistant message cannot be `thinking`"
        yield Violation("thinking", at, f"the turn ends with {last.get('type')!r}")


def _of_the_end(index: int, turn: _MergedTurn) -> Iterator[Violation]:
    """Violations of A11 and A12: what the model's last words may not be."""
    last = turn.blocks[-1][1] if turn.role == "assistant" and turn.blocks else {}
    if last.get("type") == "text" and text(last, "text") != text(last, "text").rstrip():
        # A11 (E: forgecode#1872, `final assistant content cannot end with trailing whitespace`)
        yield Violation("A11", index, "the model's last words end in white space")
    if last.get("type") in ("text", *_THOUGHTS):  # A12 (D); R: it may end with a provider's own tool (`pause_turn`)
        yield Violation("A12", index, "ends with the model's own words")


def _of_server_tools(turns: list[_MergedTurn]) -> Iterator[Violation]:
    """Violations of A16: calls and results of the provider's own tools. A result stands behind its call, in the same
    turn or at most results of the user's later; such a call without a result may only stand at the end."""
    waiting, known = dict[str, int](), set[str]()
    for turn in turns:
        kinds = [text(block, "type") for _, block in turn.blocks]
        if turn.role != "assistant":
            if any(kind != "tool_result" for kind in kinds):
                yield from _without_result(waiting)
                waiting.clear()
            continue
        if waiting and not any(_of_provider_call(block) in waiting for _, block in turn.blocks):
            yield from _without_result(waiting)
            waiting.clear()
        for at, block in turn.blocks:
            kind, label = text(block, "type"), _of_provider_call(block)
            if kind.endswith("_tool_use"):
                if text(block, "id") in waiting:  # D: one result cannot answer both
                    yield Violation("A16", at, f"a second {kind} {text(block, 'id')!r}")
                known.add(text(block, "id"))
                waiting[text(block, "id")] = at
            elif kind.endswith("_tool_result"):
                # A16 (E: claude-code#64383, "each `..._tool_result` block must have a corresponding `server_tool_use`")
                if waiting.pop(label, None) is None:
                    yield Violation("A16", at, f"a {kind} for {label!r}, which no call before it waits for")
            elif label and label not in waiting and label not in known:
                yield Violation("A16", at, f"a {kind} that {label!r} has made, which is not before it")


def _of_provider_call(block: Raw) -> str:
    """The id of the provider's call that a block of the model refers to: as its result, or as its caller."""
    if text(block, "type").endswith("_tool_result"):
        return text(block, "tool_use_id")
    return text(as_dict(block.get("caller")), "tool_id")


def _without_result(waiting: dict[str, int]) -> Iterator[Violation]:
    for label, at in waiting.items():
        # A16 (E: anthropic-sdk-python#1151, "tool use with id srvtoolu_… was found without a corresponding `…_result`")
        yield Violation("A16", at, f"no result for the provider's own call {label!r}")


def _of_compactions(turns: list[_MergedTurn]) -> Iterator[Violation]:
    """Violations of compaction: a block that was made on demand, which is signed, stands first, and once (D:
    `compaction_block_misplaced`, `compaction_block_ambiguous`). Of one that a threshold made, the API skips what stands
    before it."""
    blocks = [(at, block) for turn in turns for at, block in turn.blocks]
    signed = [(at, block) for at, block in blocks if block.get("type") == "compaction" and text(block, "signature")]
    for at, _ in signed[1:]:
        yield Violation("compaction", at, "a second compaction")
    if signed and signed[0][1] is not blocks[0][1]:
        yield Violation("compaction", signed[0][0], "a compaction behind other blocks")


def _of_thinking(turn: _MergedTurn, last: _MergedTurn) -> Iterator[Violation]:
    """Violations of A14, in the tool loop that goes on now."""
    if turn.labels("tool_use") and last.labels("tool_result"):
        at, first = turn.blocks[0]
        if first.get("type") not in _THOUGHTS:
            yield Violation("A14", at, f"thinking is enabled, and the turn begins with {first.get('type')!r}")
