"""What the index keeps of one file: rows and words, a pure function of its path, bytes and settings."""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from okl import entities, keys, mentions
from okl.index import chunk, language
from okl.index.chunk import Chunk
from okl.keys import KeyUse
from okl.markup import Link, name_key
from okl.note import Note, parse, sha256, stem, texts
from okl.providers import readings, tokens
from okl.providers.tokens import Reading

ID, PATH, FILE, SUFFIX, ALIAS, TITLE = range(6)
"""How strong a name is: a smaller number wins when a name is looked up."""
WORDS = readings.words()
"""How chunks are counted where no model reads them."""
KEY_TYPES = ("concept", "name", "proper_noun")
EXTRACTED_FROM = 4000
"""Characters of a body that key phrases are taken from."""
MOST_CONTEXT = 64
"""Tokens of a title that are left room for beside a chunk."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that the index depends on."""

    tokens: int
    overlap: int
    languages: tuple[str, ...]
    embedding: str = "none"
    reading: Reading = WORDS

    @property
    def identity(self) -> str:
        """All of them in one line that is the same on every machine."""
        chosen = f"tokens={self.tokens} overlap={self.overlap} languages={','.join(self.languages)}"
        return f"{chosen} embedding={self.embedding} reading={self.reading.identity}"


@dataclass(frozen=True, slots=True)
class Record:
    """All rows of one file, as plain tuples in the order of the tables' columns (without the path)."""

    path: str
    sha256: str
    note: dict[str, Any]
    chunks: list[tuple[int, int, int, int, str, str, str]]
    names: list[tuple[str, int]]
    links: list[tuple[str, str, str, str, int, str, str]]
    tags: list[tuple[str, str]]
    keys: list[KeyUse]
    problems: list[tuple[str, int, str]]
    titles: tuple[str, ...]
    mentions: list[tuple[str, str]]
    texts: list[str]

    @property
    def language(self) -> str:
        """The language its words are stemmed in."""
        return str(self.note["language"])


def record(path: str, data: bytes, settings: Settings) -> Record:
    """Everything the index keeps of the file at `path` with the bytes `data`. Never raises for content."""
    note = parse(path, data)
    found = chunks(note, settings)
    tags = _tags(note)
    titles = tuple(dict.fromkeys((note.title, *note.aliases)))
    context = " ".join(texts(note.values.get(note.tags_key)) + note.topics + [label for label, _ in _keys(note)])
    return Record(
        path,
        hashlib.sha256(data).hexdigest(),
        _note_row(note, settings),
        [(c.start, c.end, c.line_start, c.line_end, "\n".join(c.headings), c.sha256, sha256(passage(note, c))) for c in found],
        _names(note),
        _links(note),
        tags,
        _key_uses(note, titles),
        [(p.name, p.line, p.text) for p in note.problems],
        titles,
        [(form, title) for title in titles if (form := mentions.form(title))],
        ["\n".join((*titles, *c.headings, context, note.body[c.start : c.end])) for c in found],
    )


def chunks(note: Note, settings: Settings) -> list[Chunk]:
    """The chunks of `note`, so long that the model reads each of them whole, its title before it."""
    reading, limit = settings.reading, settings.tokens
    costs = tokens.costs(reading.tokenizer) if reading.tokenizer else None
    if reading.max_tokens:
        context = min(chunk.cost(note.title[: 4 * MOST_CONTEXT], costs), MOST_CONTEXT)
        limit = min(limit, reading.max_tokens - reading.special - context)
    return chunk.chunks(note, limit, settings.overlap, costs)


def passage(note: Note, found: Chunk) -> str:
    """What a model reads of a chunk."""
    return chunk.passage(note.title, found.headings, note.body[found.start : found.end])


def doc_id(note: Note) -> str:
    """The id of a doc: the first 16 hex digits of its body's sha256."""
    return note.body_sha256[:16]


