"""The body of a note: blocks, headings, links, tags, fields, and what in it is code."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from okl.markup import Block, Heading, Link, is_tag, line_starts, name_key, plain, scan

LIGHT = settings(max_examples=100, deadline=None)
MARKS = st.lists(
    st.sampled_from(
        ["[[", "]]", "[[a]]", "![[b#c|d]]", "[x](y.md)", "(", ")", "[", "]", "[x]: y", "`", "``", "```\n", "~~~\n", "#t", "# ", "\n",
         "\n\n", "\r\n", "    ", "\t", "- ", "> ", "1. ", "%%", "<!--", "-->", "<p>", "k:: v", "^id", "|", "\\", "é", "\u2028", "\x00",
         "鯨", "=", "---\n", " ", "word"]
    ),
    max_size=40,
).map("".join)  # fmt: skip


@LIGHT
@given(st.text() | MARKS)
def test_scanning_never_raises_and_its_places_are_right(body: str) -> None:
    """Whatever the body, links begin where they stand, and blocks and headings lie in it in order."""
    found = scan(body)
    assert found.lines == line_starts(body)
    for link in found.links:
        opening = {"wiki": r"\[\[", "embed": r"!\[", "markdown": r".*\["}[link.kind]
        assert re.match(opening, body[link.start :])
        assert found.lines[found.line_of(link.start)] <= link.start
    assert [link.start for link in found.links] == sorted(link.start for link in found.links)
    edges = [edge for block in found.blocks for edge in (block.start, block.end)]
    assert edges == sorted(edges)
    assert all(0 <= block.start < block.end <= len(found.lines) for block in found.blocks)
    assert all(0 <= heading.line < len(found.lines) for heading in found.headings)
    assert all(is_tag(tag) and f"#{tag}" in body for tag in found.tags)
    assert all(body.startswith(f"^{name}", start) for name, start in found.block_ids.items())


@LIGHT
@given(st.text(max_size=50), st.text("ab\n\r", max_size=50))
def test_lines_end_at_line_feeds(one: str, other: str) -> None:
    """Lines are counted by line feeds alone, as ripgrep and editors count them."""
    text = one + other
    starts = line_starts(text)
    assert [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)] == [
        *(line + "\n" for line in text.split("\n")[:-1]),
        text.split("\n")[-1],
    ]


OPEN = (
    "See [[open]] and #open there.",
    "[[open]] #open",
    "> quoted [[open]] #open",
    "# Heading [[open]] #open",
    "**bold** [[open]] _and_ #open",
)
CODE = (
    "```\n[[secret]] #secret\n```",
    "~~~ python\n# [[secret]]\n\n#secret\n[x](secret.md)\nsecret:: x\n~~~",
    "````\n```\n[[secret]]\n```\n#secret\n````",
    "# Heading\n\n    [[secret]] #secret\n\n    [x](secret.md)",
    "# Heading\n\n\t[[secret]] #secret",
    "Words `[[secret]] #secret` and ``[x](secret.md) ` #secret``.",
    "> ```\n> [[secret]] #secret\n> ```",
    "- item\n\n      [[secret]] #secret",
    "1. item\n   ```\n   [[secret]] #secret ^secret\n   ```",
)


@LIGHT
@given(st.lists(st.sampled_from(OPEN + CODE), max_size=8), st.sampled_from(("\n", "\r\n")))
def test_nothing_in_code_is_a_link_or_tag(parts: list[str], newline: str) -> None:
    """Links and tags count outside of code and never inside: fenced, indented or inline, in lists and quotes too."""
    text = "\n\n# Next\n\n".join(parts).replace("\n", newline)
    found = scan(text)
    wanted = [at for at in range(len(text)) if text.startswith("[[open]]", at)]
    assert found.links == [Link("open", "", "", "wiki", at) for at in wanted]
    assert found.tags == (["open"] if wanted else [])
    assert (found.fields, found.block_ids) == ([], {})


@pytest.mark.parametrize(
    "body",
    ["```\n[[x]] #x\n", "```\n[[x]]\n~~~\n#x", "<!-- [[x]] #x -->", "%% [[x]]\n\n#x %%", "`a\n[[x]] #x`", "    [[x]] #x"],
)
def test_what_else_is_hidden(body: str) -> None:
    """An unclosed fence hides all that follows; comments of HTML and Obsidian hide what stands in them."""
    found = scan(body)
    assert (found.links, found.tags) == ([], [])


@pytest.mark.parametrize(
    "body",
    ["a ` b [[x]] #x", "a ` b\n\n[[x]] #x ` c", "`` a ` [[x]] #x", "%% [[x]] #x", "<!-- [[x]] #x", "word\n    [[x]] #x", "<p>[[x]] #x</p>"],
)
def test_what_is_not_hidden(body: str) -> None:
    """A mark that nothing closes, and an indented line within a paragraph, hide nothing."""
    found = scan(body)
    assert (found.links, found.tags) == ([Link("x", "", "", "wiki", body.index("[["))], ["x"])


@pytest.mark.parametrize(
    ("body", "links"),
    [
        ("[[Note]]", [Link("Note", "", "", "wiki", 0)]),
        ("x [[a/Note#Part one|the text]]", [Link("a/Note", "Part one", "the text", "wiki", 2)]),
        ("[[Note#^block]]", [Link("Note", "^block", "", "wiki", 0)]),
        ("![[image.png|300]]", [Link("image.png", "", "300", "embed", 0)]),
        ("| [[Note\\|text]] |", [Link("Note", "", "text", "wiki", 2)]),
        ("[[#Part]]", []),
        ("[[ ]] [[]]", []),
        ("[[a]][[b]]", [Link("a", "", "", "wiki", 0), Link("b", "", "", "wiki", 5)]),
        ("[[a [[b]]", [Link("b", "", "", "wiki", 4)]),
        ("[[a\nb]]", []),
        ("[text](../a%20b.md#part%20two)", [Link("../a b.md", "part two", "text", "markdown", 0)]),
        ("[text](<a b.md> \"title\")", [Link("a b.md", "", "text", "markdown", 0)]),
        ("[t](a_(b).md)", [Link("a_(b).md", "", "t", "markdown", 0)]),
        ("![alt](pic.png)", [Link("pic.png", "", "alt", "embed", 0)]),
        ("[a](https://a.b/c.md) [b](mailto:x@y) [c](#part) [d](//host/x)", []),
        ("[ref]: notes/a.md 'title'", [Link("notes/a.md", "", "ref", "markdown", 0)]),
        ("[^1]: a footnote", []),
        ("鯨 😀 [[Note]]", [Link("Note", "", "", "wiki", 4)]),
    ],
)  # fmt: skip
def test_links(body: str, links: list[Link]) -> None:
    """Wikilinks, embeds, Markdown links and link definitions to notes are found at their offset; web addresses are none."""
    assert scan(body).links == links


@pytest.mark.parametrize(
    ("body", "tags"),
    [
        ("#a and #b/c, then #A", ["a", "b/c", "A"]),
        ("#a #a", ["a"]),
        ("#2026 #2026/05 #v2 #1st", ["v2", "1st"]),
        ("x#a /#b c#d", []),
        ("(#a) “#b” *#c* #d. #e!", ["a", "b", "c", "d", "e"]),
        ("# heading\n#tag", ["tag"]),
        ("##a #", []),
        ("#ünï #鯨 #with-dash #with_line", ["ünï", "鯨", "with-dash", "with_line"]),
        ("#a/ #/b", ["a", "b"]),
        ("[x](y.md#part) [[n#part]] https://a.b/#c", []),
        ("&#39; color: #fff", ["fff"]),
    ],
)
def test_tags(body: str, tags: list[str]) -> None:
    """A tag stands after a blank or an opening mark, has one character that is no digit, and counts once."""
    assert scan(body).tags == tags


def test_what_may_be_a_tag() -> None:
    """A tag needs a letter or sign; digits, dashes and slashes alone make none."""
    assert [is_tag(text) for text in ("a", "1a", "é", "1984", "20/26", "-", "")] == [True, True, True, False, False, False, False]


def test_headings_and_blocks() -> None:
    """Blocks are the top-level pieces in order, without the blank lines behind them; headings come with level, words and line."""
    body = (
        "# One [[a|b]]\n\nText\nmore\n\n- x\n\n- y\n  # in a list\n\n\n```\n# code\n```\n\nTwo\n===\n\n"
        "> quote\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n***\n<p>\nx\n</p>\n\n    code\n\n"
    )
    found = scan(body)
    assert found.headings == [Heading(1, "One b", 0), Heading(1, "in a list", 8), Heading(1, "Two", 15)]
    assert found.blocks == [
        Block("heading", 0, 1),
        Block("paragraph", 2, 4),
        Block("list", 5, 9),
        Block("code", 11, 14),
        Block("heading", 15, 17),
        Block("quote", 18, 19),
        Block("paragraph", 20, 23),
        Block("rule", 24, 25),
        Block("html", 25, 28),
        Block("code", 29, 30),
    ]


def test_carriage_returns_do_not_count() -> None:
    """A file with Windows line endings has the same headings, blocks and tags."""
    body = "# One\n\nText #t\n\n```\n[[a]]\n```\n- x [[b]]\n"
    one, other = scan(body), scan(body.replace("\n", "\r\n"))
    assert (one.headings, one.blocks, one.tags) == (other.headings, other.blocks, other.tags)
    assert [(link.target, other.line_of(link.start)) for link in other.links] == [("b", 7)]


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ("status:: done", [("status", "done")]),
        ("- [ ] due:: 2026-05-04\n- **who**:: Ada [[A]]", [("due", "2026-05-04"), ("who", "Ada [[A]]")]),
        ("Text with [rating:: 5] and (hidden:: yes).", [("rating", "5"), ("hidden", "yes")]),
        ("two words:: x", [("two words", "x")]),
        ("a::b", []),
        ("std::vector and 12:: x", []),
        ("`code:: x`", []),
    ],
)
def test_fields(body: str, fields: list[tuple[str, str]]) -> None:
    """Dataview's fields are found on lines of their own, in list items and in brackets, their values as written."""
    assert scan(body).fields == fields


def test_block_ids() -> None:
    """A block id ends a line; in the middle of one it is text."""
    assert scan("A line ^one\n\nA ^not line\n\n^two\n").block_ids == {"one": 7, "two": 26}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("**Bold** and `code`", "Bold and code"),
        ("[[a/b#c|shown]] and [[d]]", "shown and d"),
        ("[shown](a.md) snake_case _em_", "shown snake_case em"),
        ("Words ^id", "Words"),
        ("  two   blanks ", "two blanks"),
    ],
)
def test_plain_words(text: str, words: str) -> None:
    """A heading's words are shown without the marks around them."""
    assert plain(text) == words


def test_names_are_compared_loosely() -> None:
    """Names are the same in any case, in NFC and NFD, and with any white space."""
    assert {name_key(name) for name in ("Café  au lait", "CAFE\u0301 AU\tLAIT", "café au lait")} == {"café au lait"}
