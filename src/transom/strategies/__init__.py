"""Strategies and keep rules: the parts of which a policy is made.

A *strategy* proposes edits that make a window smaller: `(View, Target) -> Iterator[Edit]`. A *keep rule* names units
that a compaction protects. Each is a class with settings, which its docstring explains, or a plain function.
`docs/write-your-own-strategy.md` shows how to write one. On arrival (results that no request has carried yet):

- `Clip`: keeps both ends of a long result.
- `ClipTurn`: keeps the passages of long results with most names, and limits the results of one turn together.
- `Stub`: replaces a long result by a reference and a preview.

Under pressure, parts of units:

- `DropMedia`: images and files, with `old=True` only old ones. `DropReasoning`: old reasoning.
- `Mask`: old results become one line each. `StubStale`: old results become stubs, if that is enough.
- `Dedupe`, `Superseded`, `ErrorPurge`: repeated results; superseded reads and writes; arguments of failed calls.
- `Elide`: shortens one kind of part, as far as it must.

Under pressure, whole units:

- `Omit`: leaves out the oldest units. `HeadTail`, `Rounds`: keep both ends, or the last rounds.
- `Digest`: folds old turns into passages of their own text, in layers. `RollingRecord`: into one digest.
- `NewSummary`, `OldSummary`: a `Digest` with a new summary, or with the one that there is, for a policy's `choices`.
- `KeyMessages`: quotes the sentences that matter most. `KEY_STEPS`: with its fallbacks.

Keep rules: `KeepUsers` (the user's messages), `KeepTools` (the newest call of some tools), `KeepKey` (the best scores).

For strategies of your own this module also has the types they need (`View`, `Target`, `Edit`, `Fold`, `Trim`, `Unit`,
`FoldedSlot`, `KeptUnit`, `TextPart`, `Choice`, `IndexCache`) and the questions that they ask: `may_trim`,
`unsent_units`, `result_texts`, `visible_texts`; `foldable_runs`, `hides_a_unit`, `saves_tokens`, `stays_visible`,
`leading_slots`, `slots_before_newest`; `is_worth_a_break`, `is_worth_a_batch`. Their texts are made with
`range_reference` and `disarmed`.

The modules are loaded at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transom.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from transom.core.edit import Edit, Fold, Trim
    from transom.core.index_cache import IndexCache
    from transom.core.policy import Choice, KeptUnit, Target
    from transom.core.unit import FoldedSlot, Unit
    from transom.core.view import View
    from transom.strategies.arrival import Clip, Stub
    from transom.strategies.candidates import (
        foldable_runs,
        hides_a_unit,
        is_worth_a_batch,
        is_worth_a_break,
        leading_slots,
        may_trim,
        saves_tokens,
        slots_before_newest,
        stays_visible,
        unsent_units,
    )
    from transom.strategies.clip_turn import ClipTurn
    from transom.strategies.covering_digest import Digest
    from transom.strategies.dedupe import Dedupe, ErrorPurge, Superseded
    from transom.strategies.digest.tool_lines import TOOL_LINES, ToolLine
    from transom.strategies.digest.visible import visible_texts
    from transom.strategies.elide import DropMedia, Elide
    from transom.strategies.head_tail import HeadTail, Rounds
    from transom.strategies.keep import KeepTools, KeepUsers
    from transom.strategies.key_messages import KEY_STEPS, KeepKey, KeyMessages
    from transom.strategies.observation_masking import Mask
    from transom.strategies.omission import Omit
    from transom.strategies.reasoning import DropReasoning
    from transom.strategies.rolling_digest import RollingRecord
    from transom.strategies.stale_results import StubStale
    from transom.strategies.summary_choices import NewSummary, OldSummary
    from transom.strategies.text.parts import TextPart, result_texts
    from transom.strategies.text.references import range_reference
    from transom.texts import disarmed

__all__ = [
    "KEY_STEPS",
    "TOOL_LINES",
    "Choice",
    "Clip",
    "ClipTurn",
    "Dedupe",
    "Digest",
    "DropMedia",
    "DropReasoning",
    "Edit",
    "Elide",
    "ErrorPurge",
    "Fold",
    "FoldedSlot",
    "HeadTail",
    "IndexCache",
    "KeepKey",
    "KeepTools",
    "KeepUsers",
    "KeptUnit",
    "KeyMessages",
    "Mask",
    "NewSummary",
    "OldSummary",
    "Omit",
    "RollingRecord",
    "Rounds",
    "Stub",
    "StubStale",
    "Superseded",
    "Target",
    "TextPart",
    "ToolLine",
    "Trim",
    "Unit",
    "View",
    "disarmed",
    "foldable_runs",
    "hides_a_unit",
    "is_worth_a_batch",
    "is_worth_a_break",
    "leading_slots",
    "may_trim",
    "range_reference",
    "result_texts",
    "saves_tokens",
    "slots_before_newest",
    "stays_visible",
    "unsent_units",
    "visible_texts",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "core.edit": ("Edit", "Fold", "Trim"),
        "core.index_cache": ("IndexCache",),
        "core.policy": ("Choice", "KeptUnit", "Target"),
        "core.unit": ("FoldedSlot", "Unit"),
        "core.view": ("View",),
        "strategies.arrival": ("Clip", "Stub"),
        "strategies.candidates": (
            "foldable_runs",
            "hides_a_unit",
            "is_worth_a_batch",
            "is_worth_a_break",
            "leading_slots",
            "may_trim",
            "saves_tokens",
            "slots_before_newest",
            "stays_visible",
            "unsent_units",
        ),
        "strategies.clip_turn": ("ClipTurn",),
        "strategies.covering_digest": ("Digest",),
        "strategies.dedupe": ("Dedupe", "ErrorPurge", "Superseded"),
        "strategies.digest.visible": ("visible_texts",),
        "strategies.digest.tool_lines": ("TOOL_LINES", "ToolLine"),
        "strategies.elide": ("DropMedia", "Elide"),
        "strategies.head_tail": ("HeadTail", "Rounds"),
        "strategies.keep": ("KeepTools", "KeepUsers"),
        "strategies.key_messages": ("KEY_STEPS", "KeepKey", "KeyMessages"),
        "strategies.observation_masking": ("Mask",),
        "strategies.omission": ("Omit",),
        "strategies.reasoning": ("DropReasoning",),
        "strategies.rolling_digest": ("RollingRecord",),
        "strategies.stale_results": ("StubStale",),
        "strategies.summary_choices": ("NewSummary", "OldSummary"),
        "strategies.text.parts": ("TextPart", "result_texts"),
        "strategies.text.references": ("range_reference",),
        "texts": ("disarmed",),
    },
)
