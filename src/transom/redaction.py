"""Redaction: what must not leave the messages where it was said, such as keys and passwords.

`redact="secrets"` finds secrets with the detectors of detect-secrets (`pip install "transom[redact]"`) and a few
patterns of our own. A function of the caller's finds whatever it likes. Everything here is pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from hashlib import blake2b
from typing import Any, Literal, NamedTuple, cast

from transom import texts
from transom.errors import InvalidSetting, quote

__all__ = ["Redactor", "Span", "redactor", "secrets_in"]

SECRETS = "secrets"

LONG = 16
"""From this length on, a part of a secret is a secret: a quote may begin or end within one."""

SEED = 12
"""The shortest part of a long secret that is redacted."""

SHORT = 6
"""A shorter secret is redacted where it was found, and not wherever the same letters are."""

KNOWN = 50_000
"""Texts whose secrets are remembered."""

LINE, OVERLAP = 2_000, 300
"""A longer line is searched in pieces, so that no pattern takes long. A secret in the overlap is found."""

KIND_CHARACTERS = 40


class Span(NamedTuple):
    """A secret within a text, and what it is ("AWS access key")."""

    start: int
    end: int
    kind: str


Find = Callable[[str], str | Iterable[tuple[int, int, str]]]
"""A function of the caller's: from a text to the redacted text, or to the spans of it that must not be shown, each with
what it is. Equal texts must have equal results."""


class Redactor:
    """Names secrets instead of showing them: `[redacted: AWS access key]`. It is a `core.redact.Redact`."""

    def __init__(self, find: Find) -> None:
        self._find = find
        self._known: dict[bytes, tuple[tuple[str, str], ...]] = {}

    def __call__(self, text: str, sources: Iterable[str] = ()) -> str:
        """The text without secrets: its own, and those of the texts that it quotes."""
        secrets = {value: kind for source in sources for value, kind in self._secrets(source)}
        found = self._find(text)
        shown = found if isinstance(found, str) else _replaced(text, _checked(found, text))
        for value in sorted(secrets, key=lambda value: (-len(value), value)):
            shown = _without(shown, value, texts.redacted(secrets[value]))
        return shown

    def _secrets(self, source: str) -> tuple[tuple[str, str], ...]:
        """The secrets of a text, each with its kind; none if the caller's function does not say which they are."""
        key = blake2b(source.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        known = self._known.get(key)
        if known is None:
            found = self._find(source)
            spans = [] if isinstance(found, str) else _checked(found, source)
            values = {source[span.start : span.end]: span.kind for span in spans if span.end - span.start >= SHORT}
            if len(self._known) >= KNOWN:
                self._known.clear()
            known = self._known[key] = tuple(values.items())
        return known


Redacting = Literal["secrets"] | Find | Redactor
"""A `redact` setting."""


def redactor(given: object) -> Redactor | None:
    """The redactor of a `redact` setting: "secrets", a function, or None for none. Raises InvalidSetting."""
    if given is None:
        return None
    if isinstance(given, Redactor):
        return given
    if given == SECRETS:
        _detectors()  # raises now what it would raise in the middle of a plan
        return Redactor(secrets_in)
    if callable(given):
        return Redactor(cast("Find", given))
    raise InvalidSetting(f'redact: must be "secrets", a function of a text, or None, not {quote(given)}')


def secrets_in(text: str) -> list[Span]:
    """The secrets of a text, in order."""
    spans = list[Span]()
    for kind, pattern in _OWN:
        for match in pattern.finditer(text):
            start, end = match.span(1 if match.lastindex else 0)
            spans.append(Span(start, end, kind))
    for line in _LINES.finditer(text):
        for start in range(line.start(), max(line.start() + 1, line.end() - OVERLAP), LINE - OVERLAP):
            piece = text[start : min(start + LINE, line.end())]
            if _LIKELY.search(piece):
                spans += [Span(start + a, start + b, kind) for a, b, kind in _detected(piece)]
    return _disjoint(spans)


_LINES = re.compile(r"[^\r\n]+")
_WORDS = r"key|pass|pwd|secret|token|auth|cred|cert"
_LIKELY = re.compile(rf"(?i){_WORDS}|://|[A-Za-z0-9+/_=.-]{{16}}")
_BEGIN, _END = (rf"-----{side} [A-Z ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----" for side in ("BEGIN", "END"))
_OWN = (
    ("private key", re.compile(rf"{_BEGIN}(?:[A-Za-z0-9+/=\s\\:,.()-]{{0,4000}}?{_END}|[A-Za-z0-9+/=\s\\]{{0,4000}})")),
    ("API key", re.compile(r"(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{20,400}")),
    ("bearer token", re.compile(r"(?i)\bbearer\s{1,4}([A-Za-z0-9._~+/-]{16,2000}=*)")),
    (
        "secret of an environment",
        re.compile(
            r"\b[A-Z0-9_]{0,60}(?:PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY|ACCESS_?KEY)[A-Z0-9_]{0,60}=([^\s\"'$<{]{5,400}[^\s\"'$<{.,;:)\]}])"
        ),
    ),
)
"""What the detectors leave out: the body of a private key, keys of model providers, headers, assignments in shells."""

_SKIPPED = frozenset(("Base64 High Entropy String", "Hex High Entropy String", "Public IP (ipv4)", "Private Key"))
"""Detectors that are not used: they find every hash and address in a log; and a key's first line alone."""

_KEYWORD = "Secret Keyword"

_GENERAL = frozenset(("secret", "secret of an environment"))
"""Kinds that say little."""


def _detected(line: str) -> Iterator[Span]:
    """What the detectors find in a line."""
    for detector in _detectors():
        if detector.secret_type == _KEYWORD:
            for value in set(detector.analyze_string(line)):
                if len(value) >= SHORT and not _is_harmless(value, line):
                    yield from (
                        Span(match.start(), match.end(), "secret") for match in re.finditer(re.escape(value), line)
                    )
            continue
        for pattern in detector.denylist:
            for match in pattern.finditer(line):
                inner = max(range(pattern.groups + 1), key=lambda group: group and len(match[group] or ""))
                start, end = match.span(inner if len(match[inner] or "") >= 8 else 0)
                yield Span(start, end, str(detector.secret_type))


def _is_harmless(value: str, line: str) -> bool:
    """Whether what stands behind "password =" is no value: a reference, a template, a series of letters."""
    from detect_secrets.filters import heuristic  # noqa: PLC0415 - an extra

    return (
        heuristic.is_indirect_reference(line)
        or heuristic.is_templated_secret(value)
        or heuristic.is_prefixed_with_dollar_sign(value)
        or heuristic.is_not_alphanumeric_string(value)
        or heuristic.is_sequential_string(value)
    )


@cache
def _detectors() -> tuple[Any, ...]:
    """The detectors of detect-secrets. Raises InvalidSetting without the extra."""
    try:
        from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class  # noqa: PLC0415 - an extra
    except ImportError:
        raise InvalidSetting("redact: \"secrets\" needs detect-secrets: pip install 'transom[redact]'") from None
    found = get_mapping_from_secret_type_to_class()
    return tuple(found[kind]() for kind in sorted(found) if kind not in _SKIPPED)


def _checked(found: Iterable[object], text: str) -> list[Span]:
    """Spans of the caller's, in order. Raises InvalidSetting for what is none."""
    spans = list[Span]()
    for each in found:
        match each:
            case (int(start), int(end), str(kind)) if 0 <= start < end <= len(text):
                spans.append(Span(start, end, "".join(c if c.isprintable() and c not in "[]" else " " for c in kind)))
            case _:
                raise InvalidSetting(
                    f"redact: must return a text, or spans (start, end, kind) within the text, not {quote(each)}"
                )
    return _disjoint(spans)


def _disjoint(spans: Iterable[Span]) -> list[Span]:
    """Spans in order; those that overlap are one, with the kind of the longest that is not a general one."""
    out = list[Span]()
    for span in sorted(spans, key=lambda span: (span.start, -span.end, span.kind)):
        if out and span.start < out[-1].end:
            last = out[-1]
            is_longer = span.end - span.start > last.end - last.start
            is_better = (span.kind not in _GENERAL, is_longer) > (last.kind not in _GENERAL, False)
            kind = span.kind if is_better else last.kind
            out[-1] = Span(last.start, max(last.end, span.end), kind)
        else:
            out.append(span)
    return out


def _replaced(text: str, spans: Iterable[Span]) -> str:
    pieces, at = list[str](), 0
    for span in spans:
        pieces += [text[at : span.start], texts.redacted(span.kind[:KIND_CHARACTERS])]
        at = span.end
    return "".join([*pieces, text[at:]])


def _without(text: str, value: str, name: str) -> str:
    """A text without a secret; of a long one, without any part of `SEED` characters or more."""
    if len(value) < LONG:
        return text.replace(value, name)
    at = 0
    while at + SEED <= len(value):
        place = text.find(value[at : at + SEED])
        if place < 0:
            at += 1
            continue
        length = SEED
        while text[place + length : place + length + 1] == value[at + length : at + length + 1] != "":
            length += 1
        text = text[:place] + name + text[place + length :]
    return text
