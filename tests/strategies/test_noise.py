"""A record quotes nothing that nobody can read."""

from __future__ import annotations

import base64
import json
import random
import time

import pytest

import transom
from transom.strategies.actions.outcome import without_controls
from transom.strategies.record.passages import unreadable

DATA = base64.b64encode(random.Random(1).randbytes(900)).decode()
LINES = "\n".join(DATA[at : at + 76] for at in range(0, len(DATA), 76))


@pytest.mark.parametrize(
    "text",
    [
        DATA,
        f'{{"image": "data:image/png;base64,{DATA}"}}',
        LINES,
        ",".join(f"{at}.5,-{at}" for at in range(90)),
        "\x1b[2;23H\x1b[K\u28fb running 1\n" * 20,
    ],
)
def test_data_and_what_a_terminal_draws_is_unreadable(text):
    before = "Here is the file that you asked for.\n"
    noise = unreadable(before + text)
    assert noise[0][0] >= len(before)
    assert 2 * sum(end - start for start, end in noise) > len(text)


@pytest.mark.parametrize(
    "text",
    [
        "https://example.org/search?" + "&".join(f"key{at}=value{at}" for at in range(40)),
        json.dumps([{"id": f"HAT{at:03}", "from": "MCO", "price": at} for at in range(40)], separators=(",", ":")),
        "/home/me/a-long-folder-name/another-long-folder-name/0c2a854b-8908/" + "and-one-more/" * 12 + "file-12.txt",
        "我想预订明天从北京到上海的航班，最好是早上出发，靠窗的座位，可以吗？谢谢你的帮助。" * 9,
        "The sums are 12 and 14 and 96, in 2024 and 2025, for 3 of the 4 parts, which cost 9.50 and 12.80 each. " * 9,
        "def run(values):\n    return [one * 2 for one in values]\n" * 20,
        "\x1b[32mPASS\x1b[0m tests for the totals of all the sums in src/sums.test.ts, and what else they need\n" * 9,
    ],
)
def test_names_and_words_are_readable(text):
    assert not unreadable(text)


def test_a_text_as_a_terminal_shows_it():
    assert without_controls("\x1b[31mred\x1b[0m \x1b]0;title\x07a 1\ra 2\r\nb\n") == "a 2\r\nb\n"
    assert without_controls("\x1b[31mred\x1b[0m\na 1\ra 2") == "red\na 2"


@pytest.mark.parametrize(
    "text", ["\r\n" + "a" * 300_000, "a/" * 150_000, "\x1b" * 300_000, "ab \x1b[" * 60_000, f"{DATA} " * 200]
)
def test_noise_is_found_in_time_that_grows_with_the_text(text):
    start = time.process_time()
    unreadable(text)
    without_controls(text)
    assert time.process_time() - start < 0.5


def test_a_record_does_not_quote_data():
    messages = [{"role": "user", "content": "Look at the picture."}]
    results = [f"The picture of part_{at}_of_sums.png is here.\n{DATA}" for at in range(30)]
    for at, result in enumerate(results):
        call = {
            "id": f"c{at}",
            "type": "function",
            "function": {"name": "Read", "arguments": f'{{"path": "{at}.png"}}'},
        }
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{at}", "content": result},
        ]
    short = transom.fit(messages, budget=6_000)
    record = next(message["content"] for message in short if "a record of" in (message["content"] or ""))
    assert "part_3_of_sums.png" in record
    assert DATA[200:240] not in record
