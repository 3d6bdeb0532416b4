"""The graph of a store: made when it is asked, kept by sync, healed when it is damaged; `ok graph` as a person runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from okl.errors import UsageError
from okl.index.engine import Engine, remove
from okl.index.generation import GRAPH
from tests.conftest import ROOT, Notes, Ok

COUNT = "MATCH (n:MemoryNote) RETURN count(*) AS notes"
Data = dict[str, Any]


def filled(notes: Notes) -> Notes:
    """Three notes, linked, with a topic."""
    notes.write("a.md", "---\ntopics: [sea]\nkeys: [Lamp]\n---\nA lamp, see [[b]].\n")
    notes.write("b.md", "---\ntopics: [sea, light]\n---\nHello\tthere.\n")
    notes.write("c.md", "Also [[b|that one]].\n")
    return notes


@pytest.fixture
def trio(notes: Notes) -> Notes:
    """A store of these notes, to be changed."""
    return filled(notes)


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Notes:
    """A store of these notes, only to be asked."""
    return filled(Notes(tmp_path_factory.mktemp("standing") / "s", {}))


def rows(notes: Notes, query: str, **asked: Any) -> list[Data]:
    """What the graph answers."""
    found: list[Data] = notes.knowledge.graph_cypher(query, **asked)["rows"]
    return found


def count(notes: Notes) -> int:
    """How many notes the graph has."""
    return int(notes.knowledge.graph_stats()["nodes"]["MemoryNote"])


def file(notes: Notes) -> Path:
    """The graph's file in the live generation."""
    folder = notes.knowledge.generations.current()
    assert folder is not None
    return folder / GRAPH


# --- made, and kept ---


def test_a_graph_is_made_when_it_is_asked(trio: Notes) -> None:
    """A search makes none; the first question does, and finds what the files say now."""
    assert trio.ids("lamp") == ["a", "b"]
    assert not file(trio).exists()
    assert count(trio) == 3
    assert file(trio).exists()
    trio.write("d.md", "new\n")
    assert count(trio) == 4
    (trio.root / "d.md").unlink()
    assert rows(trio, COUNT) == [{"notes": 3}]
    assert trio.said == []


def test_a_sync_keeps_a_graph_and_makes_none(trio: Notes) -> None:
    """Once there is one it follows each sync; `ok index` makes one; a rebuild has one too."""
    trio.knowledge.sync()
    assert not file(trio).exists()
    trio.knowledge.index()
    assert file(trio).exists()
    trio.write("d.md", "new, [[a]]\n")
    trio.knowledge.sync()
    with Engine(file(trio), read_only=True) as engine:
        assert engine.rows(COUNT)[1] == [[4]]
    trio.knowledge.index(rebuild=True)
    with Engine(file(trio), read_only=True) as engine:
        assert engine.rows(COUNT)[1] == [[4]]
    trio.assert_sound()


def test_questions_leave_no_file_behind(trio: Notes) -> None:
    """Neither in the store nor among the markers."""
    count(trio)
    before = sorted(str(path) for path in trio.root.rglob("*"))
    with pytest.raises(UsageError):
        rows(trio, "MATCH (n:Nothing) RETURN n")
    count(trio)
    assert sorted(str(path) for path in trio.root.rglob("*")) == before
    assert [path.name for path in file(trio).parent.parent.glob("*ING.*")] == []


# --- damaged ---


def cut(path: Path) -> None:
    """Half of it."""
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def folder(path: Path) -> None:
    """A folder in its place."""
    path.unlink()
    path.mkdir()


def full_folder(path: Path) -> None:
    """A folder with something in it."""
    folder(path)
    (path / "x").write_text("x", encoding="utf-8")


def headless(path: Path) -> None:
    """Zeros where its head was."""
    data = path.read_bytes()
    path.write_bytes(bytes(4096) + data[4096:])


