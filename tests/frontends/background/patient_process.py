"""Run a background process without the time limits that a busy machine would reach.

patient_process.py ROOT [CONSTANT=SECONDS...]
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

TESTS = Path(__file__).parents[2]
# After these, `grep` stops when its page is full.
OF_GREP = ("GRACE_SECONDS", "ONE_MORE_SECONDS")

if __name__ == "__main__":
    sys.path.insert(0, str(TESTS))
    from frontends.lsp.fork_server import PATIENT, PATIENT_SECONDS
    from winnow.frontends.background import process
    from winnow.frontends.background.__main__ import main

    for module, names in {**PATIENT, "winnow.search.grep.search": OF_GREP}.items():
        for name in names:
            setattr(importlib.import_module(module), name, PATIENT_SECONDS)
    for name, seconds in (text.split("=") for text in sys.argv[2:]):
        setattr(process, name, float(seconds))
    sys.exit(main(sys.argv[1]))
