"""The store's git repository. The only file that knows git."""

from __future__ import annotations

import shutil
from pathlib import Path


def repository(root: Path) -> Path | None:
    """The work tree that `root` lies in, or None."""
    return next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), None)


def has_git() -> bool:
    """Whether the program git is there."""
    return shutil.which("git") is not None


def init(root: Path) -> bool:
    """Make a repository at `root` unless it lies in one; False where git is missing."""
    if repository(root):
        return True
    if not has_git():
        return False
    from git import Repo  # a heavy import that most commands do not need

    Repo.init(root).close()
    return True
