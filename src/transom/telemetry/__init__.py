"""OpenTelemetry spans of a run, named by the semantic conventions for generative AI. Needs `transom[telemetry]`.

    for event in traced(conv.stream("Find me a flight", provider=…), conversation_id="trip"):
        …

A run is one span, with a child for each request and for each tool call. Texts of the conversation are in them only with
`content=True`. The spans are made from the run's events, so they begin and end when the events come. Spans that a tool
makes itself are not children of them.
"""

from __future__ import annotations

from transom.telemetry.traced import atraced, traced

__all__ = ["atraced", "traced"]
