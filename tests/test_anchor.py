"""Finding a quote again: the verdict ladder."""

from __future__ import annotations

import random
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from okl.cite.anchor import CONTEXT, Anchor, Found, find, fold

LIGHT = settings(max_examples=100, deadline=None)
TEXT = """The keeper lit the lamp at ten minutes to four. Wind south-west and rising.
Mr Hale has the first watch, I the middle, young Corrie the last.
The clockwork that turns the lens wants winding every fifty minutes.
Seas over the gallery from midnight, and salt dried on the panes.
"""
QUOTE = "The clockwork that turns the lens wants winding every fifty minutes."
PIECES = st.lists(
    st.sampled_from(
        ["word", "Word", "the", " ", "\n", "\t", "\u00a0", "ﬁsh", "ＷＩＤＥ", "café", "e\u0301t", "鯨", "😀", "²", ".", "…", "ß"]
    ),
    max_size=25,
)


def anchor(quote: str, text: str) -> Anchor:
    """The anchor of the first `quote` in `text`."""
    start = text.index(quote)
    return Anchor(quote, text[max(0, start - CONTEXT) : start], text[start + len(quote) :][:CONTEXT], start)


def words(found: Found, text: str) -> str:
    assert found.span is not None
    return text[slice(*found.span)]


@LIGHT
@given(st.text(), st.text(max_size=40), st.text(max_size=40), st.text(), st.integers(0, 300))
def test_any_quote_and_text_get_a_verdict(quote: str, pre: str, post: str, text: str, start: int) -> None:
    """Finding never raises; a span is given exactly when the words are exact, moved or changed, and it lies in the text."""
    found = find(Anchor(quote, pre, post, start), text)
    assert found.verdict in ("exact", "moved", "changed", "ambiguous", "lost")
    assert (found.span is not None) == (found.verdict in ("exact", "moved", "changed"))
    spans = [*found.candidates, *([found.span] if found.span else [])]
    assert all(0 <= a < b <= len(text) for a, b in spans)
    assert 0 <= found.similarity <= 1


@LIGHT
@given(PIECES.map("".join), PIECES.map("".join), PIECES.map("".join), st.integers(0, 50))
def test_found_spans_contain_the_words(before: str, quote: str, after: str, start: int) -> None:
    """What is called exact or moved truly holds the words of the quote, white space and letter forms aside."""
    text = before + quote + after
    found = find(Anchor(quote, before[-CONTEXT:], after[:CONTEXT], start), text)
    if found.verdict == "exact":
        assert words(found, text) == quote
    if found.verdict == "moved":
        assert fold(quote)[0].strip() in fold(words(found, text))[0]
    if quote.strip():
        assert found.verdict in ("exact", "moved", "ambiguous")


@LIGHT
@given(PIECES.map("".join))
def test_folding_knows_where_its_characters_came_from(text: str) -> None:
    """Each character of the folded text has the place it came from, in order."""
    folded, origins, ends = fold(text)
    assert (len(origins), origins) == (len(folded), sorted(origins))
    assert all(start < end for start, end in zip(origins, ends, strict=True))
    assert "  " not in folded
    assert fold(folded)[0] == folded
    assert [
        c
        for c, at in zip(folded, origins, strict=True)
        if text[at].isascii() and not text[at].isspace() and c not in unicodedata.normalize("NFKC", text[at : at + 2])
    ] == []


@pytest.mark.parametrize("quote", [QUOTE, "lamp", "…", "e"])
def test_exact(quote: str) -> None:
    """Words at their place are exact, also where they stand elsewhere too."""
    text = TEXT + quote + TEXT
    start = len(TEXT)
    assert find(Anchor(quote, "", "", start), text) == Found("exact", (start, start + len(quote)), 1.0)


@pytest.mark.parametrize(
    "text",
    [
        "A new first line.\n" + TEXT,
        TEXT.replace("Mr Hale has the first watch, I the middle, young Corrie the last.\n", ""),
        QUOTE,
        "Wholly other words before it. " + QUOTE + " And other words behind.",
    ],
)
def test_moved(text: str) -> None:
    """A citation follows its words when the note is edited around them."""
    found = find(anchor(QUOTE, TEXT), text)
    assert (found.verdict, words(found, text), found.similarity) == ("moved", QUOTE, 1.0)


