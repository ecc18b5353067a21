"""The test kit, public: build logs in few words, with a fake clock, a fast counter and a log in memory."""

from transom.testing.builders import Item, call, hidden, image, result, says, talk, user
from transom.testing.fakes import Entries, FakeClock, MeteredCounter, MeteredLog, WordCounter

__all__ = [
    "Entries",
    "FakeClock",
    "Item",
    "MeteredCounter",
    "MeteredLog",
    "WordCounter",
    "call",
    "hidden",
    "image",
    "result",
    "says",
    "talk",
    "user",
]
