"""Keys: when two spellings are one, and what a note hangs on."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from okl.keys import KeyUse, canonical, fold, home, uses

LABELS = st.text(max_size=20) | st.from_regex(r"[a-zA-Z]{1,8}(?:ie|x|ch|sh|z|s|o|u|i)?e?s?['.!]?", fullmatch=True)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Apple", "apples"),
        ("libraries", "Library"),
        ("movie", "Movies"),
        ("boxes", "box"),
        ("Cache", "caches"),
        ("classes", "class"),
        ("Databases", "database"),
        ("viruses", "virus"),
        ("neural networks", "Neural  Network"),
        ("“Quoted”,", "quoted"),
        ("ﬁne Ｗords", "fine words"),
        ("İSTANBUL", "istanbul"),
        ("Straße", "STRASSE"),
        ("cafés", "cafe\u0301"),
    ],
)
def test_spellings_of_a_concept_meet(one: str, other: str) -> None:
    """Case, width, quotes, blanks and the plural do not part them."""
    assert fold(one) == fold(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("C++", "C"),
        ("C#", "C"),
        (".NET", "net"),
        ("news", "new"),
        ("https", "http"),
        ("1990s", "1990"),
        ("analysis", "analysi"),
        ("gas", "ga"),
    ],
)
def test_other_words_stay_apart(one: str, other: str) -> None:
    """A sign that belongs to a name stays; short words and words without a vowel have no plural."""
    assert fold(one) != fold(other)


def test_a_name_is_exact_but_for_case() -> None:
    """Names keep their last letter."""
    assert (fold("James", "name"), fold("James"), fold(" JAMES. ", "proper_noun")) == ("james", "jame", "james")


@given(LABELS, st.sampled_from(["concept", "name"]))
def test_folding_twice_is_folding_once(label: str, type: str) -> None:
    """Whatever the label."""
    assert fold(fold(label, type), type) == fold(label, type)


def test_a_concept_belongs_to_the_name_that_is_spelled_so() -> None:
    """Entity first; other spellings of the concept stay with its folded form."""
    james, jame = (KeyUse(label, fold(label), "concept", "tag", 0.7) for label in ("James", "jame"))
    assert [home(use, {"james"}) for use in (james, jame)] == ["james", "jame"]
    assert [home(use, set()) for use in (james, jame)] == ["jame", "jame"]


def test_a_note_hangs_on_what_it_says() -> None:
    """Each key once, by its strongest origin; a name before a concept of the same spelling."""
    found = uses(
        [("Newton", "name"), ("apples", "concept")],
        ["newton", "lab/machine-learning", "to_do"],
        ["physics"],
        ["people/Isaac Newton", "sub/Apple.md", "image.PNG"],
        ["On apples"],
        ["never looked at"],
    )
    assert [(use.label, use.folded, use.type, use.origin, use.weight) for use in found] == [
        ("apples", "apple", "concept", "explicit", 1.0),
        ("Isaac Newton", "isaac newton", "concept", "wikilink", 0.8),
        ("machine learning", "machine learning", "concept", "tag", 0.7),
        ("Newton", "newton", "name", "explicit", 1.0),
        ("On apples", "on apple", "concept", "title", 0.6),
        ("physics", "physic", "concept", "tag", 0.7),
        ("to do", "to do", "concept", "tag", 0.7),
    ]


def test_phrases_count_only_where_there_is_nothing_else() -> None:
    """A note that says nothing of itself but its title hangs on its telling phrases."""
    assert [(use.label, use.origin) for use in uses([], [], [], ["2026-05-04"], ["Notes"], ["Ada Lovelace"])] == [
        ("Ada Lovelace", "extracted"),
        ("Notes", "title"),
    ]


def test_what_is_no_key_is_left_out() -> None:
    """Dates, single letters and sentences are derived keys no more; what a note says itself stands, but for signs alone."""
    assert uses([("!?", "concept")], ["x"], ["7"], ["2026-05-04", "a/b"], ["word " * 30], []) == []
    assert [use.label for use in uses([("R", "concept"), ("word " * 30, "concept")], [], [], [], ["海"], [])] == [
        "R",
        ("word " * 30).strip(),
        "海",
    ]
    assert [use.label for use in uses([], ["area/x", "2026/plan"], [], [], [], [])] == ["area/x", "plan"]


def test_the_canonical_label_is_a_function_of_the_set() -> None:
    """An entity first, then the explicit label, then the smallest string, whatever the order."""
    rows = [
        ("apples", "concept", "explicit"),
        ("Apple", "name", "tag"),
        ("APPLE", "proper_noun", "explicit"),
        ("apple", "concept", "title"),
    ]
    assert {canonical(order) for order in permutations(rows)} == {("APPLE", "proper_noun", ("Apple", "apple", "apples"))}
    assert canonical([("b", "concept", "tag"), ("c", "concept", "explicit"), ("a", "concept", "title")]) == ("c", "concept", ("a", "b"))
    assert canonical([("b", "concept", "tag"), ("b", "concept", "title")]) == ("b", "concept", ())


@given(st.lists(st.tuples(LABELS, st.sampled_from(["concept", "name", "proper_noun"])), max_size=6), st.lists(LABELS, max_size=6))
def test_no_key_twice(explicit: list[tuple[str, str]], tags: list[str]) -> None:
    """Whatever a note says, each key is there once, in order, and folds to itself."""
    found = uses(explicit, tags, [], tags, [], tags)
    assert [use.folded for use in found] == sorted({use.folded for use in found})
    assert all(fold(use.label, use.type) == use.folded for use in found)
