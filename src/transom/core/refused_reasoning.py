"""Which models refuse all reasoning.

After a refusal, windows hide the reasoning that is in the log (`REASONING_REFUSED` in core/message.py), and the request
is sent again. That is enough if the reasoning was bound to another prefix. But some servers refuse any reasoning: there
each reply brings new reasoning, and each step of a run would be refused once. So this is the rule: if a model makes new
reasoning after a refusal, and refuses that too before it has taken any, it refuses all. From then on its replies are
shown without reasoning from the start.
"""

from __future__ import annotations

from collections.abc import Mapping

SOME_LEFT = 0
"""The model refused reasoning, and the window still has other reasoning: if the model answers now, it has accepted
that."""
NONE_LEFT = 1
"""The model refused reasoning, and the window has none any more."""
NEW_REASONING = 2
"""The model has made new reasoning since its refusal: its next answer, or refusal, decides."""
ALWAYS = 3
"""The model refuses all reasoning."""


def after_refusal(known: Mapping[str, int], model: str, *, is_some_left: bool) -> Mapping[str, int]:
    """What is known of models after one of them refused reasoning: by "provider:model", one of the four states of this
    module. `known`, which is not changed: what was known before.

    The state of `model` becomes `ALWAYS` if it was `NEW_REASONING` or `ALWAYS`: it has refused reasoning of its own
    making. Otherwise it becomes `SOME_LEFT` if `is_some_left`, else `NONE_LEFT`. `is_some_left`: the log has reasoning
    that no refusal hides. An empty `model` changes nothing.
    """
    if not model:
        return known
    if known.get(model) in (NEW_REASONING, ALWAYS):
        return {**known, model: ALWAYS}
    return {**known, model: SOME_LEFT if is_some_left else NONE_LEFT}


def after_reply(known: Mapping[str, int], model: str, *, has_reasoning: bool) -> Mapping[str, int]:
    """What is known of models (see `after_refusal`) after one of them has answered.

    Its state before says what the request had. With `SOME_LEFT` or `NEW_REASONING` the request had reasoning: so the
    model takes reasoning, and nothing is known of it any more. With `NONE_LEFT` the request had none: if the reply has
    some (`has_reasoning`), the state is now `NEW_REASONING`. Otherwise nothing changes.
    """
    found = known.get(model)
    if found in (SOME_LEFT, NEW_REASONING):  # it has taken reasoning
        return {name: state for name, state in known.items() if name != model}
    return {**known, model: NEW_REASONING} if found == NONE_LEFT and has_reasoning else known
