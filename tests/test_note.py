"""A note: text becomes values and values become text, without losing a byte."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from okl import note
from okl.errors import Conflict
from okl.note import Note, compose, decode, dumps, loads, parse, texts, utc, with_body, with_head, writable
from okl.properties import Problem

LIGHT = settings(max_examples=100, deadline=None)
FENCED = st.lists(
    st.sampled_from(
        [
            "---",
            "---\n",
            "--- \n",
            "---\r\n",
            "\n",
            "\r\n",
            "\r",
            "a: 1\n",
            "b: [x\n",
            "# c\n",
            "\ufeff",
            "text",
            "- x\n",
            "...\n",
            "é",
            "\x00",
        ]
    ),
    max_size=12,
).map("".join)


@LIGHT
@given(st.text() | FENCED)
def test_a_note_is_its_text_again(text: str) -> None:
    """Reading a note and writing it gives the same text, whatever the text."""
    found = loads("a.md", text)
    assert dumps(found) == text
    assert found.first_line == 1 + text[: len(text) - len(found.body)].count("\n")


@LIGHT
@given(st.binary() | st.text().map(str.encode) | FENCED.map(str.encode))
def test_bytes_that_decode_come_back(data: bytes) -> None:
    """Any bytes are read without an error, and those that are UTF-8 come back the same."""
    found = parse("a.md", data)
    assert isinstance(found.title, str)
    assert all(problem.line >= 1 for problem in found.problems)
    if not {problem.name for problem in found.faults} & {"invalid-utf8", "binary-file"}:
        assert dumps(found).encode() == data


@LIGHT
@given(FENCED, st.text(max_size=30))
def test_another_body_keeps_the_frontmatter(text: str, body: str) -> None:
    """A new body leaves everything before it as it is."""
    found = loads("a.md", text)
    before = text[: len(text) - len(found.body)]
    assert with_body(found, body).startswith(before)
    assert with_body(found, body)[len(before) :].replace("\r\n", "\n") == body.replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("text", "parts", "values"),
    [
        ("---\na: 1\n---\nText\n", ("", "---\n", "a: 1\n", "---\n", "Text\n"), {"a": 1}),
        ("\ufeff---\r\na: 1\r\n---\r\nText", ("\ufeff", "---\r\n", "a: 1\r\n", "---\r\n", "Text"), {"a": 1}),
        ("---\n---\nText", ("", "---\n", "", "---\n", "Text"), {}),
        ("---\na: 1\n---", ("", "---\n", "a: 1\n", "---", ""), {"a": 1}),
        ("--- \na: 1\n--- \n\nText", ("", "--- \n", "a: 1\n", "--- \n", "\nText"), {"a": 1}),
        ("---\na: 1\n----\n---\nText", ("", "---\n", "a: 1\n----\n", "---\n", "Text"), {}),
        ("---\nA rule above\n", ("", "", None, "", "---\nA rule above\n"), {}),
        ("\n---\na: 1\n---\n", ("", "", None, "", "\n---\na: 1\n---\n"), {}),
        ("Text", ("", "", None, "", "Text"), {}),
        ("\ufeffText", ("\ufeff", "", None, "", "Text"), {}),
        ("", ("", "", None, "", ""), {}),
    ],
)
def test_the_parts_of_a_note(text: str, parts: tuple[str | None, ...], values: dict[str, Any]) -> None:
    """Frontmatter stands between --- lines at the very beginning; the body begins right after the newline that ends it."""
    found = loads("a.md", text)
    assert (found.bom, found.opening, found.head, found.closing, found.body) == parts
    assert found.values == values


def test_lines_count_from_the_top_of_the_file() -> None:
    """The body's first line and the lines of problems are those of the file, as an editor counts them."""
    found = loads("a.md", "---\na: 1\na: 2\n---\nText\n<<<<<<< ours\n")
    assert found.first_line == 5
    assert found.problems == [
        Problem("duplicate-key", 3, "“a” stands twice; the last one counts"),
        Problem("conflict-markers", 6, "git's conflict markers stand in the text"),
    ]


