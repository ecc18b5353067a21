"""Policies that behave like well-known systems, as these were in mid to late 2026. Their figures scale down in small
windows. Where a system summarises with a model, its policy makes a `RollingRecord` digest without one.

Each docstring describes the system's behaviour first. "Left out" is what the policy does not have; "Different" is what
it does otherwise, on purpose. Where a system acts at a share of the window, the policy acts at that share of the room
beside what must stay (head, first task, newest user message), so that a long system prompt does not make it act at
every call.
"""

from __future__ import annotations

from transom.core.budget import UNLIMITED, Budget
from transom.core.policy import Policy, Strategy
from transom.policies.default import OLD_MEDIA
from transom.policies.last_resort import LAST_RESORT
from transom.strategies.actions.tool_table import PLAN_TOOLS
from transom.strategies.fold.omission import Omit
from transom.strategies.fold.rolling_record import RollingRecord
from transom.strategies.fold.shorten_what_stays import FALLBACKS
from transom.strategies.keep import KeepBest, KeepTools, KeepUsers
from transom.strategies.shorten.forms import Clip, Stub, line, marker
from transom.strategies.shorten.selectors import FreshResults, LargeOldResults, OldResults, Superseded
from transom.strategies.shorten.shorten import Enough, Shorten, Together

READS = ("Read:file_path", "read_file:path", "view:path")
"""Tools that read a file, each with the argument that names it."""


def _masked(old: OldResults) -> Shorten:
    """A strategy that shows each of these old results as one line, all at once (SWE-agent's observation masking)."""
    return Shorten(old, line, "mask", Together(0.0))


_PRUNED = Shorten(LargeOldResults(keep=40_000, preview=20), Stub(20), "stale", Enough(tokens=20_000))

FULL: tuple[Strategy, ...] = (RollingRecord(tail=8_000), *LAST_RESORT)
"""The last resort of most policies, for a window that does not fit: first one large fold with a digest of old turns,
and then `LAST_RESORT`, which leaves turns out without a digest."""

DYNAMIQ = Policy(
    name="dynamiq",
    arrival=(Shorten(FreshResults(characters=7_000), Stub(), "stub"),),
    pressure=(OLD_MEDIA, RollingRecord(tail=10_000)),
    last_resort=FULL,
    trigger=0.8,
)
"""Dynamiq's summarisation (`context_usage_ratio`, `max_preserved_tokens`): results of over 7,000 characters are stored,
with a preview. At 80% of the window the newest 10,000 tokens and the request stay, and the rest becomes one summary.

Left out: chunks (`token_budget_ratio`) and the cap of 64,000 tokens, which have no use here. Different: no summary of a
summary; the request is a message of its own; the window is checked before each call; late results are given.
"""

WEAKINCENTIVES = Policy(
    name="weakincentives",
    arrival=(Shorten(FreshResults(), Clip(tokens=500, unit="bytes", allowance=1.0, header=False), "clip"),),
    pressure=(OLD_MEDIA, Omit(least=0.0)),
    last_resort=LAST_RESORT,
    trigger=1.0,
    target=0.75,
    own_limits=Budget(context=UNLIMITED, max_messages=20),
)
"""weakincentives (`SlidingWindowManager`, `ToolResultTruncator`): 20 messages with the head's, results of 2,000 bytes.

Different: the task stays; calls keep their results, without their middle; a compaction leaves out a quarter of the
messages.
"""

AGENTICLOOP = Policy(
    name="agenticloop",
    keep=(KeepTools(PLAN_TOOLS), KeepUsers(tokens=20_000)),
    arrival=(Shorten(FreshResults(), Clip(tokens=5_000), "clip"),),
    pressure=(OLD_MEDIA, RollingRecord()),
    last_resort=FULL,
    trigger=1.0,
    own_limits=Budget(context=60_000, max_messages=100),
)
"""AgenticLoop (its compaction RFC): results of over 5,000 tokens (× 1.2) keep both ends on arrival. At 60,000 tokens,
at 100 messages or in a full window everything becomes one summary, beside the plan and the user's newest messages of
20,000 tokens.

Left out: marks of aborted turns; their synthetic results are folded with them. Different: a summary keeps what the one
before it had; the task is not the first to be folded; no compaction between two results of one turn.
"""

CREWAGENT = Policy(
    name="crewagent",
    keep=(KeepTools(PLAN_TOOLS), KeepBest(newest=10)),
    arrival=(Shorten(FreshResults(characters=7_000), Stub(), "stub"),),
    pressure=(OLD_MEDIA, RollingRecord(), *FALLBACKS),
    last_resort=LAST_RESORT,
    trigger=0.8,
    target=0.5,
    own_limits=Budget(context=128_000, max_messages=100),
)
"""The crew agent (its unified-context design): results of over 7,000 characters are stored, with a reference. At 80% of
128,000 tokens or at 80 messages the window shrinks to half or less. The 10 newest turns, within a quarter of the room,
and the turns with the best scores stay; the rest becomes a digest. If that is not enough: previews, outlines, and at
the worst the last 4 rounds.

Left out: the limit of 120,000 characters, and the later chain of summaries. Different: a step that does not shrink the
window is not made.
"""

CODEX = Policy(
    name="codex",
    keep=(KeepUsers(tokens=20_000),),
    arrival=(Shorten(FreshResults(), Clip(tokens=2_500, unit="bytes"), "clip"),),
    pressure=(OLD_MEDIA, RollingRecord()),
    last_resort=FULL,
    trigger=0.9,
)
"""Codex (`core/src/compact.rs`): results of over 10,000 bytes (× 1.2) lose their middle on arrival; the marker counts
lines. At 90% everything becomes one hand-over, beside the user's newest messages of 20,000 tokens, the last of which is
shortened.

Different: answered user messages are not new tasks; an image counts what it costs; a compaction that frees little is
not made.
"""

