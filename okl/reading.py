"""What the reading verbs answer, as plain data."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from okl import citing, search
from okl.cite.record import Cite
from okl.config import Config
from okl.doctor import Finding
from okl.errors import OklError, UsageError
from okl.fresh import Fresh
from okl.index import dump
from okl.index.generation import Generations, Index
from okl.index.record import Settings
from okl.legs import Meaning
from okl.note import parse
from okl.query import Filters
from okl.ranking import Request
from okl.select import Selection, superseded, utc_text
from okl.store import Store
from okl.target import Document
from okl.writing import Writer, sha256_of

Data = dict[str, Any]
SORTS = ("id", "updated", "created", "path", "title")
DIFFERENCES = 50


def answer(store: Store, found: Fresh, text: str, request: Request, settings: Settings, meaning: Meaning | None = None) -> Data:
    """A search's envelope: the query, the legs that ran, what weakened the answer, and the results."""
    started = time.perf_counter()
    results = search.search(store, found.index, request, settings, meaning)
    found.index.answered()
    return {
        "query": text,
        "legs": results.legs,
        "degraded": [*found.degraded, *results.degraded],
        "fresh_as_of": utc_text(request.now) if found.synced else None,
        "lag": results.lag,
        "took_ms": round((time.perf_counter() - started) * 1000, 1),
        "results": [search.shown(hit, lambda passage: citing.saved_id(store, passage)) for hit in results.hits],
    }


def note(index: Index, found: Document) -> Data:
    """One note: what it says of itself, its text, its links both ways, and what is wrong with it."""
    one, state = found.note, index.state
    gone = superseded(state)
    return {
        "id": found.id,
        "uri": f"ok://{'doc' if one.kind == 'doc' else 'note'}/{found.id}",
        "path": one.path,
        "kind": one.kind,
        "type": one.values.get("type"),
        "title": one.title,
        "sha256": sha256_of(found.data),
        "body_sha256": one.body_sha256,
        "created": one.created or None,
        "updated": one.updated or None,
        "namespace": one.namespace or None,
        "status": one.status or None,
        "superseded": one.path in gone,
        "trust": one.trust,
        "tags": one.tags,
        "topics": one.topics,
        "aliases": one.aliases,
        "properties": one.values,
        "body": one.body,
        "text": one.bom + one.opening + (one.head or "") + one.closing + one.body,
        "links": _links(index, one.path),
        "backlinks": [
            {"id": id_, "path": path, "line": line}
            for id_, path, line in state.rows(
                "SELECT n.id, l.path, min(l.line) FROM links l JOIN notes n ON n.path = l.path WHERE l.found = ? AND l.path != ? "
                "GROUP BY l.path ORDER BY l.path",
                (one.path, one.path),
            )
        ],
        "problems": [{"name": p.name, "line": p.line, "text": p.text} for p in one.problems],
    }


def _links(index: Index, path: str) -> list[Data]:
    rows = index.state.rows(
        "SELECT l.kind, l.target, l.fragment, l.text, l.line, l.found, n.id FROM links l LEFT JOIN notes n ON n.path = l.found "
        "WHERE l.path = ? ORDER BY l.ord",
        (path,),
    )
    names = ("kind", "target", "fragment", "text", "line", "path", "id")
    return [dict(zip(names, row, strict=True)) for row in rows]


def listed(index: Index, filters: Filters, sort: str, limit: int | None, now: datetime) -> list[Data]:
    """Notes that pass the filters: newest first by `updated` and `created`, else in order of `sort`."""
    if limit is not None and limit < 1:
        raise UsageError("A limit is at least 1.")
    if sort not in SORTS:
        raise UsageError(f"“{sort}” is no order; it is one of {', '.join(SORTS)}.")
    found = sorted(Selection(index, filters, now).admit().values(), key=lambda row: row.path)
    by_date = {"updated": lambda row: row.changed, "created": lambda row: row.created or row.changed}
    if sort in by_date:
        found.sort(key=by_date[sort], reverse=True)
    else:
        found.sort(key=lambda row: str(getattr(row, sort)).casefold())
    return [
        {
            "id": row.id,
            "path": row.path,
            "kind": row.kind,
            "type": row.type or None,
            "title": row.title,
            "tags": list(row.tags),
            "namespace": row.namespace or None,
            "status": row.status or None,
            "trust": row.trust,
            "created": row.created or None,
            "updated": row.updated or None,
            "changed": row.changed,
        }
        for row in found[:limit]
    ]


def synced(found: Fresh, seconds: float, waiting: int = 0) -> Data:
    """What a sync did, and how many chunks still wait for a vector."""
    done = found.synced
    if done is None:
        return {"files": 0, "degraded": found.degraded}
    changes = done.changes
    return {
        "files": done.files,
        "added": len(changes.added),
        "updated": len(changes.replaced),
        "renamed": [{"from": old, "to": new} for old, new in changes.renamed],
        "removed": len(changes.dropped),
        "rebuilt": done.rebuilt,
        "chunks": found.index.text.size,
        "waiting": waiting,
        "generation": found.index.folder.name if found.index.folder else None,
        "took_ms": round(seconds * 1000, 1),
    }


