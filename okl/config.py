"""One table of settings, and the only reader of the environment.

A value is taken from the first that has it: a flag, the environment (`OK_*`), the store's
`.ok/config.yml`, the user's `config.yml`, the default.
"""

from __future__ import annotations

import difflib
import getpass
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from okl import properties, property_lines
from okl.errors import ConfigError, NotFound

Value = Any  # bool | int | float | str | list[str]

CONFIG_PATH = ".ok/config.yml"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its dotted name, what it is until set, and one line for people."""

    name: str
    default: Value
    text: str
    choices: tuple[str, ...] = ()
    minimum: float | None = None

    @property
    def kind(self) -> str:
        """The type as `docs/config.md` prints it."""
        if self.choices:
            return ("list of " if isinstance(self.default, list) else "") + " | ".join(self.choices)
        return {bool: "true | false", int: "integer", float: "number", str: "text", list: "list"}[type(self.default)]

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return "OK_" + self.name.replace(".", "_").upper()

    def parse(self, value: Value, origin: str) -> Value:
        """`value` as this setting's type; ConfigError names the setting and where it came from."""
        if isinstance(self.default, list):
            if not isinstance(value, list | str | None):
                raise self._mistyped(value, origin)
            items = value if isinstance(value, list) else [part.strip() for part in (value or "").split(",")]
            if any(isinstance(item, list | dict) or (self.choices and item and item not in self.choices) for item in items):
                raise self._mistyped(value, origin)
            return [str(item) for item in items if str(item)]
        if isinstance(value, str) and not isinstance(self.default, str):
            value = properties.scalar(value)
        if isinstance(self.default, float) and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if isinstance(self.default, str) and isinstance(value, int | float) and not isinstance(value, bool):
            value = str(value)
        if self.choices and value is False and "off" in self.choices:
            value = "off"
        return self._checked(value, origin)

    def _checked(self, value: Value, origin: str) -> Value:
        if type(value) is not type(self.default) or (self.choices and value not in self.choices):
            raise self._mistyped(value, origin)
        if isinstance(value, float) and not isfinite(value):
            raise self._mistyped(value, origin)
        if self.minimum is not None and value < self.minimum:
            raise ConfigError(f"{self.name} is {value} in {origin}; the least is {self.minimum:g}.")
        return value

    def _mistyped(self, value: Value, origin: str) -> ConfigError:
        return ConfigError(f"{self.name} is “{value}” in {origin}; it takes {self.kind}.")


SPEC: tuple[Setting, ...] = (
    Setting("actor", "", "Who writes, as `human:anna` or `agent:name`. Empty: `human:` and the login name."),
    Setting("chunk.overlap", 128, "Tokens that two windows of one long passage share.", minimum=0),
    Setting("chunk.tokens", 512, "Tokens in a chunk at the most.", minimum=32),
    Setting(
        "embedding",
        "builtin:minilm",
        "The embedding model: `builtin:minilm` (English), `builtin:e5` (a hundred languages; extra `multilingual`), "
        "`st:<folder or name>` (extra `torch`), `onnx:<folder>`, or `none`.",
    ),
    Setting("ignore", [], "Globs of paths that are no notes, as in `.gitignore`."),
    Setting("include", [], "Folders beginning with a dot whose notes count all the same."),
    Setting(
        "index.dir",
        "auto",
        "Where the index lies: in the store, or in the user's cache. `auto` takes the cache when the store "
        "lies in a folder that is synced (Syncthing, iCloud, Dropbox, OneDrive).",
        choices=("auto", "store", "cache"),
    ),
    Setting("index.hnsw_from", 30000, "Chunks from which the HNSW index answers in place of an exact search.", minimum=2000),
    Setting(
        "index.vectors",
        "auto",
        "How vectors are searched: `exact` compares every one, `hnsw` asks the HNSW index, `auto` takes that from `index.hnsw_from` on.",
        choices=("auto", "exact", "hnsw"),
    ),
    Setting("index.wait", 10.0, "Seconds to wait for another process that is writing the index.", minimum=0),
    Setting("ingest.max_mb", 200, "Megabytes a source may have.", minimum=1),
    Setting("ingest.memory_mb", 2048, "Megabytes of memory a converter may use.", minimum=256),
    Setting("ingest.pages", 2000, "Pages a PDF may have.", minimum=1),
    Setting("ingest.timeout", 120.0, "Seconds the conversion of one source may take.", minimum=1),
    Setting(
        "languages",
        [],
        "Languages to expect, as `en, de`. Empty: told from each note's words, English when unclear.",
        choices=("ar", "da", "de", "el", "en", "es", "fi", "fr", "hu", "it", "nl", "no", "pt", "ro", "ru", "sv", "ta", "tr"),
    ),
    Setting("namespace", "", "The namespace of new memories, and the one that searches look in. Empty: all."),
    Setting("search.half_life", 0.0, "Days after which a note's score is halved; 0 turns it off. Never for sources.", minimum=0),
    Setting("search.limit", 10, "Results a search shows.", minimum=1),
    Setting("search.min_score", 0.5, "The best hit's relevance below which a search finds nothing, 0 to 1.", minimum=0),
    Setting("search.per_document", 3, "Results one document may take.", minimum=1),
    Setting("tags.default", [], "Tags that every new memory gets."),
    Setting("tags.required", [], "Properties that every new memory must have."),
    Setting(
        "views",
        "index",
        "How topics are shown under `memories/topics/`: a page of links, a folder of symlinks, or not at all.",
        choices=("index", "symlinks", "off"),
    ),
)
_BY_NAME = {setting.name: setting for setting in SPEC}


