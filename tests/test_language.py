"""The language of a text, told from its script and its commonest words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from okl.index.language import DEFAULT, PLAIN, STEMMERS, STOP_WORDS, WEAK_WORDS, detect


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("en", "The lamp was lit before the sun had gone, and it burned until morning."),
        ("de", "Die Lampe wurde vor dem Abend angezündet und brannte bis zum Morgen, weil der Wärter es so wollte."),
        ("fr", "La lampe fut allumée avant la nuit et elle brûla jusqu'au matin dans les vents de la mer."),
        ("es", "La lámpara se encendió antes de la noche y ardió hasta el amanecer con los vientos del mar."),
        ("it", "La lampada fu accesa prima della notte e bruciò fino al mattino con il vento che era del mare."),
        ("nl", "De lamp werd voor de avond aangestoken en het licht brandde tot de ochtend, zoals hij dat wilde."),
        ("sv", "Lampan tändes före kvällen och den brann till morgonen för att han ville det så mycket."),
        ("pt", "A lâmpada foi acesa antes da noite e não se apagou até de manhã, com os ventos do mar."),
        ("ru", "Лампу зажгли до вечера, и она горела до утра."),
        ("el", "Η λάμπα άναψε πριν από τη νύχτα."),
        ("ar", "أضيء المصباح قبل الليل."),
        ("ta", "விளக்கு இரவுக்கு முன் ஏற்றப்பட்டது."),
        ("none", "Лампа і вітер: їх бачили ще до вечора."),
    ],
)
def test_languages_are_told_apart(code: str, text: str) -> None:
    """A text's language is told from its script or its commonest words; Ukrainian is not stemmed as Russian."""
    assert detect(text) == code


@pytest.mark.parametrize("text", ["", "12 34", "Lighthouse", "灯台", "x y z"])
def test_english_when_unclear(text: str) -> None:
    """A text too short or too strange to tell counts as English."""
    assert detect(text) == DEFAULT


def test_the_choice_can_be_narrowed() -> None:
    """Only the languages one expects are chosen; another script is then left unstemmed."""
    german = "Die Lampe wurde vor dem Abend angezündet und brannte bis zum Morgen."
    assert [detect(german, allowed) for allowed in ((), ("de", "en"), ("en", "fr"), ("fr",))] == ["de", "de", "en", "fr"]
    assert [detect("Лампу зажгли до вечера", allowed) for allowed in (("ru",), ("en", "de"))] == ["ru", PLAIN]


def test_a_long_text_is_judged_by_its_beginning() -> None:
    """Only the first 2,000 characters count."""
    assert detect("the cat is in the house and it is on the mat " * 50 + "der die das und ist nicht " * 1000) == "en"


@settings(max_examples=100, deadline=None)
@given(st.text(), st.lists(st.sampled_from(sorted(STEMMERS)), max_size=3))
def test_any_text_has_a_language(text: str, allowed: list[str]) -> None:
    """Any text has a language, one of those expected or none."""
    assert detect(text, allowed) in {*(allowed or STEMMERS), DEFAULT, PLAIN}


def test_the_tables_agree() -> None:
    """Every language with stop words can be stemmed, and all words stand in the tables as they are looked up."""
    assert set(STOP_WORDS) - set(STEMMERS) == set()
    words = WEAK_WORDS.union(*STOP_WORDS.values())
    assert [word for word in sorted(words) if word != word.casefold() or not word.isalpha()] == []
