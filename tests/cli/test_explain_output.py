"""`transom explain`: what it prints about a window."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from contextlib import closing

import msgspec
import pytest

import transom
from transom.cache_prices import CompactionCosts
from transom.cli.demo import SESSION
from transom.cli.explain import edit_costs_text
from transom.core.entry import Sent
from transom.evaluation.edit_costs import EditCost
from transom.evaluation.explanations import explain
from transom.stores import SqliteStore


def test_explain_names_the_call_and_groups_folded_entries(run, demo):
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


def test_the_tokens_of_explain_add_up(run, demo):
    calls = json.loads(run("explain", "demo", "--json")[1])["calls"]
    for at in (1, 18, calls // 2, calls):
        found = json.loads(run("explain", "demo", "--at", at, "--json")[1])
        shown = sum(row["shown_tokens"] for row in found["rows"]) + sum(found["folds"].values())
        assert 3 + found["head"] + shown == found["tokens"] <= found["limit"] == 16_000
        assert (found["call"], found["calls"]) == (at, calls)


def learned(store, calls=6):
    """A conversation whose provider counts three times as many tokens as Transom."""
    with transom.Conversation.open(store, "dear", budget=10_000) as conv:
        for at in range(calls):
            conv.user(f"Step {at}: " + "and so on " * 30)
            tokens = 3 * conv.plan_request().size.tokens
            message = {"role": "assistant", "content": f"Done {at}."}
            conv.observe({"choices": [{"message": message}], "usage": {"prompt_tokens": tokens}})


def test_explain_says_which_tokens_the_provider_counts(run, folder):
    learned("s.db")
    found = json.loads(run("explain", "dear", "--store", "s.db", "--json")[1])
    shown = 3 + found["head"] + sum(row["shown_tokens"] for row in found["rows"])
    assert found["counted_tokens"] == shown
    assert found["tokens"] > 1.5 * shown
    shared = found["shared_tokens"] * found["tokens"] / found["counted_tokens"]
    _, second, third, *_ = run("explain", "dear", "--store", "s.db")[1].splitlines()
    assert second == f"{found['tokens']:,} of 10,000 tokens, {shared:,.0f} of them shared with the window before"
    assert third == f"as the provider counts; all parts as Transom counts: {shown:,} together"
    page = run("explain", "dear", "--store", "s.db", "--html", "-")[1]
    assert third in page


def test_explain_prints_what_the_edits_of_a_call_save_and_break(run, demo):
    calls = json.loads(run("explain", "demo", "--json")[1])["calls"]
    found = [json.loads(run("explain", "demo", "--at", at, "--json")[1]) for at in range(1, calls // 4)]
    broke = [(before, one) for before, one in itertools.pairwise(found) if one["breaks"]]
    assert broke
    for before, one in broke:
        assert sum(edit["broken_tokens"] for edit in one["edit_costs"]) == before["tokens"] - one["shared_tokens"]
        assert all(edit["entry"] > 0 for edit in one["edit_costs"])
    assert all(edit["broken_tokens"] == 0 for one in found if not one["breaks"] for edit in one["edit_costs"])
    line = " ".join(map(str.strip, run("explain", "demo", "--at", broke[0][1]["call"])[1].splitlines()[3:5]))
    assert re.match(
        r"\d+ new edits? saves? [\d,]+ tokens a request, and breaks? [\d,]+ tokens of the cached prefix", line
    )


@pytest.mark.parametrize(
    ("costs", "line"),
    [
        ([(5_050, 0)], "1 new edit saves 5,050 tokens a request, and does not break the cached prefix"),
        ([(900, 0), (100, 0)], "2 new edits save 1,000 tokens a request, and do not break the cached prefix"),
        ([(900, 1_200)], "1 new edit saves 900 tokens a request, and breaks 1,200 tokens of the cached prefix"),
        ([(9, 1_000), (1, 500)], "2 new edits save 10 tokens a request, and break 1,500 tokens of the cached prefix"),
        ([(-700, 20)], "1 new edit adds 700 tokens a request, and breaks 20 tokens of the cached prefix"),
    ],
)
def test_one_sentence_says_what_edits_save_and_break(costs, line):
    edits = [EditCost(entry=9, saved_tokens=saved, broken_tokens=broken) for saved, broken in costs]
    assert edit_costs_text(edits) == line


def test_explain_groups_the_edits_of_a_window_by_their_plan(run, demo):
    assert run("pin", "demo", 3)[0] == 0
    found = json.loads(run("explain", "demo", "--json")[1])
    logged = {edit["seq"]: edit for edit in json.loads(run("log", "demo", "--edits", "--json")[1])["entries"]}
    named = {edit for row in found["rows"] for edit in row["edits"]}
    assert {seq for each in found["plans"] for seqs in each["edits"].values() for seq in seqs} == named
    for each in found["plans"]:
        for kind, seqs in each["edits"].items():
            assert {(logged[seq].get("plan"), logged[seq]["kind"]) for seq in seqs} == {(each["plan"], kind)}
    plans = [each["plan"] for each in found["plans"]]
    assert plans == [*sorted(plans[:-1]), None]
    lines = run("explain", "demo")[1].partition("\n\nNext\n")[0].splitlines()
    at = lines.index("the edits behind this window, by the plan that decided them")
    assert len(lines) - at - 1 == len(plans) >= 2
    assert lines[-1] == f"  no plan: 1 pin (entry {max(logged)})"
    first = found["plans"][0]
    seqs = sorted(seq for numbers in first["edits"].values() for seq in numbers)
    (line,) = [line for line in lines[at:] if f"plan {first['plan']}:" in line]
    named_range = f"entry {seqs[0]}" if len(seqs) == 1 else f"entries {seqs[0]} to {seqs[-1]}"
    assert line.endswith(f"({named_range})")


def test_explain_prints_the_text_of_each_fold(run, demo):
    found = json.loads(run("explain", "demo", "--at", -1, "--json")[1])
    entries = {entry["seq"]: entry for entry in json.loads(run("log", "demo", "--json")[1])["entries"]}
    assert found["texts"].keys() == found["folds"].keys()
    assert len(found["texts"]) > 1, "several layers"
    for extra in ((), ("--all",)):
        out = run("explain", "demo", "--at", -1, *extra)[1].splitlines()
        places = [at for at, line in enumerate(out) if line.strip().startswith("text: ")]
        for at, (seq, opening) in zip(places, found["texts"].items(), strict=True):
            assert len(opening) == 80
            assert opening[:-1] in entries[int(seq)]["text"]
            assert opening.endswith("…")
            assert f"folded    digest [entry {seq}]" in out[at - 1]
            assert out[at].strip().startswith(f"text: {opening[:50]}")


def test_explain_without_a_call_is_about_the_current_window(run, demo):
    first = run("explain", "demo")[1].splitlines()[0]
    assert first == "demo: the window as it is now"


def test_before_the_first_request_explain_says_that_nothing_is_decided(run, folder):
    with transom.Conversation.open("s.db", "new", budget=500, system="Be brief.") as conv:
        for number in range(8):
            conv.user(f"question {number} " + "word " * 100)
            conv.observe({"role": "assistant", "content": "word " * 100})
        decided = [row.state for row in conv.explain(view=conv.window().view)]
    assert "folded" in decided
    out = run("explain", "new", "--store", "s.db")[1]
    first, _, said, *_ = out.splitlines()
    assert first == "new: everything in the log"
    assert said == "no request was sent yet: what the first one leaves out is not decided"
    line = next(line for line in out.splitlines() if "--budget 100k" in line).strip()
    words = shlex.split(line)
    shown = run(*words[words.index("window") :][:6])
    assert (shown[0], "the window of the next call" in shown[1]) == (0, True)
    page = run("explain", "new", "--store", "s.db", "--html", "-")[1]
    assert "new: everything in the log, before the first request" in page
    with transom.Conversation.open("s.db", "new", budget=500, system="Be brief.") as conv:
        conv.user("go on")
        conv.request()
    assert "no request was sent yet" not in run("explain", "new", "--store", "s.db")[1]


def test_explain_says_why_a_call_was_compacted_and_what_each_choice_costs(run, folder):
    assert (
        run("replay", SESSION, "--budget", 9_000, "--policy", "summary", "--prices", "anthropic", "--store", "s.db")[0]
        == 0
    )
    with closing(SqliteStore("s.db")) as store:
        (name,) = store.names()
        sent = [entry.body for entry in store.open(name).read() if isinstance(entry.body, Sent)]
    at = next(at for at, one in enumerate(sent, start=1) if one.costs and len(one.costs.choices) > 1)
    costs = json.loads(run("explain", name, "--store", "s.db", "--at", at, "--json")[1])["costs"]
    assert costs["taken"] == sent[at - 1].costs.taken
    lines = [" ".join(line.split()) for line in run("explain", name, "--store", "s.db", "--at", at)[1].splitlines()]
    text = " ".join(lines)
    assert f"{costs['tokens']:,} tokens, growing by {costs['growth']:,.0f} a call" in text
    for choice in costs["choices"]:
        assert f"{choice['name']}: {choice['per_call']:,.0f} a call" in text
    taken = re.search(r"(\w+): [^:]* tokens\), taken", text)
    assert taken is not None
    assert taken[1] == costs["taken"] == costs["choices"][0]["name"]
    assert json.loads(run("explain", name, "--store", "s.db", "--at", 1, "--json")[1])["costs"] is None
    newest = json.loads(run("explain", name, "--store", "s.db", "--json")[1])["costs"]
    with transom.Conversation.open("sqlite:///s.db", name, budget=9_000) as conv:
        assert msgspec.convert(costs, CompactionCosts) == conv.explain(at).costs
        assert conv.explain(1).costs is None
        assert msgspec.convert(newest, CompactionCosts | None) == conv.explain().costs
        assert conv.explain().costs == sent[-1].costs
        assert conv.explain(at) == explain(conv.view_at_call(at))


def test_explain_and_log_say_what_a_refusal_taught(run, folder):
    with transom.Conversation.open("s.db", "refused", budget=10_000) as conv:
        for at in range(12):
            conv.user(f"Step {at}: " + "and so on " * 90)
            conv.observe({"role": "assistant", "content": "Done."})
        conv.plan_for("openai:small")
        conv.user("And now?")
        conv.request()
        conv.failed(400, body="This model's maximum context length is 4000 tokens.")
        entry, limit = len(conv.log) - 1, conv.view.learned_limits["openai:small"]
        conv.request()
        conv.observe({"role": "assistant", "content": "Done."})
        now = conv.view.learned_limits["openai:small"]
    out = " ".join(run("explain", "refused", "--store", "s.db")[1].split())
    assert f"openai:small have at most {now:,} tokens" in out
    assert f"as too long (entry {entry}); the model states a limit of 4,000" in out
    found = json.loads(run("explain", "refused", "--store", "s.db", "--json")[1])
    assert found["learned_limits"]["openai:small"]["tokens"] == now > limit
    log = " ".join(run("log", "refused", "--store", "s.db")[1].split())
    assert f"at most {limit:,} tokens from here on" in log
