"""The graph: what it holds of a store, and that changing it gives what building it gives."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from okl import cypher
from okl.cite.record import parse_handle
from okl.errors import UsageError
from okl.index import graph, graph_changes
from okl.index.engine import Engine
from okl.index.sync import scanned, sync
from okl.note import Note, parse
from tests.conftest import ROOT, Notes

DOC = "store/normalized/paper.ok.md"


class Graphed:
    """A store with an index in memory and a graph beside it."""

    def __init__(self, notes: Notes, file: Path) -> None:
        self.notes = notes
        self.file = file
        self.options = replace(notes.knowledge.options(), accept_deletions=True)
        self.state = scanned(notes.root, self.options)[0].state

    def write(self, files: dict[str, str]) -> None:
        for path, text in files.items():
            self.notes.write(path, text)

    def texts(self, paths: Iterable[str]) -> Iterator[tuple[str, Note]]:
        for path in paths:
            if (self.notes.root / path).exists():
                yield path, parse(path, (self.notes.root / path).read_bytes())

    def build(self) -> None:
        self.index = scanned(self.notes.root, self.options)[0]
        self.state = self.index.state
        graph.build(self.file, self.state, self.texts)

    def update(self) -> None:
        assert sync(self.notes.root, self.index, self.options) is not None
        graph.update(self.file, self.state, self.texts, 5)

    def rows(self, query: str) -> list[list[Any]]:
        with Engine(self.file, read_only=True) as engine:
            return sorted(engine.rows(query)[1])

    def lines(self) -> list[str]:
        with Engine(self.file) as engine:
            return list(graph.lines(engine))

    def built_lines(self) -> list[str]:
        aside = self.file.with_name("aside")
        graph.build(aside, scanned(self.notes.root, self.options)[0].state, self.texts)
        with Engine(aside) as engine:
            return list(graph.lines(engine))

    def assert_as_built(self) -> None:
        ours, built = self.lines(), self.built_lines()
        assert sorted(set(ours) ^ set(built)) == []
        assert ours == built


@pytest.fixture
def graphed(notes: Notes, tmp_path: Path) -> Graphed:
    """An empty store with no graph yet."""
    return Graphed(notes, tmp_path / "graph")


def doc(body: str, url: str = "https://example.org/p") -> str:
    return f"---\ntitle: The paper\nsource:\n  url: {url}\ncreated: 2026-01-02\n---\n{body}"


def test_every_note_memory_and_doc_is_a_node(graphed: Graphed) -> None:
    """Notes and memories are MemoryNotes with what their frontmatter says, docs are Docs with their source."""
    graphed.write(
        {
            "a.md": "---\ntags: [x/y, z]\ntopics: [Sea]\nts: 2026-05-01\nnamespace: work\nstatus: stable\n---\n# Title\n\nWords.\n",
            "memories/m.md": "Remember.\n",
            DOC: doc("Text of the paper.\n"),
        }
    )
    graphed.build()
    told = "n.id, n.kind, n.path, n.title, n.ts, n.updated, n.tags, n.topics, n.namespace, n.status, n.superseded, n.depth, n.accesses"
    assert graphed.rows(f"MATCH (n:MemoryNote) RETURN {told}") == [
        [
            "a",
            "note",
            "a.md",
            "Title",
            "2026-05-01T00:00:00Z",
            "2026-05-01T00:00:00Z",
            ["x/y", "z"],
            ["Sea"],
            "work",
            "stable",
            False,
            0,
            0,
        ],
        ["memories/m", "memory", "memories/m.md", "m", None, None, [], [], "", "", False, 0, 0],
    ]
    found = graphed.rows("MATCH (d:Doc) RETURN d.path, d.title, d.source_url, d.ts, d.id = substring(d.sha256, 1, 16)")
    assert found == [[DOC, "The paper", "https://example.org/p", "2026-01-02T00:00:00Z", True]]
    assert graphed.rows("MATCH (n:MemoryNote {id: 'memories/m'}) RETURN n.text") == [["Remember.\n"]]


def test_a_chunks_id_is_its_handle(graphed: Graphed) -> None:
    """What a chunk is called can be cited, and its text is what stands in its span."""
    text = "---\nid: ä b\n---\n# One\n\n" + "word " * 700 + "\n\n## Two\n\nThe end.\n"
    graphed.write({"a.md": text})
    graphed.build()
    rows = graphed.rows("MATCH (n)-[:HAS_CHUNK]->(c:Chunk) RETURN c.id, n.id, c.owner, c.span, c.start, c.`end`, c.text, c.heading")
    body = parse("a.md", text.encode()).body
    assert len(rows) > 1
    for id, note, owner, span, start, end, words, _ in rows:
        assert parse_handle(id) == ("ä b", start, end)
        assert (note, owner, span, words) == ("ä b", "ä b", f"char{start}-{end}", body[start:end])
    assert {row[-1] for row in rows} == {"One", "One > Two"}


def test_links_lead_from_note_to_note(graphed: Graphed) -> None:
    """Every link in the text that leads somewhere is an edge with its words and line, a link in a property one of its own kind."""
    graphed.write(
        {
            "a.md": "---\nsupersedes: b\nrelated: [c]\ncontradicts: '[[c]]'\nup: '[[b]]'\nauthor: people/ada\nstatus: c\n---\n[[b|see]] and [c](c.md)\n[[nowhere]] [[a]]\n",
            "b.md": "![[c]]\n",
            "c.md": f"[[{DOC}]]\n",
            "people/ada.md": "Ada\n",
            DOC: doc("[x](../../b.md)\n"),
        }
    )
    graphed.build()
    assert graphed.rows("MATCH (x)-[l:LinksTo]->(y) RETURN x.path, l.text, l.line, y.path") == [
        ["a.md", "c", 9, "c.md"],
        ["a.md", "see", 9, "b.md"],
        ["b.md", "", 1, "c.md"],
        ["c.md", "", 1, DOC],
        [DOC, "x", 7, "b.md"],
    ]
    for relation, goal in (("Supersedes", "b"), ("RelatesTo", "c"), ("Contradicts", "c")):
        assert graphed.rows(f"MATCH (x)-[:{relation}]->(y) RETURN x.id, y.id") == [["a", goal]]
    assert graphed.rows("MATCH (x)-[t:TagEdge]->(y) RETURN x.id, t.name, y.id") == [["a", "author", "people/ada"], ["a", "up", "b"]]
    assert graphed.rows("MATCH (n:MemoryNote) WHERE n.superseded RETURN n.id") == [["b"]]


def test_a_draft_supersedes_nothing_yet(graphed: Graphed) -> None:
    """The edge is there, the flag is not, until the draft is one no more."""
    graphed.write({"a.md": "---\nsupersedes: b\nstatus: draft\n---\n", "b.md": "b\n"})
    graphed.build()
    assert graphed.rows("MATCH (:MemoryNote)-[:Supersedes]->(n) RETURN n.superseded") == [[False]]
    graphed.write({"a.md": "---\nsupersedes: b\n---\n"})
    graphed.update()
    assert graphed.rows("MATCH (:MemoryNote)-[:Supersedes]->(n) RETURN n.superseded") == [[True]]
    graphed.assert_as_built()


def test_memories_are_derived_from_docs_notes_and_passages(graphed: Graphed) -> None:
    """A source is the doc or note it names, and the chunks that the characters it names touch."""
    graphed.write({"memories/m.md": "---\nsources: ['[[paper]]', '[[b]]']\n---\n", "b.md": "b\n", DOC: doc("# A\n\n" + "word " * 700)})
    graphed.build()
    assert sorted(row[0] for row in graphed.rows("MATCH (:MemoryNote)-[:DerivedFrom]->(d) RETURN label(d)")) == ["Doc", "MemoryNote"]
    graphed.state.execute("UPDATE links SET fragment = 'char=10-20' WHERE kind = 'sources' AND target = 'paper'")
    graph.build(graphed.file, graphed.state, graphed.texts)
    assert [row[0] for row in graphed.rows("MATCH (:MemoryNote)-[:DerivedFrom]->(c:Chunk) RETURN c.start")] == [5]


def test_topics_are_related_by_the_notes_that_have_both(graphed: Graphed) -> None:
    """The weight counts notes, both ways; a list of topics relates none; case does not part topics."""
    many = ", ".join(f"t{number}" for number in range(51))
    graphed.write(
        {
            "a.md": "---\ntopics: [NLP, Sea]\n---\n",
            "b.md": "---\ntopics: [nlp, sea, law]\n---\n",
            "c.md": f"---\ntopics: [law, {many}]\n---\n",
        }
    )
    graphed.build()
    related = "MATCH (a:Topic)-[r:RelatedTo]->(b:Topic) WHERE a.id < b.id RETURN a.id, b.id, r.weight"
    assert graphed.rows(related) == [["law", "nlp", 1.0], ["law", "sea", 1.0], ["nlp", "sea", 2.0]]
    assert graphed.rows("MATCH (t:Topic) WHERE t.id IN ['nlp', 'sea'] RETURN t.name") == [["NLP"], ["Sea"]]
    graphed.write({"a.md": "---\ntopics: [Sea]\n---\n", "c.md": "---\ntopics: [law, sea]\n---\n"})
    graphed.update()
    assert graphed.rows(related) == [["law", "nlp", 1.0], ["law", "sea", 2.0], ["nlp", "sea", 1.0]]
    assert graphed.rows("MATCH (t:Topic) RETURN t.name") == [["Sea"], ["law"], ["nlp"]]
    graphed.assert_as_built()


def test_spellings_of_a_key_meet(graphed: Graphed) -> None:
    """Case and plural do not part concepts; the label is the explicit one, the others are its aliases."""
    graphed.write({"a.md": "---\nkeys: [Apple]\n---\n", "b.md": "---\ntags: [apples]\n---\n", "c.md": "[[lib/apple]]\n"})
    graphed.build()
    assert graphed.rows("MATCH (k:Key {id: 'apple'}) RETURN k.label, k.type, k.aliases") == [["Apple", "concept", ["apple", "apples"]]]
    found = graphed.rows("MATCH (n)-[h:HasKey]->(:Key {id: 'apple'}) RETURN n.id, h.weight, h.origin")
    assert found == [["a", 1.0, "explicit"], ["b", 0.7, "tag"], ["c", 0.8, "wikilink"]]


def test_a_word_that_becomes_a_name_takes_its_spellings_along(graphed: Graphed) -> None:
    """When one note makes a word a name, others that have it as a concept hang on the name; and back."""
    graphed.write({"a.md": "---\ntags: [James]\n---\n", "b.md": "---\ntags: [jame]\n---\n", "c.md": "c\n"})
    graphed.build()
    hanging = "MATCH (n)-[:HasKey]->(k:Key) WHERE k.id STARTS WITH 'jame' RETURN n.id, k.id, k.type"
    before = graphed.rows(hanging)
    assert before == [["a", "jame", "concept"], ["b", "jame", "concept"]]
    graphed.write({"c.md": "---\nnames: [James]\n---\n"})
    graphed.update()
    assert graphed.rows(hanging) == [["a", "james", "name"], ["b", "jame", "concept"], ["c", "james", "name"]]
    graphed.assert_as_built()
    (graphed.notes.root / "c.md").unlink()
    graphed.update()
    assert graphed.rows(hanging) == before
    graphed.assert_as_built()


def test_docs_with_one_text_are_one_node(graphed: Graphed) -> None:
    """The first file stands for all; when it goes, the next does."""
    second = "store/normalized/second.ok.md"
    graphed.write({DOC: doc("One text.\n"), second: doc("One text.\n", "https://example.org/2"), "a.md": "[[paper]] [[second]]\n"})
    graphed.build()
    assert graphed.rows("MATCH (d:Doc) RETURN d.path") == [[DOC]]
    assert len(graphed.rows("MATCH (:MemoryNote)-[l:LinksTo]->(d:Doc) RETURN l.line")) == 1
    (graphed.notes.root / DOC).unlink()
    graphed.update()
    assert graphed.rows("MATCH (d:Doc) RETURN d.path, d.source_url") == [[second, "https://example.org/2"]]
    graphed.assert_as_built()


def test_an_edit_leaves_the_edges_of_others(graphed: Graphed) -> None:
    """A note that others link to keeps their links, and what was learned of its use, when its words change."""
    graphed.write({"a.md": "[[b]]\n", "b.md": "Ada Lovelace\n", "c.md": "Grace Hopper met Ada Lovelace.\n"})
    graphed.build()
    with Engine(graphed.file) as engine:
        engine.run("MATCH (n:MemoryNote {id: 'b'}) SET n.depth = 0.5, n.accesses = 3")
    graphed.write({"b.md": "Alan Turing [[c]]\n"})
    graphed.update()
    assert graphed.rows("MATCH (x)-[:LinksTo]->(y) RETURN x.id, y.id") == [["a", "b"], ["b", "c"]]
    assert graphed.rows("MATCH (n:MemoryNote {id: 'b'}) RETURN n.depth, n.accesses, n.text") == [[0.5, 3, "Alan Turing [[c]]\n"]]
    assert graphed.rows("MATCH (e:Entity) RETURN e.name") == [["Ada Lovelace"], ["Alan Turing"], ["Grace Hopper"]]
    graphed.assert_as_built()


def test_what_no_note_uses_goes(graphed: Graphed) -> None:
    """With a note go its chunks, and the topics, keys and entities that it alone had."""
    graphed.write(
        {
            "a.md": "---\ntopics: [sea, law]\nkeys: [whale]\n---\nAda Lovelace\n",
            "b.md": "---\ntopics: [sea]\nkeys: [ship]\n---\nAlan Turing\n",
        }
    )
    graphed.build()
    (graphed.notes.root / "a.md").unlink()
    graphed.update()
    left = graphed.rows("MATCH (n) RETURN label(n), n.id")
    assert left == [
        ["Chunk", "b#char0-11"], ["Entity", "Alan Turing"], ["Key", "sea"], ["Key", "ship"], ["MemoryNote", "b"], ["Topic", "sea"]
    ]  # fmt: skip
    graphed.assert_as_built()


def test_odd_names_are_kept(graphed: Graphed) -> None:
    """Quotes, backslashes, line ends, NUL and other alphabets go into the graph and come out again."""
    odd = 'it\'s "a" \\ `b` {c} $d \t[1,2] \u2028 我們'
    head = f"---\nid: {odd!r}\ntopics: [{odd!r}, \"x\\0y\", '']\nkeys: ['{{}}', '[]', 'null']\ntags: [我們, 'a,b']\n---\n"
    graphed.write({"a.md": head + f"{odd}\x00 Ada O'Neil\\\n\n---\n", "sub/ü'\\.md": f"[[a]] [[{odd}|{odd}]]\n", "b.md": "[[ü'\\]]\n"})
    graphed.build()
    built = graphed.lines()
    graphed.write({"c.md": "[[a]]\n", "b.md": '---\ntopics: ["x\\0y"]\n---\n[[ü\'\\]]\n'})
    graphed.update()
    graphed.assert_as_built()
    (graphed.notes.root / "c.md").unlink()
    graphed.write({"b.md": "[[ü'\\]]\n"})
    graphed.update()
    assert graphed.lines() == built


def test_an_update_that_is_repeated_changes_nothing(graphed: Graphed) -> None:
    """After a crash the same work is done again, with the same end."""
    graphed.write({"a.md": "---\ntopics: [x, y]\nkeys: [k]\n---\n[[b]] Ada Lovelace\n", "b.md": "---\nsupersedes: a\n---\n"})
    graphed.build()
    before = graphed.lines()
    graphed.state.execute("INSERT INTO graph_stale SELECT path FROM notes")
    graph.update(graphed.file, graphed.state, graphed.texts, 5)
    assert graphed.lines() == before
    assert graphed.state.rows("SELECT * FROM graph_stale") == []


def test_an_update_that_fails_leaves_all_as_it_was(graphed: Graphed) -> None:
    """Nothing is half done: neither is the graph changed, nor are the notes taken for done."""
    graphed.write({"a.md": "one\n"})
    graphed.build()
    before = graphed.lines()
    graphed.write({"a.md": "two\n", "b.md": "three\n"})
    sync(graphed.notes.root, graphed.index, graphed.options)

    def failing(paths: Iterable[str]) -> Iterator[tuple[str, Note]]:
        yield from list(graphed.texts(paths))[:1]
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="gone"):
        graph.update(graphed.file, graphed.state, failing, 5)
    assert graphed.lines() == before
    assert graphed.state.rows("SELECT path FROM graph_stale") == [("a.md",), ("b.md",)]
    graphed.update()
    graphed.assert_as_built()


@pytest.mark.parametrize("by", ["build", "update"])
def test_a_file_that_has_changed_since_stays_stale(graphed: Graphed, by: str) -> None:
    """What the index says of it is in the graph, its words are not; it is looked at again the next time."""
    graphed.write({"a.md": "Ada Lovelace\n"})
    graphed.build()
    graphed.write({"b.md": "---\ntopics: [sea]\n---\nAlan Turing\n"})
    sync(graphed.notes.root, graphed.index, graphed.options)
    without = lambda paths: (row for row in graphed.texts(paths) if row[0] != "b.md")  # noqa: E731
    if by == "build":
        graph.build(graphed.file, graphed.state, without)
    else:
        graph.update(graphed.file, graphed.state, without, 5)
    assert graphed.state.rows("SELECT path FROM graph_stale") == [("b.md",)]
    assert graphed.rows("MATCH (n:MemoryNote {id: 'b'})-[:HasTopic]->(t) RETURN n.text, t.id") == [["", "sea"]]
    graphed.update()
    assert graphed.rows("MATCH (n:MemoryNote {id: 'b'})-[:Mentions]->(e) RETURN n.text, e.id") == [["Alan Turing\n", "Alan Turing"]]
    assert graphed.state.rows("SELECT * FROM graph_stale") == []


def test_many_changes_or_a_missing_file_build_anew(graphed: Graphed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Either way the graph is the one that the files give."""
    monkeypatch.setattr(graph, "FEW", 3)
    graphed.write({f"n{number}.md": f"[[n{number + 1}]] Name Number{number}\n" for number in range(9)})
    graphed.build()
    graphed.write({f"n{number}.md": "[[n1]]\n" for number in range(7)})
    graphed.update()
    graphed.assert_as_built()
    graphed.file.unlink()
    graphed.update()
    graphed.assert_as_built()


