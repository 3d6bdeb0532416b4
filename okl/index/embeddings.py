"""The embedding cache: what a model made of each text, append-only and outside the generations.

One folder a model: `model.json` (its fingerprint, what its cosines mean), `probes.npy` (what it makes of three fixed
texts), `rows` (float16 vectors one after the other) and `keys` (for each row the sha256 of its
text and the row's CRC-32). `models.json` says which model an embedding URI last was, so that an
index can be filled without loading any model.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from zlib import crc32

import numpy as np

from okl.errors import Unavailable
from okl.providers import character
from okl.providers.base import Embedder, Vectors, fingerprint_vectors, same_model
from okl.providers.character import Character

_KEY = 36
_STORED = np.dtype("<f2")


@dataclass(frozen=True)
class Model:
    """A model as the cache knows it: `fingerprint` names it, `dim` is the length of its vectors, `character` what they mean."""

    folder: Path
    fingerprint: str
    dim: int
    character: Character

    @property
    def exists(self) -> bool:
        """Whether its folder is still there."""
        return (self.folder / "model.json").exists()

    @cached_property
    def embeddings(self) -> Embeddings:
        """The vectors it made so far."""
        return Embeddings(self.folder, self.dim)


class Embeddings:
    """The vectors of one model, by the sha256 of their text. Torn tails and damaged rows count as missing."""

    def __init__(self, folder: Path, dim: int) -> None:
        self._keys, self._rows = folder / "keys", folder / "rows"
        self._dim = dim
        self._size = dim * _STORED.itemsize

    @cached_property
    def _places(self) -> dict[bytes, tuple[int, int]]:
        """(row, CRC-32) by sha256; of several rows of one text the last."""
        keys = self._keys.read_bytes() if self._keys.exists() else b""
        count = min(len(keys), self._whole() * _KEY) // _KEY
        return {
            keys[at : at + 32]: (at // _KEY, int.from_bytes(keys[at + 32 : at + _KEY], "little")) for at in range(0, count * _KEY, _KEY)
        }

    def _whole(self) -> int:
        """Rows that are there to the last byte."""
        return self._rows.stat().st_size // self._size if self._rows.exists() else 0

    def __contains__(self, sha256: str) -> bool:
        return bytes.fromhex(sha256) in self._places

    def get(self, shas: Sequence[str]) -> tuple[list[int], Vectors]:
        """(places in `shas` of the texts that have a vector, those vectors float32[n, dim])."""
        known = [(place, *found) for place, sha in enumerate(shas) if (found := self._places.get(bytes.fromhex(sha)))]
        if not known:
            return [], np.empty((0, self._dim), np.float32)
        try:
            stored = np.memmap(self._rows, np.uint8, "r")
        except (OSError, ValueError):  # somebody deleted it meanwhile
            return [], np.empty((0, self._dim), np.float32)
        places, rows = [], []
        for place, row, checksum in known:
            data = stored[row * self._size : (row + 1) * self._size].tobytes()
            if crc32(data) == checksum:
                places.append(place)
                rows.append(data)
        return places, np.frombuffer(b"".join(rows), _STORED).reshape(-1, self._dim).astype(np.float32)

    def add(self, shas: Sequence[str], vectors: Vectors) -> None:
        """Keep the vectors of some texts; the caller is the only writer."""
        stored = vectors.astype(_STORED)
        count = min(self._whole(), self._keys.stat().st_size // _KEY if self._keys.exists() else 0)
        datas = [row.tobytes() for row in stored]
        keys = [bytes.fromhex(sha) + crc32(data).to_bytes(4, "little") for sha, data in zip(shas, datas, strict=True)]
        try:
            _append(self._rows, count * self._size, b"".join(datas))
            _append(self._keys, count * _KEY, b"".join(keys))
        except OSError as error:
            raise Unavailable(f"The embedding cache cannot be written: {error.strerror}.") from error
        self.__dict__.pop("_places", None) if len(shas) > len(self._places) else self._remember(keys, count)

    def _remember(self, keys: Iterable[bytes], row: int) -> None:
        for place, key in enumerate(keys, row):
            self._places[key[:32]] = (place, int.from_bytes(key[32:], "little"))


def _append(path: Path, at: int, data: bytes) -> None:
    """Write `data` at the offset `at`, cutting off what a crash left there."""
    with path.open("r+b" if path.exists() else "w+b") as file:
        file.truncate(at)
        file.seek(at)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


class Models:
    """The folder of all embedding caches of one index."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def last(self, uri: str) -> Model | None:
        """The model that `uri` was when it was last loaded; None if it never was."""
        name = self._named().get(uri)
        return self._read(self.folder / name) if name else None

    def settle(self, uri: str, embedder: Embedder) -> Model:
        """The model that `embedder` is: one that is known and makes the same vectors of the probes, else a new one."""
        probes = fingerprint_vectors(embedder)
        slug = re.sub(r"[^\w.-]+", "-", embedder.id).strip("-")[:100]
        number = 1
        while (folder := self.folder / _numbered(slug, number)).exists() and not same_model(_array(folder / "probes.npy"), probes):
            number += 1
        model = self._read(folder) or self._make(folder, _numbered(embedder.id, number), embedder, probes)
        if self._named().get(uri) != folder.name:
            self._write(self.folder / "models.json", json.dumps({**self._named(), uri: folder.name}, indent=1, sort_keys=True))
        return model

    def _named(self) -> dict[str, str]:
        try:
            found = json.loads((self.folder / "models.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return {uri: name for uri, name in found.items() if isinstance(name, str)} if isinstance(found, dict) else {}

    def _read(self, folder: Path) -> Model | None:
        try:
            told = json.loads((folder / "model.json").read_text(encoding="utf-8"))
            return Model(folder, str(told["fingerprint"]), int(told["dim"]), character.of(told["fingerprint"], *told["cosines"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _make(self, folder: Path, fingerprint: str, embedder: Embedder, probes: Vectors) -> Model:
        told = [round(cosine, 4) for cosine in character.cosines(embedder)]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            np.save(folder / "probes.npy", probes)
            self._write(folder / "model.json", json.dumps({"fingerprint": fingerprint, "dim": embedder.dim, "cosines": told}))
        except OSError as error:
            raise Unavailable(f"The embedding cache cannot be written: {error.strerror}.") from error
        return Model(folder, fingerprint, embedder.dim, character.of(fingerprint, *told))

    def _write(self, path: Path, text: str) -> None:
        temporary = path.with_name(f"{path.name}.{os.getpid()}")
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)


def _numbered(name: str, number: int) -> str:
    """The name of the model that is the first, or the second, to be called so."""
    return name if number == 1 else f"{name}~{number}"


def _array(path: Path) -> Vectors:
    """The array in a file; an empty one, which is like no other, if it cannot be read."""
    try:
        found = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        found = np.empty((0, 0))
    return np.asarray(found, np.float32)
