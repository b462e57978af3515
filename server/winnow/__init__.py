"""Winnow: a language server for search."""

__version__ = "0.1.0"
