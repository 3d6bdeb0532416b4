"""Web pages: the article without the page around it, by trafilatura."""

from __future__ import annotations

import codecs
import logging
import re

import trafilatura
from trafilatura.settings import Document

from okl.ingest.convert import Converted, Limits, Unconvertible

_PARSER = f"trafilatura {trafilatura.__version__}"


def html(data: bytes, _limits: Limits) -> Converted:
    """The main text as Markdown, with links and tables; title, authors and date from the page's metadata."""
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
    if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        data = data.decode("utf-16", errors="replace").encode()
    if not re.search(rb"(?i)<(?:html|body|head)[\s>]", data):  # a piece of a page
        data = b"<html><body>" + data + b"</body></html>"
    text = trafilatura.extract(
        data, output_format="markdown", include_links=True, include_tables=True, include_formatting=True, favor_recall=True
    )
    if not text:  # a page too short or too odd to tell its article: all its words
        tree = trafilatura.load_html(data)
        text = trafilatura.html2txt(tree) if tree is not None else ""
    if not text.strip():
        raise Unconvertible("no text was found in the page")
    about = trafilatura.extract_metadata(data)
    told = about if isinstance(about, Document) else Document()
    authors = tuple(name.strip() for name in (told.author or "").split(";") if name.strip())
    return Converted(text.strip() + "\n", _PARSER, told.title or "", authors, told.date or "", tuple(told.tags or ()), notes=_address(told))


def _address(told: Document) -> tuple[str, ...]:
    return (f"canonical {told.url}",) if told.url else ()
