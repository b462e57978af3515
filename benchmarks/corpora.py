"""Trees to measure on, fetched when they are first wanted and never committed."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

_CACHE = os.environ.get("WINNOW_CACHE") or Path.home() / ".cache/winnow"
CORPORA = Path(os.environ.get("WINNOW_CORPORA") or Path(_CACHE, "corpora"))


def kernel() -> Path:
    """The Linux kernel's source, from the Debian package linux-source-6.1."""

    def fetch(folder: Path) -> Path:
        options = _apt_lists(folder)
        _run("apt-get", "download", "-q", "linux-source-6.1", *options, cwd=folder)
        [package] = folder.glob("*.deb")
        _run("dpkg-deb", "-x", str(package), "root", cwd=folder)
        return _unpacked(folder, "root/usr/src/*.tar.xz")

    return _tree("linux-source-6.1", fetch)


def django() -> Path:
    """Django 5.1.4, from its source distribution on PyPI."""

    def fetch(folder: Path) -> Path:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        _run(*pip, "--no-binary", ":all:", "django==5.1.4", cwd=folder)
        return _unpacked(folder, "*.tar.gz")

    return _tree("django-5.1.4", fetch)


def rxjs() -> Path:
    """RxJS 7.8.1, from its npm package."""

    def fetch(folder: Path) -> Path:
        _run("npm", "pack", "--silent", "rxjs@7.8.1", cwd=folder)
        return _unpacked(folder, "*.tgz")

    return _tree("rxjs-7.8.1", fetch)


def redis() -> Path:
    """The source of Debian's redis package."""

    def fetch(folder: Path) -> Path:
        _download_debian_source("redis", folder)
        return _unpacked(folder, "redis_*.orig.tar.*")

    return _tree("redis", fetch)


def _tree(name: str, fetch: Callable[[Path], Path]) -> Path:
    tree = CORPORA / name
    if not tree.is_dir():
        CORPORA.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CORPORA) as folder:
            fetched = fetch(Path(folder))
            try:
                fetched.rename(tree)
            except OSError:
                if not tree.is_dir():  # else another run was faster
                    raise
    return tree


def _unpacked(folder: Path, pattern: str) -> Path:
    """The one folder in the one archive."""
    [archive] = folder.glob(pattern)
    with tarfile.open(archive) as file:
        # The Python of Debian 12 has no filters yet.
        file.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
        file.extractall(folder / "unpacked")
    [top] = (folder / "unpacked").iterdir()
    return top


def _apt_lists(folder: Path) -> list[str]:
    """Options that give apt-get lists of packages; fetched into `folder` if there are none."""
    if _binary_packages([]):
        return []
    (folder / "binary/partial").mkdir(parents=True)
    options = ["-o", f"Dir::State::lists={folder / 'binary'}"]
    _run("apt-get", "update", "-q", *options, cwd=folder)
    return options


def _binary_packages(options: list[str]) -> list[str]:
    """Address and release of each list of binary packages that was fetched."""
    form = ["--format", "$(REPO_URI) $(RELEASE)", "Created-By: Packages"]
    command = ["apt-get", "indextargets", *options, *form]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def _download_debian_source(package: str, folder: Path) -> None:
    """Fetch a source package from where this machine's binary packages come from."""
    packages = _binary_packages(_apt_lists(folder))
    lines = {f"deb-src [trusted=yes] {line} main" for line in packages}
    (folder / "sources.list").write_text("\n".join(sorted(lines)) + "\n")
    (folder / "source/partial").mkdir(parents=True)
    options = [
        "-o", f"Dir::Etc::sourcelist={folder / 'sources.list'}",
        "-o", "Dir::Etc::sourceparts=/dev/null",
        "-o", f"Dir::State::lists={folder / 'source'}",
    ]  # fmt: skip
    _run("apt-get", "update", "-q", *options, cwd=folder)
    _run("apt-get", "source", "-q", "--download-only", package, *options, cwd=folder)


def _run(*command: str, cwd: Path) -> None:
    """Run a program; what it complains about is seen."""
    subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.DEVNULL)
