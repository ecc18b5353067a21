"""What `compact` says of the summary that it was asked for, and of one that failed."""

from __future__ import annotations

from typing import Any

import pytest

import transom
from transom.conversation.runs.own_tools import CONTEXT_MANAGER
from transom.errors import InvalidSetting
from transom.providers.scripted import Fault, Scripted, call
from transom.testing import WordCounter

ANSWER = "## User intent\n- the harbour of Lisbon has a crane"
WORDS = "The harbour of Lisbon has a crane with the number {}, which lifts containers from the ship MV-{}. "


def conversation(summarizer: object, turns: int = 8, policy: str = "summary") -> transom.Conversation:
    conv = transom.Conversation.open(
        "memory:", "c", budget=20_000, policy=policy, counter=WordCounter(), system="Brief.", summarizer=summarizer
    )
    for number in range(turns):
        conv.user(f"Question {number}? " + "".join(WORDS.format(number, n) for n in range(8)))
        conv.request()
        conv.observe({"role": "assistant", "content": "".join(WORDS.format(number, n) for n in range(8, 16))})
    return conv


@pytest.mark.parametrize(
    ("provider", "why"),
    [
        (Scripted(then=Fault(kind="auth", status=401)), "auth"),
        (Scripted(then=Fault(kind="server", status=500)), "server"),
        (Scripted(then="It rains."), ""),
    ],
    ids=["401", "500", "nonsense"],
)
def test_a_model_that_fails_is_told(provider: Scripted, why: str) -> None:
    with conversation(provider) as conv:
        done = conv.compact(focus="the crane")
        assert done.failure.startswith("scripted:scripted: ")
        assert why in done.failure
        assert "\n" not in done.failure
        assert done.edits
        assert (done.summary, conv.summary) == (None, None)


def test_a_server_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with conversation("openai:gpt-5-mini@http://127.0.0.1:9/v1") as conv:
        done = conv.compact()
        assert done.failure.startswith("openai:gpt-5-mini: ")
        assert done.summary is None


def test_a_compaction_without_a_model_keeps_notes() -> None:
    with conversation(None) as conv:
        done = conv.compact(notes="Door code 4711.")
        assert (done.failure, done.degraded) == ("", True)
        assert conv.summary.notes == ("Door code 4711.",)
        assert "Door code 4711." in str(transom.render(conv.window()))


def test_a_compaction_without_a_model_or_notes_makes_a_record_alone() -> None:
    with conversation(None) as conv:
        done = conv.compact()
        assert (done.failure, done.summary) == ("", None)
        assert done.edits


def test_a_policy_without_summaries_keeps_no_notes_and_says_so() -> None:
    with conversation(None, policy="default") as conv, pytest.raises(InvalidSetting, match="policy default makes none"):
        conv.compact(notes="Door code 4711.")
    with conversation(Scripted(then=ANSWER), policy="default") as conv:
        done = conv.compact(notes="Door code 4711.")
        assert done.edits
        assert done.failure.startswith("no summary was made, because policy default has none in this compaction;")
        assert 'use policy "summary"' in done.failure
    with conversation(Scripted(then=ANSWER), turns=1, policy="default") as conv:
        done = conv.compact(notes="Door code 4711.")
        assert not done.edits
        assert done.failure.startswith("no summary was made, because a compaction now would fold nothing;")


@pytest.mark.parametrize("model", ["openai:gpt-5-mini", Scripted(then=ANSWER)], ids=["name", "provider"])
def test_a_model_in_the_place_of_a_summarizer_is_told_its_place(model: object) -> None:
    with pytest.raises(InvalidSetting, match="a model that writes summaries is SummarySettings\\(provider=…\\)"):
        transom.SummarySettings(summarizer=model)  # type: ignore[arg-type]


def test_a_focus_beside_notes_without_a_model_is_told() -> None:
    with conversation(None) as conv:
        done = conv.compact(focus="the crane", notes="Door code 4711.")
        assert done.failure.startswith("the focus was not used: no model makes summaries here")
        assert conv.summary.notes == ("Door code 4711.",)


def test_a_focus_without_a_model_is_told() -> None:
    with conversation(None) as conv:
        done = conv.compact(focus="the crane")
        assert done.failure.startswith("the focus was not used: no model makes summaries here")
        assert done.edits


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"focus": 5}, "focus: must be a text, not int"),
        ({"focus": "x" * 20_001}, "focus: may have 20,000 characters, not 20,001"),
        ({"notes": ["x" * 15_000, "y" * 5_001]}, "notes: may have 20,000 characters, not 20,001"),
    ],
)
def test_a_focus_and_notes_are_texts_of_a_bounded_length(given: dict, why: str) -> None:
    with conversation(None, turns=1) as conv, pytest.raises(InvalidSetting, match=f"^{why}"):
        conv.compact(**given)


