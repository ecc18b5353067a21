"""Redaction: replaces secrets, such as keys and passwords, where text leaves the message in which it was said.

`redact="secrets"` finds secrets with the detectors of detect-secrets (`pip install "transom[redact]"`) and a few
patterns of our own. A function of the caller's may find anything else. Everything here is pure.
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
"""Secrets of at least this number of characters are also redacted in part, because a quote may begin or end inside
one."""

SEED = 12
"""The shortest part of a long secret that is redacted."""

SHORT = 6
"""A secret with fewer characters is redacted only where it was found, not everywhere the same characters occur."""

KNOWN = 50_000
"""The maximum number of texts whose secrets are cached."""

LINE, OVERLAP = 2_000, 300
"""A longer line is searched in pieces of this number of characters, so that no pattern takes long. They overlap, so
that a secret at an edge is found."""

KIND_CHARACTERS = 40
"""The maximum number of characters of a secret's kind that are shown."""


class Span(NamedTuple):
    """A secret within a text: its start and end in characters, and what it is ("AWS access key")."""

    start: int
    """Where it begins, in characters of the text."""
    end: int
    """Where it ends, in characters; the character at `end` does not belong to it."""
    kind: str
    """What it is, as the redacted text says it."""


Find = Callable[[str], str | Iterable[tuple[int, int, str]]]
"""A function of the caller's. It takes a text and returns the redacted text, or the spans (start, end, kind) that must
not be shown. It must return the same for equal texts."""


class Redactor:
    """Replaces secrets by what they are: `[redacted: AWS access key]`. `find` finds them. It is a
    `core.redact.Redact`."""

    def __init__(self, find: Find) -> None:
        self._find = find
        self._known: dict[bytes, tuple[tuple[str, str], ...]] = {}

    def __call__(self, text: str, sources: Iterable[str] = ()) -> str:
        """Return the text with its own secrets redacted, and those of the texts that it quotes (`sources`)."""
        secrets = {value: kind for source in sources for value, kind in self._secrets(source)}
        found = self._find(text)
        shown = found if isinstance(found, str) else _replaced(text, _checked(found, text))
        for value in sorted(secrets, key=lambda value: (-len(value), value)):
            shown = _without(shown, value, texts.redacted(secrets[value]))
        return shown

    def _secrets(self, source: str) -> tuple[tuple[str, str], ...]:
        """The secrets of a source text, each with its kind, cached. Empty if `find` returns a text instead of spans."""
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
"""What a `redact` setting may be."""


def redactor(given: object) -> Redactor | None:
    """The redactor for a `redact` setting: "secrets", a function of a text (`Find`), a Redactor, or None for none.

    Raises InvalidSetting for any other value, and for "secrets" if detect-secrets is not installed.
    """
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
    """The secrets in a text, in order, without overlaps."""
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
_UNQUOTED = r"[\w!@#%^&*+~?-]"
_OWN = (
    ("private key", re.compile(rf"{_BEGIN}(?:[A-Za-z0-9+/=\s\\:,.()-]{{0,4000}}?{_END}|[A-Za-z0-9+/=\s\\]{{0,4000}})")),
    ("API key", re.compile(r"(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{20,400}")),
    ("bearer token", re.compile(r"(?i)\bbearer\s{1,4}([A-Za-z0-9._~+/-]{16,2000}=*)")),
    (
        "password",
        re.compile(
            r"(?i)\bpass(?:word|wd|phrase)\s{0,4}[:=]\s{0,4}"
            rf"(?={_UNQUOTED}{{0,400}}?\d)(?={_UNQUOTED}{{0,400}}?[a-z])({_UNQUOTED}{{6,400}})"
            r"(?=[.,;:!?)\"'»]{0,3}(?:\s|\Z))"
        ),
    ),
    (
        "secret of an environment",
        re.compile(
            r"\b[A-Z0-9_]{0,60}(?:PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY|ACCESS_?KEY)[A-Z0-9_]{0,60}=([^\s\"'$<{]{5,400}[^\s\"'$<{.,;:)\]}])"
        ),
    ),
)
"""Secrets that the detectors do not find: the body of a private key, keys of model providers, headers, passwords
without quotes that have a letter and a digit, assignments in shells."""

_SKIPPED = frozenset(("Base64 High Entropy String", "Hex High Entropy String", "Public IP (ipv4)", "Private Key"))
"""Detectors that are not used: they find every hash and address in a log, or only the first line of a key."""

_KEYWORD = "Secret Keyword"

_GENERAL = frozenset(("secret", "secret of an environment"))
"""Kinds that say little; a better one replaces them."""


def _detected(line: str) -> Iterator[Span]:
    """The secrets that the detectors find in a line."""
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
    """Whether the value behind "password =" is not a secret: a reference, a template, a series of letters."""
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
    """The detectors of detect-secrets that are used. Raises InvalidSetting if it is not installed."""
    try:
        from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class  # noqa: PLC0415 - an extra
    except ImportError:
        raise InvalidSetting("redact: \"secrets\" needs detect-secrets: pip install 'transom[redact]'") from None
    found = get_mapping_from_secret_type_to_class()
    return tuple(found[kind]() for kind in sorted(found) if kind not in _SKIPPED)


def _checked(found: Iterable[object], text: str) -> list[Span]:
    """The caller's spans, in order. Raises InvalidSetting for a value that is not a span (start, end, kind) within the
    text."""
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
    """Spans in order; overlapping ones are joined, with the kind of the longest that is not a general one."""
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
    """A text with each span replaced by what it is."""
    pieces, at = list[str](), 0
    for span in spans:
        pieces += [text[at : span.start], texts.redacted(span.kind[:KIND_CHARACTERS])]
        at = span.end
    return "".join([*pieces, text[at:]])


def _without(text: str, value: str, name: str) -> str:
    """A text with a secret replaced by `name`. Of a long secret, parts of `SEED` or more characters are replaced
    too."""
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
