"""Trees to measure on, fetched when they are first wanted and never committed."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

CACHE = Path(os.environ.get("WINNOW_CORPORA") or Path.home() / ".cache" / "winnow-corpora")


def kernel() -> Path:
    """The Linux kernel's source, from the Debian package linux-source-6.1."""
    tree = CACHE / "linux-source-6.1"
    if not tree.is_dir():
        with tempfile.TemporaryDirectory(dir=_cache()) as name:
            folder = Path(name)
            subprocess.run(["apt-get", "download", "linux-source-6.1"], cwd=folder, check=True)
            [package] = folder.glob("*.deb")
            subprocess.run(["dpkg-deb", "-x", package, folder / "root"], check=True)
            [archive] = (folder / "root/usr/src").glob("*.tar.xz")
            _unpack(archive, folder / "tree")
            (folder / "tree/linux-source-6.1").rename(tree)
    return tree


def django() -> Path:
    """Django 5.1.4, from its source distribution on PyPI."""
    tree = CACHE / "django-5.1.4"
    if not tree.is_dir():
        with tempfile.TemporaryDirectory(dir=_cache()) as name:
            folder = Path(name)
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
            subprocess.run([*pip, "--no-binary", ":all:", "django==5.1.4"], cwd=folder, check=True)
            [archive] = folder.glob("*.tar.gz")
            _unpack(archive, folder / "tree")
            [unpacked] = (folder / "tree").iterdir()
            unpacked.rename(tree)
    return tree


def rxjs() -> Path:
    """RxJS 7.8.1, from its npm package."""
    tree = CACHE / "rxjs-7.8.1"
    if not tree.is_dir():
        with tempfile.TemporaryDirectory(dir=_cache()) as name:
            folder = Path(name)
            pack = ["npm", "pack", "--silent", "rxjs@7.8.1"]
            subprocess.run(pack, cwd=folder, check=True, capture_output=True)
            [archive] = folder.glob("*.tgz")
            _unpack(archive, folder / "tree")
            (folder / "tree/package").rename(tree)
    return tree


def redis() -> Path:
    """The source of Debian's redis package."""
    tree = CACHE / "redis"
    if not tree.is_dir():
        with tempfile.TemporaryDirectory(dir=_cache()) as name:
            folder = Path(name)
            _download_debian_source("redis", folder)
            [archive] = folder.glob("redis_*.orig.tar.*")
            _unpack(archive, folder / "tree")
            [unpacked] = (folder / "tree").iterdir()
            unpacked.rename(tree)
    return tree


def _download_debian_source(package: str, folder: Path) -> None:
    """Fetch a source package from where this machine's binary packages come from."""
    targets = [
        "apt-get",
        "indextargets",
        "--format",
        "$(REPO_URI) $(RELEASE)",
        "Created-By: Packages",
    ]
    listed = subprocess.run(targets, capture_output=True, text=True, check=True).stdout
    lines = {f"deb-src [trusted=yes] {line} main" for line in listed.splitlines()}
    (folder / "sources.list").write_text("\n".join(sorted(lines)) + "\n")
    (folder / "lists/partial").mkdir(parents=True)
    options = [
        "-o", f"Dir::Etc::sourcelist={folder / 'sources.list'}",
        "-o", "Dir::Etc::sourceparts=/dev/null",
        "-o", f"Dir::State::lists={folder / 'lists'}",
    ]  # fmt: skip
    subprocess.run(["apt-get", "update", "-q", *options], check=True, capture_output=True)
    source = ["apt-get", "source", "-q", "--download-only", package, *options]
    subprocess.run(source, cwd=folder, check=True, capture_output=True)


def _cache() -> Path:
    CACHE.mkdir(parents=True, exist_ok=True)
    return CACHE


def _unpack(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
