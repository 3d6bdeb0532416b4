"""A note: text <-> values, without losing a byte. Pure functions; the disk is `store.py`'s business."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property

from okl import properties
from okl.errors import Conflict
from okl.markup import Markup, is_tag, name_key, scan, wikilink
from okl.properties import Problem, Value

BOM = "\ufeff"
_OPEN = re.compile(r"---[ \t]*\r?\n")
_CLOSE = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.M)
_CONFLICT = re.compile(r"^(?:<{7}|>{7}|\|{7})(?: |$)", re.M)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_WIKI_VALUE = re.compile(r"!?\[\[([^\[\]\n]{1,1000})\]\]")

RESERVED = ("store", "annotations", "citations", "journal", "graph", "system")
DATES = ("ts", "created", "updated", "date", "expires", "stale_after")
_NO_TAGS = frozenset(
    "id type title aliases alias tags tag topics keys names proper_nouns ts created updated date summary supersedes "
    "related expires stale_after sources generated verified source pages parser sha256 cssclasses".split()
)


@dataclass(frozen=True)
class Note:
    """A file taken apart: `bom + opening + head + closing + body` is its text again.

    `head` is the YAML between the fences, None where there are none. `body` begins right after the
    newline that ends the closing fence; offsets everywhere count its code points.
    """

    path: str
    bom: str
    opening: str
    head: str | None
    closing: str
    body: str
    values: dict[str, Value]
    faults: tuple[Problem, ...] = ()

    @cached_property
    def markup(self) -> Markup:
        """What stands in the body."""
        return scan(self.body)

    @cached_property
    def first_line(self) -> int:
        """The 1-based line of the file on which the body begins."""
        return 1 + (self.opening + (self.head or "") + self.closing).count("\n")

    @property
    def newline(self) -> str:
        """The line ending the file uses."""
        return "\r\n" if "\r\n" in self.opening + self.body[:10_000] else "\n"

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return stem(self.path).rpartition("/")[2]

    @property
    def kind(self) -> str:
        """`doc` for the text of a source, `memory` for a note under `memories/`, else `note`."""
        return kind_of(self.path)

    @property
    def claim(self) -> str | None:
        """The id the frontmatter claims, if any."""
        value = self.values.get("id")
        return str(value).strip() or None if isinstance(value, str | int) and not isinstance(value, bool) else None

    @cached_property
    def title(self) -> str:
        """`title`, else the first heading if it opens the note, else the file's name."""
        value = self.values.get("title")
        if isinstance(value, str | int | float) and not isinstance(value, bool) and str(value).strip():
            return " ".join(str(value).split())
        blocks, headings = self.markup.blocks, self.markup.headings
        if headings and headings[0].level == 1 and blocks[0].start == headings[0].line and headings[0].text:
            return headings[0].text
        return self.name

    @property
    def aliases(self) -> list[str]:
        """Other names of the note."""
        return texts(self.values.get("aliases"))

    @cached_property
    def tags(self) -> list[str]:
        """Tags of the frontmatter and of the body, each once, without `#`."""
        value = self.values.get(self.tags_key)
        words = texts(value) if isinstance(value, list) else re.split(r"[,\s]+", value if isinstance(value, str) else "")
        found = [word.strip().lstrip("#").strip("/") for word in words] + self.markup.tags
        first: dict[str, str] = {}
        for tag in found:
            if is_tag(tag):
                first.setdefault(name_key(tag), tag)
        return list(first.values())

    @property
    def tags_key(self) -> str:
        """The property that holds the tags: `tags`, or `tag`, however it is written."""
        by_name = {key.casefold(): key for key in reversed(self.values)}
        return by_name.get("tags") or by_name.get("tag") or "tags"

    @property
    def topics(self) -> list[str]:
        """The topics the note is filed under."""
        return texts(self.values.get("topics"))

    @property
    def namespace(self) -> str:
        """The namespace; empty for the common one."""
        return str(self.values.get("namespace") or "")

    @property
    def status(self) -> str:
        """`draft`, `stable`, `deprecated` or what else the note says; empty when silent."""
        return str(self.values.get("status") or "")

    @property
    def trust(self) -> str:
        """Who stands behind the words: `human`, `agent` or `external` (text from outside)."""
        if self.kind == "doc":
            return "external"
        told = str(self.values.get("trust") or "")
        if told in ("human", "agent", "external"):
            return told
        if any(str(mark.get("by", "")).startswith("human:") for mark in _mappings(self.values.get("verified"))):
            return "human"
        made = next(iter(_mappings(self.values.get("generated"))), {})
        by_model = made and not str(made.get("by", "")).startswith("human:")
        return "agent" if by_model or self.values.get("source_agent") else "human"

    @property
    def created(self) -> str:
        """When the note came to be, as the frontmatter says; empty when silent."""
        return self._date("created", "ts", "date")

    @property
    def updated(self) -> str:
        """When it was last changed, as the frontmatter says; empty when silent."""
        return self._date("updated", "ts", "date", "created")

    @property
    def expires(self) -> str:
        """After when it no longer counts; empty for never."""
        return self._date("expires")

    def _date(self, *keys: str) -> str:
        return next((text for key in keys if (text := utc(self.values.get(key)))), "")

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """All `key=value` tags: unknown properties and Dataview fields, values as text."""
        rows = [
            (key, item)
            for key, value in self.values.items()
            if key.casefold() not in _NO_TAGS and not key.startswith("_")
            for item in texts(value)
        ]
        return list(dict.fromkeys(rows + self.markup.fields))

    @cached_property
    def property_links(self) -> list[tuple[str, str, str]]:
        """(property, target, fragment) for each `[[link]]` in the frontmatter and each name in `supersedes` and `related`."""
        rows = []
        for key, value in self.values.items():
            for item in _strings(value):
                inner = [m[1] for m in _WIKI_VALUE.finditer(item)]
                if not inner and key in ("supersedes", "related"):
                    inner = [item]
                rows += [(key, link.target, link.fragment) for text in inner if (link := wikilink(text, key, 0))]
        return list(dict.fromkeys(rows))

    @cached_property
    def body_sha256(self) -> str:
        """sha256 of the body in UTF-8."""
        return sha256(self.body)

    @property
    def problems(self) -> list[Problem]:
        """What is wrong with the file, lines counted from its first."""
        found = list(self.faults)
        if conflict := _CONFLICT.search(self.body):
            line = self.first_line + self.body.count("\n", 0, conflict.start())
            found.append(Problem("conflict-markers", line, "git's conflict markers stand in the text"))
        found += [
            Problem("bad-date", self._line_of(key), f"{key}: “{self.values[key]}” is no date")
            for key in DATES
            if self.values.get(key) is not None and not utc(self.values[key])
        ]
        found += [
            Problem("system-key", self._line_of(key), f"“{key}” begins with _, which is the system's; it is ignored")
            for key in self.values
            if key.startswith("_")
        ]
        if "id" in self.values and self.claim is None:
            found.append(Problem("bad-id", self._line_of("id"), "id: is no text; the note goes by its path"))
        elif self.claim and self.kind != "doc" and re.search(r"[\s:#]|\.\.|^[/-]", self.claim):
            found.append(Problem("odd-id", self._line_of("id"), f"the id “{self.claim}” needs quoting in shells and links"))
        return found

    def _line_of(self, key: str) -> int:
        """The line of the file on which a property stands."""
        match = re.search(rf"^[\"' ]*{re.escape(key)}[\"' ]*:", self.head or "", re.M)
        return 2 + (self.head or "").count("\n", 0, match.start()) if match else 1


