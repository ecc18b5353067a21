"""A summary of turns that are folded already is made: for a note, for a focus, and where the model had failed."""

from __future__ import annotations

import pytest
from test_summary_scheduler import NowPool

import transom
from transom.core.edit import Undo
from transom.core.message import Failure
from transom.core.summary import Summary
from transom.providers.scripted import Fault, Scripted
from transom.strategies.summary.when_to_summarise import WHY
from transom.testing import WordCounter

WORDS = "The harbour of Lisbon has a crane with the number {}, which lifts containers from the ship MV-{}. "
ANSWER = "## intent\n- the crane of Lisbon\n## progress\n- [done] containers of the ship MV-1 were lifted"
BROKEN = Fault(kind="server", status=500)


def turns(conv: transom.Conversation, numbers: range, words: int = 8) -> None:
    for number in numbers:
        conv.user(f"Question {number}? " + "".join(WORDS.format(number, n) for n in range(words)))
        conv.request()
        conv.observe(
            {"role": "assistant", "content": "".join(WORDS.format(number, n) for n in range(words, 2 * words))}
        )


def compacted(policy: str, provider: Scripted, budget: int = 20_000) -> transom.Conversation:
    """A conversation whose window has just been compacted, so that nothing is left to fold."""
    conv = transom.Conversation.open(
        "memory:", "c", budget=budget, policy=policy, counter=WordCounter(), system="Brief.", summarizer=provider
    )
    turns(conv, range(16))
    conv.compact()
    while conv.compact().edits:
        pass
    return conv


def shown(conv: transom.Conversation) -> str:
    return str(transom.render(conv.window()))


def summaries(conv: transom.Conversation) -> list[Summary]:
    return [entry.body for entry in conv.log.read() if isinstance(entry.body, Summary)]


POLICIES = pytest.mark.parametrize("policy", ["summary", "codex"])


@POLICIES
@pytest.mark.parametrize("given", [{"notes": "Door code 4711."}, {"focus": "the ship"}], ids=["note", "focus"])
def test_a_note_or_a_focus_makes_the_summary_again_from_its_sources(policy: str, given: dict) -> None:
    again = ANSWER + "\n- [done] the door was opened on Monday, as everybody had hoped"
    provider = Scripted(then=lambda body: again if "Door code" in str(body) or "concerns this" in str(body) else ANSWER)
    with compacted(policy, provider) as conv:
        before, first = transom.render(conv.window()), conv.summary
        assert first is not None
        done = conv.compact(**given)
        assert done.failure == ""
        assert done.edits
        assert conv.summary.last == first.last
        assert conv.summary.prior == first.prior
        assert conv.summary.notes == tuple(filter(None, [given.get("notes")]))
        assert "the door was opened" in shown(conv)
        assert sum(getattr(slot, "why", "") == WHY for slot in conv.view.slots) == 1
        conv.undo()
        assert transom.render(conv.window()) == before
        assert conv.summary == first


@POLICIES
def test_a_summary_that_failed_is_made_when_the_model_is_there(policy: str) -> None:
    steps = [BROKEN] * 2
    provider = Scripted(then=lambda body: steps.pop() if steps else ANSWER)
    conv = transom.Conversation.open(
        "memory:", "c", budget=20_000, policy=policy, counter=WordCounter(), system="Brief.", summarizer=provider
    )
    with conv:
        turns(conv, range(16))
        assert any(conv.compact().failure for _ in range(9))
        assert conv.summary is None
        done = conv.compact()
        assert (done.failure, done.degraded) == ("", False)
        assert conv.summary.made_by == "scripted:scripted"
        assert conv.summary.prior is None
        assert "the crane of Lisbon" in shown(conv)
        assert "Question 0?" in str(provider.requests[-1])


