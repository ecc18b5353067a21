"""Write docs/record-examples.md, and the picture of docs/record.md and the README, from conversations that are part of
the project.

    python -m scripts.records

A test compares the files with the code. When it fails, `make reference` writes them anew.
"""

from __future__ import annotations

import gzip
import json
import re
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from transom.cli.window_text import print_window_text
from transom.conversation.appending.parse_messages import split_head
from transom.conversation.conversation import Conversation
from transom.conversation.replay import replay
from transom.core.unit import FoldedSlot
from transom.core.window import Window
from transom.policies import policy_named
from transom.stores import MemoryStore
from transom.tokenizer import o200k
from transom.wire.dialects import dialect_named

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "records"
DEMO = ROOT / "src" / "transom" / "cli" / "recorded" / "session.jsonl.gz"
PAGE, PICTURE = ROOT / "docs" / "record-examples.md", ROOT / "docs" / "record.svg"

WIDTH, PICTURE_WIDTH = 100, 92
PICTURE_LINES = 46

BEGIN = """# Examples of records

Written by `make reference` from conversations that are part of the project: what the model reads at the last call, as
`transom window ID --budget 16000 --as text` prints it (long texts shortened). [The record](record.md) explains how to
read one.
"""


class Example(NamedTuple):
    """A conversation: its first `messages` messages are replayed within `budget` tokens."""

    name: str
    title: str
    about: str
    budget: int
    messages: int | None = None


EXAMPLES = (
    Example(
        "coding",
        "Coding",
        "The beginning of the session of `transom demo`: an agent explores the source of Transom.",
        budget=7_000,
        messages=70,
    ),
    Example(
        "service-desk",
        "Service desk",
        "A customer's orders, addresses and a warranty. The tools read and change records.",
        budget=2_000,
    ),
    Example("dialogue", "Dialogue", "No tools: two people's words are all there is.", budget=1_300),
    Example("chinese", "Chinese", "A dialogue in Chinese. Words are pairs of characters there.", budget=1_300),
    Example(
        "long-document", "Long document", "Questions about a manual that is read section by section.", budget=2_000
    ),
)


def messages_of(example: Example) -> list[dict[str, Any]]:
    """The messages of an example."""
    if example.name == "coding":
        with gzip.open(DEMO, "rt", encoding="utf-8") as file:
            found: dict[str, Any] = json.loads(file.readline())
    else:
        found = json.loads((FOLDER / f"{example.name}.json").read_text(encoding="utf-8"))
    return found["messages"][: example.messages]


@cache
def window_of(example: Example) -> Window:
    """The window of the next call of an example."""
    head, facts = split_head(messages_of(example), dialect=dialect_named("openai"))
    conversation = Conversation(
        MemoryStore().open(example.name),
        budget=example.budget,
        policy=policy_named("default"),
        counter=o200k(),
        system=head,
        clock=lambda: 0.0,
    )
    for _ in replay(conversation, facts):
        pass
    return conversation.window()


def text_of(window: Window, width: int) -> str:
    """A window as text, without colours."""
    out = StringIO()
    print_window_text(Console(file=out, width=width, markup=False, emoji=False, highlight=False), window)
    return out.getvalue().rstrip()


def page() -> str:
    """docs/record-examples.md."""
    parts = [BEGIN]
    for example in EXAMPLES:
        window = window_of(example)
        turns = sum(slot.unit_count if isinstance(slot, FoldedSlot) else 1 for slot in window.slots)
        own = f"[{example.name}.json](records/{example.name}.json)"
        where = "the demo's recording" if example.name == "coding" else own
        parts.append(
            f"## {example.title}\n\n{example.about} From {where}, within {example.budget:,} tokens: "
            f"{turns:,} turns.\n\n```text\n{text_of(window, WIDTH)}\n```\n"
        )
    return "\n".join(parts)


class TopOfConsole(Console):
    """Prints the first lines and no more."""

    printed = 0

    def print(self, *objects: Any, **options: Any) -> None:
        """Print a line, unless there are enough."""
        self.printed += 1
        if self.printed <= PICTURE_LINES:
            super().print(*objects, **options)


def picture() -> str:
    """docs/record.svg: the beginning of the window of the service desk with its colours."""
    window = window_of(EXAMPLES[1])
    out = TopOfConsole(file=StringIO(), width=PICTURE_WIDTH, record=True, force_terminal=True, markup=False)
    print_window_text(out, window)
    svg = out.export_svg(title=f"a window of {window.tokens:,} tokens")
    return re.sub(r"\s*@font-face \{.*?\}\n", "\n", svg, flags=re.DOTALL)  # no fonts from elsewhere


def files() -> dict[Path, str]:
    """Each file with its text."""
    return {PAGE: page(), PICTURE: picture()}


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
