"""The part of a text that shows why it was found."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from okl.snippet import WIDTH, Snippet, snippet

LIGHT = settings(max_examples=100, deadline=None)
WORDS = st.lists(
    st.sampled_from(["whale", "Whales", "sea", "light", "a", "deep-sea", "é", "鯨が海に", "x" * 30, ",", "\n", "  "]), max_size=120
).map(" ".join)


def terms(word: str) -> list[str]:
    """Lower-case stems, and each character of a word that is no ASCII."""
    return [word.lower().removesuffix("s")] if word.isascii() else list(word)


def marked(found: Snippet) -> list[str]:
    return [found.text[a:b] for a, b in found.marks]


@LIGHT
@given(st.text() | WORDS, st.sets(st.sampled_from(["whale", "sea", "é", "海", "zebra"])), st.integers(20, 300))
def test_a_snippet_is_one_short_line(text: str, wanted: set[str], width: int) -> None:
    """A snippet is one line of the text, not much longer than asked, and its marks lie in it in order."""
    found = snippet(text, wanted, terms, width)
    assert len(found.text) <= width + len("…  …") + 1
    assert found.text.removeprefix("… ").removesuffix(" …") in " ".join(text.split())
    edges = [edge for mark in found.marks for edge in mark]
    assert edges == sorted(set(edges))
    assert all(0 <= edge <= len(found.text) for edge in edges)
    assert all(any(term in wanted for term in terms(word)) for word in marked(found))


@LIGHT
@given(WORDS)
def test_the_word_that_was_found_is_shown(text: str) -> None:
    """If a wanted word stands in the text, at least one is shown."""
    assert bool(snippet(text, {"whale"}, terms).marks) == ("hale" in text)


def test_a_short_text_is_shown_whole() -> None:
    """A text that fits is shown whole, its white space folded and each wanted word marked."""
    found = snippet("A  whale\nand two Whales.", {"whale"}, terms)
    assert (found.text, marked(found)) == ("A whale and two Whales.", ["whale", "Whales"])


def test_the_place_with_most_wanted_words_is_shown() -> None:
    """Of many places the one is shown where most different wanted words stand, cut at blanks, with dots where text is left out."""
    text = f"whale {'filler ' * 100}whale and light by the sea {'filler ' * 100}light"
    found = snippet(text, {"whale", "light", "sea"}, terms)
    assert marked(found) == ["whale", "light", "sea"]
    assert found.text.startswith("… filler ")
    assert found.text.endswith(" filler …")
    assert WIDTH - 20 <= len(found.text) <= WIDTH + 4


def test_characters_are_marked_in_text_without_blanks() -> None:
    """In a run without blanks only the wanted characters are marked, neighbours joined."""
    assert marked(snippet("鯨が海に住む", {"鯨", "海", "に"}, terms)) == ["鯨", "海に"]


def test_nothing_wanted() -> None:
    """Without a wanted word the beginning is shown."""
    assert snippet("x " * 500, set(), terms) == Snippet("x " * 119 + "x …", ())
    assert snippet("", {"a"}, terms) == Snippet("", ())