NAMES = ("alpha", "beta", "sub/alpha", "store/normalized/x.ok", "store/normalized/y.ok", "memories/m1")


def anything(chance: random.Random, path: str) -> str:
    """A note that says something of everything."""
    name = lambda: chance.choice(["alpha", "beta", "i1", "i2", "m1", "y", "nowhere", "sub/alpha"])  # noqa: E731
    head = [
        f"id: {chance.choice(['i1', 'i2', 'alpha'])}",
        f"topics: [{', '.join(chance.sample(['nlp', 'NLP', 'law', 'sea'], 2))}]",
        f"tags: [{', '.join(chance.sample(['James', 'jame', 'apples', 'lab/apple'], 2))}]",
        f"keys: [{chance.choice(['James', 'apple', 'Apples'])}, {{name: {chance.choice(['James', 'Apple', 'apples'])}}}]",
        f"supersedes: {name()}",
        f"related: {name()}",
        f"sources: ['[[{name()}]]']",
        f"author: {name()}",
        f"up: '[[{name()}]]'",
        "status: draft",
    ]
    words = ["Tim Cook said", "the sea.", "Isaac Newton", "apples fell in 1666.", f"[[{name()}]]", f"[x]({name()}.md)", "word " * 300]
    body = "One text of twins.\n" if "normalized" in path and chance.random() < 0.7 else " ".join(chance.choices(words, k=4))
    kept = [line for line in head if chance.random() < 0.4]
    return "\n".join(["---", *kept, "---", body])


