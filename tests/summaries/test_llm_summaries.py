"""Summaries by a scripted model: what it is asked, and what becomes of its answers."""

from __future__ import annotations

import json

import pytest
from summary_kit import delta, drive, turns_of, user_text, want_of

from transom.core.message import Usage
from transom.errors import InvalidSetting, SummaryFailed
from transom.providers.scripted import Fault, Scripted
from transom.providers.scripted import call as calls_tool
from transom.summaries import LlmSummarizer, Prompts, Section
from transom.testing import call, image, result, says, user
from transom.wire.dialects import DIALECTS

TALK = turns_of(
    "Please add a --reverse flag to the sort command in tools/sort.py, it must keep the order of equal lines.",
    call("read_file", '{"path": "tools/sort.py"}'),
    result("def sort(lines):\n    return sorted(lines)\n" * 20),
    call("bash", '{"command": "pytest tests/test_sort.py"}'),
    result("E   AssertionError: assert ['b', 'a'] == ['a', 'b']\n1 failed, 3 passed\n[exit code: 1]"),
    says("The flag is added with reverse=True; one test fails because equal lines change places."),
)
WHOLE = """\
## User intent
- [active] Add a --reverse flag to the sort command in tools/sort.py
## Progress
- [done] The flag is added with reverse=True
## Next steps
- [active] Keep the order of equal lines, so that the test passes
"""
SHOWN = [
    "## User intent",
    "- Add a --reverse flag to the sort command in tools/sort.py",
    "## Progress",
    "- [done] The flag is added with reverse=True",
    "## Next steps",
    "- Keep the order of equal lines, so that the test passes",
]


def lines_of(summary) -> list[str]:
    """The lines of a summary without its title and end."""
    return summary.text.splitlines()[1:-1]


# ---- flat text


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_first_summary_is_asked_for_in_every_dialect(dialect):
    provider, asked = Scripted(WHOLE, dialect=dialect), []
    summary = drive(LlmSummarizer(), want_of(TALK), provider, asked=asked)
    assert lines_of(summary) == SHOWN
    assert (summary.last, summary.made_by, summary.degraded) == (TALK[-1].key, "scripted:scripted", False)
    assert summary.usage == Usage(prompt=summary.usage.prompt, output=summary.usage.output)
    [ask] = asked
    body = json.dumps(ask.request)
    assert provider.violations == []
    assert "pytest tests/test_sort.py" in body
    assert not {"tools", "tool_choice", "stop", "stop_sequences"} & set(ask.request)


def test_an_update_has_the_summary_before_and_only_the_new_turns():
    first = drive(LlmSummarizer(), want_of(TALK), Scripted(WHOLE))
    more = turns_of("Go on, and use a stable sort, please.", says("It uses a stable sort now; the test passes."))
    answer = delta(
        [("decisions", "The sort is stable"), ("next", "Report to the user")], update=[{"id": "s3", "status": "done"}]
    )
    provider = Scripted(answer)
    second = drive(LlmSummarizer(), want_of(more, first, prior_seq=7), provider)
    assert lines_of(second) == [
        *SHOWN[:4],
        "## Key decisions and findings",
        "- The sort is stable",
        "## Next steps",
        "- Report to the user",
    ]
    assert second.prior == 7
    [text] = [message["content"] for message in provider.requests[0]["messages"] if message["role"] == "user"]
    assert "- s3 [active] Keep the order of equal lines" in text
    assert "stable sort" in text
    assert "def sort" not in text


def test_turns_that_are_too_many_for_one_request_are_merged_one_after_the_other():
    turns = turns_of(*[f"Fact number {n}: " + f"value{n} " * 100 for n in range(20)])
    provider = Scripted(then=lambda body: delta([("progress", f"Facts {len(json.dumps(body))}")]))
    asked = []
    summary = drive(LlmSummarizer(), want_of(turns, max_tokens=400), provider, context=4_000, asked=asked)
    bodies = [ask.request["messages"][1]["content"] for ask in asked]
    assert len(bodies) > 1
    for n in range(20):
        assert sum(f"Fact number {n}:" in body for body in bodies) == 1
    assert all(sum(map(len, map(str, ask.request["messages"]))) / 4 + ask.max_tokens < 4_000 for ask in asked)
    for before, body in enumerate(bodies[1:], start=1):
        assert body.count("Facts ") == before  # each request has the summary of the turns before
    assert len([line for line in lines_of(summary) if "Facts " in line]) == len(bodies)


