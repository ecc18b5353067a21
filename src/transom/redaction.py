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
from transom.core.secret_index import GENERAL_KINDS, SecretIndex, Secrets
from transom.errors import InvalidSetting, quote
from transom.extras import install_command

__all__ = ["Redactor", "Span", "redactor", "secrets_in", "without_keys"]

SECRETS = "secrets"

MIN_SECRET = 6
"""A secret with fewer characters is redacted only where it was found, not everywhere the same characters occur."""

MIN_KNOWN_KEY = 4
"""The fewest characters of a known key that is searched for. A shorter one could be part of any word."""

MAX_CACHED_TEXTS = 50_000
"""The maximum number of texts whose secrets are cached."""

PIECE_CHARACTERS, OVERLAP_CHARACTERS = 2_000, 300
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
    """Replaces secrets by what they are: `[redacted: AWS access key]`. Call it with a text: it is a
    `core.redact_derived_text.Redact`. `find` finds them: a function that takes a text and returns either the spans of
    its secrets (start, end, kind) or the redacted text itself. It must return the same for equal texts."""

    def __init__(self, find: Find) -> None:
        self._find = find
        self._known: dict[bytes, tuple[tuple[str, str], ...]] = {}

    def __call__(self, text: str, *known: Secrets) -> str:
        """Return the text with its own secrets redacted, and those that are known from other texts: each of `known` is
        what `secrets` returns, or a `SecretIndex`.

        If `find` returns a text, that is the result, and `known` is not used. Else each span is replaced once, and its
        name is not searched again. The time grows evenly with the text and the secrets; of a `SecretIndex`, with the
        text alone. Raises InvalidSetting if `find` returns a span that is not within the text.
        """
        found = self._find(text)
        if isinstance(found, str):
            return found
        indexes = [each if isinstance(each, SecretIndex) else SecretIndex(each) for each in known]
        quoted = [Span(*place) for index in indexes for place in index.quoted(text)]
        return _replaced(text, _disjoint([*_checked(found, text), *quoted]))

    def secrets(self, texts: Iterable[str]) -> dict[str, str]:
        """Return the secrets in these texts, each with its kind. Secrets of fewer than 6 characters (`MIN_SECRET`) are
        left out. Empty if `find` returns texts instead of spans. Raises InvalidSetting if `find` returns a span that is
        not within its text."""
        return {value: kind for text in texts for value, kind in self._secrets(text)}

    def _secrets(self, source: str) -> tuple[tuple[str, str], ...]:
        """The secrets of a text, each with its kind, cached."""
        key = blake2b(source.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        known = self._known.get(key)
        if known is None:
            found = self._find(source)
            spans = [] if isinstance(found, str) else _checked(found, source)
            values = {source[span.start : span.end]: span.kind for span in spans if span.end - span.start >= MIN_SECRET}
            if len(self._known) >= MAX_CACHED_TEXTS:
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


def without_keys(text: str, *known: str) -> str:
    """Return a text of a provider or of an SDK, such as an error, without keys: those that are `known`, and what looks
    like one, become `[redacted: …]`. It needs no extra. A known key of fewer than 4 characters (`MIN_KNOWN_KEY`) is
    left; an empty one does nothing."""
    spans = [*_matches(_KEYS, text)]
    for key in filter(None, known):
        if len(key) >= MIN_KNOWN_KEY:
            spans += [Span(found.start(), found.end(), "API key") for found in re.finditer(re.escape(key), text)]
    return _replaced(text, _disjoint(spans))


def secrets_in(text: str) -> list[Span]:
    """The secrets in a text, in order, without overlaps. Raises InvalidSetting if detect-secrets is not installed."""
    spans = list[Span]()
    spans += [*_matches(_KEYS, text), *_matches(_ASSIGNED, text)]
    for line in _LINES.finditer(text):
        for start in range(
            line.start(), max(line.start() + 1, line.end() - OVERLAP_CHARACTERS), PIECE_CHARACTERS - OVERLAP_CHARACTERS
        ):
            piece = text[start : min(start + PIECE_CHARACTERS, line.end())]
            if _LIKELY.search(piece):
                spans += [Span(start + a, start + b, kind) for a, b, kind in _detected(piece)]
    return _disjoint(spans)


_LINES = re.compile(r"(?:[^\s]|[^\S\r\n](?![^\S\r\n]{15}))+")
"""What the detectors see at once: a line, or what stands between 16 blanks and more in one. No secret has such a gap,
and the patterns of detect-secrets take cubic time on blanks."""
_WORDS = r"key|pass|pwd|secret|token|auth|cred|cert"
_LIKELY = re.compile(rf"(?i){_WORDS}|://|[A-Za-z0-9+/_=.-]{{16}}")
_BEGIN, _END = (rf"-----{side} [A-Z ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----" for side in ("BEGIN", "END"))
_UNQUOTED = r"[\w!@#%^&*+~?-]"
_MIXED = rf"(?={_UNQUOTED}{{0,400}}?\d)(?={_UNQUOTED}{{0,400}}?[^\W\d_]){_UNQUOTED}{{6,400}}={{0,2}}"
"""A value without quotes that has a letter and a digit."""
_QUOTE = r"(?:\\{0,7}[\"'])?"
"""A quotation mark, as it stands in text and in JSON within JSON."""
_NAMES_OF_PASSWORDS = (
    "password|passwd|passphrase|passwort|pwd|pw|contraseña|mot de passe|senha|пароль|密码|密碼|パスワード|비밀번호"
)
_PREFIXED = re.compile(r"(?<![A-Za-z0-9])((?:(?:sk|pk)[-_]|gsk_|xai-|AIza|hf_|npm_|pypi-|nvapi-)[A-Za-z0-9_-]{12,400})")
_KEYS = (
    ("private key", re.compile(rf"{_BEGIN}(?:[A-Za-z0-9+/=\s\\:,.()-]{{0,4000}}?{_END}|[A-Za-z0-9+/=\s\\]{{0,4000}})")),
    ("API key", _PREFIXED),
    ("API key", re.compile(r"(?i)\bapi[-_ ]?key[\"']?\s{0,4}[:=]\s{0,4}[\"']?([^\s\"',;<>]{8,400})")),
    ("bearer token", re.compile(r"(?i)\bbearer\s{1,4}([A-Za-z0-9._~+/-]{16,2000}=*)")),
    ("password", re.compile(r"://[^\s/:@]{0,100}:([^\s/@]{3,200})@")),
    ("token", re.compile(r"(?i)[?&](?:access_|auth_|id_)?(?:token|key|sig|signature)=([^\s\"'&#<>]{12,400})")),
    (
        "credentials",
        re.compile(
            rf"(?i)\bauthorization{_QUOTE}\s{{0,4}}[:=]\s{{0,4}}{_QUOTE}basic\s{{1,4}}([A-Za-z0-9+/_-]{{8,2000}}={{0,2}})"
        ),
    ),
    ("AWS Access Key", re.compile(r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])")),
    ("GitHub Token", re.compile(r"(?<![A-Za-z0-9_])(?:gh[pousr]|github_pat)_[A-Za-z0-9_]{20,255}")),
    ("GitLab Token", re.compile(r"(?<![A-Za-z0-9_-])glpat-[A-Za-z0-9_-]{20,255}")),
    ("Slack Token", re.compile(r"(?<![A-Za-z0-9_-])xox[abeprs]-[A-Za-z0-9-]{20,255}")),
    ("JSON Web Token", re.compile(r"(?<![\w.-])eyJ[\w-]{8,4000}\.[\w-]{8,8000}(?:\.[\w-]{0,4000})?")),
)
"""Keys of providers, as they stand in headers, in errors and in text; credentials in an address. Of the guessed kinds
(`_GUESSED`), only a value that looks random (`_is_random`) is a key. A parameter, or the name of a model or a branch,
does not look random."""

_ASSIGNED = (
    (
        "password",
        re.compile(
            rf"(?i)(?:(?<![A-Za-z_])|(?<=_)(?=\w{{2,16}}{_QUOTE}\s{{0,4}}:))(?:{_NAMES_OF_PASSWORDS}){_QUOTE}"
            rf"\s{{0,4}}[:=：＝]\s{{0,4}}(?:\\{{1,7}}[\"'])?({_MIXED})"
            r"(?=[.,;:!?)\"'»}\]]{0,3}(?:\s|\Z)|[;&<\"'\\])"
        ),
    ),
    (
        "password",
        re.compile(
            r"(?i)(?<![\w-])(?:--?(?:password|passwd|passphrase|pass|pwd)"
            r"|(?:-u|--user)[= ]\s{0,3}[\"']?[^\s:\"']{1,80}(?=:))"
            rf"[= :]\s{{0,3}}[\"']?({_MIXED})(?=[\"'),;]{{0,3}}(?:\s|\Z)|\\)"
        ),
    ),
    (
        "secret of an environment",
        re.compile(
            r"\b[A-Z0-9_]{0,60}"
            r"(?:PASSWORD|PASSWD|SECRET|TOKEN(?![A-Z0-9_]{0,60}=\d{1,12}(?:\s|\Z))|API_?KEY|ACCESS_?KEY)[A-Z0-9_]{0,60}"
            r"=([^\s\"'$<{]{5,400}[^\s\"'$<{.,;:)\]}])"
        ),
    ),
)
"""Passwords without quotes that have a letter and a digit, and assignments in shells."""

_WORD = re.compile(r"[A-Za-z0-9]{8,}")


def _is_random(value: str, *, needs_word: bool) -> bool:
    """Whether a value looks as if it was drawn at random: it has a digit, or a word of at least 24 letters and digits.

    `needs_word`: a digit counts only in a word of at least 8 characters that has letters too, because names of models
    have versions and dates.
    """
    words = [found[0] for found in _WORD.finditer(value)]
    if any(len(word) >= 24 for word in words):
        return True
    if needs_word:
        return any(not word.isalpha() and not word.isdigit() for word in words)
    return any(map(str.isdigit, value))


def _matches(patterns: Iterable[tuple[str, re.Pattern[str]]], text: str) -> Iterator[Span]:
    for kind, pattern in patterns:
        for match in pattern.finditer(text):
            start, end = match.span(1 if match.lastindex else 0)
            if kind not in _GUESSED or _is_random(text[start:end], needs_word=pattern is _PREFIXED or kind == "token"):
                yield Span(start, end, kind)


_GUESSED = frozenset(("API key", "bearer token", "token"))
"""Kinds whose pattern also fits ordinary words."""

_SKIPPED = frozenset(("Base64 High Entropy String", "Hex High Entropy String", "Public IP (ipv4)", "Private Key"))
"""Detectors that are not used: they find every hash and address in a log, or only the first line of a key."""

_KEYWORD = "Secret Keyword"


def _detected(line: str) -> Iterator[Span]:
    """The secrets that the detectors find in a line."""
    for detector in _detectors():
        if detector.secret_type == _KEYWORD:
            for value in set(detector.analyze_string(line)):
                if len(value) >= MIN_SECRET and not _is_harmless(value, line):
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
        raise InvalidSetting(f'redact: "secrets" needs detect-secrets: {install_command("redact")}') from None
    found = get_mapping_from_secret_type_to_class()
    return tuple(found[kind]() for kind in sorted(found) if kind not in _SKIPPED)


def _checked(found: Iterable[object], text: str) -> list[Span]:
    """The caller's spans, in order."""
    spans = list[Span]()
    if not isinstance(cast("object", found), Iterable):
        raise InvalidSetting(f"redact: must return a text, or spans (start, end, kind), not {quote(found)}")
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
            is_better = (span.kind not in GENERAL_KINDS, is_longer) > (last.kind not in GENERAL_KINDS, False)
            kind = span.kind if is_better else last.kind
            out[-1] = Span(last.start, max(last.end, span.end), kind)
        else:
            out.append(span)
    return out


def _replaced(text: str, spans: Iterable[Span]) -> str:
    """A text with each span replaced by what it is."""
    pieces, at = list[str](), 0
    for span in spans:
        name = texts.redacted(span.kind[:KIND_CHARACTERS])
        if not _is_named(text, span, name):
            pieces += [text[at : span.start], name]
            at = span.end
    return "".join([*pieces, text[at:]])


def _is_named(text: str, span: Span, name: str) -> bool:
    """Whether the span is a part of its own name, where the text has that already, or of the words with which every
    name begins. (Any other name may be a forged one, with the secret in it.)"""
    for known in (name, texts.redacted("").removesuffix("]")):
        at = text.find(known, max(0, span.end - len(known)), span.start + len(known))
        if 0 <= at <= span.start and span.end <= at + len(known):
            return True
    return False
