"""Built graphs, kept in the user's cache folder so that they are built once.

A file ends in the sha256 of what stands before, written as the model's doc string, so that it stays an ONNX file.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_DOC_STRING = b"\x32\x40"  # field 6, of 64 bytes
_SEAL = 66


def kept(folder: Path, name: str, build: Callable[[], bytes]) -> str | bytes:
    """The path of the graph that `build` makes, built where it is missing or damaged; its bytes where it cannot be written."""
    path = folder / name
    if _whole(path):
        return str(path)
    model = build()
    with suppress(OSError):
        _write(path, model + _seal(model))
        return str(path)
    return model


def _seal(model: bytes | memoryview) -> bytes:
    return _DOC_STRING + hashlib.sha256(model).hexdigest().encode()


def _whole(path: Path) -> bool:
    try:
        data = memoryview(path.read_bytes())
    except OSError:
        return False
    return bytes(data[-_SEAL:]) == _seal(data[:-_SEAL])


def _write(path: Path, data: bytes) -> None:
    """Put the data there, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=path.name, dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
        raise
