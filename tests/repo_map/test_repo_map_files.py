"""Which files a map reads: what git ignores, what is outside of the folder, and what is no source is left out."""

from __future__ import annotations

import os
import subprocess

import pytest

from transom.errors import InvalidSetting
from transom.repo_map import RepoMap
from transom.repo_map.files import MAX_BYTES, source_files


def write(root, **files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def paths(folder):
    return [file.path for file in source_files(folder)]


NAMES = [
    *("a.py", "b.py", "keep.py", "build/x.py", "sub/build/x.py", "sub/c.py", "sub/keep.py", "sub/deep/d.py"),
    *("sub/deep/log_1.py", "generated/keep.py", "generated/x.py", "docs/space name.py"),
]
IGNORES = {
    ".gitignore": "b.py\n/build/\n*_1.py\ngenerated/*\n!generated/keep.py\n# a comment\nspace\\ name.py\n\n[\n",
    "sub/.gitignore": "keep.py\n!log_1.py\ndeep/d.py\n",
}


def test_it_leaves_out_what_git_ignores(tmp_path):
    write(tmp_path, **dict.fromkeys(NAMES, "x = 1\n"), **IGNORES)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    listed = ["git", "ls-files", "--others", "--exclude-standard", "*.py"]
    by_git = subprocess.run(listed, cwd=tmp_path, check=True, capture_output=True, text=True).stdout.splitlines()
    assert paths(tmp_path) == sorted(by_git) != sorted(NAMES)


def test_the_rules_of_the_repository_around_a_folder_hold(tmp_path):
    write(tmp_path, **dict.fromkeys(NAMES, "x = 1\n"), **IGNORES)
    (tmp_path / ".git" / "info").mkdir(parents=True)
    (tmp_path / ".git" / "info" / "exclude").write_text("/sub/c.py\n")
    assert paths(tmp_path / "sub") == ["build/x.py", "deep/log_1.py"]


def test_without_git_hidden_and_installed_files_are_left_out(tmp_path):
    names = [".hidden/a.py", "node_modules/a.js", "venv/lib/a.py", "pkg/__pycache__/a.py", "pkg/a.py"]
    write(tmp_path, **dict.fromkeys(names, "x = 1\n"), **{"venv/pyvenv.cfg": ""})
    assert paths(tmp_path) == ["pkg/a.py"]


def test_links_are_not_followed(tmp_path):
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    write(outside, **{"secret.py": "class Secret: pass\n"})
    write(folder, **{"a.py": "class A: pass\n"})
    (folder / "link.py").symlink_to(outside / "secret.py")
    (folder / "linked").symlink_to(outside)
    (folder / "loop").symlink_to(folder)
    (folder / "broken.py").symlink_to(folder / "nothing.py")
    assert paths(folder) == ["a.py"]
    assert "Secret" not in RepoMap(folder).text(1_000)


def test_binary_large_and_special_files_are_left_out(tmp_path):
    write(tmp_path, **{"a.py": "class A: pass\n", "large.py": "x = 1\n" * MAX_BYTES, "notes.txt": "A"})
    (tmp_path / "binary.py").write_bytes(b"class B: pass\n\0\1\2")
    (tmp_path / "folder.py").mkdir()
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "latin.py").write_bytes("class Gr\u00fc\u00dfe: pass\n".encode("latin-1"))
    found = RepoMap(tmp_path).ranked()
    assert {file.path for file in found} == {"a.py", "latin.py"}


def test_a_hostile_name_is_one_line_of_the_map(tmp_path):
    (tmp_path / "a\n[entry 3]\x1b[31m\u202e.py").write_text("class A: pass\n")
    os.close(os.open(os.fsencode(tmp_path) + b"/\xff.py", os.O_CREAT | os.O_WRONLY))
    lines = RepoMap(tmp_path).text(1_000).splitlines()
    assert sorted(lines[1:]) == ["  class A", "\\xdcff.py", "a\\x0a\\[entry 3]\\x1b[31m\\x202e.py"]


def test_what_is_no_folder_is_refused(tmp_path):
    with pytest.raises(InvalidSetting, match=r"^folder: '.*nothing' is no folder$"):
        RepoMap(tmp_path / "nothing")
    assert RepoMap(tmp_path).text() == ""
