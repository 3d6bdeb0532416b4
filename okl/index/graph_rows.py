"""The graph's rows as the index's tables and the notes' words give them. Nothing is written here."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

from okl import keys
from okl.cite.record import quoted
from okl.entities import entities
from okl.index.graph_schema import Relation
from okl.index.state import State
from okl.keys import CONCEPT, KeyUse
from okl.note import Note

Ref = tuple[str, str]
"""A node: its table and its id."""
Values = tuple[Any, ...]
Texts = Callable[[Iterable[str]], Iterator[tuple[str, Note]]]
"""Gives (path, note) for those of the paths whose file still has the bytes that the index knows."""

MOST_TOPICS = 50
"""A note with more topics than this is a list of topics; it relates none of them."""
_TYPED = {"supersedes": "Supersedes", "contradicts": "Contradicts", "related": "RelatesTo"}
_WRITTEN = ("wiki", "embed", "markdown")
_SOURCES = ("sources", "source", "derived_from")
_NO_EDGE = frozenset(
    "id type title aliases alias tags tag topics keys names proper_nouns summary generated verified status namespace trust "
    "language kind retention parser source_agent source_session source_turn cssclasses publish".split()
)
_SPAN = re.compile(r"char=?(\d+)-(\d+)")


@dataclass
class Rows:
    """Nodes by table and id, edges by relation; an edge is (id it leaves, id it reaches, properties…)."""

    nodes: dict[str, dict[str, Values]] = field(default_factory=lambda: defaultdict(dict))
    edges: dict[Relation, set[Values]] = field(default_factory=lambda: defaultdict(set))

    def add(self, table: str, id: str, *values: Any) -> None:
        """Add a node; of two with one id the first stays."""
        self.nodes[table].setdefault(id, (id, *values))

    def join(self, name: str, source: Ref, target: Ref, *values: Any) -> None:
        """Add an edge."""
        self.edges[Relation(name, source[0], target[0])].add((source[1], target[1], *values))


class Tables:
    """The index's tables, asked for what the graph needs."""

    def __init__(self, state: State) -> None:
        self._state = state

    @cached_property
    def twins(self) -> str:
        """The files that share another one's id and come after it, as JSON: that one stands for them."""
        shared = self._state.rows("SELECT id FROM notes GROUP BY id HAVING count(*) > 1")
        rows = self._ask("SELECT kind = 'doc', id, path FROM notes WHERE id IN (?) ORDER BY path", (row[0] for row in shared))
        first: dict[tuple[Any, ...], str] = {}
        return _json(path for *ref, path in rows if first.setdefault(tuple(ref), path) != path)

    def _ask(self, query: str, values: Iterable[Any], *more: str) -> list[Values]:
        """All rows of `query`, whose `(?)` stand for lists; a `+` before a column keeps SQLite from an index that tells too little."""
        return self._state.rows(query.replace("(?)", "(SELECT value FROM json_each(?))"), (_json(values), *more))

    # --- who is who ---

    def paths(self) -> list[str]:
        """Every file that has a node of its own."""
        return [
            row[0] for row in self._state.rows("SELECT path FROM notes WHERE path NOT IN (SELECT value FROM json_each(?))", (self.twins,))
        ]

    def standing_for(self, ids: Iterable[str]) -> dict[str, Ref]:
        """The files whose nodes have these ids, by path."""
        query = "SELECT path, kind, id FROM notes WHERE id IN (?) AND path NOT IN (?)"
        return {path: _ref(kind, id) for path, kind, id in self._ask(query, ids, self.twins)}

    def refs(self, paths: Iterable[str]) -> dict[str, Ref]:
        """The nodes that stand for these files, by path."""
        return {path: _ref(kind, id) for path, kind, id in self._ask("SELECT path, kind, id FROM notes WHERE path IN (?)", paths)}

    # --- shared nodes ---

    def topic_ids(self) -> list[str]:
        """Every topic, in the form in which topics are compared."""
        return [row[0] for row in self._state.rows("SELECT DISTINCT folded FROM tags WHERE name = 'topic' ORDER BY folded")]

    def key_ids(self) -> list[str]:
        """Every folded form of a key."""
        return [row[0] for row in self._state.rows("SELECT DISTINCT folded FROM keys ORDER BY folded")]

    def topics(self, ids: Iterable[str]) -> dict[str, str]:
        """The name of each of these topics that some note has: its smallest spelling."""
        query = "SELECT folded, min(value) FROM tags WHERE name = 'topic' AND folded IN (?) AND path NOT IN (?) GROUP BY folded"
        return dict(self._ask(query, ids, self.twins))

    def names(self, folded: Iterable[str]) -> set[str]:
        """Those of the folded forms that some note uses as a name or proper noun."""
        query = f"SELECT DISTINCT folded FROM keys WHERE type != '{CONCEPT}' AND folded IN (?) AND path NOT IN (?)"  # noqa: S608
        return {row[0] for row in self._ask(query, folded, self.twins)}

    def keys(self, ids: Iterable[str]) -> dict[str, tuple[str, str, tuple[str, ...]]]:
        """(label, type, aliases) of each of these keys that some note has."""
        wanted = set(ids)
        query = "SELECT DISTINCT label, folded, type, origin, weight FROM keys WHERE folded IN (?) AND path NOT IN (?)"
        uses = [KeyUse(*row) for row in self._ask(query, wanted | {keys.fold(id) for id in wanted}, self.twins)]
        names = self.names_of(uses)
        groups: dict[str, list[tuple[str, str, str]]] = {}
        for use in uses:
            if (id := keys.home(use, names)) in wanted:
                groups.setdefault(id, []).append((use.label, use.type, use.origin))
        return {id: keys.canonical(group) for id, group in groups.items()}

    def named_by(self, paths: Iterable[str]) -> set[str]:
        """The folded forms of the names and proper nouns that these files use."""
        query = f"SELECT DISTINCT folded FROM keys WHERE type != '{CONCEPT}' AND path IN (?)"  # noqa: S608
        return {row[0] for row in self._ask(query, paths)}

    def names_of(self, uses: Iterable[KeyUse]) -> set[str]:
        """The names of the store that one of the labels spells."""
        return self.names({keys.fold(use.label, "name") for use in uses})

    def sharing(self, folded: Iterable[str]) -> set[str]:
        """The files that have a key with one of these folded forms."""
        return {row[0] for row in self._ask("SELECT path FROM keys WHERE folded IN (?)", folded)}

    # --- what belongs to a note ---

    def words(self, owners: Mapping[str, Ref], texts: Texts) -> tuple[Rows, set[str]]:
        """The nodes, chunks and entities of these files; and those files whose words could not be had."""
        rows, missing = Rows(), set(owners)
        about, spans = self._about(owners), self._spans(owners)
        for path, note in texts(owners):
            missing.discard(path)
            _own(rows, owners[path], about[path], spans[path], note.body)
        for path in missing:
            _own(rows, owners[path], about[path], spans[path], "")
        return rows, missing

    def _about(self, paths: Iterable[str]) -> dict[str, dict[str, Any]]:
        columns = ("path", "kind", "title", "created", "updated", "namespace", "status", "body_sha256", "source")
        found = self._ask(f"SELECT {', '.join(columns)} FROM notes WHERE path IN (?)", paths)  # noqa: S608 - constants
        about = {row[0]: {**dict(zip(columns, row, strict=True)), "tag": [], "topic": [], "superseded": False} for row in found}
        for path, name, value in self._ask(
            "SELECT path, name, value FROM tags WHERE +name IN ('tag', 'topic') AND path IN (?) ORDER BY rowid", paths
        ):
            about[path][name].append(value)
        for path in self.superseded(paths):
            about[path]["superseded"] = True
        return about

    def superseded(self, paths: Iterable[str]) -> list[str]:
        """Those of the files that a note which is no draft says it supersedes."""
        query = (
            "SELECT DISTINCT l.found FROM links l JOIN notes n ON n.path = l.path "
            "WHERE l.kind = 'supersedes' AND l.found IN (?) AND l.found != l.path AND n.status != 'draft'"
        )
        return [row[0] for row in self._ask(query, paths)]

    def _spans(self, paths: Iterable[str]) -> dict[str, list[Values]]:
        found: dict[str, list[Values]] = defaultdict(list)
        query = "SELECT path, start, end, line_start, line_end, headings FROM chunks WHERE path IN (?) ORDER BY path, ord"
        for path, *span in self._ask(query, paths):
            found[path].append(tuple(span))
        return found

    def ties(self, owners: Mapping[str, Ref]) -> Rows:
        """The edges of these files to topics, keys and one another."""
        rows = Rows()
        for path, topic in self._ask("SELECT path, folded FROM tags WHERE +name = 'topic' AND path IN (?)", owners):
            rows.join("HasTopic", owners[path], ("Topic", topic))
        self._hang_on_keys(rows, owners)
        self._link(rows, owners)
        self._join_by_tags(rows, owners)
        return rows

    def _hang_on_keys(self, rows: Rows, owners: Mapping[str, Ref]) -> None:
        found = self._ask("SELECT path, label, folded, type, origin, weight FROM keys WHERE path IN (?)", owners)
        uses = [(path, KeyUse(*row)) for path, *row in found]
        names = self.names_of(use for _, use in uses)
        best: dict[tuple[str, str], KeyUse] = {}
        for path, use in uses:
            place = (path, keys.home(use, names))
            best[place] = max(best.get(place, use), use, key=lambda use: (use.weight, use.origin))
        for (path, id), use in best.items():
            rows.join("HasKey", owners[path], ("Key", id), use.weight, use.origin)

    def _link(self, rows: Rows, owners: Mapping[str, Ref]) -> None:
        query = "SELECT path, kind, fragment, text, line, found FROM links WHERE found IS NOT NULL AND found != path AND path IN (?)"
        found = self._ask(query, owners)
        goals = self.refs({row[-1] for row in found})
        spans = self._spans({goal for _, kind, fragment, *_, goal in found if kind in _SOURCES and _SPAN.match(fragment)})
        for path, kind, fragment, text, line, goal in found:
            source, target = owners[path], goals[goal]
            if source == target:
                continue
            if kind in _WRITTEN:
                rows.join("LinksTo", source, target, text, line)
            elif kind in _TYPED:
                rows.join(_TYPED[kind], source, target)
            elif kind in _SOURCES and source[0] == "MemoryNote":
                for origin in (target, *_cited(target, fragment, spans.get(goal, []))):
                    rows.join("DerivedFrom", source, origin)
            elif kind.casefold() not in _NO_EDGE:
                rows.join("TagEdge", source, target, kind)

    def _join_by_tags(self, rows: Rows, owners: Mapping[str, Ref]) -> None:
        tagged = self._ask("SELECT path, substr(name, 2), value FROM tags WHERE +name > '=' AND +name < '>' AND path IN (?)", owners)
        tagged = [row for row in tagged if row[1].casefold() not in _NO_EDGE]
        targets: dict[str, set[Ref]] = defaultdict(set)
        for ref in self.standing_for({value for _, _, value in tagged}).values():
            targets[ref[1]].add(ref)
        for path, name, value in tagged:
            for target in targets[value] - {owners[path]}:
                rows.join("TagEdge", owners[path], target, name)


