"""`ollama:MODEL@URL` and `openai:MODEL@URL`: vectors from a server, named by the config and by nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http.client import HTTPException, HTTPMessage
from typing import IO, Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

import numpy as np

from okl.errors import ConfigError, Unavailable
from okl.providers.base import Kind, Vectors, readable, unit
from okl.providers.uri import Uri

_BATCH = 32
_SECONDS = 60
_OLLAMA = "http://127.0.0.1:11434"


class Remote:
    """A model on a server that speaks Ollama's `/api/embed` or OpenAI's `/embeddings`."""

    def __init__(self, uri: Uri, environment: Mapping[str, str]) -> None:
        self._model, _, base = uri.name.partition("@")
        self._server = (base or _OLLAMA).rstrip("/")
        self._path = "/api/embed" if uri.scheme == "ollama" else "/embeddings"
        self._headers = {"Content-Type": "application/json", **_authorization(uri, environment)}
        self._prefixes = {"query": uri.options.get("query_prefix", ""), "passage": uri.options.get("passage_prefix", "")}
        self.id = f"{uri.scheme}/{self._model}"
        self.max_tokens = int(uri.options.get("max_tokens", "512"))
        self.dim = self._asked(["a"]).shape[1]

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """The vectors (n, dim); Unavailable where the server does not answer as it should."""
        given = [self._prefixes[kind] + readable(text) or " " for text in texts]
        vectors = np.zeros((len(given), self.dim), np.float32)
        for start in range(0, len(given), _BATCH):
            found = self._asked(given[start : start + _BATCH])
            if found.shape[1] != self.dim:
                raise Unavailable(f"The server {self._server} gave vectors of {found.shape[1]} instead of {self.dim} numbers.")
            vectors[start : start + len(found)] = found
        return unit(vectors)

    def _asked(self, texts: list[str]) -> Vectors:
        """The server's own vectors of a few texts."""
        answer = self._post({"model": self._model, "input": texts})
        try:
            rows = answer["embeddings"] if "embeddings" in answer else _in_order(answer["data"])
            vectors = np.array(rows, np.float32)
        except (KeyError, TypeError, ValueError) as error:
            raise Unavailable(f"The server {self._server} answered without vectors.") from error
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise Unavailable(f"The server {self._server} gave {len(vectors)} vectors for {len(texts)} texts.")
        return vectors

    def _post(self, body: dict[str, Any]) -> Any:
        request = Request(self._server + self._path, json.dumps(body).encode(), self._headers)  # noqa: S310 - http(s), checked with the URI
        try:
            with build_opener(_NoRedirect).open(request, timeout=_SECONDS) as answer:
                return json.loads(answer.read())
        except HTTPError as error:
            with error:
                told = " ".join(error.read(500).decode("utf-8", "replace").split())
            raise Unavailable(f"The server {self._server} refused to embed with {self._model}: {error.code} {told[:200]}") from error
        except (OSError, HTTPException, ValueError) as error:
            raise Unavailable(f"The server {self._server} cannot be asked for vectors: {error}.") from error


def _authorization(uri: Uri, environment: Mapping[str, str]) -> dict[str, str]:
    name = uri.options.get("key_env")
    if name is None:
        return {}
    key = environment.get(name)
    if not key:
        raise ConfigError(f"The environment variable {name}, which is to hold the key for {uri.scheme}:{uri.name}, is not set.")
    return {"Authorization": f"Bearer {key}"}


def _in_order(data: Sequence[Mapping[str, Any]]) -> list[Any]:
    return [row["embedding"] for row in sorted(data, key=lambda row: row.get("index", 0))]


class _NoRedirect(HTTPRedirectHandler):
    """A key goes to the server it is for, and to no other."""

    def redirect_request(self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str) -> None:  # noqa: ARG002
        return None
