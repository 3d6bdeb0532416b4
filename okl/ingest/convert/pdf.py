"""PDF: text page by page, by pypdf, with a map from pages to offsets."""

from __future__ import annotations

import io
import logging
import re
import unicodedata

import pypdf
from pypdf.errors import DependencyError, PyPdfError

from okl.ingest.convert import Converted, Limits, Unconvertible

_PARSER = f"pypdf {pypdf.__version__}"
_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u00ad\u2010]\n[ \t]*([^\W\d_]\w*)([.,;:!?)\]”’]*)[ \t]?")
_LOCKED = "it is encrypted in a way that needs the package “cryptography”"
_NO_TITLES = frozenset(("", "untitled", "(anonymous)", "anonymous", "(unspecified)", "unspecified"))
_SPACES = re.compile(r"[ \t\u00a0]+")


def pdf(data: bytes, limits: Limits) -> Converted:
    """The text of all pages; words broken at a line's end are joined, ligatures are plain letters."""
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    reader = _opened(data)
    count = len(reader.pages)
    if not count:
        raise Unconvertible("it has no pages")
    if count > limits.pages:
        raise Unconvertible(f"it has {count} pages, more than the {limits.pages} that ingest.pages allows")
    texts = [_clean(_page_text(reader, number)) for number in range(count)]
    empty = [number for number, text in enumerate(texts, 1) if not text]
    body, pages = _joined(texts)
    if not body.strip():
        raise Unconvertible(f"none of its {count} pages has text; it seems to be scanned")
    title, authors, date = _about(reader)
    notes = (f"pages without text: {', '.join(map(str, empty))}",) if empty else ()
    return Converted(body, _PARSER, title, authors, date, pages=pages, notes=notes)


def _opened(data: bytes) -> pypdf.PdfReader:
    try:
        reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unconvertible("it is encrypted with a password")
        len(reader.pages)
    except Unconvertible:
        raise
    except DependencyError as error:
        raise Unconvertible(_LOCKED) from error
    except _FAULTS as error:
        raise Unconvertible(f"it is broken: {_short(error)}") from error
    return reader


# What pypdf raises on damaged files is any of these, deep from inside its parser.
_FAULTS = (
    PyPdfError, ValueError, KeyError, TypeError, IndexError, AttributeError, AssertionError, RecursionError, ArithmeticError,
    NotImplementedError, OSError, MemoryError,
)  # fmt: skip


def _page_text(reader: pypdf.PdfReader, number: int) -> str:
    try:
        return reader.pages[number].extract_text()
    except DependencyError as error:
        raise Unconvertible(_LOCKED) from error
    except _FAULTS as error:
        raise Unconvertible(f"page {number + 1} is broken: {_short(error)}") from error


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:120].rstrip(".") or type(error).__name__


def _clean(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    text = "".join(c for c in text if c in "\n\t" or not unicodedata.category(c).startswith(("Cc", "Cs", "Co")))
    text = "\n".join(_SPACES.sub(" ", line).strip() for line in text.split("\n"))
    text = _HYPHEN.sub(lambda m: m[1] + m[2] + "\n" if m[1][0].islower() else m[0], text)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def _joined(texts: list[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The pages one after the other, and where each begins."""
    body, pages = "", []
    for number, text in enumerate(texts, 1):
        pages.append((number, len(body)))
        body += text + "\n\n" if text else ""
    return body, tuple(pages)


def _about(reader: pypdf.PdfReader) -> tuple[str, tuple[str, ...], str]:
    try:
        told = reader.metadata
        title = " ".join(str(told.title or "").split()) if told else ""
        authors = tuple(name.strip() for name in re.split(r"[;,]", str(told.author or "")) if name.strip()) if told else ()
        made = told.creation_date if told else None
    except _FAULTS:
        return "", (), ""
    title = "" if title.casefold() in _NO_TITLES else title
    authors = tuple(name for name in authors if name.casefold() not in _NO_TITLES)
    return title, authors, made.date().isoformat() if made else ""
