"""Child processes: finding, starting, restricting and limiting programs.

Only :mod:`winnow.processes.programs` looks up programs, and only :mod:`winnow.processes.children`
starts processes; `tests/test_owners.py` enforces both.
"""
