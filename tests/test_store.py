"""The store: found, read, and written durably and guarded."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest

from okl.errors import Conflict, NoteChanged, NotFound, Unavailable, UsageError
from okl.store import MARK, Store, process_lives, temporary_name
from okl.walk import Stamp, leftover_owner, walk


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store beside a folder that is none of its business."""
    root = tmp_path / "store"
    (root / ".ok").mkdir(parents=True)
    (root / MARK).write_bytes(b"")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_bytes(b"secret")
    return Store(Path(os.path.realpath(root)))


def files(store: Store) -> dict[str, bytes]:
    """All files but the lock and the mark, temporary ones too."""
    found = (path for path in store.root.rglob("*") if path.is_file() and ".ok" not in path.relative_to(store.root).parts)
    return {path.relative_to(store.root).as_posix(): path.read_bytes() for path in found}


def test_a_store_is_found_from_below(store: Store) -> None:
    """The store is the nearest folder at or above the current one that has a config file."""
    inner = store.root / "a" / "b"
    inner.mkdir(parents=True)
    assert [Store.find(folder) for folder in (store.root, inner)] == [store, store]
    (inner / ".ok").mkdir()
    (inner / MARK).write_bytes(b"")
    assert Store.find(inner) == Store(inner)
    assert Store.find(inner, str(store.root)) == store


def test_no_store(tmp_path: Path) -> None:
    """Where there is no store the error says how to make or name one."""
    with pytest.raises(NotFound, match="ok init"):
        Store.find(tmp_path)
    with pytest.raises(NotFound, match=re.escape(f"{tmp_path} is no store")):
        Store.find(Path("/"), str(tmp_path))


def test_a_store_is_found_through_a_symlink(store: Store, tmp_path: Path) -> None:
    """A store that is reached through a symlink is the same store."""
    (tmp_path / "link").symlink_to(store.root)
    assert Store.find(tmp_path / "link") == Store.find(tmp_path, str(tmp_path / "link")) == store


def test_a_new_file(store: Store) -> None:
    """A new file is written with its folders, byte for byte, and nothing else is left behind."""
    data = "\ufeffA\r\nb\x00é".encode()
    assert store.write("a/b c/é.md", data) == sha(data)
    assert (files(store), store.read("a/b c/é.md")) == ({"a/b c/é.md": data}, data)


def test_a_new_file_never_overwrites(store: Store) -> None:
    """Without a hash to match, a file that exists is refused and stays."""
    store.write("a.md", b"one")
    with pytest.raises(Conflict, match=r"a\.md exists already"):
        store.write("a.md", b"two")
    assert files(store) == {"a.md": b"one"}


def test_a_write_is_guarded(store: Store) -> None:
    """A file that is still the one that was read is replaced; a changed or vanished one is refused and stays."""
    first = store.write("a.md", b"one")
    second = store.write("a.md", b"two", if_match=first)
    with pytest.raises(NoteChanged, match="Read it again"):
        store.write("a.md", b"three", if_match=first)
    assert (second, files(store)) == (sha(b"two"), {"a.md": b"two"})
    with pytest.raises(NoteChanged):
        store.write("gone.md", b"x", if_match=first)
    assert files(store) == {"a.md": b"two"}


def test_a_write_can_be_forced(store: Store) -> None:
    """A forced write asks neither whether the file is new nor whether it is the same."""
    assert [store.write("a.md", data, match, force=True) for data, match in ((b"1", None), (b"2", None), (b"3", sha(b"x")))] == [
        sha(b"1"),
        sha(b"2"),
        sha(b"3"),
    ]
    assert files(store) == {"a.md": b"3"}


def test_the_mode_is_kept(store: Store) -> None:
    """A file keeps its permissions when it is written anew; a new one has those the user's files have."""
    old = store.write("a.md", b"one")
    (store.root / "b.md").write_bytes(b"")
    assert (store.root / "a.md").stat().st_mode == (store.root / "b.md").stat().st_mode
    for mode in (0o600, 0o644, 0o755):
        (store.root / "a.md").chmod(mode)
        old = store.write("a.md", str(mode).encode(), if_match=old)
        assert (store.root / "a.md").stat().st_mode & 0o777 == mode


