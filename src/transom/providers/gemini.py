"""Google's Gemini API, through its SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google import genai
from google.genai import types

from transom.providers.sdk import SdkProvider

__all__ = ["Gemini"]


class Gemini(SdkProvider):
    """A provider for Google's Gemini API: "gemini:gemini-2.5-flash". The key is in GEMINI_API_KEY, else in
    GOOGLE_API_KEY. Settings and errors: see `SdkProvider`.

    Settings of a run, such as `temperature`, become fields of the call's `config`.
    """

    name = "gemini"
    dialect = "gemini"
    key_names = ("GEMINI_API_KEY", "GOOGLE_API_KEY")

    def _make_client(self, *, is_async: bool) -> Any:
        options = types.HttpOptions(base_url=self._base_url, retry_options=types.HttpRetryOptions(attempts=1))
        client = genai.Client(api_key=self._key or "none", http_options=options)
        return client.aio if is_async else client

    def _arguments(self, request: Mapping[str, Any], max_tokens: int | None, timeout: float) -> dict[str, Any]:
        settings = {key: value for key, value in request.items() if key not in {"contents", "config", "model"}}
        config: dict[str, Any] = {**request.get("config", {}), **settings}
        options = {**_fields(request.get("config", {}).get("http_options")), **_fields(config.get("http_options"))}
        config["http_options"] = {**options, "timeout": options.get("timeout") or int(timeout * 1000)}
        if max_tokens is not None:
            config["max_output_tokens"] = max_tokens
        return {"contents": request["contents"], "model": self.model, "config": config}

    def _call(self, client: Any, arguments: dict[str, Any], *, is_stream: bool) -> Any:
        models = client.models
        return (models.generate_content_stream if is_stream else models.generate_content)(**arguments)


def _fields(options: types.HttpOptions | Mapping[str, Any] | None) -> dict[str, Any]:
    """The fields of `http_options` that are set, given as an object or a mapping."""
    if isinstance(options, types.HttpOptions):
        return options.model_dump(exclude_none=True)
    return dict(options or {})
