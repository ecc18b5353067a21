"""One log in every dialect: the same content in the same order, each valid by its own check."""

from __future__ import annotations

import json

from hypothesis import given

from transom.core.entry import Entry
from transom.core.message import Head, strings_in
from transom.testing.dialect_conformance import closed_view, shown_texts
from transom.testing.random_logs import logs
from transom.wire.dialects import DIALECTS, dialect_named
from transom.wire.rendering import render_messages


@given(logs())
def test_one_log_in_every_dialect(log: list[Entry]) -> None:
    for name in DIALECTS:
        spoken = dialect_named(name)
        view = closed_view(log, spoken)
        messages = render_messages(view, spoken)
        head = view.head_entry.body if view.head_entry is not None else Head()
        request = spoken.body(head, messages)
        if messages:
            assert spoken.violations(request) == [], name
        everything = json.dumps(list(strings_in(messages, without=())), ensure_ascii=False)
        at = 0
        for text in shown_texts(view):
            quoted = json.dumps(text, ensure_ascii=False)[1:-1]
            at = everything.find(quoted, at)
            assert at >= 0, (name, text)
            at += len(quoted)
