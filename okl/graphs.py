"""The graph of a store: brought up to date before it is asked, built again when it is damaged."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from okl import cypher
from okl.errors import Unavailable
from okl.index import graph
from okl.index.engine import Engine, EngineBroken, remove
from okl.index.generation import GRAPH, Broken, Generations, Index
from okl.index.graph_rows import Texts
from okl.note import Note, parse

Say = Callable[[str], None]


@dataclass(frozen=True)
class Graphs:
    """The graphs of the generations of one store; `wait` seconds for another process that has one open."""

    root: Path
    generations: Generations
    wait: float
    say: Say

    def settle(self, index: Index) -> None:
        """Bring the graph of `index` up to date; the caller holds the writer's lock."""
        file = self._file(index)
        try:
            self._tried(file)
            if file.exists():
                graph.update(file, index.state, self.texts(index), self.wait)
                return
        except (EngineBroken, Broken) as broken:
            self.say(f"the graph was damaged ({broken}); it is built again")
            remove(file)
        graph.build(file, index.state, self.texts(index))

    def _tried(self, file: Path) -> None:
        """Open and ask the file once, so that one which kills the process is known for it the next time."""
        if not file.exists():
            return
        with self.generations.trying(file), Engine(file, wait=self.wait) as engine:
            engine.rows("MATCH (n:MemoryNote) RETURN count(n)")

    def texts(self, index: Index) -> Texts:
        """Reads the notes whose files are still as `index` knows them."""

        def read(paths: Iterable[str]) -> Iterator[tuple[str, Note]]:
            known = dict(index.state.rows_in("SELECT path, sha256 FROM files WHERE path IN (?)", paths))
            for path, wanted in sorted(known.items()):
                try:
                    data = (self.root / path).read_bytes()
                except OSError:
                    continue
                if hashlib.sha256(data).hexdigest() == wanted:
                    yield path, parse(path, data)

        return read

    @contextmanager
    def reading(self, index: Index) -> Iterator[Engine]:
        """The graph as it stands, open for reading by any number of processes."""
        try:
            engine = Engine(self._file(index), read_only=True, wait=self.wait)
        except EngineBroken as broken:
            raise Unavailable(f"The graph cannot be read ({broken}); “ok index” builds it again.") from broken
        with engine:
            yield engine

    def cypher(self, index: Index, query: str, timeout: float, most: int) -> tuple[list[str], list[list[Any]]]:
        """Columns and rows of one reading statement; UsageError for any other."""
        allowed = cypher.read_only(query)
        with self.reading(index) as engine:
            columns, rows = engine.rows(allowed, timeout=timeout, most=most, user=True)
        return columns, [[_plain(value) for value in row] for row in rows]

    def refuse_writes(self, query: str) -> None:
        """UsageError for anything but one reading statement."""
        cypher.read_only(query)

    def stats(self, index: Index) -> dict[str, Any]:
        """Counts of nodes and edges, and what most notes hang on."""
        with self.reading(index) as engine:
            return graph.stats(engine)

    def lines(self, index: Index) -> list[str]:
        """Every node and edge as a line, of the file where there is one, else of one made aside."""
        if index.folder is not None:
            with self.reading(index) as engine:
                return list(graph.lines(engine))
        with tempfile.TemporaryDirectory(prefix="okl-graph-") as folder:
            file = Path(folder) / GRAPH
            graph.build(file, index.state, self.texts(index))
            with Engine(file, read_only=True) as engine:
                return list(graph.lines(engine))

    def _file(self, index: Index) -> Path:
        if index.folder is None:
            raise Unavailable("There is no graph while the index cannot be written.")
        return index.folder / GRAPH


def _plain(value: Any) -> Any:
    """A value of Kùzu's as JSON can carry it; a node or an edge without Kùzu's own numbers."""
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items() if name not in ("_id", "_src", "_dst")}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)
