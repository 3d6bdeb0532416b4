"""Ingestion: outside documents become clean text, with what they say of themselves."""

from __future__ import annotations

import io
from pathlib import Path

import pypdf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from okl.ingest import document
from okl.ingest.apart import Apart
from okl.ingest.convert import CONVERTERS, Converted, Limits, Unconvertible, converter
from okl.ingest.fetch import items, media_type
from okl.note import loads
from tests.conftest import DEMO

LIGHT = settings(max_examples=100, deadline=None)
LIMITS = Limits(seconds=60)
LOG = (DEMO / "inbox" / "keepers-log.html").read_bytes()
RANGE = (DEMO / "inbox" / "light-range.pdf").read_bytes()


def convert(media: str, data: bytes, limits: Limits = LIMITS) -> Converted:
    return converter(media)(data, limits)


def pdf(*pages: str, password: str = "", **about: str) -> bytes:
    """A PDF whose pages hold these lines."""
    writer = pypdf.PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for text in pages:
        page = writer.add_blank_page(400, 400)
        stream = DecodedStreamObject()
        shown = " ".join(f"({line}) Tj T*" for line in text.split("\n") if line)
        stream.set_data(f"BT /F1 12 Tf 14 TL 20 350 Td {shown} ET".encode("latin-1"))
        page[NameObject("/Contents")] = writer._add_object(stream)
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})})
    writer.add_metadata({f"/{key}": value for key, value in about.items()})
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    target = io.BytesIO()
    writer.write(target)
    return target.getvalue()


# --- plain ----------------------------------------------------------------------------------------


def test_markdown_keeps_its_body() -> None:
    """A Markdown source gives its body as it is, and title, authors, tags and date from its frontmatter."""
    head = "\ufeff---\ntitle: The lamp\nauthor: Ada\ntags: [light, sea]\ndate: 2026-05-04\n---\n"
    data = (head + "# Night\n\nÉ *lit*.\n").replace("\n", "\r\n").encode()
    assert convert("text/markdown", data) == Converted(
        "# Night\n\nÉ *lit*.\n", "okl", "The lamp", ("Ada",), "2026-05-04T00:00:00Z", ("light", "sea"), encoding="utf-8"
    )


def test_markdown_without_a_title() -> None:
    """A Markdown source is titled by the heading that opens it, or not at all."""
    assert [convert("text/markdown", data).title for data in (b"# Night\n\nText", b"Text\n", b"")] == ["Night", "", ""]


def test_plain_text_keeps_its_lines() -> None:
    """Plain text stays as it is; its first line is the title if it is short."""
    assert convert("text/plain", b"\xef\xbb\xbf\r\n  A title \r\n\r\n---\r\na: b\r\n") == Converted(
        "\n  A title \n\n---\na: b\n", "okl", "A title", encoding="utf-8"
    )
    assert convert("text/plain", b"x" * 121).title == ""
    assert convert("text/plain", b"") == Converted("", "okl", encoding="utf-8")


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "Die Wärter hörten die Möwen über dem Türmchen — früh, müde und fröhlich."),
        ("utf-16", "The lamp was lit, é and 鯨 too."),
        ("gb18030", "灯台の光は海の上を遠くまで届く。夜になると船はその光を頼りに進む。"),
        ("koi8-r", "Лампу зажгли до вечера, и она горела до самого утра, пока не погасла."),
    ],
)
def test_other_encodings_are_recognised(encoding: str, text: str) -> None:
    """Text in another encoding than UTF-8 is read as what its bytes look like, and the encoding is named."""
    found = convert("text/plain", text.encode(encoding))
    assert found.text.removeprefix("\ufeff") == text
    assert found.encoding not in ("", "utf-8")


@LIGHT
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00\r\ufeff")))
def test_any_utf8_is_kept(text: str) -> None:
    """Any text in UTF-8 comes through unchanged."""
    assert convert("text/plain", text.encode()).text == text


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_text_or_refused(data: bytes) -> None:
    """Any bytes give text, or the one sentence why not."""
    for media in ("text/plain", "text/markdown"):
        try:
            assert isinstance(convert(media, data).text, str)
        except Unconvertible as error:
            assert str(error)


def test_binaries_are_no_text() -> None:
    """A file with NUL bytes is refused as no text."""
    with pytest.raises(Unconvertible, match="NUL bytes"):
        convert("text/plain", b"abc\x00def")


# --- web pages ------------------------------------------------------------------------------------


def test_a_page_gives_its_article() -> None:
    """A web page gives its article as Markdown, headings and tables included, without menus and footer, and what it says of itself."""
    found = convert("text/html", LOG)
    assert (found.title, found.authors, found.date) == ("A keeper's log: Merrow Skerry, November 1891", ("Tamsin Roe",), "2026-04-12")
    assert found.parser.startswith("trafilatura ")
    wanted = [
        "# A keeper's log",
        "## Sunday 22 November\n",
        "**This log is invented.**",
        "| 22 November | SW 9 | 16 | 18 | 1 |",
        "a sailor trusts it.",
    ]
    assert [words for words in wanted if words not in found.text] == []
    assert [words for words in ("Gift shop", "Cookie settings", "All rights reserved", "max-width") if words in found.text] == []


