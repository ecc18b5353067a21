"""Systems as their users know them, on this engine. Figures are of mid to late 2026 and scale down with small windows;
each docstring says what is left out. Where they summarise with a model, here is a `Rolling` digest.

A share of the window at which one acts is of the room beside what must stand (head, first task, newest user message),
so that a long system prompt does not make it act at every call; `KeepUsers` has 15% of other limits, as of messages.
"""

from __future__ import annotations

from transom.core.budget import UNLIMITED, Budget
from transom.core.policy import Policy, Strategy
from transom.policies.plain import LADDER, PLANS
from transom.strategies.arrival import Clip, Stub
from transom.strategies.dedupe import Superseded
from transom.strategies.elide import DropMedia
from transom.strategies.keepers import KeepTools, KeepUsers
from transom.strategies.key_messages import KEY_STEPS, KeepKey
from transom.strategies.observation_masking import Mask
from transom.strategies.omission import Omit
from transom.strategies.rolling_digest import Rolling
from transom.strategies.stale_results import StubStale

READS = ("Read:file_path", "read_file:path", "view:path")


MEDIA = DropMedia(old=True)
"""First of all, where there are too many images or bytes."""

FULL: tuple[Strategy, ...] = (Rolling(tail=8_000), *LADDER)
"""When a window is full all the same: one deep fold that keeps the digest, before the ladder would leave it out."""

DYNAMIQ = Policy(
    name="dynamiq", arrival=(Stub(characters=7_000),), pressure=(MEDIA, Rolling(tail=10_000)), hard=FULL, trigger=0.8
)
"""Dynamiq's summarisation (`context_usage_ratio`, `max_preserved_tokens`): outputs over 7,000 characters are stored,
with a preview; at 80% of the window the newest 10,000 tokens and the request stay, and the rest becomes one summary.

Left out: chunks (`token_budget_ratio`) and the cap of 64,000 tokens, of no use here. Not so: no summary of a summary,
the request stands by itself, it is looked at before each call, and late results are said.
"""

WEAKINCENTIVES = Policy(
    name="weakincentives",
    arrival=(Clip(tokens=500, unit="bytes", allowance=1.0, header=False),),
    pressure=(MEDIA, Omit(least=0.0)),
    hard=LADDER,
    trigger=1.0,
    target=0.75,
    own_limits=Budget(context=UNLIMITED, max_messages=20),
)
"""weakincentives (`SlidingWindowManager`, `ToolResultTruncator`): 20 messages with the head's, results of 2,000 bytes.

Not so: the task stays, calls keep their results, which lose their middle, and a cut takes a quarter of the messages.
"""

AGENTICLOOP = Policy(
    name="agenticloop",
    keepers=(KeepTools(PLANS), KeepUsers(tokens=20_000)),
    arrival=(Clip(tokens=5_000),),
    pressure=(MEDIA, Rolling()),
    hard=FULL,
    trigger=1.0,
    own_limits=Budget(context=60_000, max_messages=100),
)
"""AgenticLoop (its compaction RFC): results over 5,000 tokens (× 1.2) cut half and half on arrival; at 60,000 tokens,
100 messages or a full window all becomes one summary beside the user's messages, newest first within 20,000 tokens, and
the plan.

Not so: the summary still holds what the one before it held; the task is not the first to go; no compaction between two
results of one turn. Left out: marks of aborted turns, whose made results are folded with them.
"""

CREWAGENT = Policy(
    name="crewagent",
    keepers=(KeepTools(PLANS), KeepKey(newest=10)),
    arrival=(Stub(),),
    pressure=(MEDIA, *KEY_STEPS),
    hard=LADDER,
    trigger=0.8,
    target=0.5,
    own_limits=Budget(context=128_000, max_messages=100),
)
"""The crew agent (its unified-context design): results over 7,000 characters are stored, with a reference; at 80% of
128,000 tokens or 80 messages, down to half or less: the 10 newest turns, within a quarter of the room, and those that
score best stay, sentences of the rest are quoted; then previews, outlines, at worst the last 4 rounds.

Left out: the limit of 120,000 characters, the later chain of summaries. Not so: no step counts unless it has shrunk it.
"""

CODEX = Policy(
    name="codex",
    keepers=(KeepUsers(tokens=20_000),),
    arrival=(Clip(tokens=2_500, unit="bytes"),),
    pressure=(MEDIA, Rolling()),
    hard=FULL,
    trigger=0.9,
)
"""Codex (`core/src/compact.rs`): results over 10,000 bytes (× 1.2) cut in the middle on arrival, lines counted; at 90%
all becomes one hand-over beside the user's messages, newest first within 20,000 tokens, the crossing one shortened.

Not so: answered user messages are no new tasks, an image counts as what it costs, a cut that frees little is not made.
"""

