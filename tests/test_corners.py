"""Odd corners of the pure modules, each found by a hostile reader before it was mended."""

from __future__ import annotations

import subprocess
import unicodedata
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from okl import properties as p
from okl import property_lines as lines
from okl.cite import record
from okl.cite.anchor import Anchor, find
from okl.errors import NotFound, UsageError
from okl.index import chunk
from okl.ingest.convert import Limits, converter
from okl.markup import scan
from okl.note import loads, utc
from okl.query import moment, parse
from okl.store import Store
from okl.walk import walk

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


def put(root: Path, *paths: str, text: str = "Text\n") -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


# --- test_properties.py


def test_deep_nesting_is_a_problem() -> None:
    """YAML nested too deeply is a problem and not an error."""
    assert p.read("".join(" " * depth + "a:\n" for depth in range(900)))[1] == [p.Problem("broken-yaml", 1, "nested over 64 levels deep")]


@pytest.mark.parametrize("text", ["?x", ":0", "::x"])
def test_marks_read_back_in_a_flow_list(text: str) -> None:
    """Texts that begin with a mark of YAML's flow style read back from a list in brackets."""
    assert p.read(lines.add_item("tags: [a]\n", "tags", text)) == ({"tags": ["a", text]}, [])
    assert p.read(lines.set_value("", "k", [text])) == ({"k": [text]}, [])


@pytest.mark.parametrize("head", ["  a: 1\n  b: 2\n", "a: 1\n...\n"])
def test_odd_layout_is_kept_or_refused(head: str) -> None:
    """Properties that are indented, or end in ..., are changed rightly or refused, never broken."""
    for change in (lambda: lines.set_value(head, "c", "x"), lambda: lines.set_value(head, "a", [2, 3])):
        try:
            changed = change()
        except p.PropertiesBroken:
            continue
        assert p.read(changed)[1] == []


def test_a_key_that_yaml_cannot_hold_is_refused() -> None:
    """A property that would not read back is never written."""
    with pytest.raises(p.PropertiesBroken):
        lines.set_value("", "a" * 1100, "x")


@pytest.mark.parametrize("key", ["--- a", "... a", "? a"])
def test_a_key_like_a_fence_is_written_in_quotes(key: str) -> None:
    """It reads back, and can be changed and deleted."""
    changed = lines.set_value(lines.set_value("x: 1\n", key, "y"), key, ["z"])
    assert p.read(changed) == ({"x": 1, key: ["z"]}, [])
    assert lines.set_value(changed, key, None) in ("x: 1\n", f'x: 1\n"{key}": null\n', f"x: 1\n'{key}': null\n")


@pytest.mark.parametrize("value", [1e20, 1e-7, 10**17, -0.5])
def test_any_number_reads_back(value: Any) -> None:
    """A number of any size reads back the same."""
    assert p.read(f"k: {p.dump_scalar(value)}\n") == ({"k": value}, [])


@pytest.mark.parametrize("value", [[{}], [[{"b": 1}]]])
def test_nested_values_read_back(value: Any) -> None:
    """Mappings in lists read back, empty ones and those in inner lists too."""
    assert p.read(p.dump({"a": value})) == ({"a": value}, [])


def test_mappings_replace_a_flow_list() -> None:
    """A list of mappings replaces a list in brackets."""
    assert p.read(lines.set_value("a: [x]\n", "a", [{"b": 1}])) == ({"a": [{"b": 1}]}, [])


def test_an_item_below_its_dash() -> None:
    """An item that stands on the line below its dash is added to and removed like any other."""
    head = "tags:\n  -\n    x\n  - y\n"
    assert p.read(lines.add_item("tags:\n  -\n    x\n", "tags", "z")) == ({"tags": ["x", "z"]}, [])
    assert p.read(lines.remove_item(head, "tags", "y")) == ({"tags": ["x"]}, [])
    assert p.read(lines.remove_item(head, "tags", "x")) == ({"tags": ["y"]}, [])


def test_comments_between_items_stay() -> None:
    """The comment of the next item stays when an item goes."""
    assert lines.remove_item("tags:\n  - b\n  # about c\n  - c\n", "tags", "b") == "tags:\n  # about c\n  - c\n"


