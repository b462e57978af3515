"""Download source trees for tests and benchmarks on first use. They are never committed.

    python benchmarks/corpora.py [NAME ...]

downloads the named trees (by default, the trees that the tests use) and exits with 1 if a download
fails.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

_CACHE = os.environ.get("WINNOW_CACHE") or Path.home() / ".cache/winnow"
CORPORA = Path(os.environ.get("WINNOW_CORPORA") or Path(_CACHE, "corpora"))
# As root, apt downloads as the user _apt, which then owns the `partial` folders. Test processes run
# without root's right to ignore permissions: they could neither download nor delete these folders.
_APT_AS_CALLER = ("-o", "APT::Sandbox::User=root")


def kernel() -> Path:
    """Return the Linux kernel's source, from the Debian package linux-source-6.1."""

    def fetch(folder: Path) -> Path:
        options = _apt_lists(folder)
        _apt_get("download", "linux-source-6.1", *options, cwd=folder)
        [package] = folder.glob("*.deb")
        _run("dpkg-deb", "-x", str(package), "root", cwd=folder)
        tree = _unpacked(folder, "root/usr/src/*.tar.xz")
        # Debian's excludes all files.
        (tree / ".gitignore").unlink()
        return tree

    return _tree("linux-source-6.1", fetch)


def django() -> Path:
    """Return Django 5.1.4, from its source distribution on PyPI."""

    def fetch(folder: Path) -> Path:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        _run(*pip, "--no-binary", ":all:", "django==5.1.4", cwd=folder)
        return _unpacked(folder, "*.tar.gz")

    return _tree("django-5.1.4", fetch)


def rxjs() -> Path:
    """Return RxJS 7.8.1, from its npm package."""

    def fetch(folder: Path) -> Path:
        _run("npm", "pack", "--silent", "rxjs@7.8.1", cwd=folder)
        return _unpacked(folder, "*.tgz")

    return _tree("rxjs-7.8.1", fetch)


def redis() -> Path:
    """Return the source of Debian's redis package."""

    def fetch(folder: Path) -> Path:
        _download_debian_source("redis", folder)
        return _unpacked(folder, "redis_*.orig.tar.*")

    return _tree("redis", fetch)


# Small documentation packages, with patterns of the documents to use. LaTeX, groff, FOP, Sphinx,
# ReportLab, Ghostscript, LibreOffice and others wrote them, in several languages and scripts.
_DOCUMENTS = {
    "bzip2-doc": ("manual.pdf.gz", "manual.ps.gz", "manual.html"),
    "camlidl-doc": ("*.pdf", "*.ps.gz"),
    "clisp-doc": ("clisp.pdf.gz", "clisp-link.pdf.gz", "impnotes.html"),
    "debian-faq": ("*.en.pdf.gz", "*.en.pdf", "*.epub"),
    "debian-policy": ("fhs-3.0.pdf.gz", "policy.pdf.gz", "policy.epub"),
    "developers-reference": ("*.pdf", "*.epub", "developers-reference.html"),
    "developers-reference-ru": ("*.pdf", "*.epub"),
    "docbook-xsl-doc-pdf": ("reference.pdf.gz",),
    "freefem-doc": ("*.pdf",),
    "gnuplot-doc": ("gnuplot.pdf",),
    "gri-pdf-doc": ("gri.pdf.gz", "refcard.ps.gz"),
    "live-manual-epub": ("*.en.epub", "*.ja.epub", "*.pl.epub"),
    "live-manual-odf": ("*.en.odt", "*.ja.odt", "*.pl.odt"),
    "live-manual-pdf": ("*.portrait.en.a4.pdf.gz", "*.landscape.fr.letter.pdf.gz"),
    "maint-guide": ("*.pdf",),
    "maint-guide-ja": ("*.pdf",),
    "nauty-doc": ("*.pdf",),
    "python-reportlab-doc": ("*.pdf",),
    "sbcl-doc": ("*.pdf.gz",),
    "seqan-raptor-doc": ("*.pdf.gz",),
    "siscone-doc-pdf": ("*.pdf.gz",),
    "why3-doc-pdf": ("*.pdf",),
    "zsh-doc": ("zsh.pdf",),
}


