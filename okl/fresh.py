"""An index that agrees with the files: brought up to date before it is asked, whatever state it is found in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from okl.errors import Busy, Conflict, Unavailable
from okl.index.generation import Broken, Generations, Index
from okl.index.state import StateBroken
from okl.index.sync import Options, Synced, rebuild, scanned, sync
from okl.index.text import TextBroken

Say = Callable[[str], None]


@dataclass
class Fresh:
    """An open index, what the sync before it did (None if it could not run), and what weakens its answers."""

    index: Index
    synced: Synced | None
    degraded: list[str] = field(default_factory=list)
    healed: str = ""


def opened(root: Path, generations: Generations, options: Options, say: Say) -> Fresh:
    """The index of the store at `root`, synced if that is possible, else as it is, else made in memory.

    `degraded` names what is wrong: `lag` (another process is writing; the answer may be old),
    `index` (there is none that can be used; the files were read), `deletions` (so many notes are
    gone that sync wants to be asked).
    """
    try:
        with generations.lock(say):
            return synced(root, generations, options, say)
    except (Busy, Unavailable) as error:
        say(str(error))
        return _fallback(root, generations, options, "lag" if isinstance(error, Busy) else "index")
    except Conflict as error:
        say(str(error))
        return _fallback(root, generations, options, "deletions")


def synced(root: Path, generations: Generations, options: Options, say: Say) -> Fresh:
    """The index, up to date; the caller holds the lock. A broken index is set aside and built again."""
    healed = ""
    for _ in range(2):
        try:
            index = generations.open()
        except Broken as broken:
            healed = str(broken)
            continue
        if index is None:
            break
        try:
            done = sync(root, index, options)
        except (StateBroken, TextBroken) as broken:
            index.close()
            set_aside(generations, index)
            healed = str(broken)
            continue
        except BaseException:
            index.close()
            raise
        if done is not None:
            return Fresh(index, done)
        index.close()
        break
    if healed:
        say(f"the index was damaged ({healed}); it is built again")
    return replace(_rebuilt(root, generations, options), healed=healed)


def set_aside(generations: Generations, index: Index) -> None:
    """Take a damaged index out of use."""
    if index.folder:
        generations.quarantine(index.folder)


def _rebuilt(root: Path, generations: Generations, options: Options) -> Fresh:
    done = rebuild(root, generations, options)
    index = generations.open()
    if index is None:
        raise Unavailable("The index that was just built is gone.")
    return Fresh(index, done)


def _fallback(root: Path, generations: Generations, options: Options, why: str) -> Fresh:
    """The live index as it is; without one, an index in memory of the files as they are."""
    try:
        index = generations.open()
    except (Broken, Busy, Unavailable):
        index = None
    if index is not None:
        return Fresh(index, None, ["lag" if why == "index" else why])
    index, done = scanned(root, options)
    return Fresh(index, done, ["index"])