def _note_row(note: Note, settings: Settings) -> dict[str, Any]:
    is_doc = note.kind == "doc"
    return {
        "claim": doc_id(note) if is_doc else note.claim,
        "kind": note.kind,
        "type": str(note.values.get("type") or ""),
        "title": note.title,
        "namespace": note.namespace,
        "status": note.status,
        "trust": note.trust,
        "created": note.created,
        "updated": note.updated,
        "expires": note.expires,
        "language": language.detect(f"{note.title}\n{note.body[: language.SAMPLE]}", settings.languages),
        "body_sha256": note.body_sha256,
        "source": json.dumps(_source(note), ensure_ascii=False, sort_keys=True) if is_doc else "",
    }


def _source(note: Note) -> dict[str, Any]:
    """What a doc says of its source, and its page map."""
    found = note.values.get("source")
    source: dict[str, Any] = dict(found) if isinstance(found, dict) else {}
    for key in ("authors", "date", "pages"):
        if note.values.get(key):
            source[key] = note.values[key]
    return source


def _keys(note: Note) -> list[tuple[str, str]]:
    """The (label, type) under `keys`, `names` and `proper_nouns`."""
    rows: list[tuple[str, str]] = []
    for name, kind in (("keys", "concept"), ("names", "name"), ("proper_nouns", "proper_noun")):
        value = note.values.get(name)
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict):
                rows += [(text, key if key in KEY_TYPES else kind) for key, v in item.items() for text in texts(v)]
            else:
                rows += [(text, kind) for text in texts(item)]
    return rows


def _key_uses(note: Note, titles: tuple[str, ...]) -> list[KeyUse]:
    """The keys that the note hangs on, as it says them and as its tags, links and titles imply them."""
    wikilinks = [link.target for link in note.markup.links if link.kind in ("wiki", "embed")]
    return keys.uses(_keys(note), note.tags, note.topics, wikilinks, titles, _extracted(note))


def _extracted(note: Note) -> Iterator[str]:
    """Telling phrases of the text, looked for when somebody asks."""
    yield from entities.key_phrases(note.body[:EXTRACTED_FROM])


def _tags(note: Note) -> list[tuple[str, str]]:
    rows = [("tag", tag) for tag in note.tags] + [("topic", topic) for topic in note.topics]
    rows += [("key", label) for label, _ in _keys(note)]
    return list(dict.fromkeys(rows + [("=" + key, value) for key, value in note.pairs]))


def _names(note: Note) -> list[tuple[str, int]]:
    """The names the note answers to, each with its strength; the id is added once it is known whose it is."""
    path = stem(note.path)
    rows = [(path, PATH), (posixpath.basename(path), FILE)]
    parts = path.split("/")
    rows += [("/".join(parts[start:]), SUFFIX) for start in range(1, len(parts) - 1)]
    if note.kind == "doc":
        source = path.replace("store/normalized/", "store/sources/", 1)
        rows += [(source, PATH), (source.removeprefix("store/sources/"), SUFFIX), (note.path, PATH)]
    rows += [(alias, ALIAS) for alias in note.aliases] + [(note.title, TITLE)]
    best: dict[str, int] = {}
    for name, strength in rows:
        key = _link_key(name)
        best[key] = min(strength, best.get(key, TITLE))
    return sorted(best.items())


def _links(note: Note) -> list[tuple[str, str, str, str, int, str, str]]:
    """(kind, target, fragment, text, line, key, near): `near` is a path to try before the name `key`."""
    links = note.markup.links + [Link(target, fragment, "", key, -1) for key, target, fragment in note.property_links]
    return [_link(note, link) for link in links]


def _link(note: Note, link: Link) -> tuple[str, str, str, str, int, str, str]:
    line = 1 if link.start < 0 else note.first_line + note.markup.line_of(link.start)
    target = link.target
    near = ""
    if link.kind in ("markdown", "embed") or target.startswith(("./", "../", "/")):
        folder = "" if target.startswith("/") else posixpath.dirname(note.path)
        near = _link_key(posixpath.normpath(posixpath.join(folder, target.lstrip("/"))))
    key = _link_key(re.sub(r"^(?:\.{0,2}/)+", "", target))
    return (link.kind, target, link.fragment, link.text, line, key, near)


def _link_key(target: str) -> str:
    return name_key(target).removesuffix(".md")