@pytest.mark.parametrize(
    ("data", "text", "problems"),
    [
        (b"plain \xc3\xa9", "plain é", []),
        (b"one\ntwo \xff\n", "one\ntwo \ufffd\n", [("invalid-utf8", 2)]),
        ("é".encode("utf-16"), "é", [("invalid-utf8", 1)]),
        (b"one\ntwo" + b"x" * 100 + b"\x00", "one\ntwo" + "x" * 100 + "\x00", [("nul-bytes", 2)]),
        (bytes(range(256)), "", [("binary-file", 1)]),
        (b"\x00\x01\x02abc", "", [("binary-file", 1)]),
        (b"", "", []),
    ],
)
def test_bytes_that_are_no_utf8(data: bytes, text: str, problems: list[tuple[str, int]]) -> None:
    """Invalid UTF-8 is read all the same and named with its line; a binary file has no text."""
    found, faults = decode(data)
    assert (found, [(fault.name, fault.line) for fault in faults]) == (
        text.removeprefix("\ufeff") if data[:2] != b"\xff\xfe" else found,
        problems,
    )
    assert text in found


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("---\na: [1\n---\n", ["broken-yaml"]),
        ("---\na: 1\nText without end\n", ["broken-yaml"]),
        ("---\n\nA rule above\n", []),
        ("---\n- a\n---\n", ["broken-yaml"]),
        ("---\nts: soon\n---\n", ["bad-date"]),
        ("---\n_depth: 1\n---\n", ["system-key"]),
        ("---\nid: [a]\n---\n", ["bad-id"]),
        ("---\nid:\n---\n", ["bad-id"]),
        ("a\n=======\nb\n>>>>>>> theirs\n", ["conflict-markers"]),
        ("<<<<<<<< no marker\n", []),
    ],
)
def test_problems(text: str, names: list[str]) -> None:
    """What is wrong with a note is listed by name, never raised."""
    assert [problem.name for problem in loads("a.md", text).problems] == names


@pytest.mark.parametrize("data", [b"---\na: [1\n---\n", b"\xff text", b"\x00\x00", b"---\na: &x 1\nb: *x\n---\n"])
def test_what_is_not_understood_is_not_rewritten(data: bytes) -> None:
    """A note that is not fully understood may not be written, so that nothing in it is harmed."""
    with pytest.raises(Conflict, match=r"a\.md line 1|a\.md line 2|a\.md line 3"):
        writable(parse("a.md", data))


def test_what_is_understood_may_be_written() -> None:
    """A note with odd keys or dates may be written."""
    found = parse("a.md", b"---\na: 1\na: 2\nts: soon\n---\n")
    assert writable(found) is found


def test_frontmatter_is_added_in_the_style_of_the_file() -> None:
    """Frontmatter that a note did not have is put before its body, behind a BOM and with the file's line endings."""
    assert with_head(loads("a.md", "\ufeffText\r\n"), "a: 1\r\n") == "\ufeff---\r\na: 1\r\n---\r\nText\r\n"
    assert with_head(loads("a.md", "--- \na: 1\n---\t\nText"), "b: 2\n") == "--- \nb: 2\n---\t\nText"


def test_a_new_note() -> None:
    """A new note is written with its properties, or without fences where it has none."""
    assert [compose({"id": "m-1", "tags": ["a"]}, "Text\n"), compose({}, "Text\n")] == ["---\nid: m-1\ntags:\n  - a\n---\nText\n", "Text\n"]


@pytest.mark.parametrize(
    ("path", "kind", "name"),
    [
        ("a/b.md", "note", "b"),
        ("memories/by_date/2026-05/04/m-1.md", "memory", "m-1"),
        ("store/normalized/x/paper.pdf.ok.md", "doc", "paper.pdf"),
        ("a.ok.md", "note", "a.ok"),
    ],
)
def test_kind_and_name(path: str, kind: str, name: str) -> None:
    """What a file is follows from where it lies; its name is the file's without the ending."""
    assert (loads(path, "").kind, loads(path, "").name) == (kind, name)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: The  title\n---\n# Heading\n", "The title"),
        ("---\ntitle: 1984\n---\n", "1984"),
        ("---\ntitle: true\n---\n# Heading\n", "Heading"),
        ("\n\n# A *good* heading\n", "A good heading"),
        ("Setext\n===\n", "Setext"),
        ("Text first\n\n# Heading\n", "file"),
        ("## Second level\n", "file"),
        ("#\n", "file"),
        ("", "file"),
    ],
)
def test_title(text: str, title: str) -> None:
    """The title is the property, else the heading that opens the note, else the file's name."""
    assert loads("x/file.md", text).title == title


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("---\ntags: [a, b/c, '#d']\n---\nText #e #f\n", ["a", "b/c", "d", "e", "f"]),
        ("---\ntags: a, b c\n---\n", ["a", "b", "c"]),
        ("---\ntag: one\n---\n", ["one"]),
        ("---\ntags:\n- 2026\n- true\n- [x]\n---\n", ["true"]),
        ("---\ntags:\n---\n#x\n", ["x"]),
    ],
)
def test_tags(text: str, tags: list[str]) -> None:
    """Tags come from the frontmatter and the body, each once, as it was first written."""
    assert loads("a.md", text).tags == tags


def test_a_tag_in_two_cases_is_one() -> None:
    """A tag that is written in two ways counts once, as it was first written."""
    assert sorted(loads("a.md", "---\ntags: [Light, sea]\n---\n#light #SEA #sea/deep\n").tags) == ["Light", "sea", "sea/deep"]


