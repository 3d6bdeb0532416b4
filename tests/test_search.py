"""Search by text: what is found, what is not, and how the answer reads."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from okl.errors import UsageError
from tests.conftest import NOW, Notes


def test_words_are_found_in_any_of_their_forms(notes: Notes) -> None:
    """A word finds its other forms, with and without accents, in the note's own language."""
    notes.write("en.md", "The keepers were running down the stairs to the café.\n")
    notes.write("de.md", "Die Häuser stehen nicht auf dem Berg und sind sehr alt.\n")
    notes.write("fr.md", "Les chevaux sont dans la maison avec les enfants et le chien.\n")
    notes.write("ru.md", "Корабли стоят в гавани, и маяки светят всю ночь.\n")
    assert notes.ids("keeper runs") == ["en"]
    assert notes.ids("cafe") == ["en"]
    assert notes.ids("Haus") == ["de"]
    assert notes.ids("enfant") == ["fr"]
    assert notes.ids("маяк") == ["ru"]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("東京都の夜景はきれいです。", "夜景"),
        ("灯台は海の道しるべ。", "灯台"),
        ("我喜欢北京的秋天。", "北京"),
        ("서울의 밤은 밝다", "서울"),
        ("ภาษาไทยง่าย", "ไทย"),
    ],
)
def test_words_without_spaces_are_found(notes: Notes, text: str, query: str) -> None:
    """Two characters of Chinese, Japanese, Korean or Thai find their note."""
    notes.write("asia.md", f"# x\n\n{text}\n")
    notes.write("other.md", "Nothing of the kind 海.\n")
    assert notes.ids(query) == ["asia"]


def test_the_last_word_of_a_huge_note_is_found(notes: Notes) -> None:
    """No text is beyond the index, also among notes of a few words."""
    for number in range(20):
        notes.write(f"small{number}.md", "tiny note\n")
    notes.write("huge.md", "lorem ipsum dolor sit amet\n" * 200_000 + "xylophonist\n")
    found = notes.knowledge.search("xylophonist")["results"]
    assert [hit["note"] for hit in found] == ["huge"]
    assert "xylophonist" in found[0]["snippet"]
    assert found[0]["loc"]["lines"][1] == 200_001


@pytest.mark.parametrize(
    "query",
    [
        "what is: the (answer",
        'a"b',
        "http://x",
        "foo:bar",
        "]]",
        "tag:",
        "-",
        "--",
        '"',
        "a AND (b",
        "*",
        "\\",
        "x" * 10_000,
        "w " * 5_000,
        "🜁",
        "\x00",
    ],
)
def test_any_text_is_a_query(notes: Notes, query: str) -> None:
    """Whatever is typed is searched for, never an error."""
    notes.write("a.md", "The answer is b: http://x and foo:bar.\n")
    assert isinstance(notes.knowledge.search(query)["results"], list)


def test_an_empty_query_is_a_usage_error(notes: Notes) -> None:
    """Nothing to search for is said so."""
    with pytest.raises(UsageError, match="what to search for"):
        notes.knowledge.search("   ")


def test_nonsense_finds_nothing(notes: Notes) -> None:
    """Questions about absent things find nothing, though a common word of theirs stands in a note."""
    notes.write("fresnel.md", "Fresnel made good lenses of rings of glass; people work with them today.\n")
    notes.write("keeper.md", "The keeper trims the lamp each night and writes the log.\n")
    notes.write("fuel.md", "Whale oil, then colza, then paraffin fed the lamp.\n")
    assert notes.ids("how do people make good sourdough pizza at home") == []
    assert notes.ids("asdf qwer zxcv people") == []
    assert notes.ids("qwertyuiop") == []
    assert notes.ids("who fed the lamp with paraffin") == ["fuel", "keeper"]


def test_one_word_that_stands_in_a_note_finds_it(notes: Notes) -> None:
    """In a store of one note, too, and when the word is an everyday one."""
    notes.write("only.md", "good people\n")
    assert notes.ids("people") == ["only"]
    assert notes.ids("good people") == ["only"]


