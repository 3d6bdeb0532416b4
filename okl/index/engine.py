"""Kùzu, kept on a short lead: one file, one owner, bounded queries, bulk loads. The only file that imports kuzu.

What was found of Kùzu 0.11.3, and is seen to here: two Database objects of one file in a process lose writes
silently; any error inside a transaction rolls all of it back and leaves the connection committing each statement
by itself; closing writes a checkpoint unless told otherwise, and so does the commit of a COPY; a `.wal` beside a new
file is replayed into it. COPY from JSON lines keeps every text but for NUL, and takes 64 MB of the pool a thread.
A typed query can fill the machine's memory deaf to its timeout (lists live outside the pool), or end the process
(`list_contains(NULL, NULL)`, and thirty functions more): it runs in a process of its own.
"""

from __future__ import annotations

import glob
import os
import pickle
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from itertools import chain
from pathlib import Path
from subprocess import Popen
from tempfile import TemporaryDirectory
from threading import Lock, Timer, local
from typing import Any, Self
from weakref import WeakSet, WeakValueDictionary

import kuzu

from okl import process
from okl.errors import Busy, OklError, Unavailable, UsageError
from okl.index.storable import json_lines, quoted, storable

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

POOL = 256 << 20  # the most memory for pages, in bytes; only what is used is taken
_ADDRESSES = (1 << 36, 1 << 33, 1 << 30)  # how far a file may grow: the first that the address space has room for
_HEADROOM = 1 << 30  # bytes of memory for a typed query
_LONGEST_ANSWER = 64 << 20  # bytes
_GRACE = 3.0  # seconds for a process to start and to heed its timeout
_TOO_MUCH = "The graph needs more memory than it may have. Ask for less at once."
_SCRATCH = ".load-"
_BESIDE = (".wal", ".shadow", ".tmp")
_OPEN: WeakValueDictionary[str, Engine] = WeakValueDictionary()
_OPENING = Lock()
Answer = tuple[list[str], list[list[Any]]]


class EngineBroken(Exception):
    """Kùzu cannot use its file; it is to be set aside and built again."""


class _Own(local):
    """What a thread has of an engine: its connection, and whether a transaction is open in it, or undone."""

    connection: kuzu.Connection | None = None
    transaction: str | None = None


