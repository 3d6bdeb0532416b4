"""The index's tables: stamps, ids, names, chunks, links, tags. One SQLite file that any process may read.

The only file of the index that imports sqlite3.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from okl.errors import Busy, Unavailable
from okl.index.record import Record
from okl.note import stem
from okl.walk import Stamp

SCHEMA = "2"

_TABLES = """
CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE pending(path TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE files(
  path TEXT PRIMARY KEY, size INTEGER, mtime_ns INTEGER, inode INTEGER, racy INTEGER, sha256 TEXT) WITHOUT ROWID;
CREATE TABLE notes(
  path TEXT PRIMARY KEY, id TEXT NOT NULL, stem TEXT, claim TEXT, kind TEXT, type TEXT, title TEXT, namespace TEXT, status TEXT,
  trust TEXT, created TEXT, updated TEXT, expires TEXT, language TEXT, body_sha256 TEXT, source TEXT) WITHOUT ROWID;
CREATE TABLE chunks(
  number INTEGER PRIMARY KEY, path TEXT, ord INTEGER, start INTEGER, end INTEGER, line_start INTEGER, line_end INTEGER,
  headings TEXT, sha256 TEXT, passage_sha256 TEXT, embedded INTEGER NOT NULL);
CREATE TABLE names(path TEXT, name TEXT, strength INTEGER);
CREATE TABLE links(
  path TEXT, ord INTEGER, kind TEXT, target TEXT, fragment TEXT, text TEXT, line INTEGER, name TEXT, near TEXT, found TEXT);
CREATE TABLE tags(path TEXT, name TEXT, value TEXT, folded TEXT);
CREATE TABLE keys(path TEXT, label TEXT, folded TEXT, type TEXT, origin TEXT, weight REAL);
CREATE TABLE titles(path TEXT, form TEXT, title TEXT);
CREATE TABLE graph_stale(path TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE problems(path TEXT, name TEXT, line INTEGER, text TEXT);
"""
_INDEXES = """
CREATE INDEX notes_id ON notes(id);
CREATE INDEX notes_stem ON notes(stem);
CREATE INDEX notes_claim ON notes(claim);
CREATE INDEX notes_language ON notes(language);
CREATE INDEX notes_docs ON notes(id, path) WHERE kind = 'doc';
CREATE INDEX notes_body ON notes(body_sha256);
CREATE INDEX chunks_path ON chunks(path);
CREATE INDEX chunks_passage ON chunks(passage_sha256);
CREATE INDEX chunks_waiting ON chunks(number) WHERE embedded = 0;
CREATE INDEX names_name ON names(name);
CREATE INDEX names_path ON names(path);
CREATE INDEX links_path ON links(path);
CREATE INDEX links_name ON links(name);
CREATE INDEX links_near ON links(near);
CREATE INDEX links_found ON links(found);
CREATE INDEX links_supersedes ON links(path, found) WHERE kind = 'supersedes';
CREATE INDEX tags_path ON tags(path);
CREATE INDEX tags_value ON tags(name, folded);
CREATE INDEX titles_path ON titles(path);
CREATE INDEX titles_form ON titles(form);
CREATE INDEX keys_path ON keys(path);
CREATE INDEX keys_folded ON keys(folded);
CREATE INDEX problems_path ON problems(path);
"""
_STAMP = "INSERT OR REPLACE INTO files VALUES (?,?,?,?,?,?)"
_OWNED = ("notes", "chunks", "names", "links", "tags", "keys", "titles", "problems")
_NOTE_COLUMNS = (
    "claim", "kind", "type", "title", "namespace", "status", "trust", "created", "updated", "expires", "language",
    "body_sha256", "source",
)  # fmt: skip


class StateBroken(Exception):
    """SQLite cannot read its file; it is to be set aside and built again."""


class Indexed(NamedTuple):
    """What the index knows of a file: its stamp, its bytes' sha256, whether the stamp is too young to be trusted."""

    stamp: Stamp
    sha256: str
    racy: bool


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """Where a chunk stands."""

    number: int
    path: str
    ord: int
    start: int
    end: int
    line_start: int
    line_end: int
    headings: tuple[str, ...]
    sha256: str


@dataclass(frozen=True, slots=True)
class Filed:
    """A file's record on its way into the tables: its stamp, the number of its first chunk, which chunks have vectors."""

    record: Record
    stamp: Stamp
    racy: bool
    number: int
    embedded: frozenset[int] = frozenset()


class State:
    """The open tables; `path` None keeps them in memory."""

    def __init__(self, path: Path | None, fresh: bool = False, wait: float = 10.0) -> None:
        with _guarded():
            self._db = _connect(path, fresh, wait)
            if fresh:
                self._db.executescript(_TABLES)
                self._db.execute("INSERT INTO meta VALUES ('schema', ?)", (SCHEMA,))

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction."""
        with _guarded():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                if self._db.in_transaction:  # a full disk has rolled back already
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        with _guarded():
            return self._db.execute(query, values).fetchall()

    def rows_in(self, query: str, values: Iterable[Any]) -> list[tuple[Any, ...]]:
        """All rows of `query`, whose `(?)` stands for a list of values of any length."""
        found: list[tuple[Any, ...]] = []
        listed = list(values)
        for start in range(0, len(listed), 500):
            part = listed[start : start + 500]
            found += self.rows(query.replace("(?)", f"({','.join('?' * len(part))})"), part)
        return found

    def execute(self, query: str, values: Sequence[Any] = ()) -> None:
        """Run one statement."""
        with _guarded():
            self._db.execute(query, values)

    def execute_all(self, query: str, values: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each row of values."""
        with _guarded():
            self._db.executemany(query, values)

    def finish_load(self) -> None:
        """Make the look-up indexes, after a bulk load."""
        with _guarded():
            self._db.executescript(_INDEXES)

    # --- small facts ---

    def get(self, name: str, default: str = "") -> str:
        """A named fact of the index."""
        found = self.rows("SELECT value FROM meta WHERE name = ?", (name,))
        return str(found[0][0]) if found else default

    def remember(self, name: str, value: str) -> None:
        """Set a named fact."""
        self.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    def indexed(self) -> dict[str, Indexed]:
        """Every indexed file."""
        rows = self.rows("SELECT path, size, mtime_ns, inode, sha256, racy FROM files")
        return {path: Indexed(Stamp(size, mtime, inode), sha, bool(racy)) for path, size, mtime, inode, sha, racy in rows}

    def pending(self) -> set[str]:
        """Files that an interrupted batch may have left half done."""
        return {row[0] for row in self.rows("SELECT path FROM pending")}

    def chunk_count(self) -> int:
        """How many chunks there are."""
        return int(self.rows("SELECT count(*) FROM chunks")[0][0])

    def next_number(self) -> int:
        """The first chunk number that was never used: a number is a row of the vectors, and means one text for good."""
        used = int(self.rows("SELECT coalesce(max(number), 0) FROM chunks")[0][0])
        return max(used, int(self.get("numbers", "0"))) + 1

    # --- the rows of one file ---

    def drop(self, path: str) -> None:
        """Forget the file and all that belongs to it."""
        for table in _OWNED:
            self.execute(f"DELETE FROM {table} WHERE path = ?", (path,))  # noqa: S608 - a constant
        self.execute("DELETE FROM files WHERE path = ?", (path,))

    def put(self, rows: Sequence[Filed]) -> None:
        """Add the rows of files that are not in the tables."""
        put = self.execute_all
        put(_STAMP, (_stamp_row(row.record.path, row.stamp, row.racy, row.record.sha256) for row in rows))
        put("INSERT INTO notes VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", (_note_row(row.record) for row in rows))
        put(
            "INSERT INTO chunks VALUES (?,?,?,?,?,?,?,?,?,?,?)",
            (
                (row.number + ord, row.record.path, ord, *chunk, int(row.number + ord in row.embedded))
                for row in rows
                for ord, chunk in enumerate(row.record.chunks)
            ),
        )
        if rows:
            self.remember("numbers", str(rows[-1].number + len(rows[-1].record.chunks) - 1))
        put("INSERT INTO names VALUES (?,?,?)", ((row.record.path, *name) for row in rows for name in row.record.names))
        put(
            "INSERT INTO links VALUES (?,?,?,?,?,?,?,?,?,NULL)",
            ((row.record.path, ord, *link) for row in rows for ord, link in enumerate(row.record.links)),
        )
        put("INSERT INTO tags VALUES (?,?,?,?)", ((r.record.path, *tag, tag[1].casefold()) for r in rows for tag in r.record.tags))
        put("INSERT INTO keys VALUES (?,?,?,?,?,?)", ((row.record.path, *key) for row in rows for key in row.record.keys))
        put("INSERT INTO titles VALUES (?,?,?)", ((row.record.path, *title) for row in rows for title in row.record.mentions))
        put("INSERT INTO problems VALUES (?,?,?,?)", ((r.record.path, *fault) for r in rows for fault in r.record.problems))

    def stamp(self, path: str, stamp: Stamp, racy: bool, sha256: str) -> None:
        """Remember how the file looked."""
        self.execute(_STAMP, _stamp_row(path, stamp, racy, sha256))

    # --- look-ups ---

    def chunks(self, numbers: Iterable[int]) -> dict[int, ChunkRow]:
        """The chunks of these numbers; those that are gone are left out."""
        rows = self.rows_in(
            "SELECT number, path, ord, start, end, line_start, line_end, headings, sha256 FROM chunks WHERE number IN (?)", numbers
        )
        return {row[0]: _chunk_row(row) for row in rows}

    def languages(self) -> list[str]:
        """The languages of the store, the commonest first."""
        rows = self.rows("SELECT language, count(*) FROM notes GROUP BY language ORDER BY 2 DESC, 1")
        return [row[0] for row in rows]


def _stamp_row(path: str, stamp: Stamp, racy: bool, sha256: str) -> tuple[Any, ...]:
    return (path, stamp.size, stamp.mtime_ns, stamp.inode, int(racy), sha256)


def _note_row(found: Record) -> tuple[Any, ...]:
    path_id = stem(found.path)
    return (found.path, path_id, path_id, *(found.note[column] for column in _NOTE_COLUMNS))


def _chunk_row(row: tuple[Any, ...]) -> ChunkRow:
    number, path, ord_, start, end, line_start, line_end, headings, sha256 = row
    return ChunkRow(number, path, ord_, start, end, line_start, line_end, tuple(headings.split("\n")) if headings else (), sha256)


def _connect(path: Path | None, fresh: bool, wait: float) -> sqlite3.Connection:
    if path is None:
        return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    if not fresh and not path.is_file():
        raise StateBroken(f"{path.name} is missing")
    db = sqlite3.connect(path, timeout=wait, isolation_level=None, check_same_thread=False)
    # A rollback journal, not WAL: readers then need no write permission. A half-built
    # generation is never opened, so building one needs no fsync until it is complete.
    db.execute(f"PRAGMA journal_mode = {'OFF' if fresh else 'DELETE'}")
    db.execute("PRAGMA cache_size = -65536")
    db.execute(f"PRAGMA synchronous = {'OFF' if fresh else 'FULL'}")
    if not fresh and db.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone() != (SCHEMA,):
        raise StateBroken("another schema")
    return db


@contextmanager
def _guarded() -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        told = str(error)
        if "locked" in told or "busy" in told:
            raise Busy("Another process is writing the index. Try again in a moment.") from error
        if "full" in told:
            raise Unavailable("No space left on the disk for the index; the notes are as they were.") from error
        if "readonly" in told or "unable to open" in told:
            raise Unavailable("The index folder cannot be written.") from error
        raise StateBroken(told) from error
    except sqlite3.DatabaseError as error:
        raise StateBroken(str(error)) from error
