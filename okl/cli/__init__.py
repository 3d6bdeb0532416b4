"""The command line: `ok`. Every command is one verb and one `show`."""
