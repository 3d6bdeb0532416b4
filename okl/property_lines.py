"""Changing one property without touching the lines of the others. Pure text."""

from __future__ import annotations

import re
from dataclasses import dataclass

import yaml

from okl.properties import (
    Problem,
    PropertiesBroken,
    SafeLoader,
    Value,
    dump,
    dump_scalar,
    entry_lines,
    flow,
    read,
    text_of,
)


@dataclass(frozen=True, slots=True)
class _Entry:
    """One top-level property: its key, its lines `[start, end)` in the head, its column, its value node."""

    key: str
    start: int
    end: int
    column: int
    node: yaml.Node


def set_value(head: str, key: str, value: Value, newline: str = "\n") -> str:
    """`head` with `key` set to `value`; every other line stays as it is.

    Raises PropertiesBroken where the YAML cannot be read or would not read as wished afterwards, so
    that nothing is guessed at.
    """
    entries = _entries(head)
    entry = _named(entries, key)
    lines = _lines(head)
    name = entry.key if entry else key
    if entry is None:
        indent = " " * entries[0].column if entries else ""
        text = _with_final_newline(head, newline) + _block(name, value, indent, newline)
    elif (patched := _patched(lines, entry, value)) is not None:
        text = patched
    else:
        fresh = _block(name, value, " " * entry.column, newline)
        ending = fresh if lines[entry.end - 1].endswith("\n") else fresh.removesuffix(newline)
        text = "".join([*lines[: entry.start], ending, *lines[entry.end :]])
    return _checked_change(head, text, name, read(dump({name: value}))[0].get(name))


def remove(head: str, key: str) -> str:
    """`head` without `key`, however often it stands there; unchanged where it does not."""
    text = head
    while entry := _named(_entries(text), key):
        lines = _lines(text)
        text = "".join(lines[: entry.start] + lines[entry.end :])
        key = entry.key
    return _checked_change(head, text, key, _GONE) if text != head else head


def add_item(head: str, key: str, item: str, newline: str = "\n") -> str:
    """`head` with `item` added to the list `key`, in the style the list already has."""
    entry = _named(_entries(head), key)
    name = entry.key if entry else key
    values = _items(read(head)[0].get(name))
    if item in map(text_of, values):
        return head
    text = _with_item(head, entry, item, newline) if entry and isinstance(entry.node, yaml.SequenceNode) else None
    if text is None:
        return set_value(head, name, [*values, item], newline)
    return _checked_change(head, text, name, [*values, item])


def _with_item(head: str, entry: _Entry, item: str, newline: str) -> str | None:
    """The item behind the list's last one; None where the list is empty or laid out oddly."""
    lines, nodes = _lines(head), entry.node.value
    if not nodes:
        return None
    last = nodes[-1]
    if isinstance(entry.node, yaml.SequenceNode) and entry.node.flow_style:
        row, column = last.end_mark.line, last.end_mark.column
        if row >= len(lines):
            return None
        lines[row] = f"{lines[row][:column]}, {dump_scalar(item, flow=True)}{lines[row][column:]}"
        return "".join(lines)
    if len(_dashes(lines, entry)) != len(nodes):
        return None
    end = _trimmed(lines, last.start_mark.line + 1, entry.end)
    lines[end - 1] = _with_final_newline(lines[end - 1], newline)
    return "".join([*lines[:end], f"{' ' * entry.node.start_mark.column}- {dump_scalar(item)}{newline}", *lines[end:]])


