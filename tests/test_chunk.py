"""Chunks: the spans of a note that are found and cited."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from okl.index import chunk
from okl.index.chunk import Chunk, chunks
from okl.note import loads, sha256

LIGHT = settings(max_examples=100, deadline=None)
BLOCKS = (
    "A short paragraph.",
    "One sentence here. Another sentence there! A third one?\nAnd a line.",
    "- item one\n- item two\n\n  more of it\n- item three",
    "```python\nx = 1\n\ny = 2\n```",
    "    indented code",
    "> a quote\n> of two lines",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "<div>\nhtml\n</div>",
    "***",
    "[ref]: target.md",
    "鯨は海に住む。大きい。" * 8,
    "word " * 150,
    "x" * 500,
    "\u2028odd\u00a0blanks\x0b\x0c here\x1c",
    "```\nnever closed",
)
HEADINGS = ("# One", "## Two", "### Three *marked*", "Setext\n======", "#")


def bodies(*blocks: str) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(blocks), max_size=8).flatmap(
        lambda parts: st.sampled_from(["\n", "\n\n", "\r\n\r\n", "\n\n\n"]).map(lambda gap: gap.join(parts))
    )


@LIGHT
@given(st.text() | bodies(*BLOCKS, *HEADINGS), st.integers(8, 100), st.integers(0, 50), st.sampled_from(["", "---\na: 1\n---\n"]))
def test_chunks_cover_the_text(body: str, limit: int, overlap: int, head: str) -> None:
    """Every character that is no blank lies in a chunk; chunks stand in order, know their lines and hash their text."""
    note = loads("a.md", head + body)
    found = chunks(note, limit, overlap)
    covered = {at for one in found for at in range(one.start, one.end)}
    assert [at for at, c in enumerate(note.body) if not c.isspace() and at not in covered] == []
    assert [one.start for one in found] == sorted({one.start for one in found})
    assert [one.end for one in found] == sorted({one.end for one in found})
    assert all(0 <= one.start <= one.end <= len(note.body) for one in found)
    for one in found:
        first = note.first_line + note.body.count("\n", 0, one.start)
        last = note.first_line + note.body.count("\n", 0, max(one.start, one.end - 1))
        assert (one.line_start, one.line_end, one.sha256) == (first, last, sha256(note.body[one.start : one.end]))


@LIGHT
@given(bodies(*BLOCKS), st.integers(8, 100), st.integers(0, 50))
def test_chunks_hold_at_most_the_limit(body: str, limit: int, overlap: int) -> None:
    """No chunk of running text holds more tokens than the limit, so that the embedder reads all of it."""
    sizes = [len(chunk._TOKEN.findall(body, one.start, one.end)) for one in chunks(loads("a.md", body), limit, overlap)]
    assert [size for size in sizes if size > limit] == []


def spans(body: str, limit: int = 512, overlap: int = 128) -> list[str]:
    return [body[one.start : one.end] for one in chunks(loads("a.md", body), limit, overlap)]


def test_a_note_without_text_has_one_chunk() -> None:
    """An empty note has one chunk, so that its title is found."""
    nothing = sha256("")
    assert chunks(loads("a.md", ""), 512, 128) == [Chunk(0, 0, 1, 1, (), nothing)]
    assert chunks(loads("a.md", "---\na: 1\n---\n"), 512, 128) == [Chunk(0, 0, 4, 4, (), nothing)]


def test_a_small_note_is_one_chunk() -> None:
    """Small sections are packed together rather than split at each heading."""
    body = "# One\n\nText.\n\n## Two\n\nMore.\n\n```\ncode\n```\n"
    assert spans(body) == [body.strip()]


def test_a_heading_opens_a_chunk() -> None:
    """A section begins a chunk of its own once the one before is not tiny, and carries the path of its headings."""
    long = "word " * 80
    body = f"# One\n\n{long}\n\n## Two\n\n{long}\n\n# Three\n\n{long}"
    found = chunks(loads("a.md", body), 512, 128)
    assert [body[one.start : one.end].split("\n")[0] for one in found] == ["# One", "## Two", "# Three"]
    assert [one.headings for one in found] == [("One",), ("One", "Two"), ("Three",)]
    assert [(one.line_start, one.line_end) for one in found] == [(1, 3), (5, 7), (9, 11)]


def test_a_heading_is_not_left_behind() -> None:
    """A heading stays with the text below it when the chunk before is full."""
    body = f"{'word ' * 40}\n\n# Head\n\n{'more ' * 30}"
    assert [one.strip().split("\n")[0].split()[0] for one in spans(body, 60, 0)] == ["word", "#"]


def test_blocks_stay_whole_where_they_fit() -> None:
    """A paragraph, list, table or code block is not cut where it fits in a chunk."""
    blocks = ["one " * 20, "- a b c\n- d e f\n- " + "g " * 14, "```\n" + "h " * 14 + "\n```", "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 2]
    blocks = [block.strip() for block in blocks]
    assert spans("\n\n".join(blocks), 24, 8) == blocks


def test_long_text_is_cut_at_sentences_with_an_overlap() -> None:
    """A long paragraph is cut into windows at sentences' ends, each beginning with the end of the one before."""
    sentences = [f"Sentence number {n} has seven words. " for n in range(20)]
    body = "".join(sentences).strip()
    found = chunks(loads("a.md", body), 32, 8)
    assert len(found) > 5
    assert {body[one.end - 1] for one in found} == {"."}
    shared = [body[later.start : earlier.end] for earlier, later in pairwise(found)]
    assert {len(chunk._TOKEN.findall(text)) for text in shared} == {8}


def test_the_last_word_of_a_huge_note_is_in_a_chunk() -> None:
    """A word at the end of a long note without any structure lies in its last chunk."""
    body = "word " * 60_000 + "zyzzyva"
    assert spans(body)[-1].endswith(" zyzzyva")
