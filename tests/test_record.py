"""The cite object: how a passage becomes one, and how it is written and read."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from okl.cite.anchor import Anchor, find
from okl.cite.record import Cite, Passage, cite_id_in, is_cite_id, loads, make, page_at, parse_handle, passage, quoted, united
from okl.errors import NotFound, UsageError
from okl.note import parse, sha256

LIGHT = settings(max_examples=100, deadline=None)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
TEXT = "---\ntitle: The lamp\n---\n# Night\n\nThe lamp was lit.\nIt burned until morning.\n"
NOW = "2026-05-04T12:00:00Z"


def of_text(start: int, end: int, text: str = TEXT, path: str = "places/lamp.md") -> Passage:
    note = parse(path, text.encode())
    return passage(note, path.removesuffix(".md"), start, end, text.encode())


def test_a_passage() -> None:
    """A passage holds its words, a little around them, its lines in the file, its heading and the hash of the body."""
    body = TEXT.split("---\n")[2]
    start = body.index("lamp was")
    assert of_text(start, start + 20) == Passage(
        type="note",
        document="places/lamp",
        path="places/lamp.md",
        title="The lamp",
        sha256=sha256(body),
        blob="4f47c189a8e6097d3de046bce8680786cbbe3413",
        start=13,
        end=33,
        lines=(6, 7),
        heading="Night",
        page=None,
        quote="lamp was lit.\nIt bur",
        pre="# Night\n\nThe ",
        post="ned until morning.\n",
        source={"url": "ok://note/places/lamp"},
        trust="human",
    )


def test_the_blob_is_gits(tmp_path: Path) -> None:
    """The blob of a passage is the name that git gives the file's bytes."""
    (tmp_path / "a.md").write_bytes(TEXT.encode())
    asked = subprocess.run(["git", "hash-object", "a.md"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert of_text(0, 5).blob == asked.stdout.strip()


def test_a_passage_of_a_source() -> None:
    """A passage of a source names where it came from and its page."""
    head = "title: Paper\nsource: {url: 'file:///p.pdf', sha256: abc}\nauthors: [Ada]\ndate: 2026-01-01\npages: [[1, 0], [2, 10]]\n"
    text = f"---\n{head}---\nPage one.\nPage two.\n"
    found = of_text(10, 19, text, "store/normalized/p.pdf.ok.md")
    assert (found.type, found.page, found.quote, found.trust) == ("doc", 2, "Page two.", "external")
    assert found.source == {"url": "file:///p.pdf", "page": 2, "title": "Paper", "authors": ["Ada"], "date": "2026-01-01", "sha256": "abc"}


def test_a_cite_as_it_is_written() -> None:
    """A cite's file holds the whole object, readable, in a fixed order."""
    cite = make(of_text(9, 26), ["light", "light", "night"], "durable", NOW, "human:anna")
    assert cite.data == {
        "schema": "okl.cite/1",
        "type": "note",
        "id": cite.id,
        "target": "places/lamp#char9-26",
        "path": "places/lamp.md",
        "title": "The lamp",
        "sha256": sha256(TEXT.split("---\n")[2]),
        "commit": None,
        "blob": of_text(0, 1).blob,
        "loc": {"kind": "char", "start": 9, "end": 26, "lines": [6, 6], "heading": "Night", "page": None},
        "quote": "The lamp was lit.",
        "context": {"pre": "# Night\n\n", "post": "\nIt burned until morning.\n"},
        "source": {"url": "ok://note/places/lamp"},
        "tags": ["light", "night"],
        "trust": "human",
        "retention": "durable",
        "created_at": NOW,
        "created_by": "human:anna",
        "verified": [],
    }
    assert (cite.uri, is_cite_id(cite.id)) == (f"ok://cite/{cite.id}", True)
    assert cite.dumps().endswith("\n}\n")
    assert list(json.loads(cite.dumps())) == list(cite.data)


def test_the_same_span_gives_the_same_cite() -> None:
    """A cite's id depends on the text and the span, not on who makes it and when."""
    one = make(of_text(9, 26), [], "standard", NOW, "human:anna")
    other = make(of_text(9, 26), ["x"], "pinned", "2027-01-01T00:00:00Z", "agent:b")
    assert one.id == other.id != make(of_text(9, 25), [], "standard", NOW, "human:anna").id


def test_a_span_cited_again() -> None:
    """A second make of a span keeps date and maker, unites tags, and takes a retention that is asked for."""
    old = make(of_text(9, 26), ["a", "b"], "durable", NOW, "human:anna")
    new = make(of_text(9, 26), ["b", "c"], "standard", "2027-01-01T00:00:00Z", "agent:x")
    assert united(old, new, None).data == {**old.data, "tags": ["a", "b", "c"]}
    assert united(old, new, "pinned").data == {**old.data, "tags": ["a", "b", "c"], "retention": "pinned"}


def test_what_cannot_be_cited() -> None:
    """Blanks are not cited, and a retention must be one of the four."""
    with pytest.raises(UsageError, match="no words"):
        make(of_text(7, 9), [], "standard", NOW, "human:anna")
    with pytest.raises(UsageError, match="temp, standard, durable, pinned"):
        make(of_text(9, 26), [], "forever", NOW, "human:anna")


@LIGHT
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.data())
def test_a_cite_reads_back_and_finds_its_words(body: str, data: st.DataObject) -> None:
    """Any cite that was written reads back equal, and its anchor finds its words in the same text."""
    start = data.draw(st.integers(0, len(body) - 1))
    end = data.draw(st.integers(start + 1, len(body)))
    note = parse("a.md", body.encode())
    found = passage(note, "a", start, end, body.encode())
    if not found.quote.strip():
        return
    cite = make(found, [], "standard", NOW, "human:anna")
    assert loads(cite.dumps(), "citations/x.json") == cite
    assert cite.anchor == Anchor(found.quote, found.pre, found.post, start)
    assert find(cite.anchor, note.body).verdict == "exact"


GOOD: dict[str, Any] = dict(make(of_text(9, 26), [], "standard", NOW, "human:anna").data)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "[]",
        "5",
        "null",
        "{}",
        json.dumps({**GOOD, "id": "c-1"}),
        json.dumps({**GOOD, "id": 5}),
        json.dumps({**GOOD, "quote": None}),
        json.dumps({**GOOD, "loc": {"start": "9"}}),
        json.dumps({**GOOD, "loc": []}),
        json.dumps({**GOOD, "context": "x"}),
        json.dumps({**GOOD, "path": 5}),
        json.dumps({key: value for key, value in GOOD.items() if key != "sha256"}),
    ],
)
def test_a_file_that_is_no_cite(text: str) -> None:
    """A file that is no cite is an error that names it."""
    with pytest.raises(NotFound, match=r"citations/x\.json is no cite"):
        loads(text, "citations/x.json")


