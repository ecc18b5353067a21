"""The last repair before items leave: what the API would refuse, and nothing else.

Deterministic. The rules are those of `rules`, but no code is shared with it: each checks the other.
"""

from __future__ import annotations

from typing import Any, cast

from msgspec.structs import replace

from transom.core import texts
from transom.core.codec import has_surrogates
from transom.core.message import Call, Raw
from transom.core.unit import labels
from transom.wire.naming import place_label, safe_name
from transom.wire.openai_responses.items import CALLS, HEARD, SAID, TEXTS
from transom.wire.reading import compact
from transom.wire.saying import cleaned

LONGEST_LABEL = 64  # R7

_SPOKEN = frozenset({"output_text", "refusal"})
_REFUSED = {"text": "part", "image_url": "image", "file": "file"}
"""Chat's parts, which this API does not take, and what each is."""
_ANSWERING = frozenset({"input_text", "input_image", "input_file"})
_BLURRED = frozenset({"function_call", "custom_tool_call", "tool_search_call", "tool_search_output"})
"""Items that were accepted without an id."""


def labelled(calls: tuple[Call, ...], key: int) -> tuple[Call, ...]:
    """A turn's calls under ids as the API takes them: unique in the turn, neither empty nor too long."""
    out = list(labels(calls, key))
    for index, label in enumerate(out):
        if len(label) > LONGEST_LABEL:
            out[index] = _fresh(place_label(key, index), out)
    pairs = zip(calls, out, strict=True)
    return tuple(call if call.id == label else replace(call, id=label) for call, label in pairs)


def _fresh(label: str, given: list[str]) -> str:
    while label in given:
        label += "x"
    return label


# ---- reasoning and what it produced


def bound(items: list[Raw], *, lost: bool) -> list[Raw]:
    """A turn's items with reasoning only where it may stand: before what it produced (R5).

    `lost`: some of the turn's reasoning is not shown. Then all of it goes, and what it produced loses its ids, by which
    the API would ask for it (R6).
    """
    if lost:
        return [unbound(item) for item in items if item.get("type") != "reasoning"]
    end = len(items)
    while end and items[end - 1].get("type") == "reasoning":
        end -= 1
    return items[:end]


def unbound(item: Raw) -> Raw:
    """An item of the model as nobody's product. One that cannot be without its id is left out, and that is said."""
    kind = item.get("type") or "message"
    if kind == "compaction":  # it was made of all that went before, and R9 wants it untouched
        return item
    if kind not in _BLURRED and kind != "message":
        return _left_out()
    gone = {"id", "status"} if kind == "message" else {"id"}
    return {key: value for key, value in item.items() if key not in gone}


def orphaned(items: list[Raw]) -> list[Raw]:
    """A turn's items, of which some were trimmed: what a search for tools gave back does not stay without it."""
    asked = {item.get("call_id") for item in items if item.get("type") == "tool_search_call"}
    return [_left_out() if _is_found(item) and item.get("call_id") not in asked else item for item in items]


def _is_found(item: Raw) -> bool:
    return item.get("type") in {"tool_search_output", "function_call_output", "custom_tool_call_output"}


def _left_out() -> Raw:
    return {"role": "assistant", "content": texts.left_out("part")}


def distinct(items: list[Raw]) -> list[Raw]:
    """A window's items with no id twice, which the API refuses: the later one goes on without.

    Reasoning cannot; then what it produced goes without ids too.
    """
    ids = [item["id"] for item in items if isinstance(item.get("id"), str)]
    if len(set(ids)) == len(ids):
        return items
    out: list[Raw] = []
    seen, lost = set[str](), False
    for item in items:
        label: Any = item.get("id")
        kind, again = item.get("type"), isinstance(label, str) and label in seen
        lost = lost and _is_models(item)
        if (again or lost) and kind == "reasoning":
            lost = True
            continue
        said = unbound(item) if _is_models(item) and (again or lost) else item
        out.append(_anonymous(said) if again else said)
        if isinstance(label, str):
            seen.add(label)
    return out


def _is_models(item: Raw) -> bool:
    kind = item.get("type") or "message"
    if kind == "message":
        return item.get("role") == "assistant"
    return kind not in {"function_call_output", "custom_tool_call_output", "additional_tools"}


def _anonymous(item: Raw) -> Raw:
    return {key: value for key, value in item.items() if key != "id"}


# ---- one item by itself


def mended(item: Raw) -> Raw:
    """The item as it may be sent, mended in place. Equal to what came in if that was valid."""
    out = cleaned(item) if has_surrogates(item) else item
    kind = out.get("type") or "message"
    if kind in CALLS:
        out["name"] = safe_name(out.get("name") or "")
        given = out.get(CALLS[kind])
        if not isinstance(given, str):
            out[CALLS[kind]] = "" if given is None else compact(given)
    elif kind in {"function_call_output", "custom_tool_call_output"}:
        _mend_content(out, "output", "result")
    elif kind == "reasoning" and not isinstance(out.get("summary"), list):
        out["summary"] = []
    elif kind == "compaction" and not isinstance(out.get("encrypted_content"), str):  # R9: nothing is left of it
        return _left_out()
    elif kind == "message":
        _mend_content(out, "content", out["role"])
    return out


def _mend_content(out: Raw, key: str, role: str) -> None:
    content = out.get(key)
    if content is None:
        out[key] = ""
    elif isinstance(content, list):
        out[key] = [_part(part, role) for part in cast("list[Raw]", content)]


def _part(part: Raw, role: str) -> Raw:
    kind = part.get("type")
    plain = SAID if role == "assistant" else HEARD
    if _is_taken(kind, role):
        return part
    if kind is None or kind in TEXTS:
        words = part.get(TEXTS.get(kind or plain, "text"))
        if isinstance(words, str):
            return {"type": plain, "text": words}
    return {"type": plain, "text": texts.left_out(_kind_of(kind))}


def _is_taken(kind: object, role: str) -> bool:
    if role == "assistant":
        return kind in _SPOKEN
    if role == "result":
        return kind in _ANSWERING
    return isinstance(kind, str) and kind not in _REFUSED  # new kinds of parts come; the caller knows its model


def _kind_of(kind: object) -> str:
    known = {"input_image": "image", "computer_screenshot": "image", "input_file": "file", "input_audio": "file"}
    return {**known, **_REFUSED}.get(kind, "part") if isinstance(kind, str) else "part"
