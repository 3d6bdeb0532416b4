"""The grounding store: sources kept byte for byte, their text beside them."""

from __future__ import annotations

import hashlib
import os
import posixpath
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from okl import note
from okl.errors import NotFound, OklError, UsageError
from okl.index.generation import Index
from okl.ingest import document
from okl.ingest.apart import Apart
from okl.ingest.convert import Limits, Unconvertible
from okl.ingest.fetch import Item, items, media_type
from okl.store import Store

OWN_FOLDERS = frozenset((".ok", ".git", ".trash", *note.RESERVED))


@dataclass(frozen=True)
class Outcome:
    """What became of one source: added, unchanged, updated, skipped or failed, and why."""

    outcome: str
    url: str
    path: str | None = None
    doc: str | None = None
    reason: str | None = None

    def fields(self) -> dict[str, Any]:
        """As surfaces give it."""
        return {"outcome": self.outcome, "path": self.path, "doc": self.doc, "reason": self.reason, "url": self.url}


@dataclass(frozen=True)
class Plan:
    """How to ingest: limits, tags for every doc, the time, and whether only to say what would happen."""

    limits: Limits
    max_bytes: int
    now: str
    tags: tuple[str, ...] = ()
    dry_run: bool = False


def ingest(store: Store, index: Index, arguments: list[str], plan: Plan, told: Callable[[Outcome], None]) -> list[Outcome]:
    """Ingest every document behind `arguments`; one outcome each, told as it happens. Never stops at a bad one."""
    for argument in arguments:
        _refuse_own_folders(store, argument)
    known = _Known(store, index)
    found = []
    with Apart(plan.limits) as apart:
        for argument in arguments:
            for item in _listed(argument):
                outcome = item if isinstance(item, Outcome) else _one(store, known, item, apart, plan)
                told(outcome)
                found.append(outcome)
    return found


def _listed(argument: str) -> Iterator[Item | Outcome]:
    try:
        yield from items(argument)
    except UsageError:
        raise
    except OklError as error:
        yield Outcome("failed", argument, reason=str(error))
    except OSError as error:
        yield Outcome("failed", argument, reason=f"it cannot be read: {error.strerror}")


def _refuse_own_folders(store: Store, argument: str) -> None:
    """UsageError for a folder that holds the store, or one of okl's own in it: it would feed on itself."""
    if "://" in argument and not argument.startswith("file://"):
        return
    path = Path(os.path.realpath(os.path.expanduser(argument.removeprefix("file://"))))
    if store.root == path or path in store.root.parents:
        raise UsageError(f"{argument} holds the store itself; name the folders in it, or others.")
    if path.is_relative_to(store.root) and path.relative_to(store.root).parts[0] in OWN_FOLDERS:
        raise UsageError(f"{argument} lies in a folder of okl's own.")


class _Known:
    """What is in the grounding store already."""

    def __init__(self, store: Store, index: Index) -> None:
        rows = index.state.rows("SELECT path FROM notes WHERE kind = 'doc' ORDER BY path")
        self.docs: dict[str, note.Note] = {path: note.parse(path, store.read(path)) for (path,) in rows if store.exists(path)}
        self.by_hash = {_bytes_of(doc): path for path, doc in self.docs.items()}
        self.by_url = {str(source(doc).get("url")): path for path, doc in self.docs.items()}

    def put(self, path: str, text: str) -> note.Note:
        doc = note.loads(path, text)
        self.docs[path] = doc
        self.by_hash[_bytes_of(doc)] = path
        self.by_url[str(source(doc).get("url"))] = path
        return doc


def _bytes_of(doc: note.Note) -> tuple[str, str]:
    """What makes two sources one: their bytes and how they are read."""
    return str(source(doc).get("sha256")), str(source(doc).get("media_type"))


def source(doc: note.Note) -> Mapping[str, Any]:
    """What a doc's frontmatter says of its source."""
    found = doc.values.get("source")
    return found if isinstance(found, dict) else {}


def _one(store: Store, known: _Known, item: Item, apart: Apart, plan: Plan) -> Outcome:
    if item.size > plan.max_bytes:
        return Outcome("skipped", item.url, reason=f"it has {item.size >> 20} MB, more than ingest.max_mb allows")
    try:
        data = item.read()
    except OSError as error:
        return Outcome("failed", item.url, reason=f"it cannot be read: {error.strerror}")
    kind = media_type(item.tree, data)
    if kind is None:
        return Outcome("skipped", item.url, reason="no converter knows this kind of file")
    digest = hashlib.sha256(data).hexdigest()
    try:
        return _kept(store, known, item, apart, plan, data, kind, digest)
    except Unconvertible as error:
        return Outcome("failed", item.url, reason=str(error))
    except OklError as error:
        return Outcome("failed", item.url, reason=str(error).rstrip("."))


