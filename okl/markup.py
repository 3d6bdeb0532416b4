"""What stands in the body of a note: headings, blocks, links, tags, fields. Pure text, no disk.

Blocks come from markdown-it-py's block rules; everything inside them from one scanner that knows
code, so that nothing in code is a link or a tag.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token


@dataclass(frozen=True, slots=True)
class Block:
    """A top-level block: `[start, end)` are 0-based lines of the body, blank lines behind it left out."""

    kind: str  # heading | paragraph | list | code | quote | html | rule
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: its level (1 to 6), its text, its 0-based line of the body."""

    level: int
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Link:
    """A link to another note, as written; `start` is a code point offset in the body."""

    target: str
    fragment: str
    text: str
    kind: str  # wiki | embed | markdown, or the name of the property it stands in
    start: int


@dataclass(frozen=True, slots=True)
class Markup:
    """Everything found in one body. `lines` holds the offset at which each line begins."""

    lines: list[int]
    blocks: list[Block]
    headings: list[Heading]
    links: list[Link]
    tags: list[str]
    fields: list[tuple[str, str]]
    block_ids: dict[str, int] = field(default_factory=dict)

    def line_of(self, offset: int) -> int:
        """The 0-based line that holds the code point at `offset`."""
        return bisect_right(self.lines, offset) - 1


def _parser() -> MarkdownIt:
    """Block rules only; a table reads as a paragraph and a link definition too, both kept whole."""
    parser = MarkdownIt("commonmark").disable("reference")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


_PARSER = _parser()
_KINDS = {
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "fence": "code",
    "code_block": "code",
    "blockquote_open": "quote",
    "html_block": "html",
    "hr": "rule",
}

# Each begins with a plain sign, which is found fast; what stands before it is looked at afterwards.
_WIKILINK = re.compile(r"\[\[((?:[^\[\]\n]++|\[(?!\[)|\](?!\])){1,1000}+)\]\]")
_MARKDOWN_LINK = re.compile(
    r"\[((?:[^\[\]\\\n]++|\\.){0,500}+)\]\([ \t]*(<[^<>\n]{1,2000}>|[^\s()<>]{1,2000}(?:\([^\s()]{0,500}\)[^\s()]{0,500}){0,4})"
    r"(?:[ \t]+(?:\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\)))?[ \t]*\)"
)
_DEFINITION = re.compile(r"^ {0,3}\[([^\]\n^]{1,500})\]:[ \t]*(<[^<>\n]+>|\S+)", re.M)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_TAG = re.compile(r"#([^\s\x00\u2000-\u206f\u2e00-\u2e7f'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\]{1,200})")
_BEFORE_TAG = frozenset(' \t\n\r\f\v\u00a0\u3000([{>,;*_~"“‘—–')
_FIELD_LINE = re.compile(r"^[ \t>]*(?:[-*+][ \t]+(?:\[.\][ \t]+)?)?[*_]{0,3}([^\W\d_][\w /-]{0,60}?)[*_]{0,3}::[ \t]+(\S[^\n]*)", re.M)
_FIELD_INLINE = re.compile(r"(?<!\[)[\[(]([^\W\d_][\w /-]{0,60}?)::[ \t]+((?:[^\[\]()\n]++|\[\[[^\[\]\n]{1,200}\]\]){1,50})[\])]")
_BLOCK_ID = re.compile(r"(?:^|(?<=\s))\^([A-Za-z0-9-]{1,100})[ \t]*$", re.M)
_FILLER = "\x00"
_TICKS = re.compile(r"`+")
_NOT_NEWLINE = re.compile(r"[^\n]")


