"""Which store a URL, a path or a store object names."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest
from places import Place

from transom.errors import InvalidSetting
from transom.stores import JsonlStore, MemoryStore, SqliteStore, open_store
from transom.testing import user_entries


def test_a_store_comes_back_as_it_is(tmp_path: Path) -> None:
    for store in (MemoryStore(), JsonlStore(tmp_path / "logs"), SqliteStore(tmp_path / "agent.db")):
        assert open_store(store) is store
        store.close()


def test_what_a_path_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    kinds: dict[Any, type] = {
        "agent.db": SqliteStore,
        "./agent": SqliteStore,
        tmp_path / "agent.sqlite": SqliteStore,
        f"{tmp_path}/absolute.db": SqliteStore,
        "with space?#.db": SqliteStore,
        "logs/": JsonlStore,
        "./a/b/": JsonlStore,
        "there": JsonlStore,
        tmp_path / "there": JsonlStore,
        ".": JsonlStore,
        "sqlite:///agent.db": SqliteStore,
        "sqlite:///agent.db?synchronous=normal": SqliteStore,
        f"sqlite:///{tmp_path}/absolute.db": SqliteStore,
        "jsonl:///logs": JsonlStore,
        "memory:": MemoryStore,
    }
    found: dict[Any, type] = {}
    for place in kinds:
        store = open_store(place)
        store.open("trip").append(user_entries(0, 1), 0) if "trip" not in store.names() else None
        found[place] = type(store)
        store.close()
    assert found == kinds
    made = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert {"agent.db", "agent", "agent.sqlite", "absolute.db", "with space?#.db"} <= made
    assert {"logs/.lock", "a/b/.lock", "there/.lock", ".lock"} <= made


def test_one_place_by_all_its_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    open_store("agent.db").open("trip").append(user_entries(0, 1), 0)
    for place in ("./agent.db", Path("agent.db"), tmp_path / "agent.db", "sqlite:///agent.db"):
        assert open_store(place).names() == ["trip"]


@pytest.mark.parametrize(
    "place",
    [
        "",
        "memory",
        ":memory:",
        "sqlite:///",
        "sqlite://trip.db",
        "sqlite:trip.db",
        "mysql:///x",
        "sqlite:///x\0y",
        "x\0y",
        "sqlite:///x.db?synchronous=off",
        "sqlite:///x.db?mode=ro",
        "jsonl:///x?synchronous=normal",
        "trip.jsonl",
        "x" * 100_000,
        "sqlite:///" + "x" * 100_000,
        None,
        7,
        b"agent.db",
        ["agent.db"],
        object(),
        MemoryStore,
    ],
)
def test_places_that_make_no_sense(place: Any) -> None:
    with pytest.raises(InvalidSetting) as caught:
        open_store(place)
    assert repr(place)[:100] in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_an_unknown_setting_of_sqlite(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="synchronous must be"):
        SqliteStore(tmp_path / "agent.db", synchronous="off")
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be(disk: Place, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    scheme = disk.url.partition(":")[0]
    with pytest.raises(InvalidSetting, match="file/inside"):
        open_store(f"{scheme}:///{tmp_path}/file/inside")


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, here = tmp_path / "home", tmp_path / "here"
    home.mkdir()
    here.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.chdir(here)
    for place in ("~/a.db", "sqlite:///~/b.db?synchronous=normal", Path("~/c.db"), "~/logs/", "jsonl:///~/more"):
        store = open_store(place)
        store.open("trip").append(user_entries(0, 1), 0)
        store.close()
    for store in (SqliteStore("~/d.db"), JsonlStore("~/most")):
        store.close()
    assert {path.name for path in home.iterdir()} >= {"a.db", "b.db", "c.db", "d.db", "logs", "more", "most"}
    assert list(here.iterdir()) == []
    assert isinstance(open_store("~"), JsonlStore), "the home folder itself"
    open_store("./~a.db").close()
    assert [path.name for path in here.glob("~*.db")] == ["~a.db"]
    with pytest.raises(
        InvalidSetting, match=r"store '~nobody-here/a.db': there is no such home folder; a file of that"
    ):
        open_store("~nobody-here/a.db")


def test_a_place_of_the_wrong_kind_is_named(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    folder, file, missing = tmp_path / "folder", tmp_path / "file", tmp_path / "missing" / "a.db"
    for wrong, why in (
        (lambda: open_store(f"sqlite:///{folder}"), f"{folder}: it is a folder; a SQLite store is a file"),
        (lambda: SqliteStore(folder), f"{folder}: it is a folder; a SQLite store is a file"),
        (lambda: open_store(missing), f"{missing}: there is no folder {missing.parent}"),
        (lambda: open_store(f"jsonl:///{file}"), f"{file}: it is a file; a JSON Lines store is a folder"),
        (lambda: open_store(f"{file}/"), f"{file}: it is a file; a JSON Lines store is a folder"),
    ):
        with pytest.raises(InvalidSetting) as caught:
            wrong()
        assert str(caught.value).startswith(why)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("form", ["{}.db", "{}/", "jsonl:///{}", "sqlite:///{}"])
def test_a_path_that_cannot_be_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidSetting, match="File name too long"):
        open_store(form.format("a" * 300))

    def refused(_: Path) -> bool:  # as for a file in the home folder of somebody else
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "exists", refused)
    with pytest.raises(InvalidSetting, match=r"store '.*': Permission denied"):
        open_store(form.format("home/agent"))
