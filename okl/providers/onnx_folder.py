"""`onnx:FOLDER`: any encoder that was exported to ONNX, with its tokenizer."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnxruntime

from okl.errors import Unavailable
from okl.providers.base import Kind, Vectors, unit
from okl.providers.runtime import Ids, in_batches, session
from okl.providers.tokens import Reading, marked

_PLACES = ("model.onnx", "onnx/model.onnx")
_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}


class OnnxFolder:
    """A folder's model, loaded: `pool` is `mean` or `cls`, used where the model gives a vector for each token."""

    def __init__(self, folder: Path, reading: Reading, options: Mapping[str, str]) -> None:
        if not reading.tokenizer:
            raise Unavailable(f"The model's folder {folder} has no tokenizer.json.")
        model = next((path for place in _PLACES if (path := folder / place).is_file()), None)
        if model is None:
            raise Unavailable(f"The model's folder {folder} has neither model.onnx nor onnx/model.onnx.")
        self.max_tokens = reading.max_tokens
        self._pool = options.get("pool", "mean")
        self._prefixes = {"query": options.get("query_prefix", ""), "passage": options.get("passage_prefix", "")}
        self._tokenize = marked(reading.tokenizer, reading.max_tokens)
        self._session = session(str(model), str(model))
        self._inputs = {given.name: _TYPES.get(given.type, np.int64) for given in self._session.get_inputs()}
        self._output = _output(self._session.get_outputs())
        self.dim = self._run(*_probe(self._tokenize("a"))).shape[1]
        told = f"{self._pool} {self._prefixes['passage']} {reading.identity}".encode()
        self.id = f"onnx/{self._pool}@{_digest(model, told)[:8]}"

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """The vectors (n, dim)."""
        prefix = self._prefixes[kind]
        return unit(in_batches([self._tokenize(prefix + text) for text in texts], self.dim, self._run))

    def _run(self, ids: Ids, mask: Ids) -> Vectors:
        known = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids), "position_ids": np.cumsum(mask, 1) - 1}
        unknown = self._inputs.keys() - known.keys()
        if unknown:
            raise Unavailable(f"The ONNX model of {self.id} wants an input that text does not give: {', '.join(sorted(unknown))}.")
        feeds = {name: known[name].astype(kind) for name, kind in self._inputs.items()}
        found: Vectors = self._session.run([self._output], feeds)[0].astype(np.float32)
        return found if found.ndim == 2 else _pooled(found, mask, self._pool)


def _output(outputs: Sequence[onnxruntime.NodeArg]) -> str:
    """The name of the output that is a vector for each text, else of the first."""
    whole = [given.name for given in outputs if given.name in ("sentence_embedding", "embedding")]
    return str((whole or [given.name for given in outputs])[0])


def _pooled(tokens: Vectors, mask: Ids, pool: str) -> Vectors:
    """One vector a text from (b, s, dim)."""
    if pool == "cls":
        return tokens[:, 0]
    weights = mask[:, :, None].astype(np.float32)
    mean: Vectors = (tokens * weights).sum(axis=1) / weights.sum(axis=1)
    return mean


def _probe(tokens: Sequence[int]) -> tuple[Ids, Ids]:
    ids = np.array([tokens], np.int64)
    return ids, np.ones_like(ids)


def _digest(model: Path, told: bytes) -> str:
    """The sha256 of the model's files and of what else makes its vectors."""
    digest = hashlib.sha256(told)
    for path in sorted(model.parent.glob(f"{model.name}*")):
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