def decode(data: bytes) -> tuple[str, list[Problem]]:
    """The text of a file, whatever its bytes, and what is wrong with them.

    Invalid UTF-8 is read with replacement characters; a binary file gives no text at all.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data.decode("utf-16", errors="replace")
        return text, [Problem("invalid-utf8", 1, "the file is UTF-16; save it as UTF-8")]
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        if len(_CONTROL.findall(data[:8192])) > len(data[:8192]) / 50:
            return "", [Problem("binary-file", 1, "the file is binary, no text; only its name is indexed")]
        line = data.count(b"\n", 0, error.start) + 1
        return data.decode("utf-8", errors="replace"), [
            Problem("invalid-utf8", line, f"byte 0x{data[error.start]:02x} is not UTF-8; the rest of the text is indexed")
        ]
    if "\x00" not in text:
        return text, []
    if len(_CONTROL.findall(data[:8192])) > len(data[:8192]) / 10:
        return "", [Problem("binary-file", 1, "the file is binary, no text; only its name is indexed")]
    return text, [Problem("nul-bytes", text.count("\n", 0, text.index("\x00")) + 1, "NUL bytes stand in the text")]


def loads(path: str, text: str, faults: Sequence[Problem] = ()) -> Note:
    """Read `text` as a note. `dumps(loads(path, text)) == text`, whatever the text."""
    bom, rest = (BOM, text[1:]) if text.startswith(BOM) else ("", text)
    opening = _OPEN.match(rest)
    closing = _CLOSE.search(rest, opening.end()) if opening else None
    if not opening or not closing:
        unclosed = [Problem("broken-yaml", 1, "the frontmatter's closing --- is missing")] if opening and _yamlish(rest) else []
        return Note(path, bom, "", None, "", rest, {}, (*faults, *unclosed))
    head = rest[opening.end() : closing.start()]
    values, problems = properties.read(head)
    moved = tuple(replace(problem, line=problem.line + 1) for problem in problems)
    return Note(path, bom, opening[0], head, closing[0], rest[closing.end() :], values, (*faults, *moved))


def dumps(note: Note) -> str:
    """The text of the file, as it was read."""
    return note.bom + note.opening + (note.head or "") + note.closing + note.body


def parse(path: str, data: bytes) -> Note:
    """Read the bytes of a file as a note; faults are kept in it, never raised."""
    text, faults = decode(data)
    return loads(path, text, faults)


def with_head(note: Note, head: str) -> str:
    """The text of `note` with other frontmatter; fences are added where there were none."""
    if note.head is not None:
        return note.bom + note.opening + head + note.closing + note.body
    fence = "---" + note.newline
    return note.bom + fence + head + fence + note.body


def with_body(note: Note, body: str) -> str:
    """The text of `note` with another body; its frontmatter and line endings stay."""
    if note.newline == "\r\n":
        body = body.replace("\r\n", "\n").replace("\n", "\r\n")
    return note.bom + note.opening + (note.head or "") + note.closing + body


def compose(values: dict[str, Value], body: str) -> str:
    """The text of a new note."""
    return f"---\n{properties.dump(values)}---\n{body}" if values else body


def writable(note: Note) -> Note:
    """`note`, or Conflict where its text is not fully understood, so that a write could harm it."""
    bad = next((p for p in note.faults if p.name in ("binary-file", "invalid-utf8", "broken-yaml", "yaml-alias")), None)
    if bad:
        raise Conflict(f"{note.path} line {bad.line}: {bad.text}. Mend it in an editor first; okl does not rewrite it.")
    return note


def kind_of(path: str) -> str:
    """The kind of the file at `path`: `doc`, `memory` or `note`."""
    if path.startswith("store/normalized/"):
        return "doc"
    return "memory" if path.startswith("memories/") else "note"


def stem(path: str) -> str:
    """`path` as an id: without `.md`, a doc's without `.ok.md`."""
    if path.startswith("store/normalized/"):
        return path.removesuffix(".ok.md")
    return path.removesuffix(".md")


