"""Workers with additional languages: grammars that hang, and parsers that crash."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

import winnow
from conftest import write_files
from winnow.index.builder.workers import IndexWorkers
from winnow.index.store.file_record import FileRecord, IndexJob
from winnow.processes.children import Processes

# No extraction takes this long, even on a very busy machine.
SECONDS = 300.0
LANGUAGES = {
    # The grammar in tree-sitter-language-pack 0.13 never returns.
    "cobol.py": "COBOL = Language(name='cobol', files=('.cob',), definitions='(comment) @comment')",
    "segfault.py": (
        "import ctypes\n"
        "SEGFAULT = Language(name='segfault', grammar='python', files=('.segfault',),"
        " definitions=NAMES, exported=lambda header, name: ctypes.string_at(0))"
    ),
    "greedy.py": (
        "GREEDY = Language(name='greedy', grammar='python', files=('.greedy',),"
        " definitions=NAMES, exported=lambda header, name: bytearray(8 * 1024**3))"
    ),
    "deep.py": (
        "def deep(header, name):\n    return deep(header, name)\n"
        "DEEP = Language(name='deep', grammar='python', files=('.deep',),"
        " definitions=NAMES, exported=deep)"
    ),
}
HEAD = (
    "from winnow.symbols.language import Language\n"
    "NAMES = '(function_definition name: (identifier) @name) @definition.function'\n"
)


def environment_with_languages(folder: Path) -> dict[str, str]:
    """Return an environment in which workers also have :data:`LANGUAGES`."""
    write_files(folder / "languages", {name: HEAD + text for name, text in LANGUAGES.items()})
    more = str(folder / "languages")
    code = f"import winnow.symbols.languages as all\nall.__path__.append({more!r})\n"
    write_files(folder / "site", {"sitecustomize.py": code})
    here = Path(winnow.__file__).parent.parent
    return {**os.environ, "PYTHONPATH": f"{folder / 'site'}{os.pathsep}{here}"}


MakeWorkers = Callable[..., IndexWorkers]


@pytest.fixture
def processes() -> Processes:
    return Processes()


@pytest_asyncio.fixture
async def make_workers(
    processes: Processes, tmp_path_factory: pytest.TempPathFactory, shared_workers: None
) -> AsyncIterator[MakeWorkers]:
    made: list[IndexWorkers] = []
    environment = environment_with_languages(tmp_path_factory.mktemp("python"))

    def make(seconds: float = 20.0, limit: int = 1, *, shared: bool = False) -> IndexWorkers:
        """Create workers for the test, or return shared workers, which have no additional
        languages."""
        if shared:
            made.append(IndexWorkers(processes, {}, limit=limit))
        else:
            made.append(IndexWorkers(processes, environment, seconds, limit))
        return made[-1]

    yield make
    for workers in made:
        await workers.aclose()


def jobs(root: Path, *names: str, max_bytes: int = 4 * 1024 * 1024) -> list[IndexJob]:
    return [IndexJob(os.fsencode(root), os.fsencode(name), max_bytes) for name in names]


async def extracted(
    workers: IndexWorkers, wanted: list[IndexJob], urgent: bool = False
) -> dict[str, FileRecord | None]:
    async def collect() -> dict[str, FileRecord | None]:
        return {
            os.fsdecode(job.path): record async for job, record in workers.extract(wanted, urgent)
        }

    return await asyncio.wait_for(collect(), SECONDS)


def outcome(record: FileRecord | None) -> str:
    """Return the names that a file defines, or why they are unknown."""
    if record is None:
        return "gone"
    if record.symbols is None:
        return record.state.problem
    return " ".join(name for name, _ in record.symbols.definitions)
