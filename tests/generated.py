"""Histories nobody recorded: random, valid or damaged in every way real ones are, in two dialects.

`openai(seed, damaged)` and `anthropic(seed, damaged)` give what goes beside the messages (or None), and the messages.
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


class Draw:
    """The dice of one history."""

    def __init__(self, seed: str, damaged: bool) -> None:
        self.random, self.damaged, self.made = random.Random(seed), damaged, 0

    def bad(self, share: float) -> bool:
        """Whether damage strikes here."""
        return self.damaged and self.random.random() < share

    def some(self, share: float) -> bool:
        return self.random.random() < share

    def text(self, least: int = 1) -> str:
        """A text of a few words, now and then of a thousand."""
        draw = self.random
        size = draw.choice((3, 8, 8, 20, 60, 60, 200)) if draw.random() > 0.03 else 1_500
        return " ".join(draw.choices(WORDS, k=max(least, size)))

    def label(self, reused: bool = False) -> str:
        if reused and self.made:
            return f"call_{self.random.randrange(self.made)}"
        self.made += 1
        return f"call_{self.made - 1}"

    def args(self) -> dict[str, Any]:
        return {"path": self.random.choice(WORDS), "text": self.text()}

    def answers(self, labels: list[str]) -> tuple[list[str], list[str]]:
        """The labels answered at once, and those answered later: some twice, some never, in any order."""
        now, late = list(labels), list[str]()
        if self.bad(0.3):
            self.random.shuffle(now)
        if now and self.bad(0.1):
            now.append(self.random.choice(now))
        if now and self.bad(0.1):
            late.append(now.pop())
        if now and self.bad(0.1):
            now.pop(self.random.randrange(len(now)))
        if self.bad(0.05):
            now.insert(0, "nobody_asked")
        return now, late


def openai(seed: int, damaged: bool) -> tuple[None, list[Message]]:
    """Chat Completions messages; the system prompt is among them."""
    draw = Draw(f"openai {seed} {damaged}", damaged)
    out: list[Message] = []
    for _ in range(draw.random.choice((0, 1, 1, 1, 2))):
        out.append({"role": draw.random.choice(("system", "system", "developer")), "content": draw.text()[:300]})
    if not draw.bad(0.1):
        out.append(_user(draw))
    late: list[str] = []
    for _ in range(draw.random.randrange(2, 30)):
        labels = [draw.label(draw.bad(0.2)) for _ in range(draw.random.choice((0, 1, 1, 1, 2, 4)))]
        if draw.bad(0.1) and len(labels) > 1:
            labels[1] = labels[0]
        legacy = len(labels) == 1 and draw.some(0.05)
        out.append(_turn(draw, labels, legacy))
        now, more = draw.answers(labels)
        for label in now:
            out.append(_result(draw, label, legacy))
            if draw.bad(0.05):
                out.append(_user(draw))
        late += more
        if late and draw.some(0.3):
            out.append(_result(draw, late.pop(), False))
        if not labels or draw.some(0.15):
            out.extend(_user(draw) for _ in range(2 if draw.some(0.1) else 1))
        if draw.some(0.03):
            out.append({"role": "system", "content": draw.text()[:200]})
        if draw.bad(0.05):
            out.append({"role": "assistant", "content": draw.random.choice(("", None, "again"))})
    return None, out[: len(out) - draw.random.randrange(3)] if draw.damaged else _closed(out)


def _user(draw: Draw) -> Message:
    if draw.some(0.07):
        image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
        return {"role": "user", "content": [{"type": "text", "text": draw.text()}, image]}
    return {"role": "user", "content": "" if draw.bad(0.05) else draw.text()}


def _turn(draw: Draw, labels: list[str], legacy: bool) -> Message:
    content = draw.text() if not labels or draw.some(0.6) else None
    out: Message = {"role": "assistant", "content": content}
    calls = [{"name": "edit", "arguments": json.dumps(draw.args())} for _ in labels]
    for call in calls:
        if draw.bad(0.15):
            call["arguments"] = draw.random.choice(("", "not json", call["arguments"][:-5], "[1, 2]"))
    if legacy:
        return {**out, "function_call": calls[0]}
    if labels:
        out["tool_calls"] = [
            {"id": label, "type": "function", "function": call} for label, call in zip(labels, calls, strict=True)
        ]
    if draw.some(0.1):
        out["reasoning_content"] = draw.text()
    return out


def _result(draw: Draw, label: str, legacy: bool) -> Message:
    content = "" if draw.bad(0.05) else draw.text()
    if legacy:
        return {"role": "function", "name": "edit", "content": content}
    return {"role": "tool", "tool_call_id": label, "content": content}


def _closed(messages: list[Message]) -> list[Message]:
    """A valid list ends where a call could be made."""
    while messages and messages[-1]["role"] == "assistant":
        messages.pop()
    return messages


def anthropic(seed: int, damaged: bool) -> tuple[object, list[Message]]:
    """Messages API messages; the system prompt stands beside them.

    Ids are used once: the API has accepted the same id in two turns, so they stay as received, and `turnsafe` objects.
    """
    draw = Draw(f"anthropic {seed} {damaged}", damaged)
    system: object = draw.random.choice((None, "Be brief.", [{"type": "text", "text": draw.text()[:300]}]))
    out: list[Message] = []
    if not draw.bad(0.1):
        out.append({"role": "user", "content": _blocks(draw)})
    late: list[str] = []
    for _ in range(draw.random.randrange(2, 30)):
        labels = [draw.label() for _ in range(draw.random.choice((0, 1, 1, 1, 2, 4)))]
        out.append({"role": "assistant", "content": _said(draw, labels)})
        now, more = draw.answers(labels)
        results: list[Message] = [_tool_result(draw, label) for label in now]
        late += more
        if late and draw.some(0.3):
            results.append(_tool_result(draw, late.pop()))
        words = _blocks(draw) if not results or draw.some(0.15) else []
        if draw.bad(0.1):
            results, words = words, results
        if draw.bad(0.1) and results and words:
            out.extend(({"role": "user", "content": results}, {"role": "user", "content": words}))
        elif results or words:
            out.append({"role": "user", "content": [*results, *words]})
    return system, out[: len(out) - draw.random.randrange(3)] if draw.damaged else _closed(out)


def _blocks(draw: Draw) -> list[Message]:
    blocks: list[Message] = [{"type": "text", "text": "  " if draw.bad(0.05) else draw.text()}]
    if draw.some(0.07):
        source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
        blocks.append({"type": "image", "source": source})
    return blocks


def _said(draw: Draw, labels: list[str]) -> list[Message]:
    blocks: list[Message] = []
    if draw.some(0.2):
        blocks.append({"type": "thinking", "thinking": draw.text(), "signature": "c2lnbmF0dXJl"})
    if not labels or draw.some(0.6):
        blocks.append({"type": "text", "text": "" if draw.bad(0.05) else draw.text()})
    blocks += [{"type": "tool_use", "id": label, "name": "edit", "input": draw.args()} for label in labels]
    return blocks


def _tool_result(draw: Draw, label: str) -> Message:
    out: Message = {"type": "tool_result", "tool_use_id": label, "content": "" if draw.bad(0.05) else draw.text()}
    if draw.some(0.3):
        out["content"] = [{"type": "text", "text": draw.text()}]
    if draw.some(0.1):
        out |= {"is_error": True, "content": draw.text()}
    return out


GENERATORS: dict[str, Callable[[int, bool], tuple[object, list[Message]]]] = {"openai": openai, "anthropic": anthropic}