def foreign(path: Path) -> None:
    """A sound file of Kùzu's with other tables."""
    remove(path)
    with Engine(path) as engine:
        engine.run("CREATE NODE TABLE Other(id INT64 PRIMARY KEY)")
        engine.checkpoint()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "garbage": lambda path: path.write_bytes(b"garbage" * 1000),
    "nothing": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("KUZU"),
    "cut": cut,
    "folder": folder,
    "full folder": full_folder,
    "headless": headless,
    "foreign": foreign,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_graph_heals(trio: Notes, damage: str) -> None:
    """A search does not notice; the next question says so, builds the graph again, and is answered."""
    assert count(trio) == 3
    DAMAGES[damage](file(trio))
    assert trio.ids("lamp") == ["a", "b"]
    assert trio.said == []
    assert count(trio) == 3
    assert len(trio.said) == 1
    assert trio.said[0].startswith("the graph was damaged (")
    assert count(trio) == 3
    assert len(trio.said) == 1


@pytest.mark.parametrize("damage", ["nothing", "folder"])
def test_a_sync_heals_a_graph_too(trio: Notes, damage: str) -> None:
    """Whoever meets it first."""
    count(trio)
    DAMAGES[damage](file(trio))
    trio.knowledge.sync()
    assert [said.partition(" (")[0] for said in trio.said] == ["the graph was damaged"]
    with Engine(file(trio), read_only=True) as engine:
        assert engine.rows(COUNT)[1] == [[3]]


def test_a_missing_graph_is_made_in_silence(trio: Notes) -> None:
    """With a log left beside it, too: that belongs to what is gone."""
    assert count(trio) == 3
    file(trio).with_name(GRAPH + ".wal").write_bytes(b"left behind")
    file(trio).unlink()
    trio.write("d.md", "new\n")
    assert count(trio) == 4
    assert trio.said == []


def test_a_damaged_log_heals(trio: Notes) -> None:
    """What Kùzu keeps beside the file may be damaged as well."""
    assert count(trio) == 3
    file(trio).with_name(GRAPH + ".wal").write_bytes(b"garbage" * 5000)
    assert count(trio) == 3
    trio.assert_sound()


def ended_process() -> int:
    """The id of a process that is no more."""
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    child.wait()
    return child.pid


def test_a_graph_that_killed_a_process_is_not_tried_again(trio: Notes) -> None:
    """The marker of a process that died while it tried means: build anew, say so, and forget the marker."""
    count(trio)
    marker = file(trio).parent.parent / f"TRYING.{file(trio).parent.name}.{GRAPH}.{ended_process()}"
    marker.write_text("", encoding="utf-8")
    assert trio.ids("lamp") == ["a", "b"]
    assert trio.said == []
    assert count(trio) == 3
    assert len(trio.said) == 1
    assert "being opened when a process died" in trio.said[0]
    assert not marker.exists()
    assert count(trio) == 3
    assert len(trio.said) == 1


def test_the_marker_of_a_living_process_says_nothing(trio: Notes) -> None:
    """Somebody else is at it, that is all; and so is the marker of another file."""
    count(trio)
    base = file(trio).parent.parent
    markers = [f"TRYING.{file(trio).parent.name}.{GRAPH}.{os.getppid()}", f"TRYING.{file(trio).parent.name}.vectors.kuzu.{ended_process()}"]
    for marker in markers:
        (base / marker).write_text("", encoding="utf-8")
    assert count(trio) == 3
    assert trio.said == []


def test_a_graph_that_cannot_be_written_is_read(trio: Notes) -> None:
    """While another process writes the index, the graph as it stands answers."""
    count(trio)
    waiting = Notes(trio.root, {"OK_INDEX_WAIT": "0"})
    with trio.knowledge.writing():
        trio.write("d.md", "new\n")
        assert count(waiting) == 3
    assert count(waiting) == 4


# --- on the command line ---


