"""Truncation on arrival: by tokens, by bytes or not at all; and what was read back is never cut again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom import Budget, Conversation, Policy, texts
from transom.conversation.render_window import render
from transom.core.edit import Trim
from transom.core.message import Media, Text, ToolResult
from transom.core.trims import apply_trim
from transom.errors import InvalidSetting
from transom.policies.last_resort import LAST_RESORT
from transom.strategies.shorten.forms import TOKEN_BYTES, Clip, Stub
from transom.strategies.shorten.selectors import FreshResults, LargeOldResults
from transom.strategies.shorten.shorten import Enough, Shorten
from transom.testing.builders import image
from transom.testing.fakes import FakeClock, WordCounter
from transom.texts import READ_BACK

WORDS = WordCounter()


def clipped(**settings):
    return Shorten(FreshResults(), Clip(**settings), "clip")


def stubbed(**settings):
    return Shorten(FreshResults(**settings), Stub(), "stub")


def opened(*arrival, context=1_000_000, pressure=(), trigger=0.95):
    policy = Policy(name="test", arrival=arrival, pressure=pressure, last_resort=LAST_RESORT, trigger=trigger)
    budget = Budget(context=context)
    conv = Conversation.open("memory:", "t", budget=budget, policy=policy, counter=WORDS, clock=FakeClock())
    conv.user("go")
    return conv


def ran(conv, *parts, tool="sh", label="x"):
    """One call and its result; the result's number."""
    function = {"name": tool, "arguments": "{}"}
    conv.observe(
        {"role": "assistant", "content": None, "tool_calls": [{"id": label, "type": "function", "function": function}]}
    )
    return conv.append(ToolResult(call=label, parts=tuple(Text(p) if isinstance(p, str) else p for p in parts)))


def shown(clip, *parts):
    """The parts of a result as the next window shows them."""
    conv = opened(clip)
    entry = ran(conv, *parts)
    conv.plan_request()
    unit = conv.view.unit(conv.view.unit_of[entry])
    return unit.shown_facts()[1].parts


def text_of(clip, text):
    (part,) = shown(clip, text)
    return part.text


ROWS = "\n".join(f"row {n:06}" for n in range(3_000))


def test_half_from_the_start_and_half_from_the_end_around_the_marker():
    text = text_of(clipped(tokens=1_000), ROWS)
    first, marker, last = (
        text.partition("\n[…")[0],
        text[text.index("\n[…") :].partition("]\n")[0],
        text.rpartition("]\n")[2],
    )
    assert ROWS.startswith(first)
    assert ROWS.endswith(last)
    assert abs(len(first) - len(last)) < 0.2 * len(first)
    gone = WORDS.count(ROWS) - (WORDS.count(text) - WORDS.count(f"{marker}]\n"))
    assert f"{marker}]\n" == texts.clip_marker("entry 2", gone, 3_000), "what is really gone"
    assert 900 < WORDS.count(text) <= 1_000


def test_a_fifth_more_is_allowed_for_serialisation():
    clip = clipped(tokens=1_000)
    whole = "x" * 4 * 1_200
    assert text_of(clip, whole) == whole
    assert WORDS.count(text_of(clip, whole + "y")) <= 1_000
    assert WORDS.count(text_of(clipped(tokens=1_000, allowance=1.0), whole)) <= 1_000


def test_the_total_of_lines_is_optional():
    assert " of 3,000 lines; whole in entry 2]" in text_of(clipped(tokens=1_000), ROWS)
    bare = text_of(clipped(tokens=1_000, header=False), ROWS)
    assert "lines" not in bare
    assert "tokens truncated; whole in entry 2]" in bare
    assert "lines" not in text_of(clipped(tokens=1_000), "x" * 40_000)


def test_none_clips_nothing():
    assert text_of(clipped(tokens=10, unit="none"), ROWS) == ROWS
    assert text_of(clipped(tokens=10), ROWS) != ROWS


def test_another_unit_is_refused():
    with pytest.raises(InvalidSetting, match="must be tokens, bytes or none, not 'lines'"):
        clipped(unit="lines")


CHARACTERS = st.text(st.sampled_from("ab \n汉👩é\u0301\ud83d"), min_size=1, max_size=60)


@given(CHARACTERS, st.integers(1, 60), st.integers(20, 400), st.booleans())
def test_bytes_are_a_limit_and_no_character_is_cut(piece, times, tokens, header):
    whole, clip = piece * times * 20, clipped(tokens=tokens, unit="bytes", header=header)
    cap, size = tokens * TOKEN_BYTES, len(whole.encode("utf-8", "replace"))
    text = text_of(clip, whole)
    if size <= cap * clip.form.allowance:
        assert text == whole
        return
    assert len(text.encode("utf-8", "replace")) <= cap
    start, _, rest = text.partition("\n[…")
    end = rest.partition("whole in entry 2]\n")[2]
    assert text == "[entry 2]" or (whole.startswith(start) and whole.endswith(end) and f"{start}{end}")


