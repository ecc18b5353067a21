"""`transom log --edits`, `pin`, `undo` and `window`."""

from __future__ import annotations

import json
import re

import pytest
from conversation_files import chat, write_jsonl

from transom.cli.explain import explained_window
from transom.cli.open_conversation import open_conversation
from transom.cli.stores import open_log
from transom.core.budget import Budget
from transom.core.edit import Fold
from transom.core.reducer import build_view
from transom.core.tokens import REQUEST_TOKENS
from transom.evaluation.fold_ranges import FoldRanges
from transom.testing import Entries, WordCounter, talk

pytestmark = pytest.mark.usefixtures("demo")


def edits(run):
    lines = json.loads(run("log", "demo", "--edits", "--json")[1])["entries"]
    return [{"saves": 0, "plan": None, **line, "live": line["state"] == "live"} for line in lines]


def window(run, *args):
    code, out, err = run("window", "demo", "--budget", 16_000, "--json", *args)
    assert (code, err) == (0, "")
    return json.loads(out)


def test_edits_lists_which_edits_are_live_and_what_they_save(run, monkeypatch):
    found = edits(run)
    assert {edit["kind"] for edit in found} >= {"fold", "trim"}
    layers = [edit for edit in found if edit["saves"] and edit["kind"] == "fold"]
    assert min(edit["saves"] for edit in layers) > 0
    assert max(edit["saves"] for edit in layers) > 5_000
    trims = [edit["saves"] for edit in found if edit["kind"] == "trim"]
    assert min(trims) > 500, "also of those that a fold covers by now"
    whole = sum(
        entry["tokens"] for entry in json.loads(run("log", "demo", "--json")[1])["entries"] if "tokens" in entry
    )
    assert sum(edit["saves"] for edit in found) < whole
    assert layers[0]["text"].startswith("entries 3–21, digest: [entry 3 to entry 21, ")
    monkeypatch.setenv("COLUMNS", "100")
    assert run("pin", "demo", 3)[0] == 0
    found = edits(run)
    printed = run("log", "demo", "--edits")[1].splitlines()
    assert len(printed) == len(found) + 2
    assert printed[0] == run("log", "demo")[1].splitlines()[0].replace("demo: ", f"demo: {len(found)} edits of ")
    for line, edit in zip(printed[2:], found, strict=True):
        by = "no plan" if edit.get("plan") is None else f"plan {edit['plan']}"
        assert line.split()[:2] == [str(edit["seq"]), edit["kind"]]
        assert f" {edit['state']} " in line
        assert f" saves {edit['saves']:,} tokens, {by}: " in line
    assert (found[-1]["kind"], found[-1].get("plan")) == ("pin", None)
    assert found[-1]["saves"] < 0


def test_edits_and_log_name_the_entries_of_a_fold_as_its_text_does(run):
    logged = {line["seq"]: line["text"] for line in json.loads(run("log", "demo", "--json")[1])["entries"]}
    folds = {edit["seq"]: edit["text"] for edit in edits(run) if edit["kind"] == "fold"}
    assert len(folds) > 5
    for seq, text in folds.items():
        assert logged[seq] == text
        first, last, first_in_text, last_in_text = re.match(
            r"entries (\d+)–(\d+), digest: \[entry (\d+) to entry (\d+), ", text
        ).groups()
        assert (first, last) == (first_in_text, last_in_text)


def test_the_fold_of_one_entry_names_one(run):
    view = build_view(Entries(talk("first", "second " * 50, "third")), WordCounter())
    assert FoldRanges(view).text(Fold(first=1, last=1, text="short")) == "entry 1"
    assert FoldRanges(view).text(Fold(first=0, last=1, text="short")) == "entries 0–1"
    assert FoldRanges(view).text(Fold(first=70, last=80, text="of other units")) == "entries 70–80"


def test_undo_brings_back_folded_entries(run):
    before = window(run)
    fold, saves = next((e["seq"], e["saves"]) for e in reversed(edits(run)) if e["kind"] == "fold")
    dry = json.loads(run("undo", "demo", fold, "--dry-run", "--json")[1])
    assert dry["seqs"] == []
    assert window(run) == before, "a dry run changes nothing"
    done = json.loads(run("undo", "demo", fold, "--why", "too much", "--json")[1])
    assert (done["tokens"], done["messages"]) == (dry["tokens"], dry["messages"])
    assert done["tokens"][1] - done["tokens"][0] == saves > 1_000
    found = edits(run)
    assert [edit["live"] for edit in found if edit["seq"] == fold] == [False]
    assert found[-1] == {
        "seq": done["seqs"][0],
        "kind": "undo",
        "live": True,
        "state": "live",
        "text": f"of entry {fold}, too much",
        "saves": -saves,
        "plan": None,
    }