def test_unknown_fields_are_kept() -> None:
    """Fields that somebody added to a cite are read and written with it."""
    cite = loads(json.dumps({**GOOD, "note": "mine"}), "x")
    assert cite == Cite(GOOD["id"], {**GOOD, "note": "mine"})
    assert json.loads(cite.dumps())["note"] == "mine"


@LIGHT
@given(NAMES, st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_handle_reads_back(document: str, start: int, end: int) -> None:
    """Any document's handle and address are safe in shells and URIs, and lead back to it."""
    for type_ in ("note", "doc"):
        found = Passage(type_, document, "", "", "", "", start, end, (1, 1), "", None, "", "", "", {}, "human")
        assert re.fullmatch(r"[A-Za-z0-9._/~%-]+#char\d+-\d+", found.target)
        assert parse_handle(found.target) == parse_handle(found.uri) == (document, start, end)


@pytest.mark.parametrize(
    "text", ["", "a", "a#char", "a#char5", "a#char5-", "#char1-2", "a#char1-2x", "a#line1-2", "ok://cite/c-0123456789ab"]
)
def test_what_is_no_handle(text: str) -> None:
    """What has no document and no span is no handle."""
    assert parse_handle(text) is None


def test_quoting() -> None:
    """Characters that a shell or a URI would take for its own are percent-encoded."""
    assert quoted("a b/c#d?é~x_y-z.md") == "a%20b/c%23d%3F%C3%A9~x_y-z.md"


def test_ids_of_cites_in_text() -> None:
    """A cite is named by its id, its address or a footnote mark; other things are none."""
    named = [
        "c-0123456789ab",
        "ok://cite/c-0123456789ab",
        " [^c-0123456789ab] ",
        "c-0123456789a",
        "c-0123456789ai",
        "C-0123456789AB",
        "x",
        "",
    ]
    assert [cite_id_in(text) for text in named] == ["c-0123456789ab"] * 3 + [None] * 5


@pytest.mark.parametrize(
    ("pages", "found"),
    [
        ([[1, 0], [2, 10], [3, 10], [4, 20]], [1, 1, 3, 4]),
        ([[2, 10]], [None, None, 2, 2]),
        (None, [None] * 4),
        ("x", [None] * 4),
        ([["1", 0], 5, [1]], [None] * 4),
    ],
)
def test_pages(pages: Any, found: list[int | None]) -> None:
    """The page of an offset is the last that begins at or before it; a map that is none gives no page."""
    assert [page_at(pages, at) for at in (0, 9, 10, 25)] == found
