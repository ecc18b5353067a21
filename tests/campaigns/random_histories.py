"""Random message lists in two dialects: valid, or damaged in every way in which recorded ones are.

`openai_history(seed, damaged=…)` and `anthropic_history(seed, damaged=…)` return the system prompt beside the messages
(or None) and the messages. The same seed gives the same list on every machine.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

_TEXT = """parser window budget src/engine/loader.py retry deploy 4821 schema the of a returns None is_valid commit
branch naïve 数据 ошибка status ok failed path/to/file.txt {'k': 1} https://example.org/x?y=1"""
WORDS = _TEXT.split()
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
Message = dict[str, Any]


class Dice:
    """Makes the random choices of one history, and its call ids. The same seed gives the same choices. `damaged`: the
    history is to break rules of the API."""

    def __init__(self, seed: str, damaged: bool) -> None:
        self.random, self.damaged, self.ids = random.Random(seed), damaged, 0

    def damage(self, share: float) -> bool:
        """Whether to do damage here, with probability `share`. Never in a valid history."""
        return self.damaged and self.random.random() < share

    def chance(self, share: float) -> bool:
        """True with probability `share`."""
        return self.random.random() < share

    def text(self, least: int = 1) -> str:
        """A text of a few words, sometimes of 1,500. `least`: at least this number of words."""
        dice = self.random
        size = dice.choice((3, 8, 8, 20, 60, 60, 200)) if dice.random() > 0.03 else 1_500
        return " ".join(dice.choices(WORDS, k=max(least, size)))

    def label(self, reused: bool = False) -> str:
        """A call id: a new one, or with `reused` one of those before."""
        if reused and self.ids:
            return f"call_{self.random.randrange(self.ids)}"
        self.ids += 1
        return f"call_{self.ids - 1}"

    def args(self) -> dict[str, Any]:
        """Random arguments for a call."""
        return {"path": self.random.choice(WORDS), "text": self.text()}

    def answers(self, labels: list[str]) -> tuple[list[str], list[str]]:
        """The call ids that are answered now, and those that are answered late.

        In a valid history all are answered now, in their order. Damage: another order, a call that is answered twice,
        late or never, or an answer that nobody asked for.
        """
        now, late = list(labels), list[str]()
        if self.damage(0.3):
            self.random.shuffle(now)
        if now and self.damage(0.1):
            now.append(self.random.choice(now))
        if now and self.damage(0.1):
            late.append(now.pop())
        if now and self.damage(0.1):
            now.pop(self.random.randrange(len(now)))
        if self.damage(0.05):
            now.insert(0, "nobody_asked")
        return now, late


def openai_history(seed: int, damaged: bool) -> tuple[None, list[Message]]:
    """Messages for Chat Completions. The system prompt is among them, so the first value is None."""
    dice = Dice(f"openai {seed} {damaged}", damaged)
    out: list[Message] = []
    for _ in range(dice.random.choice((0, 1, 1, 1, 2))):
        out.append({"role": dice.random.choice(("system", "system", "developer")), "content": dice.text()[:300]})
    if not dice.damage(0.1):
        out.append(_openai_user(dice))
    late: list[str] = []
    for _ in range(dice.random.randrange(2, 30)):
        labels = [dice.label(dice.damage(0.2)) for _ in range(dice.random.choice((0, 1, 1, 1, 2, 4)))]
        if dice.damage(0.1) and len(labels) > 1:
            labels[1] = labels[0]
        legacy = len(labels) == 1 and dice.chance(0.05)
        out.append(_openai_turn(dice, labels, legacy))
        now, more = dice.answers(labels)
        for label in now:
            out.append(_openai_result(dice, label, legacy))
            if dice.damage(0.05):
                out.append(_openai_user(dice))
        late += more
        if late and dice.chance(0.3):
            out.append(_openai_result(dice, late.pop(), False))
        if not labels or dice.chance(0.15):
            out.extend(_openai_user(dice) for _ in range(2 if dice.chance(0.1) else 1))
        if dice.chance(0.03):
            out.append({"role": "system", "content": dice.text()[:200]})
        if dice.damage(0.05):
            out.append({"role": "assistant", "content": dice.random.choice(("", None, "again"))})
    return None, out[: len(out) - dice.random.randrange(3)] if dice.damaged else _closed(out)


def _openai_user(dice: Dice) -> Message:
    """A user message."""
    if dice.chance(0.07):
        image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
        return {"role": "user", "content": [{"type": "text", "text": dice.text()}, image]}
    return {"role": "user", "content": "" if dice.damage(0.05) else dice.text()}