def test_links_of_a_page_are_kept() -> None:
    """Links in a page's text are links in its Markdown."""
    words = "Words about lamps and light. " * 10
    page = f"<html><body><article><h1>Lamps</h1><p>{words}See <a href='https://a.b/c'>the lens</a> there.</p></article></body></html>"
    assert "[the lens](https://a.b/c)" in convert("text/html", page.encode()).text


def test_a_page_too_short_to_tell_its_article() -> None:
    """A page without a recognisable article gives all its words."""
    assert "Only five words stand here" in convert("text/html", b"<html><p>Only five words stand here</p></html>").text


@pytest.mark.parametrize(
    "data", [b"<html><body></body></html>", b"<html><head><script>x = 1</script></head><body><img src='a.png'></body></html>"]
)
def test_a_page_without_text(data: bytes) -> None:
    """A page without any text is refused."""
    with pytest.raises(Unconvertible, match="no text was found"):
        convert("text/html", data)


# --- PDF ------------------------------------------------------------------------------------------


def test_a_pdf_gives_its_pages() -> None:
    """A PDF gives the text of its pages, where each begins, and what it says of itself."""
    found = convert("application/pdf", RANGE)
    assert (found.title, found.authors, found.date) == ("How far a light carries", ("Ada Merrow",), "2026-04-20")
    assert [number for number, _ in found.pages] == [1, 2]
    assert [found.text[at:].split("\n")[0] for _, at in found.pages] == ["How far a light carries", "2. The air"]
    assert (found.text.count("both ranges and trust the smaller."), found.notes) == (1, ())
    assert found.parser == f"pypdf {pypdf.__version__}"


def test_words_broken_at_a_lines_end_are_joined() -> None:
    """A word that is hyphenated at the end of a line is whole again; a hyphen before a capital stays."""
    found = convert("application/pdf", pdf("The light-\nhouse stood by the North-\nSea and its kee-\nper, old."))
    assert found.text == "The lighthouse\nstood by the North-\nSea and its keeper,\nold.\n\n"


def test_pages_without_text_are_named() -> None:
    """A page without text keeps its number and is named in the notes; the others keep their place."""
    found = convert("application/pdf", pdf("One", "", "Three", Title="  A  title ", Author="Ada; Bob, Cid"))
    assert (found.text, found.pages, found.notes) == ("One\n\nThree\n\n", ((1, 0), (2, 5), (3, 5)), ("pages without text: 2",))
    assert (found.title, found.authors, found.date) == ("A title", ("Ada", "Bob", "Cid"), "")


def test_a_scanned_pdf() -> None:
    """A PDF of pictures alone is refused as scanned."""
    with pytest.raises(Unconvertible, match="none of its 2 pages has text; it seems to be scanned"):
        convert("application/pdf", pdf("", ""))


def test_a_pdf_with_a_password() -> None:
    """A PDF that needs a password is refused; one that opens without is read."""
    with pytest.raises(Unconvertible, match="it is encrypted with a password"):
        convert("application/pdf", pdf("Secret words", password="x"))
    reader = pypdf.PdfWriter(clone_from=io.BytesIO(pdf("Open words")))
    reader.encrypt("", "owner", algorithm="RC4-128")
    target = io.BytesIO()
    reader.write(target)
    assert convert("application/pdf", target.getvalue()).text == "Open words\n\n"


@pytest.mark.parametrize(
    "data",
    [b"", b"%PDF-1.7\n", b"%PDF-1.4 and no more", RANGE[:200], RANGE[:20_000], b"no pdf at all", RANGE.replace(b"/Pages", b"/Pagez")],
)
def test_a_broken_pdf(data: bytes) -> None:
    """A PDF that is cut off or damaged is refused with a sentence."""
    with pytest.raises(Unconvertible, match=r"broken|scanned"):
        convert("application/pdf", data)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2000), st.binary(min_size=1, max_size=30))
def test_a_damaged_pdf_is_read_or_refused(at: int, junk: bytes) -> None:
    """A PDF with junk anywhere in it is read or refused, never more."""
    data = bytearray(pdf("Some words", "More words"))
    data[at % len(data) : at % len(data) + len(junk)] = junk
    try:
        assert isinstance(convert("application/pdf", bytes(data)).text, str)
    except Unconvertible as error:
        assert str(error)


def test_too_many_pages() -> None:
    """A PDF of more pages than the setting allows is refused, and the setting is named."""
    with pytest.raises(Unconvertible, match=r"it has 3 pages, more than the 2 that ingest\.pages allows"):
        convert("application/pdf", pdf("a", "b", "c"), Limits(pages=2))


# --- in a child process ---------------------------------------------------------------------------


