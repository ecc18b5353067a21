"""`log`, `explain`, `demo`, the chart and the help: what a person sees."""

from __future__ import annotations

import itertools
import json
import os
import pty
import re
import resource
import shlex
import subprocess
import sys

import pytest
from chats import chat, write

from transom.cli.chart import sawtooth
from transom.cli.demo import SESSION
from transom.cli.locate import UV
from transom.cli.locate import command as named
from transom.importers import read


@pytest.fixture
def demo(run):
    """The demo has been replayed in this folder."""
    code, out, err = run("demo")
    assert (code, err) == (0, "")
    return out


def test_the_commands_to_look_at_next_work(run, demo):
    write("chats.jsonl", {"id": "one", "messages": chat(1)})
    lines = demo.split("Where to look next\n")[1].splitlines()
    commands = [re.split(r"  +", line.strip())[0] for line in lines]
    assert len(commands) == 4
    for line in commands:
        name, *args = shlex.split(line)
        assert (name, run(*args)[0]) == ("transom", 0), line


def test_commands_are_named_as_they_can_be_typed(folder, monkeypatch):
    inside, outside = folder / "bin" / "transom", folder / "a b" / "transom"
    for script in (inside, outside):
        script.parent.mkdir()
        script.touch(0o755)
    (folder / "here").mkdir()
    for name in UV:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(inside.parent))
    for started, expected in (("-c", "transom"), (inside, "transom"), (outside, "'a b/transom'")):
        monkeypatch.setattr(sys, "argv", [str(started), "demo"])
        assert named() == expected
    monkeypatch.chdir(folder / "here")
    assert named() == f"'{outside}'"
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", [str(inside), "demo"])
    monkeypatch.setenv("UV_RUN_RECURSION_DEPTH", "1")
    assert named() == "bin/transom", "uv has put it on its own PATH, not on the shell's"
    monkeypatch.delenv("UV_RUN_RECURSION_DEPTH")
    monkeypatch.setenv("PATH", str(folder))
    assert named() == "bin/transom"
    monkeypatch.chdir(folder / "bin")
    assert named() == "./transom"
    monkeypatch.setattr(sys, "argv", [str(folder / "lib" / "transom" / "__main__.py"), "demo"])
    assert named() == "python -m transom"


def test_demo_shows_several_compactions(run):
    code, out, _ = run("demo", "--json")
    total = json.loads(out)["total"]
    assert code == 0
    assert (total["invalid"], total["over"], total["refused"], total["skipped"]) == (0, 0, 0, 0)
    assert total["calls"] > 40
    assert total["compactions"] >= 3
    assert total["cached_share"] > 0.8


def test_the_recording_is_ours_and_small(folder):
    assert SESSION.stat().st_size < 150_000
    (record,) = read(SESSION)
    text = json.dumps(record.messages)
    assert sum(message["role"] == "tool" for message in record.messages) >= 60
    assert not re.search(r"(?<![\w.])/(?:home|root|Users|work|usr)/", text), "a path of the machine it was recorded on"


def test_explain_names_the_call_and_groups_what_is_folded(run, demo):
    code, out, _ = run("explain", "demo", "--at", -1)
    first, second, third, *_ = out.splitlines()
    assert code == 0
    assert re.fullmatch(r"demo: call (\d+) of \1, answered by message \d+", first)
    assert re.fullmatch(r"[\d,]+ of 16,000 tokens, [\d,]+ of them shared with the window before", second)
    assert set(third) <= set("█▓░·") or third.startswith("the cached prefix breaks")
    assert "folded" in out
    assert sum(" folded " in line for line in out.splitlines()) < 8
    every = run("explain", "demo", "--at", -1, "--all")[1]
    found = json.loads(run("explain", "demo", "--at", -1, "--json")[1])
    assert sum(" folded " in line for line in every.splitlines()) > 20
    assert len(every.splitlines()) > len(found["rows"])


