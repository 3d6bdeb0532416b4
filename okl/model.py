"""The embedding model of one store: loaded when it is needed, beside other work, and known again by its vectors."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from okl.errors import OklError, Unavailable
from okl.index.generation import Index, ModelChanged
from okl.index.state import Filed
from okl.providers import embedders
from okl.providers.base import Kind

Writing = Callable[[], AbstractContextManager[None]]
Progress = Callable[[str, int, int], None]

if TYPE_CHECKING:  # they import numpy, which text search does without
    from okl.index.embeddings import Model, Models
    from okl.providers.base import Embedder, Vectors


@dataclass
class StoreModel:
    """The model that the setting `embedding` names.

    `cache` is the user's folder for built models, `folder` that of the store's embedding caches, `variables` the environment,
    in which keys are looked up. With a `reason` from the start it is never loaded.
    """

    uri: str
    cache: Path
    folder: Path
    say: Callable[[str], None]
    variables: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    _told: str = ""
    _last: Model | None = None
    _settled: Model | None = None
    _embedder: Embedder | None = None
    _thread: Thread | None = None

    @property
    def wanted(self) -> bool:
        """Whether the store asks for a model at all."""
        return self.uri != "none"

    @cached_property
    def models(self) -> Models:
        """The caches of all models that the store ever had."""
        from okl.index.embeddings import Models

        return Models(self.folder)

    @property
    def last(self) -> Model | None:
        """The model as it was when it was last loaded, without loading it."""
        if self.wanted and (self._last is None or not self._last.exists):
            self._last = self.models.last(self.uri)
        return self._last

    def place(self, index: Index, filed: list[Filed]) -> list[Filed]:
        """`filed`, told which of their chunks got a vector from the cache."""
        if not self.wanted:
            return filed
        from okl.index import embed

        return embed.place(index, self.last, filed)

    def drop(self, index: Index, numbers: list[int]) -> None:
        """Forget the vectors of chunks that are gone."""
        from okl.index import embed

        embed.drop(index, numbers)

    def start(self) -> None:
        """Begin to load the model while other work goes on."""
        if self.wanted and not self.reason and self._embedder is None and self._thread is None:
            self._thread = Thread(target=self._load, daemon=True)
            self._thread.start()

    def _load(self) -> None:
        try:
            self._embedder = embedders.open_embedder(self.uri, self.cache, self.variables)
        except OklError as error:
            self.reason = str(error)

    def missing(self, reason: str) -> None:
        """Take note, and say once, that the model is not there."""
        if self._told != reason:
            self.say(f"{reason} Only words are searched.")
        self.reason = self._told = reason

    def embedder(self) -> Embedder | None:
        """The model, loaded; None where there is none, `reason` telling why, which is said once."""
        if not self.wanted:
            return None
        if not self.reason:
            self.start()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self.reason:
            self.missing(self.reason)
        return self._embedder

    @property
    def settled(self) -> Model:
        """The loaded model as the cache knows it."""
        embedder = self.embedder()
        if embedder is None:
            raise Unavailable(self.reason or "The store has no embedding model.")
        if self._settled is None or not self._settled.exists:
            self._settled = self._last = self.models.settle(self.uri, embedder)
        return self._settled

    def vector(self, texts: Sequence[str], kind: Kind) -> Vectors | None:
        """The vector of a query, or the mean of some passages', float32[dim]; None without a model."""
        embedder = self.embedder()
        if embedder is None:
            return None
        mean: Vectors = embedder.embed(texts, kind).mean(axis=0)
        mean /= max(float(mean @ mean) ** 0.5, 1e-9)
        return mean

    def fits(self, index: Index, writable: bool) -> bool:
        """Whether the index has vectors of this model; where it may be written, ModelChanged if they are another's."""
        held = index.fingerprint == self.settled.fingerprint
        if writable and not held and index.fingerprint:
            raise ModelChanged(f"the embedding model is now {self.settled.fingerprint}")
        return held and index.vectors.dim == self.settled.dim

    def mend(self, index: Index) -> None:
        """Make damaged vectors anew of what the cache has; the caller holds the writer's lock."""
        from okl.index import embed

        if self.last is not None:
            embed.mend(index, self.last)

    def catch_up(self, root: Path, index: Index, writing: Writing, progress: Progress, seconds: float | None = None) -> int:
        """Embed chunks that wait, for so many seconds at the most; gives how many still wait.

        Without a limit, those whose vector was lost are found and embedded too.
        """
        if not self.wanted:
            return 0
        from okl.index import embed

        if seconds is None:
            with writing():
                embed.forget_lost(index, self.last)
        left = embed.waiting(index.state)
        embedder = self.embedder() if left else None
        if embedder is None:
            return left
        until = None if seconds is None else time.monotonic() + seconds
        return embed.embed(root, index, self.settled, embedder, writing, progress, until)
