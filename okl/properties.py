"""YAML properties: read without loss, change one without touching the others.

Reading follows YAML 1.2 core with three rules of our own, each so that nothing is lost: a number
that would not print as it was written stays text (`0012`, `1.10`), dates stay text, and aliases
(`*x`) are refused, since a few of them can stand for gigabytes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, cast

import yaml
from frontmatter.default_handlers import YAMLHandler

try:
    from yaml import CSafeLoader as SafeLoader
except ImportError:  # PyYAML built without libyaml
    from yaml import SafeLoader as SafeLoader  # type: ignore[assignment]

Value = Any  # None | bool | int | float | str | list[Value] | dict[str, Value]

MAX_DEPTH = 64
MAX_CHARS = 1 << 20
_INT = re.compile(r"-?(?:0|[1-9][0-9]{0,17})\Z")
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:e[+-][0-9]+)?\Z")
_WORDS: dict[str, Value] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


__all__ = [
    "Problem", "PropertiesBroken", "SafeLoader", "Value", "dump", "dump_scalar", "entry_lines", "flow", "read", "scalar", "text_of",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault in a file: its name (as `ok doctor` prints it), 1-based line, and what is wrong."""

    name: str
    line: int
    text: str


class PropertiesBroken(ValueError):
    """The YAML cannot be read; `problem` says where."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.text)
        self.problem = problem


def scalar(text: str) -> Value:
    """The value a plain scalar stands for: null, boolean, number, or the text itself."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.match(text):
        return int(text) if text != "-0" else text
    if _FLOAT.match(text) and repr(float(text)) == text:
        return float(text)
    return text


class PropertyLoader(SafeLoader):
    """Builds plain values from YAML nodes and keeps what is odd about them in `problems`."""

    problems: list[Problem]

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self.problems = []
        self._seen: set[int] = set()

    def get_single_data(self) -> Value:
        """The values and the problems of the one document."""
        node = self.get_single_node()
        return {} if node is None else self._value(node), self.problems

    def _value(self, node: yaml.Node) -> Value:
        if id(node) in self._seen:
            raise PropertiesBroken(Problem("yaml-alias", _line(node), "YAML aliases (*name) are not allowed"))
        self._seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node)
        if isinstance(node, yaml.SequenceNode):
            return [self._value(child) for child in node.value]
        text = cast("yaml.ScalarNode", node)
        return text.value if text.style else scalar(text.value)

    def _mapping(self, node: yaml.MappingNode) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node)
            if key in found:
                self.problems.append(Problem("duplicate-key", _line(key_node), f"“{key}” stands twice; the last one counts"))
            found[key] = self._value(value_node)
        return found

    def _key(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise PropertiesBroken(Problem("broken-yaml", _line(node), "a list or mapping is used as a key"))
        if not node.style and not isinstance(scalar(node.value), str):
            self.problems.append(
                Problem("non-string-key", _line(node), f"the key {node.value or 'null'} is not text; read as “{node.value}”")
            )
        return str(node.value)


_HANDLER = YAMLHandler()


def read(head: str) -> tuple[dict[str, Value], list[Problem]]:
    """The properties in `head` (YAML without its fences), and what is odd about them.

    Lines of problems count from 1 at the first line of `head`. Never raises for content: YAML that
    cannot be read gives no properties and one problem.
    """
    try:
        values, problems = _HANDLER.load(_checked(head), Loader=PropertyLoader)
    except PropertiesBroken as error:
        return {}, [error.problem]
    except yaml.YAMLError as error:
        return {}, [_yaml_problem(error, head)]
    if not isinstance(values, dict):
        return {}, [Problem("broken-yaml", 1, "the YAML is not a mapping of keys to values")]
    return values, problems


def _checked(head: str) -> str:
    """`head`, unless it is so large or so deep that libyaml would not survive it."""
    if len(head) > MAX_CHARS:
        raise PropertiesBroken(Problem("broken-yaml", 1, "the YAML is over 1 MB"))
    if sum(head.count(mark) for mark in "[{-?:") > MAX_DEPTH:
        depth = 0
        for event in yaml.parse(head, Loader=SafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                raise PropertiesBroken(Problem("broken-yaml", 1, f"nested over {MAX_DEPTH} levels deep"))
    return head


def _yaml_problem(error: yaml.YAMLError, head: str) -> Problem:
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        return Problem("broken-yaml", mark.line + 1 if mark else 1, _one_line(error.problem or "cannot be read"))
    bad = re.search(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", head)
    line = head.count("\n", 0, bad.start()) + 1 if bad else 1
    return Problem("broken-yaml", line, "a control character is not allowed in YAML")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


# --- writing values -------------------------------------------------------------------------------


def text_of(value: Value) -> str:
    """A scalar as its YAML says it: `true`, `null`, `1`."""
    return dump_scalar(value) if isinstance(value, bool) or value is None else str(value)


def dump_scalar(value: Value, flow: bool = False, quote: str | None = None) -> str:
    """One scalar as YAML on one line: plain where that reads back the same, else double-quoted."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    text = str(value)
    if quote == "'" and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    if quote is None and _plain(text, flow):
        return text
    return _quoted(text)


def _quoted(text: str) -> str:
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return (
        '"'
        + "".join(escapes.get(c) or (c if c.isprintable() else f"\\U{ord(c):08x}" if ord(c) > 0xFFFF else f"\\u{ord(c):04x}") for c in text)
        + '"'
    )


def _plain(text: str, flow: bool) -> bool:
    if not text.isprintable() or not isinstance(scalar(text), str):
        return False
    if re.fullmatch(r"\w[\w /.@+-]*(?<! )", text):
        return not re.fullmatch(r"(?i)(?:yes|no|on|off|y|n|[0-9][0-9.:_e+-]*|0x[0-9a-f]+)", text)
    values, problems = read(f"k: [{text}, {text}]\n" if flow else f"k: {text}\n")
    return not problems and values == {"k": [text, text] if flow else text}


def _key_text(key: str) -> str:
    """A key as it stands before its colon; one that would read otherwise at a line's beginning (`--- a`) in quotes."""
    name = dump_scalar(key)
    return name if name != key or key[:1].isalnum() or read(f"{name}: x\n") == ({key: "x"}, []) else _quoted(key)


def entry_lines(key: str, value: Value) -> list[str]:
    """One property as lines of YAML."""
    name = _key_text(key)
    if isinstance(value, dict) and value:
        return [f"{name}:", *("  " + line for k, v in value.items() for line in entry_lines(k, v))]
    if isinstance(value, list) and value:
        return [f"{name}:", *(line for item in value for line in _item_lines(item))]
    return [f"{name}: {flow(value)}"]


def _item_lines(item: Value) -> list[str]:
    if isinstance(item, dict) and item:
        inner = [line for k, v in item.items() for line in entry_lines(k, v)]
        return [("  - " if not index else "    ") + line for index, line in enumerate(inner)]
    return [f"  - {flow(item, inside=isinstance(item, list))}"]


def flow(value: Value, inside: bool = False) -> str:
    """A value on one line; `inside` a list or mapping more characters need quotes."""
    if isinstance(value, list):
        return "[" + ", ".join(flow(item, inside=True) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{dump_scalar(k, flow=True)}: {flow(v, inside=True)}" for k, v in value.items()) + "}"
    return dump_scalar(value, flow=inside)


def dump(values: dict[str, Value], newline: str = "\n") -> str:
    """`values` as YAML lines, for files that okl creates."""
    return "".join(line + newline for key, value in values.items() for line in entry_lines(key, value))
