"""Strategies and keep rules: the parts of which a policy is made.

A *strategy* proposes edits that make a window smaller: `(View, Target) -> Iterator[Edit]`. A *keep rule* names units
that a compaction protects. Each is a class with settings, which its docstring explains, or a plain function.
`docs/write-your-own-strategy.md` shows how to write one.

Parts of turns: `Shorten(which, form)`. `which` is a *selector*, `form` says what is left; both may be functions of your
own. `Together` and `Enough` make all trims at once or none.

| selectors | |
|---|---|
| `FreshResults` | results that no request has carried yet, for `Policy.arrival` |
| `OldResults`, `LargeOldResults` | all but the newest results |
| `Duplicates`, `Superseded` | repeated results; superseded reads and writes |
| `FailedArguments` | arguments of failed calls |
| `OldReasoning`, `Media` | reasoning of earlier turns; images and files |
| `PartsOf` | every part of one kind in the newest, the required or the other turns |

| forms | |
|---|---|
| `Clip`, `ClipToFit` | both ends: of a long result, or as much as the goal leaves |
| `Stub` | a reference, the outcome and a preview |
| `line`, `marker`, `gone` | one line; a marker with the reference; nothing |

`ClipNew` limits the new results of one turn together, and keeps their passages with most names.

Under pressure, whole units:

- `Omit`: leaves out the oldest units. `HeadTail`, `Rounds`: keep both ends, or the last rounds.
- `Digest`: folds old turns into records, in layers. `RollingRecord`: into one record.
- `NewSummary`, `OldSummary`: run a `Digest` with a new summary, or with the newest that there is (`Policy.choices`).

Keep rules: `KeepUsers` (the user's messages), `KeepTools` (the newest call of some tools), `KeepBest` (the turns with
the best scores).

For strategies of your own this module also has the types that they need (`View`, `Target`, `Edit`, `Fold`, `Trim`,
`Unit`, `FoldedSlot`, `KeptUnit`, `ShownPart`, `Choice`, `IndexCache`) and the questions that they ask: `may_trim`,
`unsent_units`, `result_texts`, `visible_texts`; `foldable_runs`, `hides_a_unit`, `saves_tokens`, `stays_visible`,
`leading_slots`, `slots_before_newest`; `is_worth_a_break`, `is_worth_a_batch`. Their texts are made with
`range_reference` and `disarmed`.
"""

from types import ModuleType

from transom.core.edit import Edit as Edit
from transom.core.edit import Fold as Fold
from transom.core.edit import Trim as Trim
from transom.core.log import IndexCache as IndexCache
from transom.core.policy import Choice as Choice
from transom.core.policy import KeptUnit as KeptUnit
from transom.core.policy import Target as Target
from transom.core.unit import FoldedSlot as FoldedSlot
from transom.core.unit import Unit as Unit
from transom.core.view import View as View
from transom.quoting import disarmed as disarmed
from transom.strategies.actions.tool_table import TOOLS as TOOLS
from transom.strategies.actions.tool_table import ToolRow as ToolRow
from transom.strategies.arrival import ClipNew as ClipNew
from transom.strategies.candidates import foldable_runs as foldable_runs
from transom.strategies.candidates import hides_a_unit as hides_a_unit
from transom.strategies.candidates import is_worth_a_batch as is_worth_a_batch
from transom.strategies.candidates import is_worth_a_break as is_worth_a_break
from transom.strategies.candidates import leading_slots as leading_slots
from transom.strategies.candidates import may_trim as may_trim
from transom.strategies.candidates import saves_tokens as saves_tokens
from transom.strategies.candidates import slots_before_newest as slots_before_newest
from transom.strategies.candidates import stays_visible as stays_visible
from transom.strategies.candidates import unsent_units as unsent_units
from transom.strategies.fold.layered_records import Digest as Digest
from transom.strategies.fold.layered_records import NewSummary as NewSummary
from transom.strategies.fold.layered_records import OldSummary as OldSummary
from transom.strategies.fold.omission import HeadTail as HeadTail
from transom.strategies.fold.omission import Omit as Omit
from transom.strategies.fold.omission import Rounds as Rounds
from transom.strategies.fold.rolling_record import RollingRecord as RollingRecord
from transom.strategies.keep import KeepBest as KeepBest
from transom.strategies.keep import KeepTools as KeepTools
from transom.strategies.keep import KeepUsers as KeepUsers
from transom.strategies.record.visible_names import visible_texts as visible_texts
from transom.strategies.shorten.forms import Clip as Clip
from transom.strategies.shorten.forms import ClipToFit as ClipToFit
from transom.strategies.shorten.forms import Stub as Stub
from transom.strategies.shorten.forms import gone as gone
from transom.strategies.shorten.forms import line as line
from transom.strategies.shorten.forms import marked_arguments as marked_arguments
from transom.strategies.shorten.forms import marker as marker
from transom.strategies.shorten.selectors import Duplicates as Duplicates
from transom.strategies.shorten.selectors import FailedArguments as FailedArguments
from transom.strategies.shorten.selectors import FreshResults as FreshResults
from transom.strategies.shorten.selectors import LargeOldResults as LargeOldResults
from transom.strategies.shorten.selectors import Media as Media
from transom.strategies.shorten.selectors import OldReasoning as OldReasoning
from transom.strategies.shorten.selectors import OldResults as OldResults
from transom.strategies.shorten.selectors import PartsOf as PartsOf
from transom.strategies.shorten.selectors import Superseded as Superseded
from transom.strategies.shorten.shorten import Enough as Enough
from transom.strategies.shorten.shorten import Form as Form
from transom.strategies.shorten.shorten import Selector as Selector
from transom.strategies.shorten.shorten import Shorten as Shorten
from transom.strategies.shorten.shorten import Together as Together
from transom.strategies.text.references import range_reference as range_reference
from transom.strategies.text.shown_parts import ShownPart as ShownPart
from transom.strategies.text.shown_parts import result_texts as result_texts
from transom.strategies.text.shown_parts import shown_parts as shown_parts

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    name
    for name, value in sorted(vars().items())
    if name[0] != "_" and not isinstance(value, ModuleType) and value is not ModuleType
]