def test_explain_adds_up(run, demo):
    calls = json.loads(run("explain", "demo", "--json")[1])["calls"]
    for at in (1, 18, calls // 2, calls):
        found = json.loads(run("explain", "demo", "--at", at, "--json")[1])
        shown = sum(row["shown_tokens"] for row in found["rows"]) + sum(found["folds"].values())
        assert 3 + found["head"] + shown == found["tokens"] <= found["limit"] == 16_000
        assert (found["call"], found["calls"]) == (at, calls)


def test_explain_says_what_the_edits_of_a_call_save_and_break(run, demo):
    calls = json.loads(run("explain", "demo", "--json")[1])["calls"]
    found = [json.loads(run("explain", "demo", "--at", at, "--json")[1]) for at in range(1, calls + 1)]
    broke = [(before, one) for before, one in itertools.pairwise(found) if one["breaks"]]
    assert broke
    for before, one in broke:
        assert sum(edit["broken_tokens"] for edit in one["edit_costs"]) == before["tokens"] - one["shared_tokens"]
        assert all(edit["entry"] > 0 for edit in one["edit_costs"])
    assert all(edit["broken_tokens"] == 0 for one in found if not one["breaks"] for edit in one["edit_costs"])
    line = run("explain", "demo", "--at", broke[0][1]["call"])[1].splitlines()[3]
    assert re.fullmatch(r"\d+ new edits save [\d,]+ tokens a request, and make [\d,]+ cached tokens invalid", line)


def test_explain_says_what_stands_for_what_is_folded(run, demo):
    found = json.loads(run("explain", "demo", "--at", 19, "--json")[1])
    entries = {entry["seq"]: entry for entry in json.loads(run("log", "demo", "--json")[1])["entries"]}
    assert found["texts"].keys() == found["folds"].keys()
    assert len(found["texts"]) == 2, "two layers"
    for extra in ((), ("--all",)):
        out = run("explain", "demo", "--at", 19, *extra)[1].splitlines()
        places = [at for at, line in enumerate(out) if line.strip().startswith("text: ")]
        for at, (seq, opening) in zip(places, found["texts"].items(), strict=True):
            assert len(opening) == 80
            assert opening[:-1] in entries[int(seq)]["text"]
            assert opening.endswith("…")
            assert f"folded    digest [entry {seq}]" in out[at - 1]
            assert out[at].strip().startswith(f"text: {opening[:50]}")


def test_on_a_narrow_terminal_the_text_goes_and_the_reason_stays(run, demo, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    code, out, _ = run("explain", "demo", "--at", 19)
    lines = [line.rstrip() for line in out.splitlines()]
    assert code == 0
    assert max(map(len, lines)) <= 40
    at = lines.index("entries role           tokens state")
    assert lines[at + 1] == "      0 user               44 kept"
    assert re.fullmatch(r" +3–32 19 entries [\d,]+ → [\d,]+ folded", lines[at + 2])
    assert re.fullmatch(r" +digest \[entry \d+\]", lines[at + 3])
    assert lines[at + 4].startswith("        text: [entry 3 to entry")


def test_explain_now_has_no_call(run, demo):
    first = run("explain", "demo")[1].splitlines()[0]
    assert first == "demo: the window as it is now"


def test_show_has_a_line_for_each_entry(run, demo):
    found = json.loads(run("log", "demo", "--json")[1])
    out = run("log", "demo")[1].splitlines()
    assert found["conversation"] == "demo"
    assert [entry["seq"] for entry in found["entries"]] == list(range(len(found["entries"])))
    assert out[0].startswith(f"demo: {len(found['entries'])} entries, ")
    assert len(out) == len(found["entries"]) + 2
    assert all(len(line) <= 80 for line in out)
    (record,) = read(SESSION)
    facts = {entry["source"]: entry["kind"] for entry in found["entries"] if "source" in entry}
    assert facts == {at: message["role"] for at, message in enumerate(record.messages) if at}
    assert {entry["state"] for entry in found["entries"] if entry["kind"] == "fold"} <= {"live", "not live"}
    assert "live" in {entry.get("state") for entry in found["entries"]}


def test_show_knows_entries_of_every_kind(run):
    unseen = [{"role": "assistant", "content": ""}, {"role": "tool", "tool_call_id": "no", "content": "x"}]
    messages = [*chat(30)[:-1], *unseen]
    write("chats.jsonl", {"id": "one", "messages": messages})
    assert run("replay", "chats.jsonl", "--budget", 2_000)[0] == 0
    entries = json.loads(run("log", "one", "--json")[1])["entries"]
    assert {entry["kind"] for entry in entries} == {"head", "user", "assistant", "tool", "sent", "fold", "trim"}
    assert [(entry["kind"], entry["state"]) for entry in entries[-2:]] == [
        ("assistant", "dropped"),
        ("tool", "dropped"),
    ]


def test_nothing_a_log_holds_can_touch_the_terminal(run):
    nasty = "\x1b[31mred\x1b[0m \x07 [bold]markup[/] :smile: \ud800 end"
    write("chats.jsonl", {"id": "one \x1b[2J", "messages": [{"role": "user", "content": nasty}, *chat(1)[1:]]})
    outputs = [run("replay", "chats.jsonl", "--budget", 4_000), run("log", "one"), run("explain", "one", "--all")]
    assert [code for code, _, _ in outputs] == [0, 0, 0]
    for _, out, _ in outputs:
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff]", out)
    assert "[bold]markup[/] :smile:" in outputs[1][1]


def test_the_sawtooth():
    sizes = [2, 4, 6, 8, 3, 5, 7, None, 4]
    lines = sawtooth(sizes, 8, width=12, height=4)
    assert lines == [
        "8 ┬─────────",
        "  │   █  ▄",
        "  │  ██ ▄█",
        "  │ ███▄██ █",
        "  │███████×█",
        "0 ┴─────────",
        "   call 9",
    ]


def test_a_sawtooth_with_more_calls_than_columns_shows_the_largest():
    lines = sawtooth([1] * 500 + [8] + [1] * 499, 8, width=40, height=2)
    assert max(map(len, lines)) <= 40
    assert sum(line.count("█") for line in lines) == 2


def test_help_and_version(run):
    code, out, _ = run("--help")
    assert code == 0
    assert run() == (0, out, "")
    assert all(command in out for command in ("replay", "log", "explain", "demo"))
    for command in ("replay", "log", "explain", "demo"):
        code, out, _ = run(command, "--help")
        assert code == 0
        assert "--json" in out
    assert re.fullmatch(r"transom \d+\.\d+\.\S+\n", run("--version")[1])


def test_help_is_there_at_once():
    """Measured in CPU time and against Python's own start, so that a busy machine does not fail it."""

    def seconds(code):
        begun = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        return ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime

    bare = min(seconds("pass") for _ in range(5))
    shown = min(seconds("from transom.cli import main; main(['--help'])") for _ in range(5))
    assert shown < 0.4 + 5 * bare


def test_help_loads_no_tokenizer():
    code = "import sys; from transom.cli import main; main(['--help']); sys.exit('tiktoken' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0


def on_a_terminal(*args, columns):
    """What the command line writes to a real terminal, and its exit code."""
    main, side = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm-256color"}
    code = "import sys; from transom.cli import main; sys.exit(main())"
    started = subprocess.Popen(
        [sys.executable, "-c", code, *args], stdin=side, stdout=side, stderr=side, env=environment, close_fds=True
    )
    os.close(side)
    seen = b""
    while True:
        try:
            chunk = os.read(main, 65_536)
        except OSError:  # Linux: the other side has gone
            break
        if not chunk:
            break
        seen += chunk
    os.close(main)
    return started.wait(timeout=60), seen.decode()


def test_on_a_real_terminal_there_is_colour_and_nothing_wraps():
    code, seen = on_a_terminal("demo", columns=72)
    assert code == 0
    assert "\x1b[" in seen
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen)
    assert max(len(line) for line in re.split(r"[\r\n]+", plain)) <= 72
    assert "Where to look next" in plain


def test_long_work_on_a_terminal_has_a_progress_bar():
    write("chats.jsonl", *({"id": f"chat {n}", "messages": chat(60)} for n in range(30)))
    code, seen = on_a_terminal("replay", "chats.jsonl", "--budget", "5000", columns=100)
    assert code == 0
    assert "━" in seen
    assert "%" in seen.split("conversations")[0]
