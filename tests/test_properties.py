"""Properties: YAML that is read without loss and changed line by line."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from okl import properties
from okl.properties import Problem, PropertiesBroken, dump, dump_scalar, read, scalar
from okl.property_lines import add_item, remove, remove_item, set_value

LIGHT = settings(max_examples=100, deadline=None)
KEYS = ("title", "Tags", "two words", "ünï", "a.b", "yes", "x-1")
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
FLOW_WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=":?"), max_size=20)
VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-(10**17), 10**17)
    | WORDS
    | st.lists(FLOW_WORDS, max_size=4)
    | st.dictionaries(st.sampled_from(("one", "two", "3")), WORDS, max_size=3)
)
SHAPES = (
    "{key}: plain words\n",
    "{key}:   'single ''quoted'''   # why\n",
    '{key}: "double \\"quoted\\" [[x]]"\n',
    "{key}: [a, 'b', \"c\", 3]  # list\n",
    "{key}:\n  - a\n  - 'b'  # second\n  - three words\n",
    "{key}:\n- a\n- b\n",
    "{key}: |\n  some text\n\n    more\n",
    "{key}: >-\n  folded\n  text\n",
    "{key}: spread over\n  two lines\n",
    "{key}:\n",
    "{key}: # nothing yet\n",
    "{key}: {{x: 1, y: [2]}}\n",
    "{key}:\n  x: 1\n  y:\n    - 2\n",
    "{key}: -12\n",
    "{key}: false\n",
    "{key}: 2026-05-04\n",
)
LISTS = (
    "{key}: [a, 'b', \"c d\", 3]  # list\n",
    "{key}: [\n  a, # first\n  b,\n]\n",
    "{key}:\n  - a\n  - 'b'  # second\n  - three words\n",
    "{key}:\n- a\n- b\n",
    "{key}:\n    - >-\n      folded\n      text\n    - b\n",
    "{key}: []\n",
    "{key}:\n",
    "{key}: one\n",
)
GAPS = ("", "", "# a comment\n", "\n", "\n# about the next: [it]\n\n")


@st.composite
def heads(draw: st.DrawFn, shapes: tuple[str, ...] = SHAPES) -> tuple[str, str, str, str, str]:
    """(text before, the property's own lines, text after, its key, the newline) of a frontmatter in anybody's style."""
    keys = draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=5, unique=True))
    index = draw(st.integers(0, len(keys) - 1))
    newline = draw(st.sampled_from(("\n", "\r\n")))
    parts = [draw(st.sampled_from(shapes if n == index else SHAPES)).format(key=key) for n, key in enumerate(keys)]
    before = "".join(draw(st.sampled_from(GAPS)) + part for part in parts[:index]) + draw(st.sampled_from(GAPS))
    after = "".join(draw(st.sampled_from(GAPS)) + part for part in parts[index + 1 :]) + draw(st.sampled_from(GAPS))
    before, own, after = (part.replace("\n", newline) for part in (before, parts[index], after))
    return before, own, after, keys[index], newline


def values_of(head: str) -> dict[str, Any]:
    found, problems = read(head)
    assert problems == []
    return found


@LIGHT
@given(st.text())
def test_reading_never_raises(head: str) -> None:
    """Any text can be read as properties; what cannot be understood is a problem."""
    values, problems = read(head)
    assert all(problem.line >= 1 for problem in problems)
    assert isinstance(values, dict)


@LIGHT
@given(
    st.lists(st.sampled_from(["a", "b", ": ", "\n", "  ", "- ", "[", "]", "{", "}", "?", "&x", "*x", "'", '"', "#", "|", ">", "!"])).map(
        "".join
    )
)
def test_reading_yamlish_text_never_raises(head: str) -> None:
    """Any arrangement of YAML's marks can be read as properties."""
    values, _ = read(head)
    assert isinstance(values, dict)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("true", True),
        ("FALSE", False),
        ("yes", "yes"),
        ("off", "off"),
        ("12", 12),
        ("-7", -7),
        ("-0", "-0"),
        ("0012", "0012"),
        ("+1", "+1"),
        ("1_000", "1_000"),
        ("0x1f", "0x1f"),
        ("1.5", 1.5),
        ("1.10", "1.10"),
        ("1e3", "1e3"),
        ("12:30", "12:30"),
        ("2026-05-04", "2026-05-04"),
        ("9" * 18, 10**18 - 1),
        ("9" * 19, "9" * 19),
    ],
)
def test_scalars(text: str, value: Any) -> None:
    """A plain scalar is a number only where it prints as it was written; dates and old booleans stay text."""
    assert (scalar(text), type(scalar(text))) == (value, type(value))
    assert read(f"k: {text}\n") == ({"k": value}, [])


