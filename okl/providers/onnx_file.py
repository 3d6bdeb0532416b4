"""ONNX files without the package `onnx`: read tensors and nodes, write a graph. The few parts of the format that we need.

The wire format is that of protocol buffers (a key `field << 3 | kind` before each value); field numbers are those of
`onnx.proto` of the ONNX project.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Tensor = npt.NDArray[Any]
Attribute = int | float | list[int]

FLOAT, UINT8, INT32 = 1, 2, 6
OPSET = 17
_CONTRIB = "com.microsoft"
_TYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 6: np.int32, 7: np.int64, 9: np.bool_, 10: np.float16}
_CODES = {np.dtype(kind): code for code, kind in _TYPES.items()}


@dataclass(frozen=True, slots=True)
class Node:
    """An operation and the names it reads and writes."""

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def read(data: bytes) -> tuple[dict[str, Tensor], list[Node]]:
    """The tensors (views of `data`) and the nodes of a model."""
    graph = next(value for field, value in _fields(memoryview(data)) if field == 7)
    parts = list(_fields(graph))
    return dict(_tensor(value) for field, value in parts if field == 5), [_node(value) for field, value in parts if field == 1]


def _tensor(data: memoryview) -> tuple[str, Tensor]:
    dims: list[int] = []
    code, name, raw = FLOAT, "", memoryview(b"")
    for field, value in _fields(data):
        if field == 1:
            dims += [value] if isinstance(value, int) else list(_varints(value))
        elif field == 2:
            code = value
        elif field == 8:
            name = str(value, "utf-8")
        elif field == 9:
            raw = value
    return name, np.frombuffer(raw, _TYPES[code]).reshape(dims)


def _node(data: memoryview) -> Node:
    parts = [(field, str(value, "utf-8")) for field, value in _fields(data) if field in (1, 2, 4)]
    op = next(text for field, text in parts if field == 4)
    return Node(op, tuple(text for field, text in parts if field == 1), tuple(text for field, text in parts if field == 2))


def _fields(data: memoryview) -> Iterator[tuple[int, Any]]:
    """(field number, value) of a message: numbers as int, everything else as a view."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        if key & 7 == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        size, at = {1: (8, at), 5: (4, at)}.get(key & 7) or _varint(data, at)
        yield key >> 3, data[at : at + size]
        at += size


def _varints(data: memoryview) -> Iterator[int]:
    at = 0
    while at < len(data):
        value, at = _varint(data, at)
        yield value


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


class Graph:
    """A graph that grows node by node; names of values are strings, "" where an input is left out."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._tensors: dict[str, bytes] = {}
        self._inputs: list[bytes] = []
        self._outputs: list[bytes] = []

    def input(self, name: str, code: int, shape: Sequence[str | int]) -> str:
        """Declare an input."""
        self._inputs.append(_value(name, code, shape))
        return name

    def tensor(self, name: str, values: npt.ArrayLike, kind: npt.DTypeLike = np.float32) -> str:
        """A constant; one name is one constant."""
        if name not in self._tensors:
            self._tensors[name] = _encoded(name, np.asarray(values, kind))
        return name

    def add(self, op: str, *inputs: str, **attributes: Attribute) -> str:
        """A node with one output; the name of that output."""
        return self.split(op, *inputs, outputs=1, **attributes)[0]

    def split(self, op: str, *inputs: str, outputs: int, **attributes: Attribute) -> list[str]:
        """A node with several outputs; operations of onnxruntime's own are written `contrib.Name`."""
        domain, _, name = op.rpartition(".")
        names = [f"{name}_{len(self._nodes)}_{number}" for number in range(outputs)]
        self._nodes.append(_operation(name, inputs, names, attributes, _CONTRIB if domain else ""))
        return names

    def output(self, value: str, name: str, shape: Sequence[str | int]) -> None:
        """Give the value out under a name, as float32."""
        self._nodes.append(_operation("Identity", [value], [name], {}, ""))
        self._outputs.append(_value(name, FLOAT, shape))

    def model(self) -> bytes:
        """The whole as an ONNX file."""
        parts = [_message(1, node) for node in self._nodes] + [_message(2, b"okl")]
        parts += [_message(5, tensor) for tensor in self._tensors.values()]
        parts += [_message(11, value) for value in self._inputs] + [_message(12, value) for value in self._outputs]
        opsets = _message(8, _message(1, b"") + _number(2, OPSET)) + _message(8, _message(1, _CONTRIB.encode()) + _number(2, 1))
        return _number(1, 8) + _message(2, b"okl") + _message(7, b"".join(parts)) + opsets


def _operation(op: str, inputs: Sequence[str], outputs: Sequence[str], attributes: Mapping[str, Attribute], domain: str) -> bytes:
    parts = [_message(1, name.encode()) for name in inputs] + [_message(2, name.encode()) for name in outputs]
    parts += [_message(3, f"{op}:{outputs[0]}".encode()), _message(4, op.encode())]
    parts += [_message(5, _attribute(name, value)) for name, value in attributes.items()]
    return b"".join(parts) + (_message(7, domain.encode()) if domain else b"")


def _attribute(name: str, value: Attribute) -> bytes:
    named = _message(1, name.encode())
    if isinstance(value, float):
        return named + _key(2, 5) + np.float32(value).tobytes() + _number(20, 1)
    if isinstance(value, list):
        return named + b"".join(_number(8, number) for number in value) + _number(20, 7)
    return named + _number(3, value) + _number(20, 2)


def _value(name: str, code: int, shape: Sequence[str | int]) -> bytes:
    dims = [_number(1, size) if isinstance(size, int) else _message(2, size.encode()) for size in shape]
    tensor = _number(1, code) + _message(2, b"".join(_message(1, size) for size in dims))
    return _message(1, name.encode()) + _message(2, _message(1, tensor))


def _encoded(name: str, values: Tensor) -> bytes:
    dims = b"".join(_number(1, size) for size in values.shape)
    return dims + _number(2, _CODES[values.dtype]) + _message(8, name.encode()) + _message(9, values.tobytes())


def _message(field: int, data: bytes) -> bytes:
    return _key(field, 2) + _varint_bytes(len(data)) + data


def _number(field: int, value: int) -> bytes:
    return _key(field, 0) + _varint_bytes(value)


def _key(field: int, kind: int) -> bytes:
    return _varint_bytes(field << 3 | kind)


def _varint_bytes(value: int) -> bytes:
    value &= (1 << 64) - 1
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])