def test_a_turn_that_is_too_long_is_split():
    turns = turns_of("line of words\n" * 3_000)
    provider = Scripted(then=delta([("progress", "words")]))
    summary = drive(LlmSummarizer(), want_of(turns, max_tokens=400), provider, context=4_000)
    text = "".join(request["messages"][1]["content"] for request in provider.requests)
    assert text.count("line of words") == 3_000
    assert summary.last == 0


def test_when_a_later_request_fails_the_summary_covers_the_turns_until_then():
    turns = turns_of(*[f"Fact number {n}: " + f"value{n} " * 100 for n in range(20)])
    provider = Scripted(delta([("progress", "Facts")]), then=Fault())
    summary = drive(LlmSummarizer(), want_of(turns, max_tokens=400), provider, context=4_000)
    covered = [n for n in range(20) if f"Fact number {n}:" in provider.requests[0]["messages"][1]["content"]]
    assert summary.last == turns[covered[-1]].key < turns[-1].key


def test_a_request_that_was_too_long_is_made_smaller():
    turns = turns_of(*[f"Fact number {n}: " + f"value{n} " * 100 for n in range(8)])
    provider = Scripted(then=delta([("progress", "Facts")]), context=2_000)
    summary = drive(LlmSummarizer(), want_of(turns, max_tokens=200), provider, context=8_000)
    assert summary.last == turns[-1].key
    with pytest.raises(SummaryFailed, match="context length"):
        drive(LlmSummarizer(), want_of(turns, max_tokens=200), Scripted("no", context=10), context=8_000)


def test_images_are_named_and_not_sent():
    turns = turns_of(user("look at this picture of the broken page", image()), says("The page is broken at its top."))
    provider = Scripted(WHOLE)
    with pytest.raises(SummaryFailed):
        drive(LlmSummarizer(retries=0), want_of(turns, max_tokens=50), provider)
    assert "[image left out]" in json.dumps(provider.requests)
    assert "base64" not in json.dumps(provider.requests)


def test_long_results_are_sent_without_their_middle():
    turns = turns_of("read it", call("read"), result("first " + "x " * 20_000 + "last"))
    provider = Scripted(delta([("progress", "read it")]))
    drive(LlmSummarizer(result_tokens=100), want_of(turns), provider)
    [text] = [m["content"] for m in provider.requests[0]["messages"] if m["role"] == "user"]
    assert "first " in text
    assert "last\n" in text
    assert "39,612 characters left out" in text


def test_the_focus_is_asked_for():
    provider = Scripted(WHOLE)
    drive(LlmSummarizer(), want_of(TALK, focus="the sort\norder"), provider)
    assert "Keep above all what concerns this: the sort order" in json.dumps(provider.requests)


@pytest.mark.parametrize(
    "answer",
    [
        """```json
{"add": [{"section": "Next Steps", "text": "report", "status": "todo"}],
 "update": [{"id": "(S2)", "status": "completed"}], "remove": []}
```""",
        'Here:\n{"add": [{"section": "next", "text": "report"}], "update": [{"id": "s2", "status": "x"}]}',
        '{"Progress": ["[done] the flag is added"], "next": [{"text": "report"}]}',
        "1. Progress:\n* s2 [completed] the flag is added\n\n**Next steps**:\n1) [in_progress] report",
    ],
    ids=["fenced", "introduced", "sections", "lists"],
)
def test_the_forms_in_which_models_answer(answer):
    first = drive(
        LlmSummarizer(), want_of(TALK), Scripted("## User intent\n- a flag\n## Progress\n- the flag is added")
    )
    more = turns_of("Go on, and use a stable sort, please.", says("It uses a stable sort now; the test passes. " * 5))
    second = drive(LlmSummarizer(), want_of(more, first), Scripted(answer))
    assert lines_of(second) == [
        "## User intent",
        "- a flag",
        "## Progress",
        "- [done] the flag is added",
        "## Next steps",
        "- report",
    ]


# ---- the fork


