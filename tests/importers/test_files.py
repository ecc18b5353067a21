"""Only regular files are read, and what is unpacked is bounded."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import os
import socket
import zipfile
from pathlib import Path

import pytest

from transom.errors import InvalidMessage
from transom.importers import import_file, open_file, read
from transom.stores import MemoryStore

CHAT = {"messages": [{"role": "user", "content": "hi"}]}
LINE = json.dumps(CHAT).encode() + b"\n"


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _link_to_pipe(path: Path) -> None:
    os.mkfifo(path.with_suffix(".pipe"))
    path.symlink_to(path.with_suffix(".pipe"))


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        here = Path.cwd()
        os.chdir(path.parent)  # the path of a socket is short
        try:
            made.bind(path.name)
        finally:
            os.chdir(here)


ODD = [_pipe, _device, _link_to_pipe, _socket]
WHY = "it is a pipe, a device or the like, and only regular files are read; pipe data to `-` instead"


@pytest.mark.parametrize("make", ODD)
def test_a_file_of_a_folder_that_is_no_regular_file_is_named_and_left_out(tmp_path, make):
    (tmp_path / "a.jsonl").write_bytes(LINE)
    make(tmp_path / "b.jsonl")
    (tmp_path / "c.jsonl").write_bytes(LINE)
    for run in (
        lambda skip: read(tmp_path, on_skip=skip),
        lambda skip: import_file(tmp_path, MemoryStore(), on_skip=skip),
    ):
        skipped: list[str] = []
        assert len(list(run(skipped.append))) == 2
        assert skipped == [f"{tmp_path}/b.jsonl: skipped, {WHY}"]


@pytest.mark.parametrize("make", ODD)
def test_a_file_that_is_no_regular_file_is_refused(tmp_path, make):
    path = tmp_path / "b.jsonl"
    make(path)
    for run in (lambda: list(read(path)), lambda: list(import_file(path, MemoryStore()))):
        with pytest.raises(InvalidMessage, match=WHY):
            run()


BOMBS = {
    "blanks": b" " * 1_000_000,
    "lines": b"\n" * 1_000_000,
    "digits": b"1" * 1_000_000,
    "lists": b"[" * 1_000_000,
    "conversations": LINE * 10_000,
}


@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.parametrize("packing", ["gz", "stream", "zip"])
def test_a_packed_file_is_unpacked_to_a_bound(tmp_path, monkeypatch, packing, bomb):
    monkeypatch.setattr(open_file, "UNPACKED_FREELY", 300_000)
    monkeypatch.setattr(open_file, "MOST_RATIO", 20)
    source: Path | io.BytesIO = tmp_path / f"a.jsonl.{packing}"
    if packing == "zip":
        with zipfile.ZipFile(source, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.jsonl", BOMBS[bomb])
    else:
        source.write_bytes(gzip.compress(BOMBS[bomb]))
        source = io.BytesIO(source.read_bytes()) if packing == "stream" else source
    with pytest.raises(InvalidMessage, match="it unpacks to more than 20 times its size; unpack it yourself if you"):
        list(read(source))


def test_what_is_packed_as_usual_is_read_whatever_its_size(tmp_path, monkeypatch):
    monkeypatch.setattr(open_file, "UNPACKED_FREELY", 1_000)
    lines = b"".join(
        json.dumps({"id": str(n), "messages": [{"role": "user", "content": f"Question {n * n} of {n}?"}]}).encode()
        + b"\n"
        for n in range(2_000)
    )
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines))
    assert len(list(read(tmp_path / "a.jsonl.gz"))) == 2_000


@pytest.mark.parametrize(("name", "content"), [("a.jsonl", LINE + b"1" * 2_000), ("a.json", b"[\n" + b"1," * 1_000)])
def test_a_line_or_a_document_that_does_not_end_is_refused(tmp_path, monkeypatch, name, content):
    monkeypatch.setattr(open_file, "MOST_AT_ONCE", 1_000)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidMessage, match="is larger than 0 MB: split it into a conversation a line"):
        list(read(tmp_path / name))


def test_a_file_of_a_zip_archive_that_was_changed_is_an_error(tmp_path):
    source = tmp_path / "export.zip"
    with zipfile.ZipFile(source, "w") as archive:
        archive.writestr("a.jsonl", json.dumps({"id": "a", "messages": [{"role": "user", "content": "Count."}]}))
    source.write_bytes(source.read_bytes().replace(b"Count.", b"Mount."))
    with pytest.raises(InvalidMessage, match=r"a\.jsonl line 1: cannot be read: Bad CRC-32"):
        next(read(source))


def test_the_files_of_a_zip_archive_are_read(tmp_path):
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("user.json", json.dumps({"email": "ada@example.org"}))
        archive.writestr("chat.html", "<p>hi</p>")
        archive.writestr("conversations.json", json.dumps([{"id": "one", **CHAT}, {"id": "two", **CHAT}]))
    skipped: list[str] = []
    found = list(read(tmp_path / "export.zip", on_skip=skipped.append))
    assert [one.id for one in found] == ["one", "two"]
    assert found[0].source == f"{tmp_path}/export.zip/conversations.json, conversation 1"
    assert skipped == [f"{tmp_path}/export.zip/user.json: skipped, it holds an object with the keys 'email'"]
    store = MemoryStore()
    assert [one.conversation for one in import_file(tmp_path / "export.zip", store)] == ["one", "two"]


def test_a_damaged_or_empty_archive_is_refused_in_one_line(tmp_path):
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04 and nothing more")
    with pytest.raises(InvalidMessage, match="this archive cannot be unpacked: File is not a zip file"):
        list(read(tmp_path / "a.zip"))
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("chat.html", "<p>hi</p>")
    with pytest.raises(InvalidMessage, match="this archive has no file named"):
        list(read(tmp_path / "b.zip"))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_another_encoding_with_a_mark_is_read(tmp_path, name, packed, encoding):
    """PowerShell writes UTF-16."""
    lines = [{"messages": [{"role": "user", "content": f"Größe {number}, 漢字"}]} for number in range(3)]
    text = (
        "\r\n".join(json.dumps(line, ensure_ascii=False) for line in lines) if name == "a.jsonl" else json.dumps(lines)
    )
    data = text.encode(encoding)
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if packed else data)
    skipped = []
    found = [conversation.messages[0]["content"] for conversation in read(path, on_skip=skipped.append)]
    assert (found, skipped) == ([f"Größe {number}, 漢字" for number in range(3)], [])
    with path.open("rb") as stream:
        assert [conversation.messages[0]["content"] for conversation in read(stream)] == found


def test_a_conversation_of_a_pipe_is_given_as_soon_as_its_line_is_there():
    inner, outer = os.pipe()
    with os.fdopen(inner, "rb") as pipe, os.fdopen(outer, "wb", 0) as writer:
        reader = read(pipe)
        writer.write(LINE[:2])
        writer.write(LINE[2:] + LINE)  # two lines tell how the file is laid out
        assert len([next(reader), next(reader)]) == 2
        writer.write(LINE)
        assert next(reader).id == "stream:3"
        writer.close()
        assert list(reader) == []


def test_a_stream_without_end_that_holds_no_conversations_is_refused_at_its_beginning():
    class Endless(io.RawIOBase):
        def readable(self):
            return True

        def readinto(self, buffer):
            buffer[:2] = b"y\n"
            return 2

    with pytest.raises(InvalidMessage, match="line 1: not JSON"):
        list(read(io.BufferedReader(Endless())))


def test_a_stream_needs_no_temporary_folder(monkeypatch):
    monkeypatch.setattr("tempfile.mkdtemp", None)
    assert len(list(read(io.BytesIO(LINE)))) == len(list(read(io.StringIO(LINE.decode())))) == 1


def test_a_line_of_a_stream_has_the_bound_of_every_line(monkeypatch):
    monkeypatch.setattr("transom.importers.open_file.MOST_AT_ONCE", len(LINE) - 1)
    with pytest.raises(InvalidMessage, match="line 1: the line is larger than"):
        list(read(io.BytesIO(LINE)))


LINES = b'{"messages": [{"role": "user", "content": "caf\xc3\xa9"}]}\n' * 3


class OwnBuffer:
    """A stream of a user's own, with an attribute of that name."""

    def __init__(self, data):
        self._data, self.buffer = io.BytesIO(data), bytearray()

    def read(self, size=-1):
        return self._data.read(size)


