"""Writing notes: new ones, new text for old ones, one property at a time. Everything goes through `store.write`."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from okl import note as notes
from okl import properties, property_lines
from okl.errors import Conflict, NotFound, OklError, UsageError
from okl.ids import memory_id
from okl.index.generation import Index
from okl.markup import is_tag
from okl.note import Note, parse
from okl.properties import PropertiesBroken
from okl.store import Store
from okl.walk import is_note_path

_LISTS = ("tags", "topics", "keys", "names", "proper_nouns", "related")
_BAD_ID = re.compile(r"[:\s#\x00-\x1f|^\[\]\\<>\"?*]")


@dataclass(frozen=True)
class Draft:
    """A note to be: its text and what is said about it."""

    text: str
    id: str | None = None
    title: str | None = None
    tags: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    proper_nouns: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    namespace: str = ""
    ts: str | None = None
    expires: str | None = None
    props: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Writer:
    """Who writes, when, with which settings, and where randomness comes from."""

    actor: str
    now: datetime
    random_bits: Callable[[int], int]
    default_tags: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    recent: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    """(namespace, body's sha256) -> (path, id) of memories that this writer added and the index does not know yet"""

    @property
    def ts(self) -> str:
        """Now, as it is written into notes."""
        return self.now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class Written:
    """A note after a write: where it is, the sha256 of its file, and what was done: created, updated or unchanged."""

    id: str
    path: str
    sha256: str
    done: str

    def fields(self) -> dict[str, Any]:
        """As surfaces give it."""
        return {"id": self.id, "path": self.path, "sha256": self.sha256, "done": self.done}


def add_memory(store: Store, index: Index, draft: Draft, writer: Writer) -> Written:
    """A new memory. The same words in the same namespace are the same memory: it only takes on new tags."""
    body = _body(draft.text)
    same = (draft.namespace, notes.sha256(body))
    twin = writer.recent.get(same) or _memory_with(store, index, *same)
    if twin is not None and draft.id in (None, twin[1]):
        return _enrich(store, *twin, draft)
    id_ = draft.id or memory_id(writer.now, writer.random_bits(30))
    if _existing(store, index, id_) is not None:
        raise Conflict(f"There is a note {id_} already; “ok mem update” changes it.")
    path = f"memories/by_date/{writer.now.astimezone(UTC):%Y-%m/%d}/{checked_id(id_)}.md"
    sha = store.write(path, notes.compose(_values(draft, writer, "memory", id_), body).encode())
    writer.recent[same] = (path, id_)
    return Written(id_, path, sha, "created")


def _memory_with(store: Store, index: Index, namespace: str, body_sha256: str) -> tuple[str, str] | None:
    """(path, id) of the memory in this namespace with this body."""
    rows = index.state.rows(
        "SELECT path, id FROM notes WHERE kind = 'memory' AND namespace = ? AND body_sha256 = ? ORDER BY path", (namespace, body_sha256)
    )
    return next(((path, id_) for path, id_ in rows if store.exists(path)), None)


def put_note(store: Store, index: Index, draft: Draft, writer: Writer, if_match: str | None = None) -> Written:
    """The note of this id with this text: a new one at `<id>.md`, or new text for the one there is."""
    if draft.id is None:
        return add_memory(store, index, draft, writer)
    path = _existing(store, index, draft.id)
    if path is not None:
        return replace_body(store, index, path, draft, if_match)
    if if_match is not None:
        raise NotFound(f"There is no note {draft.id} to match.")
    path = checked_id(draft.id) + ".md"
    if not is_note_path(path):
        raise UsageError(f"{path.partition('/')[0]}/ is okl's own folder; notes lie elsewhere.")
    sha = store.write(path, notes.compose(_values(draft, writer, "note", None), _body(draft.text)).encode())
    return Written(notes.stem(path), path, sha, "created")


def replace_body(store: Store, index: Index, path: str, draft: Draft, if_match: str | None = None) -> Written:
    """New text under the frontmatter there is; the draft's properties are set one by one."""
    data, found = _read(store, path, if_match)
    text = notes.with_body(found, _body(draft.text)) if draft.text else notes.dumps(found)
    changed = notes.loads(path, text)
    for name, value in _given(draft).items():
        changed = _with_property(changed, name, value)
    return _save(store, path, data, notes.dumps(changed), _id_of(index, path))


def save_text(store: Store, index: Index, path: str, text: str, if_match: str) -> Written:
    """The whole file replaced by what an editor made of it."""
    before = store.read(path)
    found = parse(path, before)
    if bad := next((fault for fault in found.faults if fault.name in ("binary-file", "invalid-utf8")), None):
        raise Conflict(f"{path} line {bad.line}: {bad.text}. okl does not rewrite it.")
    if text == notes.dumps(found) and sha256_of(before) == if_match:
        return Written(_id_of(index, path), path, if_match, "unchanged")
    return _save(store, path, before, text, _id_of(index, path), if_match)


def tag(store: Store, index: Index, path: str, changes: Sequence[str], removals: Sequence[str], if_match: str | None) -> Written:
    """`k=v` sets a property, `k=` deletes it, a bare name joins `tags:`; a removal leaves `tags:` or deletes a property."""
    data, found = _read(store, path, if_match)
    if not changes and not removals:
        raise UsageError("Say what to change: a tag, k=v, or -tag.")
    for change in changes:
        name, is_pair, value = change.partition("=")
        if not name.strip() or name.startswith("_") or "\n" in change:
            raise UsageError(f"“{change}” is no tag and no k=v.")
        if is_pair:
            found = _with_property(found, name, properties.scalar(value) if value else None, delete=not value)
        else:
            found = _with_tag(found, name)
    for name in removals:
        found = _without(found, name)
    return _save(store, path, data, notes.dumps(found), _id_of(index, path))


def delete(store: Store, index: Index, path: str) -> dict[str, Any]:
    """Move the note's file to `.trash/`."""
    id_ = _id_of(index, path)
    return {"id": id_, "path": path, "trash": store.trash(path), "done": "deleted"}


_LINE_FIELDS = {
    "text": str, "id": str, "title": str, "tags": list, "topics": list, "keys": list, "names": list, "proper_nouns": list,
    "related": list, "namespace": str, "ts": str, "expires": str, "props": dict,
}  # fmt: skip


def batch(store: Store, index: Index, lines: Sequence[str], writer: Writer, namespace: str) -> list[dict[str, Any]]:
    """One answer for each line of JSON that is not blank, in order: the note written, or the error."""
    answers: list[dict[str, Any]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            answers.append(put_note(store, index, _draft(line, namespace), writer).fields())
        except OklError as error:
            answers.append({"line": number, "error": str(error)})
    return answers


def _draft(line: str, namespace: str) -> Draft:
    """A line of a batch as a draft; UsageError says what is wrong with it."""
    try:
        told = json.loads(line.removeprefix("\ufeff"))
        line.encode() + json.dumps(told, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise UsageError("It holds half of a character (a lone surrogate).") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"It is no JSON: {error}.") from error
    if not isinstance(told, dict) or not isinstance(told.get("text"), str) or not told["text"].strip():
        raise UsageError("It is no object with a text.")
    if "\x00" in told["text"]:
        raise UsageError("Its text holds a NUL character.")
    for name, value in told.items():
        wanted = _LINE_FIELDS.get(name)
        if wanted is None:
            raise UsageError(f"“{name}” is no field; the fields are {', '.join(_LINE_FIELDS)}.")
        if value is not None and not isinstance(value, wanted):
            raise UsageError(f"“{name}” is no {'list' if wanted is list else 'object' if wanted is dict else 'text'}.")
    values: dict[str, Any] = {name: tuple(map(str, value)) if name in _LISTS else value for name, value in told.items() if value}
    return Draft(**{"namespace": namespace, **values})


def checked_id(id_: str) -> str:
    """`id_`, if a new note may have it: a path without colons, blanks, `#` and what links cannot hold."""
    bad = _BAD_ID.search(id_)
    if bad or not id_ or any(part in ("", ".", "..") or part.startswith(".") for part in id_.split("/")):
        why = f"“{bad[0]}” may not stand in it" if bad else "it is no path of names"
        raise UsageError(f"“{id_}” cannot be a new note's id: {why}.")
    return id_.removesuffix(".md")


def until(ttl: str, now: datetime) -> str:
    """The end of a time to live, as `30d`, `12h`, `P7D` or seconds."""
    match = re.fullmatch(r"(?i)p?t?(\d+)([smhdw]?)", ttl.strip())
    if not match:
        raise UsageError(f"“{ttl}” is no time to live; write it as 30d, 12h or seconds.")
    try:
        seconds = int(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}[match[2].lower()]
        return (now.astimezone(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError):
        raise UsageError(f"“{ttl}” is longer than there will be dates.") from None


def _existing(store: Store, index: Index, name: str) -> str | None:
    """The path of the note with exactly this id or path; a title or alias is no id."""
    found = index.state.rows("SELECT path FROM notes WHERE id = ? OR path = ? OR path = ?", (name, name, name + ".md"))
    paths = sorted({row[0] for row in found if store.exists(row[0])}, key=lambda p: (len(p), p))
    if not paths and not _BAD_ID.search(name) and store.exists(checked_id(name) + ".md"):
        paths = [checked_id(name) + ".md"]
    if paths and notes.kind_of(paths[0]) == "doc":
        raise UsageError(f"{name} is the text of a source; it changes only by ingesting the source again.")
    return paths[0] if paths else None


def _id_of(index: Index, path: str) -> str:
    found = index.state.rows("SELECT id FROM notes WHERE path = ?", (path,))
    return str(found[0][0]) if found else notes.stem(path)


def _read(store: Store, path: str, if_match: str | None) -> tuple[bytes, Note]:
    data = store.read(path)
    if if_match is not None and sha256_of(data) != if_match:
        raise Conflict(f"{path} is not the version you read. Read it again, then write.")
    if notes.kind_of(path) == "doc":
        raise UsageError(f"{path} is the text of a source; it changes only by ingesting the source again.")
    return data, notes.writable(parse(path, data))


def sha256_of(data: bytes) -> str:
    """sha256 of a file's bytes, as `if_match` wants it."""
    return hashlib.sha256(data).hexdigest()


def _save(store: Store, path: str, before: bytes, text: str, id_: str, if_match: str | None = None) -> Written:
    data = text.encode("utf-8", errors="surrogatepass")
    expected = if_match or sha256_of(before)
    if data == before and expected == sha256_of(before):
        return Written(id_, path, sha256_of(data), "unchanged")
    return Written(id_, path, store.write(path, data, if_match=expected), "updated")


def _body(text: str) -> str:
    return text if text.endswith("\n") or not text else text + "\n"


def _values(draft: Draft, writer: Writer, type_: str, id_: str | None) -> dict[str, Any]:
    """The frontmatter of a new note."""
    by_agent = writer.actor.removeprefix("agent:") if writer.actor.startswith("agent:") else ""
    tags = (*draft.tags, *(writer.default_tags if type_ == "memory" else ()))
    ts = draft.ts if draft.ts is not None else writer.ts
    if not notes.utc(ts):
        raise UsageError(f"ts: “{ts}” is no date.")
    given: dict[str, Any] = {"id": id_, "type": type_, "title": draft.title, "ts" if type_ == "memory" else "created": ts}
    given |= {name: list(dict.fromkeys(tags if name == "tags" else getattr(draft, name))) for name in _LISTS}
    given |= {"namespace": draft.namespace, "expires": draft.expires, "source_agent": by_agent, **_props(draft.props)}
    values = {name: value for name, value in given.items() if value not in (None, "", [])}
    if properties.read(properties.dump(values))[1]:
        raise UsageError("These properties cannot be written as YAML that reads back.")
    missing = [name for name in (writer.required if type_ == "memory" else ()) if name not in values]
    if missing:
        raise UsageError(f"A memory needs {', '.join(missing)} (tags.required).")
    return values


def _given(draft: Draft) -> dict[str, Any]:
    """The properties that a draft for an existing note sets."""
    lists = {name: list(getattr(draft, name)) for name in _LISTS if getattr(draft, name)}
    rest = {"title": draft.title, "namespace": draft.namespace, "ts": draft.ts, "expires": draft.expires}
    return {**{k: v for k, v in rest.items() if v}, **lists, **_props(draft.props)}


def _props(props: Mapping[str, Any]) -> dict[str, Any]:
    for name in props:
        if not name or name.startswith("_") or "\n" in name:
            raise UsageError(f"“{name}” cannot be a property's name.")
    return dict(props)


def _enrich(store: Store, path: str, id_: str, draft: Draft) -> Written:
    data = store.read(path)
    found = notes.writable(parse(path, data))
    for name in _LISTS:
        for item in getattr(draft, name):
            found = _with_item(found, name, item)
    return _save(store, path, data, notes.dumps(found), id_)


def _with_property(found: Note, name: str, value: Any, delete: bool = False) -> Note:
    if delete:
        return _edited(found, lambda head: property_lines.remove(head, name))
    return _edited(found, lambda head: property_lines.set_value(head, name, value, found.newline))


def _with_tag(found: Note, name: str) -> Note:
    plain = name.lstrip("#")
    if not is_tag(plain) or re.search(r"\s", plain):
        raise UsageError(f"“{name}” is no tag: it needs a letter and no blanks.")
    key = found.tags_key
    if isinstance(found.values.get(key), str):
        listed = _words(found.values[key])
        return found if plain in listed else _with_property(found, key, [*listed, plain])
    return _with_item(found, key, plain)


def _words(value: str) -> list[str]:
    """The tags in a text, as `a, b` or `#a #b`."""
    return [word.lstrip("#") for word in re.split(r"[,\s]+", value) if word.lstrip("#")]


def _with_item(found: Note, name: str, item: str) -> Note:
    return _edited(found, lambda head: property_lines.add_item(head, name, item, found.newline))


def _without(found: Note, name: str) -> Note:
    plain, key = name.lstrip("#"), found.tags_key
    value = found.values.get(key)
    if isinstance(value, str) and plain in _words(value):
        return _with_property(found, key, [word for word in _words(value) if word != plain])
    written = next((item for item in notes.texts(value) if item.lstrip("#") == plain), None)
    if written is not None:
        return _edited(found, lambda head: property_lines.remove_item(head, key, written, found.newline))
    if name in found.values:
        return _edited(found, lambda head: property_lines.remove(head, name))
    if plain in found.tags:
        raise Conflict(f"#{plain} stands in the text of {found.path}; take it out in an editor.")
    return found


def _edited(found: Note, change: Callable[[str], str]) -> Note:
    try:
        head = change(found.head or "")
    except PropertiesBroken as error:
        raise Conflict(f"{found.path}: {error.problem.text}. Mend it in an editor first.") from error
    if head == (found.head or ""):
        return found
    return notes.loads(found.path, notes.with_head(found, head))
