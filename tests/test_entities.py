"""Entities and key phrases."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from okl.entities import Entity, entities, key_phrases

TEXT = (
    "The Carrington Event of 1859 was an intense geomagnetic storm. Richard Carrington and the Royal Astronomical Society of London "
    "wrote it down on 1 September 1859. Walking home, he kept walking. See https://Example.com/Foo and [[Isaac Newton|Newton's]] laws. "
    "J. R. R. Tolkien met Dr. Ada Lovelace in May 2020, on 2024-05-01 and in the 1990s.\n- GPT-4 and HTTP\n# Łódź\nÉmile Zola"
)


def names(text: str, type: str) -> list[str]:
    return [entity.name for entity in entities(text) if entity.type == type]


def test_capitals_tell_names() -> None:
    """Runs of words with capitals, joined by `of` and the like; not a sentence's first word, nor an address."""
    assert names(TEXT, "name") == [
        "Carrington Event",
        "Richard Carrington",
        "Royal Astronomical Society of London",
        "Isaac Newton",
        "Newton",
        "J. R. R. Tolkien",
        "Dr. Ada Lovelace",
        "GPT-4 and HTTP",
        "Łódź",
        "Émile Zola",
    ]


def test_dates_are_found() -> None:
    """Years, days, months and decades; not any number."""
    assert sorted(names(TEXT, "date")) == ["1 September 1859", "1859", "1990s", "2024-05-01", "May 2020"]
    assert names("Port 8080, 1024 bytes, 12, May I? v2.2020", "date") == []
    assert names("April 3rd, 2021; 5th of May 1999; 1914–1918; 2024-05-01T10:00", "date") == [
        "April 3rd, 2021",
        "5th of May 1999",
        "1914–1918",
        "2024-05-01",
    ]


def test_a_type_is_told_by_the_name_alone() -> None:
    """One name is of one type, in whatever text it stands."""
    assert entities("We use HTTP, GPT-4, not Apache.") == [Entity("HTTP", "term"), Entity("GPT-4", "term"), Entity("Apache", "name")]


def test_words_that_only_begin_a_sentence_are_no_names() -> None:
    """A word that also stands there in small letters, and words that carry no meaning."""
    assert entities("However, we stayed. Monday came. Rain fell, and rain it was. The end.") == []
    assert names("Rain fell on Bergen. It poured.", "name") == ["Rain", "Bergen"]


def test_long_spans_are_parted_at_and() -> None:
    """Two full names side by side are two; a run without an end is none."""
    assert names("We met Elon Musk and Jeff Bezos and Bill Gates.", "name") == ["Elon Musk", "Jeff Bezos", "Bill Gates"]
    assert entities("X" * 5000) == []


def test_key_phrases_are_the_names_that_come_most() -> None:
    """By frequency, then by place; at most so many."""
    assert key_phrases("Ada met Bob Ray. Then Bob Ray met Ada, and Bob Ray left for Oslo in 1999.", most=2) == ["Bob Ray", "Ada"]


def test_where_there_are_no_names_telling_words_stand_in() -> None:
    """Runs of words that are not stop words, the most frequent first."""
    text = "the strawberries are sweet, and the strawberries grow in a greenhouse near the lake. really."
    assert key_phrases(text) == ["strawberries", "sweet", "strawberries grow", "greenhouse near", "lake"]
    assert key_phrases("") == []


@given(st.text() | st.text(alphabet="Aa .\n,0123456789'-&ofandthe[]/é海", max_size=300))
def test_any_text_is_safe(text: str) -> None:
    """Entities stand in the text, but for the blanks between them, and phrases are never more than asked for."""
    plain = " ".join(text.replace(" & ", " and ").split())
    assert all(entity.name.replace(" & ", " and ") in plain or entity.type == "date" for entity in entities(text))
    assert len(key_phrases(text, 3)) <= 3


@pytest.mark.parametrize("part", ["A ", "a", "A", "a.A", ". ", "1", "A of the ", "\n", "May ", "A'", "\n ", "1 January "])
def test_time_grows_with_the_text_alone(part: str) -> None:
    """A long monotonous text is read to its end; it would take hours if any pattern went back and forth."""
    text = part * (600_000 // len(part))
    assert len(entities(text)) <= 2
    assert len(key_phrases(text)) <= 2
