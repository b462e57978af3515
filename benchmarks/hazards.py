"""Print the table of hazards: hostile input and failures, the number of attempts, and the results.

    python benchmarks/hazards.py [--soak SECONDS] [--fuzz SECONDS] [--requests COUNT] [--seed N]
                                 [--long] [ARG...]

Each row is a test in tests/hostile, or another test with the fixture `row`. Most of them use a
running server. Exits with 1 if a test fails. Runs four times as many attempts as `scripts/test`,
which takes a few minutes. The soak test takes 20 seconds, or a minute with CI=true. `--soak 600`
also limits the memory growth per minute. `--fuzz 3600` sends damaged messages for an hour over each
transport. Servers run in git repositories with at most 256 file descriptors and must have none left
open after 5,000 requests, or `--requests`. --long adds fifty or more kills, damaged files and full
disks during indexing. Other arguments are passed to pytest.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROWS = ["hostile"]
REQUESTS = 5_000
# Tests that take many minutes; some of them print no row.
LONG = [f"frontends/lsp/test_{topic}_hazards.py" for topic in ("index", "symbols", "document")]


def main(arguments: list[str]) -> int:
    tests = [*ROWS, *LONG] if "--long" in arguments else ROWS
    passed_on = [argument for argument in arguments if argument != "--long"]
    markers = "hazard or long" if "--long" in arguments else "hazard"
    paths = [str(ROOT / "tests" / test) for test in tests]
    # In a child process: here, modules of benchmarks would hide modules of the tests.
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "server")}
    command = [sys.executable, "-m", "pytest", "-q", "-m", markers, "--thorough"]
    command += [f"--requests={REQUESTS}", *passed_on, *paths]
    return subprocess.run(command, cwd=ROOT, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