def test_answers_on_the_command_line(trio: Notes, ok: Ok) -> None:
    """A table for people, an array or lines of JSON for programs; a query may come from stdin."""
    query = "MATCH (n:MemoryNote)-[:HasTopic]->(t:Topic) RETURN n.id AS id, t.name AS topic ORDER BY id, topic"
    table = ok("graph", "cypher", query)
    assert (table.code, table.err) == (0, "")
    assert table.out == "id  topic\na   sea\nb   light\nb   sea\n"
    found = ok("graph", "cypher", "-", "--json", stdin=query + ";\n// a comment\n")
    assert found.json == [{"id": "a", "topic": "sea"}, {"id": "b", "topic": "light"}, {"id": "b", "topic": "sea"}]
    lines = ok("graph", "cypher", query, "--jsonl").out.splitlines()
    assert [json.loads(line) for line in lines] == found.json
    nothing = ok("graph", "cypher", "MATCH (n:MemoryNote {id: 'none'}) RETURN n.id AS id", "--json")
    assert (nothing.code, nothing.json) == (0, [])


def test_values_as_json(standing: Notes) -> None:
    """Nodes and edges are objects without Kùzu's own numbers; lists, structs, dates, and what JSON has no word for."""
    (row,) = rows(standing, "MATCH (a:MemoryNote {id: 'c'})-[r:LinksTo]->(b) RETURN a, r, b.id AS b")
    assert row["a"]["_label"] == "MemoryNote"
    assert row["a"]["id"] == "c"
    assert row["r"] == {"_label": "LinksTo", "text": "that one", "line": 1}
    assert not {"_id", "_src", "_dst"} & {*row["a"], *row["r"]}
    (row,) = rows(
        standing, "RETURN date('2020-01-31') AS d, [1, 2] AS l, {a: 1, b: ['x']} AS s, NULL AS n, 1.5 AS f, 1.0 / 0 AS i, true AS t"
    )
    assert row == {"d": "2020-01-31", "l": [1, 2], "s": {"a": 1, "b": ["x"]}, "n": None, "f": 1.5, "i": None, "t": True}
    (row,) = rows(standing, "MATCH p = (:MemoryNote {id: 'a'})-[:LinksTo]->(:MemoryNote) RETURN p, map(['k'], [1]) AS m, blob('x') AS b")
    assert json.loads(json.dumps(row)) == row


def test_a_table_fits_a_line(trio: Notes, ok: Ok) -> None:
    """Line ends, tabs and terminal signs in a value do not break it."""
    trio.write("odd.md", '---\ntitle: "x\\e[31m"\n---\none\ntwo\n\nthree\n')
    out = ok("graph", "cypher", "MATCH (n:MemoryNote) WHERE n.id = 'odd' RETURN n.text AS text, n.title AS title").out
    assert len(out.splitlines()) == 2
    assert "one two three" in out
    assert "\x1b" not in out


def test_limits(trio: Notes, ok: Ok) -> None:
    """At most so many rows, and it is said when there are more."""
    some = ok("graph", "cypher", "MATCH (n:MemoryNote) RETURN n.id AS id ORDER BY id", "--limit", "2", "--json")
    assert some.json == [{"id": "a"}, {"id": "b"}]
    assert some.err == "ok: only the first 2 rows are shown; --limit gives more\n"
    whole = trio.knowledge.graph_cypher("MATCH (n:MemoryNote) RETURN n.id AS id", limit=3)
    assert (len(whole["rows"]), whole["truncated"], whole["columns"]) == (3, False, ["id"])
    assert trio.knowledge.graph_cypher("UNWIND range(1, 3000) AS n RETURN n")["truncated"]


def test_a_query_that_takes_too_long_ends(trio: Notes, ok: Ok) -> None:
    """After the seconds of --timeout, with one sentence and exit 6; the graph is as it was."""
    slow = "UNWIND range(1, 3000) AS a UNWIND range(1, 3000) AS b UNWIND range(1, 3000) AS c RETURN sum(a * b * c) AS s"
    ended = ok("graph", "cypher", slow, "--timeout", "0.3")
    assert (ended.code, ended.out) == (6, "")
    assert ended.err == "ok: The query took longer than 0.3 s. Ask for less, or give it more time.\n"
    assert count(trio) == 3


