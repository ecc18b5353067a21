"""What a record quotes of what programs write: reports of other agents, not the bookkeeping around them."""

from __future__ import annotations

import json

import pytest

import transom
from transom.core.message import Text, ToolResult
from transom.strategies.actions.action import Action
from transom.strategies.actions.outcome import outcome_of
from transom.strategies.record.own_words import refusal_reason, report_span

FINDINGS = "\n".join(f"{at}. `push_batch_{at}` copies its slice, which a view would save." for at in range(1, 9))
NOTICE = (
    "<task-notification>\n<task-id>a6a2e1cf</task-id>\n<output-file>/private/tmp/tasks/a6a2e1cf.output</output-file>\n"
    '<status>completed</status>\n<summary>Agent "Efficiency" came to rest</summary>\n'
    f"<result>Perfect. I have the full picture.\n\n## Findings\n{FINDINGS}</result>\n"
    "<usage><subagent_tokens>32939</subagent_tokens><duration_ms>58670</duration_ms></usage>\n</task-notification>"
)
LAUNCHED = (
    "Async agent launched successfully.\nagentId: adb41db944957a246 (internal ID - do not mention to user.)\n"
    "The agent is working in the background.\noutput_file: /private/tmp/tasks/adb41db944957a246.output\n"
)


@pytest.mark.parametrize(
    ("text", "report"),
    [
        (NOTICE, f"Perfect. I have the full picture.\n\n## Findings\n{FINDINGS}"),
        ("<n>\n<id>a1</id>\n<report>\nNo <b>bug</b>.\n</report>\n<usage>5</usage>\n</n>", "No <b>bug</b>."),
        ("<bash-stdout>3 passed</bash-stdout><bash-stderr></bash-stderr>", None),
        ("<result></result>\nno report", None),
    ],
)
def test_the_report_in_a_message_that_a_program_wrote(text, report):
    span = report_span(text)
    assert (text[slice(*span)] if span else None) == report


@pytest.mark.parametrize(
    ("text", "is_receipt"),
    [
        (LAUNCHED, True),
        ("Monitor started (task bwiNk, persistent)", True),
        ("Agent is running in the background", True),
        ("The parser was started over.", False),
        ("I looked at the file that was launched", False),
        ("# Report\nAll is well.", False),
    ],
)
def test_a_result_that_only_says_that_something_was_launched_is_a_receipt(text, is_receipt):
    launched = outcome_of(ToolResult(call="c", parts=(Text(text),)), Action("Task", "delegate"))
    assert launched.receipt is is_receipt


def records(budget=6_000):
    agent = {"description": "Efficiency review", "prompt": "Review the batches for what is done twice. " * 9}
    messages = [{"role": "user", "content": "Review it."}]
    for at in range(40):
        name, args, result = "Read", {"file_path": f"/app/x_{at}.py"}, "def run():\n    return 1\n" * 40
        if at == 1:
            name, args, result = "Agent", agent, LAUNCHED
        call = {"id": f"c{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{at}", "content": result})
        if at == 3:
            messages += [{"role": "user", "content": NOTICE}, {"role": "assistant", "content": "One of two is in."}]
        if at == 5:
            messages.append({"role": "user", "content": "Go on."})
    short = transom.fit(messages, budget=budget)
    return "\n".join(message["content"] for message in short if "a record of" in (message["content"] or ""))


def test_a_record_quotes_the_findings_of_an_agent_and_not_that_it_was_launched():
    text = records()
    assert "Agent Efficiency review: launched" in text
    assert "## Findings\n1. `push_batch_1`" in text
    assert "push_batch_8" in text
    assert "do not mention" not in text
    assert "subagent_tokens" not in text
    assert "task-id" not in text


def test_a_skill_is_a_note_and_not_what_the_user_said():
    steps = "".join(f"{at}. Write document {at}, and commit it.\n" for at in range(1, 30))
    messages = [{"role": "user", "content": "Mend it."}, {"role": "assistant", "content": "How?"}]
    messages += [{"role": "user", "content": f"Base directory for this skill: /home/ann/.skills/plan\n\n{steps}"}]
    for at in range(40):
        messages += [{"role": "assistant", "content": f"Document {at} is written. " * 40}]
        messages += [{"role": "user", "content": "Go on."}]
    short = transom.fit(messages, budget=3_000)
    text = "\n".join(message["content"] for message in short)
    assert "note «Base directory" in text
    assert "user «Base directory" not in text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "The user doesn't want to proceed. The user provided the following reason for the rejection:  use pnpm",
            "use pnpm",
        ),
        (
            "Rejected. To tell you how to proceed, the user said:\ncommit first\n\nNote: The next message",
            "commit first",
        ),
        ("not run: the call was not approved: ask me before", "ask me before"),
        ("not run: the call was not approved", ""),
        ("The user doesn't want to take this action right now. STOP", ""),
    ],
)
def test_what_a_user_says_who_refuses_a_call(text, said):
    assert "".join(text[slice(*span)] for span in refusal_reason(text)).strip() == said


def test_a_record_quotes_why_a_call_was_refused():
    call = {"id": "c", "type": "function", "function": {"name": "Bash", "arguments": '{"command": "npm install"}'}}
    refused = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected. "
        "The user provided the following reason for the rejection:  use pnpm here"
    )
    messages = [{"role": "user", "content": "Set it up."}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    messages += [{"role": "tool", "tool_call_id": "c", "content": refused}]
    for at in range(30):
        names = "\n".join(f"value_{at}_{line} = make_{at}_{line}(total_{line})" for line in range(40))
        read = {
            "id": f"r{at}",
            "type": "function",
            "function": {"name": "Read", "arguments": f'{{"path": "x_{at}.py"}}'},
        }
        messages += [{"role": "assistant", "content": None, "tool_calls": [read]}]
        messages += [{"role": "tool", "tool_call_id": f"r{at}", "content": names}]
    shown = "\n".join(str(message["content"]) for message in transom.fit(messages, budget=4_000))
    assert "Bash npm install: refused by the user\n«…use pnpm here»" in shown
