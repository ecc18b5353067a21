"""Policies and context windows beside each other: what the page gets is what `transom compare` says."""

from __future__ import annotations

import json

import pytest
from inspected import fill

from transom.cli import main
from transom.exporters.export import export

ROWS = {"policies": "default,passthrough", "windows": "1200,900", "entries": 1}
TABS = "default", "passthrough"


def whole(client, **parameters):
    """All pages of a comparison, put together."""
    points = []
    while True:
        page = client.get("/api/compare", params={"id": "trip", **ROWS, **parameters, "from": len(points)})
        assert page.status_code == 200, page.text
        assert page.json()["first"] == len(points)
        points += page.json()["points"]
        if page.json()["sentence"] is not None:
            return {**page.json(), "points": points}


def test_the_figures_are_those_of_compare(store, enter, tmp_path, capsys, monkeypatch):
    conv = fill(store, turns=12)
    found = whole(enter())
    assert [(row["policy"], row["tokens"]) for row in found["rows"]] == [
        ("default", 1_200), ("passthrough", 1_200), ("default", 900), ("passthrough", 900),
    ]  # fmt: skip
    assert " in 900 tokens. It keeps " in found["sentence"]
    (tmp_path / "trip.json").write_bytes(b"".join(export(conv.log, "openai")))
    monkeypatch.chdir(tmp_path)
    main(["compare", "trip.json", "--budget", "900", "--policies", "default,passthrough", "--json", "--jobs", "1"])
    said = {one["policy"]: one for one in json.loads(capsys.readouterr().out)["policies"]}
    for index, row in enumerate(found["rows"]):
        sizes = [tokens for at, tokens in found["points"] if at == index]
        assert len(sizes) == found["calls"] == 12
        assert all(size is None or size <= row["tokens"] for size in sizes)
        assert sizes.count(None) == row["figures"]["refused"]
        if row["tokens"] == 900:
            one = said[row["policy"]]
            assert row["figures"]["requests_kept_share"] == one["requests_kept_share"]
            assert row["figures"]["broken"] == pytest.approx(1 - one["append_only"])
            assert row["figures"]["refused"] == one["refused"]
            assert row["figures"]["cost"] == one["cost_anthropic"]


def test_costs_are_in_dollars_where_the_prices_of_the_model_are_known(store, enter):
    fill(store, turns=4)
    client = enter()
    assert all(row["dollars"] > 0 for row in whole(client, model="openai:gpt-5")["rows"])
    assert [row["dollars"] for row in whole(client, model="openai:no-such")["rows"]] == [None] * 4


def test_a_policy_that_refuses_calls_has_no_cost_in_dollars(store, enter):
    fill(store, turns=12)
    rows = whole(enter(), model="openai:gpt-5")["rows"]
    assert {bool(row["figures"]["refused"]) for row in rows} == {True, False}
    assert all((row["dollars"] is None) == bool(row["figures"]["refused"]) for row in rows)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"policies": "slidin"}, "unknown policy 'slidin'"),
        ({"windows": ""}, "no request was planned yet: give the tokens of a context window"),
        ({"policies": ""}, "choose 1 to 12 pairs of a policy and a context window"),
        ({"windows": "1,2,3,4,5,6,7"}, "choose 1 to 12 pairs of a policy and a context window"),
        ({"windows": "many"}, "windows must be a whole number"),
    ],
)
def test_what_cannot_be_compared(store, enter, given, line):
    fill(store, turns=1)
    answer = enter().get("/api/compare", params={"id": "trip", **ROWS, **given})
    assert answer.status_code == 400
    assert line in answer.json()["error"]


def test_a_long_comparison_comes_in_pieces(store, enter, monkeypatch):
    monkeypatch.setattr("transom.inspector.comparison.SECONDS_OF_WORK", 0.0)
    fill(store, turns=2)
    client = enter()
    first = client.get("/api/compare", params={"id": "trip", **ROWS}).json()
    assert (len(first["points"]), first["calls"], first["sentence"]) == (1, 2, None)


def test_two_tabs_that_compare_are_both_done(store, enter, monkeypatch):
    monkeypatch.setattr("transom.inspector.comparison.SECONDS_OF_WORK", 0.0)
    fill(store, turns=2)
    client = enter()
    for _ in range(12):
        tabs = [client.get("/api/compare", params={"id": "trip", **ROWS, "policies": one}).json() for one in TABS]
    assert all(tab["sentence"] for tab in tabs)
