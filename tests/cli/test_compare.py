"""`transom compare`: the figures of several policies."""

from __future__ import annotations

import json

import pytest
from conversation_files import chat, write_jsonl

from transom.cli.replay_report import print_figures
from transom.cli.terminal import terminal
from transom.evaluation.compare import Compared
from transom.evaluation.replay_stats import ReplayStats
from transom.policies import POLICIES
from transom.reports.policy_figures import COMPARE, COST, REASONING, REPLAY, VERDICT, figures


def compared(run, *args):
    """Run compare. Returns the exit code and the figures of each policy."""
    code, out, err = run("compare", "chats.jsonl", "--json", "--jobs", 1, *args)
    assert (out.count("\n"), err) == (1, "")
    return code, {one["policy"]: one for one in json.loads(out)["policies"]}


def test_the_figures_of_several_policies(run):
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat(12)}, {"id": "two", "messages": chat(2)},
          {"id": "none", "messages": [{"role": "assistant", "content": "Hello."}]})  # fmt: skip
    code, found = compared(run, "--budget", 3_000)
    assert code == 0
    assert list(found) == ["default", "sliding", "passthrough"]
    assert {one["calls"] for one in found.values()} == {16}
    assert found["passthrough"]["refused"] > 0
    assert found["passthrough"]["cost_anthropic"] == 1.0
    assert found["passthrough"]["append_only"] == 1.0
    for name in ("default", "sliding"):
        one = found[name]
        assert (one["conversations"], one["sent"], one["refused"], one["invalid"], one["over"]) == (3, 16, 0, 0, 0)
        assert one["anthropic"]["paid"] == pytest.approx(1.25 * one["tokens"] - 1.15 * one["shared_tokens"])
        assert one["cost_anthropic"] == one["anthropic"]["paid"] / one["anthropic"]["everything"]
        assert one["append_only"] == 1 - one["breaks"] / 16 < 1
    total = json.loads(run("replay", "chats.jsonl", "--budget", 3_000, "--policy", "sliding", "--json")[1])["total"]
    whole = compared(run, "--budget", 1_000_000, "--policies", "passthrough")[1]["passthrough"]
    assert found["sliding"]["anthropic"]["everything"] == pytest.approx(whole["anthropic"]["paid"])
    assert found["default"]["openai"]["everything"] == pytest.approx(whole["openai"]["paid"])
    same = (
        "calls",
        "sent",
        "refused",
        "tokens",
        "passthrough",
        "shared_tokens",
        "breaks",
        "compactions",
        "skipped",
        "cached_share",
    )
    assert {name: found["sliding"][name] for name in same} == {name: total[name] for name in same}


def test_grounding_is_the_share_of_names_in_the_windows(run):
    first = {"role": "user", "content": "Look at src/app/main.py first. " + "It is the one that fails. " * 12}
    talk = [message for n in range(6) for message in ({"role": "assistant", "content": f"{n}"},
                                                      {"role": "user", "content": "and so on " * 60})]  # fmt: skip
    last = {"role": "assistant", "content": "src/app/main.py it is"}
    hello = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hello!"}]
    write_jsonl("chats.jsonl", {"id": "x", "messages": [*hello, first, *talk, last]})
    found = compared(run, "--budget", 400, "--policies", "sliding")[1]["sliding"]
    assert found["grounding"] == {
        "needed": 1, "present": 0, "wide": 0, "far_needed": 1, "far_present": 0, "far_wide": 0
    }  # fmt: skip
    assert (found["grounding_all"], found["grounding_beyond"]) == (0.0, 0.0)
    found = compared(run, "--budget", 4_000, "--policies", "sliding")[1]["sliding"]
    assert (found["grounding_all"], found["grounding_beyond"]) == (1.0, None)


def test_settings_behind_a_name_are_another_policy(run):
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat_about_files(20)})
    early = "default:keep_recent=0.3:trigger=0.7"
    code, found = compared(run, "--budget", 3_000, "--policies", f"default,default:trigger=.7:keep_recent=.3,{early}")
    assert (code, list(found)) == (0, ["default", early])
    assert found[early]["tokens"] < found["default"]["tokens"]
    replayed = json.loads(run("replay", "chats.jsonl", "--budget", 3_000, "--policy", early, "--json")[1])
    assert replayed["policy"] == early
    assert replayed["total"]["tokens"] == found[early]["tokens"]


def test_all_policies(run):
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat(2)})
    assert list(compared(run, "--budget", 4_000, "--policies", "all")[1]) == list(POLICIES)
    assert list(compared(run, "--budget", 4_000, "--policies", "sliding, default,sliding")[1]) == ["sliding", "default"]


