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
    from yaml import CSafeLoader as _SafeLoader
except ImportError:  # PyYAML built without libyaml
    from yaml import SafeLoader as _SafeLoader  # type: ignore[assignment]

Value = Any  # None | bool | int | float | str | list[Value] | dict[str, Value]

MAX_DEPTH = 64
MAX_CHARS = 1 << 20
_INT = re.compile(r"-?(?:0|[1-9][0-9]{0,17})\Z")
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+\Z|-?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z")
_WORDS: dict[str, Value] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


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


class PropertyLoader(_SafeLoader):
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
        return {}, [Problem("broken-yaml", 1, "the frontmatter is not a mapping of keys to values")]
    return values, problems


def _checked(head: str) -> str:
    """`head`, unless it is so large or so deep that libyaml would not survive it."""
    if len(head) > MAX_CHARS:
        raise PropertiesBroken(Problem("broken-yaml", 1, "the frontmatter is over 1 MB"))
    if sum(head.count(mark) for mark in "[{-?") > MAX_DEPTH:
        depth = 0
        for event in yaml.parse(head, Loader=_SafeLoader):
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


# --- changing -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Entry:
    """One top-level property: its lines `[start, end)` in the head, its key and its value node."""

    key: str
    start: int
    end: int
    node: yaml.Node


def set_value(head: str, key: str, value: Value, newline: str = "\n") -> str:
    """`head` with `key` set to `value`; every other line stays as it is.

    Raises PropertiesBroken where the YAML cannot be read, so that nothing is guessed at.
    """
    lines = _lines(head)
    entry = _entry(head, key)
    if entry is None:
        return _with_final_newline(head, newline) + newline.join(_entry_lines(key, value)) + newline
    if (patched := _patched(lines, entry, value)) is not None:
        return patched
    ending = newline if lines[entry.end - 1].endswith("\n") else ""
    fresh = newline.join(_entry_lines(entry.key, value)) + ending
    return "".join([*lines[: entry.start], fresh, *lines[entry.end :]])


def remove(head: str, key: str) -> str:
    """`head` without `key`; unchanged where there is none."""
    entry = _entry(head, key)
    lines = _lines(head)
    return head if entry is None else "".join(lines[: entry.start] + lines[entry.end :])


def add_item(head: str, key: str, item: str, newline: str = "\n") -> str:
    """`head` with `item` added to the list `key`, in the style the list already has."""
    entry = _entry(head, key)
    values = _items(read(head)[0].get(entry.key if entry else key))
    if item in values:
        return head
    if entry is None or not isinstance(entry.node, yaml.SequenceNode) or not entry.node.value:
        return set_value(head, key, [*values, item], newline)
    lines = _lines(head)
    last = entry.node.value[-1]
    if entry.node.flow_style:
        if last.end_mark.line >= len(lines):
            return set_value(head, key, [*values, item], newline)
        row, column = last.end_mark.line, last.end_mark.column
        lines[row] = f"{lines[row][:column]}, {dump_scalar(item, flow=True)}{lines[row][column:]}"
        return "".join(lines)
    row = last.start_mark.line
    indent = lines[row][: lines[row].index("-")]
    end = _trimmed(lines, row + 1, entry.end)
    lines[end - 1] = _with_final_newline(lines[end - 1], newline)
    return "".join([*lines[:end], f"{indent}- {dump_scalar(item)}{newline}", *lines[end:]])


def remove_item(head: str, key: str, item: str, newline: str = "\n") -> str:
    """`head` without `item` in the list `key`; unchanged where it does not stand."""
    entry = _entry(head, key)
    if entry is None:
        return head
    values = _items(read(head)[0].get(entry.key))
    if item not in values:
        return head
    rest = [value for value in values if value != item]
    if not isinstance(entry.node, yaml.SequenceNode) or entry.node.flow_style or not rest:
        return set_value(head, key, rest, newline)
    lines = _lines(head)
    nodes = entry.node.value
    starts = [node.start_mark.line for node in nodes] + [entry.end]
    gone: set[int] = set()
    for index, node in enumerate(nodes):
        if isinstance(node, yaml.ScalarNode) and node.value == item:
            gone.update(range(starts[index], starts[index + 1]))
    return "".join(line for number, line in enumerate(lines) if number not in gone)


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
    if flow and re.search(r"[,\[\]{}]", text):
        return False
    values, problems = read(f"k: {text}\n")
    return not problems and values == {"k": text}