OPENHANDS = Policy(
    name="openhands",
    pressure=(MEDIA, Rolling(first=3, tail=UNLIMITED, tail_share=0.5, last=35)),
    hard=FULL,
    trigger=1.0,
    own_limits=Budget(context=UNLIMITED, max_messages=80),
)
"""OpenHands (`LLMSummarizingCondenser(max_size=80, keep_first=4)`): at 80 events, or when the window is full, the
middle becomes one summary; the first 4 (the task and 3 messages) and the newest stay, so that half of the 80 remain.

Left out: the hard reset that clips strings and tries again (the ladder takes its place); whole turns only, so it may be
fewer than 4. Not so: an earlier summary is made again from what was said, not summarised in its turn.
"""

CLAUDE_CODE = Policy(
    name="claude_code",
    keepers=(KeepTools(PLANS), KeepTools(READS, most=5, tokens=5_000, fraction=0.04)),
    arrival=(Stub(characters=30_000),),
    pressure=(MEDIA, Mask(last=3, polling=1, first=0), Rolling(size=8_000, tail=40_000)),
    hard=FULL,
    trigger=0.83,
)
"""Claude Code (and `clear_tool_uses`, keep 3, of its API): outputs over 30,000 characters are stored, with
a reference; at the window less 20,000 and 13,000 tokens (83% of 200,000) results are cleared down to 60%, the oldest
first, but not the 3 newest, the plan and the 5 files read last (5,000 tokens each). If that is not enough, one summary
of at most 8,000 tokens takes the place of all but these and the newest 40,000 (at most a quarter of the room).

Left out: the nine headings, skills, reading files again (what was read stays). Not so: what is cleared says so, and
where it is; rules stand in the head and are not compacted; no loop of compactions.
"""

MANUS = Policy(
    name="manus",
    pressure=(MEDIA, Mask(last=8, polling=1, first=0), Rolling(tail=10_000)),
    hard=FULL,
    trigger=0.6,
    target=0.4,
)
"""Manus (its notes on context engineering, 2025): well under the window (60%), where models begin to rot, results
become compact forms with a reference, which is reversible, the oldest first and the 8 newest never; only if that is not
enough, down to 40%, one summary of all but the newest 10,000 tokens.

Left out: masking of tools (the caller's), files as memory, compact arguments, the summary's schema.
"""

OPENCODE = Policy(
    name="opencode",
    keepers=(KeepTools(("skill",)),),
    pressure=(MEDIA, StubStale(keep=40_000, free=20_000, preview=20), Rolling(size=4_096, tail=15_000)),
    hard=FULL,
    trigger=0.85,
)
"""opencode (`PRUNE_PROTECT`, `PRUNE_MINIMUM`): results beyond the newest 40,000 tokens of them are pruned, as far as it
takes, if 20,000 could come free and that is enough. Else a summary of at most 4,096 tokens takes the place of all but
the newest 15,000 (at most a quarter of the room), the last user message and the newest `skill`. It acts at 85% (there:
the window less the output and 20,000).

Left out: the eight headings, older `skill`s. Not so: it prunes under pressure only, which spares the cache.
"""

AIDER = Policy(
    name="aider",
    pressure=(MEDIA, Rolling(size=4_096, share=0.125, tail=4_096, tail_share=0.125, rounds=1, least=0.06)),
    hard=FULL,
    trigger=0.25,
    target=0.1,
    own_limits=Budget(context=32_768),
)
"""aider (`ChatSummary`, `max_chat_history_tokens`): the turn at work, from the newest user message on, stays whole;
once it and what was done before come to 8,192 tokens (a quarter of the room in windows under 32,768), up to half of
these are a summary of what was done, and no longer than half of what it frees; up to half the newest of it.

Left out: the repository map (it is the caller's head) and the smaller budget of middling windows, a sixteenth. Not so:
no done message is dropped unread because the summariser is full, and a turn at work that fills the window is folded.
"""

SWE_AGENT = Policy(
    name="swe_agent",
    arrival=(Clip(tokens=25_000, unit="bytes", allowance=1.0),),
    pressure=(Mask(last=5, polling=10), Superseded(least=0.0)),
    hard=FULL,
    trigger=0.0,
    target=0.0,
)
"""SWE-agent (`last_n_observations`, n 5): at each call, whatever the pressure, observations but for the first and the
last 5 show as one line, 10 at a time to spare the cache; a file window opened again closes the older one; 100,000 bytes
of a result stay on arrival.

Left out: tags (`Mask.tools` names tools to be spared). Not so: a full window is folded, where it ends the run there.
"""

LETTA = Policy(
    name="letta", pressure=(MEDIA, Rolling(share=0.1, tail=UNLIMITED, tail_share=0.7)), hard=FULL, trigger=0.9
)
"""Letta (`sliding_window_percentage` 0.3): at 90% the newest 70% of the window stay and what is older goes into one
summary, of at most a tenth.

Left out: memory blocks (the caller's head), lookup hints, steps of 10%. Not so: results count as what they are.
"""
