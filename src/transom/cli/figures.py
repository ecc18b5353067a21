"""The figures that `replay` and `compare` print: their names, the heads of their columns, and what they mean."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap

from transom.reports.figures import REFUSED, REQUESTS, Figure

HELP_WIDTH = 76

CALLS = Figure("calls", "calls", "calls", "Model calls: a window is built before each message that the model wrote.")
INVALID = Figure("invalid", "invalid", "invalid", "Windows that break a rule of the provider. Must be 0.")
OVER = Figure("over", "over budget", "over\nbudget", "Windows with more tokens than the budget. Must be 0.")
SHARE_SENT = Figure(
    "sent_share", "share sent", "share\nsent", "Tokens sent, as a share of sending the whole history at every call."
)
CACHED = Figure(
    "cached_share",
    "cached share",
    "cached\nshare",
    "Share of the tokens sent that the window has in common with the start of the window before, so that the "
    "provider can read them from its prompt cache.",
)
TIME = Figure("ms_per_call", "ms per call", "ms per\ncall", "CPU milliseconds that building one window takes.")

REPLAY: tuple[Figure, ...] = (
    Figure("conversations", "conversations", "conver-\nsations", "Conversations in the file."),
    CALLS,
    Figure("questions", "questions", "ques-\ntions", "Labelled questions, each with a window of its own."),
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

COMPARE: tuple[Figure, ...] = (
    CALLS,
    INVALID,
    OVER,
    REFUSED,
    SHARE_SENT,
    REQUESTS,
    Figure(
        "cost_anthropic",
        "cost at Anthropic",
        "cost at\nAnthropic",
        "Price of all requests with Anthropic's prompt caching, relative to sending the whole history (1.00).",
    ),
    Figure("cost_openai", "cost at OpenAI", "cost at\nOpenAI", "The same with OpenAI's prompt caching."),
    CACHED,
    Figure(
        "append_only",
        "append-only",
        "append-\nonly",
        "Calls whose window begins with the whole window before: nothing that was sent changed.",
    ),
    Figure(
        "consecutive_breaks",
        "breaks in a row",
        "breaks\nin a row",
        "Calls that break the cached prefix directly after a call that broke it too.",
    ),
    Figure(
        "reasoning_lost",
        "reasoning lost",
        "reason-\ning\nlost",
        "Of the turns since the newest user message, at every call: the share whose reasoning cannot be sent any "
        "more where it is bound to its prefix (Claude since 5.5, GPT since 6.2), because that has changed.",
    ),
    Figure(
        "grounding_beyond",
        "old names found",
        "old\nnames\nfound",
        "Of the names that the next message uses, and that were last mentioned further back than the budget: the "
        "share that is in the window, with 40 characters of text on either side.",
    ),
    Figure(
        "grounding_beyond_wide",
        "old names in context",
        "old\nnames in\ncontext",
        "The same, with 240 characters of text.",
    ),
    Figure(
        "grounding_all",
        "names found",
        "names\nfound",
        "The same as old names found, for all names that the next message uses and that occurred before.",
    ),
    Figure(
        "evidence_recall",
        "evidence found",
        "evidence\nfound",
        "For labelled questions: the share of the messages with the answer that is usable in the window.",
    ),
    TIME,
)

NAMES = "A name is a path, URL, identifier, id, number of 4 digits or more, or quoted string."


def help_text(figures: Iterable[Figure], *more: str) -> str:
    """Format what the figures mean, for the end of a command's --help. `more`: sentences that follow."""
    return "\n\n".join([block_text("Figures", figures), *more])


def block_text(title: str, figures: Iterable[Figure]) -> str:
    """Format what the figures of one table mean, under its title."""
    rows = "\n".join(explained(figure.label, figure.meaning) for figure in figures)
    return f"\b\n{title}:\n{rows}"


def explained(term: str, meaning: str, *, indent: int = 26) -> str:
    """Format a term with its meaning beside it, in the width of --help. `indent`: the columns of the term."""
    lines = wrap(meaning, HELP_WIDTH - indent)
    return "\n".join(f"  {term if not number else '':<{indent}}{line}" for number, line in enumerate(lines))
