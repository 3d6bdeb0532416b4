"""Giving chunks their vectors: from the cache at once, from the model when there is time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path

from okl.errors import OklError
from okl.index import chunk
from okl.index.embeddings import Model
from okl.index.generation import VECTORS, Index, ModelChanged, VectorsBroken
from okl.index.state import Filed, State
from okl.note import parse, sha256
from okl.providers.base import Embedder

SAME = 0.999
"""The cosine from which on two vectors are of one text by one model: processors differ a little."""
SLICE = 128
"""Texts that are embedded between two writes."""

Progress = Callable[[str, int, int], None]
Writing = Callable[[], AbstractContextManager[None]]


def place(index: Index, model: Model | None, filed: Sequence[Filed]) -> list[Filed]:
    """`filed`, told which of their chunks got a vector from the cache."""
    if model is None or not index.holds(model.fingerprint, model.dim):
        return list(filed)
    chunks = [(row.number + ord_, found[6]) for row in filed for ord_, found in enumerate(row.record.chunks)]
    places, vectors = model.embeddings.get([sha for _, sha in chunks])
    numbers = [chunks[place_][0] for place_ in places]
    try:
        index.vectors.put(numbers, vectors)
    except VectorsBroken:
        mend(index, model)
        index.vectors.put(numbers, vectors)
    known = frozenset(numbers)
    return [replace(row, embedded=known.intersection(range(row.number, row.number + len(row.record.chunks)))) for row in filed]


def drop(index: Index, numbers: Sequence[int]) -> None:
    """Forget the vectors of chunks that are gone; a matrix that cannot be read is mended when it is searched next."""
    with suppress(VectorsBroken):
        index.vectors.drop(numbers)


def mend(index: Index, model: Model) -> None:
    """Make the matrix anew of what the cache has; the caller is the only writer."""
    if index.folder is not None:
        (index.folder / VECTORS).unlink(missing_ok=True)
    index.__dict__.pop("vectors", None)
    with index.state.writing():
        index.state.execute("UPDATE chunks SET embedded = 0")
    _file(index, [row[0] for row in index.state.rows("SELECT DISTINCT passage_sha256 FROM chunks")], model)


def waiting(state: State) -> int:
    """How many chunks have no vector yet."""
    return int(state.rows("SELECT count(*) FROM chunks WHERE embedded = 0")[0][0])


def embed(
    root: Path,
    index: Index,
    model: Model,
    embedder: Embedder,
    writing: Writing,
    progress: Progress,
    until: float | None = None,
) -> int:
    """Embed the chunks that wait, until `time.monotonic()` passes `until`; gives how many still wait.

    A slice is embedded without the writer's lock and written under it (`writing` takes it), so
    that a long run keeps nobody out. What is done stays done, whenever it is stopped.
    """
    if not index.holds(model.fingerprint, model.dim):
        raise ModelChanged(f"the embedding model is now {model.fingerprint}")
    total, done = waiting(index.state), 0
    for passages in _slices(root, index.state):
        if until is not None and time.monotonic() > until:
            break
        texts = list(passages.values())
        vectors = embedder.embed(texts, "passage")
        with writing():
            model.embeddings.add(list(passages), vectors)
            _file(index, list(passages), model)
        done += len(texts)
        progress("embedding", min(done, total), total)
    return waiting(index.state) if total else 0


def forget_lost(index: Index, model: Model | None) -> None:
    """Chunks whose vector the cache has lost wait for it again; the caller is the only writer."""
    rows = index.state.rows("SELECT number, passage_sha256 FROM chunks WHERE embedded = 1")
    lost = [(number,) for number, sha in rows if model is None or sha not in model.embeddings]
    if lost:
        with index.state.writing():
            index.state.execute_all("UPDATE chunks SET embedded = 0 WHERE number = ?", lost)


def _slices(root: Path, state: State) -> Iterator[dict[str, str]]:
    """The texts that wait, by their sha256, a slice at a time, in the order of the chunks."""
    last = 0
    query = (
        "SELECT number, path, start, end, headings, passage_sha256 FROM chunks WHERE embedded = 0 AND number > ? ORDER BY number LIMIT ?"
    )
    while rows := state.rows(query, (last, SLICE)):
        last = rows[-1][0]
        found = {sha: text for path, part in _by_path(rows) for sha, text in _passages(root, path, part)}
        if found:
            yield found


def reembedded(root: Path, index: Index, embedder: Embedder, most: int) -> tuple[int, list[str]]:
    """Embed up to `most` chunks once more; gives how many, and the paths of those whose vector is another."""
    rows = index.state.rows(
        "SELECT number, path, start, end, headings, passage_sha256 FROM chunks WHERE embedded = 1 ORDER BY passage_sha256 LIMIT ?", (most,)
    )
    numbers = {row[5]: (row[0], row[1]) for row in rows}
    texts = {sha: text for path, part in _by_path(rows) for sha, text in _passages(root, path, part)}
    if not texts:
        return 0, []
    made = embedder.embed(list(texts.values()), "passage")
    held = index.vectors.at([numbers[sha][0] for sha in texts])
    same = (made * held).sum(axis=1) > SAME
    return len(texts), [numbers[sha][1] for sha, right in zip(texts, same, strict=True) if not right]


def _by_path(rows: list[tuple[object, ...]]) -> Iterator[tuple[str, list[tuple[int, int, str, str]]]]:
    grouped: dict[str, list[tuple[int, int, str, str]]] = {}
    for _, path, *rest in rows:
        grouped.setdefault(str(path), []).append(tuple(rest))  # type: ignore[arg-type]
    yield from grouped.items()


def _passages(root: Path, path: str, rows: list[tuple[int, int, str, str]]) -> Iterator[tuple[str, str]]:
    """(sha256, text) of a file's chunks; of none that changed since it was indexed."""
    try:
        note = parse(path, (root / path).read_bytes())
    except (OSError, OklError):
        return
    for start, end, headings, wanted in rows:
        text = chunk.passage(note.title, headings.split("\n") if headings else (), note.body[start:end])
        if sha256(text) == wanted:
            yield wanted, text


def _file(index: Index, shas: list[str], model: Model) -> None:
    """Give every chunk with one of these texts its vector."""
    rows = index.state.rows_in("SELECT number, passage_sha256 FROM chunks WHERE passage_sha256 IN (?)", shas)
    places, vectors = model.embeddings.get([sha for _, sha in rows])
    numbers = [rows[place_][0] for place_ in places]
    index.vectors.put(numbers, vectors)
    with index.state.writing():
        index.state.execute_all("UPDATE chunks SET embedded = 1 WHERE number = ?", ((number,) for number in numbers))
