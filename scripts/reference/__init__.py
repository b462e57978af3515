"""The generated documentation: made of the definitions of tools, errors and settings.

It is no part of the package: users get the pages. ``scripts/docs`` writes them, and
``tests/test_reference.py`` compares what is committed with what this makes.
"""
