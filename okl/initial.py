"""Making a store: from a template, or around notes that are there."""

from __future__ import annotations

import os
import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from okl import history
from okl.errors import Conflict, NotFound, Unavailable
from okl.store import MARK, Store

VAULT_CONFIG = """\
# okl's settings for these notes; `ok config list` shows them all.
# This file makes the folder a store. Everything else in .ok/ is derived and may be deleted.
views: off
"""
IGNORED = (".ok/*", "!.ok/config.yml")


def template(name: str) -> Traversable:
    """The folder of a template: in the installed package, or beside it in a checkout."""
    if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        raise NotFound(f"There is no template “{name}”.")
    installed = files("okl") / "template_store" / name
    beside = Path(__file__).resolve().parent.parent / "template_store" / name
    found = installed if installed.is_dir() else beside
    if not found.is_dir():
        raise NotFound(f"There is no template “{name}”.")
    return found


def init(folder: Path, name: str = "default", from_vault: bool = False, dry_run: bool = False) -> dict[str, Any]:
    """Make `folder` a store and give what was added; files that are there are never changed but `.gitignore`.

    From a template, and a git repository where there is none and git is installed; or with
    `from_vault` around notes that are there, adding only `.ok/config.yml` and ignore lines.
    """
    root = Path(os.path.realpath(folder))
    if (root / MARK).exists():
        return {"store": str(root), "added": [], "repository": history.repository(root) is not None, "done": "unchanged"}
    _refuse_inside_another(root)
    if from_vault and not root.is_dir():
        raise NotFound(f"There is no folder {folder}.")
    wanted = {MARK: VAULT_CONFIG.encode()} if from_vault else _tree(template("default"))
    if not from_vault and name != "default":
        wanted |= _tree(template(name))
    ignore = wanted.pop(".gitignore", b"").decode() or "\n".join(IGNORED) + "\n"
    added = [path for path in sorted(wanted) if not os.path.lexists(root / path)]
    if not dry_run:
        _make(root, {path: wanted[path] for path in added})
    added += _ignore(root, ignore.split(), dry_run)
    repository = history.repository(root) is not None if dry_run or from_vault else history.init(root)
    return {
        "store": str(root),
        "added": sorted(added),
        "repository": repository,
        "done": "created",
        **({"dry_run": True} if dry_run else {}),
    }


def _refuse_inside_another(root: Path) -> None:
    other = next((folder for folder in root.parents if (folder / MARK).exists()), None)
    if other:
        raise Conflict(f"{root} lies inside the store {other}; a store in a store would hide its notes.")


def _tree(folder: Traversable, prefix: str = "") -> dict[str, bytes]:
    """Every file of a template, by its path in the store."""
    found: dict[str, bytes] = {}
    for entry in folder.iterdir():
        path = prefix + entry.name
        if entry.is_dir():
            found |= _tree(entry, path + "/")
        else:
            found[path] = entry.read_bytes()
    return found


def _make(root: Path, wanted: dict[str, bytes]) -> None:
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Unavailable(f"{root} cannot be made: {error.strerror}.") from error
    store = Store(root)
    # the config comes last: a folder is a store only once all of it is there
    for path in sorted(wanted, key=lambda path: (path == MARK, path)):
        store.write(path, wanted[path])


def _ignore(root: Path, lines: list[str], dry_run: bool) -> list[str]:
    """Add the lines that `.gitignore` lacks, leaving its own as they are."""
    path = root / ".gitignore"
    before = path.read_bytes() if path.exists() else b""
    there = {line.strip() for line in before.decode("utf-8", errors="replace").splitlines()}
    missing = [line for line in lines if line not in there]
    if not missing:
        return []
    if dry_run:
        return [".gitignore"]
    newline = "\r\n" if b"\r\n" in before else "\n"
    glue = newline if before and not before.endswith(b"\n") else ""
    Store(root).write(".gitignore", before + (glue + "".join(line + newline for line in missing)).encode(), force=True)
    return [".gitignore"]
