"""A campaign that finds nothing to judge has not passed."""

from __future__ import annotations

from pathlib import Path

import pytest
from campaign_options import campaign_parser, recorded_files


def test_no_recorded_conversations_end_a_campaign(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "conversations").mkdir()
    parser = campaign_parser("A campaign.")
    with pytest.raises(SystemExit, match="2"):
        recorded_files(parser, parser.parse_args([str(tmp_path)]))
    assert "no recorded conversations" in capsys.readouterr().err
    (tmp_path / "conversations" / "aider.jsonl.gz").write_bytes(b"")
    assert [file.name for file in recorded_files(parser, parser.parse_args([str(tmp_path)]))] == ["aider.jsonl.gz"]
    with pytest.raises(SystemExit, match="2"):
        recorded_files(parser, parser.parse_args([str(tmp_path), "--family", "codex"]))