def _kept(store: Store, known: _Known, item: Item, apart: Apart, plan: Plan, data: bytes, kind: str, digest: str) -> Outcome:
    tree = _tree(known, item, digest)
    path = document.doc_path(tree)
    doc = known.docs.get(path)
    if doc is not None and source(doc).get("sha256") == digest:
        if store.exists(document.source_path(tree)):
            return Outcome("unchanged", item.url, path, doc.body_sha256[:16])
        if not plan.dry_run:
            store.write(document.source_path(tree), data)
        return Outcome("updated", item.url, path, doc.body_sha256[:16], "its original was missing and is back")
    if doc is None and (twin := known.by_hash.get((digest, kind))):
        return _also(store, known, twin, item, plan)
    if not data:
        return Outcome("skipped", item.url, reason="it is empty")
    converted = apart.convert(kind, data)
    if doc is not None and also(doc) and not plan.dry_run:
        _keep_for_others(store, known, tree, doc)
    about = {"url": item.url, "sha256": digest, "media_type": kind, "fetched_at": plan.now, "encoding": converted.encoding}
    title = posixpath.basename(tree)
    text = document.text(converted, {k: v for k, v in about.items() if v}, title, list(plan.tags))
    outcome = "added" if doc is None else "updated"
    if not plan.dry_run:
        store.write(document.source_path(tree), data, force=True)
        store.write(path, text.encode("utf-8", errors="replace"), force=True)
    fresh = known.put(path, text)
    return Outcome(outcome, item.url, path, fresh.body_sha256[:16], "; ".join(converted.notes) or None)


def _keep_for_others(store: Store, known: _Known, tree: str, doc: note.Note) -> None:
    """Before a source changes: its old bytes stay, under a name of their own, for the other names they were found under."""
    first, *rest = also(doc)
    told = {key: value for key, value in source(doc).items() if key != "also"}
    values = {**doc.values, "source": {**told, "url": first, **({"also": rest} if rest else {})}}
    root, ending = posixpath.splitext(tree)
    place = f"{root}-{str(told.get('sha256'))[:6]}{ending}"
    if store.exists(document.source_path(tree)):
        store.write(document.source_path(place), store.read(document.source_path(tree)), force=True)
    text = note.compose(values, doc.body)
    store.write(document.doc_path(place), text.encode(), force=True)
    known.put(document.doc_path(place), text)


def _tree(known: _Known, item: Item, digest: str) -> str:
    """The source's place: where it lies already, or its own; beside it if another source with other bytes lies there."""
    if (there := known.by_url.get(item.url)) is not None:
        return original_of(there).removeprefix(document.SOURCES + "/")
    doc = known.docs.get(document.doc_path(item.tree))
    if doc is None or source(doc).get("url") == item.url or source(doc).get("sha256") == digest:
        return item.tree
    if item.url in also(doc):
        return item.tree
    mark = hashlib.sha256(posixpath.dirname(item.url).encode()).hexdigest()[:6]
    first, slash, rest = item.tree.partition("/")
    if slash:
        return f"{first}-{mark}/{rest}"
    root, dot = posixpath.splitext(first)
    return f"{root}-{mark}{dot}"


def also(doc: note.Note) -> list[str]:
    """Other addresses at which the same bytes were found."""
    return note.texts(source(doc).get("also"))


def _also(store: Store, known: _Known, twin: str, item: Item, plan: Plan) -> Outcome:
    """The same bytes under another name: the one doc there is remembers the name."""
    doc = known.docs[twin]
    reason = f"the same bytes as {source(doc).get('url')}"
    if item.url in also(doc) or item.url == source(doc).get("url"):
        return Outcome("unchanged", item.url, twin, doc.body_sha256[:16], reason)
    values = {**doc.values, "source": {**source(doc), "also": [*also(doc), item.url]}}
    text = note.compose(values, doc.body)
    if not plan.dry_run:
        store.write(twin, text.encode(), force=True)
    known.put(twin, text)
    return Outcome("unchanged", item.url, twin, doc.body_sha256[:16], reason)


def listed(store: Store, index: Index) -> list[dict[str, Any]]:
    """Every doc: its id, title, path, original and provenance."""
    rows = index.state.rows("SELECT path, id, title FROM notes WHERE kind = 'doc' ORDER BY path")
    found = []
    for path, id_, title in rows:
        doc = note.parse(path, store.read(path)) if store.exists(path) else None
        told = source(doc) if doc else {}
        original = original_of(path)
        found.append(
            {
                "id": id_,
                "title": title,
                "path": path,
                "original": original if store.exists(original) else None,
                "source": dict(told),
                "trust": "external",
            }
        )
    return found


def original_of(path: str) -> str:
    """Where the original of the doc at `path` lies."""
    return path.replace(document.NORMALIZED, document.SOURCES, 1).removesuffix(".ok.md")


def remove(store: Store, index: Index, path: str) -> dict[str, Any]:
    """Move a source and its text to `.trash/`."""
    if note.kind_of(path) != "doc":
        raise UsageError(f"{path} is no source; “ok mem delete” and your editor delete notes.")
    id_ = index.state.rows("SELECT id FROM notes WHERE path = ?", (path,))
    original = original_of(path)
    moved = [store.trash(path)]
    if store.exists(original):
        moved.append(store.trash(original))
    if not id_:
        raise NotFound(f"There is no source {path}.")
    return {"id": id_[0][0], "path": path, "trash": moved, "done": "removed"}
