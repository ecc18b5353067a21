"""What real agents sent, in small files: long texts are cut to their beginning and their length.

A line is a request: path, headers that matter, body. "⟨+4900⟩" at the end of a text stands for as many characters,
which `read` fills in with words. `tests/campaigns/real_agents.py --record` writes them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "http" / "recorded"
KEPT_CHARACTERS, SHORT = 90, 200
"""What is kept of a text that is cut, and the longest one that is not."""
_HEADERS = re.compile(
    r"(anthropic|x-claude|x-codex-beta|x-openai|openai|session|thread|x-client-request|content-type).*"
)
_IDS = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{64}")
_CUT = re.compile(r"⟨\+(\d+)⟩$")
_WORDS = "one more word of a text that was cut here "


def written(requests: Sequence[Mapping[str, Any]], scrub: Mapping[str, str]) -> str:
    """The lines of a file. `scrub`: what stands for what: paths of this machine."""
    ids: dict[str, str] = {}
    lines = []
    for request in requests:
        headers = {k.lower(): v for k, v in request["headers"].items() if _HEADERS.fullmatch(k.lower())}
        text = json.dumps({"path": request["path"], "headers": headers, "body": _cut(request["body"])})
        for found, stands in scrub.items():
            text = text.replace(found, stands)
        text = _IDS.sub(lambda found: ids.setdefault(found[0], _numbered(len(ids) + 1, found[0])), text)
        lines.append(json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":")) + "\n")
    return "".join(lines)


def _numbered(number: int, like: str) -> str:
    return f"{number:064x}" if len(like) == 64 else f"00000000-0000-7000-8000-{number:012x}"


def _cut(value: Any) -> Any:
    if isinstance(value, dict):
        if isinstance(value.get("properties"), dict) and len(json.dumps(value)) > KEPT_CHARACTERS:
            size = len(json.dumps(value))  # the schema of a tool: its size counts, and no more
            return {"type": "object", "properties": {}, "description": f"⟨+{size}⟩"}
        return {key: _cut(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_cut(item) for item in value]
    if isinstance(value, str) and len(value) > SHORT:
        return f"{value[:KEPT_CHARACTERS]}⟨+{len(value) - KEPT_CHARACTERS}⟩"
    return value


def read(name: str) -> list[dict[str, Any]]:
    """The requests of an agent, with texts as long as they were."""
    lines = (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [_filled(json.loads(line)) for line in lines]


def _filled(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _filled(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item) for item in value]
    if isinstance(value, str) and (cut := _CUT.search(value)):
        size = int(cut[1])
        return value[: cut.start()] + (_WORDS * (size // len(_WORDS) + 1))[:size]
    return value
