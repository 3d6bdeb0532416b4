"""What a person types into a search."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from okl.errors import UsageError
from okl.query import SENTENCE, Filters, Query, any_path_matches, moment, parse, path_matches

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
LIGHT = settings(max_examples=100, deadline=None)
PARTS = st.lists(
    st.sampled_from(
        ["tag:", "topic:", "key:", "path:", "kind:", "note", "-", '"', "word", " ", "\n", "a/b*", "-x", "(", "AND", ":", "é", '""']
    ),
    max_size=12,
).map("".join)


@LIGHT
@given(st.text() | PARTS)
def test_any_text_is_a_query(text: str) -> None:
    """Whatever is typed is a query, never an error."""
    found = parse(text)
    assert found.text == text
    assert not found.is_empty or not found.words.strip()


@LIGHT
@given(st.lists(st.from_regex(r"[^\W_]\w{0,8}[?!.,)]?", fullmatch=True), max_size=6))
def test_plain_words_stay_words(words: list[str]) -> None:
    """Words with their punctuation are searched for as they stand."""
    assert parse("  ".join(words)) == Query("  ".join(words), " ".join(words))


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("", Query("", "")),
        ('old "light house" keeper', Query('old "light house" keeper', "old keeper", ("light house",))),
        ('light -ship -"white whale"', Query('light -ship -"white whale"', "light", without=("ship", "white whale"))),
        (
            'tag:sea topic:"deep sea" key:whale path:notes/* kind:memory -tag:old -path:tmp',
            Query(
                'tag:sea topic:"deep sea" key:whale path:notes/* kind:memory -tag:old -path:tmp',
                "",
                filters=Filters(("sea",), ("deep sea",), ("whale",), ("notes/*",), ("memory",), not_tags=("old",), not_paths=("tmp",)),
            ),
        ),
        ("tag:a tag:b x", Query("tag:a tag:b x", "x", filters=Filters(tags=("a", "b")))),
        ("tag:k=v", Query("tag:k=v", "", filters=Filters(tags=("k=v",)))),
        ("kind:whale", Query("kind:whale", "kind:whale")),
        ("tag: x", Query("tag: x", "tag: x")),
        ("a - b -- c", Query("a - b -- c", "a - b - c")),
        ('say "unclosed words', Query('say "unclosed words', 'say "unclosed words')),
        ("what's C++ (and) 5 > 3?", Query("what's C++ (and) 5 > 3?", "what's C++ (and) 5 > 3?")),
        ("well-known e-mail", Query("well-known e-mail", "well-known e-mail")),
    ],
)
def test_how_queries_are_read(text: str, query: Query) -> None:
    """Phrases, words that must not stand, and filters are taken apart; the rest are words."""
    assert parse(text) == query


def test_filters_add_up() -> None:
    """Filters of the call and filters in the text must both hold."""
    found = parse("tag:b x", Filters(tags=("a",), since="2026-01-01T00:00:00Z"))
    assert found.filters == Filters(tags=("a", "b"), since="2026-01-01T00:00:00Z")


def test_what_is_empty() -> None:
    """A query without words, phrases and filters asks for nothing."""
    queries = [
        parse(""),
        parse("  "),
        parse('""'),
        parse('"a b"'),
        parse("tag:x"),
        parse("x"),
        Query("", "", filters=Filters(include_superseded=True)),
    ]
    assert [one.is_empty for one in queries] == [True, True, True, False, False, False, True]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2026-01-31", "2026-01-31T00:00:00Z"),
        (" 2026-01-31T09:00:00+09:00 ", "2026-01-31T00:00:00Z"),
        ("P7D", "2026-04-27T12:00:00Z"),
        ("7d", "2026-04-27T12:00:00Z"),
        ("2w", "2026-04-20T12:00:00Z"),
        ("1m", "2026-04-04T12:00:00Z"),
        ("1y", "2025-05-04T12:00:00Z"),
        ("PT6H", "2026-05-04T06:00:00Z"),
        ("P1DT12H", "2026-05-03T00:00:00Z"),
    ],
)
def test_moments(text: str, found: str) -> None:
    """A moment is a date, a time, or a duration before now."""
    assert moment(text, NOW) == found


@pytest.mark.parametrize("text", ["", "p", "soon", "7", "d", "7x", "2026-02-30", "-7d"])
def test_what_is_no_moment(text: str) -> None:
    """What is neither a date nor a duration is a usage error that shows both forms."""
    with pytest.raises(UsageError, match=r"is no date \(2026-01-31\) and no duration \(P7D, 2w\)"):
        moment(text, NOW)


@pytest.mark.parametrize(
    ("wanted", "matching"),
    [
        ("notes", ["notes/a.md", "notes/b/c.md"]),
        ("Notes/", ["notes/a.md", "notes/b/c.md"]),
        ("notes/a", ["notes/a.md"]),
        ("notes/a.md", ["notes/a.md"]),
        ("note", []),
        ("*/a.md", ["notes/a.md"]),
        ("notes/*", ["notes/a.md", "notes/b/c.md"]),
        ("c.m?", ["notes/b/c.md"]),
        ("*/[bc]", ["notes/b/c.md"]),
    ],
)
def test_paths(wanted: str, matching: list[str]) -> None:
    """A path filter takes a file, all below a folder, or a glob, in any case."""
    assert [path for path in ("notes/a.md", "notes/b/c.md", "notebook/x.md") if path_matches(path, wanted)] == matching


def test_any_of_several_paths() -> None:
    """A path matches a list when it matches one of it."""
    assert [any_path_matches("a/b.md", wanted) for wanted in (["x", "a"], ["x"], [])] == [True, False, False]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        (
            'who wrote the poem "The Waste Land" in London',
            Query(
                'who wrote the poem "The Waste Land" in London', "who wrote the poem The Waste Land in London", quotes=("The Waste Land",)
            ),
        ),
        ('one two three four "a b"', Query('one two three four "a b"', "one two three four", ("a b",))),
        ('"a b" one two three four five', Query('"a b" one two three four five', "a b one two three four five", quotes=("a b",))),
        (
            'one two "a b" three four "c d" five -x',
            Query('one two "a b" three four "c d" five -x', "one two a b three four c d five", quotes=("a b", "c d"), without=("x",)),
        ),
        (
            'one two three four -"not this" tag:sea "a b"',
            Query(
                'one two three four -"not this" tag:sea "a b"', "one two three four", ("a b",), (), ("not this",), Filters(tags=("sea",))
            ),
        ),
        ('one two three four five ""', Query('one two three four five ""', "one two three four five ")),
    ],
)
def test_a_sentence_may_quote(text: str, query: Query) -> None:
    """Beside five words or more what stands in quotation marks is quoted, no condition; filters and unwanted words do not count as words."""
    assert parse(text) == query


@LIGHT
@given(
    st.lists(st.from_regex(r"[a-z]{1,8}", fullmatch=True), max_size=10),
    st.lists(st.from_regex(r"[a-z]{1,5} [a-z]{1,5}", fullmatch=True), max_size=3),
)
def test_a_phrase_is_a_condition_or_a_quote(words: list[str], phrases: list[str]) -> None:
    """Never both and never neither; the words of a quote are searched as well."""
    found = parse(" ".join([*words, *(f'"{phrase}"' for phrase in phrases)]))
    assert [*found.phrases, *found.quotes] == phrases
    assert not (found.phrases and found.quotes)
    assert bool(found.quotes) == (len(words) >= SENTENCE and bool(phrases))
    assert found.words.split() == [*words, *" ".join(found.quotes).split()]