@pytest.mark.parametrize(
    ("quote", "there"),
    [
        ("the lens wants winding", "the lens\nwants   winding"),
        ("the lens wants winding", "the\u00a0lens\r\n> wants winding".replace("> ", "")),
        ("find the office", "ﬁnd the oﬃce"),
        ("ＡＢＣ １２３ kept", "ABC 123 kept"),
        ("the caf\u00e9 is open", "the cafe\u0301 is open"),
        ("the cafe\u0301 is open", "the caf\u00e9 is open"),
        ("x\u0323\u0307 marks", "x\u0307\u0323 marks"),
    ],
)
def test_moved_with_other_letter_forms(quote: str, there: str) -> None:
    """White space, line breaks, ligatures, full-width letters, NFC and NFD make no difference."""
    text = f"Something new comes first. {there}, and then more."
    found = find(Anchor(quote, "", "", 0), text)
    assert (found.verdict, words(found, text), found.similarity) == ("moved", there, 1.0)


@LIGHT
@given(
    st.integers(0, 80),
    st.integers(4, 20),
    st.text("abc xyz\n", max_size=80),
    st.text("abc xyz\n", max_size=80),
    st.randoms(use_true_random=False),
)
def test_a_quote_whose_surroundings_were_edited_is_found(first: int, count: int, pre: str, post: str, rng: random.Random) -> None:
    """However the text around it is edited, a quote that still stands once is found where it stands."""
    lines = [f"w{number}" for number in range(120)]
    quote = " ".join(lines[first : first + count])
    old = " ".join(lines)
    others = [*lines[:first], *lines[first + count :]]
    rng.shuffle(others)
    text = " ".join(others[: len(others) // 2]) + f" {pre} {quote} {post} " + " ".join(others[len(others) // 2 :])
    found = find(anchor(quote, old), text)
    assert (found.verdict in ("exact", "moved"), words(found, text)) == (True, quote)


def test_several_with_context() -> None:
    """Of several equal passages the one is meant whose surroundings fit."""
    old = "In the morning they said: open the gate. In the evening nobody came by."
    quote = "open the gate"
    text = "Long before, somebody wrote “open the gate” on a wall.\n\n" + old
    found = find(anchor(quote, old), text)
    assert found == Found("moved", (text.rindex(quote), text.rindex(quote) + len(quote)), 1.0)


def test_several_without_context() -> None:
    """Equal passages in equal surroundings are ambiguous, and all of them are named."""
    text = "x\nsame words here\nsame words here\nsame words here\n"
    found = find(Anchor("same words", "nothing like it", "nor this, at all", 40), text)
    assert found == Found("ambiguous", None, 1.0, ((2, 12), (18, 28), (34, 44)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("fifty minutes", "sixty minutes"),
        ("that turns", "which turns"),
        ("The clockwork", "A clockwork"),
        ("minutes.", "minutes!"),
    ],
)
def test_changed(old: str, new: str) -> None:
    """Words that were edited are found as changed, with how alike they are."""
    text = "A new line above.\n" + TEXT.replace(old, new)
    there = QUOTE.replace(old, new)
    found = find(anchor(QUOTE, TEXT), text)
    assert found.verdict == "changed"
    assert there[2:-1] in words(found, text)
    assert len(words(found, text)) <= len(there) + 4
    assert 0.78 <= found.similarity < 1


def test_a_quote_with_new_words_is_found_whole() -> None:
    """A passage into which words were put is found from its first word to its last."""
    quote = "The clockwork that turns the lens wants winding every fifty minutes."
    there = quote.replace("wants winding", "wants careful winding")
    text = f"Before it stood other words. {there} And others came behind it."
    found = find(Anchor(quote, "", "", 0), text)
    assert (found.verdict, found.span and text[slice(*found.span)]) == ("changed", there)


def test_changed_far_away_in_a_long_text() -> None:
    """An edited passage is found in a long text far from where it stood."""
    filler = " ".join(f"filler{number}" for number in range(20_000))
    there = QUOTE.replace("fifty", "sixty")
    text = f"{filler}\n{there}\n{filler}"
    found = find(anchor(QUOTE, TEXT), text)
    assert (found.verdict, words(found, text)) == ("changed", there)


def test_two_changed_passages_are_ambiguous() -> None:
    """Two passages that are equally alike are ambiguous, both named."""
    text = f"{QUOTE.replace('fifty', 'sixty')}\n\n{'Filler words stand here. ' * 10}\n\n{QUOTE.replace('fifty', 'sixty')}"
    found = find(Anchor(QUOTE, "", "", 5000), text)
    assert (found.verdict, found.span, len(found.candidates)) == ("ambiguous", None, 2)


@pytest.mark.parametrize("text", ["", "Wholly other words, about sheep and grass and hills, in a green land.", "x", TEXT[:90]])
def test_lost(text: str) -> None:
    """Words that are gone are lost, and nothing is pointed at."""
    found = find(anchor(QUOTE, TEXT), text)
    assert (found.verdict, found.span, found.candidates) == ("lost", None, ())


def test_nothing_to_find() -> None:
    """An empty quote is lost in any text."""
    assert find(Anchor("", "", "", 0), TEXT) == Found("lost", None, 0.0)