def compared(ours: list[str], rebuilt: list[str]) -> Data:
    """Two dumps side by side."""
    only_here, only_there = sorted(set(ours) - set(rebuilt)), sorted(set(rebuilt) - set(ours))
    differences = [f"- {line}" for line in only_here] + [f"+ {line}" for line in only_there]
    return {
        "digest": dump.digest(ours),
        "rebuilt": dump.digest(rebuilt),
        "equal": ours == rebuilt,
        "differences": differences[:DIFFERENCES],
    }


def status(store: Store, found: Fresh, generations: Generations, faults: Sequence[Finding], config: Config) -> Data:
    """Counts and conditions of the store."""
    state = found.index.state
    kinds = dict(state.rows("SELECT kind, count(*) FROM notes GROUP BY kind"))
    links, resolved = state.rows("SELECT count(*), count(found) FROM links WHERE kind IN ('wiki', 'embed', 'markdown')")[0]
    generation = generations.current()
    by_severity = {level: sum(fault.severity == level for fault in faults) for level in ("error", "warning", "info")}
    return {
        "store": str(store.root),
        "notes": kinds.get("note", 0),
        "memories": kinds.get("memory", 0),
        "docs": kinds.get("doc", 0),
        "cites": sum(isinstance(cite, Cite) for cite in citing.all_cites(store)),
        "chunks": found.index.text.size,
        "links": links,
        "links_resolved": resolved,
        "languages": dict(state.rows("SELECT language, count(*) FROM notes GROUP BY language ORDER BY 2 DESC, 1")),
        "vectors": {
            "embedding": config["embedding"],
            "model": found.index.fingerprint or None,
            "chunks": state.rows("SELECT count(*) FROM chunks WHERE embedded = 1")[0][0],
            "waiting": state.rows("SELECT count(*) FROM chunks WHERE embedded = 0")[0][0] if config["embedding"] != "none" else 0,
        },
        "ignored": found.synced.walk.ignored if found.synced else None,
        "index": {
            "folder": str(generations.folder),
            "generation": generation.name if generation else None,
            "made_at": generations.manifest(generation).get("made_at") if generation else None,
        },
        "degraded": found.degraded,
        "findings": by_severity,
        "actor": config.actor(),
        "views": config["views"],
    }


def verdict(store: Store, index: Index, name: str, writer: Writer | None, fix: bool) -> Data:
    """How one cite stands; a cite that is unknown or broken has the verdict `unknown`."""
    try:
        cite = citing.load(store, name)
    except OklError as error:
        return {"id": name, "verdict": "unknown", "reason": str(error).rstrip(".")}
    verified = citing.verify(store, index, cite)
    if writer is not None:
        citing.record_verdict(store, verified, writer.ts, writer.actor, fix)
    now, found = verified.now, verified.found
    return {
        "id": cite.id,
        "uri": cite.uri,
        "verdict": found.verdict,
        "similarity": round(found.similarity, 4),
        "path": verified.path,
        "target": now.target if now else None,
        "was": {"path": cite.data["path"], "loc": cite.data["loc"]},
        "loc": now.fields()["loc"] if now else None,
        "quote": now.quote if now else None,
        "diff": [list(part) for part in verified.diff],
        "candidates": [list(span) for span in found.candidates],
        "elsewhere": citing.elsewhere(store, index, cite) if found.verdict == "lost" else [],
        "reason": verified.note or None,
        "tags": cite.data.get("tags", []),
    }


def opened(store: Store, index: Index, cite: Cite) -> Data:
    """The passage a cite points to as it stands now, in its lines."""
    verified = citing.verify(store, index, cite)
    now = verified.now
    lines = citing.excerpt(parse(now.path, store.read(now.path)), (now.start, now.end)) if now else []
    return {
        "id": cite.id,
        "uri": cite.uri,
        "verdict": verified.found.verdict,
        "path": verified.path,
        "title": cite.data.get("title"),
        "loc": now.fields()["loc"] if now else None,
        "quote": cite.data["quote"],
        "source": cite.data.get("source"),
        "reason": verified.note or None,
        "lines": [{"line": number, "text": text, "mark": [start, end]} for number, text, start, end in lines],
    }


def cites(store: Store, index: Index, status: str, path: str, tags: Sequence[str]) -> list[Data]:
    """Saved cites, newest last; verified only if a status is asked for."""
    if status and status not in citing.EXIT:
        raise UsageError(f"“{status}” is no verdict; it is one of {', '.join(v for v in citing.EXIT if v != 'unknown')}.")
    rows = []
    for cite in citing.all_cites(store):
        if isinstance(cite, OklError) or not set(tags) <= set(cite.data.get("tags", [])):
            continue
        verified = citing.verify(store, index, cite) if status or path else None
        if verified and ((status and verified.found.verdict != status) or (path and verified.path != path)):
            continue
        rows.append({**cite.data, "uri": cite.uri, **({"status": verified.found.verdict} if verified else {})})
    return sorted(rows, key=lambda row: (str(row.get("created_at")), row["id"]))


def to_line(value: Any) -> str:
    """Data as one line of JSON."""
    return json.dumps(value, ensure_ascii=False)


def to_json(value: Any) -> str:
    """Data as every surface prints it."""
    return json.dumps(value, ensure_ascii=False, indent=2)