LIVE = {
    "openai": {
        "messages": [
            {"role": "system", "content": "You code." * 900},
            {"role": "user", "content": "Add a --reverse flag to the sort command in tools/sort.py"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "sh", "arguments": "{}"}}],
            },
            {
                "role": "tool",
                "tool_call_id": "c1",
                "content": "keep the order of equal lines, the flag is added with reverse=True" * 400,
            },
        ],
        "tools": [{"type": "function", "function": {"name": "sh", "parameters": {"type": "object", "properties": {}}}}],
    },
    "responses": {
        "instructions": "You code." * 900,
        "input": [
            {"role": "user", "content": "Add a --reverse flag to the sort command in tools/sort.py"},
            {"type": "function_call", "call_id": "c1", "name": "sh", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "keep the order of equal lines" * 900},
        ],
        "tools": [{"type": "function", "name": "sh", "parameters": {"type": "object", "properties": {}}}],
    },
    "anthropic": {
        "system": "You code." * 900,
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Add a --reverse flag to the sort command"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "sh", "input": {}}]},
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "content": "equal lines" * 2_000,
                        "cache_control": {"type": "ephemeral"},
                    }
                ],
            },
        ],
        "tools": [{"name": "sh", "input_schema": {"type": "object", "properties": {}}}],
    },
    "gemini": {
        "contents": [
            {"role": "user", "parts": [{"text": "Add a --reverse flag to the sort command"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "sh", "args": {}}}]},
            {
                "role": "user",
                "parts": [{"functionResponse": {"name": "sh", "response": {"output": "equal lines" * 2_500}}}],
            },
        ],
        "config": {
            "system_instruction": {"parts": [{"text": "You code." * 900}]},
            "tools": [
                {"functionDeclarations": [{"name": "sh", "parametersJsonSchema": {"type": "object", "properties": {}}}]}
            ],
        },
    },
}


def is_forked(asked) -> list[bool]:
    """Which of these requests to OpenAI's chat API begin with the live one."""
    live = LIVE["openai"]["messages"]
    return [ask.request["messages"][0] == live[0] for ask in asked]


@pytest.mark.parametrize("dialect", LIVE)
def test_a_fork_begins_with_the_bytes_of_the_live_request(dialect):
    live = LIVE[dialect]
    settings = {"stop": ["x"], "tool_choice": "required", "temperature": 1}
    asked, provider = [], Scripted(WHOLE, dialect=dialect)
    want = want_of(TALK, request={**live, **settings}, request_tokens=9_000)
    summary = drive(LlmSummarizer(), want, provider, same_as_live=True, asked=asked)
    assert lines_of(summary) == SHOWN
    [ask] = asked
    assert provider.violations == []
    key = next(name for name in ("messages", "input", "contents") if name in live)
    *before, instruction = ask.request[key]
    assert {**ask.request, key: before} == live
    sent, seen = json.dumps(ask.request[key]), json.dumps(live[key])
    assert sent.startswith(seen[:-1])
    beside = len(json.dumps({name: value for name, value in live.items() if name != key}))
    assert (len(seen) + beside) / (len(sent) + beside) > 0.94
    assert "up to the message that begins with the words given below" in json.dumps(instruction)
    assert "The flag is added with reverse=True" in json.dumps(instruction)


def test_a_fork_is_valid_where_a_user_may_not_follow_a_tool():
    live = LIVE["openai"]
    last = live["messages"][-1] | {"tool_call_id": "c12345678"}
    turn = live["messages"][2]
    calls = [turn["tool_calls"][0] | {"id": "c12345678"}]
    live = {
        "messages": [*live["messages"][:2], turn | {"content": "", "tool_calls": calls}, last],
        "tools": live["tools"],
    }
    asked, provider = [], Scripted(WHOLE, dialect="mistral")
    drive(LlmSummarizer(), want_of(TALK, request=live, request_tokens=9_000), provider, same_as_live=True, asked=asked)
    assert is_forked(asked) == [True]
    assert provider.violations == []
    assert asked[0].request["messages"][:4] == live["messages"]
    assert asked[0].request["messages"][4] == {"role": "assistant", "content": "OK"}


@pytest.mark.parametrize(
    "change",
    [{"same_as_live": False}, {"context": 9_500}, {"request_tokens": 0}, {"request": None}, {"fork": False}],
    ids=str,
)
def test_there_is_no_fork_where_it_is_not_cached_or_does_not_fit(change):
    given = {"same_as_live": True, "context": 30_000, "request": LIVE["openai"], "request_tokens": 9_000, "fork": True}
    given |= change
    want = want_of(TALK, request=given["request"], request_tokens=given["request_tokens"])
    asked = []
    summarizer = LlmSummarizer(fork=given["fork"])
    drive(summarizer, want, Scripted(WHOLE), same_as_live=given["same_as_live"], context=given["context"], asked=asked)
    assert is_forked(asked) == [False]


@pytest.mark.parametrize(
    "failure",
    [calls_tool("sh"), "Sure, I go on.", Fault(kind="overflow", status=400)],
    ids=["call", "talk", "overflow"],
)
def test_a_fork_that_fails_is_followed_by_flat_text(failure):
    asked = []
    want = want_of(TALK, request=LIVE["openai"], request_tokens=9_000)
    summary = drive(LlmSummarizer(), want, Scripted(failure, WHOLE), same_as_live=True, asked=asked)
    assert is_forked(asked) == [True, False]
    assert lines_of(summary) == SHOWN


