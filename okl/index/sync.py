"""Sync: the only writer of the index. It compares files and index, decides, then acts."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from okl.errors import Conflict
from okl.index.generation import Generations, Index, in_memory
from okl.index.names import settle_ids, settle_links
from okl.index.neighbours import ids_of, linkers, mark_stale, neighbours
from okl.index.record import Settings
from okl.index.state import Filed, Indexed
from okl.index.text import TextChunk, TextWriter
from okl.index.worker import Read, is_racy, reads
from okl.markup import name_key
from okl.walk import Stamp, Walk, ignore_fingerprint, walk

MANY = 200
LARGE_SHARE = 0.2
GUARDED = 50
BATCH = 250

Progress = Callable[[str, int, int], None]
"""What is done, to how many, of how many."""
Place = Callable[[Index, list[Filed]], list[Filed]]
"""Gives chunks on their way into the index the vectors that are known of them."""


def no_progress(_what: str, _done: int, _total: int) -> None:
    """Show nothing."""


Drop = Callable[[Index, list[int]], None]
"""Takes the vectors of chunks that are gone out of the index."""


def unplaced(_index: Index, filed: list[Filed]) -> list[Filed]:
    """Give no vectors."""
    return filed


@dataclass(frozen=True)
class Options:
    """What a sync needs to know of the settings and of the caller."""

    globs: tuple[str, ...]
    include: tuple[str, ...]
    settings: Settings
    accept_deletions: bool = False
    progress: Progress = no_progress
    place: Place = unplaced
    drop: Drop = lambda _index, _numbers: None


@dataclass(frozen=True)
class Changes:
    """What must happen to the index: files to index (anew), to drop, and stamps to refresh."""

    added: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    dropped: tuple[str, ...] = ()
    touched: tuple[str, ...] = ()

    @property
    def written(self) -> list[str]:
        """Every path whose rows change by being written."""
        return sorted({*self.added, *self.replaced, *(new for _, new in self.renamed)})

    @property
    def gone(self) -> list[str]:
        """Every path whose rows go."""
        return sorted({*self.dropped, *(old for old, _ in self.renamed)})

    def __bool__(self) -> bool:
        return bool(self.added or self.replaced or self.renamed or self.dropped)


@dataclass(frozen=True)
class Synced:
    """What a sync did: the changes, how many files are indexed now, and how it was done."""

    changes: Changes
    files: int
    rebuilt: bool
    walk: Walk = field(repr=False)


def suspects(files: Mapping[str, Stamp], indexed: Mapping[str, Indexed]) -> list[str]:
    """Files whose stamp moved, is too young to be trusted, or is new."""
    return sorted(path for path, stamp in files.items() if (known := indexed.get(path)) is None or known.racy or known.stamp != stamp)


def decide(walked: Walk, indexed: Mapping[str, Indexed], hashes: Mapping[str, str], pending: Iterable[str] = ()) -> Changes:
    """Compare files and index. `hashes` holds the sha256 of every suspect; neither side is touched."""
    again = set(pending)
    added = {path for path in hashes if path not in indexed}
    replaced = {p for p in hashes if p in indexed and (hashes[p] != indexed[p].sha256 or p in again)}
    replaced |= again & walked.stamps.keys() & indexed.keys()
    dropped = {path for path in indexed if path not in walked.stamps and not walked.frozen(path)}
    by_hash: dict[str, list[str]] = {}
    for path in sorted(dropped):
        by_hash.setdefault(indexed[path].sha256, []).append(path)
    renamed = [(by_hash[hashes[path]].pop(0), path) for path in sorted(added) if by_hash.get(hashes[path])]
    return Changes(
        tuple(sorted(added - {new for _, new in renamed})),
        tuple(sorted(replaced)),
        tuple(renamed),
        tuple(sorted(dropped - {old for old, _ in renamed})),
        tuple(sorted(set(hashes) - added - replaced)),
    )


def sync(root: Path, index: Index, options: Options) -> Synced | None:
    """Bring `index` up to the files below `root`; None if so much changed that building anew is better."""
    state = index.state
    scanned_ns = time.time_ns()
    indexed = state.indexed()
    fingerprint = ignore_fingerprint(root, options.globs + options.include, indexed)
    known = indexed if state.get("ignore") == fingerprint else {}
    walked = walk(root, options.globs, options.include, known)
    moved = suspects(walked.stamps, indexed)
    pending = state.pending()
    if len(moved) > MANY and len(set(moved) - indexed.keys()) > LARGE_SHARE * len(indexed):
        return None
    hashes = {path: told for path in moved if (told := _sha256(root, path)) is not None}
    changes = decide(walked, indexed, hashes, pending)
    _guard(changes, indexed, options)
    if len(changes.written) > MANY and len(changes.written) > LARGE_SHARE * len(indexed):
        return None
    if changes or pending:
        _apply(index, changes, list(reads(root, changes.written, options.settings)), pending, options)
    _refresh(index, changes.touched, walked, indexed, scanned_ns)
    fresh = fingerprint if not changes else ignore_fingerprint(root, options.globs + options.include, walked.stamps)
    if state.get("ignore") != fresh:
        with state.writing():
            state.remember("ignore", fresh)
    return Synced(changes, len(walked.stamps), False, walked)


def _sha256(root: Path, path: str) -> str | None:
    """The hash of the file's bytes; None if it is gone, empty if it cannot be read."""
    try:
        return hashlib.sha256((root / path).read_bytes()).hexdigest()
    except FileNotFoundError:
        return None
    except OSError:
        return ""


