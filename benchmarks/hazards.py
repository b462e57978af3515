"""Print the table of hazards: hostile input and failures, the number of tries, and the results.

    python benchmarks/hazards.py [--soak SECONDS] [--fuzz SECONDS] [--requests COUNT] [--seed N]
                                 [--long] [ARG...]

Each row is a test in tests/hostile, or another test with the fixture `row`. Most of them use a
running server. Exits with 1 if a test fails. Makes four times as many tries as `scripts/test`,
which takes a few minutes. The soak test takes 20 seconds, or a minute with CI=true. `--soak 600`
also limits the memory growth per minute. `--fuzz 3600` sends damaged messages for an hour each way.
Servers run in git repositories with at most 256 descriptors; 5,000 requests, or `--requests`, leave
none open. --long adds fifty or more kills, damaged files and full disks during indexing. Other
arguments are passed to pytest.
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
