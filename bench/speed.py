"""How fast okl is: ratios and times of one run, each beside its mark."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean, median

from bench import texts, vector_speed
from bench.baselines import query_vector
from bench.stores import Bench
from bench.timing import Row, in_ms, medians, program, seconds
from okl.errors import Unavailable
from okl.index import chunk
from okl.index.embed import SLICE
from okl.index.generation import Index
from okl.index.sync import no_progress
from okl.knowledge import Knowledge
from okl.note import parse

RUNS = 9
MARKED = 10_000
EDITS = 20
QUERIES = 200
SAMPLE = 2 * SLICE
TURNS = 4
Say = Callable[[str], None]

_MEMORY = """
import sys
from functools import partial
from pathlib import Path
from statistics import fmean, median
from okl.knowledge import open_store
store = open_store(Path(sys.argv[1]))
for query in sys.argv[2:]:
    store.search(query)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmRSS")))
"""


@dataclass(frozen=True)
class Sizes:
    """How much is made: notes of a kilobyte, short notes that are really embedded, chunks of made-up vectors."""

    notes: int
    chunks: int

    def mark(self, value: float) -> float | None:
        """A mark that is set for a store of 10,000 notes; None for another."""
        return value if self.notes == MARKED else None


def run(bench: Bench, sizes: Sizes, say: Say) -> Iterator[Row]:
    """Every row, as it is measured."""
    say("starting programs")
    yield from programs(bench)
    say(f"{sizes.notes} notes without a model")
    yield from words_alone(bench, sizes)
    if bench.embedding != "none":
        say(f"{sizes.notes} short notes with {bench.embedding}")
        yield from with_model(bench, sizes)
    say(f"{sizes.chunks} vectors")
    yield from vector_speed.run(bench.folder, sizes.chunks)


# --- programs ---


def ok_command() -> list[str]:
    """`ok` as it is installed beside this Python."""
    found = shutil.which("ok", path=str(Path(sys.executable).parent))
    return [found] if found else [sys.executable, "-m", "okl"]


def variables(bench: Bench, **more: str) -> dict[str, str]:
    """The environment of a program that is measured."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {**kept, **bench.variables, **more}


def programs(bench: Bench) -> Iterator[Row]:
    """What starting costs, in units of an empty Python."""
    environment = variables(bench)
    taken = medians(
        {
            "pass": program([sys.executable, "-c", "pass"], environment, bench.folder),
            "import okl": program([sys.executable, "-c", "import okl"], environment, bench.folder),
            "ok --version": program([*ok_command(), "--version"], environment, bench.folder),
        },
        2 * RUNS,
    )
    yield Row("`python -c pass`", taken["pass"] * 1000, "ms")
    for name in ("import okl", "ok --version"):
        yield Row(f"`{name}`", taken[name] / taken["pass"], "× `python -c pass`", 2)


# --- a store without a model ---


def words_alone(bench: Bench, sizes: Sizes) -> Iterator[Row]:
    """Notes of a kilobyte: the first index, syncs, a cold search, an edit."""
    plain = Bench(bench.folder, bench.cache, "none")
    root = bench.folder / "words"
    writer = texts.write_all(root, sizes.notes)
    knowledge = plain.open(root)
    first = seconds(lambda: _touch(knowledge))
    yield Row("first index, words and links", sizes.notes / first, "notes/s", 1500, more=True)
    graph = seconds(knowledge.sync)
    yield Row("first index, the graph with it", sizes.notes / (first + graph), "notes/s")
    yield from unchanged(knowledge, sizes)
    yield from cold(plain, root, writer, "without a model")
    yield from edits(knowledge, writer, "by its words", 0.7)


def _touch(knowledge: Knowledge) -> None:
    with knowledge.fresh_index():
        pass


def unchanged(knowledge: Knowledge, sizes: Sizes) -> Iterator[Row]:
    """Looking at every file and finding nothing new."""
    taken = medians({"look": lambda: _touch(knowledge), "sync": knowledge.sync}, RUNS)
    yield Row(f"files looked over, {sizes.notes:,} notes unchanged", taken["look"], "s", sizes.mark(0.15))
    yield Row(f"whole sync, {sizes.notes:,} notes unchanged", taken["sync"], "s", sizes.mark(0.15))


def cold(bench: Bench, root: Path, writer: texts.Writer, note: str) -> Iterator[Row]:
    """`ok search` from nothing, beside ripgrep reading the same notes."""
    query = writer.query()
    works = {"ok": program([*ok_command(), "search", "--json", query], variables(bench), root)}
    if rg := shutil.which("rg"):
        works["rg"] = program([rg, "-i", query.split()[0], "."], variables(bench), root)
    taken = medians(works, RUNS)
    yield Row("cold `ok search --json`, no daemon", taken["ok"], "s", 0.5, note=note)
    if rg:
        yield Row("cold `ok search --json`", taken["ok"] / taken["rg"], "× `rg`", note=note)


