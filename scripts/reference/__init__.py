"""Generate documentation from the definitions of tools, errors and settings.

Not part of the published package, which doesn't need it. ``scripts/docs`` writes the pages, and
``tests/test_reference.py`` compares the committed pages with generated ones.
"""