def last_plan(run, end: int) -> list[int]:
    """The edits of the newest plan up to entry `end` that is live, the newest first."""
    live = [edit for edit in edits(run) if edit["live"] and edit["seq"] <= end]
    return sorted((edit["seq"] for edit in live if edit["plan"] == live[-1]["plan"]), reverse=True) if live else []


def test_undo_without_a_number_takes_back_the_last_plan_as_a_whole(run):
    end = edits(run)[-1]["seq"]
    while len(last := last_plan(run, end)) == 1:  # a plan of several edits stands before it
        assert run("undo", "demo")[0] == 0
    assert last
    before = edits(run)
    dry = json.loads(run("undo", "demo", "--why", "too much", "--dry-run", "--json")[1])
    assert dry["edits"] == [f"undo of entry {seq}, too much" for seq in last]
    assert (dry["seqs"], edits(run)) == ([], before), "a dry run changes nothing"
    done = json.loads(run("undo", "demo", "--why", "too much", "--json")[1])
    assert {**done, "seqs": []} == dry
    assert done["tokens"][0] < done["tokens"][1]
    after = edits(run)
    assert [edit["seq"] for edit in after[len(before) :]] == done["seqs"]
    expected = [edit["live"] and edit["seq"] not in last for edit in before]
    assert [edit["live"] for edit in after[: len(before)]] == expected


def test_pin_brings_back_an_entry_and_undo_takes_the_pin_back(run):
    rows = json.loads(run("explain", "demo", "--json")[1])["rows"]
    folded = [row["entry"] for row in rows if row["state"] == "folded"][-1]
    code, out, err = run("pin", "demo", folded, "--why", "the plan")
    assert (code, err) == (0, "")
    first, second, *_ = out.splitlines()
    assert first.startswith(f"demo: pin entry {folded}, the plan is entry ")
    before, after = (int(number.replace(",", "")) for number in second.split()[2:5:2])
    assert before < after
    undone = json.loads(run("undo", "demo", "--json")[1])
    assert [each.split(" ", 1)[0] for each in undone["edits"]] == ["undo"]
    assert undone["tokens"] == [after, before]


def test_an_entry_that_is_pinned_is_not_pinned_again(run):
    assert run("pin", "demo", 14, "--why", "the plan")[0] == 0
    seq = edits(run)[-1]["seq"]
    for again in (("pin", "demo", 14), ("pin", "demo", 13, "--why", "its call"), ("pin", "demo", 14, "--dry-run")):
        code, out, err = run(*again)
        assert (code, err) == (0, "")
        assert out.splitlines()[0] == f"demo: pin entry 14, the plan is entry {seq} already"
        assert edits(run)[-1]["seq"] == seq
    assert run("undo", "demo", seq)[0] == 0
    assert "already" not in run("pin", "demo", 14)[1]