def scan(body: str) -> Markup:
    """Everything that stands in `body`. Never raises, whatever the text."""
    tokens = _PARSER.parse(body.replace("\r\n", "\n").replace("\r", " ").replace("\x00", " "))
    lines = line_starts(body)
    texts = body.split("\n")
    visible = _without(body, [*_code_blocks(tokens, lines, len(body)), *_inline_code(body, tokens, lines)])
    visible = _without(visible, [*_pairs(visible, "%%", "%%"), *_pairs(visible, "<!--", "-->")])
    links, rest = _links(visible, body)
    return Markup(
        lines,
        _blocks(tokens, texts),
        _headings(tokens, len(lines)),
        links,
        _tags(rest),
        _fields(visible, body) if "::" in visible else [],
        {m[1]: m.start() for m in _BLOCK_ID.finditer(rest)} if "^" in rest else {},
    )


def line_starts(text: str) -> list[int]:
    """The offset at which each line begins; lines end at a line feed, as ripgrep and editors count them."""
    starts = [0]
    at = text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    return starts


def name_key(name: str) -> str:
    """The form in which names are compared: NFC, case folded, one space between words."""
    name = name if name.isascii() else unicodedata.normalize("NFC", name)
    return " ".join(name.casefold().split())


def _blocks(tokens: list[Token], texts: list[str]) -> list[Block]:
    blocks = []
    for token in tokens:
        if token.level == 0 and token.map and token.type in _KINDS:
            start, end = token.map[0], min(token.map[1], len(texts))
            while end > start and not texts[end - 1].strip():
                end -= 1
            if end > start:
                blocks.append(Block(_KINDS[token.type], start, end))
    return blocks


def _headings(tokens: list[Token], lines: int) -> list[Heading]:
    return [
        Heading(int(token.tag[1]), plain(tokens[index + 1].content), token.map[0])
        for index, token in enumerate(tokens)
        if token.type == "heading_open" and token.map and token.map[0] < lines
    ]


def plain(text: str) -> str:
    """A heading's or title's words without Obsidian's and Markdown's marks."""
    text = _WIKILINK.sub(lambda m: m[1].replace("\\|", "|").rpartition("|")[2], text)
    text = _MARKDOWN_LINK.sub(lambda m: m[1], text)
    text = _BLOCK_ID.sub("", text)
    return " ".join(re.sub(r"[*`]|(?<!\w)_|_(?!\w)", "", text).split())


def _code_blocks(tokens: list[Token], lines: list[int], length: int) -> Iterator[tuple[int, int]]:
    """Spans of fenced and indented code."""
    for token in tokens:
        if token.type in ("fence", "code_block") and token.map:
            yield _line_span(token.map, lines, length)


def _line_span(lines_of: list[int], lines: list[int], length: int) -> tuple[int, int]:
    start, end = lines_of
    return lines[min(start, len(lines) - 1)], lines[end] if end < len(lines) else length


def _pairs(text: str, opening: str, closing: str) -> Iterator[tuple[int, int]]:
    """Spans from each `opening` to the next `closing`; an opening without one is plain text."""
    start = text.find(opening)
    while start >= 0:
        end = text.find(closing, start + len(opening))
        if end < 0:
            return
        yield start, end + len(closing)
        start = text.find(opening, end + len(closing))


def _inline_code(body: str, tokens: list[Token], lines: list[int]) -> Iterator[tuple[int, int]]:
    """Spans between two equal runs of backticks within one paragraph or heading."""
    if "`" not in body:
        return
    for token in tokens:
        if token.type == "inline" and token.map:
            start, end = _line_span(token.map, lines, len(body))
            yield from _code_in(body, [m.span() for m in _TICKS.finditer(body, start, end)])