def test_bytes_and_tokens_are_counted_apart():
    """CJK by this counter: four characters a token, three bytes a character."""
    whole = "汉" * 4_000
    assert text_of(clipped(tokens=1_000), whole) == whole
    cut = text_of(clipped(tokens=1_000, unit="bytes"), whole)
    assert 3_500 < len(cut.encode()) <= 4_000
    gone = 1_000 - cut.count("汉") // 4
    assert abs(int(cut.partition("[…")[2].partition(" tokens")[0]) - gone) <= 1


@pytest.mark.parametrize("unit", ["tokens", "bytes"])
def test_parts_share_one_budget_and_images_stay(unit):
    clip = clipped(tokens=1_000, unit=unit)
    parts = shown(clip, "short", "a" * 30_000, image(), "b" * 50_000, "")
    assert parts[0] == Text("short")
    assert isinstance(parts[2], Media)
    assert parts[2] == image()
    assert parts[4] == Text("")
    long = [WORDS.count(parts[1].text), WORDS.count(parts[3].text)]
    assert all("tokens truncated; whole in entry 2]" in parts[at].text for at in (1, 3))
    assert sum(long) + 2 <= 1_000
    assert min(long) > 450, "the long ones share what the short ones leave"


def test_many_parts_that_are_small_alone_are_cut_together():
    parts = shown(clipped(tokens=1_000), *(["x" * 400] * 20))
    assert sum(WORDS.count(part.text) for part in parts) <= 1_000
    assert shown(clipped(tokens=2_000), *(["x" * 400] * 20)) == tuple([Text("x" * 400)] * 20)


def test_small_windows_clip_earlier():
    conv = opened(clipped(), context=2_000)
    ran(conv, "x" * 4_000)
    assert WORDS.count(render(conv.plan_request())["messages"][-1]["content"]) <= 500


@pytest.mark.parametrize("tool", sorted(READ_BACK))
@pytest.mark.parametrize("arrival", [clipped(tokens=100), clipped(tokens=100, unit="bytes"), stubbed(characters=100)])
def test_what_is_read_back_is_not_offloaded_again(arrival, tool):
    conv = opened(arrival)
    ran(conv, ROWS, tool=tool)
    assert render(conv.plan_request())["messages"][-1]["content"] == ROWS
    ran(conv, ROWS, tool=f"my_{tool}", label="y")
    assert len(render(conv.plan_request())["messages"][-1]["content"]) < 2_000


def test_a_read_back_beside_other_calls_is_left_alone_and_they_are_not():
    conv = opened(clipped(tokens=100))
    calls = [
        {"id": label, "type": "function", "function": {"name": name, "arguments": "{}"}}
        for label, name in (("a", "sh"), ("b", "transom_read"), ("c", "sh"))
    ]
    conv.observe({"role": "assistant", "content": None, "tool_calls": calls})
    for label in ("c", "b", "a"):
        conv.tool_result(label, ROWS)
    lengths = {
        message["tool_call_id"]: len(message["content"]) for message in render(conv.plan_request())["messages"][2:]
    }
    assert lengths["b"] == len(ROWS)
    assert max(lengths["a"], lengths["c"]) < 1_000


def test_a_stale_read_back_is_not_stubbed():
    """It is the newer of the two, so that it would be the first to go."""
    conv = opened(
        context=12_000, pressure=(Shorten(LargeOldResults(keep=100), Stub(60), "stale", Enough(tokens=1)),), trigger=0.5
    )
    gone = ran(conv, "s" * 12_000, tool="sh", label="s")
    kept = ran(conv, "r" * 12_000, tool="transom_read", label="r")
    for number in range(3):
        ran(conv, "x" * 3_000, label=f"x{number}")
        conv.plan_request()
    cut = [entry.body for entry in conv.log.read() if isinstance(entry.body, Trim)]
    assert gone in [trim.entry for trim in cut]
    assert kept not in [trim.entry for trim in cut]
    assert {trim.why for trim in cut} == {"stale"}


def test_a_read_back_that_does_not_fit_is_still_made_to_fit():
    """Never offloaded is not never cut: the limit comes first."""
    conv = opened(clipped(), context=1_000)
    entry = ran(conv, ROWS, tool="transom_read")
    window = conv.plan_request()
    assert window.tokens <= 1_000
    trims = [seen.body for seen in conv.log.read() if isinstance(seen.body, Trim) and seen.body.entry == entry]
    assert [trim.why for trim in trims] == ["elide"]
    assert len(apply_trim(Text(ROWS), trims[0]).text) < len(ROWS)
