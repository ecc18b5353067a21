"""Embedders for two libraries. Each library is an extra; the user names the model."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from transom.errors import InvalidSetting
from transom.extras import install_command

__all__ = ["FastEmbedder", "Model2VecEmbedder"]


class FastEmbedder:
    """An embedder with a model of the library fastembed (`transom[fastembed]`), by the name that the library gives the
    model. Making an embedder loads the model, which the library may have to download.

    `settings`: passed on to `fastembed.TextEmbedding`, for example `specific_model_path`. Raises InvalidSetting if the
    library is not installed.
    """

    def __init__(self, model: str = "BAAI/bge-small-en-v1.5", **settings: Any) -> None:
        self.name = f"fastembed:{model}"
        self._model = _library("fastembed").TextEmbedding(model_name=model, **settings)

    def embed(self, texts: Sequence[str], /) -> Any:
        """Return one vector for each text: a list of arrays."""
        return list(self._model.embed(list(texts)))


class Model2VecEmbedder:
    """An embedder with a model of the library model2vec (`transom[model2vec]`): a folder, or a name of the Hugging Face
    hub. Making one loads the model, which the library may have to download.

    Raises InvalidSetting if the library is not installed.
    """

    def __init__(self, model: str) -> None:
        self.name = f"model2vec:{model}"
        self._model = _library("model2vec").StaticModel.from_pretrained(model)

    def embed(self, texts: Sequence[str], /) -> Any:
        """Return one vector for each text: an array of shape (texts, dimensions)."""
        return self._model.encode(list(texts))


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as problem:
        raise InvalidSetting(f"{name} is not installed: {install_command(name)}") from problem
