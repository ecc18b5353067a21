"""A cache of limited size: what was not used for longest goes."""

from __future__ import annotations

from transom.stores.lru_cache import LruCache


def kept(cache: LruCache[str, int], *keys: str) -> list[str]:
    return [key for key in keys if cache.get(key) is not None]


def test_values_that_were_not_used_for_longest_are_dropped() -> None:
    cache = LruCache[str, int](30)
    for number, key in enumerate("abc"):
        cache.put(key, number, 10)
    assert cache.get("a") == 0
    cache.put("d", 3, 10)
    assert kept(cache, *"abcd") == ["a", "c", "d"]
    cache.put("d", 4, 10)  # in place of the older one, not beside it
    assert kept(cache, *"abcd") == ["a", "c", "d"]
    assert cache.get("d") == 4
    cache.put("e", 5, 31)
    assert kept(cache, *"abcde") == []


def test_what_is_removed_makes_room() -> None:
    cache = LruCache[str, int](20)
    cache.put("a", 0, 10)
    cache.put("b", 1, 10)
    cache.drop("a")
    cache.drop("x")
    cache.put("c", 2, 10)
    assert kept(cache, *"abc") == ["b", "c"]
    cache.clear()
    cache.put("d", 3, 20)
    assert kept(cache, *"abcd") == ["d"]