def test_documents_are_converted_apart() -> None:
    """A child process gives the same text as a call here, for one document after the other, also after one that is refused."""
    with Apart(LIMITS) as apart:
        assert apart.convert("application/pdf", RANGE) == convert("application/pdf", RANGE)
        with pytest.raises(Unconvertible, match="it is encrypted with a password"):
            apart.convert("application/pdf", pdf("Secret", password="x"))
        assert apart.convert("text/html", LOG) == convert("text/html", LOG)
        assert apart.convert("text/plain", b"text") == Converted("text", "okl", "text", encoding="utf-8")


def test_a_document_that_takes_too_long() -> None:
    """A document that takes longer than the limit is refused, and the next one is tried anew."""
    with Apart(Limits(seconds=0.05)) as apart:
        for _ in range(2):
            with pytest.raises(Unconvertible, match=r"it took over 0\.05 s"):
                apart.convert("application/pdf", RANGE)
        assert apart.convert("text/plain", b"text").text == "text"


# --- the file of a doc ----------------------------------------------------------------------------


def test_where_a_source_and_its_text_lie() -> None:
    """A source and its text have the same place in two trees; the text's name keeps the source's."""
    assert document.source_path("lib/paper.pdf") == "store/sources/lib/paper.pdf"
    assert document.doc_path("lib/paper.pdf") == "store/normalized/lib/paper.pdf.ok.md"
    assert document.doc_path("paper.pdf") == "store/normalized/paper.pdf.ok.md"


@LIGHT
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/"), min_size=1, max_size=255), st.sampled_from("xé鯨😀"))
def test_long_names_fit_on_a_disk(name: str, letter: str) -> None:
    """A name too long for a disk is cut within its characters and marked, so that two long names stay two files."""
    long = name + letter * 260
    paths = [document.doc_path(f"lib/{one}") for one in (long, long + letter, name)]
    assert len(set(paths)) == 3
    assert all(path.startswith("store/normalized/lib/") and path.endswith(".ok.md") for path in paths)
    assert all(len(path.rpartition("/")[2].encode()) <= 255 for path in paths)


def test_the_file_of_a_doc() -> None:
    """A doc's file says where its text came from and how it was made, and leaves out what is not known."""
    found = Converted("Text: one\n", "pypdf 7.1", "", ("Ada",), "2026-01-01", ("a",), ((1, 0), (2, 5)), "", ("pages without text: 3",))
    text = document.text(found, {"url": "file:///p.pdf", "bytes": 5}, "p.pdf", ["b", "a"])
    note = loads(document.doc_path("p.pdf"), text)
    assert (note.body, note.problems, note.kind, note.title, note.tags) == ("Text: one\n", [], "doc", "p.pdf", ["a", "b"])
    assert note.values == {
        "type": "doc",
        "title": "p.pdf",
        "source": {"url": "file:///p.pdf", "bytes": 5},
        "authors": ["Ada"],
        "date": "2026-01-01",
        "parser": {"name": "pypdf", "version": "7.1"},
        "pages": [[1, 0], [2, 5]],
        "tags": ["a", "b"],
        "notes": ["pages without text: 3"],
    }
    bare = loads("x.md", document.text(Converted("", "okl", "T"), {"url": "u"}, "f", []))
    assert bare.values == {"type": "doc", "title": "T", "source": {"url": "u"}, "parser": {"name": "okl", "version": ""}}


@LIGHT
@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_and_title_make_a_file(text: str, title: str) -> None:
    """Whatever a document's text and title, its file reads back as both."""
    note = loads("x.md", document.text(Converted(text, "okl", title), {"url": "u"}, "fallback", []))
    assert (note.body, note.values["title"]) == (text, title or "fallback")


def test_what_a_file_is() -> None:
    """A file is told by its first bytes if it is a PDF, else by its ending, in any case."""
    named = {
        "a.md": "text/markdown",
        "A.HTM": "text/html",
        "a.txt": "text/plain",
        "a.pdf": "application/pdf",
        "a.xyz": None,
        "README": None,
    }
    assert {name: media_type(name, b"x") for name in named} == named
    assert media_type("x.txt", b"\n%PDF-1.4") == "application/pdf"
    assert {media for media in named.values() if media} == set(CONVERTERS)


def test_files_to_ingest(tmp_path: Path) -> None:
    """A folder gives its files below its own name, without hidden ones, node_modules, and symlinks that lead out."""
    for path in ("in/b.txt", "in/a/c.md", "in/.hidden.md", "in/.git/x.md", "in/node_modules/x.md", "out.txt"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path, encoding="utf-8")
    (tmp_path / "in" / "link.txt").symlink_to(tmp_path / "out.txt")
    (tmp_path / "in" / "same.txt").symlink_to("b.txt")
    found = list(items(str(tmp_path / "in")))
    assert [(item.tree, item.read()) for item in found] == [
        ("in/b.txt", b"in/b.txt"),
        ("in/same.txt", b"in/b.txt"),
        ("in/a/c.md", b"in/a/c.md"),
    ]
    assert [(item.tree, item.size, item.url) for item in items(f"file://{tmp_path}/out.txt")] == [
        ("out.txt", 7, f"file://{tmp_path}/out.txt")
    ]
