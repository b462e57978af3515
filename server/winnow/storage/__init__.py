"""Open untrusted files, and write Winnow's own.

Code that opens a file of a repository uses :mod:`winnow.storage.untrusted`, and code that writes a
file uses :mod:`winnow.storage.writing`: `tests/test_owners.py` reports code that does not.
"""