def test_pin_says_if_the_window_is_then_over_the_budget(run):
    assert run("demo", "--budget", 8_000)[0] == 0
    rows = json.loads(run("explain", "demo", "--json")[1])["rows"]
    folded = [(row["tokens"], row["entry"]) for row in rows if row["state"] == "folded" and row["role"] == "tool"]
    kept = next(row["entry"] for row in rows if row["state"] == "kept" and row["role"] == "tool")
    assert len(run("pin", "demo", kept, "--dry-run")[1].splitlines()) == 2
    line, over = "over the budget of 8,000 tokens: the next call ", False
    for entry in [entry for _, entry in sorted(folded, reverse=True)][:4]:
        dry = run("pin", "demo", entry, "--dry-run")[1].splitlines()
        after = int(re.search(r"→ ([\d,]+) tokens", dry[1])[1].replace(",", ""))
        over = after > 8_000
        assert dry[2:] == ([line + "would compact"] if over else [])
        assert run("pin", "demo", entry)[1].splitlines()[2:] == ([line + "compacts"] if over else [])
    assert over


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (("undo", "demo", 0), "undo: entry 0 is no live edit; the newest live edits are "),
        (("undo", "demo", 3), "undo: entry 3 is no live edit; the newest live edits are "),
        (("undo", "demo", 99_999), "undo: there is no entry 99999 in this log: its entries are 0 to LAST"),
        (("pin", "demo", 99_999), "pin: there is no entry 99999 in this log: its entries are 0 to LAST"),
        (("pin", "demo", 1), "pin: entry 1 is no message, tool result or note that a window can have"),
        (("read", "demo", 99_999), "there is no entry 99999 in this log: its entries are 0 to LAST"),
        (("grep", "demo", "x", "--in", 99_999), "there is no entry 99999 in this log: its entries are 0 to LAST"),
        (("fork", "demo", "--at", 99_999), "there is no entry 99999 in 'demo': it has the entries 0 to LAST"),
        (("explain", "demo", "--at", 99_999), "there is no call 99999: demo has 46, counted from 1"),
        (("pin", "nobody", 1), "no conversation 'nobody'"),
        (("window", "demo", "--budget", 10), "need at least"),
        (("window", "demo", "--budget", 16_000, "--dialect", "klingon"), "unknown dialect 'klingon': there are openai"),
        (("window", "demo", "--budget", 16_000, "--policy", "none"), "unknown policy 'none'"),
        (("window", "demo", "--budget", 16_000, "--prices", "none"), "unknown prices 'none': there are anthropic, "),
    ],
)
def test_an_error_is_one_line(run, args, error):
    code, out, err = run(*args)
    assert (code, out) == (2, "")
    if "LAST" in error:
        error = error.replace("LAST", str(json.loads(run("log", "demo", "--json")[1])["entries"][-1]["seq"]))
    assert error in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("dialect", "key"),
    [("openai", "messages"), ("responses", "input"), ("anthropic", "messages"), ("gemini", "contents")],
)
def test_window_in_every_dialect(run, dialect, key):
    found = window(run, "--dialect", dialect)
    assert found["conversation"] == "demo"
    assert 0 < found["tokens"] <= 16_000
    assert len(found[key]) > 2


def test_window_as_text(run):
    before = edits(run)
    last, same = (run("window", "demo", *given)[1].splitlines() for given in ((), ("--budget", "16k")))
    assert " of 16,000 tokens, " in last[1], "the budget of its last request"
    assert last[:-2] == same[:-2]
    out = run("window", "demo", "--budget", "6k")[1].splitlines()
    assert out[0] == "demo: the window of the next call, not logged"
    assert " of 6,000 tokens, " in out[1]
    assert out[2] == "the cached prefix would break at slot 1, because of a new edit (digest)"
    assert edits(run) == before


@pytest.mark.parametrize("budget", [6_000, 16_000, 200_000])
def test_window_explains_its_entries_and_their_tokens_add_up(budget):
    with open_log(None, "demo") as log:
        found = explained_window("demo", open_conversation(log, Budget(context=budget), "default").window())
    shown = sum(row.shown_tokens for row in found.rows) + sum(found.folds.values()) + found.head
    assert shown + REQUEST_TOKENS == found.tokens <= found.limit == budget


def test_a_window_lists_pinned_messages_beside_their_fold(run):
    assert run("pin", "demo", 14)[0] == 0
    rows = [line.split() for line in run("window", "demo", "--budget", 16_000)[1].splitlines()]
    (row,) = [row for row in rows if row[:2] == ["14", "tool"]]
    assert "kept" in row or "shortened" in row


def test_with_prices_window_compacts_before_it_is_full(run):
    write_jsonl("chats.jsonl", {"id": "long", "messages": chat(60)})
    assert run("replay", "chats.jsonl", "--budget", 100_000)[0] == 0
    args = ("window", "long", "--budget", 100_000, "--json")
    plain, compacted = (json.loads(run(*args, *more)[1])["tokens"] for more in ((), ("--prices", "anthropic")))
    assert compacted < plain < 100_000


def test_the_page_of_a_window_is_written_to_a_file(run, folder):
    assert run("explain", "demo", "--html", "window.html") == (0, "", "transom: window.html: a page for a browser\n")
    assert (folder / "window.html").read_text(encoding="utf-8") == run("explain", "demo", "--html", "-")[1]
