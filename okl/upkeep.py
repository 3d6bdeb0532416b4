"""The verbs that keep an open store's index in step with its files, and look after both."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from okl import doctor, fresh, reading
from okl.doctor import Finding
from okl.errors import CheckFailed, NotFound, UsageError
from okl.fresh import Fresh
from okl.index import dump
from okl.index.generation import GRAPH, HNSW, Broken, Index
from okl.index.state import StateBroken
from okl.index.sync import rebuild as build_anew
from okl.index.sync import scanned
from okl.index.text import TextBroken
from okl.opened import Data, Opened
from okl.proof import prove

Rows = list[Data]
LONGEST = 3600
"""Seconds that a query over the graph may be given."""


class Upkeep(Opened):
    """An open store and the verbs about its index."""

    def sync(self, accept_deletions: bool = False) -> Data:
        """Bring the index up to date with the files: words, vectors, and the graph once there is one."""
        return self._brought_up(accept_deletions, ())

    def index(self, rebuild: bool = False) -> Data:
        """Build the whole index, or bring it up to date; `rebuild` makes a new generation from the files alone."""
        if not rebuild:
            return self._brought_up(False, (GRAPH, HNSW))
        started = time.perf_counter()
        self.build_anew()
        return {**self._brought_up(False, (GRAPH,)), "rebuilt": True, "took_ms": round((time.perf_counter() - started) * 1000, 1)}

    def _brought_up(self, accept_deletions: bool, make: tuple[str, ...]) -> Data:
        started = time.perf_counter()
        with self._synced(accept_deletions) as found:
            waiting = self.settle(found.index, make)
            return reading.synced(found, time.perf_counter() - started, waiting)

    @contextmanager
    def _synced(self, accept_deletions: bool = False) -> Iterator[Fresh]:
        with self.generations.lock(self.say):
            found = fresh.synced(self.store.root, self.generations, self.options(accept_deletions), self.say)
        with found.index:
            self.after_sync(found)
            yield found

    def build_anew(self) -> None:
        """Make a new generation from the files alone."""
        with self.generations.lock(self.say):
            build_anew(self.store.root, self.generations, self.options())

    def index_check(self) -> Data:
        """Compare the index as it stands with one built from the files alone; no file of a note is touched."""
        with self.generations.lock(self.say):
            try:
                index = self.generations.open()
            except Broken as broken:
                raise CheckFailed(f"The index was damaged ({broken}); “ok index” builds it again.") from broken
            if index is None:
                raise NotFound("There is no index to check. “ok index” builds it.")
            with index:
                try:
                    self.graphs.settle(index)
                    ours = self.dump(index)
                except (StateBroken, TextBroken) as broken:
                    ours = [f"it cannot be read: {broken}"]
        return reading.compared(ours, self.rebuilt_dump())

    def dump(self, index: Index) -> list[str]:
        """Every fact of the index as it stands: tables, words, vectors, graph."""
        return dump.dump(index, self.model.last, self.graphs.lines(index))

    def rebuilt_dump(self) -> list[str]:
        """The same of an index built from nothing but the files and the embedding cache."""
        again, _ = scanned(self.store.root, self.options())
        with again:
            return self.dump(again)

    def proof(self) -> Data:
        """Show that the index is what the files give: built once more aside, it has the same facts and gives the same answers."""
        with self._synced() as found:
            self.settle(found.index, (GRAPH,))
            return prove(self, found.index).fields()

    def graph_cypher(self, query: str, limit: int = 1000, timeout: float = 10.0) -> Data:
        """Run one reading Cypher statement over the graph; at most `limit` rows, at most `timeout` seconds."""
        if limit < 1 or not 0 < timeout <= LONGEST:
            raise UsageError(f"A limit is at least 1, and a timeout more than 0 and at most {LONGEST} seconds.")
        self.graphs.refuse_writes(query)
        with self._graph() as index:
            columns, rows = self.graphs.cypher(index, query, timeout, limit + 1)
        return {
            "columns": columns,
            "rows": [dict(zip(columns, row, strict=True)) for row in rows[:limit]],
            "truncated": len(rows) > limit,
        }

    def graph_stats(self) -> Data:
        """Counts of the graph's nodes and edges, and what most notes hang on."""
        with self._graph() as index:
            return self.graphs.stats(index)

    @contextmanager
    def _graph(self) -> Iterator[Index]:
        """An index whose graph is up to date, as far as it can be written."""
        with self.fresh_index() as found:
            if not found.degraded:
                with self.writing():
                    self.graphs.settle(found.index)
            yield found.index

    def status(self) -> Data:
        """What the store holds, how the index stands, and how much there is to mend."""
        with self.fresh_index() as found:
            faults = doctor.findings(self.store, found)
            return reading.status(self.store, found, self.generations, faults, self.config)

    def doctor(self, fix: bool = False) -> Rows:
        """Every fault with its name, place and mend; `fix` mends what can be mended without touching a note."""
        if fix:
            self._mend()
        with self.fresh_index() as found:
            faults = [*doctor.findings(self.store, found), *self._faults_of_vectors(found)]
            return [finding.fields() for finding in doctor.ordered(faults)]

    def _faults_of_vectors(self, found: Fresh) -> Iterator[Finding]:
        """What is wrong with the model, with vectors, and with the HNSW index, which is built again where it finds too little."""
        if self.model.wanted and self.model.embedder() is None:
            yield doctor.missing_model(self.model.reason)
        yield from doctor.of_vectors(found.index, self.config["embedding"])
        recall = self.approximate.recall(found.index) if found.index.fingerprint else None
        if recall is None:
            return
        yield doctor.hnsw_recall(recall)
        if recall < doctor.LEAST_RECALL and not found.degraded:
            with self.writing():
                self.approximate.rebuild(found.index)

    def _mend(self) -> None:
        """Make the index anew where it is not what the files give."""
        try:
            sound = self.index_check()["equal"]
        except (NotFound, CheckFailed):
            sound = True  # there is none, or it was set aside: the next step builds it
        if not sound:
            self.say("the index was not what the files give; building it again")
            self.index(rebuild=True)