def test_stop_words_alone_are_searched(notes: Notes) -> None:
    """A query of nothing but stop words looks for them."""
    notes.write("who.md", "The Who\n")
    notes.write("other.md", "Something else entirely\n")
    assert notes.ids("the who") == ["who"]


def test_phrases_must_stand_and_minus_words_must_not(notes: Notes) -> None:
    """`"…"` asks for the words in a row; `-word` bars a note wherever the word stands in it."""
    notes.write("a.md", "the red lamp burns\n\n" + "filler " * 600 + "\n\nsecret\n")
    notes.write("b.md", "the lamp is red and burns\n")
    assert notes.ids('"red lamp"') == ["a"]
    assert notes.ids("red lamp -secret") == ["b"]
    assert notes.ids('lamp -"red lamp"') == ["b"]


def test_a_title_finds_its_note_first(notes: Notes) -> None:
    """The exact title or alias comes first, stop words and all."""
    for number in range(30):
        notes.write(f"n{number}.md", f"To be the one who is not to be, number {number}\n")
    notes.write("hamlet.md", "---\naliases: [The Prince]\n---\n# To be or not to be\n\nShort.\n")
    assert notes.ids("to be or not to be")[0] == "hamlet"
    assert notes.ids("the prince")[0] == "hamlet"


@pytest.mark.parametrize(
    ("query", "filters", "expected"),
    [
        ("lamp tag:fuel", {}, ["oil"]),
        ("lamp tag:fuel/oil", {}, ["oil"]),
        ("lamp -tag:fuel", {}, ["m-1", "log"]),
        ("lamp", {"tags": ["rating=5"]}, ["log"]),
        ("lamp", {"tags": ["mood=good"]}, ["log"]),
        ("lamp", {"topics": ["Night"]}, ["m-1"]),
        ("lamp", {"keys": ["Fresnel"]}, ["m-1"]),
        ("lamp kind:memory", {}, ["m-1"]),
        ("lamp", {"surface": "note"}, ["oil", "log"]),
        ("lamp path:deep", {}, ["oil"]),
        ("lamp path:*.md", {"kinds": ["memory"]}, ["m-1"]),
        ("lamp", {"namespace": "work"}, ["m-1"]),
        ("lamp", {"until": "2026-01-31"}, ["log"]),
        ("lamp", {"since": "P60D", "kinds": ["memory"]}, ["m-1"]),
        ("tag:fuel", {}, ["oil"]),
    ],
)
def test_filters(notes: Notes, query: str, filters: dict[str, Any], expected: list[str]) -> None:
    """Tags (nested ones below their parents), properties, topics, keys, kinds, paths, namespaces and dates narrow a search."""
    notes.write("deep/oil.md", "---\nid: oil\n---\nThe lamp burns oil. #Fuel/Oil\n")
    notes.write("log.md", "---\nrating: 5\nupdated: 2026-01-31T10:00:00Z\n---\nmood:: good\n\nThe lamp was lit.\n")
    notes.write(
        "memories/by_date/2026-05/01/m-1.md",
        "---\nid: m-1\nts: 2026-05-01\ntopics: [night]\nkeys: [{name: fresnel}]\nnamespace: work\n---\nThe lamp, again: lamp!\n",
    )
    assert sorted(notes.ids(query, **filters)) == sorted(expected)


def test_superseded_and_expired_notes_are_left_out(notes: Notes) -> None:
    """Unless asked for; a draft supersedes nothing yet."""
    notes.write("old.md", "The lamp is oil\n")
    notes.write("new.md", "---\nsupersedes: old\n---\nThe lamp is electric\n")
    notes.write("drafted.md", "The lamp is gas\n")
    notes.write("draft.md", "---\nsupersedes: drafted\nstatus: draft\n---\nThe lamp is a laser\n")
    notes.write("gone.md", "---\nexpires: 2026-05-01\n---\nThe lamp is gone\n")
    assert sorted(notes.ids("lamp")) == ["draft", "drafted", "new"]
    assert sorted(notes.ids("lamp", include_superseded=True)) == ["draft", "drafted", "gone", "new", "old"]


