"""Build the VS Code extension for the platform of this machine, with the server inside.

python scripts/frozen/bundle.py FOLDER

This Python must have PyInstaller and `winnow-ls[mcp]` from the checkout, and the extension its npm
packages. `scripts/build bundle` installs them; .github/workflows/release.yml does on other systems.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
EXTENSION = ROOT / "vscode-extension"
# VS Code's names of systems and processors.
SYSTEMS = {"Linux": "linux", "Darwin": "darwin", "Windows": "win32"}
PROCESSORS = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}


def target() -> str:
    """Return VS Code's name of this platform, such as `linux-x64`."""
    return f"{SYSTEMS[platform.system()]}-{PROCESSORS[platform.machine().lower()]}"


def freeze(folder: Path, work: Path) -> None:
    """Freeze the server into ``folder``/server."""
    shutil.rmtree(folder / "server", ignore_errors=True)
    paths = ["--distpath", str(folder), "--workpath", str(work)]
    options = ["--noconfirm", "--log-level", "ERROR", *paths]
    subprocess.run(
        [sys.executable, "-m", "PyInstaller", *options, str(HERE / "winnow.spec")],
        # The same hashes, and so the same order of sets, in each build.
        env={**os.environ, "PYTHONHASHSEED": "0"},
        check=True,
    )


def package(target: str, out: Path, work: Path) -> None:
    """Package the extension with its folder `server`. Raise SystemExit for a warning."""
    ignored = work / "ignored"
    ignored.write_text((EXTENSION / ".vscodeignore").read_text("utf-8") + "!server/**\n", "utf-8")
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("npm is not on PATH. Install Node.js.")
    options = ["--target", target, "--ignoreFile", str(ignored), "--out", str(out)]
    done = subprocess.run(
        [npm, "run", "--silent", "package", "--", *options],
        check=False,
        cwd=EXTENSION,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode or "warn" in done.stdout.lower():
        raise SystemExit(done.stdout)


def main(folder: str) -> None:
    """Write winnow-PLATFORM-VERSION.vsix into a folder."""
    import winnow

    Path(folder).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        freeze(EXTENSION, Path(work))
        out = Path(folder).absolute() / f"winnow-{target()}-{winnow.__version__}.vsix"
        package(target(), out, Path(work))


if __name__ == "__main__":
    main(sys.argv[1])