def test_several_processes_give_the_same_figures(run):
    write_jsonl("chats.jsonl", *({"id": f"{n}", "messages": chat(n)} for n in (3, 12, 6)))
    alone = compared(run, "--budget", 3_000)[1]
    code, out, _ = run("compare", "chats.jsonl", "--budget", 3_000, "--json", "--jobs", 2)
    together = {one["policy"]: one for one in json.loads(out)["policies"]}
    for one in (*alone.values(), *together.values()):
        assert one.pop("seconds") > 0
        assert one.pop("ms_per_call") > 0
    assert (code, together) == (0, alone)


def test_a_row_for_each_policy(run, monkeypatch):
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat(12)})
    args = ("compare", "chats.jsonl", "--budget", 3_000, "--jobs", 1, "--all")
    narrow = run(*args)[1]
    monkeypatch.setenv("COLUMNS", "150")
    wide = run(*args)[1]
    rows = [line.split()[0] for line in wide.split("Which to take")[0].splitlines() if line.strip()]
    assert [name for name in rows if name in POLICIES] == ["default", "sliding", "passthrough"]
    assert narrow.split("Which to take")[0].count(" passthrough ") == 3, "three tables where one has no room"
    assert max(map(len, narrow.splitlines())) <= 80
    assert "Refused calls are counted in no other column but calls." in " ".join(wide.split())


def test_all_prints_every_figure_of_the_first_table_too(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat_about_files(20)})
    args = ("compare", "chats.jsonl", "--budget", 3_000, "--jobs", 1, "--priced-by", "openai:gpt-5")
    cells = {}
    for all_figures in ((), ("--all",)):
        lines = run(*args, *all_figures)[1].splitlines()
        cells[all_figures] = next(line.split() for line in lines if line.split()[:1] == ["default"])[1:]
    shown = [figure for figure in COMPARE if figure != REASONING]
    of_all = dict(zip(shown, cells["--all",], strict=True))
    assert [of_all[figure] for figure in VERDICT if figure != REASONING] == cells[()]
    assert of_all[COST].startswith("$")
    assert len({figure.label for figure in COMPARE}) == len(COMPARE)


@pytest.mark.parametrize("is_all", [True, False])
@pytest.mark.parametrize("thoughts", [{}, {"reasoning_content": "Hm."}])
def test_lost_reasoning_is_a_column_only_if_there_is_reasoning(run, thoughts, is_all):
    said = [{**one, **(thoughts if one["role"] == "assistant" else {})} for one in chat(12)]
    write_jsonl("chats.jsonl", {"id": "one", "messages": said})
    out = run("compare", "chats.jsonl", "--budget", 3_000, "--jobs", 1, *(["--all"] if is_all else []))[1]
    assert ("reasoning" in out) == bool(thoughts)


@pytest.mark.parametrize("columns", [80, 40])
@pytest.mark.parametrize("calls", [1, 1_234_567])
def test_no_heading_is_cut(capsys, monkeypatch, columns, calls):
    monkeypatch.setenv("COLUMNS", str(columns))
    values = figures(Compared(stats=ReplayStats(calls=calls, refused=calls), consecutive_breaks=calls))
    print_figures(terminal(), "policy", [(name, values) for name in POLICIES], COMPARE)
    out = capsys.readouterr().out
    heads = [line.removeprefix(" policy") for line in out.splitlines() if line.startswith(" policy ")]
    assert " ".join(heads).split() == [word for figure in COMPARE for word in figure.head.split("\n")[-1].split()]
    assert all(line in out for figure in COMPARE for line in figure.head.split("\n"))
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= columns


def chat_about_files(turns):
    """Messages in which each reply names the files of the two messages before it and of the first message."""
    requests = [f"Now src/part_{n}.py, please. " + "It is the next one. " * 40 for n in range(turns)]
    replies = [" ".join(f"src/part_{at}.py" for at in (0, max(0, n - 1), n)) for n in range(turns)]
    return [{"role": role, "content": text} for pair in zip(requests, replies, strict=True)
            for role, text in zip(("user", "assistant"), pair, strict=True)]  # fmt: skip


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (("--policies", "slidin"), "unknown policy 'slidin': there are default, "),
        (("--policies", "default,default:recent=1"), "policy: there is no setting 'recent': there are keep_recent, "),
        (
            ("--budget", "0"),
            "Invalid value for '--budget': tokens: must be a whole number of tokens, such as 128000 or 128k, not '0'",
        ),
    ],
)
def test_invalid_options_of_compare_are_one_line(run, folder, args, line):
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat(1)})
    code, out, err = run("compare", "chats.jsonl", "--budget", 4_000, *args)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"transom: {line}")
    assert [path.name for path in folder.iterdir()] == ["chats.jsonl"]


def test_files_without_a_conversation_are_an_error_of_compare(run, folder):
    (folder / "empty.jsonl").write_text("")
    assert run("compare", "empty.jsonl", "--budget", 2_000) == (2, "", "transom: no conversation in empty.jsonl\n")


