"""The figures by which policies are compared, in the order of what people ask: their names, heads and meanings."""

from __future__ import annotations

from msgspec import Struct


class Figure(Struct, frozen=True):
    """A figure in a report.

    `name`: in --json; `label`: where it has a line of its own; `head`: over a column, in short lines; `meaning`: for
    --help.
    """

    name: str
    label: str
    head: str
    meaning: str


REQUESTS = Figure(
    "requests_kept_share",
    "requests kept",
    "requests\nkept",
    "Of the user's messages so far, at every call: the share that is in the window, at least half of it.",
)
REFUSED = Figure(
    "refused",
    "refused",
    "refused",
    "Calls whose smallest valid window is over the budget. Nothing is sent, and no other figure but calls counts them.",
)

VERDICT: tuple[Figure, ...] = (
    REQUESTS,
    Figure(
        "found",
        "evidence or names found",
        "found",
        "The share of the evidence of labelled questions; without questions, of the old names that the next message "
        "uses; without old names, of all names.",
    ),
    Figure(
        "cost",
        "cost",
        "cost",
        "Price of the input of all requests with prompt caching, in dollars by the prices of --priced-by; without it, "
        "relative to sending the whole history, with Anthropic's prices (1.00).",
    ),
    Figure("broken", "cache broken", "cache\nbroken", "Share of the calls that break the cached prefix."),
    Figure(
        "reasoning_lost",
        "reasoning lost",
        "reasoning\nlost",
        "Of the turns since the newest user message, at every call: the share whose reasoning cannot be sent any "
        "more where it is bound to its prefix.",
    ),
    REFUSED,
)
