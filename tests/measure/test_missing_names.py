"""The loss report of a fold: what its turns named that stands in the window no more."""

from __future__ import annotations

import json

from transom import Budget, Conversation
from transom.core.edit import Fold
from transom.measure.missing_names import MissingNames, missing_names
from transom.testing.fakes import FakeClock, WordCounter


def test_a_name_is_lost_unless_it_stands_in_the_folds_text_or_elsewhere():
    conv = Conversation.open("memory:", "x", budget=Budget(context=4_000), counter=WordCounter(), clock=FakeClock())
    conv.user("look at src/main.py")
    for number, text in enumerate(("alpha_1 beta_2 gamma_3 " * 9, "beta_2 again")):
        conv.plan_request()
        body = {"id": f"c{number}", "type": "function", "function": {"name": "sh", "arguments": json.dumps({})}}
        conv.observe({"role": "assistant", "content": None, "tool_calls": [body]})
        conv.tool_result(f"c{number}", text)
    conv.user("now say gamma_3")
    first = conv.view.slots[1].key
    fold = conv.edit(Fold(first=first, last=first, text="[entries] alpha_1", why="test"))
    assert missing_names(conv.view) == {fold: MissingNames(names=3, found=3, gone=())}
    conv.undo(fold)
    fold = conv.edit(Fold(first=first, last=first, text="[entries] nothing", why="test"))
    assert missing_names(conv.view) == {fold: MissingNames(names=3, found=2, gone=(("alpha_1", 3),))}
    conv.user("in lib.alpha_1.py")
    assert missing_names(conv.view) == {fold: MissingNames(names=3, found=3, gone=())}, (
        "it stands there, in a longer name"
    )
    conv.user("not the same: alpha_12")


def test_a_name_in_the_models_reasoning_stands_there():
    conv = Conversation.open("memory:", "x", budget=Budget(context=4_000), counter=WordCounter(), clock=FakeClock())
    conv.user("look")
    conv.user("gamma_3 here")
    conv.plan_request()
    conv.observe({"role": "assistant", "content": "ok", "reasoning_content": "it was gamma_3"})
    conv.user("go on")
    fold = conv.edit(Fold(first=1, last=1, text="[-]", why="test"))
    assert missing_names(conv.view) == {fold: MissingNames(names=1, found=1, gone=())}