def test_a_reader_sees_the_old_or_the_new_file(store: Store) -> None:
    """While a file is written again and again, a reader never sees a part of it."""
    versions = [bytes([65 + number]) * 100_000 for number in range(20)]
    store.write("a.md", versions[0])
    done = threading.Event()
    seen: set[bytes] = set()

    def reading() -> None:
        while not done.is_set():
            seen.add(store.read("a.md"))

    reader = threading.Thread(target=reading)
    reader.start()
    for before, after in pairwise(versions):
        store.write("a.md", after, if_match=sha(before))
    done.set()
    reader.join()
    assert seen <= set(versions)


def test_of_two_writers_one_wins(store: Store) -> None:
    """Of several processes that replace the same version of a file exactly one succeeds; the others are told."""
    old = store.write("a.md", b"old")
    code = (
        "import sys; from pathlib import Path; from okl.store import Store; from okl.errors import NoteChanged\n"
        "try: Store(Path(sys.argv[1])).write('a.md', sys.argv[2].encode(), sys.argv[3])\n"
        "except NoteChanged: sys.exit(3)"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(store.root), f"new {number}", old]) for number in range(4)]
    codes = [process.wait(timeout=60) for process in running]
    assert sorted(codes) == [0, 3, 3, 3]
    assert files(store) == {"a.md": f"new {codes.index(0)}".encode()}


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/x.md",
        "../outside/x.md",
        "a/../../outside/x.md",
        "a/..",
        "..",
        ".",
        "a\x00.md",
        "link/x.md",
        "link/deep/x.md",
        "deep/link/x.md",
    ],
)
def test_no_path_leaves_the_store(store: Store, path: str) -> None:
    """A path that leads out of the store, by dots, from the root or through a symlinked folder, is refused in every verb."""
    (store.root / "link").symlink_to(store.root.parent / "outside")
    (store.root / "deep").mkdir()
    (store.root / "deep" / "link").symlink_to("../../outside")
    for verb in (
        lambda: store.write(path, b"x", force=True),
        lambda: store.read(path),
        lambda: store.exists(path),
        lambda: store.trash(path),
    ):
        with pytest.raises(UsageError, match=r"no path inside|leads out"):
            verb()
    assert sorted(os.listdir(store.root.parent / "outside")) == ["secret.md"]


def test_a_symlinked_file_is_neither_read_nor_written(store: Store) -> None:
    """A symlink that leads out of the store is not read, and no symlink is written through."""
    (store.root / "out.md").symlink_to(store.root.parent / "outside" / "secret.md")
    store.write("a.md", b"a")
    (store.root / "in.md").symlink_to("a.md")
    with pytest.raises(UsageError, match="symlink"):
        store.read("out.md")
    for path in ("out.md", "in.md"):
        with pytest.raises(UsageError, match="symlink"):
            store.write(path, b"x", force=True)
    assert (store.read("in.md"), (store.root.parent / "outside" / "secret.md").read_bytes()) == (b"a", b"secret")


def test_a_folder_linked_inside_the_store_is_written(store: Store) -> None:
    """A symlink to a folder within the store leads to that folder."""
    (store.root / "real").mkdir()
    (store.root / "link").symlink_to("real")
    store.write("link/a.md", b"a")
    assert store.read("real/a.md") == b"a"


def test_what_cannot_be_read_or_written(store: Store) -> None:
    """A folder is not written over, a file is no folder, and what is not there is not found; each in a sentence."""
    store.write("a/b.md", b"b")
    with pytest.raises(UsageError, match="a is a folder"):
        store.write("a", b"x", force=True)
    with pytest.raises(Unavailable, match=r"a/b\.md/c\.md cannot be written"):
        store.write("a/b.md/c.md", b"x")
    with pytest.raises(Unavailable, match="a is no file"):
        store.read("a")
    with pytest.raises(NotFound, match=r"There is no file x\.md"):
        store.read("x.md")
    assert files(store) == {"a/b.md": b"b"}