def change(graphed: Graphed, chance: random.Random) -> None:
    """One edit, deletion or renaming."""
    file, other = (graphed.notes.root / f"{name}.md" for name in chance.sample(NAMES, 2))
    kind = chance.random()
    if kind < 0.7 or not file.exists():
        graphed.write({str(file.relative_to(graphed.notes.root)): anything(chance, str(file))})
    elif kind < 0.85:
        file.unlink()
    else:
        file.rename(other)


def live(graphed: Graphed, seed: int, steps: int) -> None:
    """Some changes at a time, and after each batch the graph is what the files give."""
    chance = random.Random(seed)
    graphed.write({f"{name}.md": anything(chance, name) for name in NAMES})
    graphed.build()
    for _ in range(steps):
        for _ in range(chance.randrange(1, 4)):
            change(graphed, chance)
        graphed.update()
        assert graphed.state.rows("SELECT * FROM graph_stale") == []
        graphed.assert_as_built()


@pytest.mark.parametrize(("seed", "many"), [(0, 1000), (1, 3)], ids=["by statements", "by loads"])
def test_after_any_changes_the_graph_is_what_the_files_give(
    graphed: Graphed, seed: int, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Edits, renames, deletions, ids that change hands: an updated graph is one built from nothing."""
    monkeypatch.setattr(graph_changes, "MANY", many)
    live(graphed, seed, steps=4)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 40))
def test_after_very_many_changes_too(graphed: Graphed, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for longer lives of more stores."""
    monkeypatch.setattr(graph_changes, "MANY", 3 if seed % 2 else 1000)
    live(graphed, seed, steps=25)


def test_stats_count(graphed: Graphed) -> None:
    """Nodes and edges by kind; what most notes have and link to comes first."""
    graphed.write({"a.md": "---\ntopics: [sea]\n---\n[[b]]\n", "b.md": "---\ntopics: [sea, law]\n---\n[[a]]\n", "c.md": "[[b]]\n"})
    graphed.build()
    with Engine(graphed.file, read_only=True) as engine:
        told = graph.stats(engine, most=1)
    assert (told["nodes"]["MemoryNote"], told["edges"]["LinksTo"], told["edges"]["HasTopic"]) == (3, 3, 3)
    assert told["topics"] == [{"name": "sea", "notes": 2}]
    assert told["keys"] == [{"name": "sea", "type": "concept", "notes": 2}]
    assert told["hubs"] == [{"name": "b", "id": "b", "notes": 2}]


PAGE = (ROOT / "docs" / "graph.md").read_text(encoding="utf-8")
QUERIES = {part.partition("\n")[0]: part for part in PAGE.split("\n### ")[1:]}
STORE = {
    "index.md": "# Index\n\n[[attention]]\n",
    "attention.md": "---\ntitle: Attention\ntopics: [nlp, transformer]\nkeys: [attention]\nauthor: people/ashish\n---\n"
    "Ashish Vaswani wrote of attention in 2017. See [[memories/heads]].\n",
    "memories/heads.md": "---\ntopics: [nlp, transformer]\nsources: ['[[paper]]']\nkeys: [attention]\n---\nAshish Vaswani: attention has heads.\n",
    "memories/old.md": "---\ntopics: [history]\n---\nOne head.\n",
    "memories/new.md": "---\nsupersedes: memories/old\ntopics: [history, nlp]\n---\nEight heads.\n",
    "people/ashish.md": "# Ashish\n",
    DOC: doc("Attention is all you need.\n"),
}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The graph of a small store, open for reading."""
    folder = tmp_path_factory.mktemp("page")
    graphed = Graphed(Notes(folder / "store", {}), folder / "graph")
    graphed.write(STORE)
    graphed.build()
    with Engine(graphed.file, read_only=True) as engine:
        yield engine


@pytest.mark.parametrize("title", QUERIES)
def test_the_pages_queries_run(asked: Engine, title: str) -> None:
    """Of each query on the page the last form gives rows; one before it finds nothing or fails, as the page says."""
    *originals, last = re.findall(r"```cypher\n(.*?)\n```", QUERIES[title], re.DOTALL)
    refused = re.search(r"It is refused: `(.+?)`", QUERIES[title])
    assert bool(originals) == bool(refused or "It finds nothing" in QUERIES[title])
    assert asked.rows(cypher.read_only(last), user=True, most=10)[1]
    for query in originals:
        if refused:
            with pytest.raises(UsageError, match=re.escape(refused[1])):
                asked.rows(cypher.read_only(query), user=True)
        else:
            assert asked.rows(cypher.read_only(query), user=True)[1] == []