class Engine:
    """One open Kùzu file.

    Threads may share it: each has a connection of its own. Only one transaction writes at a time (Busy).
    """

    def __init__(self, path: Path, *, read_only: bool = False, wait: float = 10.0, pool: int = POOL, threads: int = 2) -> None:
        """Open `path`, made if it is missing and may be written; waits up to `wait` seconds for another process.

        Raises Busy if it is open already, here or elsewhere, Unavailable if the disk refuses, else EngineBroken.
        """
        self.path = path
        self._name = os.path.realpath(path)
        self._read_only = read_only
        self._own = _Own()
        self._connections: WeakSet[kuzu.Connection] = WeakSet()
        self._claim()
        try:
            self._database = self._opened(wait, pool, threads)
            if not read_only:
                self.run("CALL force_checkpoint_on_close = false")
                for left in self.path.parent.glob(glob.escape(self.path.name) + _SCRATCH + "*"):
                    shutil.rmtree(left, ignore_errors=True)
        except BaseException:
            _OPEN.pop(self._name, None)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _claim(self) -> None:
        with _OPENING:
            if self._name in _OPEN:
                raise Busy(f"{self.path.name} is open in this process already.")
            _OPEN[self._name] = self

    def _opened(self, wait: float, pool: int, threads: int) -> kuzu.Database:
        if not self.path.exists():
            if self._read_only:
                raise EngineBroken(f"{self.path.name} is missing")
            remove(self.path)  # a log left behind would be replayed into the new file
        until = time.monotonic() + wait
        while True:
            try:
                return _database(self.path, self._read_only, pool, threads)
            except Busy:
                if time.monotonic() >= until:
                    raise
                time.sleep(0.05)

    def close(self) -> None:
        """Let go of the file, without a checkpoint; no query may be running."""
        for connection in list(self._connections):
            connection.close()
        self._database.close()
        _OPEN.pop(self._name, None)

    def checkpoint(self) -> None:
        """Move what the log holds into the file, for good: killed meanwhile, the file may never open again."""
        self.run("CHECKPOINT")

    # --- statements ---

    def rows(
        self,
        query: str,
        values: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        most: int | None = None,
        user: bool = False,
    ) -> Answer:
        """The names of the columns and the rows, at most `most`, of one statement.

        `timeout` is in seconds (Unavailable). With `user` a person typed the query, and what Kùzu refuses is a
        UsageError; that needs an engine which only reads (see `asked`).
        """
        if user:
            return asked(self.path, query, values, timeout=timeout or 60.0, most=most)
        with self._limits(timeout):
            result = self._execute(query, values)
            return result.get_column_names(), [list(row) for row in (result if most is None else result.get_n(most))]

    def run(self, query: str, values: Mapping[str, Any] | None = None) -> None:
        """Run one statement."""
        self._execute(query, values).close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction; all of it is undone by any error, even one that is caught inside."""
        self.run("BEGIN TRANSACTION")
        self._own.transaction = "open"
        try:
            yield
            self.run("COMMIT")
        finally:
            if self._own.transaction == "open":
                with suppress(RuntimeError):  # committed, or undone by Kùzu already
                    self._connection.execute("ROLLBACK")
            self._own.transaction = None

    def load(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, ends: tuple[str, str] | None = None) -> int:
        """Add many rows at once and say how many; a relation's first columns are `from` and `to`, `ends` their tables.

        Texts come out as they went in, but for NUL and halves of characters (see `storable`). It is part of the
        open transaction, else one of its own; its commit is a checkpoint.
        """
        options = f" (from='{ends[0]}', to='{ends[1]}')" if ends else ""
        count = 0
        alone = self._own.transaction is None
        with self.scratch() as folder, self.writing() if alone else nullcontext():
            for part in json_lines(columns, rows):
                path = os.path.join(folder, "rows.json")
                _write(path, part)
                self.run(f"COPY {table} FROM '{quoted(glob.escape(path))}'{options}")
                count += len(part)
        return count

    def scratch(self) -> TemporaryDirectory[str]:
        """A temporary folder beside the file; if this process dies of it, the next to write sweeps it up."""
        try:
            return TemporaryDirectory(prefix=self.path.name + _SCRATCH, dir=self.path.parent)
        except OSError as error:
            raise Unavailable(f"The index folder cannot be written: {error.strerror}.") from error

    @property
    def _connection(self) -> kuzu.Connection:
        if self._own.connection is None:
            self._own.connection = kuzu.Connection(self._database)
            self._connections.add(self._own.connection)
        return self._own.connection

    def _execute(self, query: str, values: Mapping[str, Any] | None) -> kuzu.QueryResult:
        connection = self._connection
        if self._own.transaction == "undone":
            raise EngineBroken("an error inside the transaction has undone it")
        try:
            result = connection.execute(storable(query), storable(dict(values or {})))
        except RuntimeError as error:
            if self._own.transaction:
                self._own.transaction = "undone"
            raise _failure(error) from error
        return result[-1] if isinstance(result, list) else result

    @contextmanager
    def _limits(self, timeout: float | None) -> Iterator[None]:
        if timeout is None:
            yield
            return
        self._connection.set_query_timeout(max(1, int(timeout * 1000)))
        try:
            yield
        except _Interrupted as error:
            raise _late(timeout) from error
        finally:
            self._connection.set_query_timeout(0)


class _Interrupted(Unavailable):
    """The time is up."""


def remove(path: Path) -> None:
    """Delete the file and all that Kùzu keeps beside it."""
    for part in _files(path):
        if part.is_dir() and not part.is_symlink():
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)


def move(path: Path, target: Path) -> None:
    """Put the file, with all that is kept beside it, in the place of `target`; both are closed.

    In one step if nothing is kept beside either; else `target` is missing for a moment.
    """
    if any(part.exists() for part in (*_files(path)[1:], *_files(target)[1:])):
        remove(target)
    for part, place in reversed(list(zip(_files(path), _files(target), strict=True))):
        if part.exists():
            os.replace(part, place)


def _files(path: Path) -> list[Path]:
    return [path, *(path.with_name(path.name + ending) for ending in _BESIDE)]


def _database(path: Path, read_only: bool, pool: int, threads: int) -> kuzu.Database:
    for size in _ADDRESSES:
        try:
            return kuzu.Database(
                path, buffer_pool_size=pool, max_num_threads=threads, read_only=read_only, max_db_size=size, auto_checkpoint=False
            )
        except RuntimeError as error:
            if "Mmap" not in str(error) or size == _ADDRESSES[-1]:
                raise _failure(error) from error
    raise AssertionError


def _late(timeout: float) -> Unavailable:
    return Unavailable(f"The query took longer than {timeout:g} s. Ask for less, or give it more time.")


def _failure(error: RuntimeError) -> OklError | EngineBroken:
    """What an error of Kùzu means to us."""
    told = (str(error).splitlines() or [""])[0][:300]
    if told.startswith("Interrupted"):
        return _Interrupted("The query was interrupted.")
    if "Could not set lock" in told or "one write transaction" in told or "Timeout waiting for active transactions" in told:
        return Busy("Another process is using the graph. Try again in a moment.")
    if "No space left" in told or "quota" in told:
        return Unavailable("No space left on the disk for the index; the notes are as they were.")
    if "Permission denied" in told or "Read-only file system" in told:
        return Unavailable("The index folder cannot be written.")
    if any(mark in told for mark in ("Unable to allocate memory", "bad_alloc", "Mmap")):
        return Unavailable(_TOO_MUCH)
    return EngineBroken(told)


def asked(path: Path, query: str, values: Mapping[str, Any] | None = None, *, timeout: float, most: int | None = None) -> Answer:
    """What a typed query finds in a file that nobody has open for writing; in another process, which it may harm.

    Raises UsageError for what Kùzu refuses or cannot stand, Unavailable for too much time (`timeout` seconds),
    memory or text.
    """
    started = time.monotonic()
    child = process.start(__name__)
    ended = Timer(timeout + _GRACE, child.kill)
    ended.start()
    try:
        answer = _exchanged(child, (path, query, values, timeout, most))
    except (EOFError, OSError, pickle.UnpicklingError) as error:
        if time.monotonic() - started >= timeout + _GRACE:
            raise _late(timeout) from error
        raise UsageError("Kùzu cannot run this query: the process that tried has died of it. Ask in another way.") from error
    finally:
        ended.cancel()
    if isinstance(answer, Exception):
        raise answer
    found: Answer = answer
    return found


def _exchanged(child: Popen[bytes], question: Any) -> Any:
    with child:
        try:
            if child.stdin is None or child.stdout is None:
                raise EOFError
            process.send(child.stdin, question)
            return process.receive(child.stdout)
        finally:
            child.kill()


def main() -> None:
    """Answer one typed query: the other end of `asked`."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    answer = _answer(*process.receive(sys.stdin.buffer))
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()
    os._exit(0)  # Kùzu may be in no state to be closed


