"""`st:FOLDER` or `st:NAME`: any model of the package sentence-transformers."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from sentence_transformers import SentenceTransformer
from transformers.utils import logging

from okl.errors import Unavailable
from okl.providers.base import Kind, Vectors, readable, unit
from okl.providers.uri import Uri


class Sentence:
    """The model, loaded from a folder, or by a name of the hub from the hub's local cache; the network is never touched."""

    def __init__(self, uri: Uri) -> None:
        self._model = _loaded(uri.name)
        self.max_tokens = int(self._model.max_seq_length or 0)
        self._prefixes = {"query": uri.options.get("query_prefix"), "passage": uri.options.get("passage_prefix")}
        self.id = f"st/{os.path.basename(uri.name.rstrip(os.sep))}@{self._digest()[:8]}"
        self.dim = self.embed(["a"], "passage").shape[1]

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """The vectors (n, dim), with the model's own prompts for queries and passages unless the URI gives prefixes."""
        if not texts:
            return np.zeros((0, self.dim), np.float32)
        prefixed = [(self._prefixes[kind] or "") + readable(text) for text in texts]
        vectors = self._encode(kind)(prefixed, batch_size=4, show_progress_bar=False)
        return unit(np.asarray(vectors, np.float32))

    def _encode(self, kind: Kind) -> Callable[..., Vectors]:
        if self._prefixes[kind] is not None:
            encode: Callable[..., Vectors] = self._model.encode
        else:
            encode = self._model.encode_query if kind == "query" else self._model.encode_document
        return encode

    def _digest(self) -> str:
        """The sha256 of all weights."""
        digest = hashlib.sha256(f"{self._prefixes['passage']}".encode())
        for name, tensor in sorted(self._model.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().float().numpy().tobytes())
        return digest.hexdigest()


def _loaded(name: str) -> SentenceTransformer:
    logging.disable_progress_bar()
    folder = Path(name).expanduser()
    try:
        return SentenceTransformer(str(folder) if folder.is_dir() else name, device="cpu", local_files_only=True)
    except (OSError, ValueError) as error:
        if folder.is_dir():
            raise Unavailable(f"sentence-transformers cannot load {name}: {' '.join(str(error).split())[:200]}") from error
        raise Unavailable(f"The model {name} is neither a folder nor in the hub's local cache; `hf download {name}` brings it.") from error
