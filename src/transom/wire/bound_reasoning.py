"""Reasoning that is bound to its prefix: a provider takes it back only behind the exact request that it was made on.

New models sign or encrypt their reasoning for the system prompt, the tools and all messages before it. Behind another
prefix, Anthropic refuses the request, and OpenAI drops the reasoning in silence. So reasoning is taken to be bound,
unless a table says that its model takes it back anywhere. See docs/why/bound-reasoning.md.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace

from transom.core.message import Assistant, Fact, Reasoning

_VERSION = r"(\d+)(?:[-.](\d{1,2})(?!\d))?"

FIRST_BOUND = (
    (re.compile(rf"claude-(?:fable|mythos)-{_VERSION}"), (5, 1)),
    (re.compile(rf"claude-(?:[a-z]+-)?{_VERSION}"), (5, 5)),
    (re.compile(rf"gpt-{_VERSION}"), (6, 2)),
)
"""For each family of models: a pattern for its names, and the first version whose reasoning is bound. The first pattern
that matches a name decides."""

NEVER_BOUND = re.compile(
    r"(?:^|[/.:@ ])(?:o[134]\b|codex|computer-use|gpt-oss|claude-instant|deepseek|kimi|moonshot|glm|minimax|qwen|mimo)"
)
"""Models whose reasoning is bound in no version: OpenAI's first reasoning models, and models of others that are offered
in the format of these two APIs."""


def is_bound(model: object) -> bool:
    """Whether the reasoning of a model is bound to its prefix, by the model's name as a reply gives it.

    True for a name that is not in the tables, and for no name: dropping reasoning costs the model a thought, while
    sending it may cost the request.
    """
    if not isinstance(model, str):
        return True
    name = model.lower()
    if NEVER_BOUND.search(name):
        return False
    for pattern, first in FIRST_BOUND:
        if found := pattern.search(name):
            return (int(found[1]), int(found[2] or 0)) >= first
    return True


def bind(fact: Fact, model: object = None) -> Fact:
    """The fact with its signed reasoning marked as bound, if it is a turn of a model whose reasoning is bound. Any
    other fact is returned as it is. `model`: the model's name as its reply gives it; None if it is not known: then the
    reasoning is taken to be bound."""
    if not isinstance(fact, Assistant) or not fact.reasoning or not is_bound(model):
        return fact
    return replace(fact, reasoning=tuple(replace(each, bound=_is_signed(each)) for each in fact.reasoning))


def _is_signed(thought: Reasoning) -> bool:
    """Whether only its provider can have made a thought: it is encrypted, signed, or stored under an id."""
    extra: dict[str, Any] = thought.extra or {}
    signs = ("signature", "encrypted_content", "id")
    return thought.field == "redacted_thinking" or any(extra.get(key) for key in signs)


_REFUSALS = (
    re.compile(r"invalid\W+(?:signature|data)\W+(?:in|of|for)\b.{0,20}thinking"),
    re.compile(r"(?:block|item|reasoning|thinking)\b.{0,40}\bbound to a(?:nother| different)\b"),
    re.compile(r"prefix_mismatch(?!_behavior)"),
    re.compile(r"thinking\W+blocks?\b.{0,60}\bcannot be modified"),
    re.compile(r"encrypted[_ ]content\b.{0,200}\b(?:could not|cannot|can't) be (?:verified|decrypted|parsed)"),
    re.compile(r"invalid_encrypted_content"),
    re.compile(r"\breasoning\b.{0,40}\bwithout its required\b|\bwithout its required\W+reasoning\b"),
    re.compile(r"\bitem\b.{0,20}\brs_\w+.{0,4}\bnot found"),
)
"""What providers say of reasoning that they do not take back: the first four are Anthropic's, the others OpenAI's."""


_MOST_READ = 8_000
"""The characters of an error that are read: a body may be of any length."""


def is_refusal(status: int | None, text: str) -> bool:
    """Whether an error refuses a request because of the reasoning in it: the reasoning was made on another prefix, its
    signature is wrong, or the provider does not know its id.

    False for any status but 400, 404, 409, 422 and 200 (an error in place of a reply), and without a status. `text`:
    the error's message or body; its first 8,000 characters are read.
    """
    if status not in (200, 400, 404, 409, 422):
        return False
    words = " ".join(text[:_MOST_READ].lower().split())
    return any(refusal.search(words) for refusal in _REFUSALS)
