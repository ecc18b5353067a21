"""Summaries of old turns: who makes them, what a model is asked, and how answers are merged into one rolling summary.

`LlmSummarizer` asks a model. It is frozen settings with a method `steps`, a generator without I/O; docs/summaries.md
says how it works, and how to replace what a model is asked.

The modules are loaded at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transom.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from transom.core.summary import SourceTurn as SourceTurn
    from transom.core.summary import Summarise as Summarise
    from transom.core.summary import Summary as Summary
    from transom.core.summary_limits import SummaryLimits as SummaryLimits
    from transom.summaries.base import Answer as Answer
    from transom.summaries.base import Ask as Ask
    from transom.summaries.base import Model as Model
    from transom.summaries.base import Summarizer as Summarizer
    from transom.summaries.llm import LlmSummarizer as LlmSummarizer
    from transom.summaries.outline import Section as Section
    from transom.summaries.prompts import Prompts as Prompts
    from transom.summaries.rehydrate import Rehydrate as Rehydrate

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "core.summary": "SourceTurn Summarise Summary",
        "core.summary_limits": "SummaryLimits",
        "summaries.base": "Answer Ask Model Summarizer",
        "summaries.llm": "LlmSummarizer",
        "summaries.outline": "Section",
        "summaries.prompts": "Prompts",
        "summaries.rehydrate": "Rehydrate",
    },
)