@pytest.mark.parametrize(("kind", "status"), [("auth", 401), ("rate_limit", 429), ("server", 500)])
def test_a_fork_that_the_provider_refuses_is_not_sent_again_as_flat_text(kind, status):
    asked = []
    want = want_of(TALK, request=LIVE["openai"], request_tokens=9_000)
    with pytest.raises(SummaryFailed, match=str(status)):
        drive(LlmSummarizer(), want, Scripted(Fault(kind=kind, status=status), WHOLE), same_as_live=True, asked=asked)
    assert is_forked(asked) == [True]


# ---- answers that cannot be used


FRENCH = """\
## User intent
- Ajouter un drapeau pour inverser l'ordre du tri dans la commande, sans changer les lignes semblables
- Il faut garder la position initiale des éléments égaux pendant toute cette opération de tri
## Progress
- Le drapeau fut ajouté avec succès, mais une vérification échoue encore pour cette raison précise
"""


def task_again(request: dict) -> str:
    """A model that repeats what it is asked to do, as a list under the headings."""
    lines = request["messages"][-1]["content"].rpartition(" ===")[2].split("\n")
    return "\n".join(["## User intent", *(f"- {line}" for line in lines if line)])


def task_in_bold(request: dict) -> str:
    """A model that repeats its task in other case, in bold and without full stops. Its headings are as asked for."""
    lines = [line.removeprefix("- ") for line in task_again(request).split("\n")]
    return "\n".join(line if line.startswith("#") else f"- **{line.upper().rstrip('.')}**" for line in lines)


