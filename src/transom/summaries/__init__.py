"""Summaries of old turns: who makes them, what a model is asked, and how answers are merged into one rolling summary.

`LlmSummarizer` asks a model. It is frozen settings with a method `steps`, a generator without I/O; docs/summaries.md
says how it works, and how to replace what a model is asked.

The modules are loaded at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transom.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from transom.core.summary import SourceTurn, Summarise, Summary
    from transom.core.summary_limits import SummaryLimits
    from transom.summaries.base import Answer, Ask, Model, Summarizer
    from transom.summaries.llm import LlmSummarizer
    from transom.summaries.outline import Section
    from transom.summaries.prompts import Prompts
    from transom.summaries.rehydrate import Rehydrate

__all__ = [
    "Answer",
    "Ask",
    "LlmSummarizer",
    "Model",
    "Prompts",
    "Rehydrate",
    "Section",
    "SourceTurn",
    "Summarise",
    "Summarizer",
    "Summary",
    "SummaryLimits",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "core.summary": ("SourceTurn", "Summarise", "Summary"),
        "core.summary_limits": ("SummaryLimits",),
        "summaries.base": ("Answer", "Ask", "Model", "Summarizer"),
        "summaries.llm": ("LlmSummarizer",),
        "summaries.outline": ("Section",),
        "summaries.prompts": ("Prompts",),
        "summaries.rehydrate": ("Rehydrate",),
    },
)