def test_the_settings_are_in_the_json(run):
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat_about_files(20)})
    args = ("compare", "chats.jsonl", "--budget", 3_000, "--policies", "sliding", "--jobs", 1, "--json")
    plain = json.loads(run(*args)[1])
    assert list(plain) == ["budget", "prices", "priced_by", "model", "files", "policies", "verdict"]
    assert list(plain.values())[:-3] == [3_000, None, None, None]
    assert plain["files"] == [{"file": "chats.jsonl", "formats": {"openai": 1}}]
    found = json.loads(run(*args, "--prices", "openai")[1])
    assert list(found.values())[:-3] == [3_000, "openai", None, None]


def test_an_error_names_the_invalid_message_with_several_processes_too(run):
    write_jsonl(
        "chats.jsonl", {"id": "one", "messages": chat(1)}, {"id": "two", "messages": [*chat(1), {"content": "b"}]}
    )
    code, out, err = run("compare", "chats.jsonl", "--budget", 4_000, "--jobs", 2)
    assert (code, out, err) == (
        2,
        "",
        f"transom: chats.jsonl line 2, message {len(chat(1))}: the message has no role\n",
    )


@pytest.mark.parametrize(("command", "figures"), [("compare", COMPARE), ("replay", REPLAY)])
def test_help_explains_each_figure(run, command, figures):
    help_text = " ".join(run(command, "--help")[1].split())
    for figure in figures:
        assert f" {figure.label} {figure.meaning}" in help_text


def test_each_figure_of_compare_is_measured_and_in_json(run):
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat(2)})
    found = compared(run, "--budget", 4_000, "--policies", "sliding")[1]["sliding"]
    assert {figure.name for figure in COMPARE} <= found.keys()


def test_the_first_table_has_what_people_ask_and_a_verdict(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "150")
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat_about_files(20)})
    args = ("compare", "chats.jsonl", "--budget", 3_000, "--jobs", 1)
    code, out, err = run(*args)
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.split("Which to take")[0].splitlines() if line.strip()]
    rows = {name: cells for name, *cells in lines if name in POLICIES}
    assert list(rows) == ["default", "sliding", "passthrough"]
    found = {one["policy"]: one for one in json.loads(run(*args, "--json")[1])["policies"]}
    for name, cells in rows.items():
        one = found[name]
        names = one["grounding_all"] if one["grounding_beyond"] is None else one["grounding_beyond"]
        assert cells == [
            f"{one['requests_kept_share']:.0%}", f"{names:.0%}", f"{one['cost_anthropic']:.2f}",
            f"{1 - one['append_only']:.0%}", str(one["refused"]),
        ]  # fmt: skip
    assert "Which to take: default. It keeps" in out
    assert f"passthrough refuses {found['passthrough']['refused']} of 20 calls" in " ".join(out.split())
    assert (
        "Which to take: these figures cannot tell. No window was made smaller"
        in run("compare", "chats.jsonl", "--budget", 200_000, "--jobs", 1)[1]
    )


def test_a_policy_that_refuses_calls_has_no_cost_in_dollars(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "150")
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat_about_files(20)})
    args = ("--budget", 3_000, "--policies", "sliding,passthrough", "--priced-by", "openai:gpt-5")
    found = compared(run, *args)[1]
    assert found["sliding"]["dollars"] == found["sliding"]["dollars_of_sent_calls"] > 0
    refusing = found["passthrough"]
    assert (refusing["dollars"], refusing["dollars_of_everything"]) == (None, None)
    assert refusing["refused"]
    assert refusing["dollars_of_sent_calls"] > 0
    out = run("compare", "chats.jsonl", "--jobs", 1, *args)[1]
    (row,) = (line.split() for line in out.splitlines() if line.startswith(" passthrough"))
    assert not any("$" in cell for cell in row)
    said = f"passthrough has no cost: it refuses {refusing['refused']} of {refusing['calls']} calls; the others cost $"
    assert said in " ".join(out.split())


def test_costs_in_dollars(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "150")
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat(12)})
    args = ("--budget", 3_000, "--policies", "sliding", "--priced-by", "anthropic:claude-sonnet-4-5")
    one = compared(run, *args)[1]["sliding"]
    assert one["dollars"] == pytest.approx(
        (3.75 * (one["tokens"] - one["shared_tokens"]) + 0.3 * one["shared_tokens"]) / 1e6
    )
    assert f" ${one['dollars']:.2f} " in run("compare", "chats.jsonl", "--jobs", 1, *args)[1]
    assert one["dollars_of_sent_calls"] == one["dollars"]
    code, _, err = run("compare", "chats.jsonl", "--budget", 3_000, "--priced-by", "nobody:m")
    assert code == 2
    assert err == "transom: --priced-by: the prices of 'nobody:m' are not known: a model is named as provider:model\n"
    code, out, _ = run("compare", "chats.jsonl", "--jobs", 1, "--budget", 5)
    assert code == 1, "every policy refuses every call"
    assert "No call was sent under any of these policies" in " ".join(out.split())