def edits(knowledge: Knowledge, writer: texts.Writer, note: str, mark: float) -> Iterator[Row]:
    """From a saved file to a search that finds what was written, a word that stands nowhere else."""
    taken, found = [], []
    for number in range(EDITS):
        path, word = texts.path(number), f"zyxw{number}q"
        (knowledge.store.root / path).write_text(f"# Edited\n\n{word} {writer.sentence(30)}\n", encoding="utf-8")
        started = time.perf_counter()
        found.append(_finds(knowledge, word, path))
        taken.append(time.perf_counter() - started)
    yield from in_ms(f"a saved note is searched {note}", taken, (None, mark * 1000))
    yield Row(f"saved notes that were found {note}", fmean(found), "of 1", 1, more=True)


def _finds(knowledge: Knowledge, query: str, path: str) -> bool:
    return any(row["path"] == path for row in knowledge.search(query)["results"])


# --- a store with the model ---


def with_model(bench: Bench, sizes: Sizes) -> Iterator[Row]:
    """Short notes, really embedded: embedding, rebuilding, warm and cold searches, memory."""
    root = bench.folder / "meaning"
    writer = texts.write_all(root, sizes.notes, short=True)
    knowledge = bench.open(root)
    yield from embedding(bench)
    _touch(knowledge)
    knowledge.sync()
    yield Row("rebuild from the embedding cache", seconds(lambda: knowledge.index(rebuild=True)), "s", sizes.mark(15))
    yield from warm(knowledge, writer, sizes)
    link_cache(knowledge)
    yield from cold(bench, root, writer, f"with {bench.embedding}")
    yield from memory(bench, root, writer)
    yield from edits(knowledge, writer, "by words and meaning", 1.5)


def embedding(bench: Bench) -> Iterator[Row]:
    """What a sync embeds a second, beside the bare model on the same texts, in turns."""
    turns = [_embedded(bench, turn) for turn in range(TURNS)]
    yield Row("embedding by sync", median(chunks / ours for ours, _, chunks in turns), "chunks/s", note=bench.embedding)
    yield Row("embedding by sync", median(bare / ours for ours, bare, _ in turns), "× the bare model", 0.95, more=True)


def _embedded(bench: Bench, turn: int) -> tuple[float, float, int]:
    """(seconds of a sync, seconds of the bare model, chunks) for notes that no cache knows; every other turn the sync is first."""
    root = bench.folder / f"embedding-{turn}"
    texts.write_all(root, SAMPLE, seed=100 + turn)
    knowledge = Bench(bench.folder, bench.folder / f"cache-{turn}", bench.embedding).open(root)
    embedder = knowledge.model.embedder()
    if embedder is None:
        raise Unavailable(knowledge.model.reason)
    with knowledge.fresh_index() as found:
        passages = list(_passages(root, found.index))
        embedder.embed(passages[:SLICE], "passage")
        works = {
            "ours": lambda: knowledge.model.catch_up(root, found.index, knowledge.writing, no_progress),
            "bare": lambda: embedder.embed(passages, "passage"),
        }
        taken = {name: seconds(works[name]) for name in sorted(works, reverse=turn % 2 == 0)}
    return taken["ours"], taken["bare"], len(passages)


def _passages(root: Path, index: Index) -> Iterator[str]:
    """What the model reads of each chunk, in order."""
    for path, start, end, headings in index.state.rows("SELECT path, start, end, headings FROM chunks ORDER BY number"):
        note = parse(path, (root / path).read_bytes())
        yield chunk.passage(note.title, headings.split("\n") if headings else (), note.body[start:end])


def warm(knowledge: Knowledge, writer: texts.Writer, sizes: Sizes) -> Iterator[Row]:
    """Searches in one process, the embedding of the query included; the files are looked over each time."""
    for _ in range(5):
        knowledge.search(writer.query())
    queries = [writer.query() for _ in range(QUERIES)]
    whole = [seconds(partial(knowledge.search, query)) for query in queries]
    inside = [knowledge.search(query)["took_ms"] / 1000 for query in queries]
    meant = [seconds(partial(query_vector, knowledge.model, query)) for query in queries]
    chunks = knowledge.status()["chunks"]
    marks = (sizes.mark(15), sizes.mark(30))
    yield from in_ms(f"warm search, {chunks:,} chunks", whole, note="files looked over, query embedded")
    yield from in_ms(f"warm search, {chunks:,} chunks", [a + b for a, b in zip(inside, meant, strict=True)], marks, "query embedded")
    yield from in_ms("embedding a query", meant)


def link_cache(knowledge: Knowledge) -> None:
    """Let other processes have the vectors where a store of its own keeps them."""
    own = knowledge.generations.folder / "embeddings"
    if not own.exists():
        own.symlink_to(knowledge.model.folder, target_is_directory=True)


def memory(bench: Bench, root: Path, writer: texts.Writer) -> Iterator[Row]:
    """What a process holds once it has searched."""
    queries = [writer.query() for _ in range(20)]
    told = program([sys.executable, "-c", _MEMORY, str(root), *queries], variables(bench), root)()
    yield Row("memory of a process after 20 searches", int(told) / 1024, "MB", 400)
