"""Takes the pictures of `transom inspect` for the documentation: `python -m scripts.inspector_pictures`.

The conversations are made up: the session of `transom demo`, with usage as a provider would report it, two failures, a
result that did not come, and a pin. Needs playwright and a Chromium (`CHROMIUM`, or one on the PATH).
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from transom import Budget, Conversation
from transom.cli.demo import SESSION
from transom.core.message import Failure, Recalled
from transom.stores import Store, open_store

DOCS = Path(__file__).parents[1] / "docs"
COLORS = 256
FAILS = {11: "overloaded", 33: "rate_limited"}
"""At which calls a made-up provider gives no reply."""
NO_RESULT = 24
"""The call whose tool result does not come."""
OTHERS = ("triage: flaky test on main", "support 2041", "support 2040", "nightly dependency check", "release notes 0.9")


def fill(store: Store) -> None:
    """Store the conversations of the pictures."""
    for number, name in enumerate(reversed(OTHERS)):
        times = count(1_790_000_000 + 9_000 * number, 20)
        with Conversation.open(store, name, budget=32_000, clock=lambda times=times: float(next(times))) as conv:
            conv.user("Have a look, please.")
            conv.request()
            conv.observe(_reply(conv, {"role": "assistant", "content": "I have looked: nothing is wrong."}))
    times = count(1_790_060_000, 7)
    name, budget = "explain how a window is built", Budget(context=20_000)
    system, *messages = json.loads(gzip.decompress(SESSION.read_bytes()))["messages"]
    with Conversation.open(
        store,
        "explain how a window is built",
        budget=budget,
        system=system["content"],
        clock=lambda: float(next(times)),
    ) as conv:
        calls = 0
        for message in messages:
            if message["role"] != "assistant":
                if calls != NO_RESULT:
                    conv.extend([message])
                continue
            if calls == 30:
                conv.append(Recalled(text=_quote(conv), refs=(6,), why="the newest message asks about it"))
            conv.request()
            calls += 1
            if calls in FAILS:
                assert conv.view.in_flight is not None
                conv.append(Failure(failure=FAILS[calls], answers=conv.view.in_flight.seq, model="openai:gpt-5"))
                conv.request()
            conv.observe(_reply(conv, message))
            if calls == 5:
                conv.pin(6, "the front door: keep it")


def _reply(conv: Conversation, message: dict[str, Any]) -> dict[str, Any]:
    """The message as a reply of OpenAI's API, with the usage of its request."""
    assert conv.view.in_flight is not None
    sent: Any = conv.view.in_flight.body
    cached = sent.shared_tokens // 128 * 128 if sent.shared_tokens >= 1_024 else 0
    written = len(json.dumps(message)) // 4
    usage = {
        "prompt_tokens": sent.tokens,
        "completion_tokens": written,
        "total_tokens": sent.tokens + written,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    choices = [{"index": 0, "finish_reason": "stop", "message": message}]
    return {"id": "made-up", "object": "chat.completion", "model": "gpt-5", "choices": choices, "usage": usage}


def _quote(conv: Conversation) -> str:
    """The beginning of a result, as recalled text has it."""
    fact: Any = conv.log[6].body
    return "From entry 6:\n" + "\n".join(fact.parts[0].text.splitlines()[:6])


@contextmanager
def served(url: str) -> Iterator[str]:
    """Run the command on a store; gives the link that works once."""
    command = [sys.executable, "-m", "transom", "inspect", "--store", url, "--no-open"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 - no input of others
    assert process.stdout is not None
    try:
        yield next(found[0] for line in process.stdout if (found := re.search(r"http://\S+", line)))
    finally:
        process.terminate()
        process.wait()


def save(picture: bytes, name: str) -> None:
    """Save a picture in few colours."""
    from PIL import Image  # noqa: PLC0415 - as playwright

    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.quantize(COLORS, dither=Image.Dither.NONE).save(DOCS / name, optimize=True)


def main() -> None:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - for this script alone

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        os.chdir(folder)
        url = "sqlite:///agent.db"
        store = open_store(url)
        fill(store)
        store.close()
        chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        with served(url) as link:
            context = browser.new_context(viewport={"width": 1360, "height": 850}, color_scheme="light")
            page = context.new_page()
            page.goto(link)
            page.wait_for_selector(".change")
            for key in ("ArrowLeft", "[", "["):
                page.keyboard.press(key)
                page.wait_for_timeout(300)
            save(page.screenshot(), "inspector.png")
            page.get_by_role("button", name="Undo the last compaction").click()
            page.wait_for_selector(".dry")
            page.emulate_media(color_scheme="dark")
            page.reload()
            page.wait_for_selector(".change")
            page.get_by_role("button", name="Undo the last compaction").click()
            page.wait_for_selector(".dry")
            page.evaluate("document.querySelector('.calls-pane').scrollTop = 0")
            page.wait_for_timeout(500)
            save(page.screenshot(), "inspector-dry-run.png")
            page.emulate_media(color_scheme="light")
            page.set_viewport_size({"width": 390, "height": 780})
            page.reload()
            page.wait_for_selector(".change")
            page.keyboard.press("ArrowLeft")
            page.keyboard.press("[")
            page.wait_for_timeout(700)
            save(page.screenshot(), "inspector-phone.png")
        browser.close()


if __name__ == "__main__":
    main()