def test_other_items_keep_their_kind() -> None:
    """Numbers and truth values in a list stay what they are when another item goes or comes."""
    assert p.read(lines.remove_item("tags: [1, true, x]\n", "tags", "x")) == ({"tags": [1, True]}, [])
    assert p.read(lines.add_item("tags: 1\n", "tags", "x")) == ({"tags": [1, "x"]}, [])


def test_a_truth_value_can_be_removed() -> None:
    """The item `true` is removed by the word that stands there."""
    assert lines.remove_item("tags: [true, x]\n", "tags", "true") == "tags: [x]\n"


def test_a_key_that_stands_twice_is_removed() -> None:
    """A property that is removed is gone, also where its key stands twice."""
    assert lines.remove("a: 1\nb: 2\na: 3\n", "a") == "b: 2\n"


# --- test_markup.py


@pytest.mark.parametrize(
    "body",
    [
        "a ` b\r\n\r\n[[x]] #x ` c",
        "a ` b\n \n[[x]] #x ` c",
        "- a ` b\n- [[x]] #x ` c",
        "# a ` b\n[[x]] #x ` c",
        "a ` [[x]] #x\n# b ` c",
        "a ` [[x]] #x\n> b ` c",
        "a \\` [[x]] #x ` c",
    ],
)
def test_code_does_not_reach_beyond_its_block(body: str) -> None:
    """A backtick without a partner in its own paragraph, item or heading, or one behind a backslash, hides nothing."""
    found = scan(body)
    assert ([link.target for link in found.links], found.tags) == (["x"], ["x"])


@pytest.mark.parametrize("body", ["`\n \n`[[x]] #x`", "`\r\n\r\n`[[x]] #x`", "\\``` [[x]] #x ``"])
def test_code_behind_a_lone_backtick(body: str) -> None:
    """Inline code is code, whatever backticks stood in the paragraphs before it."""
    found = scan(body)
    assert (found.links, found.tags) == ([], [])


@pytest.mark.parametrize(
    ("body", "value"), [("who:: [[Ada]]", "[[Ada]]"), ("who:: [[Ada]] and Bob", "[[Ada]] and Bob"), ("(who:: [[Ada]])", "[[Ada]]")]
)
def test_a_field_holds_its_links(body: str, value: str) -> None:
    """A field's value is as written when it begins with a link, or is nothing but one."""
    assert scan(body).fields == [("who", value)]


def test_code_is_no_indentation() -> None:
    """What follows inline code is no link definition, and a definition begins at its bracket."""
    assert scan("`0`[0]: words").links == []
    assert [link.start for link in scan("  [a]: b.md").links] == [2]


def test_the_text_of_a_link_keeps_its_code() -> None:
    """Code in a link's text is part of the text."""
    assert [link.text for link in scan("[the `x` there](a.md)").links] == ["the `x` there"]


# --- test_note.py


def test_years_have_four_digits() -> None:
    """A year before 1000 is written with four digits, so that times sort as text."""
    assert utc("0099-01-01") == "0099-01-01T00:00:00Z"


# --- test_chunk.py


def test_a_heading_and_its_text_hold_at_most_the_limit() -> None:
    """No chunk holds more than the limit, also where a heading is carried to the text below it."""
    body = "Some words.\n\n# A heading of a few words\n\n" + " ".join(f"w{number}" for number in range(300))
    sizes = [len(chunk._TOKEN.findall(body, one.start, one.end)) for one in chunk.chunks(loads("a.md", body), 32, 8)]
    assert max(sizes) <= 32


# --- test_query.py


def test_filters_are_not_lost() -> None:
    """A negated filter that does not exist is words, as is whatever else is no filter."""
    assert [parse(text).is_empty for text in ("-topic:x", "-key:x", "-kind:doc")] == [False, False, False]


@pytest.mark.parametrize("text", ["99999999999d", "5000y", "9" * 400 + "w"])
def test_a_duration_beyond_time(text: str) -> None:
    """A duration that reaches beyond the calendar is a usage error."""
    with pytest.raises(UsageError):
        moment(text, NOW)


def test_minutes_count() -> None:
    """Minutes of a duration count."""
    assert [moment(text, NOW) for text in ("PT30M", "PT1H30M")] == ["2026-05-04T11:30:00Z", "2026-05-04T10:30:00Z"]


