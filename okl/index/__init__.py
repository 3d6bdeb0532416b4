"""The index: derived from the files, disposable, rebuilt equal."""
