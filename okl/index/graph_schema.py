"""The graph's tables: which nodes there are, what they know, and which relations lead from where to where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

NODES: dict[str, dict[str, str]] = {
    "MemoryNote": {
        "id": "STRING", "kind": "STRING", "path": "STRING", "title": "STRING", "text": "STRING", "ts": "STRING", "updated": "STRING",
        "tags": "STRING[]", "topics": "STRING[]", "namespace": "STRING", "sha256": "STRING", "status": "STRING", "superseded": "BOOL",
    },
    "Doc": {"id": "STRING", "path": "STRING", "sha256": "STRING", "title": "STRING", "source_url": "STRING", "ts": "STRING"},
    "Chunk": {
        "id": "STRING", "owner": "STRING", "text": "STRING", "span": "STRING", "start": "INT64", "end": "INT64",
        "line_start": "INT64", "line_end": "INT64", "heading": "STRING",
    },
    "Entity": {"id": "STRING", "name": "STRING", "type": "STRING"},
    "Topic": {"id": "STRING", "name": "STRING"},
    "Key": {"id": "STRING", "label": "STRING", "type": "STRING", "aliases": "STRING[]"},
}  # fmt: skip
"""Columns that come from the files, by table; the first is the primary key."""
_USED = {"MemoryNote": ["depth DOUBLE DEFAULT 0.0", "accesses INT64 DEFAULT 0"]}
"""Columns that come from the journal of uses; building and updating leave them alone."""

HOLDERS = ("MemoryNote", "Doc")
"""The tables of what has words of its own."""
_BETWEEN = [(source, target) for source in HOLDERS for target in HOLDERS]


class Relation(NamedTuple):
    """One kind of edge between two node tables."""

    name: str
    source: str
    target: str


_RELATIONS: dict[str, tuple[list[tuple[str, str]], dict[str, str]]] = {
    "HAS_CHUNK": ([(source, "Chunk") for source in HOLDERS], {}),
    "Mentions": ([("Chunk", "Entity"), ("MemoryNote", "Entity")], {}),
    "HasTopic": ([(source, "Topic") for source in HOLDERS], {}),
    "HasKey": ([(source, "Key") for source in HOLDERS], {"weight": "DOUBLE", "origin": "STRING"}),
    "DerivedFrom": ([("MemoryNote", target) for target in ("Doc", "Chunk", "MemoryNote")], {}),
    "LinksTo": (_BETWEEN, {"text": "STRING", "line": "INT64"}),
    "Supersedes": (_BETWEEN, {}),
    "Contradicts": (_BETWEEN, {}),
    "RelatesTo": (_BETWEEN, {}),
    "TagEdge": (_BETWEEN, {"name": "STRING"}),
    "RelatedTo": ([("Topic", "Topic")], {"weight": "DOUBLE"}),
}
RELATIONS = [Relation(name, *pair) for name, (pairs, _) in _RELATIONS.items() for pair in pairs]
"""Every pair of tables that a relation may join."""
PROPERTIES = {name: tuple(columns) for name, (_, columns) in _RELATIONS.items()}
"""What an edge knows, by the relation's name."""


def ddl() -> Iterator[str]:
    """The statements that make the tables."""
    for name, columns in NODES.items():
        told = [f"`{column}` {type}" for column, type in columns.items()] + _USED.get(name, []) + ["PRIMARY KEY (id)"]
        yield f"CREATE NODE TABLE {name}({', '.join(told)})"
    for name, (pairs, columns) in _RELATIONS.items():
        told = [f"FROM {source} TO {target}" for source, target in pairs] + [f"{column} {type}" for column, type in columns.items()]
        yield f"CREATE REL TABLE {name}({', '.join(told)})"
