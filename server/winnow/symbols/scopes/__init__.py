"""Bindings of names, one module per language with resolved references."""
