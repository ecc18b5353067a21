"""Reads a streamed generateContent, one response at a time."""

from __future__ import annotations

from typing import Any

from transom.core.message import Assistant, Raw, Usage
from transom.wire.gemini.keys import CALL, key_of_part, kinds_of
from transom.wire.gemini.partial_calls import begins_another, call_in, is_piece, with_piece
from transom.wire.gemini.reply import USAGE, parse_response, plain, without_unanswered_calls
from transom.wire.sdk_objects import dumped, read_usage
from transom.wire.stop_reason import stop_reason, stop_reason_of
from transom.wire.stream import Accumulator, chunk_fields
from transom.wire.violations import as_dict, dicts, text


class GeminiAccumulator(Accumulator):
    """Collects the responses of `models.generate_content_stream`. A function call comes whole, in one part, or in
    pieces: those of different calls may be mixed if they have ids."""

    def __init__(self) -> None:
        self._parts: list[Raw] = []
        self._open: list[Raw] = []
        """The calls whose next pieces are to come: they are not among the parts yet. A piece belongs to the one with
        its id, without an id to the last one."""
        self._last: Raw = {}
        self._usage: Any = None

    def feed(self, chunk: object) -> None:
        self._last = fields = chunk_fields(plain(chunk))
        if error := fields.get("error"):
            self.error = str(as_dict(error).get("message") or error)
        self._usage = fields.get("usageMetadata") or fields.get("usage_metadata") or self._usage
        candidate: Raw = next((each for each in dicts(fields.get("candidates")) if not each.get("index")), Raw())
        for part in dicts(as_dict(candidate.get("content")).get("parts")):
            self._add(part)
            self._add_delta("reasoning" if _thinks(part) else "text", part.get("text"))
        if reason := candidate.get("finishReason") or candidate.get("finish_reason"):
            self.finished, self.stop = True, stop_reason(reason)
            if self.stop == "stop":  # it ends a call whose last piece does not
                self._parts += [each for each in self._open if text(call_in(each), "name")]
                self._open = []
        elif as_dict(fields.get("promptFeedback") or fields.get("prompt_feedback")):
            self.stop = stop_reason_of(fields)

    def turn(self) -> Assistant:
        if not self._parts:
            return parse_response({**self._last, "usageMetadata": self._usage}) if self.finished else _NOTHING
        said = [part for part in self._parts if part != _EMPTY]  # the last chunk often has an empty text
        if not self.finished or self.stop in ("length", "filter"):
            said = without_unanswered_calls(said)
        content = {"role": "model", "parts": said or [_EMPTY]}
        return parse_response({"candidates": [{"content": content}], "usageMetadata": self._usage})

    @property
    def usage(self) -> Usage | None:
        return read_usage(dumped(self._usage), USAGE)

    @property
    def open_calls(self) -> list[str]:
        """The names of the calls whose arguments are still to come."""
        return [text(call_in(part), "name") for part in self._open]

    def _add(self, part: Raw) -> None:
        """Add a part. A text is joined to the text before it if both are thoughts or neither is, and no signature has
        ended that; a piece of a call to the call that is open."""
        if key := key_of_part(part, CALL):
            label = text(call_in(part), "id")
            held = next((each for each in self._open if label and call_in(each).get("id") == label), None)
            held = held or (self._open[-1] if self._open else None)
            if held is None or begins_another(held, part):
                if not is_piece(part):
                    self._parts += [part] if part[key] else []
                    return
                self._open.append(held := {key: {}})
            at = next(at for at, each in enumerate(self._open) if each is held)
            self._open[at] = with_piece(held, part)
            if not is_piece(part):
                self._parts.append(self._open.pop(at))
            return
        last: Raw = self._parts[-1] if self._parts else {}
        if _is_text(last) and _is_text(part) and _thinks(last) == _thinks(part) and set(last) <= {"text", "thought"}:
            self._parts[-1] = {**last, **part, "text": last["text"] + part["text"]}
        else:
            self._parts.append(part)


_NOTHING = Assistant(shape="parts", dialect="gemini")
_EMPTY = {"text": ""}


def _is_text(part: Raw) -> bool:
    """Whether a part is a text."""
    return isinstance(part.get("text"), str) and kinds_of(part) == ["text"]


def _thinks(part: Raw) -> bool:
    """Whether a part is a thought."""
    return bool(part.get("thought"))