def test_a_key_that_stands_twice() -> None:
    """Of a key that stands twice the last counts, and its line is named."""
    assert read("a: 1\nb: 2\na: 3\n") == ({"a": 3, "b": 2}, [Problem("duplicate-key", 3, "“a” stands twice; the last one counts")])


def test_keys_that_are_no_text() -> None:
    """A key that YAML reads as a number or truth value is read as its text and reported."""
    values, problems = read("1: a\ntrue: b\n'2': c\n")
    assert values == {"1": "a", "true": "b", "2": "c"}
    assert [(problem.name, problem.line) for problem in problems] == [("non-string-key", 1), ("non-string-key", 2)]


def test_aliases_are_refused() -> None:
    """An alias is a problem with its line, so that a few of them cannot stand for gigabytes."""
    assert read("a: &x [1]\nb: *x\n") == ({}, [Problem("yaml-alias", 1, "YAML aliases (*name) are not allowed")])


@pytest.mark.parametrize(
    ("head", "line"),
    [
        ("a: [1\nb: 2\n", 2),
        ("a: 1\nb: c: d\n", 2),
        ("- a\n- b\n", 1),
        ("a: 1\n\tb: 2\n", 2),
        ("a: 1\nb: \x01\n", 2),
        ("[" * 100 + "]" * 100, 1),
        ("? [a]\n: b\n", 1),
    ],
)
def test_yaml_that_cannot_be_read(head: str, line: int) -> None:
    """Broken YAML gives no properties and one problem with the line at fault."""
    values, problems = read(head)
    assert (values, [(problem.name, problem.line) for problem in problems]) == ({}, [("broken-yaml", line)])


def test_a_million_characters_are_too_many() -> None:
    """A frontmatter of over 1 MB is not parsed."""
    assert read("a: " + "x" * properties.MAX_CHARS) == ({}, [Problem("broken-yaml", 1, "the YAML is over 1 MB")])


@LIGHT
@given(WORDS)
def test_a_scalar_reads_back_in_a_block(text: str) -> None:
    """Any text written as a value reads back the same, on one line."""
    line = f"k: {dump_scalar(text)}\n"
    assert (values_of(line), line.count("\n")) == ({"k": text}, 1)
    assert values_of(f"k:\n  - {dump_scalar(text)}\n") == {"k": [text]}


@LIGHT
@given(WORDS)
def test_a_quoted_scalar_reads_back(text: str) -> None:
    """Any text written in the quotes that stood there reads back the same."""
    for quote in ("'", '"'):
        assert values_of(f"k: {dump_scalar(text, quote=quote)}\n") == {"k": text}


@LIGHT
@given(st.lists(FLOW_WORDS, min_size=1))
def test_scalars_read_back_in_a_flow_list(texts: list[str]) -> None:
    """Texts written between brackets read back as the same items."""
    items = ", ".join(dump_scalar(text, flow=True) for text in texts)
    assert values_of(f"k: [{items}]\n") == {"k": texts}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (3, "3"),
        (1.5, "1.5"),
        ("plain words", "plain words"),
        ("true", '"true"'),
        ("yes", '"yes"'),
        ("12", '"12"'),
        ("2026-05-04", '"2026-05-04"'),
        ("[[Note]]", '"[[Note]]"'),
        ("a: b", '"a: b"'),
        ("https://a.b/c", "https://a.b/c"),
        (" x ", '" x "'),
        ("a\nb", '"a\\nb"'),
        ("", '""'),
    ],
)
def test_how_scalars_are_written(value: Any, text: str) -> None:
    """A scalar is written plain where every YAML reader takes it as the same text, else in double quotes."""
    assert dump_scalar(value) == text