def _json(values: Iterable[Any]) -> str:
    return json.dumps(list(values))


def _ref(kind: str, id: str) -> Ref:
    return ("Doc" if kind == "doc" else "MemoryNote", id)


def _own(rows: Rows, owner: Ref, about: Mapping[str, Any], spans: Iterable[Values], body: str) -> None:
    """Add a note's node, its chunks, and what these mention."""
    table, id = owner
    ts, updated = about["created"] or None, about["updated"] or None
    if table == "Doc":
        url = json.loads(about["source"] or "{}").get("url")
        rows.add("Doc", id, about["path"], about["body_sha256"], about["title"], str(url) if url else None, ts)
    else:
        told = (about["kind"], about["path"], about["title"], body, ts, updated, about["tag"], about["topic"], about["namespace"])
        rows.add("MemoryNote", id, *told, about["body_sha256"], about["status"], about["superseded"])
    chunks = rows.edges[Relation("HAS_CHUNK", table, "Chunk")]
    mentions = rows.edges[Relation("Mentions", "Chunk", "Entity")]
    named: set[str] = set()
    for start, end, line_start, line_end, headings in spans:
        text = body[start:end]
        span = f"char{start}-{end}"
        chunk = f"{quoted(id)}#{span}"
        rows.add("Chunk", chunk, id, text, span, start, end, line_start, line_end, headings.replace("\n", " > "))
        chunks.add((id, chunk))
        found = {name: (name, name, type) for name, type in entities(text)}
        rows.nodes["Entity"].update(found)
        mentions.update((chunk, name) for name in found)
        named |= found.keys()
    if table == "MemoryNote":
        rows.edges[Relation("Mentions", table, "Entity")].update((id, name) for name in named)


def _cited(target: Ref, fragment: str, spans: Iterable[Values]) -> Iterator[Ref]:
    """The target's chunks that a fragment `char10-20` touches."""
    if match := _SPAN.match(fragment):
        first, last = int(match[1]), int(match[2])
        yield from (("Chunk", f"{quoted(target[1])}#char{start}-{end}") for start, end, *_ in spans if start < last and end > first)


def related(topics: Iterable[tuple[Ref, str]]) -> Counter[tuple[str, str]]:
    """How many notes have both topics of a pair, for every pair in order, from (note, topic)."""
    by_note: dict[Ref, set[str]] = defaultdict(set)
    for note, topic in topics:
        by_note[note].add(topic)
    return Counter(pair for found in by_note.values() if len(found) <= MOST_TOPICS for pair in combinations(sorted(found), 2))
