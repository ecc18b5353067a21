"""Tool results as files: one file for each result, in the folder and nowhere else."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from transom.core.message import Text, ToolResult
from transom.readback import mirror
from transom.testing.builders import call, hidden, image, result, talk
from transom.testing.fakes import Entries


def log_of(*ids):
    items = ["go"]
    for label in ids:
        items += [call("sh", label=label), ToolResult(call=label, parts=(Text(f"of {label}"),))]
    return Entries(talk(*items))


def test_a_result_is_a_file_named_by_its_call(tmp_path):
    folder = tmp_path / "logs" / "tool-results"
    assert mirror(log_of("call_Ab-1", "toolu_2"), folder) == [folder / "call_Ab-1.json", folder / "toolu_2.json"]
    assert json.loads((folder / "toolu_2.json").read_bytes()) == {
        "entry": 4,
        "tool": "sh",
        "call": "toolu_2",
        "failed": False,
        "content": "of toolu_2",
    }


@pytest.mark.parametrize(
    "call_id",
    [
        "",
        ".",
        "..",
        "../up",
        "/etc/passwd",
        "a/b",
        "a\\b",
        "C:x",
        "a\0b",
        "a\n",
        "x" * 101,
        "CON",
        "nul",
        "lpt1",
        "汉",
        "\ud800",
        "entry-4",
        "ENTRY-2",
        "-rf",
        ".hidden",
        "a.json",
        "~",
        "$HOME",
        "a b",
    ],
)
def test_a_result_with_an_unsafe_id_is_a_file_named_by_its_entry(tmp_path, call_id):
    folder = tmp_path / "inner"
    assert mirror(log_of(call_id), folder) == [folder / "entry-2.json"]
    assert [path.name for path in tmp_path.rglob("*")] == ["inner", "entry-2.json"]
    assert json.loads((folder / "entry-2.json").read_bytes())["call"] == call_id


def test_reused_ids_keep_both_results_and_writing_again_changes_nothing(tmp_path):
    log = log_of("a", "a", "A", "../a")
    written = mirror(log, tmp_path)
    names = [path.name for path in written]
    assert names[0] == "a.json"
    assert names[1] == "entry-4.json"
    assert names[3] == "entry-8.json"
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino) for path in tmp_path.iterdir()}
    assert mirror(log, tmp_path) == written
    assert mirror(log, tmp_path, first=3) == written[1:]
    assert {p: (p.read_bytes(), p.stat().st_mtime_ns, p.stat().st_ino) for p in tmp_path.iterdir()} == before
    assert [json.loads(path.read_bytes())["entry"] for path in written] == [2, 4, 6, 8]


def test_files_of_others_are_not_changed(tmp_path):
    """Of another conversation with the same ids, and of the user."""
    mirror(log_of("a", "b/c"), tmp_path)
    (tmp_path / "entry-4-2.json").write_text("mine")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    other = Entries([*talk("other"), *log_of("a", "b/c")._entries[1:]])
    changed = Entries([replace(e, body=replace(e.body, failed=True)) if e.seq in {2, 4} else e for e in other])
    written = mirror(changed, tmp_path)
    assert [path.name for path in written] == ["entry-2.json", "entry-4-3.json"]
    assert mirror(changed, tmp_path) == written
    assert {path: path.read_bytes() for path in before} == before
    assert len([*tmp_path.iterdir()]) == len(before) + 2


def test_nothing_is_written_through_a_symbolic_link(tmp_path):
    folder, outside = tmp_path / "in", tmp_path / "outside"
    folder.mkdir()
    outside.write_text("mine")
    (folder / "a.json").symlink_to(outside)
    assert mirror(log_of("a"), folder) == [folder / "entry-2.json"]
    assert outside.read_text() == "mine"
    (folder / "b.json").symlink_to(tmp_path / "nowhere")
    mirror(log_of("b"), folder)
    assert not (tmp_path / "nowhere").exists()


def test_parts_and_control_characters_are_kept_and_hidden_results_are_left_out(tmp_path):
    parts = (Text("see \ud800\x00"), image())
    log = Entries(
        talk(
            "go",
            call("sh", label="p"),
            ToolResult(call="p", parts=parts),
            call("sh", label="h"),
            hidden(result("secret")),
        )
    )
    (path,) = mirror(log, tmp_path)
    content = json.loads(path.read_bytes())["content"]
    assert content[0]["text"] == "see \ud800\x00"
    assert content[1]["raw"]["type"] == "image_url"
