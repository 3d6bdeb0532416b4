"""Ingestion: outside documents become Markdown files. It never touches the index."""
