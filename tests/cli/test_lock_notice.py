"""The notice that a command waits for another process."""

from __future__ import annotations

import time

import pytest

from transom.cli import lock_notice
from transom.cli.lock_notice import LockNotice


@pytest.mark.parametrize(("probes", "is_printed"), [((True, False) * 9, False), ((False, True, True), True)])
def test_a_lock_that_is_gone_at_the_next_look_was_our_own(monkeypatch, capsys, tmp_path, probes, is_printed):
    left = [*probes]
    monkeypatch.setattr(lock_notice, "DELAY", 0.02)
    monkeypatch.setattr(LockNotice, "_is_locked", lambda _: left.pop(0) if left else False)
    with LockNotice(f"sqlite:///{tmp_path}/a.db", writing=True):
        deadline = time.monotonic() + 10
        while left and time.monotonic() < deadline:
            time.sleep(0.01)
    assert not left
    assert ("locked: waiting" in capsys.readouterr().err) is is_printed