def documents() -> Path:
    """Return manuals from Debian's documentation packages, in a folder for each package."""

    def fetch(folder: Path) -> Path:
        options = _apt_lists(folder)
        _apt_get("download", *_DOCUMENTS, *options, cwd=folder)
        made = folder / "documents"
        for package, patterns in _DOCUMENTS.items():
            [archive] = folder.glob(f"{package}_*.deb")
            unpacked = folder / "unpacked" / package
            unpacked.mkdir(parents=True)
            _run("dpkg-deb", "-x", str(archive), str(unpacked), cwd=folder)
            (made / package).mkdir(parents=True)
            for pattern in patterns:
                for found in unpacked.rglob(pattern):
                    if found.is_file() and not found.is_symlink():
                        found.replace(made / package / found.name)
        return made

    return _tree("debian-documents", fetch)


def _tree(name: str, fetch: Callable[[Path], Path]) -> Path:
    tree = CORPORA / name
    if not tree.is_dir():
        CORPORA.mkdir(parents=True, exist_ok=True)
        with _temporary_folder(CORPORA) as folder:
            fetched = fetch(folder)
            try:
                fetched.rename(tree)
            except OSError:
                if not tree.is_dir():  # otherwise another process was faster
                    raise
    return tree


@contextlib.contextmanager
def _temporary_folder(parent: Path) -> Iterator[Path]:
    """Create a folder, and delete it at the end if permissions allow.

    tempfile.TemporaryDirectory is not used: before Python 3.12, it recurses until a RecursionError
    if it cannot delete a folder, regardless of ``ignore_cleanup_errors``.
    """
    folder = Path(tempfile.mkdtemp(dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if folder.exists():
            print(f"Cannot delete {folder}: delete it yourself", file=sys.stderr)


def _unpacked(folder: Path, pattern: str) -> Path:
    """Unpack the only archive that matches the pattern and return its only folder."""
    [archive] = folder.glob(pattern)
    with tarfile.open(archive) as file:
        # Debian 12's Python has no extraction filters yet.
        file.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
        file.extractall(folder / "unpacked")
    [top] = (folder / "unpacked").iterdir()
    return top


def _apt_lists(folder: Path) -> list[str]:
    """Return options for apt-get with package lists; download the lists into `folder` if needed."""
    if _binary_packages([]):
        return []
    (folder / "binary/partial").mkdir(parents=True)
    options = ["-o", f"Dir::State::lists={folder / 'binary'}"]
    _apt_get("update", *options, cwd=folder)
    return options


def _binary_packages(options: list[str]) -> list[str]:
    """Return the address and release of each downloaded list of binary packages."""
    form = ["--format", "$(REPO_URI) $(RELEASE)", "Created-By: Packages"]
    command = ["apt-get", "indextargets", *options, *form]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def debian_source(package: str, folder: Path) -> None:
    """Unpack the source of one of Debian's packages, without Debian's changes, into a folder."""
    folder.mkdir(parents=True)
    with _temporary_folder(CORPORA) as packed:
        _download_debian_source(package, packed)
        unpacked = _unpacked(packed, f"{package}_*.orig.tar.*")
        unpacked.rename(folder / unpacked.name)


def _download_debian_source(package: str, folder: Path) -> None:
    """Download a source package from the repositories of this machine's binary packages."""
    packages = _binary_packages(_apt_lists(folder))
    lines = {f"deb-src [trusted=yes] {line} main" for line in packages}
    (folder / "sources.list").write_text("\n".join(sorted(lines)) + "\n")
    (folder / "source/partial").mkdir(parents=True)
    options = [
        "-o", f"Dir::Etc::sourcelist={folder / 'sources.list'}",
        "-o", "Dir::Etc::sourceparts=/dev/null",
        "-o", f"Dir::State::lists={folder / 'source'}",
    ]  # fmt: skip
    _apt_get("update", *options, cwd=folder)
    _apt_get("source", "--download-only", package, *options, cwd=folder)


def _apt_get(action: str, *arguments: str, cwd: Path) -> None:
    _run("apt-get", action, "-q", *_APT_AS_CALLER, *arguments, cwd=cwd)


def _run(*command: str, cwd: Path) -> None:
    """Run a program and show its standard error."""
    # The tests use PYTHONPATH to block network access in child processes.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.DEVNULL, env=environment)


ALL = {fetch.__name__: fetch for fetch in (kernel, django, rxjs, redis, documents)}
FOR_TESTS = ("django", "rxjs", "redis")


def main() -> int:
    parser = argparse.ArgumentParser(description="Download source trees to search.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(ALL))
    names = parser.parse_args().names or FOR_TESTS
    if unknown := [name for name in names if name not in ALL]:
        parser.error(f"unknown tree: {', '.join(unknown)}; choose from {', '.join(ALL)}")
    failed = False
    for name in names:
        try:
            print(f"{name}: {ALL[name]()}")
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"Cannot download {name}: {error}", file=sys.stderr)
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
