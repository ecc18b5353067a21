"""Images and files of folded turns: a record says that they are there."""

from __future__ import annotations

import pytest
from benchmarks.reading.record_lines import parsed_record

import transom
from transom import texts

PICTURE = {"type": "image_url", "image_url": {"url": "https://example.org/screen.png", "detail": "low"}}
FILLER = [
    message
    for number in range(30)
    for message in (
        {"role": "user", "content": f"Question {number} about part {number} of the import."},
        {"role": "assistant", "content": f"Answer {number}: the part is fine, and so is table_{number}. " * 6},
    )
]


def record_of(*messages: dict[str, object]) -> str:
    window = transom.fit([{"role": "user", "content": "Go."}, *messages, *FILLER], budget=2_500)
    return next(message["content"] for message in window if "a record of" in str(message["content"]))


def test_a_message_with_an_image_says_so():
    said = [{"type": "text", "text": "See this screenshot of window_7."}, PICTURE, PICTURE]
    record = record_of({"role": "assistant", "content": "Which?"}, {"role": "user", "content": said})
    assert " user, 2 images «See this screenshot of window_7.»" in record
    # and what reads records takes it as a quote
    assert "See this screenshot of window_7." in texts.quotes_in(record)
    parsed = parsed_record(record)
    assert parsed is not None
    assert [quote.text for quote in parsed.quotes if "window_7" in quote.text] == ["See this screenshot of window_7."]


@pytest.mark.parametrize(("is_error", "outcome"), [(False, "1 image"), (True, "failed, 1 image")])
def test_a_result_with_an_image_says_so(is_error, outcome):
    conv = transom.Conversation.open("memory:", "x", budget=2_500, dialect="anthropic")
    use = {"type": "tool_use", "id": "c", "name": "Read", "input": {"file_path": "shot.png"}}
    picture = {"type": "image", "source": {"type": "url", "url": "https://example.org/screen.png"}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": [picture], "is_error": is_error}
    conv.extend(
        [
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result]},
            *FILLER,
        ]
    )
    record = next(str(one["content"]) for one in conv.request()["messages"] if "a record of" in str(one["content"]))
    assert f"Read shot.png: {outcome}\\n" in record