def test_names_of_files(store: Store) -> None:
    """A path on disk is named as the store names it, or not at all when it lies outside."""
    outside = store.root.parent / "outside"
    assert [store.relative(path) for path in (store.root / "a" / "b.md", outside / "x.md", store.root / ".." / "outside" / "x.md")] == [
        "a/b.md",
        None,
        None,
    ]
    assert store.path("a/b.md") == store.root / "a" / "b.md"


def test_stamps_and_existence(store: Store) -> None:
    """A file that is there has a stamp; one that is gone has none."""
    store.write("a.md", b"abc")
    stat = (store.root / "a.md").stat()
    assert (store.stamp("a.md"), store.stamp("x.md")) == (Stamp(3, stat.st_mtime_ns, stat.st_ino), None)
    (store.root / "dangling.md").symlink_to("nothing")
    assert [store.exists(path) for path in ("a.md", "x.md", "dangling.md")] == [True, False, True]


def test_trash_never_overwrites(store: Store) -> None:
    """A deleted file lies in .trash under its path, beside whatever was deleted under that name before."""
    gone = []
    for data in (b"1", b"2", b"3"):
        store.write("a/b.c.md", data)
        gone.append(store.trash("a/b.c.md"))
    assert gone == [".trash/a/b.c.md", ".trash/a/b.c 2.md", ".trash/a/b.c 3.md"]
    assert files(store) == dict(zip(gone, (b"1", b"2", b"3"), strict=True))


def test_trash_leaves_no_empty_folders(store: Store) -> None:
    """Folders that a deletion leaves empty go too; others stay."""
    store.write("a/b/c/x.md", b"x")
    store.write("a/y.md", b"y")
    store.trash("a/b/c/x.md")
    assert [(store.root / path).exists() for path in ("a/b", "a", "a/y.md")] == [False, True, True]


def test_trash_is_guarded(store: Store) -> None:
    """A file that changed since it was read is not deleted; one that is not there is not found."""
    old = store.write("a.md", b"one")
    store.write("a.md", b"two", if_match=old)
    with pytest.raises(NoteChanged):
        store.trash("a.md", if_match=old)
    with pytest.raises(NotFound):
        store.trash("x.md")
    assert files(store) == {"a.md": b"two"}
    assert store.trash("a.md", if_match=sha(b"two")) == ".trash/a.md"


def test_a_rehearsal_checks_and_changes_nothing(store: Store) -> None:
    """A dry run refuses what a real run would, gives what it would give, and writes nothing."""
    old = store.write("a.md", b"one")
    dry = store.rehearsing()
    assert (dry.write("new/b.md", b"two"), dry.write("a.md", b"x", if_match=old), dry.trash("a.md")) == (
        sha(b"two"),
        sha(b"x"),
        ".trash/a.md",
    )
    with pytest.raises(Conflict):
        dry.write("a.md", b"x")
    with pytest.raises(NoteChanged):
        dry.write("a.md", b"x", if_match=sha(b"other"))
    with pytest.raises(NotFound):
        dry.trash("x.md")
    with pytest.raises(UsageError):
        dry.write("../x.md", b"x")
    assert files(store) == {"a.md": b"one"}


def test_leftovers_of_dead_writers_are_swept(store: Store) -> None:
    """A temporary file goes when its writer is dead; one whose writer lives or may live on another machine stays until it is old."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    mine = temporary_name()
    host = mine.split("-")[1]
    names = [mine, f".ok-{host}-{done.pid}-00000000.tmp", ".ok-ffffffff-1-00000000.tmp", ".ok-ffffffff-1-11111111.tmp"]
    for name in names:
        (store.root / name).write_bytes(b"")
    hours_ago = time.time() - 7200
    os.utime(store.root / names[3], (hours_ago, hours_ago))
    found = walk(store.root).leftovers
    assert sorted(found) == sorted(names)
    assert sorted(store.sweep(found)) == sorted([names[1], names[3]])
    assert sorted(files(store)) == sorted([names[0], names[2]])
    assert store.sweep(["a.md", names[1]]) == []


def test_temporary_names_tell_their_writer() -> None:
    """The name of a temporary file tells which process makes it, and is never used twice."""
    one, other = temporary_name(), temporary_name()
    owner = leftover_owner(one)
    assert owner is not None
    assert (owner[1], one != other, process_lives(owner[1])) == (os.getpid(), True, True)
