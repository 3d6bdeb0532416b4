"""An open store: its files, settings and index, a clock, randomness, and somebody to tell."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from okl import fresh, likeness, query, views
from okl.config import Config
from okl.errors import Unavailable
from okl.fresh import Fresh
from okl.index.generation import GRAPH, HNSW, Generations, Index, VectorsBroken, location
from okl.index.record import WORDS, Settings
from okl.index.sync import Options, Progress, no_progress
from okl.legs import Likeness, Meaning
from okl.model import StoreModel
from okl.providers import embedders
from okl.providers.base import Kind
from okl.store import Store

if TYPE_CHECKING:
    from okl.approximate import Approximate
    from okl.graphs import Graphs
    from okl.legs import Nearest

Data = dict[str, Any]
PATIENCE = 2.0
"""Seconds that a search spends on embedding what is new before it answers."""


def silent(_message: str) -> None:
    """Say nothing."""


@dataclass
class Opened:
    """What every verb needs; what it takes from outside is passed in."""

    store: Store
    config: Config
    say: Callable[[str], None] = silent
    progress: Progress = no_progress
    tell: Callable[[Data], None] = lambda _event: None
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    random_bits: Callable[[int], int] = secrets.randbits
    cwd: Path | None = None
    _held: Fresh | None = None

    # --- the index ---

    @property
    def settings(self) -> Settings:
        """The settings that the index depends on."""
        uri = self.config["embedding"]
        try:
            reading = embedders.reading(uri, self._models_folder)
        except Unavailable as error:
            self.model.missing(str(error))
            reading = WORDS
        return Settings(self.config["chunk.tokens"], self.config["chunk.overlap"], tuple(self.config["languages"]), uri, reading)

    @property
    def _models_folder(self) -> Path:
        return self.config.environment.user_cache() / "models"

    @cached_property
    def model(self) -> StoreModel:
        """The store's embedding model."""
        found = StoreModel(
            self.config["embedding"], self._models_folder, self._index_folder / "embeddings", self.say, self.config.environment.variables
        )
        server = embedders.server_of(found.uri)
        if server and not self.config.is_own("embedding"):
            found.reason = (
                f"The store's settings name the server {server}; okl sends text there only if your own settings do, or OK_EMBEDDING."
            )
        return found

    @cached_property
    def generations(self) -> Generations:
        """Where the index lies."""
        return Generations(self._index_folder, self.settings, self.config["index.wait"])

    @cached_property
    def _index_folder(self) -> Path:
        return location(self.store.root, self.config["index.dir"], self.config.environment.user_cache())

    def options(self, accept_deletions: bool = False) -> Options:
        """What a sync needs to know."""
        globs, include = tuple(self.config["ignore"]), tuple(self.config["include"])
        return Options(globs, include, self.settings, accept_deletions, self.progress, self.model.place, self.model.drop)

    @contextmanager
    def fresh_index(self) -> Iterator[Fresh]:
        """The index, brought up to date; what it left behind on a crash is swept, views follow."""
        if self._held is not None:
            yield self._held
            return
        found = fresh.opened(self.store.root, self.generations, self.options(), self.say)
        with found.index:
            self.after_sync(found)
            yield found

    @contextmanager
    def held(self) -> Iterator[None]:
        """One index for all that is asked meanwhile, as the files are now; what changes later is not seen.

        A hit whose file changed is read anew or left out all the same.
        """
        with self.fresh_index() as found:
            self._held = found
            try:
                yield
            finally:
                self._held = None

    @contextmanager
    def asked(self, text: str, like: str = "") -> Iterator[tuple[Fresh, Meaning | None, Likeness | None]]:
        """The index, brought up to date, what a query means to the model, and the text that hits shall be like.

        No meaning where there is no model, or nothing but filters was asked for.
        """
        parsed = query.parse(text)
        words = " ".join(part for part in (parsed.words, *parsed.phrases) if part.strip())
        if (words or like) and self.model.wanted:
            self.model.start()
        with self.fresh_index() as found:
            example = likeness.of(self.store, found.index, like, self.cwd) if like else None
            passages = [words] if words else example.passages if example else []
            meaning = self._meaning(found, passages, "query" if words else "passage") if passages and self.model.wanted else None
            yield found, meaning, example.likeness if example else None

    def _meaning(self, found: Fresh, texts: Sequence[str], kind: Kind) -> Meaning:
        vector = self.model.vector(texts, kind)
        if vector is None:
            return Meaning(None, 0)
        writable = not found.degraded
        waiting = self.model.catch_up(self.store.root, found.index, self.writing, no_progress, PATIENCE if writable else -1)
        try:
            fits = self.model.fits(found.index, writable)
            character = self.model.settled.character
            nearest = self._nearest(found.index) if fits else None
            return Meaning(vector if fits else None, waiting, character, character.trust(" ".join(texts)), nearest)
        except VectorsBroken:
            if writable:
                raise
            return Meaning(None, waiting)

    def _nearest(self, index: Index) -> Nearest | None:
        """The HNSW index's answer, where that is wanted; else every vector is compared."""
        wish = self.config["index.vectors"]
        if wish == "hnsw" or (wish == "auto" and len(index.vectors) >= self.config["index.hnsw_from"]):
            return self.approximate.nearest
        return None

    @cached_property
    def approximate(self) -> Approximate:
        """The HNSW index of the store's vectors."""
        from okl.approximate import Approximate

        return Approximate(self.generations, self.config["index.wait"], self.say)

    def mend_vectors(self, why: str) -> None:
        """Make damaged vectors anew."""
        self.say(f"the vectors were damaged ({why}); they are made again")
        with self.fresh_index() as found, self.writing():
            self.model.mend(found.index)

    def writing(self) -> AbstractContextManager[None]:
        """The writer's lock."""
        return self.generations.lock(self.say)

    def settle(self, index: Index, make: tuple[str, ...] = ()) -> int:
        """Bring up what may lag behind the words: vectors; graph and HNSW index if they are there, or in `make`.

        Gives how many chunks still wait for a vector.
        """
        waiting = self.model.catch_up(self.store.root, index, self.writing, self.progress)
        with self.writing():
            if GRAPH in make or self._has(index, GRAPH):
                self.graphs.settle(index)
            asked = self.config["index.vectors"]
            if index.fingerprint and asked != "exact" and (HNSW in make or self._has(index, HNSW) or self._nearest(index)):
                self.approximate.settle(index)
        return waiting

    def _has(self, index: Index, file: str) -> bool:
        return index.folder is not None and (index.folder / file).exists()

    @cached_property
    def graphs(self) -> Graphs:
        """The graph of the store."""
        from okl.graphs import Graphs

        return Graphs(self.store.root, self.generations, self.config["index.wait"], self.say)

    def set_index_aside(self, why: str) -> None:
        """Take an index that turned out to be damaged out of use; the next verb builds it again."""
        self.say(f"the index was damaged ({why}); it is built again")
        if current := self.generations.current():
            self.generations.quarantine(current)

    def after_sync(self, found: Fresh) -> None:
        """Sweep what dead writers left, and let the topics' pages follow."""
        if found.synced and found.synced.walk.leftovers:
            gone = self.store.sweep(found.synced.walk.leftovers)
            found.synced.walk.leftovers[:] = [path for path in found.synced.walk.leftovers if path not in gone]
        if found.synced and (found.synced.changes or found.synced.rebuilt) and not found.degraded:
            try:
                views.refresh(self.store, found.index.state, self.config["views"])
            except OSError as error:
                self.say(f"the topics' pages cannot be written: {error.strerror}")