def _openai_turn(dice: Dice, labels: list[str], legacy: bool) -> Message:
    """A turn of the model with calls under these ids."""
    content = dice.text() if not labels or dice.chance(0.6) else None
    out: Message = {"role": "assistant", "content": content}
    calls = [{"name": "edit", "arguments": json.dumps(dice.args())} for _ in labels]
    for call in calls:
        if dice.damage(0.15):
            call["arguments"] = dice.random.choice(("", "not json", call["arguments"][:-5], "[1, 2]"))
    if legacy:
        return {**out, "function_call": calls[0]}
    if labels:
        out["tool_calls"] = [
            {"id": label, "type": "function", "function": call} for label, call in zip(labels, calls, strict=True)
        ]
    if dice.chance(0.1):
        out["reasoning_content"] = dice.text()
    return out


def _openai_result(dice: Dice, label: str, legacy: bool) -> Message:
    """The result of a call."""
    content = "" if dice.damage(0.05) else dice.text()
    if legacy:
        return {"role": "function", "name": "edit", "content": content}
    return {"role": "tool", "tool_call_id": label, "content": content}


def _closed(messages: list[Message]) -> list[Message]:
    """The list without turns of the model at its end: so that a request could be made."""
    while messages and messages[-1]["role"] == "assistant":
        messages.pop()
    return messages


def anthropic_history(seed: int, damaged: bool) -> tuple[object, list[Message]]:
    """The system prompt, and messages for the Messages API.

    Each id is used once. (The API has accepted the same id in two turns, so ids stay as received, and the library
    `turnsafe` objects to that.)
    """
    dice = Dice(f"anthropic {seed} {damaged}", damaged)
    system: object = dice.random.choice((None, "Be brief.", [{"type": "text", "text": dice.text()[:300]}]))
    out: list[Message] = []
    if not dice.damage(0.1):
        out.append({"role": "user", "content": _user_blocks(dice)})
    late: list[str] = []
    for _ in range(dice.random.randrange(2, 30)):
        labels = [dice.label() for _ in range(dice.random.choice((0, 1, 1, 1, 2, 4)))]
        out.append({"role": "assistant", "content": _assistant_blocks(dice, labels)})
        now, more = dice.answers(labels)
        results: list[Message] = [_result_block(dice, label) for label in now]
        late += more
        if late and dice.chance(0.3):
            results.append(_result_block(dice, late.pop()))
        words = _user_blocks(dice) if not results or dice.chance(0.15) else []
        if dice.damage(0.1):
            results, words = words, results
        if dice.damage(0.1) and results and words:
            out.extend(({"role": "user", "content": results}, {"role": "user", "content": words}))
        elif results or words:
            out.append({"role": "user", "content": [*results, *words]})
    return system, out[: len(out) - dice.random.randrange(3)] if dice.damaged else _closed(out)


def _user_blocks(dice: Dice) -> list[Message]:
    """The blocks of a user message."""
    blocks: list[Message] = [{"type": "text", "text": "  " if dice.damage(0.05) else dice.text()}]
    if dice.chance(0.07):
        source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
        blocks.append({"type": "image", "source": source})
    return blocks


def _assistant_blocks(dice: Dice, labels: list[str]) -> list[Message]:
    """The blocks of a turn with calls under these ids."""
    blocks: list[Message] = []
    if dice.chance(0.2):
        blocks.append({"type": "thinking", "thinking": dice.text(), "signature": "c2lnbmF0dXJl"})
    if not labels or dice.chance(0.6):
        blocks.append({"type": "text", "text": "" if dice.damage(0.05) else dice.text()})
    blocks += [{"type": "tool_use", "id": label, "name": "edit", "input": dice.args()} for label in labels]
    return blocks


def _result_block(dice: Dice, label: str) -> Message:
    """The block of a result."""
    out: Message = {"type": "tool_result", "tool_use_id": label, "content": "" if dice.damage(0.05) else dice.text()}
    if dice.chance(0.3):
        out["content"] = [{"type": "text", "text": dice.text()}]
    if dice.chance(0.1):
        out |= {"is_error": True, "content": dice.text()}
    return out


HISTORIES: dict[str, Callable[[int, bool], tuple[object, list[Message]]]] = {
    "openai": openai_history,
    "anthropic": anthropic_history,
}
"""The function that makes a history, by dialect."""
