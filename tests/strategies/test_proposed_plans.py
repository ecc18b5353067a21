"""Plans that an agent shows the user as one text: quoted like an answer, or briefly if the user refused."""

from __future__ import annotations

import json

import transom

STEPS = "\n".join(f"{at}. Move `step_{at}` of the export into a module of its own, with tests." for at in range(1, 13))
PLAN = f"# Plan: split the export\n\n{STEPS}\n\nNothing else changes."
APPROVED = "User has approved your plan. You can now start coding. Start with updating your todo list if applicable"
REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected."


def record(result, name="ExitPlanMode", plan=PLAN):
    messages = [{"role": "user", "content": "Split the export."}]
    for at in range(40):
        called, args, ended = "Read", {"file_path": f"/app/x_{at}.py"}, "def run():\n    return 1\n" * 40
        if at == 1:
            called, args, ended = name, {"plan": plan}, result
        call = {"id": f"c{at}", "type": "function", "function": {"name": called, "arguments": json.dumps(args)}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{at}", "content": ended})
    short = transom.fit(messages, budget=8_000)
    return next(message["content"] for message in short if "a record of" in (message["content"] or ""))


def test_an_approved_plan_is_quoted_and_stands_once():
    text = record(APPROVED)
    assert "\n3 ExitPlanMode\n«# Plan: split the export\n" in text
    assert "«User has approved your plan." in text
    assert text.count("# Plan") == 1
    assert all(f"`step_{at}`" in text for at in range(1, 13))


def test_of_a_refused_plan_only_the_beginning_is_quoted():
    text = record(REFUSED, name="exit_plan_mode")
    assert "\n3 exit_plan_mode: refused by the user\n«# Plan: split the export\n" in text
    assert "step_1`" in text
    assert "step_4" not in text


def test_a_plan_of_one_word_is_an_argument_like_others():
    assert "change_tariff basic_2" in record("done", name="change_tariff", plan="basic_2")
