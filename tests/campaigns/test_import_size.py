"""A session file is imported and exported in a bounded memory, whatever its size: 15 MB here, 2 GB as a campaign."""

from __future__ import annotations

from import_size import EXPORT, IMPORT, measured, session_lines


def test_the_memory_does_not_grow_with_the_file(tmp_path):
    """The tokenizer takes some 100 MB of it."""
    path, store = tmp_path / "s.jsonl", f"sqlite:///{tmp_path}/a.db"
    path.write_bytes(b"".join(session_lines(15_000_000)))
    (messages, imported), _ = measured(IMPORT, path, store)
    (again, exported), _ = measured(EXPORT, path, store)
    assert int(again) == int(messages) > 5_000
    assert int(imported) < 150_000
    assert int(exported) < 100_000