def test_pairs() -> None:
    """Properties that okl does not know are searchable as key=value, and so are Dataview's fields."""
    found = loads("a.md", "---\ntitle: x\nrating: 5\ncolors: [red, blue]\ndone: true\n_depth: 1\nempty:\n---\nmood:: calm\nrating:: 5\n")
    assert found.pairs == [("rating", "5"), ("colors", "red"), ("colors", "blue"), ("done", "true"), ("mood", "calm")]


def test_links_in_properties() -> None:
    """Wikilinks in properties are links, quoted or not; in related and supersedes plain names are links too."""
    found = loads(
        "a.md", "---\nup: '[[Top#Part|text]]'\npeople: ['[[Ada]]', Bob]\nraw: [[Bare]]\nrelated: [one, '[[two]]']\nsupersedes: old\n---\n"
    )
    assert found.property_links == [
        ("up", "Top", "Part"),
        ("people", "Ada", ""),
        ("raw", "Bare", ""),
        ("related", "one", ""),
        ("related", "two", ""),
        ("supersedes", "old", ""),
    ]


@pytest.mark.parametrize(
    ("path", "head", "trust"),
    [
        ("a.md", "", "human"),
        ("store/normalized/a.ok.md", "trust: human\n", "external"),
        ("a.md", "trust: agent\n", "agent"),
        ("a.md", "source_agent: claude\n", "agent"),
        ("a.md", "generated: {by: 'model:x'}\n", "agent"),
        ("a.md", "generated: {by: 'human:anna'}\n", "human"),
        ("a.md", "generated: {by: 'model:x'}\nverified: [{by: 'human:anna'}]\n", "human"),
    ],
)
def test_trust(path: str, head: str, trust: str) -> None:
    """Text from outside is external, a model's is the agent's until a person verified it, all else is human."""
    assert loads(path, f"---\n{head}---\n").trust == trust


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2026-05-04", "2026-05-04T00:00:00Z"),
        ("2026/05/04", "2026-05-04T00:00:00Z"),
        ("2026-05-04T12:30", "2026-05-04T12:30:00Z"),
        ("2026-05-04 12:30:15Z", "2026-05-04T12:30:15Z"),
        ("2026-05-04T12:30:00+09:00", "2026-05-04T03:30:00Z"),
        ("0001-01-01T00:00:00+09:00", ""),
        ("2026-02-30", ""),
        ("soon", ""),
        ("", ""),
        (20260504, ""),
        (None, ""),
    ],
)
def test_moments(value: Any, moment: str) -> None:
    """Dates and times are UTC to the second; what is no date is empty."""
    assert utc(value) == moment


def test_dates() -> None:
    """A note was made when created, ts or date say so, and changed when updated or one of them does."""
    found = [
        loads("a.md", f"---\n{head}---\n")
        for head in ("ts: 2026-01-02\n", "created: 2026-01-01\nupdated: 2026-01-03\nexpires: 2027-01-01\n", "")
    ]
    assert [(one.created[:10], one.updated[:10], one.expires[:10]) for one in found] == [
        ("2026-01-02", "2026-01-02", ""),
        ("2026-01-01", "2026-01-03", "2027-01-01"),
        ("", "", ""),
    ]


def test_values_as_texts() -> None:
    """One value or a list of them is a list of words; nothing, lists in lists and mappings are left out."""
    assert [texts(value) for value in (None, "a  b", 5, True, ["x", None, 1.5, ["y"], {"z": 1}, "", False])] == [
        [],
        ["a b"],
        ["5"],
        ["true"],
        ["x", "1.5", "false"],
    ]


def test_a_claimed_id() -> None:
    """The id a note claims is its text, a number's digits included."""
    assert [loads("a.md", f"---\n{head}---\n").claim for head in ("id: m-1\n", "id: 12\n", "id: true\n", "id: '  '\n", "")] == [
        "m-1",
        "12",
        None,
        None,
        None,
    ]


def test_the_hash_of_a_body() -> None:
    """The body's hash does not depend on the frontmatter."""
    one, other = loads("a.md", "---\na: 1\n---\nText"), loads("b.md", "Text")
    assert one.body_sha256 == other.body_sha256 == note.sha256("Text") == "71988c4d8e0803ba4519f0b2864c1331c14a1890bf8694e251379177bfedb5c3"


def test_line_endings() -> None:
    """A file's line ending is the one of its frontmatter and beginning."""
    assert [loads("a.md", text).newline for text in ("a\nb\r\n", "a\n", "", "---\r\na: 1\r\n---\r\n")] == ["\r\n", "\n", "\n", "\r\n"]
    found: Note = loads("a.md", "a\r\n")
    assert with_body(found, "x\ny\r\nz\n") == "x\r\ny\r\nz\r\n"
