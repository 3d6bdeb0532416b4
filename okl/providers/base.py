"""What an embedder is, and how to tell whether two are the same model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Kind = Literal["query", "passage"]
Vectors: TypeAlias = "npt.NDArray[np.float32]"

PROBES = (
    "The lighthouse keeper wrote down the weather every evening.",
    "def mean(values): return sum(values) / len(values)",
    "Größere Städte brauchen mehr Wasser, 2.5 mal so viel.",
)


class Embedder(Protocol):
    """A model that turns texts into vectors of unit length; whoever embeds a text alone or among others gets the same vector.

    `id` names the model and how it is run, the same on every machine, and is safe to show. `max_tokens` is what
    the model is made to read, its own marks included (0: no limit).
    """

    id: str
    dim: int
    max_tokens: int

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """The vectors, float32 (n, dim), in the order of `texts`. Thread-safe."""
        ...


def fingerprint_vectors(embedder: Embedder) -> Vectors:
    """The vectors (3, dim) of three fixed texts, by which a model is known again."""
    return embedder.embed(PROBES, "passage")


def same_model(a: Vectors, b: Vectors) -> bool:
    """Whether the fingerprints are of one model: processors may differ by 1e-4, models differ by more."""
    return a.shape == b.shape and bool(((a * b).sum(axis=1) > 0.999).all())


def unit(vectors: Vectors) -> Vectors:
    """The rows at unit length; a row of zeros, or of no numbers, points along the first axis."""
    lengths = (vectors * vectors).sum(axis=1, keepdims=True) ** 0.5
    lost = ~((lengths > 0) & (lengths < float("inf")))[:, 0]
    lengths[lost] = 1
    result: Vectors = vectors / lengths
    result[lost] = 0
    result[lost, 0] = 1
    return result


def readable(text: str) -> str:
    """The text as UTF-8 can carry it: lone surrogates become `?`."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def package_file(package: str, name: str) -> Path | None:
    """The file `name` of an installed package, which is not imported; None without it."""
    spec = find_spec(package)
    places = (Path(place) / name for place in (spec.submodule_search_locations or ())) if spec else ()
    return next((path for path in places if path.is_file()), None)
