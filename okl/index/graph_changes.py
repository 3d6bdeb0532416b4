"""What must change in a graph so that its rows are other rows, and the statements that do it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from okl.index.engine import Engine
from okl.index.graph_rows import Ref, Rows, Values
from okl.index.graph_schema import HOLDERS, NODES, PROPERTIES, RELATIONS, Relation

MANY = 100
"""From so many new rows of one table on, a bulk load is faster than a statement for each."""
_COLUMNS = sorted({name for names in PROPERTIES.values() for name in names})
_EDGE = ", ".join(f"r.{name}" for name in _COLUMNS)


def columns(table: str, of: str = "n") -> str:
    """The table's columns as a query returns them."""
    return ", ".join(f"{of}.`{column}`" for column in NODES[table])


def nodes(engine: Engine, table: str, ids: Iterable[str]) -> Iterator[Values]:
    """Those of the nodes that are there."""
    values = {"ids": sorted(ids)}
    if values["ids"]:
        yield from map(tuple, engine.rows(f"MATCH (n:{table}) WHERE n.id IN $ids RETURN {columns(table)}", values)[1])


def owned(engine: Engine, refs: Iterable[Ref]) -> Rows:
    """What the graph holds of these notes: their nodes, their chunks, and the edges that leave either."""
    rows = Rows()
    for table in HOLDERS:
        if ids := sorted(id for of, id in refs if of == table):
            _add_owned(rows, engine, table, ids)
    return rows


def _add_owned(rows: Rows, engine: Engine, table: str, ids: list[str]) -> None:
    for row in nodes(engine, table, ids):
        rows.add(table, *row)
    chunks = f"MATCH (n:{table})-[:HAS_CHUNK]->(c:Chunk) WHERE n.id IN $ids"
    for found in engine.rows(f"{chunks} RETURN {columns('Chunk', 'c')}", {"ids": ids})[1]:
        rows.add("Chunk", *found)
    for chunk, entity in engine.rows(f"{chunks} MATCH (c)-[:Mentions]->(e:Entity) RETURN c.id, e.id", {"ids": ids})[1]:
        rows.join("Mentions", ("Chunk", chunk), ("Entity", entity))
    leaving = f"MATCH (n:{table})-[r]->(m) WHERE n.id IN $ids RETURN n.id, m.id, label(m), label(r), {_EDGE}"
    for source, target, kind, name, *told in engine.rows(leaving, {"ids": ids})[1]:
        known = dict(zip(_COLUMNS, told, strict=True))
        rows.join(name, (table, source), (kind, target), *(known[column] for column in PROPERTIES[name]))


def apply(engine: Engine, before: Rows, after: Rows) -> None:
    """Turn the rows `before`, which are in the graph, into the rows `after`; the caller holds the transaction."""
    moved = {relation: _moved(before, after, relation) for relation in RELATIONS}
    for relation in RELATIONS:
        for source, target in moved[relation].intersection(edge[:2] for edge in before.edges[relation]):
            _cut(engine, relation, source, target)
    for table in NODES:
        for id in before.nodes[table].keys() - after.nodes[table].keys():
            _delete(engine, table, id)
    for table in NODES:
        _put(engine, table, before, after)
    for relation in RELATIONS:
        connect(engine, relation, [edge for edge in after.edges[relation] if edge[:2] in moved[relation]])


def _moved(before: Rows, after: Rows, relation: Relation) -> set[Values]:
    """The pairs of nodes between which there are other edges than before."""
    return {edge[:2] for edge in before.edges[relation] ^ after.edges[relation]}


def _cut(engine: Engine, relation: Relation, source: str, target: str) -> None:
    name, left, right = relation
    query = f"MATCH (a:{left} {{id: $a}})-[r:{name}]->(b:{right} {{id: $b}}) DELETE r"
    engine.run(query, {"a": source, "b": target})


def _delete(engine: Engine, table: str, id: str) -> None:
    """Delete a node with all its edges.

    Not by DETACH DELETE: when Kùzu 0.11.3 reads that again from its log, the first edge of each table goes too.
    """
    for edges in ("-[r]->()", "<-[r]-()"):
        engine.run(f"MATCH (n:{table} {{id: $id}}){edges} DELETE r", {"id": id})
    engine.run(f"MATCH (n:{table} {{id: $id}}) DELETE n", {"id": id})


def _put(engine: Engine, table: str, before: Rows, after: Rows) -> None:
    """Set what other values some nodes have, and add those that are new."""
    names = [name for name in NODES[table] if name != "id"]
    told = ", ".join(f"n.`{name}` = $v{place}" for place, name in enumerate(names))
    for id in after.nodes[table].keys() & before.nodes[table].keys():
        if after.nodes[table][id] != before.nodes[table][id]:
            values = {f"v{place}": value for place, value in enumerate(after.nodes[table][id][1:])}
            engine.run(f"MATCH (n:{table} {{id: $id}}) SET {told}", {"id": id, **values})
    create(engine, table, [row for id, row in after.nodes[table].items() if id not in before.nodes[table]])


def create(engine: Engine, table: str, rows: list[Values]) -> None:
    """Add new nodes."""
    if len(rows) >= MANY:
        engine.load(f"{table}({', '.join(f'`{name}`' for name in NODES[table])})", list(NODES[table]), rows)
        return
    told = ", ".join(f"`{name}`: $v{place}" for place, name in enumerate(NODES[table]))
    for row in rows:
        engine.run(f"CREATE (:{table} {{{told}}})", {f"v{place}": value for place, value in enumerate(row)})


def connect(engine: Engine, relation: Relation, edges: list[Values]) -> None:
    """Add new edges; one whose ends are not both there is left out."""
    name, left, right = relation
    if len(edges) >= MANY:
        engine.load(name, ("from", "to", *PROPERTIES[name]), edges, ends=(left, right))
        return
    told = ", ".join(f"{column}: $v{place}" for place, column in enumerate(PROPERTIES[name]))
    query = f"MATCH (a:{left} {{id: $a}}), (b:{right} {{id: $b}}) CREATE (a)-[:{name} {{{told}}}]->(b)"
    for source, target, *values in edges:
        engine.run(query, {"a": source, "b": target, **{f"v{place}": value for place, value in enumerate(values)}})


def prune(engine: Engine, entities: Iterable[str]) -> None:
    """Delete those of the entities that nothing mentions any more."""
    query = "MATCH (e:Entity) WHERE e.id IN $ids AND NOT EXISTS { MATCH (e)<-[:Mentions]-() } DELETE e"
    engine.run(query, {"ids": sorted(entities)})
