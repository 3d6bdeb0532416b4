"""Entities and key phrases, found by how words are written: capitals, dates, frequency. No model, no disk.

Capitals tell something in alphabets that have them; text in other scripts gives dates only. Every
pattern is possessive or bounded, so that the time taken grows with the text and with nothing else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

LONGEST = 100
"""Characters of an entity; a longer run of capitals is no name."""
_STOP = frozenset(
    "a about above after again against all almost alone along already also although always am among an and another any anyone anything are "
    "around as ask at away back be because been before being below between both but by came can cannot come could despite did do does "
    "doing done down during each either else etc even ever every few find first for from further gave get gets give go goes going got had "
    "has have having he her here hers him his how however i if in into is it its itself just keep kept knew know known last let like made "
    "make makes many may me might more most much must my neither never new next no none nor not nothing now of off often on once one only "
    "onto or other others our out over own per put rather really said same saw say says second see seem seems seen shall she should "
    "since so some something still such take taken than that the their them then there these they thing things this those though three "
    "through thus to today together told tomorrow too took toward two under unlike until up upon us use used uses using very via want was "
    "way we well went were what when where whether which while who whom whose why will with within without would yes yesterday yet you "
    "your monday tuesday wednesday thursday friday saturday sunday don't doesn't didn't isn't aren't wasn't can't won't it's i'm".split()
)
_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_YEAR = r"(?:1[1-9]|20)\d\d"
_YEAR_REST = r"(?:(?<=1)[1-9]|(?<=2)0)\d\d"
# Patterns begin with a set of signs, which is found fast; what stands before it is looked at afterwards.
_DATES = (
    re.compile(
        rf"[0-9](?<![\w./-].)(?:{_YEAR_REST}(?:-[01]\d(?:-[0-3]\d)?|s|[–-]\d{{2,4}})?"
        rf"|\d?(?:st|nd|rd|th)? (?:of )?{_MONTH}(?:,? {_YEAR})?)(?:(?=T\d)|(?![\w-]))"
    ),
    re.compile(rf"{_MONTH} (?:[0-3]?\d(?:st|nd|rd|th)?(?:,? {_YEAR})?|{_YEAR})(?![\w-])"),
)
_CAPITAL = "[A-ZÀ-ÖØ-ÞĀĂĄĆĈĊČĎĐĒĔĖĘĚĜĞĠĢĤĦĨĪĬĮİĴĶĹĻĽĿŁŃŅŇŊŌŎŐŒŔŖŘŚŜŞŠŢŤŦŨŪŬŮŰŲŴŶŸŹŻŽΆΈ-ΏΑ-ΫЀ-Я]"
_NAME_REST = rf"[\w'’-]*+(?:\.(?= {_CAPITAL}))?"
_CAMEL = r"[a-z]++[A-Z]\w*+"
_LINK = "(?:(?:of the|of|the|de|du|la|le|von|van|der|al|bin|and|&|for|in the) )"
_SPAN = re.compile(rf"{_CAPITAL}(?<![\w/.@#\\$%+=’'-].){_NAME_REST}(?: {_LINK}?(?:{_CAPITAL}{_NAME_REST}|{_CAMEL})){{0,7}}+")
_SENTENCE = re.compile(rf"[.!?\n](?:(?<=\n)|(?<!\b{_CAPITAL}\.)(?<!\b[DM]r\.)(?<!\bSt\.)(?<!\bMrs\.)[ \t]++(?=[\"“]?{_CAPITAL}))")
_LOWER = re.compile(r"[a-zà-öø-ÿ][a-zà-öø-ÿ'’-]*+")
_TOKEN = re.compile(r"[^\W\d_][\w'’-]*+|[^\s\w]|\n\s*\n|\d+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
_MONTH_FIRST = re.compile(rf"{_MONTH}\b")
_DIGIT = re.compile(r"[0-9]")
_SIGN = re.compile(r"\w")


class Entity(NamedTuple):
    """A thing the text names, as written there; `type` is name, date, or term (HTTP, GPT-4)."""

    name: str
    type: str


def entities(text: str) -> list[Entity]:
    """The names, terms and dates in `text`, each once; one name has one type, whatever the text."""
    return list(dict.fromkeys(_found(text)))


def key_phrases(text: str, most: int = 8) -> list[str]:
    """What `text` seems to be about, the most frequent first: its names, or its telling words where it has none."""
    counts = Counter(entity.name for entity in _found(text) if entity.type != "date") or Counter(_runs(text))
    return [phrase for phrase, _ in counts.most_common(most)]


def _found(text: str) -> Iterator[Entity]:
    lower = None
    for sentence in _SENTENCE.split(text):
        for match in _SPAN.finditer(sentence):
            words = _trimmed(match[0])
            if len(words) == 1 and match[0].startswith(words[0]) and not _SIGN.search(sentence, 0, match.start()):
                lower = set(_LOWER.findall(text)) if lower is None else lower
                if words[0].lower() in lower:  # a capital only because the sentence begins
                    continue
            yield from _named(words)
    if _DIGIT.search(text):
        yield from _dates(text)


def _dates(text: str) -> Iterator[Entity]:
    by_end: dict[int, str] = {}
    for pattern in _DATES:
        for match in pattern.finditer(text):
            by_end[match.end()] = max(by_end.get(match.end(), ""), match[0], key=len)
    return (Entity(date, "date") for date in by_end.values())


def _trimmed(span: str) -> list[str]:
    """The words of a span without stop words at its ends."""
    words = span.split()
    while words and words[0].lower() in _STOP:
        del words[0]
    while words and words[-1].lower() in _STOP:
        del words[-1]
    return words


def _named(words: list[str]) -> Iterator[Entity]:
    """The span as one name; a long one is parted at its `and`."""
    name = " ".join(words)
    for part in name.replace(" & ", " and ").split(" and ") if len(words) > 4 else [name]:
        plain = part.removesuffix("'s").removesuffix("’s").rstrip("'’-.")
        if 2 <= len(plain) <= LONGEST and not _MONTH_FIRST.match(plain):
            yield Entity(plain, "term" if _is_term(plain) else "name")


def _is_term(name: str) -> bool:
    return " " not in name and (name[1:] != name[1:].lower() or bool(_DIGIT.search(name)))


def _runs(text: str) -> Iterator[str]:
    """Runs of one to three words that are no stop words, in lower case, as they stand one after the other."""
    run: list[str] = []
    for token in [*_TOKEN.findall(text), "."]:
        word = token.lower()
        telling = len(word) > 2 and word[0].isalpha() and word not in _STOP and not word.endswith("ly") and not _UNSPACED.search(word)
        if telling and len(run) < 3 and len(word) <= LONGEST // 3:
            run.append(word)
        else:
            if run:
                yield " ".join(run)
            run = [word] if telling and len(word) <= LONGEST // 3 else []
