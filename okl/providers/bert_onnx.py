"""A BERT encoder as a fused int8 graph for onnxruntime, written from its weights.

"int8row7": weights have 7 bits (one scale per output column), so that processors without VNNI cannot overflow;
activations have 8 bits with one scale per token, so that a vector does not depend on the other texts of its batch.
Attention, layer norms and GELU are onnxruntime's fused operations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from okl.providers.onnx_file import FLOAT, INT32, Graph

VERSION = 1  # of the graphs; a change builds them again
Weights = Mapping[str, npt.NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of an encoder."""

    layers: int
    width: int
    heads: int
    epsilon: float


_TINY = 1e-12
MINILM = Shape(layers=6, width=384, heads=12, epsilon=1e-12)


def build(weights: Weights, shape: Shape, *, embedded: bool = False, pooled: bool = True) -> bytes:
    """The ONNX file. `weights` are named as in BERT, linear ones (out, in).

    Inputs: `input_ids` int32 (b, s), or where `embedded` the word vectors `word_embeds` float32 (b, s, width), and
    `attention_mask` int32 (b, s), padded on the right. Output: `embedding` (b, width), the mean of the tokens at unit
    length, or where not `pooled` all of them as `last_hidden_state` (b, s, width).
    """
    graph = Graph()
    words = _given(graph, shape) if embedded else _looked_up(graph, weights["embeddings.word_embeddings.weight"])
    mask = graph.input("attention_mask", INT32, ["b", "s"])
    lengths = graph.add("Cast", graph.add("ReduceSum", mask, graph.tensor("last_axis", [-1], np.int64), keepdims=0), to=INT32)
    encoder = _Encoder(graph, weights, shape, graph.add("Shape", mask))
    hidden = encoder.norm(graph.add("Add", words, encoder.positions()), "embeddings.LayerNorm")
    for number in range(shape.layers):
        hidden = encoder.layer(hidden, lengths, f"encoder.layer.{number}.")
    if pooled:
        graph.output(_mean(graph, hidden, mask), "embedding", ["b", shape.width])
    else:
        graph.output(hidden, "last_hidden_state", ["b", "s", shape.width])
    return graph.model()


def _given(graph: Graph, shape: Shape) -> str:
    return graph.input("word_embeds", FLOAT, ["b", "s", shape.width])


def _looked_up(graph: Graph, table: npt.NDArray[np.float32]) -> str:
    """The word vectors, kept as int8 with one scale a word."""
    ids = graph.input("input_ids", INT32, ["b", "s"])
    scale = np.maximum(np.abs(table).max(axis=1, keepdims=True), _TINY) / 127
    words = graph.add("Gather", graph.tensor("words.int8", np.rint(table / scale), np.int8), ids)
    return graph.add("Mul", graph.add("Cast", words, to=FLOAT), graph.add("Gather", graph.tensor("words.scale", scale), ids))


def _mean(graph: Graph, hidden: str, mask: str) -> str:
    """The mean of the tokens that are not padding, at unit length."""
    real = graph.add("Unsqueeze", graph.add("Cast", mask, to=FLOAT), graph.tensor("last_axis", [-1], np.int64))
    tokens = graph.tensor("token_axis", [1], np.int64)
    total = graph.add("ReduceSum", graph.add("Mul", hidden, real), tokens, keepdims=0)
    mean = graph.add("Div", total, graph.add("ReduceSum", real, tokens, keepdims=0))
    return graph.add("LpNormalization", mean, axis=-1, p=2)


