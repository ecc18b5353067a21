"""`View.call_of`: the call that a result answers."""

from __future__ import annotations

from transom import Conversation


def test_a_unit_that_is_no_turn_of_the_model_has_no_call():
    with Conversation.open("memory:", "a", budget=10_000) as conv:
        seq = conv.user("hello")
        view = conv.window().view
    assert view.call_of(view.unit(view.unit_of[seq]), seq) is None
