"""An exception of a function of the caller's stays what it is, and says which function it was."""

import pytest

from transom import Conversation


def fails(*_given: object) -> str:
    raise ZeroDivisionError


@pytest.mark.parametrize("setting", ["state", "head_parts"])
def test_the_function_is_named(setting: str) -> None:
    conv = Conversation.open("memory:", "x", budget=8_000, **{setting: {"todo": fails}})
    conv.user("go")
    with pytest.raises(ZeroDivisionError) as raised:
        conv.request()
    assert raised.value.__notes__ == [f"raised by the function for 'todo' in `{setting}`"]
