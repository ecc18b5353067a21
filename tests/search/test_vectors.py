"""Search by meaning: vectors of a made-up embedder, fused with words."""

from __future__ import annotations

import pytest

from postgres_server import schema_for
from transom.errors import InvalidSetting
from transom.search import SearchFilters, search_index
from transom.search.embedders import FastEmbedder, Model2VecEmbedder
from transom.search.fusion import fused
from transom.stores import open_store
from transom.testing import talk

TOPICS = (("boat", "ship", "vessel"), ("cake", "bread"), ("tree",))


class Topics:
    """A vector says how often each topic comes up."""

    name = "topics"

    def __init__(self):
        self.seen = []

    def embed(self, texts, /):
        self.seen += texts
        return [[0.01 + sum(word in text for word in words) for words in TOPICS] for text in texts]


class Given:
    """Gives these vectors, whatever the texts are."""

    name = "topics"

    def __init__(self, *vectors):
        self.vectors = vectors

    def embed(self, texts, /):
        return self.vectors


@pytest.fixture(params=["memory:", "postgresql:", "postgresql: without pgvector"])
def filled(request, tmp_path):
    """Makes a store with a conversation of these texts, and its index."""
    url = "memory:"
    if request.param != "memory:":
        server = request.getfixturevalue("postgres")
        url_for = server.url if request.param == "postgresql:" else server.url_without_pgvector
        url = url_for(schema_for(str(tmp_path)))
    store = open_store(url)

    def fill(*texts):
        store.open("trip").append(talk(*texts), 0)
        return store, search_index(store)

    yield fill
    store.close()


def entries(hits):
    return [hit.entry for hit in hits]


def test_what_means_the_same_is_found(filled):
    _, index = filled("a boat at sea", "bread and butter", "an old tree")
    embedder = Topics()
    index.update(embedder=embedder)
    assert entries(index.search("vessel", embedder=embedder, limit=1)) == [0]
    assert index.search("vessel") == []


def test_words_and_meaning_are_fused(filled):
    _, index = filled("a cake for the captain", "a ship", "the captain of a ship")
    embedder = Topics()
    index.update(embedder=embedder)
    assert entries(index.search("captain boat", embedder=embedder))[0] == 2


def test_each_entry_is_embedded_once_and_long_texts_in_parts(filled):
    store, index = filled("a boat", "x" * 2_500)
    embedder = Topics()
    index.update(embedder=embedder)
    index.update(embedder=embedder)
    assert [len(text) for text in embedder.seen] == [6, 1_000, 1_000, 500]
    log = store.open("trip")
    log.append(talk("a", "b", "a cake")[2:], 2)
    index.update(embedder=embedder)
    assert embedder.seen[4:] == ["a cake"]


def test_calls_that_stop_early_are_repeated_until_all_entries_have_vectors(filled):
    _, index = filled(*(f"boat {n}" for n in range(80)))
    embedder = Topics()
    assert index.update() == 80
    calls = 1
    while index.update(embedder=embedder, most=32) >= 32:
        calls += 1
    assert calls == 3
    assert len(embedder.seen) == 80
    assert index.update(embedder=embedder, most=32) == 0


def test_filters_hold_for_vectors_and_forgotten_ones_are_gone(filled):
    store, index = filled("a boat", "bread")
    store.open("walk").append(talk("another boat"), 0)
    embedder = Topics()
    index.update(embedder=embedder)
    only = SearchFilters(conversations=("walk",))
    assert [hit.conversation for hit in index.search("ship", filters=only, embedder=embedder)] == ["walk"]
    assert index.search("ship", filters=SearchFilters(roles=("tool",)), embedder=embedder) == []
    assert index.search("ship", filters=SearchFilters(user_id="ann"), embedder=embedder) == []
    store.forget("walk")
    found = index.search("ship", embedder=embedder)
    assert {hit.conversation for hit in found} == {"trip"}


def test_an_embedder_that_gives_too_few_vectors(filled):
    _, index = filled("a boat", "a cake")

    class Few(Topics):
        def embed(self, texts, /):
            return super().embed(texts)[:1]

    with pytest.raises(InvalidSetting, match="embedder 'topics': 2 texts gave an array of 1 × 3"):
        index.update(embedder=Few())


def test_a_vector_that_is_not_finite(filled):
    _, index = filled("a boat")

    class Endless(Topics):
        def embed(self, texts, /):
            return [[1.0, float("nan")] for _ in texts]

    with pytest.raises(InvalidSetting, match="embedder 'topics': a vector has a number that is not finite"):
        index.update(embedder=Endless())


def test_rows_of_different_lengths(filled):
    _, index = filled("a boat", "a tree")

    class Ragged(Topics):
        def embed(self, texts, /):
            return [[1.0] * (1 + at) for at, _ in enumerate(texts)]

    with pytest.raises(InvalidSetting, match="embedder 'topics': 2 texts gave no array of numbers"):
        index.update(embedder=Ragged())


def test_an_entry_counts_by_its_nearest_part_and_equal_ones_come_in_order(filled):
    _, index = filled("bread", "a boat" + "." * 2_000 + "tree", "tree", "tree", "a tree, a boat")
    embedder = Topics()
    index.update(embedder=embedder)
    query = Given([0.0, 0.0, 1.0])
    assert entries(index.search("zzz", embedder=query)) == [1, 2, 3, 4, 0]


def test_a_vector_of_zeros_is_neither_near_nor_far(filled):
    _, index = filled("away", "nothing", "near")
    index.update(embedder=Given([-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]))
    assert entries(index.search("zzz", embedder=Given([1.0, 0.0]))) == [2, 1, 0]


def test_vectors_of_other_dimensions_are_left_out(filled):
    store, index = filled("a", "b")
    index.update(embedder=Given([1.0, 0.0], [0.0, 1.0]))
    log = store.open("trip")
    log.append(talk("a", "b", "c")[2:], 2)
    index.update(embedder=Given([1.0, 0.0, 0.0]))
    assert entries(index.search("zzz", embedder=Given([0.0, 1.0]))) == [1, 0]
    assert entries(index.search("zzz", embedder=Given([0.0, 1.0, 1.0]))) == [2]


@pytest.mark.parametrize("make", [FastEmbedder, lambda: Model2VecEmbedder("x")])
def test_a_library_that_is_missing_is_named(make):
    with pytest.raises(InvalidSetting, match=r"is not installed: (\S*uv )?pip install -e \S+\["):
        make()


def test_reciprocal_ranks_are_summed():
    assert fused([["a", "b"], ["b"]]) == [("b", 1 / 62 + 1 / 61), ("a", 1 / 61)]
    assert fused([]) == []
