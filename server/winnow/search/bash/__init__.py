"""One command line of read-only programs, without a shell: what it means, and whether it may run.

``parse.py`` makes words of the line, ``expand.py`` replaces patterns by names, ``options.py`` holds
the words of each program against its entry in ``programs.py`` (``find.py`` for find's
expressions). Whatever is not known to be harmless is refused, and only what was understood is
passed on, spelled anew: no word of a stranger reaches a program as an option.
"""
