"""What `transom check` says when a policy, a budget or a log changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from recordings import TASK, recording, write_recordings

from transom.core.budget import Budget
from transom.errors import InvalidSetting
from transom.importers import read
from transom.policies import policy_named
from transom.reports import Checked, read_check_file, run_checks
from transom.reports.recorded_calls import recorded_calls

SECRET = "The gate code is QX-4711."
CHECKS = """
files = ["chats.jsonl"]
budget = 3000
policy = "sliding"
"""
REPLY = {"role": "assistant", "content": "Noted."}
WITH = "files = ['a.jsonl']\nbudget = '8k'\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked(check: str, settings: str = CHECKS, *, budget: int | None = None, **options: object) -> Checked:
    Path("a.check.toml").write_text(f"{settings}\n[[check]]\n{check}\n", encoding="utf-8")
    return run_checks(read_check_file(Path("a.check.toml"), budget=budget), **options)


def test_a_text_that_stays_holds() -> None:
    write_recordings(Path("chats.jsonl"), one=recording(12))
    found = checked('contains = "Never  delete\\none."')
    assert (found.policy, found.budget, found.conversations, found.calls, found.failed) == ("sliding", 3000, 1, 13, [])
    assert [(one.name, one.calls) for one in found.results] == [("contains Never delete one.", 13)]


def test_a_text_that_leaves_names_the_call_and_the_edit() -> None:
    write_recordings(Path("chats.jsonl"), one=recording(12, said={2: SECRET}))
    (result,) = checked(f'name = "the code"\ncontains = "{SECRET}"\nat = -1').failed
    (failure,) = result.failures
    assert (failure.conversation, failure.call, failure.failed_calls) == ("one", 13, 1)
    assert failure.left_at is not None
    assert 4 <= failure.left_at < 13
    (edit,) = failure.edits
    assert (edit.kind, edit.why) == ("fold", "compaction")
    (row,) = failure.entries
    assert (row.role, row.state, row.edits) == ("tool", "folded", (edit.entry,))
    lines = list(failure.lines())
    assert lines[0] == "call 13 of one: its window does not have this text"
    edited = f"the fold in entry {edit.entry}, of {edit.covers}"
    assert lines[1] == f"it left at call {failure.left_at} by {edited}: compaction (plan {edit.plan})"
    at_that_call = checked(f'contains = "{SECRET}"\nat = {failure.left_at - 1}')
    assert at_that_call.failed == [], "one call earlier it was there"
    (all_calls,) = checked(f'contains = "{SECRET}"').failed
    assert all_calls.failures[0].call == failure.left_at
    assert all_calls.failures[0].failed_calls == 14 - failure.left_at


@pytest.mark.parametrize("changed", ["policy", "budget", "log"])
def test_a_check_fails_when_anything_changes(changed: str) -> None:
    check = 'matches = "code is QX-\\\\d+"\nat = -1\nconversation = "one"'
    write_recordings(Path("chats.jsonl"), one=recording(12, said={9: SECRET}))
    assert checked(check).failed == []
    if changed == "policy":
        Path("a.check.toml").write_text(f"{CHECKS}\n[[check]]\n{check}\n")
        dropped = policy_named("sliding", target=0.3, trigger=0.4)
        failed = run_checks(read_check_file(Path("a.check.toml")), policy=dropped).failed
    elif changed == "budget":
        failed = checked(check, budget=1_000).failed
    else:
        write_recordings(Path("chats.jsonl"), one=recording(12, said={3: SECRET}))
        failed = checked(check).failed
    assert [edit.kind for edit in failed[0].failures[0].edits] == ["fold"]


def test_a_text_that_nobody_said_fails() -> None:
    write_recordings(Path("chats.jsonl"), one=recording(2), two=recording(1))
    (result,) = checked('contains = "xyz"').failed
    assert list(result.failures[0].lines()) == ["these files: no message before a call has this text"]
    (result,) = checked('contains = "xyz"\nconversation = "two"\nat = 1').failed
    assert list(result.failures[0].lines()) == ["call 1 of two: no message before it has this text"]
    (result,) = checked(f'contains = "{TASK}"\nconversation = "three"').failed
    assert list(result.failures[0].lines()) == ["conversation three: there is no conversation"]
    (result,) = checked(f'contains = "{TASK}"\nconversation = "two"\nat = 5').failed
    assert list(result.failures[0].lines()) == ["two: there is no call 5: it has 2 calls"]


def test_conversations_that_never_had_a_text_are_not_asked_for_it() -> None:
    write_recordings(Path("chats.jsonl"), one=recording(2, said={0: SECRET}), two=recording(2))
    assert checked(f'contains = "{SECRET}"').results[0].calls == 2
    assert checked(f'contains = "{SECRET}"\nat = -1').failed == []


def test_the_arguments_of_a_call_count_as_what_they_say() -> None:
    messages = recording(1)
    messages[2]["tool_calls"][0]["function"]["arguments"] = '{"text": "two\\nlines, \\"quoted\\""}'
    write_recordings(Path("chats.jsonl"), one=messages)
    assert checked("""contains = 'two lines, "quoted"'""").results[0].calls == 1


def test_a_call_without_a_window_fails() -> None:
    write_recordings(Path("chats.jsonl"), one=recording(12))
    (result,) = checked(f'contains = "{TASK}"', policy="passthrough").failed
    assert result.failures[0].problem.startswith("it gets no window: need at least 3,")
    assert result.failures[0].call is not None
    assert result.failures[0].failed_calls == 14 - result.failures[0].call
    (result,) = checked("max_tokens = 100000", policy="passthrough").failed
    assert result.failures[0].problem.startswith("it gets no window")
    (result,) = checked(f'contains = "{TASK}"', budget=20).failed
    assert (result.failures[0].call, result.failures[0].failed_calls) == (1, 13), "no call gets a window"


def test_no_pattern_takes_forever() -> None:
    write_recordings(Path("chats.jsonl"), one=[*recording(1), {"role": "user", "content": "a" * 100_000 + "!"}, REPLY])
    (result,) = checked('matches = "^(a+)+$"').failed
    assert result.failures[0].problem == "no message before a call has this text"
    assert checked('matches = "(a+)+!"').failed == []


def test_limits() -> None:
    write_recordings(Path("chats.jsonl"), one=recording(12))
    assert checked('max_tokens = "3k"').failed == []
    (result,) = checked("max_tokens = 2000").failed
    assert " tokens, more than 2,000" in result.failures[0].problem
    assert checked("min_cached_share = 0.3").failed == []
    (result,) = checked("min_cached_share = 0.9").failed
    (failure,) = result.failures
    assert failure.problem.startswith("the cached share is ")
    assert [(edit.kind, edit.why) for edit in failure.edits] == [("fold", "compaction")]
    assert list(failure.lines())[1].startswith("broken by the fold in entry ")
    priced = f"{CHECKS}\npriced_by = {{input = 2.0, output = 9.0, cache_read = 0.2}}"
    assert checked("max_cost = 0.05", priced).failed == []
    (result,) = checked("max_cost = 0.01", priced).failed
    assert result.failures[0].problem.startswith("the cost passes $0.0100 here; all 13 calls cost $0.0")
    whole = run_checks(read_check_file(Path("a.check.toml"), budget=100_000), policy="passthrough").failed[0]
    assert f"all 13 calls cost ${dollars_of_the_whole():.4f}" in whole.failures[0].problem


def dollars_of_the_whole() -> float:
    """What all calls cost with the whole history: each reads the call before from the cache."""
    (record,) = read("chats.jsonl")
    calls = recorded_calls(record, budget=Budget(context=100_000), policy=policy_named("passthrough"))
    sizes = [call.window.size.tokens for call in calls if call.window is not None]
    pairs = zip([0, *sizes], sizes, strict=False)
    return sum(2.0 * (now - before) + 0.2 * before for before, now in pairs) / 1e6


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("files = ['a.jsonl']\n[[check]]\ncontains='a'", "Object missing required field `budget`"),
        ("files = []", "files: Expected `array` of length >= 1"),
        ("files = []\nbudget = '8k'\n[[check]]\ncontains='a'", "files: Expected `array` of length >= 1"),
        ("files = ['a.jsonl']\nbudget = '8k'\ncheck = []", "check: Expected `array` of length >= 1"),
        ("files = ['a.jsonl']\nbudget = '8k'\n[check]\ncontains='a'", "check: Expected `array`, got `object`"),
        ("files = ['a.jsonl']\nbudget = '8k'\nbugdet = 1", "unknown field `bugdet`"),
        ("files = ['a.jsonl']\nbudget = '8k'\npath = 'x'", "path: "),
        ("files = ['b.jsonl']\nbudget = '8k'\n[[check]]\ncontains='a'", "files: there is no file b.jsonl"),
        ("files = ['a.jsonl']\nbudget = 'much'\n[[check]]\ncontains='a'", "budget: must be a whole number of tokens"),
        (f"{WITH}policy = 'nope'\n[[check]]\ncontains='a'", "unknown policy 'nope': there are default, sliding"),
        (f"{WITH}[[check]]\ncontains='a'\n[[check]]\ncontain='b'", "check[1]: Object contains unknown field `contain`"),
        (f"{WITH}[[check]]\nname = 'a'", "a check needs one of contains, matches, max_tokens"),
        (f"{WITH}[[check]]\ncontains='a'\nmax_tokens=1", "not contains and max_tokens"),
        (f"{WITH}[[check]]\ncontains=' '", "contains must not be empty"),
        (f"{WITH}[[check]]\nmatches='('", "matches: pattern '(': missing )"),
        (f"{WITH}[[check]]\ncontains='a'\nat=0", "calls are counted from 1"),
        (f"{WITH}[[check]]\ncontains='a'\nat='last'", "check[0].at: Expected `int | array`, got `str`"),
        (f"{WITH}[[check]]\ncontains=5", "check[0].contains: Expected `str | null`, got `int`"),
        (f"{WITH}check = ['a']", "check[0]: Expected `object`, got `str`"),
        (f"{WITH}[[check]]\nmax_tokens=5\nat=1", "at is only for contains and matches"),
        (f"{WITH}[[check]]\nmax_tokens='many'", "max_tokens: must be a whole number of tokens"),
        (f"{WITH}[[check]]\nmax_cost=5", "max_cost needs priced_by"),
        (f"{WITH}priced_by='x:y'\n[[check]]\nmax_cost=5", "the prices of 'x:y' are not known"),
        (f"{WITH}[[check]]\nmin_cached_share=5", "check[0].min_cached_share: Expected `float` <= 1.0"),
        (f"{WITH}[[check]]\ncontains='a'\n[[check]]\ncontains='a'", "two checks are named"),
        ("files = [", "this is no TOML: Invalid value"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(text: str, why: str) -> None:
    write_recordings(Path("a.jsonl"), one=recording(1))
    path = Path("a.check.toml")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidSetting) as wrong:
        read_check_file(path)
    assert str(wrong.value).startswith("a.check.toml: ")
    assert why in str(wrong.value)
    assert "\n" not in str(wrong.value)
