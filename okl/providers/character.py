"""What is known of a model beside its vectors: which scripts it reads, and what its cosines mean.

Cosines of unrelated texts are near 0 for one model and near 0.8 for another. `floor` is the cosine
that an unrelated passage may well have, `span` how far above it an answer lies. Measured for the
built-in models on six sets of questions; of others they are told from sixteen questions and answers.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from okl.providers.base import Embedder

PAIRS = (
    ("When does the swimming pool close on Sundays?", "On Sundays the pool shuts at six in the evening, on other days at nine."),
    ("Who painted the kitchen door?", "My neighbour Ruth gave the door of the kitchen a coat of blue paint last spring."),
    ("How do I keep basil alive?", "Basil wants light and a little water every day, and hates the cold."),
    ("What was agreed about the new office?", "At the meeting they decided to rent the second floor from October on."),
    ("Why is the train late?", "A fallen tree blocks the line, so all trains wait for an hour."),
    ("Does honey go bad?", "Sealed honey keeps for centuries, since hardly anything can live in it."),
    ("Where did the painter die?", "He spent his last years in Lisbon, where he died in 1954."),
    ("Which key opens the shed?", "The small brass one with the red string is for the garden shed."),
    ("How is wine stain removed from cotton?", "Pour salt on the spot at once, then rinse the cloth with cold water."),
    ("What is the largest lake of Africa?", "Lake Victoria covers more ground than any other lake on the African continent."),
    ("Who discovered the comet?", "The comet was first seen by a schoolteacher, Maria Oldfield, through her own telescope."),
    ("When do I pay the electricity bill?", "The bill for power has to be settled within two weeks of the reading."),
    ("Does vitamin C prevent colds?", "Trials show that taking ascorbic acid hardly changes how often people catch a cold."),
    ("How deep is the harbour?", "At low tide there are eleven metres of water along the quay."),
    ("What instrument does Tom play?", "Tom has played the cello since he was nine."),
    ("How are backups made?", "A copy of the database is written to another machine every night."),
)


@dataclass(frozen=True, slots=True)
class Character:
    """See above. `alone` weighs a cosine that no word supports; `latin` says that the model reads no other script."""

    floor: float
    span: float
    alone: float = 1.0
    latin: bool = False

    @property
    def something(self) -> float:
        """The cosine that hardly any passage has with a query that means nothing."""
        return self.floor + 0.25 * self.span

    def trust(self, text: str) -> float:
        """The share of a text's letters that the model can read, 0 to 1."""
        if not self.latin or text.isascii():
            return 1.0
        letters = [letter for letter in text if letter.isalpha()]
        read = sum(letter.isascii() or unicodedata.name(letter, "").startswith("LATIN") for letter in letters)
        return read / len(letters) if letters else 1.0


_KNOWN = {
    "minilm-l6-v2/": Character(0.25, 0.40, 1.5, latin=True),
    "multilingual-e5-small/": Character(0.79, 0.08),
}


def of(fingerprint: str, unrelated: float, related: float) -> Character:
    """The character of a model, given the cosines of questions with others' answers and with their own (see `cosines`)."""
    for name, known in _KNOWN.items():
        if fingerprint.startswith(name):
            return known
    far = max(related - unrelated, 0.01)
    return Character(unrelated + 0.38 * far, 0.68 * far)


def cosines(embedder: Embedder) -> tuple[float, float]:
    """(the median cosine of a question with another's answer, the mean cosine with its own)."""
    asked = embedder.embed([question for question, _ in PAIRS], "query")
    told = embedder.embed([answer for _, answer in PAIRS], "passage")
    table = (asked @ told.T).tolist()
    others = sorted(cosine for row, line in enumerate(table) for column, cosine in enumerate(line) if row != column)
    return others[len(others) // 2], sum(table[place][place] for place in range(len(PAIRS))) / len(PAIRS)
