from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from okl.errors import Busy, Unavailable, UsageError
from okl.index.engine import Engine, EngineBroken, move, remove
from okl.index.storable import quoted, storable
from tests.conftest import ROOT

TEXTS = [
    "", "NULL", "null", "a,b", 'q"uo"te', "it's", "new\nline", "cr\r\nlf", "cr\ronly", "tab\t", "back\\slash", "\\n", "\\", "[1,2]",
    "{a: 1}", "é漢🎉", " lead", "trail ", "a;b", "\u2028", "\\u0041", '"', "'", "\x01\x7f", "#c", "//x", "true", "12", "2020-01-01",
    "\ufeffbom", '\\"', "]", "''", '\\"\n,"', "\x85\x1c", "x" * 300_000, '"\\' * 5000, None,
]  # fmt: skip
LISTS: list[list[str] | None] = [
    [], [""], ["a,b", "c"], ['q"', "it's"], ["[x]", "{y}"], ["new\nline"], ["back\\"], ["NULL", ""], ["a", "b"], [","], ["]"], None,
]  # fmt: skip
PROGRAM = """
import sys, time
from pathlib import Path
from okl.index.engine import Engine
engine = Engine(Path(sys.argv[1]))
"""


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(tmp_path / "graph.kuzu") as engine:
        engine.run("CREATE NODE TABLE N(id STRING PRIMARY KEY, text STRING, tags STRING[], line INT64, sure BOOL, weight DOUBLE)")
        engine.run("CREATE NODE TABLE Other(id STRING PRIMARY KEY)")
        engine.run("CREATE REL TABLE L(FROM N TO N, FROM N TO Other, text STRING, line INT64)")
        yield engine


def ids(engine: Engine) -> list[str]:
    return [row[0] for row in engine.rows("MATCH (n:N) RETURN n.id ORDER BY n.id")[1]]


