"""What is here and what is missing: the answer to "why does it not work?"."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from msgspec import Struct

import winnow
from winnow import config as configuration
from winnow.documents import ocr
from winnow.egress import no_consent
from winnow.errors import SearchError, SearchFailed
from winnow.ranking.models import Models
from winnow.text.files import repository_root
from winnow.text.installed import how_to_install, located
from winnow.text.paths import is_inside
from winnow.text.process import Processes
from winnow.text.ripgrep import NO_CONFIG, find_ripgrep

VERSION_SECONDS = 10.0
# What no search of documents needs: Winnow takes their texts itself.
DOCUMENT_PROGRAMS = {
    "rga": "`search_docs` can be asked for the engine 'rga'",
    "pandoc": "the engine 'rga' reads EPUB, ODT, DOCX, FB2, IPYNB and HTML",
    "pdftotext": "the engine 'rga' reads PDF",
}
PACKAGES = ("pygls", "lsprotocol", "msgspec", "openai", "anthropic")


class Finding(Struct, frozen=True):
    """One thing that was looked at; ``advice`` says what to do if it is not ``good``."""

    subject: str
    good: bool
    detail: str
    advice: str = ""


def examine(folder: Path, environment: Mapping[str, str]) -> list[Finding]:
    """Look at everything a search needs, without sending anything anywhere."""
    root = repository_root(folder)
    config, problems = configuration.load(environment, root)
    findings = [Finding("winnow", True, f"{winnow.__version__}, Python {sys.version.split()[0]}")]
    findings.append(_ripgrep(config.programs.rg))
    findings.append(Finding("documents", True, "read by Winnow itself; rga is not needed"))
    findings += [_texts(environment), _recognition(on=config.documents.ocr)]
    findings += [_program(name, environment, root) for name in DOCUMENT_PROGRAMS]
    findings.append(Finding("search root", True, str(root)))
    findings += [_package(name) for name in PACKAGES]
    findings += [Finding("configuration", False, problem) for problem in problems]
    models = Models(config.llm, environment, roots=lambda: [root])
    findings += [_model(models, name) for name in models.names()]
    findings.append(_ranking(models))
    return findings


def _ranking(models: Models) -> Finding:
    usable, _ = models.usable()
    if usable:
        return Finding("ranking", True, f"by {usable[0].name}; if it fails, by the local ranker")
    if needed := models.awaiting_consent():
        return Finding("ranking", True, "by the local ranker", no_consent(needed))
    advice = "Set one of the keys above to have a language model rank with reasons."
    return Finding("ranking", True, "by the local ranker", advice)


def _ripgrep(configured: str | None) -> Finding:
    try:
        program = find_ripgrep(configured)
        said = asyncio.run(_version(program))
    except SearchError as error:
        return Finding("ripgrep", False, "not found or does not run", error.message)
    return Finding("ripgrep", True, f"{said}, {program}")


async def _version(program: str) -> str:
    deadline = asyncio.get_running_loop().time() + VERSION_SECONDS
    command = [program, NO_CONFIG, "--version"]
    async with Processes().start(command, cwd=Path.cwd(), deadline=deadline) as child:
        lines = [line async for line in child.records(b"\n", 1000)]
        code = await child.wait()
        if code != 0 or not lines:
            raise SearchFailed(program, code, child.stderr[:200])
        return lines[0].decode("utf-8", "replace")


def _program(name: str, environment: Mapping[str, str], root: Path) -> Finding:
    """A program that is no more than useful, so that nothing is wrong where it is missing."""
    real_root = os.path.realpath(root)
    found = located(name, environment, lambda path: is_inside(os.path.realpath(path), real_root))
    if found:
        return Finding(name, True, f"{found}: {DOCUMENT_PROGRAMS[name]}")
    advice = f"With it, {DOCUMENT_PROGRAMS[name]}. Install it: {how_to_install(name)}"
    return Finding(name, True, "not found, and not needed", advice)


def _texts(environment: Mapping[str, str]) -> Finding:
    subject = "texts of documents"
    folder = configuration.cache_folder(environment, "documents")
    if folder is None:
        detail = "kept until Winnow ends: no folder in the user's cache can be written"
        return Finding(subject, False, detail)
    return Finding(subject, True, f"kept in {folder}, {_size(folder) / 1024**2:,.1f} MiB now")


def _size(folder: Path) -> int:
    """What the files of a folder take, while others may be deleting some."""
    size = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                size += os.lstat(os.path.join(parent, name)).st_size
    return size


def _recognition(*, on: bool) -> Finding:
    """The extra that reads pictures."""
    subject, setting = "winnow-ls[ocr]", f"`documents.ocr` is {'on' if on else 'off'}"
    if ocr.is_installed():
        return Finding(subject, True, f"installed; {setting}")
    advice = "With it, scanned pages and pictures are read. Install it: "
    return Finding(
        subject, not on, f"not installed; {setting}", f"{advice}pip install 'winnow-ls[ocr]'"
    )


def _package(name: str) -> Finding:
    try:
        return Finding(name, True, version(name))
    except PackageNotFoundError:
        return Finding(name, False, "not installed", f"pip install {name}")


def _model(models: Models, name: str) -> Finding:
    settings = models.known[name]
    detail = f"{settings.model} at {models.endpoint(name)}"
    key = f"key in {settings.key_env}" if settings.key_env else "no key wanted"
    if name in models.ready():
        detail += f", {key}"
    problem = models.problem(name)
    if problem:
        return Finding(f"model {name}", False, f"{detail}: {problem}")
    return Finding(f"model {name}", True, detail)
