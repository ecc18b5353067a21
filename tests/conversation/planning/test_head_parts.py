"""Parts of the head that change with time: asked for when the prefix breaks anyway, and never else."""

from __future__ import annotations

import re

import pytest

from transom import Conversation, Profile
from transom.conversation.render_window import render
from transom.core.entry import Sent
from transom.core.message import Head
from transom.errors import InvalidSetting
from transom.repo_map import RepoMap
from transom.testing import WordCounter
from transom.wire.dialects import DIALECTS, dialect_named

TOOL = {"type": "function", "function": {"name": "read", "parameters": {"type": "object", "properties": {}}}}


class Memory:
    """A part whose text is another one each time."""

    def __init__(self, text="version {}"):
        self.text, self.asked = text, 0

    def __call__(self, view):
        self.asked += 1
        return self.text.format(self.asked)


def opened(part, *, url="memory:", context=400, system="You are careful.", **settings):
    parts = {"memory": part}
    return Conversation.open(
        url, "x", budget=context, counter=WordCounter(), system=system, head_parts=parts, **settings
    )


def system_texts(conv, **settings):
    """The system messages of the next request, which is sent."""
    return [each["content"] for each in conv.request(**settings)["messages"] if each["role"] == "system"]


def answer(conv, number, words=40):
    conv.observe({"role": "assistant", "content": f"answer {number} " + "word " * words})
    conv.user(f"question {number}")


def test_a_part_is_asked_for_at_the_beginning_and_when_a_compaction_breaks_the_prefix():
    memory = Memory()
    with opened(memory) as conv:
        conv.user("question")
        seen = []
        for number in range(24):
            texts = system_texts(conv)
            assert texts[0] == "You are careful."
            (version,) = re.findall(r"^\[system prompt: memory\]\nversion (\d+)$", texts[1])
            seen.append(int(version))
            answer(conv, number)
        breaks = [entry.body.breaks for entry in conv.log if isinstance(entry.body, Sent)]
        changed = [at for at in range(1, 24) if seen[at] != seen[at - 1]]
        assert changed == [at for at, broken in enumerate(breaks) if broken is not None]
        assert len(changed) > 1
        assert memory.asked <= 1 + 2 * len(changed)


def test_a_part_is_kept_when_the_conversation_is_opened_again(tmp_path):
    memory = Memory()
    for number in range(3):
        with opened(memory, url=tmp_path / "a.db") as conv:
            if not number:
                conv.user("question")
            assert system_texts(conv) == ["You are careful.", "[system prompt: memory]\nversion 1"]
            answer(conv, number, 3)
            assert sum(isinstance(entry.body, Head) for entry in conv.log) == 1
    assert memory.asked == 1
    with opened(memory, url=tmp_path / "a.db", system="You are quick.") as conv:
        assert system_texts(conv) == ["You are quick.", "[system prompt: memory]\nversion 2"]
    with Conversation.open(tmp_path / "a.db", "x", budget=400, system=None, counter=WordCounter()) as conv:
        answer(conv, 3, 3)
        assert system_texts(conv) == ["You are quick.", "[system prompt: memory]\nversion 2"], "as it is in the log"


def test_other_tools_break_the_prefix_so_a_part_is_asked_for():
    memory = Memory()
    with opened(memory) as conv:
        conv.user("question")
        assert system_texts(conv)[1].endswith("version 1")
        answer(conv, 0, 3)
        assert system_texts(conv, tools=[TOOL])[1].endswith("version 2")
        answer(conv, 1, 3)
        assert system_texts(conv, tools=[TOOL])[1].endswith("version 2")


def test_a_part_and_a_mode_are_of_one_head():
    memory = Memory()
    profile = Profile(rules="Rules.", tool_policy="Tools.", persona="Ada.")
    with opened(memory, context=4_000) as conv:
        conv.user("question")
        conv.set_mode("chat", profile)
        asked = memory.asked
        first = system_texts(conv)
        assert first == ["Rules.\n\nTools.", f"[system prompt: memory]\nversion {asked + 1}"]
        answer(conv, 0)
        conv.set_mode("agent")
        assert system_texts(conv) == first
        answer(conv, 1)
        conv.set_mode("agent", new_head=True)
        system, part = system_texts(conv)
        assert system == "Rules.\n\nTools.\n\nAda."
        assert part != first[1]
        assert part.endswith(f"version {memory.asked}")


def test_a_fork_has_the_parts_that_were_sent():
    memory = Memory()
    with opened(memory) as conv:
        conv.user("question")
        sent = system_texts(conv)
        answer(conv, 0, 3)
        with conv.fork() as copy:
            assert system_texts(copy) == sent
        assert memory.asked == 1


def test_an_empty_part_is_left_out_and_a_text_is_a_part():
    with opened(lambda _view: None) as conv:
        conv.user("question")
        assert system_texts(conv) == ["You are careful."]
    with opened("always the same") as conv:
        conv.user("question")
        assert system_texts(conv) == ["You are careful.", "[system prompt: memory]\nalways the same"]


def test_a_part_that_has_grown_too_large_stays_as_it_was():
    def growing(view):
        return "small" if not view.sent_tokens else "word " * 1_000

    with opened(growing) as conv:
        conv.user("question")
        for number in range(12):
            assert system_texts(conv)[1] == "[system prompt: memory]\nsmall"
            answer(conv, number)


@pytest.mark.parametrize("name", DIALECTS)
def test_every_dialect_takes_parts(name):
    dialect = dialect_named(name)
    parts = {"memory": Memory(), "repo map": "src/a.py"}
    with Conversation.open(
        "memory:", "x", budget=4_000, counter=WordCounter(), system="Careful.", head_parts=parts, dialect=name
    ) as conv:
        conv.user("question")
        body = render(conv.plan_request(), conv.dialect)
        assert dialect.violations(body) == []
        shown = str(body)
        places = [shown.index(text) for text in ("Careful.", "[system prompt: memory]", "src/a.py")]
        assert places == sorted(places)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (3, "head_parts: must map names to texts or functions, not 3"),
        ({"a]b": "x"}, "head_parts: a name has 1 to 60 characters and no brackets, not 'a]b'"),
        ({"": "x"}, "head_parts: a name has 1 to 60 characters and no brackets, not ''"),
        ({"a": 3}, "head_parts: 'a' must be a text or a function of the view that returns one"),
    ],
)
def test_what_is_no_part_is_refused(parts, message):
    with pytest.raises(InvalidSetting) as raised:
        Conversation.open("memory:", "x", budget=400, head_parts=parts)
    assert str(raised.value) == message


def test_a_function_that_returns_no_text_is_refused():
    with opened(lambda _view: 3) as conv:
        conv.user("question")
        why = "^head_parts: the function for 'memory' must return a text or None, not int$"
        with pytest.raises(InvalidSetting, match=why):
            conv.request()


def test_a_repo_map_follows_the_conversation_when_the_prefix_breaks(tmp_path):
    (tmp_path / "tax.py").write_text("def tax_rate(): ...\n")
    (tmp_path / "mail.py").write_text("def send_mail(): ...\n")
    part = RepoMap(tmp_path).head_part(60)
    with opened(part) as conv:
        conv.user("Which tax rate?")
        first = system_texts(conv)[1].splitlines()
        assert (first[0], first[2]) == ("[system prompt: memory]", "tax.py")
        for number in range(24):
            conv.observe({"role": "assistant", "content": "the mail is sent " + "mail " * 40})
            conv.user(f"Send mail {number}")
            last = system_texts(conv)[1].splitlines()
        assert last[2] == "mail.py"
