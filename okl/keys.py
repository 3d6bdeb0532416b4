"""Keys: the concepts and names a note hangs on, and when two spellings mean one. Text and numbers only.

A label is folded to the form in which it is compared: NFKC, case folded, one space between words,
quotes and sentence marks at its ends left off. A concept is also brought from plural to singular;
a name (`name`, `proper_noun`) is exact and never is. So that one word used as both still meets,
the entity comes first: a concept spelled like a name of the store belongs to that name (`home`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

ORIGINS = {"explicit": 1.0, "wikilink": 0.8, "tag": 0.7, "title": 0.6, "extracted": 0.4}
"""What an edge to a key weighs, by where the key comes from."""
CONCEPT = "concept"
LONGEST = 100
"""Characters of a label; a longer one is a sentence, not a key, unless the note says that it is."""

_QUOTES = "\"'`*_“”‘’„‚«»‹›「」『』"
_BEFORE = _QUOTES + ",;:!?¡¿…"
_AFTER = _QUOTES + ",;:!?….。、！？"
_VOWEL = re.compile(r"[^\W\d_b-df-hj-np-tv-xz]")
_WHOLE = frozenset("always lens news".split())
_FILE = re.compile(r"(?i)\.(?:png|jpe?g|gif|svg|webp|bmp|avif|pdf|mp[34]|m4a|wav|ogg|webm|mov|canvas|base|excalidraw)$")
_IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")


class KeyUse(NamedTuple):
    """One key of one note: the label as written, its folded form, its type, whence it comes, what the edge weighs."""

    label: str
    folded: str
    type: str
    origin: str
    weight: float


@lru_cache(maxsize=1 << 14)
def fold(label: str, type: str = CONCEPT) -> str:
    """The form in which labels are compared; folding it once more changes nothing."""
    words = " ".join(_caseless(label).split())
    folded = words.lstrip(_BEFORE + " ").rstrip(_AFTER + " ") or words
    return _singular(folded) if type == CONCEPT else folded


def _caseless(text: str) -> str:
    if text.isascii():
        return text.lower()
    # İ in lower case would be two signs, which no other spelling of its word has
    text = unicodedata.normalize("NFKC", text).replace("İ", "i")
    for _ in range(2):  # a folded sign may be composed anew, and then fold once more
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFD", text).casefold())
    return text


def _singular(text: str) -> str:
    """`text` with its last word in the singular, by the plain rules of English; a form that stays itself."""
    start = max(text.rfind(" "), text.rfind("-")) + 1
    return text[:start] + _stem(text[start:])


def _stem(word: str) -> str:
    if len(word) < 4 or word in _WHOLE or word.endswith(("ss", "us", "is")):
        return word
    if len(word) > 4 and word.endswith(("ies", "ie")):
        return word.removesuffix("s")[:-2] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zzes", "oes")) or (word.endswith("uses") and word[-5:-4] not in tuple("aeou")):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word.endswith(("che", "she", "xe", "oe")):
        return word[:-1]
    if word.endswith("s") and word[-2].isalpha() and _VOWEL.search(word[:-1]):
        return word[:-1]
    return word


def home(use: KeyUse, names: Collection[str]) -> str:
    """The id of the key that `use` belongs to, `names` being the folded forms of the store's names and proper nouns."""
    plain = fold(use.label, "name")
    return plain if plain in names else use.folded


def uses(
    explicit: Sequence[tuple[str, str]],
    tags: Iterable[str],
    topics: Iterable[str],
    wikilinks: Iterable[str],
    titles: Iterable[str],
    extracted: Iterable[str],
) -> list[KeyUse]:
    """The keys of a note, one for each folded form, sorted by it: the strongest origin wins, a name before a concept.

    `explicit` are (label, type). A tag gives its last part, `lab/machine-learning` the key `machine
    learning`; a link the last part of its target. `extracted` counts only where the note has nothing
    but a title.
    """
    rows = [_use(label, type, "explicit") for label, type in explicit]
    rows += [_use(_tag_label(tag), CONCEPT, "tag") for tag in (*tags, *topics)]
    rows += [_use(_link_label(target), CONCEPT, "wikilink") for target in wikilinks if not _FILE.search(target)]
    derived = [] if any(map(_usable, rows)) else [_use(label, CONCEPT, "extracted") for label in extracted]
    rows += [_use(label, CONCEPT, "title") for label in titles]
    return _united([row for row in rows + derived if _usable(row)])


def _use(label: str, type: str, origin: str) -> KeyUse:
    label = " ".join(label.split())
    return KeyUse(label, fold(label, type), type, origin, ORIGINS[origin])


def _tag_label(tag: str) -> str:
    whole = tag.strip("/")
    last = whole.rpartition("/")[2]
    label = last if len(last) > 1 and re.search(r"[^\W\d_]", last) else whole
    return re.sub(r"(?<=\w)[-_](?=\w)", " ", label)


def _link_label(target: str) -> str:
    return target.rstrip("/").rpartition("/")[2].removesuffix(".md")


def _usable(use: KeyUse) -> bool:
    """Whether the label may be a key: what a note says itself always, what is derived only if it is a short text of two letters."""
    if use.origin == "explicit":
        return any(sign.isalnum() for sign in use.folded)
    letters = re.findall(r"[^\W\d_]", use.folded)
    return len(use.label) <= LONGEST and (len(letters) > 1 or (len(letters) == 1 and bool(_IDEOGRAPH.match(letters[0]))))


def _united(rows: list[KeyUse]) -> list[KeyUse]:
    names = {row.folded for row in rows if row.type != CONCEPT}
    groups: dict[str, list[KeyUse]] = {}
    for row in rows:
        groups.setdefault(home(row, names), []).append(row)
    return [_strongest(groups[folded]) for folded in sorted(groups)]


def _strongest(group: list[KeyUse]) -> KeyUse:
    """The group as one use: its best label, and the best origin of any."""
    best = min(group, key=lambda use: (use.type == CONCEPT, -use.weight, use.label, use.type))
    origin = max(group, key=lambda use: use.weight)
    return best._replace(origin=origin.origin, weight=origin.weight)


def canonical(labels: Iterable[tuple[str, str, str]]) -> tuple[str, str, tuple[str, ...]]:
    """(label, type, aliases) of a key from the (label, type, origin) of all its uses, whatever their order.

    The type is a name's if any use is one; the label an explicit one if there is one, then the smallest
    string; the aliases are the other spellings. ValueError if there are no labels.
    """
    rows = set(labels)
    label, type, _ = min(rows, key=lambda row: (row[1] == CONCEPT, row[2] != "explicit", row[0], row[1]))
    return label, type, tuple(sorted({row[0] for row in rows} - {label}))
