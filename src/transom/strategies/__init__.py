"""Strategies and keepers: the parts of which a policy is made.

A *strategy* proposes edits that make a window smaller; a *keeper* names units that a compaction protects. Each is a
class with settings, which its docstring explains, or a plain function. `docs/write-your-own-strategy.md` shows how to
write one. On arrival (results that no request has carried yet):

- `Clip`: keeps both ends of a long result.
- `ClipTurn`: keeps the passages of long results with most names, and limits the results of one turn together.
- `Stub`: replaces a long result by a reference and a preview.

Under pressure, parts of units:

- `DropMedia`, `DropReasoning`: old images and files; old reasoning.
- `Mask`: old results become one line each. `StubStale`: old results become stubs, if that is enough.
- `Dedupe`, `Superseded`, `ErrorPurge`: repeated results; superseded reads and writes; arguments of failed calls.
- `Elide`: shortens one kind of part, as far as it must.

Under pressure, whole units:

- `Omit`: leaves out the oldest units. `HeadTail`, `Rounds`: keep both ends, or the last rounds.
- `Digest`: folds old turns into passages of their own text, in layers. `Rolling`: into one digest.
- `KeyMessages`: quotes the sentences that matter most. `KEY_STEPS`: with its fallbacks.

Keepers: `KeepUsers` (the user's messages), `KeepTools` (the newest call of some tools), `KeepKey` (what scores best).

The modules are loaded at first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transom.strategies.arrival import Clip, Stub
    from transom.strategies.clip_turn import ClipTurn
    from transom.strategies.covering_digest import Digest
    from transom.strategies.dedupe import Dedupe, ErrorPurge, Superseded
    from transom.strategies.elide import DropMedia, Elide
    from transom.strategies.head_tail import HeadTail, Rounds
    from transom.strategies.keepers import KeepTools, KeepUsers
    from transom.strategies.key_messages import KEY_STEPS, KeepKey, KeyMessages
    from transom.strategies.observation_masking import Mask
    from transom.strategies.omission import Omit
    from transom.strategies.reasoning import DropReasoning
    from transom.strategies.rolling_digest import Rolling
    from transom.strategies.stale_results import StubStale

__all__ = [
    "KEY_STEPS",
    "Clip",
    "ClipTurn",
    "Dedupe",
    "Digest",
    "DropMedia",
    "DropReasoning",
    "Elide",
    "ErrorPurge",
    "HeadTail",
    "KeepKey",
    "KeepTools",
    "KeepUsers",
    "KeyMessages",
    "Mask",
    "Omit",
    "Rolling",
    "Rounds",
    "Stub",
    "StubStale",
    "Superseded",
]

_MODULES = {
    "arrival": ("Clip", "Stub"),
    "clip_turn": ("ClipTurn",),
    "covering_digest": ("Digest",),
    "dedupe": ("Dedupe", "ErrorPurge", "Superseded"),
    "elide": ("DropMedia", "Elide"),
    "head_tail": ("HeadTail", "Rounds"),
    "keepers": ("KeepTools", "KeepUsers"),
    "key_messages": ("KEY_STEPS", "KeepKey", "KeyMessages"),
    "observation_masking": ("Mask",),
    "omission": ("Omit",),
    "reasoning": ("DropReasoning",),
    "rolling_digest": ("Rolling",),
    "stale_results": ("StubStale",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
