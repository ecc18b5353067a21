"""Who may ask the inspector."""

from __future__ import annotations

import pytest
from inspected import ORIGIN, PORT
from starlette.testclient import TestClient

from transom.inspector.access import CONTENT_SECURITY_POLICY, HEADERS
from transom.inspector.server import Inspector, listen


@pytest.fixture
def app(store):
    return Inspector(store, place="store.db").app(port=PORT, token="secret")


def client(app, **headers):
    return TestClient(app, base_url=ORIGIN, headers=headers, follow_redirects=False)


def test_the_link_works_once(app):
    first = client(app)
    assert first.get("/?token=wrong").status_code == 403
    entered = first.get("/?token=secret")
    assert (entered.status_code, entered.headers["location"]) == (303, "/")
    assert "HttpOnly" in entered.headers["set-cookie"]
    assert "SameSite=lax" in entered.headers["set-cookie"]
    assert first.get("/").status_code == 200
    assert first.get("/?token=secret").status_code == 303, "the browser that has entered may reload the link"
    assert client(app).get("/?token=secret").status_code == 403


@pytest.mark.parametrize("path", ["/", "/api/start", "/static/app.js", "/api/window?id=trip", "/none"])
def test_without_the_cookie_there_is_nothing(app, path):
    assert client(app).get(path).status_code == 403
    other = client(app)
    other.cookies.set(f"transom_{PORT}", "guessed")
    assert other.get(path).status_code == 403


@pytest.mark.parametrize("host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT + 1}", ""])
def test_another_host_is_refused(enter, host):
    assert enter().get("/api/start", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": f"http://127.0.0.1:{PORT + 1}"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_another_page_cannot_ask(enter, headers):
    entered = enter()
    assert entered.get("/api/start", headers=headers).status_code == 403
    assert entered.post("/api/do", json={"id": "trip", "do": "undo"}, headers=headers).status_code == 403


def test_a_change_needs_an_origin(enter):
    entered = enter()
    del entered.headers["Origin"]
    assert entered.get("/api/start").status_code == 200
    assert entered.post("/api/try", json={"id": "trip", "do": "undo"}).status_code == 403


def test_every_answer_has_the_policy(enter, app):
    entered = enter()
    answers = [entered.get("/"), entered.get("/static/app.js"), entered.get("/api/start"), client(app).get("/nothing")]
    for answer in answers:
        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
        assert answer.headers["Cache-Control"] == "no-store"
        assert not any(name.lower().startswith("access-control") for name in answer.headers)
    assert CONTENT_SECURITY_POLICY.startswith(
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'"
    )


def test_it_listens_on_this_machine_only():
    listening = listen(0)
    try:
        assert listening.getsockname()[0] == "127.0.0.1"
    finally:
        listening.close()
