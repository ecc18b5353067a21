"""Images and files of folded turns: a record says that they are there."""

from __future__ import annotations

import transom

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


def test_a_result_with_an_image_says_so():
    call = {"id": "c", "type": "function", "function": {"name": "Read", "arguments": '{"file_path": "shot.png"}'}}
    turn = {"role": "assistant", "content": None, "tool_calls": [call]}
    window = transom.fit(
        [
            {"role": "user", "content": "Go."},
            turn,
            {"role": "tool", "tool_call_id": "c", "content": [PICTURE]},
            *FILLER,
        ],
        budget=2_500,
    )
    record = next(message["content"] for message in window if "a record of" in str(message["content"]))
    assert "Read shot.png: 1 image" in record
