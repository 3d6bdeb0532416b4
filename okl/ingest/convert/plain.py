"""Markdown and plain text: as they are, once their encoding is known."""

from __future__ import annotations

from charset_normalizer import from_bytes

from okl import note
from okl.ingest.convert import Converted, Limits, Unconvertible


def markdown(data: bytes, _limits: Limits) -> Converted:
    """The body as it is; title, tags and date from its own frontmatter."""
    text, encoding = decoded(data)
    found = note.loads("source.md", text)
    title = found.title if found.title != "source" else ""
    authors = note.texts(found.values.get("authors") or found.values.get("author"))
    return Converted(
        found.body.replace("\r\n", "\n"),
        "okl",
        title,
        tuple(authors),
        found.created,
        tuple(note.texts(found.values.get("tags"))),
        encoding=encoding,
    )


def text(data: bytes, _limits: Limits) -> Converted:
    """The text as it is; its first line is the title if it is short."""
    found, encoding = decoded(data)
    found = found.removeprefix(note.BOM).replace("\r\n", "\n")
    first = next((line.strip() for line in found.split("\n") if line.strip()), "")
    return Converted(found, "okl", first if len(first) <= 120 else "", encoding=encoding)


def decoded(data: bytes) -> tuple[str, str]:
    """The text and the name of its encoding: UTF-8, else what the bytes look like; Unconvertible if they look like no text."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        best = from_bytes(data).best()
        if best is None:
            raise Unconvertible("it is no text in any known encoding") from None
        return str(best), best.encoding
    if "\x00" in text:
        raise Unconvertible("it holds NUL bytes and is no text")
    return text, "utf-8"
