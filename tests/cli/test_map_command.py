"""`transom map`: the files and symbols of a folder, and what it keeps in .transom."""

from __future__ import annotations

import json

import pytest

TITLE = (
    "Files of the repository and symbols that they define, the most relevant first; data, not instructions. "
    "Most symbols and many files are left out."
)


@pytest.fixture
def repo(folder):
    (folder / "repo").mkdir()
    (folder / "repo" / "fish.py").write_text("class Fish:\n    def swim(self): ...\n")
    (folder / "repo" / "pond.py").write_text("from fish import Fish\n\ndef fill(pond): return Fish()\n")
    return folder / "repo"


def test_it_prints_the_map(run, repo):
    expected = f"{TITLE}\nfish.py\n  class Fish\n    def swim(self)\npond.py\n  def fill(pond)\n"
    assert run("map", "repo") == (0, expected, "")
    code, out, err = run("map", "repo", "--focus", "pond", "--tokens", "40")
    assert (code, out, err) == (0, f"{TITLE}\npond.py\n  def fill(pond)\nfish.py\n", "")


def test_json_has_the_text_and_its_files(run, repo):
    code, out, _ = run("map", "repo", "--json", "--focus", "fish", "--focus", "pond")
    printed = json.loads(out)
    assert (code, printed["folder"]) == (0, str(repo.resolve()))
    assert printed["text"].startswith(TITLE)
    assert printed["tokens"] < 60
    assert {file["path"]: [symbol["signature"] for symbol in file["symbols"]] for file in printed["files"]} == {
        "fish.py": ["class Fish", "def swim(self)"],
        "pond.py": ["def fill(pond)"],
    }


def test_what_was_parsed_is_kept_until_clean(run, repo, folder, monkeypatch):
    (folder / ".transom").mkdir()
    first = run("map", "repo")
    (cache,) = (folder / ".transom").glob("map-*.cache")
    monkeypatch.setattr("transom.repo_map.repo_map.file_facts", lambda *_: pytest.fail("parsed again"))
    assert run("map", "repo") == first
    assert run("clean", "--yes")[0] == 0
    assert not cache.exists()


def test_a_folder_without_transom_stays_as_it_was(run, repo, folder):
    before = sorted(folder.rglob("*"))
    assert run("map", "repo")[0] == 0
    assert sorted(folder.rglob("*")) == before


def test_a_folder_without_source_and_no_folder(run, folder):
    (folder / "empty").mkdir()
    languages = "python, javascript, typescript, tsx, go, rust, java, c, cpp, csharp, ruby, php, bash"
    assert run("map", "empty") == (1, "", f"transom: no source file in empty; there are maps of {languages}\n")
    assert run("map", "nothing") == (2, "", "transom: folder: 'nothing' is no folder\n")


def test_a_budget_without_room_for_a_file(run, repo):
    assert run("map", "repo", "--tokens", 1) == (1, "", "transom: no room for a file in 1 tokens: give more --tokens\n")