@pytest.mark.parametrize(
    "query",
    [
        "",
        "   ",
        "// nothing",
        "MATCH (n) DETACH DELETE n",
        "CREATE (:Topic {id: 'x', name: 'x'})",
        "MATCH (n:MemoryNote) SET n.title = 'x'",
        "COPY (MATCH (n) RETURN n) TO '/tmp/out.csv'",
        "LOAD FROM '/etc/passwd' RETURN *",
        "RETURN 1 AS a; RETURN 2 AS a",
        "CALL threads = 1",
        "MATCH (n:Nothing) RETURN n",
        "MATCH (n:MemoryNote) RETURN n.nothing",
        "MATCH (n:MemoryNote RETURN n",
        "RETURN 1 AS a, 2 AS a",
        "RETURN list_contains(NULL, NULL) AS x",
    ],
)
def test_what_is_refused(standing: Notes, query: str) -> None:
    """What does not read, or cannot be understood, is a usage error of one sentence; nothing changes."""
    with pytest.raises(UsageError) as refused:
        standing.knowledge.graph_cypher(query)
    assert len(str(refused.value).splitlines()) == 1
    assert count(standing) == 3


@pytest.mark.parametrize("asked", [{"limit": 0}, {"limit": -5}, {"timeout": 0.0}, {"timeout": -1.0}, {"timeout": float("nan")}])
def test_limits_of_nothing_are_refused(standing: Notes, asked: Data) -> None:
    """At least one row, and some time."""
    with pytest.raises(UsageError):
        standing.knowledge.graph_cypher("RETURN 1 AS a", **asked)


@pytest.mark.parametrize("asked", [{"timeout": 1e300}, {"timeout": float("inf")}, {"limit": 10**30}])
def test_limits_without_end(standing: Notes, asked: Data) -> None:
    """A huge limit is as good as none, or is refused; it is no crash."""
    try:
        assert rows(standing, "RETURN 1 AS a", **asked) == [{"a": 1}]
    except UsageError as refused:
        assert "died" not in str(refused)


def test_refusals_on_the_command_line(trio: Notes, ok: Ok) -> None:
    """Exit 2, nothing on stdout, one line on stderr."""
    for arguments in (
        ["MATCH (n) DELETE n"],
        ["MATCH (n:Nothing) RETURN n"],
        ["RETURN 1", "--limit", "0"],
        ["RETURN 1", "--timeout", "inf"],
    ):
        refused = ok("graph", "cypher", *arguments)
        if refused.code == 0:  # time without end may be given
            assert arguments[-1] == "inf"
            continue
        assert (refused.code, refused.out) == (2, "")
        assert refused.err.count("\n") == 1, refused.err


def test_stats_on_the_command_line(trio: Notes, ok: Ok) -> None:
    """Counts of nodes and edges, and what most notes hang on, for people and for programs."""
    found = ok("graph", "stats", "--json").json
    assert found["nodes"]["MemoryNote"] == 3
    assert found["edges"]["LinksTo"] == 2
    assert found["topics"] == [{"name": "sea", "notes": 2}, {"name": "light", "notes": 1}]
    assert found["hubs"] == [{"name": "b", "id": "b", "notes": 2}]
    lines = ok("graph", "stats").out.splitlines()
    assert lines[0] == "nodes"
    assert lines[1].split() == ["MemoryNote", "3"]
    assert ["sea", "2"] in [line.split() for line in lines]


def test_two_processes_ask_at_once(trio: Notes) -> None:
    """Both are answered, whoever has to make the graph."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(trio.root.parent), "PYTHONPATH": str(ROOT), "OK_EMBEDDING": "none"}
    command = [sys.executable, "-m", "okl", "graph", "cypher", COUNT, "--jsonl"]
    running = [
        subprocess.Popen(command, cwd=trio.root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    answers = [(*child.communicate(timeout=60), child.returncode) for child in running]
    assert answers == [('{"notes": 3}\n', "", 0)] * 3
    trio.assert_sound()
