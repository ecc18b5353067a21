"""What can be tried from the page, and done."""

from __future__ import annotations

import pytest
from inspected import fill


def post(client, path, **body):
    return client.post(f"/api/{path}", json={"id": "trip", **body})


@pytest.mark.parametrize(
    "action",
    [
        {"do": "compact"},
        {"do": "undo"},
        {"do": "pin", "entry": 4, "why": "the price"},
        {"do": "request", "tokens": 700},
        {"do": "request", "tokens": 800, "policy": "sliding"},
    ],
)
def test_a_dry_run_writes_nothing_and_says_what_it_would_do(store, enter, action):
    conv = fill(store)
    before = [*conv.log.read()]
    tried = post(enter(), "try", **action).json()
    conv.log.refresh()
    assert [*conv.log.read()] == before
    assert tried["entries"] == len(before)
    assert tried["tokens"][0] == conv.view.tokens
    assert tried["edits"]
    raw = tried["saved_tokens"] - sum(
        row["shown"] for row in tried["window"]["rows"] if row.get("is_new") and row["role"] == "note"
    )
    saved = tried["tokens"][0] - tried["tokens"][1]
    assert saved == pytest.approx(raw * conv.view.calibration, abs=1), "as the provider counts them, and rounded"


def test_what_was_tried_is_what_is_done(store, enter):
    fill(store).close()
    client = enter()
    for action in ({"do": "pin", "entry": 4}, {"do": "undo"}, {"do": "compact"}):
        tried = post(client, "try", **action).json()
        done = post(client, "do", expect=tried["entries"], **action)
        assert done.status_code == 200, done.text
        assert done.json()["entries"][0] == tried["entries"]
        after = client.get("/api/window", params={"id": "trip", "from": 0}).json()
        window = tried["window"]
        assert (after["tokens"], after["sizes"]) == (
            window["tokens"],
            [[*size[:3], after["sizes"][at][3]] for at, size in enumerate(window["sizes"])],
        )
    assert len(store.open("trip")) == after["entries"]


def test_nothing_is_done_that_nobody_has_seen(store, enter):
    conv = fill(store)
    client = enter()
    tried = post(client, "try", do="undo").json()
    conv.user("meanwhile")
    done = post(client, "do", do="undo", expect=tried["entries"])
    assert (done.status_code, done.json()) == (409, {"error": "the conversation has gone on meanwhile: look again"})
    assert len(conv.log) == tried["entries"] + 1


def test_the_window_of_a_dry_run_has_pages(store, enter):
    fill(store)
    client = enter()
    tried = post(client, "try", do="undo").json()
    page = client.get("/api/window", params={"id": "trip", "try": tried["number"], "from": 0, "count": 3}).json()
    assert page["rows"] == tried["window"]["rows"][:3]
    assert page["sizes"] == tried["window"]["sizes"]


def test_a_dry_run_in_another_tab_does_not_end_the_paging(store, enter):
    fill(store)
    client = enter()
    tried = post(client, "try", do="undo").json()
    post(client, "try", do="compact")
    page = client.get("/api/window", params={"id": "trip", "try": tried["number"], "from": 0, "count": 3})
    assert page.json()["rows"] == tried["window"]["rows"][:3]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"do": "pin"}, "pin: which entry?"),
        ({"do": "pin", "entry": 999}, "pin: there is no entry 999"),
        ({"do": "request", "policy": "none"}, "unknown policy"),
        ({"do": "request", "tokens": -5}, "context"),
        ({"do": "request", "tokens": 10}, ""),
        ({"do": "dance"}, "Invalid enum value 'dance'"),
        ({"do": "pin", "entry": "four"}, "Expected `int | null`"),
    ],
)
def test_what_cannot_be_tried_is_said(store, enter, body, said):
    fill(store)
    answer = post(enter(), "try", **body)
    assert answer.status_code == 400
    assert said in answer.json()["error"]


def test_only_looking(store, enter):
    conv = fill(store)
    client = enter(read_only=True)
    assert client.get("/api/start").json()["read_only"] is True
    tried = post(client, "try", do="undo").json()
    done = post(client, "do", do="undo", expect=tried["entries"])
    assert (done.status_code, "only looks" in done.json()["error"]) == (400, True)
    assert conv.log.refresh() == tried["entries"]


def test_a_body_that_is_no_json_of_ours(enter):
    client = enter()
    assert client.post("/api/try", content=b"do=undo").status_code == 415
    assert client.post("/api/try", content=b"{", headers={"Content-Type": "application/json"}).status_code == 400
    long = b'{"id": "' + b"x" * 200_000 + b'"}'
    assert client.post("/api/try", content=long, headers={"Content-Type": "application/json"}).status_code == 413
