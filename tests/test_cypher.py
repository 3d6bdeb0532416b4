from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from okl import cypher
from okl.cypher import read_only
from okl.errors import OklError, UsageError
from okl.index.engine import Engine, EngineBroken

READING = [
    "MATCH (n:N) RETURN n",
    "match (n:N) where n.id = 1 return n.text as text order by text desc skip 0 limit 5;",
    "OPTIONAL MATCH (a:N)-[r:R]->(b:N) RETURN a.id, r.text, b.id",
    "MATCH p = (a:N)-[r:R*1..3]->(b:N) RETURN p, length(p)",
    "MATCH p = (a:N)-[:R* SHORTEST 1..4]->(b:N) WHERE a.id <> b.id RETURN nodes(p)",
    "MATCH (a:N)--(b:N) RETURN count(*)",
    "MATCH (a:N)<-[:R]-(b:N) WITH a, count(b) AS many WHERE many > 0 RETURN a.id, many",
    "UNWIND [1, 2, 2] AS x WITH DISTINCT x RETURN collect(x)",
    "RETURN 1 AS x UNION ALL RETURN 2 AS x UNION ALL RETURN 3 AS x",
    "MATCH (n:N) WHERE EXISTS { MATCH (n)-[:R]->(m:N) WHERE m.id > 0 } AND COUNT { MATCH (n)--(:N) } > 0 RETURN n.id",
    "MATCH (n:N) WHERE NOT n.text STARTS WITH 'x' OR n.text =~ '.*t' XOR n.text IS NOT NULL RETURN n.*",
    "RETURN CASE WHEN 1 < 2 THEN 'a' ELSE 'b' END, {a: 1, b: [1, 2.5, .5, 1e3]}, list_transform([1], x -> x + 1), 5!, 7 % 2 ^ 2",
    "MATCH (n:N) WITH * RETURN n.id",
    "RETURN $x, $1",
    "CALL show_tables() RETURN *",
    "call TABLE_INFO('N') return name, type",
    "CALL `show_connection`('R') RETURN *",
    "CALL show_functions() RETURN count(*)",
    "CALL show_indexes() RETURN *",
    "CALL db_version() RETURN version",
    "CALL stats_info('N') RETURN cardinality",
    "MATCH (n:N) CALL show_tables() RETURN n.id, name",
    "RETURN 'CREATE (:N {id: 9})', \"it's; DELETE\", 'it\\'s', \"\\\"\", 'a\\\\', '/*', '//', '`'",
    "RETURN 1 // CREATE (:N {id: 9})",
    "RETURN /* CREATE (:N {id: 9}); 'unfinished */ 1",
    "/* first */ RETURN//x\n1",
    "\ufeffRETURN\u00a01\u2003AS\x0cx\x1f",
    "MATCH (é:N) RETURN é.text AS 漢字",
    "MATCH (set:N)-[delete:R]->(load:N) WHERE set.id = 1 RETURN set.id, delete.text, load",
    "MATCH (n:N) RETURN n.`set`, n.delete AS copy, n.id AS merge",
    "MATCH (n:N) WHERE n.delete IS NULL WITH n AS call RETURN call.id AS `CREATE`, call",
    "MATCH (n:`Create`) RETURN n.id",
    "WITH 1 AS as RETURN as",
    "UNWIND [{set: 1, load: 2}] AS detach RETURN detach.set, detach",
    "MATCH (drop:N) WHERE drop.id < 2 AND (drop.id) > 0 RETURN (drop)",
    "RETURN [1, 2, 3][1], 'text'[1:2]",
    "RETURN 1 AS x UNION RETURN 2 AS x",
]  # fmt: skip
WRITING = [
    "CREATE (:N {id: 9})",
    "MATCH (n:N) CREATE (:N {id: 9})",
    "MATCH (n:N)CREATE(:N {id: 9})",
    "MATCH (n:N) cReAtE (:N {id: 9}) RETURN 1",
    "MATCH (n:N)/**/CREATE/**/(:N {id: 9})",
    "MATCH (n:N) // x\nCREATE (:N {id: 9})",
    "MATCH (n:N)\u00a0SET\u2003n.text = 'y'",
    "MATCH (n:N)\x0cDELETE\x0bn",
    "MATCH (n:N) DETACH DELETE n",
    "MATCH (n:N) DELETE (n)",
    "MERGE (n:N {id: 9}) ON CREATE SET n.text = 'x'",
    "UNWIND [9] AS i MERGE (:N {id: i})",
    "WITH 1 AS as CREATE (:N {id: 9})",
    "WITH 1 AS x WITH x AS as CREATE (:N {id: 9})",
    "MATCH (n:N) WHERE n.id IN [1] WITH n AS as, 1 AS x SET as.text = 'y'",
    "MATCH (n:N) WITH n, 1 AS as WHERE NOT false OR as CREATE (:N {id: 9})",
    "MATCH (n:N) WITH * CREATE (:N {id: 9})",
    "WITH 'a' AS x CREATE (:N {id: 9})",
    "WITH 'a\\\\' AS x CREATE (:N {id: 9, text: '\\\\'})",
    "WITH 1 AS `a`CREATE (:N {id: 9})",
    "WITH 1 AS x CREATE (:N {id: 9}) WITH 1 AS y RETURN y",
    "RETURN 1; CREATE (:N {id: 9})",
    "RETURN 1;; RETURN 2",
    "RETURN 1 UNION CREATE (:N {id: 9})",
    "MATCH (n:N) REMOVE n.text",
    "CREATE NODE TABLE M(id INT64 PRIMARY KEY)",
    "CREATE MACRO twice(x) AS x + x",
    "CREATE SEQUENCE s",
    "DROP TABLE R",
    "ALTER TABLE N ADD more STRING",
    "COMMENT ON TABLE N IS 'x'",
    "COPY N FROM 'in.csv'",
    "COPY (MATCH (n:N) RETURN n.id) TO 'out.csv'",
    "COPY N TO 'out.csv'",
    "LOAD FROM 'in.csv' RETURN *",
    "MATCH (n:N) LOAD FROM 'in.csv' RETURN *",
    "LOAD EXTENSION json",
    "INSTALL httpfs",
    "UNINSTALL json",
    "UPDATE json",
    "ATTACH 'other.kuzu' AS other (dbtype kuzu)",
    "DETACH other",
    "USE other",
    "EXPORT DATABASE 'out'",
    "IMPORT DATABASE 'out'",
    "BEGIN TRANSACTION",
    "COMMIT",
    "ROLLBACK",
    "CHECKPOINT",
    "EXPLAIN RETURN 1",
    "PROFILE CREATE (:N {id: 9})",
    "CALL threads = 1",
    "CALL current_setting('home_directory') RETURN *",
    "CALL file_info() RETURN *",
    "CALL show_official_extensions() RETURN *",
    "CALL json_scan('in.json') RETURN *",
    "CALL read_csv_serial('in.csv') RETURN *",
    "CALL `create_vector_index`('N', 'i', 'vec')",
    "CALL drop_vector_index('N', 'i')",
    "CALL project_graph('g', ['N'], ['R'])",
    "CALL project_graph_cypher('g', 'MATCH (n) RETURN n')",
    "MATCH (n:N) CALL _cache_array_column_locally('N', 'id') RETURN 1",
    "CALL show_tables RETURN *",
    "CALL 'show_tables'() RETURN *",
    "CALL { MATCH (n) RETURN n } RETURN 1",
    "RETURN nextval('s')",
    "RETURN NextVal/**/('s')",
    "RETURN [`nextval` ('s')]",
    "RETURN copy_json()",
    "FOREACH (x IN [1] | CREATE (:N {id: x}))",
    "VALUES 1",
]  # fmt: skip
UNREADABLE = [
    "", " ", ";", "// nothing", "RETURN 'x", 'RETURN "x', "RETURN 'x\\'", "RETURN `x", "RETURN 1 /* x", "RETURN 1 /*/", "RETURN (1", "RETURN 1)",
    "RETURN (1]", "RETURN {a: [1}", "RETURN\0 1", "RETURN 1 \u200b", "RETURN 1 \ufeff", "RETURN 1 # x", "RETURN a\\b", "RETURN 1e5CREATE", "RETURN 1x",
    "RETURN 0xFF", "RETURN a$b", "RETURN $", "RETURN ²", "RETURN x²", "RETURN 1 – 2", "RETURN " + "(" * 31 + "1" + ")" * 31,
    "RETURN " + "CASE WHEN true THEN " * 13 + "1" + " END" * 13, "RETURN " + "1 + " * 3000 + "1", "RETURN \ud800",
]  # fmt: skip
PIECES = [
    *"( ) [ ] { } , . : ; = < > * - + | ! $ ' \" ` \\ // /* */ 1 1. .5 1e5 2x $p as AS n x set SET create CREATE delete call".split(),
    *("MATCH (n:N)", "OPTIONAL MATCH (n)-[r:R]->(m)", "MATCH (set:N)", "WITH n", "WITH *", "WITH 1 AS as", "WITH n AS x", "AS set", "UNWIND [1] AS as"),
    *("WHERE n.id = 1", "WHERE EXISTS {", "MATCH (n)", "RETURN 1", "RETURN n.id", "RETURN *", "RETURN", "UNION", "UNION ALL", "ORDER BY", "LIMIT 1", "NOT"),
    *("CREATE (:N {id: 99})", "MERGE (:N {id: 99})", "SET n.text = 'y'", "SET as.text = 'y'", "DELETE n", "DETACH DELETE n", "DROP TABLE R", "REMOVE n.text"),
    *("COPY N TO 'out.csv'", "COPY (MATCH (n:N) RETURN n.id) TO 'out.csv'", "EXPORT DATABASE 'out'", "CREATE NODE TABLE M(id INT64 PRIMARY KEY)"),
    *("CALL threads = 1", "CALL show_tables()", "CALL project_graph('g', ['N'], ['R'])", "ALTER TABLE N ADD more STRING", "CREATE SEQUENCE s", "nextval('s')"),
    *("'it\\'s'", '"CREATE"', "`a`", "{set: 1}", "(n.id)", "CASE WHEN true THEN 1 END", "IN", "AND", "DISTINCT", "COMMENT ON TABLE N IS 'x'", "BEGIN TRANSACTION"),
]  # fmt: skip
GLUE = ["", " ", " ", " ", "\n", "\t", "/**/", "//\n", "\u00a0", "\x0c", "\r"]
QUERIES = st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(GLUE)), max_size=5).map(
    lambda parts: "".join(piece + glue for piece, glue in parts)
)
STARTS = st.sampled_from(
    ["MATCH (n:N) ", "MATCH (n:N) WITH n, 1 AS as ", "MATCH (set:N) WITH set AS n, set AS create ", "WITH 1 AS x ", "RETURN 1 ", ""]
)
ENDS = st.sampled_from(
    ["", "", " RETURN 1", " RETURN n.id", " CREATE (:N {id: 99})", "SET n.text='y'", " DELETE n", " MERGE (:N {id: 99})"]
)
HOSTILE = st.text(alphabet=st.one_of(st.sampled_from("'\"`\\/*()[]{}.,:;$ \n\r\t\0\ufeff\ud800eE01aAſK"), st.characters()), max_size=40)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A small graph, open for writing, in the current folder."""
    folder, before = tmp_path_factory.mktemp("cypher"), Path.cwd()
    os.chdir(folder)
    with Engine(folder / "graph.kuzu") as engine:
        engine.run("CREATE NODE TABLE N(id INT64 PRIMARY KEY, text STRING, `set` STRING, `delete` STRING)")
        engine.run("CREATE NODE TABLE `Create`(id INT64 PRIMARY KEY)")
        engine.run("CREATE REL TABLE R(FROM N TO N, text STRING)")
        engine.run("CREATE (a:N {id: 1, text: 'text'})-[:R {text: 'r'}]->(b:N {id: 2}), (:`Create` {id: 1})")
        yield engine
    os.chdir(before)


def everything(graph: Engine) -> list[object]:
    """All that a statement could change: rows, tables, sequences, settings and files."""
    questions = (
        "MATCH (n) RETURN n ORDER BY n.id, label(n)",
        "MATCH ()-[r]->() RETURN r",
        "CALL show_tables() RETURN *",
        "CALL show_sequences() RETURN *",
    )
    tables = [graph.rows(question)[1] for question in questions]
    settings = [graph.rows(f"CALL current_setting('{name}') RETURN *")[1] for name in ("threads", "timeout")]
    graphs = graph.rows("CALL show_projected_graphs() RETURN *")[1]
    return [tables, settings, graphs, sorted(name for name in os.listdir() if not name.startswith("graph.kuzu"))]


@pytest.mark.parametrize("query", READING)
def test_what_reads_passes(graph: Engine, query: str) -> None:
    """A statement that reads passes, whatever stands in its strings, comments and names, and Kùzu takes what is left of it."""
    before = everything(graph)
    graph.rows(read_only(query), {"x": 1, "1": 2} if "$x" in query else None)
    assert everything(graph) == before
    assert read_only(read_only(query)) == read_only(query)


@pytest.mark.parametrize("query", WRITING)
def test_what_does_more_is_refused(query: str) -> None:
    """Whatever writes, reaches files or the network, changes settings or is a second statement is refused in one sentence."""
    for variant in (query, query.lower(), f"/* x */ {query};", f"\ufeff\n{query}\n"):
        with pytest.raises(UsageError) as told:
            read_only(variant)
        assert "\n" not in str(told.value)
        assert str(told.value).endswith(".")


@pytest.mark.parametrize("query", UNREADABLE)
def test_what_cannot_be_read_is_refused(query: str) -> None:
    """What is unfinished, unpaired, too long, too deep, or of signs that Kùzu might read in another way is refused."""
    with pytest.raises(UsageError):
        read_only(query)


def test_comments_do_not_reach_the_engine() -> None:
    """What is run has no comments and no odd white space, so nothing can hide there; strings stay as they are."""
    assert read_only("RETURN/* a */'/* b */'\u2003, //c\n\"//d\"") == "RETURN '/* b */' , \"//d\""


def test_limits_let_useful_queries_through() -> None:
    """Thirty brackets and twelve CASE are no fault."""
    assert read_only("RETURN " + "(" * cypher.DEEPEST + "1" + ")" * cypher.DEEPEST)
    assert read_only("RETURN " + "CASE WHEN true THEN " * cypher.MOST_CASES + "1" + " END" * cypher.MOST_CASES)


@settings(max_examples=600, derandomize=True, deadline=None, database=None)
@given(HOSTILE)
def test_any_text_passes_or_is_refused(text: str) -> None:
    """No text makes the guard itself fail, and what passes once passes again unchanged."""
    for query in (text, f"RETURN {text}", f"MATCH (n) WHERE {text} RETURN n"):
        try:
            allowed = read_only(query)
        except UsageError:
            continue
        assert read_only(allowed) == allowed


@settings(max_examples=700, derandomize=True, deadline=None, database=None)
@given(STARTS, QUERIES, ENDS)
def test_nothing_that_passes_changes_anything(graph: Engine, start: str, query: str, end: str) -> None:
    """Whatever passes, run on a graph that could be written, leaves rows, tables, settings and files as they were."""
    try:
        allowed = read_only(start + query + end)
    except UsageError:
        return
    before = everything(graph)
    with suppress(EngineBroken, OklError, RuntimeError):
        graph.rows(allowed, timeout=2, most=10)
    assert everything(graph) == before, allowed
