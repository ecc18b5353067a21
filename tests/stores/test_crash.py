"""Law 11: whatever happens to the process, nothing that was acknowledged is lost, and no append is half there."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from places import Place
from writer_process import SECRET, batch, keep_secrets

from transom.core.edit import Undo
from transom.core.entry import Entry
from transom.errors import UnknownLog
from transom.stores import open_store
from transom.testing import user_entries


def short(start: int, count: int) -> list[Entry]:
    """Entries of few bytes, since each byte is a place to cut at."""
    return [Entry(seq=seq, at=0.0, body=Undo(edit=seq)) for seq in range(start, start + count)]


def holding(folder: Path, word: str) -> list[str]:
    """The files with this word in their bytes or their name."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if word in path.name or word.encode() in path.read_bytes()]


def test_of_what_was_forgotten_no_byte_is_left(disk: Place, tmp_path: Path) -> None:
    keep_secrets(disk.url)
    store, held = disk.open(), holding(tmp_path, SECRET)
    logs = {name: disk.open().open(name) for name in store.names()}
    kept = list(logs["other"].read())
    size = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    for n in range(3):
        store.forget(f"{SECRET} {n}")
        assert holding(tmp_path, f"{SECRET} {n}") == []
    assert (len(held) > 0, holding(tmp_path, SECRET)) == (True, [])
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) < size / 2
    assert list(store.open("other").read()) == list(logs["other"].read()) == kept


WRITER = str(Path(__file__).with_name("writer_process.py"))


@pytest.mark.parametrize("acknowledged", [1, 9])
def test_a_writer_is_killed(durable: Place, acknowledged: int) -> None:
    with subprocess.Popen([sys.executable, WRITER, "write", durable.url], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for _ in range(acknowledged):
            writer.stdout.readline()
        writer.kill()
        last = [acknowledged - 1, *map(int, writer.stdout.read().split("\n")[:-1])][-1]
    log = durable.open().open("killed")
    stored = list(log.read())
    assert len(stored) >= 3 * (last + 1), log.repaired
    assert stored == [entry for number in range(len(stored) // 3) for entry in batch(number)]
    log.append(batch(len(stored) // 3), len(stored))
    assert len(list(durable.open().open("killed").read())) == len(stored) + 3


def test_two_processes_write_one_log(durable: Place) -> None:
    writers = [subprocess.Popen([sys.executable, WRITER, "share", durable.url]) for _ in range(2)]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert list(durable.open().open("shared").read()) == user_entries(0, 80)
    assert durable.open().names() == ["shared"]


@pytest.mark.parametrize("others", [True, False])
@pytest.mark.parametrize("steps", [0, 1, 3, 7, 10, 11, 12])
def test_who_forgets_is_killed(disk: Place, tmp_path: Path, steps: int, others: bool) -> None:
    keep_secrets(disk.url)
    before = {name: list(disk.open().open(name).read()) for name in disk.open().names()}
    done = subprocess.run([sys.executable, WRITER, "forget", disk.url, str(steps)], check=False)
    store = disk.open()
    after = {name: list(store.open(name).read()) for name in store.names()}
    gone = {name: log for name, log in before.items() if name != f"{SECRET} 0"}
    last, count = (10, 13) if disk.url.startswith("sqlite") else (0, 2)  # commits, or removes the log's file; all steps
    assert (done.returncode, after) == (-9 if steps < count else 0, before if steps <= last else gone)
    for name in [f"{SECRET} {n}" for n in (1, 2) if others] + [f"{SECRET} 0"] * (not others or steps <= last):
        with suppress(UnknownLog):  # if it was killed when nothing was left
            store.forget(name)
    secret = SECRET if others else f"{SECRET} 0"
    assert holding(tmp_path, secret) == [], "what the killed one left went with the others, or at the next try"
    with pytest.raises(UnknownLog):
        store.forget(f"{SECRET} 0")
    assert list(disk.open().open("other").read()) == before["other"]


def test_a_full_disk(disk: Place) -> None:
    done = subprocess.run(
        [sys.executable, WRITER, "fill", disk.url], check=True, capture_output=True, text=True, timeout=60
    )
    problem, repaired, acknowledged = done.stdout.splitlines()
    stored = int(acknowledged)
    assert repaired == "''", "the failed append took itself back"
    assert disk.url.partition("///")[2] in problem
    assert "this changed nothing" in problem
    assert "\\n" not in problem
    assert stored > 3
    log = disk.open().open("full")
    assert (list(log.read()), log.repaired) == ([*user_entries(0, 3), *user_entries(3, stored, 9_000)], "")


def test_a_file_cut_anywhere_in_its_last_append(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = open_store(f"jsonl:///{tmp_path}/logs")
    store.open("cut").append(short(0, 2), 0)
    (path,) = (tmp_path / "logs").glob("*.jsonl")
    kept = path.stat().st_size
    store.open("cut").append(short(2, 2), 2)
    whole = path.read_bytes()
    for size in range(kept, len(whole)):
        path.write_bytes(whole[:size])
        log = store.open("cut")
        assert list(log.read()) == short(0, 2)
        assert path.stat().st_size == kept
        cut = f"{path}: cut {size - kept:,} bytes of an append that was never finished, after 2 entries"
        assert log.repaired == (cut if size > kept else "")
        assert caplog.messages == ([cut] if size > kept else [])
        caplog.clear()
    log.append(short(2, 1), 2)
    log = store.open("cut")
    assert (list(log.read()), log.repaired, caplog.messages) == (short(0, 3), "", [])


def test_a_file_cut_anywhere_in_its_first_append(tmp_path: Path) -> None:
    store = open_store(f"jsonl:///{tmp_path}/logs")
    store.open("cut").append(short(0, 2), 0)
    (path,) = (tmp_path / "logs").glob("*.jsonl")
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        log = store.open("cut")
        assert list(log.read()) == []
        assert path.stat().st_size == 0
        if size % 9 == 0:
            log.append(short(0, 2), 0)
            assert path.read_bytes().partition(b"\n")[2] == whole.partition(b"\n")[2], "all but the header"
            assert store.names() == ["cut"]


def test_blocks_that_were_never_filled_are_cut(tmp_path: Path) -> None:
    store = open_store(f"jsonl:///{tmp_path}/logs")
    store.open("cut").append(user_entries(0, 2), 0)
    (path,) = (tmp_path / "logs").glob("*.jsonl")
    whole = path.read_bytes()
    for tail in (b"\0" * 5_000, b'{"crc":"' + b"\0" * 100 + b'}\n{"crc', b"\0\n\0\n"):
        path.write_bytes(whole + tail)
        log = store.open("cut")
        assert (list(log.read()), path.read_bytes() == whole, bool(log.repaired)) == (user_entries(0, 2), True, True)
    path.write_bytes(b"\0" * 100)
    assert len(store.open("cut")) == 0


def test_a_live_writer_cuts_what_a_dead_one_began(tmp_path: Path) -> None:
    store = open_store(f"jsonl:///{tmp_path}/logs")
    log = store.open("cut")
    log.append(user_entries(0, 2), 0)
    (path,) = (tmp_path / "logs").glob("*.jsonl")
    with path.open("ab") as file:
        file.write(b'{"crc":"0000')
    assert log.refresh() == 2
    log.append(user_entries(2, 2), 2)
    again = store.open("cut")
    assert (list(again.read()), again.repaired) == (user_entries(0, 4), "")
