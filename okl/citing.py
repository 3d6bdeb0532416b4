"""Saved cites: made, found, verified against the files as they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any

from okl.cite import record
from okl.cite.anchor import Found, find
from okl.cite.record import Cite, Passage
from okl.errors import NotFound, OklError
from okl.ids import cite_id
from okl.index.generation import Index
from okl.index.text import TextQuery
from okl.note import Note, parse
from okl.store import Store

FOLDER = "citations"
EXIT = {"exact": 0, "moved": 0, "changed": 3, "ambiguous": 3, "lost": 4, "unknown": 1}


@dataclass(frozen=True)
class Verified:
    """How a cite stands: its verdict, where it stands now, and what changed as [kind, words] pairs."""

    cite: Cite
    found: Found
    path: str | None
    now: Passage | None
    diff: tuple[tuple[str, str], ...]
    note: str = ""


def path_of(id_: str) -> str:
    """Where the cite is saved."""
    return f"{FOLDER}/{id_}.json"


def load(store: Store, name: str) -> Cite:
    """The cite of this id or address; NotFound if there is none."""
    id_ = record.cite_id_in(name)
    if id_ is None:
        raise NotFound(f"“{name}” is no cite's id (c-…) or address (ok://cite/c-…).")
    try:
        text = store.read(path_of(id_)).decode("utf-8", errors="replace")
    except NotFound:
        raise NotFound(f"There is no cite {id_} in this store.") from None
    return record.loads(text, path_of(id_))


def save(store: Store, new: Cite, retention: str | None) -> tuple[Cite, bool]:
    """Write the cite; one that is there already keeps its date and takes on the new tags. Says whether it is new."""
    try:
        data = store.read(path_of(new.id))
    except NotFound:
        store.write(path_of(new.id), new.dumps().encode(), force=True)
        return new, True
    merged = record.united(record.loads(data.decode("utf-8", errors="replace"), path_of(new.id)), new, retention)
    if merged.dumps().encode() != data:
        store.write(path_of(new.id), merged.dumps().encode(), force=True)
    return merged, False


def saved_id(store: Store, found: Passage) -> str | None:
    """The id of the saved cite of exactly this span, if there is one."""
    id_ = cite_id(found.target, found.sha256, found.start, found.end)
    return id_ if store.exists(path_of(id_)) else None


def all_cites(store: Store) -> Iterator[Cite | OklError]:
    """Every saved cite by id; for a file that is none, the error that says so."""
    folder = store.root / FOLDER
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        try:
            yield record.loads(store.read(f"{FOLDER}/{path.name}").decode("utf-8", errors="replace"), f"{FOLDER}/{path.name}")
        except OklError as error:
            yield error


def names(store: Store) -> list[str]:
    """The names of all files in `citations/`, whether they can be read or not."""
    folder = store.root / FOLDER
    return sorted(path.stem for path in folder.glob("*.json")) if folder.is_dir() else []


def elsewhere(store: Store, index: Index, cite: Cite) -> list[str]:
    """Paths of other documents in which the quote stands word for word."""
    quote = cite.anchor.quote
    phrase = " ".join(quote.split()[:12])
    languages = tuple(index.state.languages())
    found = index.text.search(TextQuery((), (phrase,), "", languages), 50) if phrase else []
    paths = sorted({row.path for row in index.state.chunks(number for _, number in found).values()} - {cite.data["path"]})
    return [path for path in paths if store.exists(path) and find(cite.anchor, parse(path, store.read(path)).body).similarity == 1.0]


def verify(store: Store, index: Index, cite: Cite) -> Verified:
    """Say how the cite stands: the ladder of verdicts, in its document wherever that lies now."""
    path, how = _locate(store, index, cite)
    if path is None:
        return Verified(cite, Found("lost", None, 0.0), None, None, (), "the document is gone from the store")
    data = store.read(path)
    note = parse(path, data)
    found = find(cite.anchor, note.body)
    if not found.span:
        return Verified(cite, found, path, None, (), how)
    row = index.state.rows("SELECT id FROM notes WHERE path = ?", (path,))
    now = record.passage(note, str(row[0][0]) if row else path, *found.span, data)
    diff = word_diff(cite.anchor.quote, now.quote) if found.verdict == "changed" else ()
    return Verified(cite, found, path, now, diff, _page_note(cite, now) or how)


def _page_note(cite: Cite, now: Passage) -> str:
    before = cite.data["loc"].get("page")
    return f"on another page: {now.page}, not {before}" if before and now.page and before != now.page else ""


def _locate(store: Store, index: Index, cite: Cite) -> tuple[str | None, str]:
    """The document's path now, and how it was found: by its id, by its path, by the hash of its text."""
    data = cite.data
    handle = record.parse_handle(data["target"])
    state = index.state
    if handle and (found := state.rows("SELECT path FROM notes WHERE id = ? ORDER BY length(path), path", (handle[0],))):
        path = next((row[0] for row in found if row[0] == data["path"]), found[0][0])
        if store.exists(path):
            return path, "" if path == data["path"] else f"the document moved to {path}"
    if store.exists(data["path"]) and not (store.root / data["path"]).is_symlink():
        return data["path"], ""
    twins = state.rows("SELECT path FROM notes WHERE body_sha256 = ? ORDER BY length(path), path", (data["sha256"],))
    path = next((row[0] for row in twins if store.exists(row[0])), None)
    return path, f"the document moved to {path}" if path else ""


def word_diff(old: str, new: str) -> tuple[tuple[str, str], ...]:
    """What changed between two texts, word by word, as (`=`, `-` or `+`, words)."""
    a, b = old.split(), new.split()
    parts: list[tuple[str, str]] = []
    for kind, a1, a2, b1, b2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind == "equal":
            parts.append(("=", " ".join(a[a1:a2])))
        else:
            parts += [("-", " ".join(a[a1:a2]))] if a2 > a1 else []
            parts += [("+", " ".join(b[b1:b2]))] if b2 > b1 else []
    return tuple(parts)


def record_verdict(store: Store, verified: Verified, at: str, by: str, fix: bool) -> Cite:
    """Write the verdict into the cite's file; with `fix`, let it point where its words stand now."""
    cite, now = verified.cite, verified.now
    entry: dict[str, Any] = {"at": at, "by": by, "verdict": verified.found.verdict, "commit": None}
    data = dict(cite.data)
    if fix and now is not None and verified.found.verdict in ("moved", "changed"):
        entry["was"] = {key: data[key] for key in ("target", "path", "sha256", "loc", "quote", "context")}
        fields = now.fields()
        fields.pop("trust")
        data |= {"target": now.target, **fields}
    data["verified"] = [*data.get("verified", []), entry]
    fixed = replace(cite, data=data)
    before = store.read(path_of(cite.id))
    if before != fixed.dumps().encode():
        store.write(path_of(cite.id), fixed.dumps().encode(), force=True)
    return fixed


def excerpt(note: Note, span: tuple[int, int], around: int = 3) -> list[tuple[int, str, int, int]]:
    """(line number, line, mark start, mark end) of the lines with the span and some around it."""
    lines = note.markup.lines
    first, last = note.markup.line_of(span[0]), note.markup.line_of(max(span[0], span[1] - 1))
    shown = []
    for number in range(max(0, first - around), min(len(lines), last + around + 1)):
        start = lines[number]
        end = lines[number + 1] - 1 if number + 1 < len(lines) else len(note.body)
        low, high = max(span[0], start), min(span[1], end)
        mark = (low - start, high - start) if low < high else (0, 0)
        shown.append((note.first_line + number, note.body[start:end].rstrip("\r"), *mark))
    return shown
