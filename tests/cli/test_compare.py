"""`transom compare`: the figures of several policies."""

from __future__ import annotations

import json
import re
import sys

import pytest
from conversation_files import chat, write_jsonl

from transom.cli.compare import print_table
from transom.cli.figures import COMPARE, REPLAY
from transom.cli.picture import Point, draw_picture, pareto_front
from transom.evaluation.compare import Compared
from transom.evaluation.replay_stats import ReplayStats
from transom.extras import install_command
from transom.policies import POLICIES
from transom.reports.figures import VERDICT


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


def test_evidence_where_questions_are_labelled(run):
    messages = [{"role": "user", "content": "The flight to Lisbon leaves at nine from gate seven, I said."},
                {"role": "assistant", "content": "Noted."}]  # fmt: skip
    questions = [
        {"question": "Where to?", "answer": "Lisbon", "evidence": [0], "category": "single_[b]hop"},
        {"question": "Who?", "answer": "nobody", "evidence": ["D1:3"]},
        {"question": "Why?", "asked_at": 0, "answer": "so", "evidence": [0]},
    ]
    write_jsonl("chats.jsonl", {"id": "one", "messages": messages, "questions": questions})
    found = compared(run, "--budget", 4_000, "--policies", "sliding")[1]["sliding"]
    assert (found["questions"], found["evidence_recall"]) == (1, 1.0), "the others have no evidence before them"
    assert found["evidence_by_category"] == {"single_[b]hop": {"questions": 1, "evidence_recall": 1.0}}
    printed = run("compare", "chats.jsonl", "--budget", 4_000, "--jobs", 1, "--all")[1]
    assert "Evidence found, by category of question" in printed
    assert "single [b]hop" in printed
    write_jsonl("chats.jsonl", {"id": "one", "messages": messages})
    assert "evidence" not in run("compare", "chats.jsonl", "--budget", 4_000, "--jobs", 1, "--all")[1]


@pytest.mark.parametrize(
    ("args", "conversations"),
    [
        ((), 4),
        (("--min-messages", 7), 3),
        (("--max-messages", 7), 2),
        (("--min-messages", 6, "--max-messages", 8), 1),
        (("--every", 2), 2),
        (("--every", 3), 2),
        (("--min-tokens", 2_000), 1),
    ],
)
def test_conversations_are_chosen(run, args, conversations):
    write_jsonl("chats.jsonl", *({"id": f"{n}", "messages": chat(n)} for n in range(1, 5)))
    found = compared(run, "--budget", 4_000, "--policies", "sliding", *args)[1]
    assert found["sliding"]["conversations"] == conversations


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
    assert narrow.split("Which to take")[0].count(" passthrough ") == 2, "two tables where one has no room"
    assert max(map(len, narrow.splitlines())) <= 80
    assert "Refused calls are counted in no other column but calls." in " ".join(wide.split())


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
    one = Compared(stats=ReplayStats(calls=calls, refused=calls, questions=1), consecutive_breaks=calls)
    print_table(dict.fromkeys(POLICIES, one), has_reasoning=True)
    out = capsys.readouterr().out
    heads = [line.removeprefix(" policy") for line in out.splitlines() if line.startswith(" policy ")]
    assert " ".join(heads).split() == [word for figure in COMPARE for word in figure.head.split("\n")[-1].split()]
    assert all(line in out for figure in COMPARE for line in figure.head.split("\n"))
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= columns
    assert len(heads) == (3 if calls == 1 else 4) or columns < 80


def chat_about_files(turns):
    """Messages in which each reply names the files of the two messages before it and of the first message."""
    requests = [f"Now src/part_{n}.py, please. " + "It is the next one. " * 40 for n in range(turns)]
    replies = [" ".join(f"src/part_{at}.py" for at in (0, max(0, n - 1), n)) for n in range(turns)]
    return [{"role": role, "content": text} for pair in zip(requests, replies, strict=True)
            for role, text in zip(("user", "assistant"), pair, strict=True)]  # fmt: skip


def test_a_picture_of_each_kind(run, folder):
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat_about_files(20)})
    args = ("compare", "chats.jsonl", "--budget", 3_000, "--jobs", 1, "--chart")
    assert run(*args, "picture")[::2] == (0, "")
    svg = (folder / "picture.svg").read_text()
    for name in ("default", "sliding", "cost at Anthropic"):
        assert f">{name}" in svg
    assert (folder / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert run(*args, "only.svg")[0] == 0
    assert sorted(path.name for path in folder.iterdir()) == ["chats.jsonl", "only.svg", "picture.png", "picture.svg"]
    assert (folder / "only.svg").read_text() == svg, "the same results give the same bytes"


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (("--policies", "slidin"), "unknown policy 'slidin': there are default, "),
        (("--policies", "default,default:recent=1"), "policy: there is no setting 'recent': there are keep_recent, "),
        (("--chart", "a.gif"), "--chart: a picture is .svg or .png, not .gif"),
        (("--chart", "none/a.svg"), "--chart: there is no folder none\n"),
        (("--chart", "none/such/a"), "--chart: there is no folder none/such\n"),
        (("--chart", "chats.jsonl/a.svg"), "--chart: there is no folder chats.jsonl\n"),
        (("--chart", "."), "--chart: . is a folder\n"),
        (("--chart", ".."), "--chart: .. is a folder\n"),
        (("--min-messages", "99"), "no conversation in these files has the length that the options ask for\n"),
        (("--max-messages", "0"), "no conversation in these files has the length that the options ask for\n"),
        (("--min-tokens", "9999"), "no conversation in these files has the length that the options ask for\n"),
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


@pytest.mark.parametrize(("chart", "folder_name"), [("a", "a"), ("a.svg", "a.svg"), ("b", "b.png")])
def test_a_picture_does_not_replace_a_folder(run, folder, chart, folder_name):
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat(1)})
    for name in ("a", "a.svg", "b.png"):
        (folder / name).mkdir()
    found = run("compare", "chats.jsonl", "--budget", 4_000, "--jobs", 1, "--chart", chart)
    assert found == (2, "", f"transom: --chart: {folder_name} is a folder\n")


