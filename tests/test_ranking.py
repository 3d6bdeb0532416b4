"""Ranking: the two lanes, what hangs on a hit, and how they share the places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from okl.errors import UsageError
from okl.fusion import Fused
from okl.index.state import ChunkRow
from okl.ranking import arranged
from okl.select import NoteRow
from tests.conftest import Notes

LIGHT = settings(max_examples=200, deadline=None)
NAMES = st.lists(st.sampled_from("abcdefghijkl"), unique=True, max_size=12)
Data = dict[str, Any]


def hit(name: str, lane: str = "direct", named: bool = False, number: int = 1) -> Fused:
    """A candidate: the note `name`, as one of a lane."""
    row = NoteRow(f"{name}.md", name, "note", "", name, "", "", "human", "", "", "", "en", "2026-01-01T00:00:00Z", ())
    return Fused(ChunkRow(number, row.path, number - 1, 0, 9, 1, 1, (), ""), row, 1.0, {}, named=named, lane=lane)


def places(direct: str, linked: str, limit: int, named: str = "") -> str:
    """The names in the order they are shown; capitals for the linked lane."""
    found = arranged([hit(name, named=name in named) for name in direct], [hit(name, "linked") for name in linked], limit)
    return "".join(fused.note.id.upper() if fused.lane == "linked" else fused.note.id for fused in found)


# --- how the lanes share the places ---


@pytest.mark.parametrize(
    ("direct", "linked", "limit", "shown"),
    [
        ("abcdefgh", "uvwxyz", 10, "abcUVdefWX"),
        ("abcdefgh", "uvwxyz", 5, "abcUV"),
        ("abcdefgh", "uvwxyz", 4, "abcU"),
        ("abcdefgh", "uvwxyz", 3, "abc"),
        ("abcdefgh", "u", 10, "abcUdefgh"),
        ("abcdefgh", "", 5, "abcde"),
        ("a", "uvwxyz", 5, "aUVWX"),
        ("abcd", "uv", 10, "abcUVd"),
        ("", "uvw", 2, "UV"),
        ("", "", 5, ""),
        ("abcdef", "ef", 5, "abcEF"),
        ("abcdef", "abcuv", 5, "abcUV"),
        ("abcdef", "dabe", 10, "abcDEf"),
    ],
)
def test_three_direct_then_two_linked(direct: str, linked: str, limit: int, shown: str) -> None:
    """Over and over; where one lane is at its end the other goes on, and no note shows in both."""
    assert places(direct, linked, limit) == shown


@pytest.mark.parametrize(
    ("named", "shown"), [("d", "abcdUefgVW"), ("de", "abcdefghUV"), ("a", "abcUVdefWX"), ("h", "abcUVdefWX"), ("abcdefgh", "abcdefghUV")]
)
def test_what_the_query_names_keeps_its_place(named: str, shown: str) -> None:
    """A direct hit whose title stands in the query does not give way to a linked one."""
    assert places("abcdefgh", "uvwxyz", 10, named) == shown


@LIGHT
@given(NAMES, NAMES, st.sets(st.sampled_from("abcdef")))
def test_a_longer_list_begins_with_the_shorter(direct: list[str], linked: list[str], named: set[str]) -> None:
    """Asking for more changes nothing above; all places are filled as long as there is a note; none shows twice."""
    lists = [places("".join(direct[:limit]), "".join(linked), limit, "".join(named)) for limit in range(1, 15)]
    longest = places("".join(direct), "".join(linked), 30, "".join(named))
    assert all(longest.startswith(shorter) for shorter in lists)
    assert [len(shorter) for shorter in lists] == [min(limit, len({*direct, *linked})) for limit in range(1, 15)]
    assert len(set(longest.lower())) == len(longest)


def test_a_linked_note_brings_one_passage() -> None:
    """When it takes a linked place, none of its passages shows as a direct hit any more."""
    direct = [hit("a"), hit("b"), hit("c"), hit("d", number=1), hit("d", number=2), hit("e")]
    found = arranged(direct, [hit("d", "linked")], 10)
    assert [(fused.note.id, fused.lane) for fused in found] == [(n, "linked" if n == "d" else "direct") for n in "abcde"]


# --- what hangs on a hit ---


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Notes:
    """One note with every kind of tie, and forty others; words alone are searched."""
    notes = Notes(tmp_path_factory.mktemp("web") / "s", {})
    for path, text in {
        "seed.md": "---\ntitle: The seed page\nkeys: [phlogiston]\n---\n"
        "The quixotic zebra met Ada Byron and you may go. See [[target]]. Cold, says Hortense Quill.\n",
        "Ada Byron.md": "She was born in London.\n",
        "May.md": "The month of flowers.\n",
        "target.md": "A page of plain things.\n",
        "back.md": "It points at [[seed]].\n",
        "mentioning.md": "People like the seed page very much.\n",
        "keyed.md": "---\nkeys: [Phlogiston]\n---\nOther thoughts.\n",
        "naming.md": "In winter Hortense Quill paints.\n",
        "apart.md": "Nothing to see.\n",
        **{f"filler/{n}.md": f"Cats and boats and rain number{n}.\n" for n in range(40)},
    }.items():
        notes.write(path, text)
    return notes


def results(notes: Notes, query: str, **asked: Any) -> list[Data]:
    """The hits of a search."""
    return list(notes.knowledge.search(query, **asked)["results"])


def lanes(found: list[Data]) -> dict[str, list[str]]:
    """The ids of the hits by lane."""
    return {lane: [one["note"] for one in found if one["lane"] == lane] for lane in ("direct", "linked")}


@pytest.mark.parametrize(
    ("note", "via"),
    [
        ("Ada Byron", {"mention": "Ada Byron"}),
        ("target", {"link": "target"}),
        ("mentioning", {"backmention": "The seed page"}),
        ("back", {"backlink": "seed"}),
        ("keyed", {"key": "phlogiston"}),
        ("naming", {"entity": "Hortense Quill"}),
    ],
)
def test_ties(web: Notes, note: str, via: dict[str, str]) -> None:
    """Titles in the text, links, and shared rare keys and names lead on, both ways; `via` tells from where and by which name."""
    found = {one["note"]: one for one in results(web, "quixotic zebra", deep=True)}
    assert found[note]["lane"] == "linked"
    assert found[note]["via"] == [{"note": "seed"}, via]


def test_what_hangs_on_nothing_is_not_linked(web: Notes) -> None:
    """Neither other notes, nor a note whose title is an everyday word without its capital, nor the hit itself."""
    assert set(lanes(results(web, "quixotic zebra", deep=True))["linked"]) == {
        "Ada Byron",
        "target",
        "mentioning",
        "back",
        "keyed",
        "naming",
    }


def test_strong_ties_alone_take_places(web: Notes) -> None:
    """A plain search shows what is linked and mentioned; weaker ties are for those who ask."""
    found = lanes(results(web, "quixotic zebra"))
    assert found["direct"] == ["seed"]
    assert set(found["linked"]) == {"Ada Byron", "target"}
    assert all(one["via"] == [] for one in results(web, "quixotic zebra") if one["lane"] == "direct")


def test_lanes_can_be_asked_for_alone(web: Notes) -> None:
    """`direct` gives no linked hit, `linked` no direct one, though that is what the linked ones hang on."""
    assert lanes(results(web, "quixotic zebra", lanes="direct")) == {"direct": ["seed"], "linked": []}
    alone = lanes(results(web, "quixotic zebra", lanes="linked"))
    assert alone["direct"] == []
    assert set(alone["linked"][:2]) == {"Ada Byron", "target"}
    assert set(alone["linked"]) == {"Ada Byron", "target", "mentioning", "back", "keyed", "naming"}
    assert results(web, "quixotic zebra", lanes="direct", deep=True) == results(web, "quixotic zebra", lanes="direct")


def test_nonsense_has_no_linked_hits(web: Notes) -> None:
    """Where no direct hit is relevant nothing hangs on it, in whatever lane."""
    assert results(web, "sourdough pizza zebra recipes oven", lanes="linked") == []
    assert results(web, "qwertyuiop", deep=True) == []


def test_an_unknown_lane_is_a_usage_error(web: Notes) -> None:
    """The sentence names the choices."""
    with pytest.raises(UsageError, match="both, direct, linked"):
        web.knowledge.search("zebra", lanes="sideways")


@pytest.mark.parametrize("query", ['"quixotic zebra"', "quixotic zebra -london", 'quixotic -"no such words"', "path:filler", ""])
def test_what_must_or_must_not_stand_has_no_linked_hits(web: Notes, query: str) -> None:
    """Phrases, unwanted words and bare filters say what a hit is; what merely hangs on one is none."""
    found = results(web, query, deep=True, **({} if query else {"paths": ["seed.md"]}))
    assert found
    assert lanes(found)["linked"] == []


@pytest.mark.parametrize(
    ("filters", "linked"),
    [
        ({"paths": ["*e*.md"]}, {"target", "mentioning", "keyed"}),
        ({"keys": ["phlogiston"]}, {"keyed"}),
        ({"kinds": ["memory"]}, set()),
        ({"namespace": "elsewhere"}, set()),
    ],
)
def test_filters_hold_for_linked_hits(web: Notes, filters: Data, linked: set[str]) -> None:
    """Nothing comes in by a link that could not come in by itself."""
    assert set(lanes(results(web, "quixotic zebra", deep=True, **filters))["linked"]) == linked


def test_filters_in_the_query_hold_too(web: Notes) -> None:
    """As in `path:` and `-path:`."""
    assert set(lanes(results(web, "quixotic zebra -path:target.md -path:back.md", deep=True))["linked"]) == {
        "Ada Byron",
        "mentioning",
        "keyed",
        "naming",
    }


def test_superseded_and_expired_notes_are_not_linked(notes: Notes) -> None:
    """Unless asked for, as in the direct lane."""
    notes.write("seed.md", "The quixotic zebra: [[old]], [[gone]], [[new]].\n")
    notes.write("old.md", "plain\n")
    notes.write("gone.md", "---\nexpires: 2026-01-01\n---\nplain\n")
    notes.write("new.md", "---\nsupersedes: '[[old]]'\n---\nplain\n")
    assert lanes(results(notes, "quixotic zebra"))["linked"] == ["new"]
    assert set(lanes(results(notes, "quixotic zebra", include_superseded=True))["linked"]) == {"new", "old", "gone"}


def test_a_linked_file_that_is_gone_is_left_out(notes: Notes) -> None:
    """A hit is read before it is shown, whatever led to it."""
    notes.write("seed.md", "The quixotic zebra: [[one]], [[two]].\n")
    notes.write("one.md", "plain\n")
    path = notes.write("two.md", "plain\n")
    with notes.knowledge.held():
        path.unlink()
        found = notes.knowledge.search("quixotic zebra")
    assert lanes(found["results"])["linked"] == ["one"]
    assert "stale" in found["degraded"]


def test_hubs_do_not_link(notes: Notes) -> None:
    """A name that leads to very many notes tells nothing: neither a key, nor a name, nor a title that many bear, nor being linked by all."""
    notes.write("hub.md", "---\nkeys: [sea]\n---\nThe quixotic zebra met Hortense Quill at the Daily Round.\n")
    for number in range(30):
        notes.write(f"f{number}.md", f"---\nkeys: [sea]\n---\nHortense Quill rained number{number}, see [[hub]].\n")
        notes.write(f"daily/{number}.md", f"---\ntitle: Daily Round\n---\nPage of{number}.\n")
    assert lanes(results(notes, "quixotic zebra")) == {"direct": ["hub"], "linked": []}
    ways = [one["via"][1] for one in results(notes, "quixotic zebra", deep=True) if one["lane"] == "linked"]
    assert [way for way in ways if not way.keys() <= {"backlink"}] == []


def test_the_rarer_link_comes_first(notes: Notes) -> None:
    """Of two links the one that few others share tells more."""
    notes.write("seed.md", "The quixotic zebra: [[common]] and [[rare]].\n")
    notes.write("common.md", "plain\n")
    notes.write("rare.md", "plain\n")
    for number in range(15):
        notes.write(f"f{number}.md", f"rain number{number}, see [[common]]\n")
    found = lanes(results(notes, "quixotic zebra", lanes="linked"))["linked"]
    assert found.index("rare") < found.index("common")


def test_what_a_note_says_of_the_query_itself_counts(notes: Notes) -> None:
    """Of two notes that are linked alike the one with a word of the query comes first."""
    notes.write("seed.md", "The quixotic zebra of the northern herd: [[one]] and [[two]].\n")
    notes.write("one.md", "Plain things.\n")
    notes.write("two.md", "The herd went south with its young ones, and the winter was long and cold that year.\n")
    for number in range(15):
        notes.write(f"f{number}.md", f"rain number{number}\n")
    found = lanes(results(notes, "northern quixotic zebra herd", lanes="linked"))["linked"]
    assert found.index("two") < found.index("one")


@pytest.fixture(scope="module")
def pelagic(tmp_path_factory: pytest.TempPathFactory) -> Notes:
    """Twelve notes with one word, each with two links of its own."""
    notes = Notes(tmp_path_factory.mktemp("pelagic") / "s", {"OK_EMBEDDING": "hash:?dim=64"})
    for n in range(12):
        notes.write(f"p{n:02}.md", f"The pelagic story of number{n}" + " more" * n + f": [[t{n:02}a]] and [[t{n:02}b]].\n")
        notes.write(f"t{n:02}a.md", f"Other{n} matters entirely.\n")
        notes.write(f"t{n:02}b.md", f"Further{n} things besides.\n")
    notes.write("Charles Babbage.md", "He liked trains.\n")
    return notes


def test_a_search_shows_three_direct_and_two_linked(pelagic: Notes) -> None:
    """What hangs on the best two stands at places 4, 5, 9 and 10."""
    found = results(pelagic, "pelagic story")
    assert [one["lane"] for one in found] == (["direct"] * 3 + ["linked"] * 2) * 2
    seeds = [one["note"] for one in found[:2]]
    assert {one["via"][0]["note"] for one in found if one["lane"] == "linked"} == set(seeds)
    assert {one["note"] for one in found if one["lane"] == "linked"} == {f"t{seed[1:]}{letter}" for seed in seeds for letter in "ab"}


@pytest.mark.parametrize("query", ["pelagic story", "pelagic Charles Babbage", "story of number4", "trains"])
def test_a_longer_search_begins_with_the_shorter(pelagic: Notes, query: str) -> None:
    """The first five of ten are the five of five, lanes, scores and ways too."""
    told: Callable[[Data], tuple[Any, ...]] = lambda one: (one["id"], one["lane"], one["score"], one["via"])  # noqa: E731
    ten = [told(one) for one in results(pelagic, query, limit=10)]
    assert ten
    assert [told(one) for one in results(pelagic, query, limit=5)] == ten[:5]
    assert [told(one) for one in results(pelagic, query, limit=3)] == ten[:3]


def test_deep_follows_every_hit(pelagic: Notes) -> None:
    """What hangs on any hit follows, as many again at the most, and no note shows twice."""
    found = results(pelagic, "pelagic story", limit=6, deep=True)
    ids = [one["note"] for one in found]
    assert len(ids) == len(set(ids))
    assert 6 < len(ids) <= 12
    assert len({one["via"][0]["note"] for one in found if one["lane"] == "linked"}) > 2
    assert [one["lane"] for one in found[:5]] == ["direct"] * 3 + ["linked"] * 2


def test_a_note_that_the_query_names_is_a_direct_hit(pelagic: Notes) -> None:
    """It says why, in any case of letters; of titles within one another the longest counts."""
    for query in ("pelagic story Charles Babbage", "what did charles babbage say of the pelagic story"):
        named = next(one for one in results(pelagic, query) if one["note"] == "Charles Babbage")
        assert named["lane"] == "direct"
        assert {"leg": "title", "rank": 1} in named["why"]


def test_of_titles_within_one_another_the_longest_is_named(notes: Notes) -> None:
    """A query for `New York City` names neither `New York` nor `City`."""
    for title in ("City", "New York", "New York City"):
        notes.write(f"{title}.md", "A place with streets, bridges and museums.\n")
    for number in range(10):
        notes.write(f"f{number}.md", f"rain number{number}\n")
    found = {one["note"]: [part["leg"] for part in one["why"]] for one in results(notes, "museums of New York City")}
    assert "title" in found.pop("New York City")
    assert all("title" not in legs for legs in found.values())


def test_a_phrase_bars_notes_that_only_bear_a_title_of_the_query(notes: Notes) -> None:
    """What must stand must stand, also in a note that the query names."""
    notes.write("Lighthouse.md", "It stands on a rock by the sea.\n")
    notes.write("b.md", "The red lamp of the lighthouse burns.\n")
    assert notes.ids('lighthouse "red lamp"') == ["b"]


def test_a_weak_direct_candidate_may_still_be_linked(tmp_path: Any) -> None:
    """With vectors every note is a candidate; that does not cost it the place that its link gives."""
    notes = Notes(tmp_path / "s", {"OK_EMBEDDING": "hash:?dim=64"})
    notes.write("seed.md", "The quixotic zebra met Ada Byron. See [[target]].\n")
    notes.write("Ada Byron.md", "She was born in London.\n")
    notes.write("target.md", "A page of plain things.\n")
    for number in range(40):
        notes.write(f"f{number}.md", f"filler number{number} about cats and boats and rain{number}\n")
    found = results(notes, "quixotic zebra", limit=5)
    assert found[0]["note"] == "seed"
    assert {one["note"] for one in found} >= {"target", "Ada Byron"}


def test_two_words_of_meaning_lead_to_the_second_answer(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A question whose answer stands in a note that the first one only mentions finds both."""
    pytest.importorskip("onnxruntime")
    folder = tmp_path_factory.mktemp("minilm")
    notes = Notes(folder / "s", {"OK_EMBEDDING": "builtin:minilm", "XDG_CACHE_HOME": str(tmp_path_factory.getbasetemp() / "models")})
    notes.write("film.md", "# Silent Harbour\n\nA film of 1962, directed by Ilse Varga and shot on the coast of Brittany.\n")
    notes.write("varga.md", "# Ilse Varga\n\nBorn in Szeged in 1921, she studied chemistry before she turned to the cinema.\n")
    for number, text in enumerate(
        ["Trains leave for the coast at noon.", "A harbour needs a breakwater.", "Chemistry is taught in the old wing."]
    ):
        notes.write(f"other{number}.md", text + "\n")
    found = notes.ids("In which town was the director of the film Silent Harbour born?", limit=5)
    assert found[0] == "film"
    assert "varga" in found