def test_a_document_takes_few_places(notes: Notes) -> None:
    """Each document's best passage comes before the second one of any; further ones fill the list."""
    notes.write("long.md", "".join(f"## Part {n}\n\n{'lamp ' * 80}\n\n" for n in range(8)))
    notes.write("short.md", "A lamp.\n")
    assert sorted(set(notes.ids("lamp", limit=2))) == ["long", "short"]
    assert notes.ids("lamp", limit=10).count("long") == 3
    assert notes.ids("lamp", limit=10, per_document=1).count("long") == 1


def test_recency_halves_scores(notes: Notes) -> None:
    """With a half-life an older note sinks; sources do not age."""
    for name, days in (("new", 0), ("old", 60)):
        notes.write(f"{name}.md", f"---\nupdated: {(NOW - timedelta(days=days)):%Y-%m-%d}\n---\nA lamp.\n")
    scores = {hit["note"]: hit["score"] for hit in notes.knowledge.search("lamp", half_life=30.0)["results"]}
    assert scores["old"] / scores["new"] == pytest.approx(0.25, rel=0.05)


def test_a_budget_bounds_the_text(notes: Notes) -> None:
    """`--budget` keeps the first hits that fit; one at least."""
    for number in range(5):
        notes.write(f"n{number}.md", "A lamp of a hundred characters. " * 3 + "\n")
    assert len(notes.ids("lamp", budget=200)) == 2
    assert len(notes.ids("lamp", budget=1)) == 1


def test_a_hit_is_a_cite_of_words_that_stand_there(notes: Notes) -> None:
    """A hit carries handle, span, lines, quote and hash of the file as it is."""
    notes.write("a b#c.md", "---\ntitle: T\n---\n\nFirst.\n\n# Lamp\n\nThe lamp burns.\n")
    (hit,) = notes.knowledge.search("lamp")["results"]
    text = notes.read("a b#c.md")
    body = text.partition("---\n\n")[2]
    assert hit["id"] == f"a%20b%23c#char{hit['loc']['start']}-{hit['loc']['end']}"
    assert hit["quote"] in body
    assert text.split("\n")[hit["loc"]["lines"][0] - 1] == hit["quote"].split("\n")[0]
    assert (hit["cite"], hit["lane"], hit["why"]) == (None, "direct", [{"leg": "text", "rank": 1}])


def test_an_edited_file_is_found_as_it_is_now(notes: Notes) -> None:
    """A hit never shows words that are no longer there, and says when it had to look again."""
    notes.write("a.md", "The lamp burns oil.\n")
    notes.write("b.md", "The lamp burns gas.\n")
    notes.knowledge.sync()
    with notes.knowledge.fresh_index() as found:
        notes.write("a.md", "Something above.\n\nThe lamp burns wood.\n")
        notes.write("b.md", "Nothing left.\n")
        from okl import query, search

        request = search.Request(query.parse("lamp"), 10, 3, 0.0, 0.0, NOW)
        results = search.search(notes.knowledge.store, found.index, request, notes.knowledge.settings)
    assert [(hit.note.id, "wood" in hit.passage.quote) for hit in results.hits] == [("a", True)]
    assert results.degraded == ["stale"]


def test_without_a_writable_index_the_files_are_read(notes: Notes) -> None:
    """Where the index folder cannot be made, search still answers, and says how."""
    notes.write("a.md", "The lamp burns oil.\n")
    notes.write(".ok/index", "a file where the folder should be")
    found = notes.knowledge.search("lamp")
    assert [hit["note"] for hit in found["results"]] == ["a"]
    assert found["degraded"] == ["index"]
    assert any("cannot be written" in message for message in notes.said)


def test_twins_of_a_doc_are_one_result(notes: Notes) -> None:
    """Two sources with one text are one doc."""
    text = "---\ntype: doc\n---\nThe lamp of the doc.\n"
    notes.write("store/normalized/a.txt.ok.md", text)
    notes.write("store/normalized/b.txt.ok.md", text)
    assert len(notes.knowledge.search("lamp")["results"]) == 1
