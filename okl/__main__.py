"""`python -m okl` and the console scripts `ok` and `okl`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run `ok`; the version is told without loading anything else."""
    if sys.argv[1:] == ["--version"]:
        from okl import __version__

        print(f"okl {__version__}")
        return
    try:
        from okl.cli.app import main as run

        sys.exit(run())
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
