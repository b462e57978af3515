"""`winnow --version` imports next to nothing, so that scripts can call it often."""

from __future__ import annotations

import subprocess
import sys

import pytest

from winnow import __version__

# What Python itself loads, and the modules that lead to the version.
ALLOWED = {"winnow", "winnow.__main__"}


@pytest.mark.process
def test_the_version_is_printed_without_loading_the_program() -> None:
    program = (
        "import sys; sys.argv = ['winnow', '--version']; before = set(sys.modules);"
        " from winnow.__main__ import main; assert main() == 0;"
        " print(*sorted(name for name in set(sys.modules) - before if 'winnow' in name))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    version, loaded = done.stdout.splitlines()
    assert version == f"winnow {__version__}"
    assert set(loaded.split()) <= ALLOWED | {
        "winnow.frontends",
        "winnow.frontends.cli",
        "winnow.frontends.cli.guarded",
    }
