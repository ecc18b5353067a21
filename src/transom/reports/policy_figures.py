"""The figures by which policies are compared: their names, heads and meanings, and their values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:  # the help of a command needs only the names
    from transom.evaluation.compare import Compared


class Figure(Struct, frozen=True):
    """A figure in a report, and how it is shown.

    `name`: its key in --json. `label`: its name on a line of its own. `head`: its name over a column, in short lines.
    `meaning`: its sentence in --help. `form`: how its number is written, as `format` takes it; dollars have a "$" in
    front.
    """

    name: str
    label: str
    head: str
    meaning: str
    form: str = ","

    def text(self, number: float | None) -> str:
        """Return a value of this figure as text, in its `form`; for None, where nothing could be measured, a dash."""
        if number is None:
            return "–"
        return f"{'$' * self.form.startswith('$')}{number:{self.form.lstrip('$')}}"


CALLS = Figure("calls", "calls", "calls", "Model calls: a window is built before each message that the model wrote.")
INVALID = Figure("invalid", "invalid", "invalid", "Windows that break a rule of the provider. Must be 0.")
OVER = Figure("over", "over budget", "over\nbudget", "Windows with more tokens than the budget. Must be 0.")
REFUSED = Figure(
    "refused",
    "refused",
    "refused",
    "Calls whose smallest valid window is over the budget. Nothing is sent, and no other figure but calls counts them.",
)
SHARE_SENT = Figure(
    "sent_share",
    "share sent",
    "share\nsent",
    "Tokens sent, as a share of sending the whole history at every call.",
    ".1%",
)
CACHED = Figure(
    "cached_share",
    "cached share",
    "cached\nshare",
    "Share of the tokens sent that the window has in common with the start of the window before, so that the "
    "provider can read them from its prompt cache.",
    ".1%",
)
TIME = Figure("ms_per_call", "ms per call", "ms per\ncall", "CPU milliseconds that building one window takes.", ".2f")

REPLAY: tuple[Figure, ...] = (
    Figure("conversations", "conversations", "conver-\nsations", "Conversations in the file."),
    CALLS,
    INVALID,
    OVER,
    REFUSED,
    Figure("skipped", "skipped", "skipped", "Messages of the model with no message before them that could be sent."),
    Figure("tokens", "tokens sent", "tokens\nsent", "The tokens of all windows together."),
    Figure(
        "passthrough",
        "tokens without compaction",
        "without\ncompaction",
        "The same, if every call carried the whole history (policy passthrough).",
    ),
    SHARE_SENT,
    CACHED,
    Figure(
        "breaks",
        "prefix breaks",
        "prefix\nbreaks",
        "Windows that do not begin with the whole window before: the cached prefix breaks at the first difference.",
    ),
    Figure("compactions", "compactions", "compac-\ntions", "Windows with a fold that the window before did not have."),
    TIME,
)
"""What `transom replay` says of a file."""

REQUESTS = Figure(
    "requests_kept_share",
    "requests kept",
    "requests\nkept",
    "Of the user's messages so far, at every call: the share that is in the window, at least half of it.",
    ".0%",
)
REASONING = Figure(
    "reasoning_lost",
    "reasoning lost",
    "reasoning\nlost",
    "Of the turns since the newest user message, at every call: the share whose reasoning cannot be sent any "
    "more where it is bound to its prefix (Claude since 5.5, GPT since 6.2), because that has changed.",
    ".0%",
)
"""Means something only if a conversation has reasoning."""

FOUND = Figure(
    "found",
    "names found",
    "names\nfound",
    "Of the old names that the next message uses, the share that is in the window; without old names, of all.",
    ".0%",
)
COST = Figure(
    "cost",
    "cost",
    "cost",
    "Price of the input of all requests with prompt caching, in dollars by the prices of --priced-by (none if calls "
    "are refused, as fewer calls cost less); without it, "
    "relative to sending the whole history, with Anthropic's prices (1.00).",
    ".2f",
)
BROKEN = Figure("broken", "cache broken", "cache\nbroken", "Share of the calls that break the cached prefix.", ".0%")

VERDICT: tuple[Figure, ...] = (REQUESTS, FOUND, COST, BROKEN, REASONING, REFUSED)
"""What people ask first of a policy, in this order."""

COMPARE: tuple[Figure, ...] = (
    CALLS,
    INVALID,
    OVER,
    REFUSED,
    SHARE_SENT,
    REQUESTS,
    COST,
    Figure(
        "cost_anthropic",
        "cost at Anthropic",
        "cost at\nAnthropic",
        "Price of all requests with Anthropic's prompt caching, relative to sending the whole history (1.00).",
        ".2f",
    ),
    Figure("cost_openai", "cost at OpenAI", "cost at\nOpenAI", "The same with OpenAI's prompt caching.", ".2f"),
    CACHED,
    BROKEN,
    Figure(
        "append_only",
        "append-only",
        "append-\nonly",
        "Calls whose window begins with the whole window before: nothing that was sent changed.",
        ".0%",
    ),
    Figure(
        "consecutive_breaks",
        "breaks in a row",
        "breaks\nin a row",
        "Calls that break the cached prefix directly after a call that broke it too.",
    ),
    REASONING,
    FOUND,
    Figure(
        "grounding_beyond",
        "old names found",
        "old\nnames\nfound",
        "Of the names that the next message uses, and that were last mentioned further back than the budget: the "
        "share that is in the window, with 40 characters of text on either side.",
        ".0%",
    ),
    Figure(
        "grounding_beyond_wide",
        "old names in context",
        "old\nnames in\ncontext",
        "The same, with 240 characters of text.",
        ".0%",
    ),
    Figure(
        "grounding_all",
        "all names found",
        "all\nnames\nfound",
        "The same as old names found, for all names that the next message uses and that occurred before.",
        ".0%",
    ),
    TIME,
)
"""All figures of a policy."""


def figures(one: Compared) -> dict[str, float | None]:
    """Return the values of the figures in `COMPARE`, by name; None for a figure that could not be measured.

    Costs are relative to sending the whole history: `cost` by the prices of the model that was given, or else by
    Anthropic's.
    """
    every_name, old_names, old_names_wide = one.grounding.shares
    return {
        "calls": one.stats.calls,
        "invalid": one.stats.invalid,
        "over": one.stats.over,
        "refused": one.stats.refused,
        "sent_share": one.stats.sent_share,
        "requests_kept_share": one.requests_share,
        "found": one.found_share,
        "cost": (one.model_cost if one.model_cost.everything else one.anthropic).share,
        "cost_anthropic": one.anthropic.share,
        "cost_openai": one.openai.share,
        "cached_share": one.stats.cached_share,
        "append_only": one.append_only,
        "broken": None if one.append_only is None else 1 - one.append_only,
        "consecutive_breaks": one.consecutive_breaks,
        "reasoning_lost": one.reasoning_lost,
        "grounding_beyond": old_names,
        "grounding_beyond_wide": old_names_wide,
        "grounding_all": every_name,
        "ms_per_call": one.stats.ms_per_call,
    }