def _entry_lines(key: str, value: Value) -> list[str]:
    name = dump_scalar(key)
    if isinstance(value, dict):
        inner = [line for k, v in value.items() for line in _entry_lines(k, v)]
        return [f"{name}:", *("  " + line for line in inner)] if inner else [f"{name}: {{}}"]
    if isinstance(value, list):
        if not value:
            return [f"{name}: []"]
        if all(isinstance(item, list) for item in value):
            return [f"{name}:", *(f"  - {_flow(item)}" for item in value)]
        return [f"{name}:", *(line for item in value for line in _item_lines(item))]
    return [f"{name}: {dump_scalar(value)}"]


def _item_lines(item: Value) -> list[str]:
    if isinstance(item, dict):
        inner = [line for k, v in item.items() for line in _entry_lines(k, v)]
        return [("  - " if not index else "    ") + line for index, line in enumerate(inner)]
    return [f"  - {_flow(item)}"]


def _flow(value: Value) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_flow(item) for item in value) + "]"
    return dump_scalar(value, flow=True)


def dump(values: dict[str, Value], newline: str = "\n") -> str:
    """`values` as YAML lines, for files that okl creates."""
    return "".join(line + newline for key, value in values.items() for line in _entry_lines(key, value))


def _lines(head: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", head)


def _with_final_newline(text: str, newline: str) -> str:
    return text if not text or text.endswith("\n") else text + newline


def _items(value: Value) -> list[str]:
    values = value if isinstance(value, list) else [] if value is None else [value]
    return [str(item) for item in values]


def _trimmed(lines: list[str], start: int, end: int) -> int:
    """`end`, without the blank and comment lines before it, which belong to what follows."""
    while end > start and (not lines[end - 1].strip() or lines[end - 1].startswith("#")):
        end -= 1
    return end


def _entry(head: str, key: str) -> _Entry | None:
    """The last property of this name (case-insensitive when nothing has the exact name)."""
    problems = read(head)[1]
    if problems and problems[0].name in ("broken-yaml", "yaml-alias"):
        raise PropertiesBroken(problems[0])
    root = yaml.compose(head, Loader=_SafeLoader)
    if not isinstance(root, yaml.MappingNode):
        return None
    if root.flow_style:
        raise PropertiesBroken(Problem("flow-frontmatter", 1, "properties written as {…} on one line are not edited"))
    lines = _lines(head)
    starts = [name.start_mark.line for name, _ in root.value] + [len(lines)]
    entries = [
        _Entry(name.value, start, _trimmed(lines, start + 1, end), node)
        for (name, node), start, end in zip(root.value, starts, starts[1:], strict=False)
    ]
    exact = [entry for entry in entries if entry.key == key]
    loose = [entry for entry in entries if entry.key.casefold() == key.casefold()]
    return next(reversed(exact or loose), None)


def _patched(lines: list[str], entry: _Entry, value: Value) -> str | None:
    """The text with only the value's characters replaced, where old and new both fit on one line.

    So a comment behind the value, the spaces before it and its quotes stay.
    """
    node = entry.node
    one_line = node.start_mark.line == node.end_mark.line == entry.start and entry.end == entry.start + 1
    if not one_line or isinstance(value, dict):
        return None
    if isinstance(value, list):
        if not (isinstance(node, yaml.SequenceNode) and node.flow_style):
            return None
        fresh = _flow(value)
    elif isinstance(node, yaml.ScalarNode) and node.start_mark.column < node.end_mark.column:
        fresh = dump_scalar(value, quote=(node.style or None) if isinstance(value, str) else None)
    else:
        return None
    row = lines[entry.start]
    row = row[: node.start_mark.column] + fresh + row[node.end_mark.column :]
    return "".join([*lines[: entry.start], row, *lines[entry.start + 1 :]])