def _code_in(body: str, runs: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Spans of code among the runs of backticks of one paragraph; a backslash takes a run's first one out."""
    later: dict[int, list[int]] = {}
    for index in range(len(runs) - 1, -1, -1):
        later.setdefault(runs[index][1] - runs[index][0], []).append(index)
    index = 0
    while index < len(runs):
        start, end = runs[index]
        start += _is_escaped(body, start)
        same = later.get(end - start, [])
        while same and same[-1] <= index:
            same.pop()
        if same and start < end:
            index = same[-1]
            yield start, runs[index][1]
        index += 1


def _is_escaped(body: str, at: int) -> bool:
    slashes = 0
    while at - slashes > 0 and body[at - slashes - 1] == "\\":
        slashes += 1
    return slashes % 2 == 1


def _without(text: str, spans: Iterator[tuple[int, int]] | list[tuple[int, int]]) -> str:
    """`text` of the same length and lines, with a sign that is in no word in place of `spans`."""
    parts, at = [], 0
    for start, end in sorted(spans):
        if start >= at:
            blank = _FILLER * (end - start) if text.find("\n", start, end) < 0 else _NOT_NEWLINE.sub(_FILLER, text[start:end])
            parts += [text[at:start], blank]
            at = end
    return "".join([*parts, text[at:]]) if parts else text


def _links(visible: str, body: str) -> tuple[list[Link], str]:
    """All links to notes, and the text without them (a `#` in a link is no tag)."""
    links = []
    if "[[" in visible:
        found = list(_WIKILINK.finditer(visible))
        links += [wikilink(body[m.start(1) : m.end(1)], *_kind(visible, m.start(), "wiki")) for m in found]
        visible = _without(visible, [m.span() for m in found])
    if "](" in visible:
        found = list(_MARKDOWN_LINK.finditer(visible))
        links += [_markdown_link(body[m.start(1) : m.end(1)], m[2], *_kind(visible, m.start(), "markdown")) for m in found]
        visible = _without(visible, [m.span() for m in found])
    if "]:" in visible:
        found = list(_DEFINITION.finditer(visible))
        links += [_markdown_link(body[m.start(1) : m.end(1)], m[2], "markdown", m.start(1) - 1) for m in found]
        visible = _without(visible, [m.span() for m in found])
    return sorted((link for link in links if link), key=lambda link: link.start), visible


def _kind(text: str, at: int, plain: str) -> tuple[str, int]:
    """The kind and the start of the link at `at`: an embed, from its `!` on, if there is one before it."""
    return ("embed", at - 1) if at and text[at - 1] == "!" else (plain, at)


def wikilink(inner: str, kind: str, start: int) -> Link | None:
    """What stands between `[[` and `]]` as a link; none if it names no note (`[[#Heading]]`)."""
    target, _, text = inner.replace("\\|", "|").partition("|")
    target, _, fragment = target.partition("#")
    return Link(target.strip(), fragment.strip(), text.strip(), kind, start) if target.strip() else None


def _markdown_link(text: str, target: str, kind: str, start: int) -> Link | None:
    target = target.strip("<>")
    if _SCHEME.match(target) or target.startswith(("#", "//")):
        return None
    path, _, fragment = target.partition("#")
    path = unquote(path, errors="replace").strip()
    return Link(path, unquote(fragment), text, kind, start) if path else None


def _tags(rest: str) -> list[str]:
    if "#" not in rest:
        return []
    found = (m[1].strip("/") for m in _TAG.finditer(rest) if not m.start() or rest[m.start() - 1] in _BEFORE_TAG)
    return list(dict.fromkeys(tag for tag in found if is_tag(tag)))


def is_tag(text: str) -> bool:
    """Whether `text` may be a tag: it needs one letter or sign that is no digit."""
    return bool(text) and not text.replace("/", "").replace("-", "").replace("_", "").isdigit() and bool(text.strip("/-_"))


def _fields(visible: str, body: str) -> list[tuple[str, str]]:
    """Dataview's `key:: value`, values as written (links and code in them included)."""
    found = [(m.start(), m[1].strip(), body[m.start(2) : m.end(2)].strip()) for m in _FIELD_LINE.finditer(visible)]
    found += [(m.start(), m[1].strip(), body[m.start(2) : m.end(2)].strip()) for m in _FIELD_INLINE.finditer(visible)]
    return [(key, value) for _, key, value in sorted(found) if value]
