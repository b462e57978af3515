"""Files that Winnow does not trust, and files that it writes.

Everything that opens a file of a repository goes through :mod:`winnow.storage.untrusted`, and
everything that writes a file goes through :mod:`winnow.storage.writing`: `tests/test_owners.py`
reports the code that does not.
"""