# --- test_anchor.py


def test_a_found_span_holds_the_last_accent() -> None:
    """A span in a text in NFD ends behind the accent of its last letter."""
    text = "at the cafe\u0301 now"
    found = find(Anchor("the caf\u00e9", "", "", 50), text)
    assert found.span == (3, 12)


def test_korean_in_nfd_is_found() -> None:
    """Hangul written in NFD, as macOS does, is the same words."""
    quote = "한국어 문서의 인용문"
    assert find(Anchor(quote, "", "", 50), "x " + unicodedata.normalize("NFD", quote) + " y").verdict == "moved"


# --- test_record.py


def test_deep_json_is_no_cite() -> None:
    """JSON nested too deeply is no cite."""
    with pytest.raises(NotFound):
        record.loads("[" * 100_000, "citations/x.json")


# --- test_walk.py


@pytest.mark.parametrize(
    "rules",
    [
        {"": "*\n!*/\n!a.md\n"},
        {"": "one/**\n!one/a.md\n"},
        {"": "one/**\n", "one/": "!a.md\n"},
        {"": "b.md\n", "one/": "!/*\n"},
    ],
)
def test_git_and_okl_ignore_the_same(tmp_path: Path, rules: dict[str, str]) -> None:
    """A rule for a folder says nothing of the files in it, and `x/**` is no rule for `x`, as git has it."""
    put(tmp_path, *(f"{place}{name}.md" for place in ("", "one/", "one/two/") for name in "ab"))
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    for place, text in rules.items():
        put(tmp_path, f"{place}.gitignore", text=text)
    asked = subprocess.run(
        ["git", "ls-files", "-zo", "--exclude-standard", "*.md"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert sorted(walk(tmp_path).stamps) == sorted(asked.stdout.split("\0")[:-1])


def test_only_the_included_folder_counts(tmp_path: Path) -> None:
    """Of a hidden folder only the part that the include setting names counts."""
    put(tmp_path, ".claude/skills/a.md", ".claude/other/b.md", ".claude/c.md")
    assert sorted(walk(tmp_path, include=[".claude/skills"]).stamps) == [".claude/skills/a.md"]


@pytest.mark.parametrize("name", ["a (Ada Lovelace's conflicted copy 2026-05-04).md", "a (MacBook-Pro's conflicted copy 2026-05-04).md"])
def test_dropbox_twins(tmp_path: Path, name: str) -> None:
    """Dropbox's conflict twins are known whoever's they are."""
    put(tmp_path, name)
    assert walk(tmp_path).conflict_twins == [name]


# --- test_store.py


@pytest.mark.parametrize("verb", ["write", "read"])
def test_a_name_too_long(tmp_path: Path, verb: str) -> None:
    """A name too long for the disk cannot be written, and nothing is called so."""
    store = Store(tmp_path)
    if verb == "write":
        with pytest.raises(UsageError, match="too long"):
            store.write("a" * 300 + ".md", b"")
    else:
        with pytest.raises(NotFound):
            store.read("a" * 300 + ".md")


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    """A path that no file name can be is a usage error."""
    with pytest.raises(UsageError):
        Store(tmp_path).path("\ud800/x.md")


# --- test_convert.py


@pytest.mark.parametrize(
    "data",
    [
        b"<p>Only five words stand here</p>",
        b"<p>" + b"Many words stand here. " * 40 + b"</p>",
        b"<div><p>Words in a piece of a page.</p></div>",
    ],
)
def test_a_piece_of_a_page(data: bytes) -> None:
    """A piece of HTML without <html> and <body> gives its words."""
    assert "words" in converter("text/html")(data, Limits()).text.lower()


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "café"),
        ("shift_jis", "灯台の光は海の上を遠くまで届く。夜になると船はその光を頼りに進む。" * 20),
        ("euc_jp", "灯台の光は海の上を遠くまで届く。" * 40),
    ],
)
def test_an_unsure_encoding(encoding: str, text: str) -> None:
    """Text in another encoding is read rightly, and that it was guessed is told."""
    found = converter("text/plain")(text.encode(encoding), Limits())
    assert (found.text, found.notes) == (text, (f"its encoding was taken for {encoding}",))
