"""Markdown and plain text: as they are, once their encoding is known."""

from __future__ import annotations

import codecs
import re

from charset_normalizer import from_bytes

from okl import note
from okl.ingest.convert import Converted, Limits, Unconvertible

_KANA = re.compile("[\u3040-\u30ff]")


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
        notes=told(encoding),
    )


def text(data: bytes, _limits: Limits) -> Converted:
    """The text as it is; its first line is the title if it is short."""
    found, encoding = decoded(data)
    found = found.removeprefix(note.BOM).replace("\r\n", "\n")
    first = next((line.strip() for line in found.split("\n") if line.strip()), "")
    return Converted(found, "okl", first if len(first) <= 120 else "", encoding=encoding, notes=told(encoding))


def decoded(data: bytes) -> tuple[str, str]:
    """The text and the name of its encoding; Unconvertible if the bytes look like no text.

    UTF-8, or what a byte order mark says; else a guess, which the caller tells.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, errors="replace"), encoding
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return _guessed(data)
    if "\x00" in text:
        raise Unconvertible("it holds NUL bytes and is no text")
    return text, "utf-8"


_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_UNLIKELY = ["utf_16", "utf_16_be", "utf_16_le", "utf_32", "utf_32_be", "utf_32_le", "utf_7", "cp1006", "cp864", "hp_roman8"]
_SHORT = 16


def _guessed(data: bytes) -> tuple[str, str]:
    if b"\x00" in data:
        raise Unconvertible("it holds NUL bytes and is no text")
    for encoding in ("shift_jis", "euc_jp"):
        text = data.decode(encoding, errors="replace")
        if "\ufffd" not in text and len(_KANA.findall(text)) * 5 > len(text):
            return text, encoding
    odd = sum(byte > 127 for byte in data[:10_000])
    best = from_bytes(data, cp_exclusion=_UNLIKELY).best() if odd >= _SHORT else None
    if best is None and odd >= _SHORT and odd * 2 > len(data[:10_000]):
        raise Unconvertible("it is no text in any known encoding")
    return (str(best), best.encoding) if best else (data.decode("cp1252", errors="replace"), "cp1252")


def told(encoding: str) -> tuple[str, ...]:
    """What to say of an encoding that was guessed."""
    return () if encoding.startswith("utf") else (f"its encoding was taken for {encoding}",)
