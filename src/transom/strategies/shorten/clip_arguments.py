"""Arguments of a call in fewer tokens, still as JSON: the ends of long texts in them stay, and all that is short."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

from transom import texts
from transom.core.edit import Trim
from transom.core.policy import Target
from transom.strategies.actions.arguments import PATHS
from transom.strategies.text.shown_parts import ShownPart
from transom.strategies.text.truncation import halves, level

TRIES, RETRY_SHARE = 4, 0.9
"""How often texts are shortened until the arguments fit, and the share of the estimated size that the next try gets."""

LEAST_KEPT = 16
"""Characters of a text that are worth keeping beside a marker."""


def clip_arguments(target: Target, part: ShownPart, most: int) -> Trim:
    """The trim that leaves at most `most` tokens of a call's arguments, still as JSON: the longest texts in them are
    cut to their ends. `part`: the arguments of a call. All that is left of them is in the note of the trim.

    If that is not enough, only the arguments that name files stay (`PATHS`), as far as they fit, beside a note of what
    was left out. Of arguments that are not JSON the note stays alone, even if it has more than `most` tokens.
    """
    reference = target.reference(part.entry)
    try:
        value: object = json.loads(part.text)
        note = _shortened(target, part, value, most, reference)
    except (ValueError, RecursionError):  # no JSON, or nested too deep
        value = note = None
    if note is None:
        note = _paths_alone(target, part, value, most, reference)
    return Trim(entry=part.entry, part=part.part, note=note)


def _shortened(target: Target, part: ShownPart, value: object, most: int, reference: str) -> str | None:
    """The JSON with its longest texts shortened; None if it does not get small enough."""
    texts_of = list[str]()
    _mapped(value, lambda text: texts_of.append(text) or text)
    lengths = list(map(len, texts_of))
    per_token = len(part.text) / max(1, part.tokens)
    room = float(most)
    for _ in range(TRIES):
        longest = level(lengths, int(room * per_token) - (len(part.text) - sum(lengths)))
        if longest < LEAST_KEPT:
            return None

        def ends(text: str, longest: float = longest) -> str:
            if len(text) <= longest:
                return text
            keep = [text[start:stop] for start, stop in halves(text, int(longest))]
            marker = texts.excerpt_marker(reference, int((len(text) - sum(map(len, keep))) / per_token))
            return marker.join(keep)

        note = _json_text(_mapped(value, ends))
        counted = target.counter.count(note)
        if counted <= most:
            return note
        room *= RETRY_SHARE * most / counted
    return None


def _paths_alone(target: Target, part: ShownPart, value: object, most: int, reference: str) -> str:
    """The names of files among the arguments, the shortest first, and a note of what was left out."""
    args = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    found = {name: path for name in PATHS if isinstance(path := args.get(name), str) and path}
    note, kept = "", dict[str, str]()
    for name in ("", *sorted(found, key=lambda name: len(found[name]))):
        kept |= {name: found[name]} if name else {}
        longer = _json_text(json.loads(texts.trimmed_arguments_but(kept, reference, part.tokens)))
        if note and target.counter.count(longer) > most:
            break
        note = longer
    return note


def _mapped(value: object, change: Callable[[str], str]) -> Any:
    """JSON with other texts. Raises RecursionError if it is nested too deep."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _mapped(inner, change) for key, inner in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [_mapped(inner, change) for inner in cast("list[object]", value)]
    return value


def _json_text(value: object) -> str:
    """A value as JSON. Half a pair of surrogates, which no request may contain, stays escaped."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value)
    return text