def test_an_unknown_summarizer_is_told_what_it_may_be() -> None:
    with pytest.raises(InvalidSetting, match=r'^summarizer: must be "run", a model as provider:model, '):
        conversation("nope")


def test_a_summarizers_model_without_a_key_is_told_that_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InvalidSetting, match=r"^summarizer: provider openai: set OPENAI_API_KEY"):
        conversation("openai:gpt-5-mini")


@pytest.mark.parametrize("given", [{"notes": "Door code 4711."}, {"focus": "the crane"}])
def test_a_focus_or_a_note_that_no_summary_takes_is_told(given: dict) -> None:
    with conversation(Scripted(then=ANSWER), turns=1) as conv:
        length = conv.view.length
        done = conv.compact(**given)
        assert (done.edits, done.summary) == ((), None)
        assert done.failure.startswith("no summary was made, because ")
        assert conv.view.length == length


def test_a_focus_that_changes_nothing_is_told() -> None:
    with conversation(Scripted(then=ANSWER)) as conv:
        while conv.compact().edits:
            pass
        conv.compact(notes="Door code 4711.")
        before = conv.summary
        done = conv.compact(focus="the crane")
        assert (done.edits, done.summary) == ((), None)
        assert done.failure.startswith("the new summary would say the same")
        assert conv.summary == before


def test_a_note_outlives_a_degraded_summary() -> None:
    with conversation(Scripted(then="It rains.")) as conv:
        assert conv.compact(notes="Door code 4711.").degraded
        for number in range(6):
            conv.user(f"Question {number}? " + "".join(WORDS.format(number, n) for n in range(40)))
            conv.request()
            conv.observe({"role": "assistant", "content": "Yes."})
        first = conv.summary
        conv.compact()
        assert conv.summary != first
        assert conv.summary.notes == ("Door code 4711.",)


def test_the_model_is_told_that_its_summary_failed() -> None:
    with conversation(Scripted(then=Fault(kind="auth", status=401))) as conv:
        provider = Scripted(call("context_manager", notes="Door code 4711."), "Done.")
        conv.budget = 4_000
        conv.run("Go on.", provider=provider, tools=[CONTEXT_MANAGER])
        asked = str(provider.requests[-1])
        assert "older turns are compacted" in asked
        assert "[the summary is not as you asked: scripted:scripted: auth (401)" in asked


@pytest.mark.parametrize("given", ["nope", 5, "openai:"])
def test_the_provider_of_summary_settings_is_checked_when_it_is_given(given: object) -> None:
    with pytest.raises(InvalidSetting, match=r"^summarizer: provider: must be "):
        transom.SummarySettings(provider=given)


def test_a_long_focus_is_asked_for_whole() -> None:
    provider, focus = Scripted(then="It rains."), "the crane of pier nine " * 100
    with conversation(provider) as conv:
        conv.compact(focus=focus)
        assert " ".join(focus.split()) in str(provider.requests[0])


def test_a_note_stays_where_there_is_little_to_summarise() -> None:
    with conversation(None, turns=3) as conv:
        note = "Door code 4711; the key is with the harbour master, behind the second crane, until Monday noon."
        done = conv.compact(notes=note)
        assert done.failure == ""
        assert conv.summary.notes == (note,)
        assert note in conv.summary.text


class Meanwhile(Scripted):
    """The model of a summary, and what happens while it is at work."""

    def complete(self, request: Any, **settings: Any) -> Any:
        self.meanwhile()
        return super().complete(request, **settings)


def test_a_run_that_begins_while_a_summary_is_made_gets_no_edits_between_request_and_reply() -> None:
    model = Meanwhile(then=ANSWER)
    with conversation(model) as conv:
        run = conv.stream("Go on.", provider=Scripted("Yes."))
        model.meanwhile = lambda: next(run)
        with pytest.raises(InvalidSetting, match=r"^compact: a run of this conversation began while the summary was"):
            conv.compact(focus="the crane")
        assert conv.summary is None
        list(run)
        assert list(conv.view.live_edits) == []
        model.meanwhile = lambda: None
        assert conv.compact(focus="the crane").edits
