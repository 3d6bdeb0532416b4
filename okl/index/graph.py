"""The graph: a Kùzu file made from the index's tables and the notes' words, for Cypher. A cache; the files are the truth.

A note owns its node, its chunks and the edges that leave it. Topics, keys and entities are there as
long as a note uses them.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from okl import keys
from okl.index.engine import Engine, move, remove
from okl.index.graph_changes import apply, columns, connect, create, nodes, owned, prune
from okl.index.graph_rows import Ref, Rows, Tables, Texts, Values, related
from okl.index.graph_schema import HOLDERS, NODES, PROPERTIES, RELATIONS, Relation, ddl
from okl.index.state import State
from okl.index.storable import storable
from okl.keys import CONCEPT
from okl.note import sha256

BATCH = 5000
"""Notes whose words are in memory at a time."""
FEW = 100
SHARE = 10
"""With more stale notes than `FEW`, and than one in `SHARE`, building anew takes less than changing."""
LARGE_LOG = 16 << 20
"""Bytes of the log from which on it is moved into the file."""
LONG = 200
"""Characters of a text from which on a line tells its hash."""
_RELATED = Relation("RelatedTo", "Topic", "Topic")


def build(path: Path, state: State, texts: Texts) -> None:
    """Make the graph of all notes in a new file, which takes the place of what was at `path` when it is whole."""
    aside = path.with_name(path.name + ".new")
    remove(aside)
    tables = Tables(state)
    with Engine(aside) as engine:
        with engine.writing():
            for statement in ddl():
                engine.run(statement)
        paths = tables.paths()
        missing = _load_words(engine, tables, paths, texts)
        _load_ties(engine, tables, paths)
        engine.checkpoint()
    move(aside, path)
    with state.writing():
        state.execute("DELETE FROM graph_stale")
        state.execute_all("INSERT INTO graph_stale VALUES (?)", ((path,) for path in sorted(missing)))


def _batches(paths: list[str]) -> Iterator[list[str]]:
    return (paths[start : start + BATCH] for start in range(0, len(paths), BATCH))


def _load_words(engine: Engine, tables: Tables, paths: list[str], texts: Texts) -> set[str]:
    """Add notes, chunks and entities; gives the files whose words could not be had."""
    missing: set[str] = set()
    known: dict[str, set[str]] = defaultdict(set)
    for batch in _batches(paths):
        rows, without = tables.words(tables.refs(batch), texts)
        missing |= without
        with engine.writing():
            for table, found in rows.nodes.items():
                create(engine, table, [row for id, row in found.items() if id not in known[table]])
                known[table] |= found.keys()
            _connect(engine, rows)
    return missing


def _load_ties(engine: Engine, tables: Tables, paths: list[str]) -> None:
    """Add topics and keys, and all edges between notes and to them."""
    with engine.writing():
        create(engine, "Topic", list(_topic_nodes(tables, tables.topic_ids()).values()))
        create(engine, "Key", list(_key_nodes(tables, tables.key_ids()).values()))
    together: Counter[tuple[str, str]] = Counter()
    for batch in _batches(paths):
        rows = tables.ties(tables.refs(batch))
        together.update(related(_topics(rows)))
        with engine.writing():
            _connect(engine, rows)
    connect(engine, _RELATED, sorted(edge for (a, b), count in together.items() for edge in _both_ways(a, b, count)))


def _connect(engine: Engine, rows: Rows) -> None:
    for relation, edges in rows.edges.items():
        connect(engine, relation, list(edges))


def _topics(rows: Rows) -> Iterator[tuple[Ref, str]]:
    """(note, topic) of every note among the rows."""
    for table in HOLDERS:
        yield from (((table, edge[0]), edge[1]) for edge in rows.edges[Relation("HasTopic", table, "Topic")])


def update(path: Path, state: State, texts: Texts, wait: float) -> None:
    """Bring the graph up to date with the notes in `graph_stale`, which is empty afterwards but for files that have changed since.

    A crash at any moment leaves a graph as it was or as it shall be, and the work to be done again.
    """
    stale = {row[0] for row in state.rows("SELECT path FROM graph_stale")}
    if not path.exists() or len(stale) > max(FEW, state.rows("SELECT count(*) FROM files")[0][0] // SHARE):
        build(path, state, texts)
    elif stale:
        missing = _change(path, Tables(state), stale, texts, wait)
        with state.writing():
            state.execute_all("DELETE FROM graph_stale WHERE path = ?", ((path,) for path in sorted(stale - missing)))


def _change(path: Path, tables: Tables, stale: set[str], texts: Texts, wait: float) -> set[str]:
    """Change what the stale notes own; gives the files whose words could not be had."""
    with Engine(path, wait=wait) as engine:
        refs, owners = _places(engine, tables, stale)
        if more := _respelled(engine, tables, refs, owners):
            refs, owners = _places(engine, tables, stale | more)
        before = owned(engine, refs)
        after, missing = tables.words(owners, texts)
        after.edges.update(tables.ties(owners).edges)
        after = _storable(after)
        forgotten = _share(engine, tables, before, after)
        with engine.writing():
            apply(engine, before, after)
            prune(engine, forgotten)
        if _size(path.with_name(path.name + ".wal")) > LARGE_LOG:
            engine.checkpoint()
    return missing


def _places(engine: Engine, tables: Tables, stale: set[str]) -> tuple[set[Ref], dict[str, Ref]]:
    """The nodes that the stale files had, have or share, and the files whose nodes they are to be."""
    values = {"paths": sorted(stale)}
    had = {(table, row[0]) for table in HOLDERS for row in _rows(engine, f"MATCH (n:{table}) WHERE n.path IN $paths RETURN n.id", values)}
    refs = had.union(tables.refs(stale).values())
    owners = tables.standing_for({id for _, id in refs})
    return refs.union(owners.values()), owners


def _respelled(engine: Engine, tables: Tables, refs: set[Ref], owners: dict[str, Ref]) -> set[str]:
    """The files that move to another key because a word of theirs became a name, or is none any more."""
    query = f"MATCH (n)-[:HasKey]->(k:Key) WHERE n.id IN $ids AND k.type <> '{CONCEPT}' RETURN DISTINCT k.id"
    told = tables.named_by(owners).union(row[0] for row in _rows(engine, query, {"ids": sorted({id for _, id in refs})}))
    known = {row[0] for row in nodes(engine, "Key", told) if row[2] != CONCEPT}
    return tables.sharing({keys.fold(name) for name in tables.names(told) ^ known if keys.fold(name) != name})


def _share(engine: Engine, tables: Tables, before: Rows, after: Rows) -> set[str]:
    """Complete both rows by the nodes that several notes use; gives the entities that may be unused now."""
    for table, told in (("Topic", _topic_nodes), ("Key", _key_nodes)):
        ids = {edge[1] for rows in (before, after) for edge in _leading_to(rows, table)}
        before.nodes[table] = {row[0]: row for row in nodes(engine, table, ids)}
        after.nodes[table] = told(tables, ids)
    mentioned = {edge[1] for edge in _leading_to(before, "Entity")}
    entities = after.nodes["Entity"]
    known = mentioned.union(row[0] for row in nodes(engine, "Entity", entities.keys() - mentioned))
    before.nodes["Entity"] = {id: row for id, row in entities.items() if id in known}
    _relate(engine, before, after)
    return mentioned - entities.keys()


def _leading_to(rows: Rows, table: str) -> Iterator[Values]:
    return (edge for relation, edges in rows.edges.items() if relation.target == table for edge in edges)


def _topic_nodes(tables: Tables, ids: Iterable[str]) -> dict[str, Values]:
    return {id: (id, name) for id, name in tables.topics(ids).items()}


def _key_nodes(tables: Tables, ids: Iterable[str]) -> dict[str, Values]:
    return {id: (id, label, type, list(aliases)) for id, (label, type, aliases) in tables.keys(ids).items()}


def _relate(engine: Engine, before: Rows, after: Rows) -> None:
    """Complete both rows by the topics' relations whose weight changes."""
    change = related(_topics(after))
    change.subtract(related(_topics(before)))
    query = "MATCH (a:Topic {id: $a})-[r:RelatedTo]->(b:Topic {id: $b}) RETURN r.weight"
    for (a, b), more in change.items():
        if more:
            known = sum(row[0] for row in _rows(engine, query, {"a": a, "b": b}))
            before.edges[_RELATED] |= _both_ways(a, b, known)
            after.edges[_RELATED] |= _both_ways(a, b, known + more)


