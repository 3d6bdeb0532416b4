"""Pools as real stores: one Markdown file a document, indexed, embedded and searched by okl itself."""

from __future__ import annotations

import inspect
import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from bench.baselines import Meanings, Words, reciprocal
from bench.sets import Document, Pool
from okl import initial
from okl.config import Environment
from okl.index.sync import no_progress
from okl.knowledge import Knowledge, open_store
from okl.model import StoreModel

RESULTS = 10
FEW = 200
"""Up to so many documents a store is embedded without a whole sync, which would make a graph that no search asks."""


class Bench:
    """A temporary folder for stores, one embedding model for all of them, and the vectors it made, kept in `cache`."""

    def __init__(self, folder: Path, cache: Path, embedding: str) -> None:
        self.folder, self.cache, self.embedding = folder, cache, embedding
        self.model = StoreModel(embedding, cache / "okl" / "models", cache / "embeddings", lambda _message: None)

    @property
    def variables(self) -> dict[str, str]:
        """The environment of a store that nobody's own settings reach."""
        return {
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "XDG_CACHE_HOME": str(self.cache),
            "OK_EMBEDDING": self.embedding,
            "OK_ACTOR": "agent:bench",
        }

    def open(self, root: Path) -> Knowledge:
        """The store at `root`, made if it is none, with the model of all."""
        root.mkdir(parents=True, exist_ok=True)
        initial.init(root, from_vault=True)
        knowledge = open_store(root, environment=Environment(self.variables))
        knowledge.model = self.model
        return knowledge

    @contextmanager
    def store(self, pool: Pool) -> Iterator[Searched]:
        """The pool as a store, which is deleted afterwards."""
        root = Path(tempfile.mkdtemp(dir=self.folder))
        try:
            for place, document in enumerate(pool.documents):
                (root / name(place)).write_text(markdown(document), encoding="utf-8")
            knowledge = self.open(root)
            bring_up(knowledge, len(pool.documents))
            yield Searched(knowledge, pool.documents)
        finally:
            shutil.rmtree(root)


@contextmanager
def bench(cache: Path | None, embedding: str) -> Iterator[Bench]:
    """A bench in a temporary folder; without a `cache` the vectors go with it."""
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as folder:
        yield Bench(Path(folder), (cache or Path(folder) / "cache").resolve(), embedding)


def bring_up(knowledge: Knowledge, documents: int) -> None:
    """Index and embed all that the store holds."""
    if documents > FEW:
        knowledge.sync()
        return
    with knowledge.fresh_index() as found:
        knowledge.model.catch_up(knowledge.store.root, found.index, knowledge.writing, no_progress)


def name(place: int) -> str:
    """The path of a document, which says nothing about it."""
    return f"{place:06}.md"


def markdown(document: Document) -> str:
    """The document as a note. JSON's strings and lists are YAML's too."""
    head = {"title": document.title, "keys": list(document.keys)}
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in head.items() if value]
    return f"---\n{''.join(lines)}---\n{document.text}\n" if lines else f"{document.text}\n"


class Searched:
    """A pool's store, and the ways to search it. Every way gives units, best first."""

    def __init__(self, knowledge: Knowledge, documents: Sequence[Document]) -> None:
        self.knowledge = knowledge
        self._documents = documents
        self._places = {name(place): place for place in range(len(documents))}

    def places(self, query: str, **options: Any) -> list[int]:
        """Places of the documents that okl finds, best first; one result a document."""
        answer = self.knowledge.search(query, limit=RESULTS, per_document=1, **options)
        if odd := [what for what in answer["degraded"] if what.startswith("vector")]:
            raise RuntimeError(f"the search was weakened: {', '.join(odd)} {self.knowledge.model.reason}")
        return [self._places[row["path"]] for row in answer["results"]]

    def okl(self, query: str) -> list[str]:
        """What okl finds, as it comes."""
        return self._units(self.places(query))

    def direct(self, query: str) -> list[str]:
        """What okl's direct lane finds alone."""
        return self._units(self.places(query, lanes="direct"))

    @property
    def has_lanes(self) -> bool:
        """Whether okl's search can be told to use one lane only."""
        return "lanes" in inspect.signature(self.knowledge.search).parameters

    @cached_property
    def _words(self) -> Words:
        return Words(self._documents)

    @cached_property
    def _meanings(self) -> Meanings:
        return Meanings(self.knowledge, self._places)

    def bm25(self, query: str) -> list[str]:
        """What stemmed BM25 finds alone."""
        return self._units(self._words.rank(query))

    def dense(self, query: str) -> list[str]:
        """What the vectors find alone."""
        return self._units(self._meanings.rank(query))

    def rrf(self, query: str) -> list[str]:
        """What those two find by reciprocal ranks."""
        return self._units(reciprocal([self._words.rank(query), self._meanings.rank(query)]))

    def _units(self, places: Sequence[int]) -> list[str]:
        return list(dict.fromkeys(self._documents[place].unit for place in places))