def setting(name: str) -> Setting:
    """The setting of this name; NotFound names the nearest one."""
    if name not in _BY_NAME:
        raise NotFound(f"There is no setting “{name}”.{_nearest(name)}")
    return _BY_NAME[name]


def _nearest(name: str) -> str:
    close = difflib.get_close_matches(name, _BY_NAME, n=1)
    return f" Did you mean “{close[0]}”?" if close else ""


@dataclass(frozen=True, slots=True)
class Environment:
    """What okl takes from the process's environment, read once."""

    variables: Mapping[str, str]

    @classmethod
    def of_process(cls) -> Environment:
        """The environment of this process."""
        return cls(dict(os.environ))

    def store(self) -> str | None:
        """The store named by `OK_STORE`."""
        return self.variables.get("OK_STORE") or None

    def debug(self) -> bool:
        """Whether `OK_DEBUG` asks for tracebacks."""
        return bool(self.variables.get("OK_DEBUG"))

    def editor(self) -> list[str]:
        """The command line of the user's editor; empty where none is named."""
        return shlex.split(self.variables.get("VISUAL") or self.variables.get("EDITOR") or "")

    def user_config(self) -> Path:
        """The user's own config file."""
        return self._base("XDG_CONFIG_HOME", ".config") / "okl" / "config.yml"

    def user_cache(self) -> Path:
        """The folder for what can be derived again."""
        return self._base("XDG_CACHE_HOME", ".cache") / "okl"

    def _base(self, variable: str, default: str) -> Path:
        named = self.variables.get(variable, "")
        return Path(named) if os.path.isabs(named) else Path(os.path.expanduser("~")) / default


@dataclass(frozen=True, slots=True)
class Config:
    """The settings in force for one store: `values` and where each came from."""

    values: Mapping[str, Value]
    origins: Mapping[str, str]
    environment: Environment

    def __getitem__(self, name: str) -> Value:
        return self.values[setting(name).name]

    def is_own(self, name: str) -> bool:
        """Whether the person's own settings say so, and not the store's alone, which may be somebody else's."""
        own = read_file(self.environment.user_config()).get(name)
        return self.origins[name] in ("environment", "flag", "default") or own == self.values[name]

    def actor(self) -> str:
        """Who acts, as `human:anna`."""
        named = str(self["actor"])
        if named:
            return named if ":" in named else f"human:{named}"
        try:
            return f"human:{getpass.getuser()}"
        except (OSError, KeyError):
            return "human:unknown"


def load(root: Path | None, environment: Environment, flags: Mapping[str, Value] | None = None) -> Config:
    """The settings of the store at `root`; ConfigError for an unknown or mistyped one."""
    values: dict[str, Value] = {s.name: s.default for s in SPEC}
    origins = dict.fromkeys(values, "default")
    files = [environment.user_config()] + ([root / CONFIG_PATH] if root else [])
    for path in files:
        _take(values, origins, read_file(path), str(path))
    named = {s.name: environment.variables[s.variable] for s in SPEC if s.variable in environment.variables}
    for name, text in named.items():
        values[name] = setting(name).parse(text, f"the environment ({setting(name).variable})")
        origins[name] = "environment"
    _take(values, origins, flags or {}, "flag")
    return Config(values, origins, environment)


def _take(values: dict[str, Value], origins: dict[str, str], found: Mapping[str, Value], origin: str) -> None:
    for name, value in found.items():
        if name not in _BY_NAME:
            raise ConfigError(f"{origin} names an unknown setting “{name}”.{_nearest(name)}")
        values[name] = _BY_NAME[name].parse(value, origin)
        origins[name] = origin


def read_file(path: Path) -> dict[str, Value]:
    """The settings in one config file, nested sections flattened to dotted names; none if it is missing."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.") from error
    found, problems = properties.read(text)
    if problems:
        raise ConfigError(f"{path} line {problems[0].line}: {problems[0].text}.")
    return dict(_flattened(found, ""))


def _flattened(section: Mapping[str, Value], prefix: str) -> list[tuple[str, Value]]:
    rows: list[tuple[str, Value]] = []
    for key, value in section.items():
        rows += _flattened(value, f"{prefix}{key}.") if isinstance(value, dict) else [(prefix + key, value)]
    return rows


def edited(text: str, name: str, value: str) -> str:
    """The config file `text` with one setting changed; comments and other lines stay."""
    spec = setting(name)
    parsed = spec.parse(value, "the command line")
    section, _, rest = name.partition(".")
    found, problems = properties.read(text)
    if problems:
        raise ConfigError(f"{CONFIG_PATH} line {problems[0].line}: {problems[0].text}.")
    try:
        if rest and isinstance(found.get(section), dict):
            return property_lines.set_value(text, section, {**found[section], rest: parsed})
        return property_lines.set_value(text, name, parsed)
    except properties.PropertiesBroken as error:
        raise ConfigError(f"{CONFIG_PATH}: {error.problem.text}. Change it in an editor.") from error