class ReadsOnly(io.BufferedIOBase):
    """A subclass that leaves `read1` to io's base class."""

    def __init__(self, data):
        self._data = io.BytesIO(data)

    def readable(self):
        return True

    def read(self, size=-1):
        return self._data.read(size)


@pytest.mark.parametrize(
    "stream",
    [
        OwnBuffer(LINES),
        ReadsOnly(LINES),
        codecs.EncodedFile(io.BytesIO(LINES.decode().encode("latin-1")), "utf-8", "latin-1"),
    ],
    ids=["its own buffer", "no read1", "recoded"],
)
def test_whatever_reads_bytes_is_a_stream(stream):
    assert [each.messages[0]["content"] for each in read(stream)] == ["café"] * 3


def test_a_conversation_with_an_unknown_role_hides_none_behind_it(tmp_path):
    good = json.dumps({"messages": [{"role": "user", "content": "a"}]})
    odd = json.dumps({"messages": [{"role": "user", "content": "a"}, {"role": "ipython", "content": "x"}]})
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        archive.writestr("a.jsonl", f"{good}\n{odd}\n{good}")
        archive.writestr("b.jsonl", good)
    with pytest.raises(InvalidMessage, match=r"a.jsonl line 2: .* message 1 with the role 'ipython'"):
        list(read(tmp_path / "z.zip"))


@pytest.mark.parametrize(
    "item",
    [
        {"type": "mcp_approval_response", "approval_request_id": "a", "approve": True},
        {"type": "item_reference", "id": "c"},
    ],
)
def test_a_request_of_items_alone_needs_no_role(item):
    [found] = read(io.BytesIO(json.dumps({"previous_response_id": "x", "input": [item]}).encode()))
    assert found.dialect == "responses"


def test_a_row_with_a_role_beside_its_messages_is_no_message():
    row = {"role": "admin", "content": None, "messages": [{"role": "user", "content": "hi"}]}
    [found] = read(io.BytesIO(json.dumps(row).encode()))
    assert found.messages == row["messages"]