def _answer(path: Path, query: str, values: Mapping[str, Any] | None, timeout: float, most: int | None) -> bytes:
    try:
        engine = Engine(path, read_only=True, wait=timeout)
        _put_lid_on_memory()
        answer = pickle.dumps(engine.rows(query, values, timeout=timeout, most=most))
        return answer if len(answer) <= _LONGEST_ANSWER else pickle.dumps(Unavailable("The answer is too long. Ask for less at once."))
    except OklError as error:
        return pickle.dumps(error)
    except MemoryError:
        return pickle.dumps(Unavailable(_TOO_MUCH))
    except (EngineBroken, RuntimeError, ValueError) as error:  # the latter two while a value becomes Python's
        return pickle.dumps(UsageError(f"The graph does not take this query: {error}"))


def _put_lid_on_memory() -> None:
    """Let an allocation of Kùzu's fail with an error before the machine's memory is full."""
    if resource is None or not os.path.exists("/proc/self/statm"):
        return
    with open("/proc/self/statm", encoding="ascii") as statm:
        size = int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    limits = resource.getrlimit(resource.RLIMIT_AS)
    lid = min(size + _HEADROOM, *(limit for limit in limits if limit != resource.RLIM_INFINITY), 1 << 62)
    resource.setrlimit(resource.RLIMIT_AS, (lid, limits[1]))


def _write(path: str, lines: Iterable[str]) -> None:
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(chain.from_iterable((line, "\n") for line in lines))
    except OSError as error:
        raise Unavailable(f"The index folder cannot be written: {error.strerror}.") from error