@LIGHT
@example({"--- a": None, "... b": "x", "? c": 1, "- d": [1], "--- ": "y"})
@given(st.dictionaries(st.text("abc xyz-ü", min_size=1, max_size=8), VALUES, max_size=5))
def test_what_is_dumped_reads_back(values: dict[str, Any]) -> None:
    """Properties written for a new note read back equal, in their order."""
    found = values_of(dump(values))
    assert list(found.items()) == list(values.items())


def test_nested_values_are_dumped() -> None:
    """Mappings in lists and lists in mappings, as Open Knowledge Format has them, read back equal."""
    values = {"sources": [{"id": "a", "pages": [1, 2]}, {"id": "b", "by": {"name": "x"}}], "pages": [[1, 0], [2, 900]]}
    assert dump(values) == (
        "sources:\n  - id: a\n    pages:\n      - 1\n      - 2\n  - id: b\n    by:\n      name: x\npages:\n  - [1, 0]\n  - [2, 900]\n"
    )
    assert values_of(dump(values)) == values


@LIGHT
@given(heads(), VALUES)
def test_setting_touches_only_its_own_lines(head: tuple[str, str, str, str, str], value: Any) -> None:
    """A change of one property touches only that property's lines."""
    before, own, after, key, newline = head
    changed = set_value(before + own + after, key, value, newline)
    assert changed.startswith(before)
    assert changed.endswith(after)
    assert len(changed) >= len(before) + len(after)
    assert list(values_of(changed).items()) == list({**values_of(before + own + after), key: value}.items())
    if newline == "\r\n":
        assert changed.count("\n") == changed.count("\r\n")


@LIGHT
@given(heads(), VALUES)
def test_a_new_property_comes_last(head: tuple[str, str, str, str, str], value: Any) -> None:
    """A property that is new is added behind the others, which stay as they are."""
    before, own, after, _, newline = head
    text = before + own + after
    changed = set_value(text, "brand new", value, newline)
    assert changed.startswith(text)
    assert values_of(changed) == {**values_of(text), "brand new": value}


@LIGHT
@given(heads())
def test_removing_leaves_the_other_lines(head: tuple[str, str, str, str, str]) -> None:
    """A property that is removed takes its own lines along and no others."""
    before, own, after, key, _ = head
    assert remove(before + own + after, key) == before + after
    assert remove(before + own + after, "not there") == before + own + after


@LIGHT
@given(heads(LISTS), FLOW_WORDS)
def test_adding_an_item_touches_only_its_list(head: tuple[str, str, str, str, str], item: str) -> None:
    """An item is added at the end of its list; all lines of other properties stay."""
    before, own, after, key, newline = head
    old = values_of(own)[key]
    items = old if isinstance(old, list) else [] if old is None else [old]
    changed = add_item(before + own + after, key, item, newline)
    assert changed.startswith(before)
    assert changed.endswith(after)
    assert values_of(changed)[key] == (items if item in items else [*items, item])
    assert {k: v for k, v in values_of(changed).items() if k != key} == {k: v for k, v in values_of(before + after).items() if k != key}
    assert add_item(changed, key, item, newline) == changed or item == "3"


@LIGHT
@given(heads(LISTS), st.sampled_from(("a", "b", "c d", "three words", "folded text", "one", "none of them")))
def test_removing_an_item_touches_only_its_list(head: tuple[str, str, str, str, str], item: str) -> None:
    """An item is taken out of its list; all lines of other properties stay."""
    before, own, after, key, newline = head
    old = values_of(own)[key]
    items = old if isinstance(old, list) else [] if old is None else [old]
    changed = remove_item(before + own + after, key, item, newline)
    assert changed.startswith(before)
    assert changed.endswith(after)
    if item in items:
        assert [str(one) for one in values_of(changed)[key]] == [str(one) for one in items if one != item]
    else:
        assert changed == before + own + after