def test_files_without_a_conversation_are_an_error_of_compare(run, folder):
    (folder / "empty.jsonl").write_text("")
    for extra in ((), ("--every", 2)):
        found = run("compare", "empty.jsonl", "--budget", 2_000, *extra)
        assert found == (2, "", "transom: no conversation in these files\n")


def test_the_settings_are_in_the_json_and_in_the_title(run, folder):
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat_about_files(20)})
    args = ("compare", "chats.jsonl", "--budget", 3_000, "--policies", "sliding", "--jobs", 1, "--json")
    plain = json.loads(run(*args, "--chart", "plain.svg")[1])
    assert list(plain) == [
        "budget",
        "prices",
        "priced_by",
        "model",
        "min_messages",
        "max_messages",
        "min_tokens",
        "every",
        "files",
        "policies",
        "verdict",
    ]
    assert list(plain.values())[:-3] == [3_000, None, None, None, 0, None, 0, 1]
    assert plain["files"] == [{"file": "chats.jsonl", "formats": {"openai": 1}}]
    narrowed = ("--min-messages", 2, "--max-messages", 99, "--min-tokens", 5, "--every", 3)
    found = json.loads(run(*args, "--prices", "openai", *narrowed, "--chart", "priced.svg")[1])
    assert list(found.values())[:-3] == [3_000, "openai", None, None, 2, 99, 5, 3]
    title = "1 conversation, a budget of 3,000 tokens"
    assert f">{title}<" in (folder / "plain.svg").read_text()
    assert f">{title}, prices: openai<" in (folder / "priced.svg").read_text()


@pytest.mark.parametrize(
    ("least", "most"), [(0.0, 1.0), (0.2, 0.9), (0.6, 0.8), (0.98, 0.995), (0.994, 0.995), (0.99401, 0.99402), (1, 1)]
)
def test_no_two_ticks_have_the_same_label(folder, least, most):
    points = [Point(name="low", cost=0.5, grounding=least), Point(name="high", cost=0.501, grounding=most)]
    draw_picture(points, [folder / "a.svg"], "", "")
    drawn = re.findall(r">([^<>\s]+)</text>", (folder / "a.svg").read_text())
    ticks = [text for text in drawn if text.endswith("%")]
    costs = [text for text in drawn if text.replace(".", "").isdigit()]
    for axis in (ticks, costs):
        assert len(set(axis)) == len(axis) > 1
    assert most - least < 0.5 or not any("." in text for text in ticks), "no more decimals than are needed"


def test_without_figures_no_picture_is_drawn(run, folder):
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat(1)})
    code, out, err = run("compare", "chats.jsonl", "--budget", 4_000, "--jobs", 1, "--chart", "a.svg")
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith("transom: --chart: nothing to draw: ")
    assert "passthrough" in out, "the table is there"
    assert not (folder / "a.svg").exists()


def test_an_error_names_the_invalid_message_with_several_processes_too(run):
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat(1)}, {"id": "two", "messages": [{"content": "b"}]})
    code, out, err = run("compare", "chats.jsonl", "--budget", 4_000, "--jobs", 2)
    assert (code, out, err) == (2, "", "transom: chats.jsonl line 2, message 0: the message has no role\n")


def test_without_matplotlib_the_extra_is_named(run, monkeypatch):
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat(1)})
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, out, err = run("compare", "chats.jsonl", "--budget", 4_000, "--chart", "a.svg")
    assert (code, out) == (2, "")
    assert err == f"transom: --chart needs matplotlib: {install_command('charts')}\n"


def test_the_front_has_the_points_that_no_other_beats():
    values = {"expensive": (0.9, 0.8), "same": (0.5, 0.5), "best": (0.4, 0.5), "low": (0.3, 0.1), "lower": (0.3, 0.05)}
    points = [Point(name=name, cost=cost, grounding=share) for name, (cost, share) in values.items()]
    easy = Point(name="easy", cost=0.1, grounding=1.0, refused=True)
    assert [point.name for point in pareto_front([*points, easy])] == ["low", "best", "expensive"]


@pytest.mark.parametrize(("command", "figures"), [("compare", (*VERDICT, *COMPARE)), ("replay", REPLAY)])
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


def test_costs_in_dollars(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "150")
    write_jsonl("chats.jsonl", {"id": "one", "messages": chat(12)})
    args = ("--budget", 3_000, "--policies", "sliding", "--priced-by", "anthropic:claude-sonnet-4-5")
    one = compared(run, *args)[1]["sliding"]
    assert one["dollars"] == pytest.approx(
        (3.75 * (one["tokens"] - one["shared_tokens"]) + 0.3 * one["shared_tokens"]) / 1e6
    )
    assert f" ${one['dollars']:.2f} " in run("compare", "chats.jsonl", "--jobs", 1, *args)[1]
    code, _, err = run("compare", "chats.jsonl", "--budget", 3_000, "--priced-by", "nobody:m")
    assert code == 2
    assert err == "transom: --priced-by: the prices of 'nobody:m' are not known: a model is named as provider:model\n"
    code, out, _ = run("compare", "chats.jsonl", "--jobs", 1, "--budget", 5)
    assert code == 1, "every policy refuses every call"
    assert "No call was sent under any of these policies" in " ".join(out.split())
