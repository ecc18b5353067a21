"""Whose conversation a log is: its first entry says it, for ever."""

import pytest

import transom
from transom import Conversation
from transom.conversation.settings import Settings
from transom.core.log import Owner, owner_of
from transom.errors import InvalidSetting
from transom.memory import Memory
from transom.providers.scripted import Scripted, call
from transom.stores import open_store

BUDGET = 4_000


def opened(store, name, **settings):
    return transom.Conversation.open(store, name, budget=BUDGET, **settings)


@pytest.mark.parametrize("place", ["memory:", "agent.db", "logs/"])
def test_the_first_entry_has_the_owner_and_no_other_entry(place, tmp_path):
    store = open_store(place if place == "memory:" else f"{tmp_path}/{place}")
    with opened(store, "trip", user_id="ann", session_id="monday") as conv:
        assert (conv.user_id, conv.session_id) == ("ann", "monday")
        conv.user("hello")
        conv.request()
    with opened(store, "trip") as again:
        again.user("more")
        assert (again.user_id, again.session_id) == ("ann", "monday")
        owners = [(entry.meta.user_id, entry.meta.session_id) if entry.meta else None for entry in again.log.read()]
    assert owners == [("ann", "monday"), *[None] * (len(owners) - 1)]


def test_a_request_may_come_first():
    with opened("memory:", "trip", user_id="ann", system="Be brief.") as conv:
        conv.request()
        assert owner_of(conv.log) == Owner("ann")


def test_another_user_cannot_open_it():
    store = open_store("memory:")
    with opened(store, "trip", user_id="ann", session_id="monday") as conv:
        conv.user("hello")
    with pytest.raises(transom.InvalidSetting) as caught:
        opened(store, "trip", user_id="bob")
    expected = "conversation 'trip' belongs to another user_id: it stays what its first entry says"
    assert str(caught.value) == expected
    with pytest.raises(transom.InvalidSetting, match="belongs to another session_id"):
        opened(store, "trip", user_id="ann", session_id="tuesday")
    opened(store, "trip", user_id="ann").close()


def test_a_conversation_of_nobody_stays_nobodys():
    store = open_store("memory:")
    with opened(store, "trip") as conv:
        conv.user("hello")
        assert (conv.user_id, conv.session_id) == ("", "")
    with pytest.raises(transom.InvalidSetting, match="began without a user_id"):
        opened(store, "trip", user_id="ann")


def test_settings_keep_the_id_that_is_not_changed():
    settings = Settings.of(user_id="ann", session_id="monday")
    assert settings.changed(session_id="tuesday").owner == Owner("ann", "tuesday")
    assert Settings.of(settings, user_id="bob").owner == Owner("bob", "monday")
    with opened("memory:", "trip", settings=Settings.of(user_id="ann"), session_id="monday") as conv:
        assert (conv.user_id, conv.session_id) == ("ann", "monday")


def test_of_two_who_begin_it_at_once_the_second_is_refused():
    store = open_store("memory:")
    first, second = opened(store, "trip", user_id="ann"), opened(store, "trip", user_id="bob")
    first.user("mine")
    with pytest.raises(transom.InvalidSetting, match="belongs to another user_id"):
        second.user("no, mine")
    assert len(store.open("trip")) == 1


def test_a_sub_agent_works_for_the_same_user():
    store = open_store("memory:")
    child = Scripted("done")
    main = Scripted(call("helper", task="look"), "all done")
    with opened(store, "trip", user_id="ann", session_id="monday") as conv:
        conv.run("go", provider=main, tools=[transom.SubAgent("helper", "Helps.", provider=child)])
    assert [owner_of(store.open(name)) for name in store.names()] == [Owner("ann", "monday")] * 2


@pytest.mark.parametrize("given", [{"user_id": ""}, {"user_id": 3}, {"session_id": ""}])
def test_an_owner_is_a_text(given):
    with pytest.raises(transom.InvalidSetting, match="must be a text of at least one character"):
        opened("memory:", "trip", **given)


def test_memory_of_another_user_is_refused():
    store = open_store("memory:")
    ana = Memory.open(store, user_id="ana")
    ana.add_block("human", text="the code of the safe is 4711")
    shared = Memory.open(store)
    shared.add_block("team", text="we deploy on Mondays")
    given = {"state": ana.state(), "head_parts": {"memory": ana.head_part()}}
    for what, value in given.items():
        key = next(iter(value))
        for user, of in (("bob", "user 'bob'"), (None, "no user")):
            with pytest.raises(InvalidSetting) as caught:
                Conversation.open(store, f"{what} {user}", budget=32_000, user_id=user, **{what: value})
            assert str(caught.value) == f"{what}: '{key}' belongs to user 'ana', this conversation to {of}"
    with Conversation.open(store, "of bob", budget=32_000, user_id="bob", state=shared.state()) as bob:
        bob.user("hello")
        for refused in (lambda: setattr(bob, "state", ana.state()), lambda: bob.request(state=ana.state())):
            with pytest.raises(InvalidSetting, match="'memory human' belongs to user 'ana'"):
                refused()
        text = str(bob.request())
        assert ("we deploy on Mondays" in text, "4711" in text) == (True, False)
    with Conversation.open(store, "of ana", budget=32_000, user_id="ana", **given) as own:
        own.user("hello")
        assert str(own.request()).count("4711") == 2