@pytest.mark.parametrize(
    ("head", "key", "value", "changed"),
    [
        ("a: 1 # one\nb: 2\n", "a", 5, "a: 5 # one\nb: 2\n"),
        ("a: 'x'\n", "a", "it's", "a: 'it''s'\n"),
        ('a: "x"\n', "a", "y", 'a: "y"\n'),
        ("a: [x, y] # xy\n", "a", ["z"], "a: [z] # xy\n"),
        ("a:\n- x\nb: 2\n", "a", ["w", "z"], "a:\n  - w\n  - z\nb: 2\n"),
        ("a: |\n  x\n\n# about b\nb: 2\n", "a", "w", "a: w\n\n# about b\nb: 2\n"),
        ("Title: x\n", "title", "w", "Title: w\n"),
        ("a: 1\na: 2\n", "a", 3, "a: 1\na: 3\n"),
        ("a: 1", "b", 2, "a: 1\nb: 2\n"),
        ("a: [x]", "a", 2, "a: 2"),
        ("", "a", "b", "a: b\n"),
        ("# only a comment\n", "a", {}, "# only a comment\na: {}\n"),
    ],
)
def test_how_a_value_is_set(head: str, key: str, value: Any, changed: str) -> None:
    """A new value takes the place, the quotes and the comment of the old one where it can."""
    assert set_value(head, key, value) == changed


@pytest.mark.parametrize(
    ("head", "changed"),
    [
        ("tags: [a, 'b']  # two\n", "tags: [a, 'b', c]  # two\n"),
        ("tags: [a, b,]\n", "tags: [a, b, c,]\n"),
        ("tags:\n    - a # first\n\n# next\nx: 1\n", "tags:\n    - a # first\n    - c\n\n# next\nx: 1\n"),
        ("tags:\n- a", "tags:\n- a\n- c\n"),
        ("tags: []\n", "tags: [c]\n"),
        ("tags:\nx: 1\n", "tags:\n  - c\nx: 1\n"),
        ("tags: a\n", "tags: [a, c]\n"),
        ("x: 1\n", "x: 1\ntags:\n  - c\n"),
        ("Tags: [a]\n", "Tags: [a, c]\n"),
        ("tags: [a, c]\n", "tags: [a, c]\n"),
    ],
)
def test_how_an_item_is_added(head: str, changed: str) -> None:
    """An item is added in the style that the list already has."""
    assert add_item(head, "tags", "c") == changed


@pytest.mark.parametrize(
    ("head", "changed"),
    [
        ("tags: [a, c, b] # three\n", "tags: [a, b] # three\n"),
        ("tags:\n- a # first\n- c # third\n- b\n", "tags:\n- a # first\n- b\n"),
        ("tags:\n  - c\n", "tags: []\n"),
        ("tags: [c]\n", "tags: []\n"),
        ("tags:\n- c\n- a\n- 'c'\n", "tags:\n- a\n"),
        ("tags: [a]\n", "tags: [a]\n"),
        ("x: c\n", "x: c\n"),
    ],
)
def test_how_an_item_is_removed(head: str, changed: str) -> None:
    """An item goes with its own line, every time it stands there; the last one leaves an empty list."""
    assert remove_item(head, "tags", "c") == changed


@pytest.mark.parametrize("head", ["a: [1\n", "- a\n", "a: &x 1\nb: *x\n", "{a: 1}\n"])
def test_what_is_not_understood_is_not_changed(head: str) -> None:
    """Properties that cannot be read, or stand on one line in braces, are refused and not guessed at."""
    for change in (
        lambda: set_value(head, "a", 2),
        lambda: remove(head, "a"),
        lambda: add_item(head, "a", "x"),
        lambda: remove_item(head, "a", "x"),
    ):
        with pytest.raises(PropertiesBroken):
            change()
