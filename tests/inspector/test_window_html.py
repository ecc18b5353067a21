"""The one page of `transom explain --html`."""

from __future__ import annotations

from html.parser import HTMLParser

from inspected import fill

from transom import Conversation
from transom.evaluation.call_views import CallViews
from transom.inspector.window_data import WindowReader
from transom.inspector.window_html import window_html
from transom.testing import WordCounter


class Elements(HTMLParser):
    """The elements of a page, their attributes, and its text."""

    def __init__(self, page):
        super().__init__()
        self.names, self.attributes, self.text = [], [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


def page_of(conv, call):
    views = CallViews(conv.log, conv.view.counter)
    views.refresh()
    return window_html(views, call)


def test_it_has_every_message_with_its_state(store):
    conv = fill(store)
    page = page_of(conv, 13)
    data = WindowReader(conv.view_at_call(13), conv.view_at_call(12), None, "trip").data(0, 999)
    assert page.count("<article ") == len(data.rows) == len(data.sizes)
    for row in data.rows:
        assert f'<article class="row {row.state} {row.role}' in page
    assert "trip: call 13 of 13" in page


def test_a_hostile_log_is_text(store):
    bad = "</pre></style><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[2J\u202e\u2066\x00\ud800\n'\"&"
    conv = Conversation.open(store, f"name {bad[:-4]}", budget=4_000, system=bad, counter=WordCounter())
    conv.user(bad)
    conv.request()
    call = {"id": "a", "type": "function", "function": {"name": f"tool{bad}", "arguments": bad}}
    conv.observe({"role": "assistant", "content": bad, "tool_calls": [call]})
    conv.tool_result("a", bad)
    conv.request()
    page = page_of(conv, 2)
    page.encode("utf-8")
    found = Elements(page)
    assert not {"script", "img"} & {*found.names}
    assert not [name for name, _ in found.attributes if name.startswith("on") or name in {"src", "href"}]
    assert "<script>alert(1)</script>" in found.text
    assert not [c for c in page if not c.isprintable() and c not in "\n\t"]
    assert "default-src 'none'; style-src 'unsafe-inline'" in page
