"""Bind names in TypeScript and JavaScript: scopes, imports, exports, types, modules.

A worker calls ``prepare`` before it reads the identifiers of a file, and ``collect`` afterwards. A
request resolves names by the ``rules``.
"""