def sha256(text: str) -> str:
    """sha256 of `text` in UTF-8, as hex."""
    return hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()


def utc(value: Value) -> str:
    """A date or time as `2026-01-31T09:00:00Z` (midnight and UTC where it says neither); empty if it is none."""
    if not isinstance(value, str):
        return ""
    text = value.strip().replace("/", "-") if len(value.strip()) == 10 else value.strip()
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return ""
    moment = moment.replace(tzinfo=moment.tzinfo or UTC)
    try:
        return moment.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat() + "Z"
    except OverflowError:
        return ""


def texts(value: Value) -> list[str]:
    """`value` as a list of non-empty strings: a list's scalars, or the one scalar; true and false in YAML's words."""
    items = value if isinstance(value, list) else [value]
    return [text for item in items if not isinstance(item, list | dict) and (text := _text(item))]


def _text(item: Value) -> str:
    if isinstance(item, bool):
        return "true" if item else "false"
    return "" if item is None else " ".join(str(item).split())


def _strings(value: Value) -> list[str]:
    """All strings in a value, a `[[Note]]` that was left unquoted (a list in a list) put together again."""
    if isinstance(value, list):
        if len(value) == 1 and isinstance(value[0], list) and all(isinstance(v, str) for v in value[0]):
            return [f"[[{', '.join(value[0])}]]"]
        return [text for item in value for text in _strings(item)]
    return [value] if isinstance(value, str) else []


def _mappings(value: Value) -> list[dict[str, Value]]:
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict)]


def _yamlish(rest: str) -> bool:
    """Whether what follows an opening fence looks like properties, so that a lone `---` is no fault."""
    second = rest.partition("\n")[2].partition("\n")[0]
    return bool(re.match(r"[\w\"' -]{1,60}:(?:\s|$)", second))
