"""What okl is compared with: plain stemmed BM25, the model's vectors alone, and the two by reciprocal ranks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import tantivy
from tantivy import Filter, Occur, Query, TextAnalyzerBuilder, Tokenizer

from bench.sets import Document
from okl.errors import Unavailable
from okl.knowledge import Knowledge
from okl.model import StoreModel
from okl.providers.base import Vectors

DEPTH = 100
K = 60


class Words:
    """BM25 over title and text, English stemming, any word of the query."""

    def __init__(self, documents: Sequence[Document]) -> None:
        schema = tantivy.SchemaBuilder().add_unsigned_field("place", stored=True).add_text_field("text", tokenizer_name="en_stem").build()
        index = tantivy.Index(schema)
        with index.writer(heap_size=64_000_000, num_threads=1) as writer:
            for place, document in enumerate(documents):
                writer.add_document(tantivy.Document(place=place, text=f"{document.title}\n{document.text}"))
        index.reload()
        self._schema, self._searcher = schema, index.searcher()
        # what Tantivy's own `en_stem` does
        plain = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(40)).filter(Filter.lowercase())
        self._analyzer = plain.filter(Filter.stemmer("english")).build()

    def rank(self, query: str) -> list[int]:
        """Places of the best documents, best first."""
        terms = [Query.term_query(self._schema, "text", term) for term in self._analyzer.analyze(query)]
        hits = self._searcher.search(Query.boolean_query([(Occur.Should, term) for term in terms]), DEPTH).hits if terms else []
        found = [(-score, int(self._searcher.doc(address).to_dict()["place"][0])) for score, address in hits]
        return [place for _, place in sorted(found)]


class Meanings:
    """Exact cosine with the store's own vectors; a document's nearest chunk stands for it."""

    def __init__(self, knowledge: Knowledge, places: dict[str, int]) -> None:
        with knowledge.fresh_index() as found:
            rows = [(number, path) for number, path in found.index.state.rows("SELECT number, path FROM chunks") if path in places]
            self._matrix = found.index.vectors.at([number for number, _ in rows])
        self._places = np.array([places[path] for _, path in rows])
        self._model = knowledge.model

    def rank(self, query: str) -> list[int]:
        """Places of the best documents, best first."""
        cosines = self._matrix @ query_vector(self._model, query)
        nearest = self._places[np.argsort(-cosines, kind="stable")]
        return list(dict.fromkeys(nearest.tolist()))[:DEPTH]


def query_vector(model: StoreModel, query: str) -> Vectors:
    """The vector of a query, float32[dim]. Unavailable without the model."""
    embedder = model.embedder()
    if embedder is None:
        raise Unavailable(model.reason)
    vector: Vectors = embedder.embed([query], "query")[0]
    return vector


def reciprocal(rankings: Iterable[Sequence[int]]) -> list[int]:
    """The rankings in one, by the sum of 1 / (60 + rank)."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, place in enumerate(ranking, 1):
            scores[place] = scores.get(place, 0.0) + 1 / (K + rank)
    return sorted(scores, key=lambda place: (-scores[place], place))[:DEPTH]
