"""okl — the open knowledge layer: a repo of plain Markdown files, searched and cited."""

__version__ = "0.1.0"