OPENHANDS = Policy(
    name="openhands",
    pressure=(OLD_MEDIA, RollingRecord(first=3, tail=UNLIMITED, tail_share=0.5, last=35)),
    last_resort=FULL,
    trigger=1.0,
    own_limits=Budget(context=UNLIMITED, max_messages=80),
)
"""OpenHands (`LLMSummarizingCondenser(max_size=80, keep_first=4)`): at 80 events, or when the window is full, the
middle becomes one summary; the first 4 (the task and 3 messages) and the newest stay, so that half of the 80 remain.

Left out: the hard reset that clips strings and tries again; the last resort does that. Different: whole turns only, so
fewer than 4 may stay; an earlier summary is made again from the original entries, not summarised again.
"""

CLAUDE_CODE = Policy(
    name="claude_code",
    keep=(KeepTools(PLAN_TOOLS), KeepTools(READS, most=5, tokens=5_000, fraction=0.04)),
    arrival=(Shorten(FreshResults(characters=30_000), Stub(), "stub"),),
    pressure=(OLD_MEDIA, _masked(OldResults(last=3, polling=1, first=0)), RollingRecord(size=8_000, tail=40_000)),
    last_resort=FULL,
    trigger=0.83,
)
"""Claude Code (and `clear_tool_uses`, keep 3, of its API): outputs over 30,000 characters are stored, with
a reference; at the window less 20,000 and 13,000 tokens (83% of 200,000) results are cleared down to 60%, the oldest
first, but not the 3 newest, the plan and the 5 files read last (5,000 tokens each). If that is not enough, one summary
of at most 8,000 tokens takes the place of all but these and the newest 40,000 (at most a quarter of the room).

Left out: the nine headings, skills, and reading files again (what was read stays). Different: a cleared result has a
reference; rules are in the head and are not compacted; compactions do not follow one another.
"""

MANUS = Policy(
    name="manus",
    pressure=(OLD_MEDIA, _masked(OldResults(last=8, polling=1, first=0)), RollingRecord(tail=10_000)),
    last_resort=FULL,
    trigger=0.6,
    target=0.4,
)
"""Manus (its notes on context engineering, 2025): at 60% of the window, before models get worse with length, tool
results become short references, the oldest first and the 8 newest never. That is reversible. If it is not enough, one
summary of all but the newest 10,000 tokens brings the window down to 40%.

Left out: masking of tools (the caller's), files as memory, compact arguments, the summary's schema.
"""

OPENCODE = Policy(
    name="opencode",
    keep=(KeepTools(("skill",)),),
    pressure=(OLD_MEDIA, _PRUNED, RollingRecord(size=4_096, tail=15_000)),
    last_resort=FULL,
    trigger=0.85,
)
"""opencode (`PRUNE_PROTECT`, `PRUNE_MINIMUM`): tool results older than the newest 40,000 tokens of results are pruned,
as many as needed, if at least 20,000 tokens can be freed and that is enough. Otherwise a summary of at most 4,096
tokens takes the place of all but the newest 15,000 tokens (at most a quarter of the room), the last user message and
the newest `skill`. It acts at 85% (there: the window less the output and 20,000).

Left out: the eight headings, and older `skill`s. Different: it prunes under pressure only, which keeps the cache.
"""

AIDER = Policy(
    name="aider",
    pressure=(OLD_MEDIA, RollingRecord(size=4_096, share=0.125, tail=4_096, tail_share=0.125, rounds=1, least=0.06)),
    last_resort=FULL,
    trigger=0.25,
    target=0.1,
    own_limits=Budget(context=32_768),
)
"""aider (`ChatSummary`, `max_chat_history_tokens`): the current turn, from the newest user message on, stays whole.
When it and the history before it reach 8,192 tokens (a quarter of the room in windows under 32,768), the older part of
the history becomes a summary, of at most half of these tokens and at most half of what it frees. The newest part of the
history, at most half of these tokens, stays.

Left out: the repository map, which is the caller's head, and the smaller budget of middling windows, a sixteenth.
Different: no finished message is dropped because the summariser is full, and a current turn that fills the window is
folded.
"""

SWE_AGENT = Policy(
    name="swe_agent",
    arrival=(Shorten(FreshResults(), Clip(tokens=25_000, unit="bytes", allowance=1.0), "clip"),),
    pressure=(_masked(OldResults(last=5, polling=10)), Shorten(Superseded(), marker, "superseded", Together(0.0))),
    last_resort=FULL,
    trigger=0.0,
    target=0.0,
)
"""SWE-agent (`last_n_observations`, n 5): at each call, even if the window is not full, all tool results but the first
and the last 5 show as one line. They are changed 10 at a time, to spare the cache. When a file window is opened again,
the older result of it is closed. Results keep at most 100,000 bytes on arrival.

Left out: tags (`OldResults.tools` names tools whose results stay). Different: a full window is folded; there it ends
the run.
"""

LETTA = Policy(
    name="letta",
    pressure=(OLD_MEDIA, RollingRecord(share=0.1, tail=UNLIMITED, tail_share=0.7)),
    last_resort=FULL,
    trigger=0.9,
)
"""Letta (`sliding_window_percentage` 0.3): at 90%, the newest 70% of the window stay, and everything older becomes one
summary of at most a tenth of it.

Left out: memory blocks (the caller's head), lookup hints, and steps of 10%. Different: results count what they cost.
"""
