"""A library with test formats: documents that hang, crash or exhaust the memory."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

import winnow
import winnow.documents.formats
from conftest import write_files
from winnow.config import Config, merge_layer
from winnow.documents.extract import ocr
from winnow.documents.format import _by_extension, _by_extensions, format_of, formats
from winnow.documents.library.library import DocumentLibrary, Reporting
from winnow.documents.library.request import DocumentFile
from winnow.processes.children import Processes

FORMATS = '''
import ctypes, time
from winnow.documents.format import DocumentFormat
from winnow.documents.unreadable import Unreadable
from winnow.documents.library.locations import DocumentLocation


def read_pages(source, output):
    """Start pages at `# 3 Title` and rows at `= SHEET ROW`; `! REASON` is an unreadable part."""
    for line in source.file.read().decode().splitlines():
        if line.startswith("# "):
            number, _, title = line[2:].partition(" ")
            output.part(f"Page {number}", DocumentLocation(page=int(number), section=title or None))
        elif line.startswith("= "):
            sheet, row = line[2:].split()
            output.at(DocumentLocation(sheet=sheet, row=int(row), column=2))
        elif line.startswith("! "):
            output.failed(line[2:])
        else:
            output.line(line)
    if not output.lines:
        raise Unreadable("it has no text")


FORMATS = (
    DocumentFormat(name="pages", extensions=(".pages1", ".pag"), read=read_pages),
    DocumentFormat(name="page", extensions=(".page",), read=read_pages, is_text=True),
    DocumentFormat(name="hang", extensions=(".hang",), read=lambda *_: time.sleep(1000)),
    DocumentFormat(name="crash", extensions=(".crash",), read=lambda *_: ctypes.string_at(0)),
    DocumentFormat(name="greedy", extensions=(".greedy",), read=lambda *_: bytearray(8 * 1024**3)),
    DocumentFormat(name="defect", extensions=(".defect",), read=lambda *_: 1 / 0),
)
'''


def environment_with_formats(folder: Path) -> dict[str, str]:
    """Return an environment in which a server and its workers load :data:`FORMATS`."""
    write_files(folder / "formats", {"of_tests.py": FORMATS})
    more = str(folder / "formats")
    code = f"import winnow.documents.formats as all\nall.__path__.append({more!r})\n"
    write_files(folder / "site", {"sitecustomize.py": code})
    here = Path(winnow.__file__).parent.parent
    return {**os.environ, "PYTHONPATH": f"{folder / 'site'}{os.pathsep}{here}"}


@pytest.fixture(scope="module")
def formats_of_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Load the test formats in this process, and yield the environment for child processes."""
    folder = tmp_path_factory.mktemp("python")
    environment = environment_with_formats(folder)
    with pytest.MonkeyPatch.context() as patch:
        path = [*winnow.documents.formats.__path__, str(folder / "formats")]
        patch.setattr(winnow.documents.formats, "__path__", path)
        formats.cache_clear()
        _by_extension.cache_clear()
        _by_extensions.cache_clear()
        yield environment
    formats.cache_clear()
    _by_extension.cache_clear()
    _by_extensions.cache_clear()


@pytest.fixture(scope="module")
def recognition() -> None:
    """Load the OCR engine and the memory that its libraries never release."""
    import numpy as np

    assert ocr.recognized_lines(np.full((100, 100, 3), 255, np.uint8)) == []


MakeLibrary = Callable[..., DocumentLibrary]


@pytest_asyncio.fixture
async def make_library(
    formats_of_tests: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[MakeLibrary]:
    """Return a factory of libraries, with separate caches by default."""
    made: list[DocumentLibrary] = []

    def make(
        folder: Path | None = None, reporting: Reporting | None = None, **documents: object
    ) -> DocumentLibrary:
        config, problems = merge_layer(Config(), {"documents": documents}, "test")
        assert problems == []
        folder = folder or tmp_path_factory.mktemp("texts")
        made.append(
            DocumentLibrary(
                Processes(), formats_of_tests, lambda: config.documents, folder, reporting
            )
        )
        return made[-1]

    yield make
    for library in made:
        await library.aclose()


def documents_in(root: Path, *names: str) -> list[DocumentFile]:
    return [DocumentFile(name, str(root / name), _format(name), str(root)) for name in names]


def _format(name: str) -> str:
    found = format_of(name)
    assert found is not None
    return found.name
