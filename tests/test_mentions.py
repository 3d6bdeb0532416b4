"""Titles in running text: what their form is, which runs of words have it, and when they are meant."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from okl.mentions import MOST_TEXT, MOST_WORDS, form, forms, is_meant

LIGHT = settings(max_examples=200, deadline=None)


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Ada Byron", "ada byron"),
        ("  Ada -- BYRON! ", "ada byron"),
        ("The Sea (novel)", "the sea"),
        ("(untitled)", "untitled"),
        ("2001: A Space Odyssey", "2001 a space odyssey"),
        ("snake_case_name", "snake case name"),
        ("Straße nach Ω", "strasse nach ω"),
        ("one two three four five six seven eight", "one two three four five six seven eight"),
    ],
)
def test_a_title_has_a_form(title: str, expected: str) -> None:
    """Case, punctuation and an aside do not count."""
    assert form(title) == expected


@pytest.mark.parametrize("title", ["", "  ", "C++", "1984", "Up", "Up (film)", "…", "one two three four five six seven eight nine"])
def test_a_title_that_tells_nothing_has_none(title: str) -> None:
    """Too short, too long, a bare number or no word at all."""
    assert form(title) == ""


@LIGHT
@given(
    st.text(max_size=60), st.sampled_from(["before ", "“", "[[", "(", "\n\n- ", "x, "]), st.sampled_from([" after", "”", "]]", ")", ".\n"])
)
def test_a_title_is_found_wherever_it_stands(title: str, before: str, after: str) -> None:
    """What has a form is found by it in any text, between any signs."""
    assert form(title) == "" or form(title) in forms(f"{before}{title}{after}")


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Ada Byron", "This was ADA  BYRON's idea."),
        ("Ada Byron", "An idea of Ada\nByron’s."),
        ("The keeper's log", "He wrote the keeper’s log."),
        ("Don't Panic", "It says Don’t Panic on the cover."),
        ("O’Brien Gallery", "Meet me at O'Brien Gallery."),
        ("Café Zürich", unicodedata.normalize("NFD", "We met in the Café Zürich.")),
        (unicodedata.normalize("NFD", "Café Zürich"), "We met in the Café Zürich."),
        ("Radio Kasımpaşa", "Heard on Radio Kasımpaşa."),
        ("Office ﬁve", "The office five is closed."),
    ],
)
def test_ways_of_writing_do_not_part_a_title_from_its_mention(title: str, text: str) -> None:
    """Apostrophes, possessives, line ends, ligatures and Unicode forms."""
    assert form(title) in forms(text)


def test_what_is_written_is_kept() -> None:
    """Each form tells the ways it is written in the text, as often as it stands there."""
    found = forms("Ada met ada. ADA")
    assert found["ada"] == ["Ada", "ada", "ADA"]
    assert found["ada met"] == ["Ada met"]
    assert max(len(run.split(" ")) for run in forms("w " * 50)) == MOST_WORDS


def test_a_huge_text_is_looked_at_in_part() -> None:
    """The beginning counts, so that a text of megabytes takes no longer than a page."""
    found = forms("Ada Byron " + "filler words " * 400_000 + "Charles Babbage")
    assert "ada byron" in found
    assert "charles babbage" not in found
    assert sum(len(ways) for ways in found.values()) < MOST_TEXT * MOST_WORDS


@pytest.mark.parametrize(
    ("title", "written", "meant"),
    [
        ("May", "may", False),
        ("May", "May", True),
        ("May", "MAY", True),
        ("Ada Byron", "Ada byron", False),
        ("Ada Byron", "Ada Byron", True),
        ("Ada Byron (person)", "ada byron", False),
        ("lamp oil", "Lamp oil", True),
        ("iPhone", "iphone", True),
        ("How to trim a lamp", "how to trim a lamp", True),
        ("Élan", "élan", False),
    ],
)
def test_a_short_title_is_meant_by_its_capitals(title: str, written: str, meant: bool) -> None:
    """One or two words mean a title only with its capitals; three or more always do."""
    assert is_meant(title, written) is meant