def test_the_next_compaction_makes_a_summary_that_failed() -> None:
    steps = [BROKEN] * 2
    provider = Scripted(then=lambda body: steps.pop() if steps else ANSWER)
    conv = transom.Conversation.open(
        "memory:", "c", budget=6_000, policy="codex", counter=WordCounter(), system="Brief.", summarizer=provider
    )
    with conv:
        number = 0
        while conv.summary is None:
            turns(conv, range(number, number + 1))
            number += 1
            assert number < 60
        assert conv.summary.prior is None
        assert all(f"Question {n}?" in str(provider.requests[2:]) for n in range(number // 2))
        assert "the crane of Lisbon" in shown(conv)


@pytest.mark.parametrize("given", [{"notes": "Door code 4711."}, {"focus": "the ship"}], ids=["note", "focus"])
def test_a_model_that_fails_does_not_replace_its_own_summary_by_codes(given: dict) -> None:
    steps = [ANSWER]
    provider = Scripted(then=lambda body: steps[0])
    with compacted("summary", provider) as conv:
        before, first = transom.render(conv.window()), conv.summary
        steps[0] = BROKEN
        done = conv.compact(**given)
        assert done.failure.endswith("the summary before stays, without this focus and these notes")
        assert (done.edits, done.summary) == ((), None)
        assert transom.render(conv.window()) == before
        assert conv.summary == first
        assert sum(isinstance(entry.body, Failure) for entry in conv.log.read()) == 1


def test_a_longer_summary_takes_the_place_of_a_shorter_one_in_its_fold() -> None:
    items = ["the crane of Lisbon"]
    provider = Scripted(then=lambda body: "## intent\n" + "\n".join(f"- {one}" for one in items))
    with compacted("codex", provider) as conv:
        items += ["the ship MV-1 in the harbour of Lisbon, with containers"]
        start = conv.view.length
        conv.compact(focus="ships")
        made = [entry.body for entry in list(conv.log.read())[start:]]
        assert any(isinstance(body, Undo) for body in made)
        assert items[1] in shown(conv)
        (fold,) = [slot for slot in conv.view.slots if getattr(slot, "why", "") == WHY]
        assert fold.text.startswith(conv.summary.text)


def test_a_note_that_has_no_room_is_told() -> None:
    with compacted("summary", Scripted(then=ANSWER), budget=6_000) as conv:
        done = conv.compact(notes=["Door code 4711.", "much to remember " * 400])
        assert done.failure == "1 of 2 notes are not in the summary: it has no room for them"
        assert conv.summary.notes == ("Door code 4711.",)


def test_a_record_stays_to_the_letter_when_its_summary_leaves() -> None:
    conv = transom.Conversation.open(
        "memory:",
        "c",
        budget=9_000,
        policy="summary",
        counter=WordCounter(),
        system="Brief.",
        summarizer=transom.SummarySettings(provider=Scripted(then=ANSWER), pool=NowPool()),
    )
    with conv:
        left = layers = 0
        before: dict[tuple[int, int], str] = {}  # by the turns they stand for; a merged record is another one
        for number in range(120):
            turns(conv, range(number, number + 1), words=4)
            slots = [slot for slot in conv.view.slots if hasattr(slot, "why")]
            is_one_more, layers = len(slots) > layers, len(slots)
            for slot in slots if is_one_more else ():
                if slot.why != WHY and (slot.first, slot.last) in before:
                    left += 1
                    assert before[slot.first, slot.last].endswith("\n" + slot.text)
            before = {(slot.first, slot.last): slot.text for slot in slots if slot.why == WHY}
        assert left >= 2


def test_a_summary_that_comes_late_does_not_replace_a_newer_one_of_more_turns(tmp_path) -> None:
    """Another process makes the newer one while the first waits for its model."""
    place, others = str(tmp_path / "log.db"), list[transom.Conversation]()

    def answer(body: dict) -> str:
        if not others:
            others.append(opened(Scripted(then=ANSWER + "\n- [done] MV-2 has left the harbour, with all of its load")))
            turns(others[0], range(16, 30))
            others[0].compact()
        return ANSWER

    def opened(provider: Scripted) -> transom.Conversation:
        return transom.Conversation.open(
            place, "c", budget=20_000, policy="summary", counter=WordCounter(), system="Brief.", summarizer=provider
        )

    with opened(Scripted(then=answer)) as conv:
        turns(conv, range(10))
        done = conv.compact(notes="Door code 4711.")
        newest = others[0].summary
        assert [one.last for one in summaries(conv)] == [newest.last]
        assert conv.summary == newest
        assert done.failure == "a newer summary was made meanwhile, which stays"
        others[0].close()


@pytest.mark.parametrize("policy", ["codex", "letta", "openhands", "opencode", "summary"])
def test_notes_stay_in_the_window_whatever_is_compacted_later(policy: str) -> None:
    with compacted(policy, Scripted(then=ANSWER)) as conv:
        conv.compact(notes="Door code 4711.")
        for number in range(16, 20):
            conv.user(f"More {number}")
            conv.observe({"role": "assistant", "content": "Yes."})
            conv.compact()
            assert "Door code 4711." in shown(conv)


@pytest.mark.parametrize("policy", ["codex", "letta", "openhands", "opencode", "summary"])
def test_notes_are_in_the_window_where_the_model_fails(policy: str) -> None:
    conv = transom.Conversation.open(
        "memory:", "c", budget=100_000, policy=policy, counter=WordCounter(), summarizer=Scripted(then=BROKEN)
    )
    with conv:
        turns(conv, range(12))
        done = conv.compact(notes="Door code 4711.")
        assert done.failure.startswith("scripted:scripted: server")
        assert "Door code 4711." in shown(conv)
