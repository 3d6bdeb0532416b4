"""The cite object: what it holds, how it is written, and how a passage of a note becomes one. No disk."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, unquote

from okl.cite.anchor import CONTEXT, Anchor
from okl.errors import NotFound, UsageError
from okl.ids import cite_id
from okl.note import Note

SCHEMA = "okl.cite/1"
RETENTIONS = ("temp", "standard", "durable", "pinned")
_CITE_ID = re.compile(r"c-[0-9a-hjkmnp-tv-z]{12}\Z")
_HANDLE = re.compile(r"(.+)#char=?(\d+)-(\d+)\Z")


@dataclass(frozen=True)
class Passage:
    """A span of a note or doc, as a search hit and a cite both show it. Offsets are code points of the body."""

    type: str
    document: str
    path: str
    title: str
    sha256: str
    blob: str
    start: int
    end: int
    lines: tuple[int, int]
    heading: str
    page: int | None
    quote: str
    pre: str
    post: str
    source: Mapping[str, Any]
    trust: str

    @property
    def target(self) -> str:
        """The handle: `<id>#char<start>-<end>`, safe in shells and URIs."""
        return f"{quoted(self.document)}#char{self.start}-{self.end}"

    @property
    def uri(self) -> str:
        """The passage as an `ok://` address."""
        space = "doc" if self.type == "doc" else "note"
        return f"ok://{space}/{quoted(self.document)}#char={self.start}-{self.end}"

    def fields(self) -> dict[str, Any]:
        """The fields that hits and cites share, in their order."""
        return {
            "path": self.path,
            "title": self.title,
            "sha256": self.sha256,
            "commit": None,
            "blob": self.blob,
            "loc": {
                "kind": "char",
                "start": self.start,
                "end": self.end,
                "lines": list(self.lines),
                "heading": self.heading or None,
                "page": self.page,
            },
            "quote": self.quote,
            "context": {"pre": self.pre, "post": self.post},
            "source": dict(self.source),
            "trust": self.trust,
        }


@dataclass(frozen=True)
class Cite:
    """A saved cite: the object in `citations/<id>.json`."""

    id: str
    data: Mapping[str, Any]

    @property
    def anchor(self) -> Anchor:
        """What to look for."""
        context = self.data["context"]
        return Anchor(self.data["quote"], context["pre"], context["post"], self.data["loc"]["start"])

    @property
    def uri(self) -> str:
        """The cite's own address."""
        return f"ok://cite/{self.id}"

    def dumps(self) -> str:
        """The text of its file."""
        return json.dumps(self.data, ensure_ascii=False, indent=2) + "\n"


def passage(note: Note, document: str, start: int, end: int, data: bytes, title: str | None = None, heading: str | None = None) -> Passage:
    """The span `[start, end)` of the body of `note`, whose file holds `data`, known as `document`.

    Title and heading are looked for in the text where the caller does not know them.
    """
    body = note.body
    line = body.count("\n", 0, start)
    first = note.first_line + line
    last = first + body.count("\n", start, max(start, end - 1))
    if heading is None:
        heading = next((h.text for h in reversed(note.markup.headings) if h.line <= line), "")
    return Passage(
        type=note.kind,
        document=document,
        path=note.path,
        title=note.title if title is None else title,
        sha256=note.body_sha256,
        blob=hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest(),
        start=start,
        end=end,
        lines=(first, last),
        heading=heading,
        page=page_at(note.values.get("pages"), start),
        quote=body[start:end],
        pre=body[max(0, start - CONTEXT) : start],
        post=body[end : end + CONTEXT],
        source=_source(note, document, start),
        trust=note.trust,
    )


def _source(note: Note, document: str, start: int) -> dict[str, Any]:
    found = note.values.get("source")
    if note.kind != "doc" or not isinstance(found, dict):
        return {"url": f"ok://note/{quoted(document)}"}
    return {
        "url": found.get("url"),
        "page": page_at(note.values.get("pages"), start),
        "title": note.title,
        "authors": note.values.get("authors") or [],
        "date": note.values.get("date"),
        "sha256": found.get("sha256"),
    }


def page_at(pages: Any, start: int) -> int | None:
    """The page on which the offset lies, by a page map `[[page, start], …]`."""
    if not isinstance(pages, list):
        return None
    known = [row for row in pages if isinstance(row, list) and len(row) == 2 and all(isinstance(v, int) for v in row)]
    return next((int(page) for page, at in reversed(known) if at <= start), None)


def make(found: Passage, tags: Sequence[str], retention: str, now: str, by: str) -> Cite:
    """A new cite of the passage."""
    if retention not in RETENTIONS:
        raise UsageError(f"“{retention}” is no retention; it is one of {', '.join(RETENTIONS)}.")
    if not found.quote.strip():
        raise UsageError("There are no words to cite there.")
    id_ = cite_id(found.target, found.sha256, found.start, found.end)
    fields = found.fields()
    trust = fields.pop("trust")
    data = {
        "schema": SCHEMA,
        "type": found.type,
        "id": id_,
        "target": found.target,
        **fields,
        "tags": list(dict.fromkeys(tags)),
        "trust": trust,
        "retention": retention,
        "created_at": now,
        "created_by": by,
        "verified": [],
    }
    return Cite(id_, data)


def united(old: Cite, new: Cite, retention: str | None) -> Cite:
    """The same span cited again: its first date and maker stay, tags unite; a retention that is asked for counts."""
    tags = list(dict.fromkeys([*old.data.get("tags", []), *new.data["tags"]]))
    kept = {key: old.data[key] for key in ("created_at", "created_by", "verified", "retention") if key in old.data}
    return replace(new, data={**new.data, **kept, "tags": tags, **({"retention": retention} if retention else {})})


def loads(text: str, name: str) -> Cite:
    """Read a cite file; NotFound that names it if it is none."""
    try:
        data = json.loads(text)
        Cite(data["id"], data).anchor  # noqa: B018 - the fields that everything else needs
        if not (is_cite_id(data["id"]) and isinstance(data["quote"], str) and isinstance(data["loc"]["start"], int)):
            raise ValueError("fields of the wrong type")
        if not all(isinstance(data[key], str) for key in ("path", "target", "sha256")):
            raise ValueError("fields of the wrong type")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise NotFound(f"{name} is no cite: {error!r}.") from error
    return Cite(data["id"], data)


def is_cite_id(text: str) -> bool:
    """Whether `text` has the form of a cite's id."""
    return bool(_CITE_ID.match(text))


def cite_id_in(text: str) -> str | None:
    """The id in `c-…`, `ok://cite/c-…` or `[^c-…]`; None if it is none of these."""
    plain = text.strip().removeprefix("ok://cite/").removeprefix("[^").removesuffix("]")
    return plain if is_cite_id(plain) else None


def quoted(document: str) -> str:
    """An id with all characters but letters, digits and `._/~-` percent-encoded."""
    found = quote(document, safe="/~", errors="surrogateescape")
    return "%2D" + found[1:] if found.startswith("-") else found  # no shell command takes it for an option then


def parse_handle(text: str) -> tuple[str, int, int] | None:
    """(document, start, end) of a handle or an `ok://note/…#char=` address; None if it is none."""
    for prefix in ("ok://note/", "ok://doc/"):
        text = text.removeprefix(prefix)
    match = _HANDLE.match(text)
    return (unquote(match[1]), int(match[2]), int(match[3])) if match else None
