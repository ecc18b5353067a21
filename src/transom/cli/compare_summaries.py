"""The rows of `transom compare --model`: policies whose summaries a model writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from transom.cache_prices import PRICES, Prices
from transom.conversation.summary_job import SummarySettings
from transom.conversation.worker_pool import InPlace
from transom.core.entry import Entry
from transom.core.message import Failure
from transom.core.policy import Policy
from transom.core.summary import NO_SUMMARY
from transom.errors import InvalidSetting
from transom.evaluation.compare import Compared
from transom.evaluation.summary_costs import summary_costs
from transom.policies import policy_named
from transom.providers import provider_named
from transom.strategies.fold.layered_records import Digest
from transom.tokenizer import o200k

WITH_MODEL = " + model"
"""What the name of a policy's row ends with if a model writes its summaries."""


def rows_of(names: Sequence[str], model: str | None) -> list[str]:
    """Return the rows of the table: each policy, and behind it the same with summaries of the model, if it shows any.

    Without a model these are the names.

    Raises InvalidSetting for a model that cannot be asked, or if none of the policies shows summaries.
    """
    if model is None:
        return list(names)
    provider_named(model)
    with_summaries = {name for name in names if may_show_summaries(policy_named(name))}
    if not with_summaries:
        raise InvalidSetting("--model: none of these policies shows a summary: try --policies summary,codex")
    return [row for name in names for row in ((name, name + WITH_MODEL) if name in with_summaries else (name,))]


def may_show_summaries(policy: Policy) -> bool:
    """True for a policy that shows summaries in its windows if a model writes them."""
    steps = [step for step in policy.pressure if callable(getattr(step, "wants", None))]
    return any(not isinstance(step, Digest) or step.summary > 0 for step in steps)


def settings_for(model: str) -> SummarySettings:
    """Return the settings with which the model writes every summary at once.

    A conversation would have some made in the background, and a replay would be over before they are there.
    """
    return SummarySettings(provider=model, pool=InPlace())


def with_summaries(found: Compared, log: Iterable[Entry], prices: Prices | None = None) -> Compared:
    """Return the figures of a conversation with its summaries added: what they cost, how many the model made, and how
    many it failed to make. `log`: the entries of the replay."""
    entries = list(log)
    lists = PRICES if prices is None else {**PRICES, "model_cost": prices}
    made = [(summary, paid) for summary, paid in summary_costs(entries, o200k(), lists) if not summary.degraded]
    failed = sum(isinstance(entry.body, Failure) and entry.body.failure == NO_SUMMARY for entry in entries)
    by_model = sum(paid.get("model_cost", 0.0) for _, paid in made)
    anthropic, openai = (sum(paid[name] for _, paid in made) for name in ("anthropic", "openai"))
    return replace(
        found,
        anthropic=replace(found.anthropic, paid=found.anthropic.paid + anthropic),
        model_cost=replace(found.model_cost, paid=found.model_cost.paid + by_model),
        openai=replace(found.openai, paid=found.openai.paid + openai),
        summaries=len(made),
        failed_summaries=failed,
    )


def summaries_line(results: Mapping[str, Compared], model: str) -> str:
    """Say how many summaries the model made in each row."""
    rows = {name.removesuffix(WITH_MODEL): one for name, one in results.items() if name.endswith(WITH_MODEL)}
    counts = (
        f"{name} {one.summaries:,}{f' ({one.failed_summaries:,} failed)' if one.failed_summaries else ''}"
        for name, one in rows.items()
    )
    return f"Summaries by {model}, priced in the costs: {', '.join(counts)}."