HOSTILE = {
    "its own task": (task_again, "none of the sections"),
    "its own task in bold": (task_in_bold, "none of the sections"),
    "nothing": ("", "empty"),
    "blanks": (" \n ", "empty"),
    "a tool call": (calls_tool("sh"), "called a tool"),
    "100,000 characters": ("x" * 100_000, "100,000 characters"),
    "nonsense": ("blah blah " * 50, "none of the sections"),
    "nonsense in sections": ("## User intent\n- " + " ".join(f"zork{chr(97 + n)}qua" for n in range(20)), "words"),
    "a refusal": ("I'm sorry, but I can't help with that.", "refused"),
    "another language": (FRENCH, "another language"),
    "an answer to the user": ("You can use sorted(lines, reverse=True).", "none of the sections"),
    "broken JSON": ('{"add": [{"section": "progress", "text": "The fl', "none of the sections"),
    "malformed changes": ('{"add": [{"section": "plans"}, 3, {"text": 1}]}', "3 of its changes are malformed"),
    "no changes": ('{"add": []}', "adds nothing"),
    "only thoughts": ("<think>the flag is added", "empty"),
    "an error": (Fault(kind="server", status=500), "500"),
    "silence": (Fault(kind="timeout"), "timeout"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_an_answer_that_cannot_be_used_replaces_nothing(name):
    answer, why = HOSTILE[name]
    provider = Scripted(then=answer)
    with pytest.raises(SummaryFailed, match=why) as raised:
        drive(LlmSummarizer(), want_of(TALK, max_tokens=500), provider)
    assert "\n" not in str(raised.value)
    assert len(provider.requests) == (1 if isinstance(answer, Fault) else 2)


@pytest.mark.parametrize("name", [name for name, (answer, _) in HOSTILE.items() if not isinstance(answer, Fault)])
def test_a_model_gets_a_second_try_with_the_reason_in_our_own_words(name):
    answer, _ = HOSTILE[name]
    provider = Scripted(answer, WHOLE)
    assert lines_of(drive(LlmSummarizer(), want_of(TALK, max_tokens=500), provider)) == SHOWN
    again = json.dumps(provider.requests[1])
    assert "Your last answer could not be used: " in again
    assert "blah" not in again.split("could not be used")[1]


def test_an_answer_without_the_users_intent_is_repaired():
    summary = drive(
        LlmSummarizer(), want_of(TALK), Scripted("## Progress\n- The flag is added\n## Next steps\n- the test")
    )
    assert lines_of(summary)[:2] == ["## User intent", f"- The first task: «{TALK[0].facts[0].parts[0].text}»"]


def test_a_summary_that_is_not_smaller_than_its_input_is_refused():
    turns = turns_of("Add a flag", says("Added."))
    with pytest.raises(SummaryFailed, match="not be smaller than its input"):
        drive(LlmSummarizer(), want_of(turns), Scripted("## User intent\n- Add a flag"))


def test_without_a_model_or_turns_there_is_no_summary():
    with pytest.raises(SummaryFailed, match="no model"):
        drive(LlmSummarizer(), want_of(TALK))
    with pytest.raises(SummaryFailed, match="nothing to summarise"):
        drive(LlmSummarizer(), want_of(()), Scripted("x"))
    with pytest.raises(SummaryFailed, match="has no room"):
        drive(LlmSummarizer(), want_of(TALK), Scripted("x"), context=600)


EXAMPLE = """\
{
  "add": [
    {"section": "progress", "text": "…", "status": "done"}
  ],
  "remove": []
}"""


def with_example(answer):
    """The second summary of a model whose prompt has a long example of JSON."""
    prompts = Prompts(update=f"Answer with one JSON object:\n{EXAMPLE}\nThe sections are:\n{{sections}}")
    more = turns_of("Go on, and use a stable sort, please.", says("It uses a stable sort now; the test passes. " * 5))
    first = drive(LlmSummarizer(), want_of(TALK), Scripted("## User intent\n- a flag"))
    return drive(LlmSummarizer(prompts=prompts), want_of(more, first), Scripted(then=answer))


@pytest.mark.parametrize("end", ["\u2028", "\u2029", "\x85"])
def test_json_with_a_line_separator_in_a_text_is_read(end):
    summary = with_example(EXAMPLE.replace("…", f"a stable{end}sort"))
    assert lines_of(summary)[-1] == "- [done] a stable sort"


def test_json_in_the_form_of_the_example_is_read():
    summary = with_example(EXAMPLE.replace("…", "a stable sort"))
    assert lines_of(summary) == ["## User intent", "- a flag", "## Progress", "- [done] a stable sort"]


def test_json_behind_the_example_is_read():
    summary = with_example(f"{EXAMPLE}\n{EXAMPLE.replace('…', 'a stable sort')}")
    assert lines_of(summary)[-1] == "- [done] a stable sort"


def test_the_example_is_no_answer():
    with pytest.raises(SummaryFailed, match="none of the sections"):
        with_example(EXAMPLE)


# ---- prompts


def test_prompts_can_be_replaced():
    sections = (Section("goal", "Goal", "what is wanted"), Section("facts", "Facts", "what is known"))
    prompts = Prompts(sections=sections, system="Summarise.", first="Headings:\n{headings}\nIn {words} words.{focus}")
    provider = Scripted("# Goal:\n1. the --reverse flag\n**Facts**\n* [x] the flag is added")
    summary = drive(LlmSummarizer(prompts=prompts), want_of(TALK, max_tokens=500), provider)
    assert lines_of(summary) == ["## Goal", "- the --reverse flag", "## Facts", "- [done] the flag is added"]
    [system, asked] = provider.requests[0]["messages"]
    assert system == {"role": "system", "content": "Summarise."}
    assert asked["content"].endswith("Headings:\n## Goal\n(what is wanted)\n## Facts\n(what is known)\nIn 300 words.")


def test_settings_are_checked():
    with pytest.raises(InvalidSetting, match=r"prompts.update: \{heading\} is no placeholder there"):
        Prompts(update="Write {heading}.")
    with pytest.raises(InvalidSetting, match="no key twice"):
        Prompts(sections=())
    with pytest.raises(InvalidSetting, match="share must be from"):
        LlmSummarizer(share=2)
    with pytest.raises(InvalidSetting, match="retries"):
        LlmSummarizer(retries=-1)


TABLE = "".join(f"row {n} of the table\n" for n in range(60))


@pytest.mark.parametrize(
    ("name", "arguments", "text", "is_read"),
    [
        ("Read", {"file_path": "src/table.py"}, TABLE, False),
        ("bash", {"command": "cat src/table.py"}, TABLE, False),
        ("bash", {"command": "pytest"}, TABLE, True),
        ("Read", {"file_path": "src/table.py"}, TABLE[:300], True),
        ("Read", {"file_path": "src/table.py"}, '{"order": "W1"}' + TABLE, True),
        ("bash", {"command": "cat src/table.py"}, TABLE + "\n[exit code: 2]", True),
    ],
)
def test_a_result_that_a_line_would_do_for_is_not_read(name, arguments, text, is_read):
    asked = []
    want = want_of(turns_of("Read the table of rows.", call(name, json.dumps(arguments)), result(text)))
    drive(LlmSummarizer(), want, Scripted(then="## User intent\n- read the table of rows"), asked=asked)
    sent = user_text(asked[0].request)
    assert (text.strip() in sent) == is_read
    assert ("characters, not shown]" in sent) != is_read
