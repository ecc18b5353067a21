"""Wrong values from a new user end in one clear line, with nothing stored."""

from __future__ import annotations

import pytest

from transom import Conversation, Fold, InvalidEdit, InvalidSetting, Trim
from transom.importers import import_file
from transom.memory import Memory
from transom.repo_map import RepoMap
from transom.stores import MemoryStore, fork_log, open_store
from transom.testing import user_entries


@pytest.fixture
def chat(tmp_path):
    path = tmp_path / "chat.json"
    path.write_text('[{"role": "user", "content": "hi"}]')
    return path


@pytest.mark.parametrize("at", ["now", None, True, float("nan"), float("inf")])
def test_a_clock_that_gives_no_time(tmp_path, at):
    with Conversation.open(str(tmp_path / "a.db"), "trip", budget=1_000, clock=lambda: at) as conv:
        with pytest.raises(InvalidSetting, match=f"^clock: must give seconds since 1970, a number, not '?{at}'?$"):
            conv.user("hi")
        assert len(conv.log) == 0


@pytest.mark.parametrize("name", ["", 5])
def test_names(chat, name):
    store = MemoryStore()
    store.open("trip").append(user_entries(0, 1), 0)
    why = f"must be a text of at least one character, not '?{name}'?$"
    with pytest.raises(InvalidSetting, match=r"^id: " + why):
        list(import_file(chat, store, id=name))
    with pytest.raises(InvalidSetting, match=r"^fork: " + why):
        fork_log(store, store.open("trip"), name=name)
    assert store.names() == ["trip"]


def test_what_is_no_store_counter_or_folder(chat):
    with pytest.raises(InvalidSetting, match=r"^store: must be a store, as open_store gives it, not 'a.db'$"):
        list(import_file(chat, "a.db"))
    with pytest.raises(InvalidSetting, match=r"^counter: must have a name"):
        list(import_file(chat, open_store("memory:"), counter=5))
    with pytest.raises(InvalidSetting, match=r"^memory: must be given a store, or be opened with Memory.open, not 5$"):
        Memory(5)
    with pytest.raises(InvalidSetting, match=r"^folder: must be the path of a folder, not 5$"):
        RepoMap(5)


@pytest.mark.parametrize(
    "edit",
    [
        Trim(entry=0, part="x"),
        Trim(entry=0, part=None),
        Trim(entry=0, part=("text", "0")),
        Trim(entry=0, part=("text", 0), keep="ab"),
        Trim(entry=0, part=("text", 0), keep=((0, "1"),)),
        Fold(first=0, last=0, text="t", excerpted="a"),
        Fold(first=0, last=0, text="t", quotes=("1",)),
    ],
)
def test_an_edit_with_a_field_of_the_wrong_type_ends_in_one_line(edit):
    conversation = Conversation.open("memory:", "edits", budget=1_000)
    conversation.user("Hello, this is a text that may be trimmed.")
    with pytest.raises(InvalidEdit) as error:
        conversation.edit(edit)
    assert "\n" not in str(error.value)
    assert len(conversation.log) == 1


@pytest.mark.parametrize("entry", [3, 10**12, -1])
def test_a_number_beyond_the_log_is_refused_with_the_numbers_that_there_are(entry):
    conv = Conversation.open("memory:", "trip", budget=1_000)
    conv.extend(
        [{"role": "user", "content": "hi"}, {"role": "user", "content": "there"}, {"role": "user", "content": "x"}]
    )
    edits = (
        lambda: conv.pin(entry),
        lambda: conv.undo(entry),
        lambda: conv.edit(Trim(entry=entry, part=("text", 0), note="-")),
        lambda: conv.preview_edit(Trim(entry=entry, part=("text", 0), note="-")),
    )
    for edit in edits:
        known = rf"^\w+: there is no entry {entry} in this log: its entries are 0 to 2"
        with pytest.raises(InvalidEdit, match=known + "(; no edit is live)?$"):
            edit()
    assert len(conv.log) == 3