def _both_ways(a: str, b: str, weight: float) -> set[Values]:
    return {(a, b, float(weight)), (b, a, float(weight))} if weight else set()


def _storable(rows: Rows) -> Rows:
    """The rows as they will be read again."""
    found = Rows()
    for table, known in rows.nodes.items():
        for row in known.values():
            found.add(table, *storable(row))
    for relation, edges in rows.edges.items():
        found.edges[relation] = {tuple(storable(edge)) for edge in edges}
    return found


def _rows(engine: Engine, query: str, values: Mapping[str, Any] | None = None) -> list[list[Any]]:
    return engine.rows(query, values)[1]


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def lines(engine: Engine) -> Iterator[str]:
    """Every node and edge as a line of text, sorted table by table; no long text but its hash, nothing that use alone changes."""
    for table in NODES:
        yield from sorted(f"{table} {_told(row)}" for row in _rows(engine, f"MATCH (n:{table}) RETURN {columns(table)}"))
    for name, left, right in RELATIONS:
        told = "".join(f", r.{column}" for column in PROPERTIES[name])
        found = _rows(engine, f"MATCH (a:{left})-[r:{name}]->(b:{right}) RETURN a.id, b.id{told}")
        yield from sorted(f"{left}-{name}-{right} {_told(row)}" for row in found)


def _told(row: list[Any]) -> str:
    short = [round(v, 6) if isinstance(v, float) else sha256(v) if isinstance(v, str) and len(v) > LONG else v for v in row]
    return json.dumps(short, ensure_ascii=False)


def stats(engine: Engine, most: int = 10) -> dict[str, Any]:
    """How many nodes and edges there are of each kind, the topics and keys most notes have, the notes most links lead to."""
    return {
        "nodes": {table: _rows(engine, f"MATCH (n:{table}) RETURN count(n)")[0][0] for table in NODES},
        "edges": {name: _rows(engine, f"MATCH ()-[r:{name}]->() RETURN count(r)")[0][0] for name in PROPERTIES},
        "topics": _top(engine, "(n:Topic)<-[:HasTopic]-(m)", "n.name AS name, count(m) AS notes", most),
        "keys": _top(engine, "(n:Key)<-[:HasKey]-(m)", "n.label AS name, n.type AS type, count(m) AS notes", most),
        "hubs": _top(engine, "(n)<-[:LinksTo]-(m)", "n.title AS name, n.id AS id, count(m) AS notes", most),
    }


def _top(engine: Engine, pattern: str, told: str, most: int) -> list[dict[str, Any]]:
    names, rows = engine.rows(f"MATCH {pattern} RETURN {told} ORDER BY notes DESC, name LIMIT {most}")
    return [dict(zip(names, row, strict=True)) for row in rows]