def remove_item(head: str, key: str, item: str, newline: str = "\n") -> str:
    """`head` without `item` in the list `key`; unchanged where it does not stand."""
    entry = _named(_entries(head), key)
    if entry is None:
        return head
    values = _items(read(head)[0].get(entry.key))
    rest = [value for value in values if text_of(value) != item]
    if len(rest) == len(values):
        return head
    lines = _lines(head)
    dashes = _dashes(lines, entry)
    if not rest or not isinstance(entry.node, yaml.SequenceNode) or len(dashes) != len(values):
        return set_value(head, entry.key, rest, newline)
    gone: set[int] = set()
    for start, end, value in zip(dashes, [*dashes[1:], entry.end], values, strict=True):
        if text_of(value) == item:
            gone.update(range(start, _before_comments(lines, start + 1, end)))
    text = "".join(line for number, line in enumerate(lines) if number not in gone)
    return _checked_change(head, text, entry.key, rest)


_GONE = object()


def _checked_change(before: str, after: str, key: str, value: Value) -> str:
    """`after`, if it reads as `before` with only `key` changed; PropertiesBroken otherwise."""
    wanted = {name: old for name, old in read(before)[0].items() if name != key}
    if value is not _GONE:
        wanted[key] = value
    found, problems = read(after)
    if found != wanted or any(problem.name in ("broken-yaml", "yaml-alias") for problem in problems):
        raise PropertiesBroken(Problem("odd-yaml", 1, f"“{key}” cannot be changed without harm to what stands around it"))
    return after


def _dashes(lines: list[str], entry: _Entry) -> list[int]:
    """The lines on which the items of a block list begin."""
    column = entry.node.start_mark.column
    if getattr(entry.node, "flow_style", True):
        return []
    return [
        row
        for row in range(entry.node.start_mark.line, entry.end)
        if lines[row][:column].strip() == "" and lines[row][column : column + 1] == "-" and not lines[row][column + 1 : column + 2].strip()
    ]


def _before_comments(lines: list[str], start: int, end: int) -> int:
    """`end`, without the blank lines and comments above it, which belong to the next item."""
    while end > start and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return end


def _lines(head: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", head)


def _with_final_newline(text: str, newline: str) -> str:
    return text if not text or text.endswith("\n") else text + newline


def _items(value: Value) -> list[Value]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _trimmed(lines: list[str], start: int, end: int) -> int:
    """`end`, without the blank and comment lines before it, which belong to what follows."""
    while end > start and (not lines[end - 1].strip() or lines[end - 1].startswith("#")):
        end -= 1
    return end


def _entries(head: str) -> list[_Entry]:
    """All top-level properties in order; PropertiesBroken where the YAML cannot be read."""
    problems = read(head)[1]
    if problems and problems[0].name in ("broken-yaml", "yaml-alias"):
        raise PropertiesBroken(problems[0])
    root = yaml.compose(head, Loader=SafeLoader)
    if not isinstance(root, yaml.MappingNode):
        return []
    if root.flow_style:
        raise PropertiesBroken(Problem("flow-frontmatter", 1, "properties written as {…} on one line are not edited"))
    lines = _lines(head)
    starts = [name.start_mark.line for name, _ in root.value] + [len(lines)]
    return [
        _Entry(name.value, start, _trimmed(lines, start + 1, end), root.start_mark.column, node)
        for (name, node), start, end in zip(root.value, starts, starts[1:], strict=False)
    ]


def _named(entries: list[_Entry], key: str) -> _Entry | None:
    """The last property of this name (case-insensitive when nothing has the exact name)."""
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
        written = isinstance(node, yaml.ScalarNode) and node.start_mark.column < node.end_mark.column
        if not (written or (isinstance(node, yaml.SequenceNode) and node.flow_style)):
            return None
        fresh = flow(value)
    elif isinstance(node, yaml.ScalarNode) and node.start_mark.column < node.end_mark.column:
        fresh = dump_scalar(value, quote=(node.style or None) if isinstance(value, str) else None)
    else:
        return None
    row = lines[entry.start]
    row = row[: node.start_mark.column] + fresh + row[node.end_mark.column :]
    return "".join([*lines[: entry.start], row, *lines[entry.start + 1 :]])


def _block(key: str, value: Value, indent: str, newline: str) -> str:
    return "".join(indent + line + newline for line in entry_lines(key, value))
