"""`log`, `pin`, `undo`, `window`: what was decided, a decision of one's own, and what would come of it."""

from __future__ import annotations

import json

import pytest
from chats import chat, write


@pytest.fixture(autouse=True)
def demo(run):
    """The demo has been replayed in this folder."""
    assert run("demo")[0] == 0


def edits(run):
    return json.loads(run("edits", "demo", "--json")[1])["edits"]


def window(run, *args):
    code, out, err = run("window", "demo", "--budget", 16_000, "--json", *args)
    assert (code, err) == (0, "")
    return json.loads(out)


def test_the_log_of_edits_says_what_holds_and_what_it_saves(run):
    found = edits(run)
    assert {edit["kind"] for edit in found} >= {"fold", "trim"}
    layers = [edit for edit in found if edit["saves"] and edit["kind"] == "fold"]
    assert sum(edit["saves"] for edit in layers) > 5_000
    assert layers[0]["text"].startswith("entries 2–")
    shown = run("edits", "demo")[1].splitlines()
    assert shown[0] == f"demo: {len(found)} edits, {sum(edit['live'] for edit in found)} of them live"
    assert len(shown) == len(found) + 2


def test_an_undo_brings_back_what_a_fold_hid(run):
    before = window(run)
    fold, saves = max(((e["seq"], e["saves"]) for e in edits(run) if e["kind"] == "fold"), key=lambda e: e[1])
    dry = json.loads(run("undo", "demo", fold, "--dry-run", "--json")[1])
    assert dry["seq"] is None
    assert window(run) == before, "a dry run changes nothing"
    done = json.loads(run("undo", "demo", fold, "--why", "too much", "--json")[1])
    assert (done["tokens"], done["messages"]) == (dry["tokens"], dry["messages"])
    assert done["tokens"][1] - done["tokens"][0] == saves > 1_000
    found = edits(run)
    assert [edit["live"] for edit in found if edit["seq"] == fold] == [False]
    assert found[-1] == {
        "seq": done["seq"],
        "kind": "undo",
        "live": True,
        "text": f"of entry {fold}, too much",
        "saves": 0,
    }


def test_a_pin_surfaces_and_its_undo_is_the_newest_edit(run):
    rows = json.loads(run("explain", "demo", "--json")[1])["rows"]
    folded = [row["entry"] for row in rows if row["state"] == "folded"][-1]
    code, out, err = run("pin", "demo", folded, "--why", "the plan")
    assert (code, err) == (0, "")
    first, second = out.splitlines()
    assert first.startswith(f"demo: pin entry {folded}, the plan is entry ")
    before, after = (int(number.replace(",", "")) for number in second.split()[2:5:2])
    assert before < after
    undone = json.loads(run("undo", "demo", "--json")[1])
    assert undone["edit"].startswith("undo of entry")
    assert undone["tokens"] == [after, before]


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (("undo", "demo", 3), "undo: entry 3 is no live edit"),
        (("undo", "demo", 99_999), "undo: entry 99999 is no live edit"),
        (("pin", "demo", 99_999), "pin: entry 99999 is in no unit"),
        (("pin", "nobody", 1), "no conversation 'nobody'"),
        (("window", "demo", "--budget", 10), "need at least"),
        (("window", "demo", "--budget", 16_000, "--dialect", "klingon"), "unknown dialect 'klingon': there are openai"),
        (("window", "demo", "--budget", 16_000, "--policy", "none"), "unknown policy 'none'"),
        (("window", "demo", "--budget", 16_000, "--prices", "none"), "unknown prices 'none': there are anthropic, "),
    ],
)
def test_what_cannot_be_is_said_in_one_line(run, args, error):
    code, out, err = run(*args)
    assert (code, out) == (2, "")
    assert error in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("dialect", "key"),
    [("openai", "messages"), ("responses", "input"), ("anthropic", "messages"), ("gemini", "contents")],
)
def test_the_next_window_in_every_dialect(run, dialect, key):
    shown = window(run, "--dialect", dialect)
    assert shown["conversation"] == "demo"
    assert 0 < shown["tokens"] <= 16_000
    assert len(shown[key]) > 2


def test_the_next_window_for_people(run):
    before = edits(run)
    out = run("window", "demo", "--budget", 8_000)[1].splitlines()
    assert out[0] == "demo: the window of the next call, not logged"
    assert " of 8,000 tokens, " in out[1]
    assert out[2].startswith("it would break the cached prefix at slot ")
    assert edits(run) == before


def test_with_prices_the_next_window_is_cut_before_it_is_full(run):
    write("chats.jsonl", {"id": "long", "messages": chat(60)})
    assert run("replay", "chats.jsonl", "--budget", 100_000)[0] == 0
    args = ("window", "long", "--budget", 100_000, "--json")
    plain, cut = (json.loads(run(*args, *more)[1])["tokens"] for more in ((), ("--prices", "anthropic")))
    assert cut < plain < 100_000
