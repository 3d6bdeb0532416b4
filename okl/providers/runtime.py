"""Running a graph: one onnxruntime session with one thread, and a Python thread for each core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import onnxruntime

from okl.errors import Unavailable
from okl.providers.base import Vectors, cores

_BATCH = 4  # small batches are the fastest on processors

Ids: TypeAlias = npt.NDArray[np.int64]
Feeds: TypeAlias = dict[str, npt.NDArray[Any]]


def session(model: bytes | str, name: str) -> onnxruntime.InferenceSession:
    """The graph (its bytes, or the path of its file), ready to run in any number of threads at once."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise Unavailable(f"onnxruntime cannot load {name}: {error}.") from error


def in_batches(tokens: Sequence[Sequence[int]], dim: int, run: Callable[[Ids, Ids], Vectors]) -> Vectors:
    """The vectors (n, dim) of token sequences, in their order.

    `run(ids, mask)` gets small batches of similar length, padded on the right with 0, and gives (b, dim).
    """
    order = sorted(range(len(tokens)), key=lambda at: -len(tokens[at]))
    batches = [order[start : start + _BATCH] for start in range(0, len(order), _BATCH)]
    result = np.empty((len(tokens), dim), np.float32)

    def fill(places: list[int]) -> None:
        result[places] = run(*_padded([tokens[at] for at in places]))

    if len(batches) < 2 or cores() < 2:
        for places in batches:
            fill(places)
    else:
        with ThreadPoolExecutor(cores()) as pool:
            list(pool.map(fill, batches))
    return result


def _padded(rows: Sequence[Sequence[int]]) -> tuple[Ids, Ids]:
    """The rows as one array (b, longest), and 1 where there is a token."""
    lengths = np.array([len(row) for row in rows])
    mask = (np.arange(lengths.max()) < lengths[:, None]).astype(np.int64)
    ids = np.zeros_like(mask)
    ids[mask == 1] = np.concatenate([np.asarray(row, np.int64) for row in rows])
    return ids, mask
