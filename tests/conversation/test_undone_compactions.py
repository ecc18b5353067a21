"""After the undo of a compaction that the budget has no room for, the window has a record again."""

from __future__ import annotations

import transom
from transom.texts import is_record


def test_what_does_not_fit_after_an_undo_is_folded_into_a_record_and_not_left_out() -> None:
    with transom.Conversation.open("memory:", "c", budget=3_000) as conv:
        for number in range(40):
            conv.user(f"Which containers does the crane at pier {number} lift? " * 6)
            conv.observe({"role": "assistant", "content": f"At pier {number} it lifts crate_{number}. " * 12})
        conv.user("And now?")
        before = [message["content"] for message in conv.request()["messages"]]
        assert any(map(is_record, before))
        assert conv.undo()
        after = [message["content"] for message in conv.request()["messages"]]
        assert any(map(is_record, after))
        assert not any("left out of this window" in text for text in after)
        assert abs(len("".join(after)) - len("".join(before))) < 0.2 * len("".join(before))
