"""Run a pipeline of read-only programs without a shell.

`parse.py` splits the line into words, `expand.py` replaces patterns with names, `options.py` checks
the arguments of each program against its entry in `programs.py` (`find.py` for find). Everything
that is not known to be harmless is refused. What is allowed is rewritten in a canonical form, so
that no untrusted word reaches a program as an option.
"""
