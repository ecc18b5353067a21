"""Secrets that are known from other texts, and an index that finds them in a text, also if only a part of one is
quoted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

MIN_LONG_SECRET = 16
"""Secrets of at least this number of characters are also redacted in part, because a quote may begin or end inside
one."""

MIN_QUOTED_PART = 12
"""The shortest part of a long secret that is redacted."""

GENERAL_KINDS = frozenset(("secret", "secret of an environment"))
"""Names that say little about a secret: if a secret was added under another name too, that one counts."""

Secrets = Mapping[str, str]
"""Secrets, each with the name that stands in its place."""

NO_SECRETS: Secrets = {}


class SecretIndex(Secrets):
    """A mapping of secrets to their names, with an index that finds them in a text (`quoted`). The time of a search
    does not grow with the number of secrets.

    A secret may be added more than once, and is known until it was removed as often. If it was added under several
    names, a specific name wins over a general one (`GENERAL_KINDS`), and then the first in the alphabet; the order in
    which they came does not matter.
    """

    def __init__(self, found: Secrets = NO_SECRETS) -> None:
        self._values = _Names()
        self._pieces: dict[int, _Names] = {}
        self.add(found)

    def __getitem__(self, value: str) -> str:
        return self._values.names[value]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values.names)

    def __len__(self) -> int:
        return len(self._values.names)

    def add(self, found: Secrets) -> None:
        """Add the secrets of one text."""
        for value, name in found.items():
            self._values.add(value, name)
            for piece in _pieces(value):
                self._pieces.setdefault(len(piece), _Names()).add(piece, name)

    def remove(self, found: Secrets) -> None:
        """Remove the secrets of one text. They must have been added, each under the same name."""
        for value, name in found.items():
            self._values.remove(value, name)
            for piece in _pieces(value):
                self._pieces[len(piece)].remove(piece, name)

    def quoted(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield the places where the text has a known secret: start, end (in characters) and name.

        A secret of fewer than 16 characters (`MIN_LONG_SECRET`) is found whole. Of a longer one, every 12 characters in
        a row (`MIN_QUOTED_PART`) are found, also where it stands whole. So places overlap, and they are not in the
        order of the text: merge them before you replace any.
        """
        for length, known in self._pieces.items():
            for at in range(len(text) - length + 1) if known.names else ():
                if (name := known.names.get(text[at : at + length])) is not None:
                    yield at, at + length, name


def _pieces(value: str) -> Iterator[str]:
    """The texts by which a secret is known: itself, or each part of a long one, once."""
    if len(value) < MIN_LONG_SECRET:
        return iter((value,))
    return iter({value[at : at + MIN_QUOTED_PART] for at in range(len(value) - MIN_QUOTED_PART + 1)})


class _Names:
    """Texts with a name each, in `names`: of several names of a text the best one."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self._added: dict[str, Counter[str]] = {}  # how often each text was added under each name

    def add(self, text: str, name: str) -> None:
        counts = self._added.setdefault(text, Counter())
        counts[name] += 1
        self.names[text] = _best(counts)

    def remove(self, text: str, name: str) -> None:
        counts = self._added[text] = self._added[text] - Counter([name])
        if counts:
            self.names[text] = _best(counts)
        else:
            del self.names[text], self._added[text]


def _best(names: Iterable[str]) -> str:
    return min(names, key=lambda name: (name in GENERAL_KINDS, name))
