"""The limits of a request, and how near to them a window is. `core/budget_enforcer.py` enforces them."""

from __future__ import annotations

import re
from typing import cast

from msgspec import Struct

from transom.cache_prices import Prices
from transom.core.tokens import Size
from transom.errors import InvalidSetting, quote


class Budget(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limits of one request to the model. A limit that is None does not apply.

    - `context`: the tokens of the model's context window, as the provider counts them. If the model is known to have a
      smaller window, or a refusal has taught one, that counts instead.
    - `reserve`: how many of these stay free for the answer. It is not sent: a provider has a setting of its own for the
      longest answer.
    - `max_messages`: the maximum number of messages, those of the head included. They are counted before a dialect
      joins neighbours, so fewer may be sent. A call belongs to its message; but in OpenAI's Responses each text,
      reasoning and call of a turn is an item, and counts. So does a message that a dialect adds, such as OpenAI Chat's
      for the images and files of a turn's results.
    - `max_bytes`: the maximum number of UTF-8 bytes, base64 included, with 32 for each message and call beside its
      texts.
    - `max_images`: the maximum number of images.
    - `prices`: with prices, a compaction may come before the window is full, as soon as that is cheaper.

    Raises InvalidSetting if `reserve` leaves nothing of `context`, if a limit is not a whole number from 1 to 2⁶⁰
    (`reserve` and `max_images`: from 0), or if `prices` is not Prices or None.
    """

    context: int = 128_000
    reserve: int = 0
    max_messages: int | None = None
    max_bytes: int | None = None
    max_images: int | None = None
    prices: Prices | None = None

    def __post_init__(self) -> None:
        if not isinstance(cast("object", self.prices), Prices | None):
            raise InvalidSetting(f"budget: prices must be Prices or None, not {quote(self.prices)}")
        for name in ("context", "reserve", "max_messages", "max_bytes", "max_images"):
            value = getattr(self, name)
            least = 0 if name in {"reserve", "max_images"} else 1
            if value is None and name.startswith("max_"):
                continue
            if type(value) is not int or not least <= value <= UNLIMITED:
                bound = "at most 2^60" if type(value) is int and value > UNLIMITED else f"at least {least}"
                raise InvalidSetting(f"budget: {name} must be a whole number of {bound}, not {quote(value)}")
        if self.usable < 1:
            raise InvalidSetting(f"budget: reserve {self.reserve:,} leaves nothing of context {self.context:,}")

    @property
    def usable(self) -> int:
        """The tokens that a request may have: `context` − `reserve`."""
        return self.context - self.reserve

    def share(self, default: int, fraction: float) -> int:
        """The smaller of two numbers of tokens: `default`, and `fraction` × `usable`, rounded down. So a small window
        gets less."""
        return min(default, int(self.usable * fraction))

    def limits(self, scale: float = 1.0) -> Size:
        """All limits as one raw size, to be compared with sizes as we count them. A limit that is not set is 2⁶⁰.

        `scale`: the calibration (the provider's tokens for one of ours), by which the token limit is divided.
        """
        tokens = self.usable if scale == 1.0 else int(self.usable / scale)
        return Size(
            tokens,
            self.max_bytes if self.max_bytes is not None else UNLIMITED,
            self.max_images if self.max_images is not None else UNLIMITED,
            self.max_messages if self.max_messages is not None else UNLIMITED,
        )


_TOKENS = re.compile(r"(\d{1,15}(?:\.\d{1,6})?|\d{1,3}(?:[,_]\d{3}){1,4}) ?([km]?)", re.ASCII)
_TOO_LARGE = re.compile(r"[1-9](?:[,_]?\d){15,}(?:\.\d*)? ?[km]?", re.ASCII)
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000}


def parse_token_count(text: str, name: str = "tokens") -> int:
    """The number of tokens that a text names: "128000", "128,000", "128_000", "128k", "1.5m". A k is 1,000, an m
    1,000,000. Capitals, and blanks around the text or before the letter, are allowed.

    `name`: the name of the setting, for the error. Raises InvalidSetting for any other text, and for a number that is
    below 1, above 2⁶⁰, or not whole.
    """
    match = _TOKENS.fullmatch(text.strip().lower())
    tokens = 0.0 if match is None else float(re.sub("[,_]", "", match[1])) * _FACTORS[match[2]]
    if _TOO_LARGE.fullmatch(text.strip().lower()) or tokens > UNLIMITED:
        raise InvalidSetting(
            f"{name}: must be a whole number of tokens, such as 128000 or 128k, and at most 2^60, not {quote(text)}"
        )
    if tokens < 1 or tokens != int(tokens):
        raise InvalidSetting(f"{name}: must be a whole number of tokens, such as 128000 or 128k, not {quote(text)}")
    return int(tokens)


UNLIMITED = 1 << 60
"""Stands for a limit that is not set."""


def fits(size: Size, limit: Size) -> bool:
    """Whether a size is within every limit; one that equals a limit is. Both must be raw, as `Budget.limits` gives the
    limits."""
    few = size.images <= limit.images and size.messages <= limit.messages
    return few and size.tokens <= limit.tokens and size.bytes <= limit.bytes


def between(low: Size, high: Size, share: float) -> Size:
    """The size at `share` of the way from `low` to `high`, each of its numbers rounded down; `high` for a number that
    is not above that of `low`."""
    return Size(*(int(a + share * (b - a)) if b > a else b for a, b in zip(low, high, strict=True)))


def pressure(size: Size, fixed: Size, limit: Size) -> float:
    """How full the fullest limit is: (size − fixed) ÷ (limit − fixed), so 0 is empty, 1 full, above 1 over the limit.

    `fixed`: the part of the size that cannot be taken away. If `fixed` leaves no room under a limit, that limit counts
    as full (1) if the size is above `fixed` or `fixed` is above the limit, and else as empty (0).
    """
    return max(
        (used - base) / (top - base) if top > base else float(used > base or base > top)
        for used, base, top in zip(size, fixed, limit, strict=True)
    )
