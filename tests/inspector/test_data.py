"""The data that the page asks for."""

from __future__ import annotations

import pytest
from inspected import fill

from transom import Budget, Prices
from transom.core.entry import Sent
from transom.core.message import Text, User
from transom.evaluation.explanations import explain
from transom.stores.snapshot import encode_view


def get(client, path, **parameters):
    answer = client.get(f"/api/{path}", params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_list_is_searched_and_paged(store, enter):
    for name in ("one", "Two and more", "three"):
        fill(store, name, turns=1).close()
    client = enter()
    page = get(client, "conversations")
    assert [one["id"] for one in page["conversations"]] == ["three", "Two and more", "one"]
    assert (page["total"], page["found"]) == (3, 3)
    page = get(client, "conversations", query="MORE two")
    assert ([one["id"] for one in page["conversations"]], page["found"]) == (["Two and more"], 1)
    page = get(client, "conversations", **{"from": 1, "count": 1})
    assert [one["id"] for one in page["conversations"]] == ["Two and more"]


def test_calls_have_what_their_requests_say(store, enter):
    conv = fill(store)
    calls = get(enter(), "calls", id="trip")
    sent = [entry for entry in conv.log.read() if isinstance(entry.body, Sent)]
    assert calls["entry"] == [entry.seq for entry in sent]
    assert calls["tokens"] == [entry.body.tokens for entry in sent]
    assert calls["failure"] == ["", "", "", "overloaded", *[""] * 9]
    assert calls["prompt"][:4] == [40, 40, 40, None]
    assert calls["cached"][:4] == [20, 20, 20, None]
    assert sum(calls["folds"]) == sum(type(entry.body).__name__ == "Fold" for entry in conv.log.read())
    assert sum(calls["folds"]) > 0
    assert calls["total"]["requests"] == 12
    assert sum(calls["dollars"]) == pytest.approx(conv.usage.dollars)
    assert get(enter(), "calls", id="trip", **{"from": 11})["entry"] == calls["entry"][11:]


def test_a_window_is_what_the_model_read(store, enter):
    conv = fill(store)
    client = enter()
    for call in (1, 5, 13):
        view = conv.view_at_call(call)
        data = get(client, "window", id="trip", call=call, **{"from": 0, "count": 200})
        shown = [seq for unit in view.visible_units() for seq in unit.seqs]
        messages = [row for row in data["rows"] if row.get("state", "kept") != "folded" and row["role"] != "system"]
        assert sorted(row["entry"] for row in messages) == sorted(shown)
        states = {row.entry: row for row in explain(view)}
        for row in messages:
            assert row.get("state", "kept") in {states[row["entry"]].state, "recalled", "synthetic"}
            assert row.get("shown", 0) == states[row["entry"]].shown_tokens
        assert sum(tokens for tokens, *_ in data["sizes"]) == view.total.tokens - conv.view.counter.request
        assert data["limit"] == 1_200


def test_the_difference_to_the_call_before(store, enter):
    fill(store)
    client = enter()
    first = get(client, "window", id="trip", call=1)
    assert first["change"]["added"] == len(first["sizes"]) == 2
    second = get(client, "window", id="trip", call=2)
    assert (second["change"]["added"], second["change"]["removed"], second["breaks"]) == (2, 0, None)
    assert [row["entry"] for row in second["rows"] if row.get("is_new")] == [3, 4]
    assert [cached for *_, cached, _ in second["sizes"]] == [True, True, False, False]
    compacted = next(
        data for call in range(3, 14) if (data := get(client, "window", id="trip", call=call))["change"]["edit_count"]
    )
    assert compacted["change"]["removed"] > 0
    assert compacted["change"]["saved_tokens"] == sum(edit["saved_tokens"] for edit in compacted["change"]["edits"])
    assert compacted["breaks"] is not None
    assert compacted["left"]["folded"] > 0


def test_why_a_window_was_compacted(store, enter):
    conv = fill(store, budget=Budget(context=1_200, prices=Prices.named("openai")))
    client = enter()
    costs = [get(client, "window", id="trip", call=call)["costs"] for call in range(1, 14)]
    sent = [entry.body for entry in conv.log.read() if isinstance(entry.body, Sent)]
    assert [None if one is None else one["why"] for one in costs] == [
        None if one.costs is None else one.costs.why for one in sent
    ]
    assert any(costs)


def test_what_is_recalled_has_its_mark(store, enter):
    fill(store)
    rows = get(enter(), "window", id="trip", **{"from": 0, "count": 200})["rows"]
    recalled = [row for row in rows if row.get("state") == "recalled"]
    assert [(row["why"], row["pieces"][0]["text"]) for row in recalled] == [
        ("the message asks about it", "earlier: no smoking")
    ]


def test_what_a_fold_stands_for(store, enter):
    conv = fill(store)
    client = enter()
    rows = get(client, "window", id="trip", call=13, **{"from": 0, "count": 200})["rows"]
    fold = next(row for row in rows if row.get("state") == "folded")
    left = get(client, "left-out", id="trip", call=13, fold=fold["entry"], count=200)
    folded = [
        row.entry for row in explain(conv.view_at_call(13)) if row.state == "folded" and fold["entry"] in row.edits
    ]
    assert [row["entry"] for row in left["rows"]] == folded
    assert left["total"] == len(folded)
    names = get(client, "names", id="trip", call=13)
    assert str(fold["entry"]) in names


def test_long_texts_come_in_pages(store, enter):
    conv = fill(store, turns=1)
    text = "<script>alert(1)</script>" + "x" * 5_000_000 + "the end"
    seq = conv.user(text)
    client = enter()
    answer = client.get("/api/window", params={"id": "trip"})
    assert len(answer.content) < 20_000
    row = answer.json()["rows"][-1]
    assert row["pieces"][0]["length"] == len(text)
    assert row["pieces"][0]["text"] == text[:1_400]
    found, at = "", 0
    while at < 60_000:
        piece = get(client, "entry", id="trip", entry=seq, **{"from": at})["pieces"][0]
        found, at = found + piece["text"], at + len(piece["text"])
    assert found == text[:60_000]
    last = get(client, "entry", id="trip", entry=seq, **{"from": len(text) - 7})["pieces"][0]
    assert last["text"] == "the end"


def test_a_window_of_many_messages_comes_in_pages(store, enter):
    conv = fill(store, turns=0)
    conv.budget = 100_000
    for number in range(300):
        conv.append(User(parts=(Text(f"message {number}"),)))
    client = enter()
    data = get(client, "window", id="trip")
    assert (len(data["sizes"]), len(data["rows"])) == (302, 24)
    page = get(client, "window", id="trip", **{"from": 290, "count": 999})
    assert (page["first_row"], len(page["rows"])) == (290, 12)


def test_what_others_append_is_seen(store, enter):
    conv = fill(store, turns=2)
    client = enter()
    before = get(client, "mark", id="trip")
    assert before == {"conversations": 1, "entries": len(conv.log)}
    get(client, "window", id="trip")
    conv.request()
    conv.observe({"role": "assistant", "content": "done"})
    fill(store, "other", turns=0).close()
    assert get(client, "mark", id="trip") == {"conversations": 2, "entries": len(conv.log)}
    assert get(client, "window", id="trip")["entries"] == len(conv.log)
    assert len(get(client, "calls", id="trip")["entry"]) == 3


def test_the_first_look_uses_the_snapshot(store, enter):
    conv = fill(store)
    conv.log.save_snapshot(conv.view.length, encode_view(conv.view))
    client = enter()
    quick, whole = get(client, "window", id="trip"), get(client, "window", id="trip")
    assert quick["change"] is None
    assert whole["change"] is not None
    assert quick["sizes"] == [[*size[:3], False] for size in whole["sizes"]]


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("window?id=none", 400, "no conversation 'none'"),
        ("window?id=trip&call=99", 400, "there is no call 99: trip has 13, counted from 1"),
        ("window?id=trip&call=two", 400, "call must be a whole number"),
        ("window?id=trip&call=99999999999999999999", 400, "call is too large"),
        ("entry?id=trip&entry=-1", 400, "there is no entry -1 in this log: its entries are 0 to 42"),
        ("left-out?id=trip&fold=1", 400, "this window has no fold 1"),
        ("window?id=trip&try=5", 400, "this dry run is no longer kept: try it again"),
    ],
)
def test_errors_are_one_line(store, enter, path, status, said):
    fill(store)
    answer = enter().get(f"/api/{path}")
    assert (answer.status_code, answer.json()) == (status, {"error": said})


def test_a_conversation_that_was_forgotten_meanwhile(store, enter):
    fill(store, turns=2).close()
    client = enter()
    get(client, "window", id="trip")
    store.forget("trip")
    gone = client.get("/api/calls", params={"id": "trip"})
    assert (gone.status_code, "trip" in gone.json()["error"]) == (404, True)
    assert client.get("/api/calls", params={"id": "trip"}).json() == {"error": "no conversation 'trip'"}
    fill(store, turns=1)
    assert len(get(client, "calls", id="trip")["entry"]) == 1
