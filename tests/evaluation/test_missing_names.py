"""The report on a fold: the names in its turns that the window no longer has."""

from __future__ import annotations

import json

from transom import Budget, Conversation
from transom.core.edit import Fold
from transom.evaluation.missing_names import MissingNames, missing_names
from transom.testing.fakes import FakeClock, WordCounter
from transom.texts import record_title


def test_a_name_is_missing_unless_the_text_of_the_fold_or_another_place_has_it():
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
    assert missing_names(conv.view) == {fold: MissingNames(names=3, found=3, missing=())}
    conv.undo(fold)
    fold = conv.edit(Fold(first=first, last=first, text="[entries] nothing", why="test"))
    assert missing_names(conv.view) == {fold: MissingNames(names=3, found=2, missing=(("alpha_1", 3),))}
    conv.user("not the same: alpha_12")
    assert missing_names(conv.view) == {fold: MissingNames(names=3, found=2, missing=(("alpha_1", 3),))}
    conv.user("in lib.alpha_1.py")
    assert missing_names(conv.view) == {fold: MissingNames(names=3, found=3, missing=())}, "as part of a longer name"


def test_a_name_in_the_models_reasoning_is_not_missing():
    conv = Conversation.open("memory:", "x", budget=Budget(context=4_000), counter=WordCounter(), clock=FakeClock())
    conv.user("look")
    conv.user("gamma_3 here")
    conv.plan_request()
    conv.observe({"role": "assistant", "content": "ok", "reasoning_content": "it was gamma_3"})
    conv.user("go on")
    fold = conv.edit(Fold(first=1, last=1, text="[-]", why="test"))
    assert missing_names(conv.view) == {fold: MissingNames(names=1, found=1, missing=())}


def test_code_between_two_strings_is_not_a_name():
    conv = Conversation.open("memory:", "x", budget=Budget(context=4_000), counter=WordCounter(), clock=FakeClock())
    conv.user("look")
    conv.window()
    body = {"id": "c", "type": "function", "function": {"name": "cat", "arguments": "{}"}}
    conv.observe({"role": "assistant", "content": None, "tool_calls": [body]})
    code = """name = f"{tool} " if tool else "    " and f"{kind}",other,"real name" or f'{a}'), 'beta_1'"""
    conv.tool_result("c", code)
    conv.user("go on")
    first = conv.view.slots[1].key
    fold = conv.edit(Fold(first=first, last=first, text="[-]", why="test"))
    names = {name for name, _ in missing_names(conv.view)[fold].missing}
    assert names == {"beta_1", "real name"}


def test_a_name_in_a_line_of_a_record_is_not_missing():
    conv = Conversation.open("memory:", "x", budget=Budget(context=4_000), counter=WordCounter(), clock=FakeClock())
    conv.user("look")
    conv.plan_request()
    body = {"id": "c", "type": "function", "function": {"name": "Read", "arguments": '{"path": "/home/me/mod_0.py"}'}}
    conv.observe({"role": "assistant", "content": None, "tool_calls": [body]})
    conv.tool_result("c", "alpha_1 " * 9)
    conv.user("go on")
    first = conv.view.slots[1].key
    record = f"{record_title('entry 2', 1, 9, readable=False)}\n2 Read /home/me/mod_0.py: 1 line"
    fold = conv.edit(Fold(first=first, last=first, text=record, why="test"))
    assert [name for name, _ in missing_names(conv.view)[fold].missing] == ["alpha_1"]