def _guard(changes: Changes, indexed: Mapping[str, Indexed], options: Options) -> None:
    if options.accept_deletions or len(indexed) <= GUARDED or len(changes.dropped) * 2 <= len(indexed):
        return
    raise Conflict(
        f"{len(changes.dropped)} of {len(indexed)} notes are gone from the store. If that is right, run "
        "“ok sync --accept-deletions”; if not, look whether the disk is mounted."
    )


def _apply(index: Index, changes: Changes, found: list[Read], pending: set[str], options: Options) -> None:
    """Words and vectors first, tables last: a crash in between repeats the work, `pending` telling of which files."""
    state = index.state
    affected = sorted({*changes.written, *changes.gone, *pending})
    with state.writing():
        state.execute_all("INSERT OR IGNORE INTO pending VALUES (?)", ((path,) for path in affected))
    with index.text.writing() as writer:
        for path in affected:
            writer.drop(path)
        filed = _add_words(writer, found, state.next_number())
    filed = options.place(index, filed)
    gone = [row[0] for row in state.rows_in("SELECT number FROM chunks WHERE embedded = 1 AND path IN (?)", affected)]
    with state.writing():
        names, claims = _names_of(index, affected)
        stale, before = neighbours(state, affected), ids_of(state, affected)
        for path in affected:
            state.drop(path)
        state.put(filed)
        more_names, more_claims = _names_of(index, affected)
        moved, paths = settle_ids(state, claims | more_claims)
        stale |= settle_links(state, names | more_names | moved | _link_names_of(index, affected))
        stale |= neighbours(state, paths.union(affected))
        stale |= linkers(state, paths.union(dict(before.items() ^ ids_of(state, affected).items())))
        mark_stale(state, stale)
        state.execute("DELETE FROM pending")
    if gone:
        options.drop(index, gone)


def _add_words(writer: TextWriter, found: Iterable[Read], number: int) -> list[Filed]:
    """Index the words of each file, numbering its chunks from `number` on."""
    filed = []
    for read in found:
        row = read.record
        filed.append(Filed(row, read.stamp, read.racy, number))
        for ord_, text in enumerate(row.texts):
            writer.add(TextChunk(number + ord_, row.path, ord_, row.language, row.titles, text, row.chunks[ord_][5]))
        number += len(row.texts)
    return filed


def _names_of(index: Index, paths: list[str]) -> tuple[set[str], set[str]]:
    """(folded names, claimed ids and path ids) of these files as they stand in the tables."""
    names = {row[0] for row in index.state.rows_in("SELECT name FROM names WHERE path IN (?)", paths)}
    rows = index.state.rows_in("SELECT id, claim, stem FROM notes WHERE path IN (?)", paths)
    claims = {text for row in rows for text in row if text}
    return names | {name_key(claim) for claim in claims}, claims


def _link_names_of(index: Index, paths: list[str]) -> set[str]:
    rows = index.state.rows_in("SELECT name, near FROM links WHERE path IN (?)", paths)
    return {name for row in rows for name in row if name}


def _refresh(index: Index, touched: Iterable[str], walked: Walk, indexed: Mapping[str, Indexed], scanned_ns: int) -> None:
    rows = []
    for path in touched:
        stamp, known = walked.stamps[path], indexed[path]
        fresh = known._replace(stamp=stamp, racy=is_racy(stamp, scanned_ns) or not known.sha256)
        if fresh != known:
            rows.append((path, fresh))
    if rows:
        with index.state.writing():
            for path, fresh in rows:
                index.state.stamp(path, fresh.stamp, fresh.racy, fresh.sha256)


def fill(root: Path, index: Index, options: Options) -> Synced:
    """Index everything below `root` into an empty index."""
    state = index.state
    walked = walk(root, options.globs, options.include)
    paths = sorted(walked.stamps)
    number, done = 1, 0
    with index.text.writing() as writer, state.writing():
        found = reads(root, paths, options.settings)
        while batch := list(islice(found, BATCH)):
            filed = options.place(index, _add_words(writer, batch, number))
            state.put(filed)
            number = filed[-1].number + len(filed[-1].record.texts)
            done += len(batch)
            options.progress("indexing", done, len(paths))
    state.finish_load()
    with state.writing():
        settle_ids(state)
        settle_links(state)
        state.remember("ignore", ignore_fingerprint(root, options.globs + options.include, walked.stamps))
    return Synced(Changes(added=tuple(paths)), len(paths), True, walked)


def rebuild(root: Path, generations: Generations, options: Options) -> Synced:
    """Build a new generation from the files alone and make it the live one."""
    index = generations.begin()
    try:
        done = fill(root, index, options)
        count = index.text.size
    except BaseException:
        generations.discard(index)
        raise
    generations.publish(index, {"files": done.files, "chunks": count, "made_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())})
    return done


def scanned(root: Path, options: Options) -> tuple[Index, Synced]:
    """An index of the files as they are now, in memory: for a store whose index cannot be written."""
    index = in_memory()
    return index, fill(root, index, options)
