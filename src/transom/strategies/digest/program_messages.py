"""What matters in a message that a program wrote: the report in it, not the bookkeeping around it."""

from __future__ import annotations

import re

from transom.core.edit import Span
from transom.strategies.digest.passages import inner_words

_REPORTS = r"results?|reports?|findings|response|answer"
_OTHERS = r"output|event|[\w-]{0,40}stdout|summary"
"""Tags around what another agent found, and around what else a program has to say, the best first."""

_REPORT_TAG, _OTHER_TAG = (re.compile(rf"<({names})>(?=\s*\S)") for names in (_REPORTS, _OTHERS))
_HEADING = re.compile(r"^(?:#{1,4} |\*\*)\S", re.MULTILINE)
_IN_JSON = re.compile(rf'"(?:completed|{_REPORTS})"\s*:\s*"((?:[^"\\]|\\.)*+)"')
_LEAST = 80
"""Characters of a text in JSON from which it is a report, and not a word such as "ok"."""

_NEAR = 300
"""Characters in which a heading is looked for."""


def report_span(text: str) -> Span | None:
    """The span of what another agent reports in a message that a program wrote; None if it has no report. If a heading
    is near its beginning, the words before that only say that there is a report."""
    if found := _between_tags(text, _REPORT_TAG):
        start, stop = found
        heading = _HEADING.search(text, start, min(stop, start + _NEAR))
        return heading.start() if heading else start, stop
    reports = [found.span(1) for found in _IN_JSON.finditer(text) if len(found[1]) >= _LEAST]
    return max(reports, key=lambda span: span[1] - span[0], default=None)


def important_span(text: str) -> Span:
    """The span of what matters in a message that a program wrote: a report, else the output or the summary that it
    names, else all of its words."""
    return report_span(text) or _between_tags(text, _OTHER_TAG) or inner_words(text)


def _between_tags(text: str, tag: re.Pattern[str]) -> Span | None:
    """The span behind the first of these tags, up to the last tag that ends it, without blanks at its ends."""
    for begin in tag.finditer(text):
        end = text.rfind(f"</{begin[1]}>", begin.end())
        if inner := text[begin.end() : max(0, end)].strip():
            start = text.index(inner, begin.end())
            return start, start + len(inner)
    return None
