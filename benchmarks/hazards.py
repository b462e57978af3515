"""The table of hazards: what was tried, how often, and what came of it.

    python benchmarks/hazards.py [--soak SECONDS] [--fuzz SECONDS] [--requests COUNT] [--seed N]
                                 [--long] [ARG...]

Each row is a test in tests/hostile (or elsewhere, if it has the fixture `row`), most of them
against a running server. It exits with 1 if one of them fails. Everything is tried four times as
often as by `scripts/test`, which takes some minutes; the soak takes 20 seconds, or a minute where
CI=true. `--soak 600` is the long one, which also bounds by how much memory grows a minute;
`--fuzz 3600` sends damaged messages for an hour each way. Servers run in git repositories with 256
descriptors at most; 5,000 requests, or `--requests`, leave none open. --long adds what is killed,
damaged and full while it is indexed, fifty times and more. Other arguments are pytest's.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROWS = ["hostile"]
REQUESTS = 5_000
# Whose rows, and tests that are none, take many minutes.
LONG = [f"frontends/lsp/test_{one}_hazards.py" for one in ("index", "symbols", "document")]


def main(arguments: list[str]) -> int:
    tests = [*ROWS, *LONG] if "--long" in arguments else ROWS
    given = ["--thorough", f"--requests={REQUESTS}", *(one for one in arguments if one != "--long")]
    chosen = "hazard or long" if "--long" in arguments else "hazard"
    paths = [str(ROOT / "tests" / one) for one in tests]
    # Not in this process, where modules of benchmarks would hide those of tests.
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "server")}
    command = [sys.executable, "-m", "pytest", "-q", "-m", chosen, *given, *paths]
    return subprocess.run(command, cwd=ROOT, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
