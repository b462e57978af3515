"""Which programs Winnow runs, and with which environment.

Everything that looks for a program goes through :mod:`winnow.processes.programs`, and everything
that starts a process through :mod:`winnow.processes.children`: `tests/test_owners.py` reports the
code that does not.
"""
