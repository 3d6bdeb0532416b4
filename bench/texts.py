"""Notes to measure with: made of a seed, with words, links, lists, code and tags as notes have them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

_STARTS = (
    "ba be bri ca cha co da de dra e fa fi flo ga gra ha he i in ja ka la le li ma me mi "
    "na ne no o pa pe pla ra re ri sa se sha so ta te ti tra u va ve wa"
).split()
_MIDDLES = "ba ber ca da den di fi ga ker la len li lo ma mer mi na ni no pa per ra ri ro sa se ta ter ti to va ver".split()
_ENDS = "ble ce d der der ge k l le ll m n nce nd ng nt r re rn rt s se st t te th tion ty y".split()
_SMALL = "the of and to in a is that for it as was with on by at from are this which or an be were".split()
_WORDS = 6000
_PARAGRAPH = 45


class Writer:
    """Makes notes of about a kilobyte; the same seed makes the same notes."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        made = {self._word() for _ in range(2 * _WORDS)}
        self._words = np.array(sorted(made)[:: max(1, len(made) // _WORDS)])
        self._rng.shuffle(self._words)
        ranks = np.arange(1, len(self._words) + 1)
        self._odds = (1 / ranks) / (1 / ranks).sum()

    def _word(self) -> str:
        rng = self._rng
        return "".join([rng.choice(_STARTS), *rng.choice(_MIDDLES, int(rng.integers(0, 3))), rng.choice(_ENDS)])

    def words(self, count: int) -> list[str]:
        """Words as often as words come in writing, every third a small one."""
        told = self._rng.choice(self._words, count, p=self._odds)
        small = self._rng.choice(_SMALL, count)
        return [str(small[place] if place % 3 == 1 else told[place]) for place in range(count)]

    def sentence(self, count: int) -> str:
        """Words with a capital and a full stop."""
        return " ".join(self.words(count)).capitalize() + "."

    def query(self) -> str:
        """Three telling words, as a person types them."""
        return " ".join(str(word) for word in self._rng.choice(self._words, 3, replace=False))

    def note(self, number: int, count: int) -> str:
        """The note `number` of `count`: properties, two paragraphs, a list, code, and links to others."""
        others = [title(int(other)) for other in self._rng.integers(0, count, 3)]
        tags = ", ".join(self.words(3)[::2])
        items = "\n".join(f"- {' '.join(self.words(6))}" for _ in range(4))
        name, argument = (str(word) for word in self._rng.choice(self._words, 2))
        return (
            f"---\ntitle: {title(number)}\ntags: [{tags}]\n---\n# {title(number)}\n\n{self._paragraph()} See [[{others[0]}]].\n\n"
            f"## {' '.join(self.words(2)).capitalize()}\n\n{items}\n\n{self._paragraph()} Compare [[{others[1]}]] and [[{others[2]}]].\n\n"
            f"```python\ndef {name}({argument}):\n    return {argument} * {number}\n```\n"
        )

    def short_note(self, number: int) -> str:
        """A note of one paragraph."""
        return f"---\ntitle: {title(number)}\n---\n{self._paragraph()}\n"

    def _paragraph(self) -> str:
        return " ".join(self.sentence(_PARAGRAPH // 3) for _ in range(3))


def title(number: int) -> str:
    """The title of a note, by which others link to it."""
    return f"Note {number:06}"


def path(number: int) -> str:
    """Where it lies: a hundred notes a folder."""
    return f"{number // 100:04}/note-{number:06}.md"


def write_all(root: Path, count: int, short: bool = False, seed: int = 1) -> Writer:
    """Put `count` notes below `root`; gives their writer, which knows their words."""
    writer = Writer(seed)
    for number in range(count):
        full = root / path(number)
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_text(writer.short_note(number) if short else writer.note(number, count), encoding="utf-8")
    return writer