def child(path: Path, program: str, *limits: str) -> subprocess.Popen[str]:
    """A process that opens the file and then runs `program`."""
    command = [*limits, sys.executable, "-c", PROGRAM + program, str(path)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_loaded_rows_come_out_as_they_went_in(engine: Engine) -> None:
    """Whatever stands in a text or a list, whatever is missing, a bulk load keeps it."""
    rows: list[list[Any]] = [
        [f"k{number}", text, LISTS[number % len(LISTS)], number if number % 3 else None, bool(number % 2), number / 7]
        for number, text in enumerate(TEXTS)
    ]
    assert engine.load("N", ["id", "text", "tags", "line", "sure", "weight"], rows) == len(TEXTS)
    found = engine.rows("MATCH (n:N) RETURN n.id, n.text, n.tags, n.line, n.sure, n.weight")
    assert found[0] == ["n.id", "n.text", "n.tags", "n.line", "n.sure", "n.weight"]
    assert sorted(found[1], key=str) == sorted(rows, key=str)


def test_relations_load_between_the_tables_that_are_named(engine: Engine) -> None:
    """The first two columns of a relation say from where to where; `ends` says between which tables."""
    engine.load("N", ["id"], [["a"], ["b"]])
    engine.load("Other", ["id"], [["a"]])
    assert engine.load("L", ["from", "to", "text", "line"], [["a", "a", 'x, "y"\n\'', 1], ["b", "a", None, None]], ends=("N", "Other")) == 2
    engine.load("L", ["from", "to", "line"], [["a", "b", 3]], ends=("N", "N"))
    found = engine.rows("MATCH (a:N)-[l:L]->(b) RETURN label(b), a.id, b.id, l.text, l.line ORDER BY 1, 2, 3")[1]
    assert found == [["N", "a", "b", None, 3], ["Other", "a", "a", 'x, "y"\n\'', 1], ["Other", "b", "a", None, None]]


def test_a_load_is_made_of_parts(engine: Engine) -> None:
    """More rows than one temporary file holds arrive all the same, and none at all loads nothing."""
    assert engine.load("N", ["id", "text"], ([f"k{number}", f"{number} " * 30_000] for number in range(150))) == 150
    assert engine.load("N", ["id"], []) == 0
    assert engine.rows("MATCH (n:N) RETURN count(*), count(DISTINCT n.text)")[1] == [[150, 150]]


def test_what_cannot_be_stored_stays_apart(engine: Engine) -> None:
    """NUL and halves of characters become others that can be stored; two ids never become one, in loads and in values."""
    odd = ["a\udc80", "a\udc81", "a\ud83d", "a\0"]
    engine.load("N", ["id", "tags"], [[id, [id]] for id in odd])
    for id in odd:
        assert engine.rows("MATCH (n:N {id: $id}) RETURN n.id, n.tags", {"id": id})[1] == [[storable(id), [storable(id)]]]
    assert len(ids(engine)) == 4
    assert engine.rows("RETURN 'a\ud800b' AS x")[1] == [[storable("a\ud800b")]]


def test_a_text_in_a_statement_is_quoted(engine: Engine) -> None:
    """A quoted text means itself."""
    for text in TEXTS:
        if text is not None:
            assert engine.rows(f"RETURN '{quoted(text)}'")[1] == [[text]]


def test_a_transaction_is_whole_or_nothing(engine: Engine) -> None:
    """What was written before an error is undone, deletions and loads alike."""
    engine.load("N", ["id", "text"], [["a", "old"], ["b", "old"]])
    with engine.writing():
        engine.run("MATCH (n:N {id: 'a'}) DETACH DELETE n")
        engine.load("N", ["id", "text"], [["a", "new"], ["c", "new"]])
    assert ids(engine) == ["a", "b", "c"]
    with pytest.raises(ZeroDivisionError), engine.writing():
        engine.run("MATCH (n:N) DETACH DELETE n")
        engine.load("N", ["id"], [["d"]])
        raise ZeroDivisionError
    with pytest.raises(EngineBroken, match="duplicated"), engine.writing():
        engine.run("CREATE (:N {id: 'e'})")
        engine.load("N", ["id"], [["a"]])
    assert ids(engine) == ["a", "b", "c"]
    with pytest.raises(EngineBroken, match="duplicated"):
        engine.load("N", ["id", "text"], ([f"f{number % 20}", "x" * 1_000_000] for number in range(21)))
    assert ids(engine) == ["a", "b", "c"]


def test_a_caught_error_does_not_let_half_a_transaction_through(engine: Engine) -> None:
    """Kùzu ends a transaction at any error; what follows in it is refused, not committed piece by piece."""
    with pytest.raises(EngineBroken, match="undone"), engine.writing():
        engine.run("CREATE (:N {id: 'a'})")
        with pytest.raises(EngineBroken):
            engine.rows("MATCH (n:Nowhere) RETURN n")
        engine.run("CREATE (:N {id: 'b'})")
    with pytest.raises(EngineBroken, match="undone"), engine.writing(), pytest.raises(EngineBroken):
        engine.run("CREATE (:N {id: 'a'}), (:N {id: 'a'})")
    assert ids(engine) == []
    with engine.writing():
        engine.run("CREATE (:N {id: 'c'})")
    assert ids(engine) == ["c"]


def test_one_process_opens_a_file_once(engine: Engine, tmp_path: Path) -> None:
    """A second Engine of the same file would lose writes: it is refused, by whatever name, until the first is closed."""
    (tmp_path / "other").symlink_to(tmp_path)
    with pytest.raises(Busy, match="in this process"):
        Engine(tmp_path / "other" / "graph.kuzu")
    engine.run("CREATE (:N {id: 'a'})")
    engine.close()
    with Engine(tmp_path / "other" / "graph.kuzu") as again:
        assert ids(again) == ["a"]
    with pytest.raises(EngineBroken):
        Engine(tmp_path)
    with pytest.raises(EngineBroken):
        Engine(tmp_path)


def test_a_second_process_waits_its_turn(tmp_path: Path) -> None:
    """The file of another process is Busy after `wait` seconds, and ours as soon as the other is done."""
    path = tmp_path / "graph.kuzu"
    with child(path, "print('open', flush=True); input()") as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(Busy, match="Another process"):
            Engine(path, wait=0)
        threading.Timer(0.2, other.kill).start()
        with Engine(path) as engine:
            assert engine.rows("RETURN 1")[1] == [[1]]


def test_readers_of_a_file(engine: Engine, tmp_path: Path) -> None:
    """A file opened to read is not written, and must be there."""
    engine.close()
    with Engine(tmp_path / "graph.kuzu", read_only=True) as reader:
        assert ids(reader) == []
        with pytest.raises(EngineBroken, match="read-only"):
            reader.run("CREATE (:N {id: 'a'})")
    with pytest.raises(EngineBroken, match="missing"):
        Engine(tmp_path / "nothing.kuzu", read_only=True)
    assert not (tmp_path / "nothing.kuzu").exists()


def test_broken_files_are_told(tmp_path: Path) -> None:
    """What is no file of Kùzu is EngineBroken, not an error of Kùzu's."""
    (tmp_path / "junk").write_bytes(b"x" * 10_000)
    (tmp_path / "folder").mkdir()
    for name in ("junk", "folder", "no/such"):
        with pytest.raises(EngineBroken):
            Engine(tmp_path / name)


def test_a_log_without_its_file_is_forgotten(engine: Engine, tmp_path: Path) -> None:
    """A `.wal` that was left behind is not replayed into a new file."""
    engine.run("CREATE (:N {id: 'old'})")
    engine.close()
    path = tmp_path / "graph.kuzu"
    assert (tmp_path / "graph.kuzu.wal").stat().st_size
    path.unlink()
    with Engine(path) as fresh:
        assert fresh.rows("CALL show_tables() RETURN name")[1] == []


def test_closing_writes_nothing(engine: Engine, tmp_path: Path) -> None:
    """A closed file keeps its log, and opens with what was in it; a checkpoint empties the log."""
    engine.run("CREATE (:N {id: 'a'})")
    before = (tmp_path / "graph.kuzu").read_bytes()
    engine.close()
    assert (tmp_path / "graph.kuzu").read_bytes() == before
    with Engine(tmp_path / "graph.kuzu") as again:
        assert ids(again) == ["a"]
        again.checkpoint()
    assert sorted(os.listdir(tmp_path)) == ["graph.kuzu"]


def test_a_file_moves_with_what_is_beside_it(engine: Engine, tmp_path: Path) -> None:
    """The moved file has its last commits, and nothing of the file that it replaces."""
    engine.run("CREATE (:N {id: 'new'})")
    engine.close()
    with Engine(tmp_path / "old.kuzu") as old:
        old.run("CREATE NODE TABLE Gone(id STRING PRIMARY KEY)")
    move(tmp_path / "graph.kuzu", tmp_path / "old.kuzu")
    with Engine(tmp_path / "old.kuzu") as moved:
        assert ids(moved) == ["new"]
        assert ["Gone"] not in moved.rows("CALL show_tables() RETURN name")[1]
    remove(tmp_path / "old.kuzu")
    remove(tmp_path / "old.kuzu")
    assert os.listdir(tmp_path) == []


def test_folders_of_any_name(tmp_path: Path) -> None:
    """The folder of the index may have the signs of patterns and quotes in its name."""
    folder = tmp_path / "[a] it's *? é\\"
    folder.mkdir()
    with Engine(folder / "graph.kuzu") as engine:
        engine.run("CREATE NODE TABLE N(id STRING PRIMARY KEY)")
        assert engine.load("N", ["id"], [["a"]]) == 1
    assert os.listdir(folder) == ["graph.kuzu"]


def test_what_a_killed_load_left_is_swept(tmp_path: Path) -> None:
    """Temporary files of a process that died are deleted by the next to write."""
    program = """
engine.run("CREATE NODE TABLE N(id STRING PRIMARY KEY)")
def rows():
    for number in range(10**6):
        if number == 200_000:
            print("loading", flush=True)
            time.sleep(60)
        yield [f"{number:060}"]
engine.load("N", ["id"], rows())
"""
    with child(tmp_path / "[a].kuzu", program) as loading:
        assert loading.stdout is not None
        loading.stdout.readline()
        loading.kill()
    assert any(".load-" in name for name in os.listdir(tmp_path))
    with Engine(tmp_path / "[a].kuzu") as engine:
        assert ids(engine) == []
        assert not any(".load-" in name for name in os.listdir(tmp_path))


@pytest.fixture
def reader(engine: Engine) -> Iterator[Engine]:
    """The same graph, with 2,000 nodes, open for reading."""
    engine.load("N", ["id", "text"], ([str(number), "x"] for number in range(2000)))
    engine.close()
    with Engine(engine.path, read_only=True) as reader:
        yield reader


def test_a_typed_query_reads_only(reader: Engine) -> None:
    """Whatever gets this far, Kùzu itself refuses to write for a person's query, and the person is told in a sentence."""
    for query in ("MATCH (n) SET n.text = 'y'", "DROP TABLE L", "MATCH (n", "RETURN 1/0", "MATCH (n:No) RETURN n", "", "RETURN 'a\\q'"):
        with pytest.raises(UsageError, match="The graph does not take this query: "):
            reader.rows(query, user=True)
    assert reader.rows("MATCH (n:N) RETURN n.text LIMIT 1", user=True) == (["n.text"], [["x"]])
    assert reader.rows("MATCH (n:N {id: $id}) RETURN n.id", {"id": "7"}, user=True)[1] == [["7"]]


def test_a_typed_query_waits_for_the_writer(engine: Engine) -> None:
    """While the graph is open for writing, a typed query waits as long as it may take, and then is told so."""
    with pytest.raises(Busy):
        engine.rows("RETURN 1", user=True, timeout=0.1)


def test_rows_are_capped(reader: Engine) -> None:
    """No more rows than asked for are given, nor an answer too long to hand over."""
    query = "UNWIND range(1, 100) AS a RETURN a"
    assert reader.rows(query, most=3)[1] == reader.rows(query, user=True, most=3)[1] == [[1], [2], [3]]
    with pytest.raises(Unavailable, match="too long"):
        reader.rows("UNWIND range(1, 10) AS a RETURN repeat('abcdefghij', 1000000 + a)", user=True)


@pytest.mark.parametrize("returned", ["count(a.id < b.id)", "a.id, b.id, a.id < b.id", "max(a.id + b.id)"])
@pytest.mark.parametrize("user", [True, False])
def test_a_long_query_ends(reader: Engine, returned: str, user: bool) -> None:
    """A cross product of thousands of millions of rows ends soon after its time, or when it has filled its memory."""
    query = f"MATCH (a:N), (b:N), (c:N) WHERE a.id + c.id < b.id RETURN {returned}"
    with pytest.raises(Unavailable, match=r"longer than 0.3 s|more memory"):
        reader.rows(query, user=user, timeout=0.3)
    assert reader.rows("RETURN 1", timeout=0.3)[1] == [[1]]


def test_a_deaf_query_ends(reader: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A query that does not heed its timeout ends with its process."""
    monkeypatch.setattr("okl.index.engine._GRACE", 1.0)
    with pytest.raises(Unavailable, match=r"longer than 0.5 s"):
        reader.rows("RETURN levenshtein(repeat('a', 100000), repeat('b', 100000))", user=True, timeout=0.5)


def test_a_deadly_query_fails_alone(reader: Engine) -> None:
    """A query that Kùzu dies of ends with one sentence."""
    for query in ("RETURN list_contains(NULL, NULL)", "MATCH (n:N) RETURN labels(NULL)"):
        with pytest.raises(UsageError, match="has died of it"):
            reader.rows(query, user=True)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells and keeps the limit")
@pytest.mark.parametrize(
    "query",
    [
        "UNWIND range(1, 1000000000) AS a RETURN collect(a)",
        "RETURN range(1, 100000000000)",
        "WITH range(1, 30000000) AS a RETURN size(a+a+a+a+a+a+a+a+a+a+a+a)",
        "UNWIND range(1, 1000000) AS a RETURN collect(repeat('abcdefghij', 1000))",
    ],
)
def test_a_greedy_query_fails_alone(reader: Engine, query: str) -> None:
    """A query that would fill the machine's memory ends with one sentence; the process and the graph live on."""
    with pytest.raises(Unavailable, match="more memory"):
        reader.rows(query, user=True, timeout=10)


@pytest.mark.skipif(sys.platform != "linux", reason="ulimit -v is Linux's")
def test_little_address_space_is_enough(tmp_path: Path) -> None:
    """Under `ulimit -v` the file opens with a smaller limit of its own."""
    program = "engine.run('CREATE NODE TABLE N(id STRING PRIMARY KEY)'); print(engine.load('N', ['id'], [['a']]))"
    with child(tmp_path / "graph.kuzu", program, "prlimit", "--as=8192000000") as small:
        out, err = small.communicate()
    assert (out, err) == ("1\n", "")


def test_threads_share_an_engine(engine: Engine) -> None:
    """While one thread writes, another sees what was committed; a second writer is Busy."""
    seen: list[Any] = []

    def read() -> None:
        seen.append(ids(engine))
        try:
            engine.run("CREATE (:N {id: 'b'})")
        except Busy as error:
            seen.append(error)

    with engine.writing():
        engine.run("CREATE (:N {id: 'a'})")
        thread = threading.Thread(target=read)
        thread.start()
        thread.join()
    assert seen[0] == []
    assert isinstance(seen[1], Busy)
    assert ids(engine) == ["a"]


def test_a_killed_process_loses_nothing_committed(tmp_path: Path) -> None:
    """kill -9 amid commits: each commit that was told of is there, and none by half."""
    path = tmp_path / "graph.kuzu"
    program = """
engine.run("CREATE NODE TABLE IF NOT EXISTS N(id INT64 PRIMARY KEY)")
start = engine.rows("MATCH (n:N) RETURN count(*)")[1][0][0]
for number in range(start, start + 100000, 2):
    with engine.writing():
        engine.run(f"CREATE (:N {{id: {number}}})")
        engine.run(f"CREATE (:N {{id: {number + 1}}})")
    print(number, flush=True)
"""
    for _ in range(3):
        with child(path, program) as writer:
            assert writer.stdout is not None
            told = [writer.stdout.readline() for _ in range(20)]
            writer.send_signal(signal.SIGKILL)
            told += writer.stdout.readlines()
        with Engine(path) as engine:
            count = engine.rows("MATCH (n:N) RETURN count(*)")[1][0][0]
        assert count % 2 == 0
        assert count >= int(told[-1]) + 2