@dataclass(frozen=True, slots=True)
class _Encoder:
    """The layers, written with the weights of their names; `rows` is the value that holds (b, s)."""

    graph: Graph
    weights: Weights
    shape: Shape
    rows: str

    def positions(self) -> str:
        """The position vectors of the first s places; all tokens are of type 0."""
        table = self.weights["embeddings.position_embeddings.weight"] + self.weights["embeddings.token_type_embeddings.weight"][0]
        first, second = (self.graph.tensor(f"at_{number}", [number], np.int64) for number in (1, 2))
        length = self.graph.add("Slice", self.rows, first, second)
        start = self.graph.tensor("at_0", [0], np.int64)
        return self.graph.add("Slice", self.graph.tensor("positions", table), start, length, start)

    def layer(self, hidden: str, lengths: str, name: str) -> str:
        """One layer: attention, then the two linear maps with GELU between."""
        attended = self.matmul(self.attention(hidden, lengths, f"{name}attention.self."), f"{name}attention.output.dense")
        hidden = self.skip_norm(attended, hidden, f"{name}attention.output")
        inner = self.matmul(hidden, f"{name}intermediate.dense")
        inner = self.graph.add("contrib.BiasGelu", inner, self.tensor(f"{name}intermediate.dense.bias"))
        return self.skip_norm(self.matmul(inner, f"{name}output.dense"), hidden, f"{name}output")

    def attention(self, hidden: str, lengths: str, name: str) -> str:
        """What each token takes from the others; query, key and value come from one product."""
        names = [f"{name}{part}" for part in ("query", "key", "value")]
        weight = np.concatenate([self.weights[f"{part}.weight"] for part in names])
        bias = np.concatenate([self.weights[f"{part}.bias"] for part in names])
        joint = self.graph.add("Add", self.product(hidden, f"{name}joint", weight), self.graph.tensor(f"{name}joint.bias", bias))
        sizes = self.graph.tensor("thirds", [self.shape.width] * 3, np.int64)
        query, key, value = self.graph.split("Split", joint, sizes, outputs=3, axis=-1)
        return self.graph.add("contrib.MultiHeadAttention", query, key, value, "", lengths, num_heads=self.shape.heads)

    def norm(self, value: str, name: str) -> str:
        """A layer norm."""
        inputs = (value, self.tensor(f"{name}.weight"), self.tensor(f"{name}.bias"))
        return self.graph.add("LayerNormalization", *inputs, axis=-1, epsilon=self.shape.epsilon)

    def skip_norm(self, value: str, skipped: str, name: str) -> str:
        """The layer norm of `value + the bias of the linear map + skipped`."""
        biased = self.graph.add("Add", value, self.tensor(f"{name}.dense.bias"))
        return self.norm(self.graph.add("Add", biased, skipped), f"{name}.LayerNorm")

    def matmul(self, value: str, name: str) -> str:
        """The linear map of this name, without its bias."""
        return self.product(value, name, self.weights[f"{name}.weight"])

    def product(self, value: str, name: str, weight: npt.NDArray[np.float32]) -> str:
        """`value @ weight.T` in int8."""
        graph, (wide, deep) = self.graph, weight.shape
        scale = np.maximum(np.abs(weight).max(axis=1), _TINY) / 63
        quantised, row_scale = _quantised(graph, graph.add("Reshape", value, graph.tensor(f"rows_of_{deep}", [-1, deep], np.int64)))
        columns = graph.tensor(f"{name}.int8", np.rint(weight.T / scale), np.int8)
        scales = graph.tensor("one", 1.0), graph.tensor(f"{name}.scale", scale)
        product = graph.add("contrib.MatMulIntegerToFloat", quantised, columns, *scales, graph.tensor("middle", 128, np.uint8))
        sizes = graph.add("Concat", self.rows, graph.tensor(f"width_{wide}", [wide], np.int64), axis=0)
        return graph.add("Reshape", graph.add("Mul", product, row_scale), sizes)

    def tensor(self, name: str) -> str:
        """A weight as it is."""
        return self.graph.tensor(name, self.weights[name])


def _quantised(graph: Graph, rows: str) -> tuple[str, str]:
    """The rows as uint8 around 128, and the scale of each (n, 1)."""
    high, low = (graph.add(op, rows, axes=[-1], keepdims=1) for op in ("ReduceMax", "ReduceMin"))
    largest = graph.add("Max", high, graph.add("Neg", low), graph.tensor("tiny", [1e-6]))
    scale = graph.add("Mul", largest, graph.tensor("step", [1 / 127]))
    flat = graph.add("Reshape", scale, graph.tensor("last_axis", [-1], np.int64))
    middles = graph.add("Expand", graph.tensor("middle", 128, np.uint8), graph.add("Shape", flat))
    return graph.add("QuantizeLinear", rows, flat, middles, axis=0), scale
