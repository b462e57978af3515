"""Snapshots: the symbols of all folders at one moment, with unsaved documents."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from conftest import write_files
from indexed import fill, indexed
from waiting_for import until
from winnow.index.snapshot import Snapshot
from winnow.index.store.reader import DecodedFiles, Reader, ReaderStopped
from winnow.index.store.store import Store
from winnow.storage.database import Connection
from winnow.symbols.extract.driver import extract
from winnow.symbols.file_symbols import FileSymbols
from winnow.symbols.language import language_of
from winnow.symbols.view import File, SymbolView

FILES = {
    "app/models.py": "class Model:\n    def save(self):\n        pass\n",
    "app/views.py": "def save():\n    pass\n",
    "lib/models.py": "LIMIT = 1\n",
}


def symbols_of(path: str, text: str) -> FileSymbols:
    language = language_of(path)
    assert language is not None
    return extract(language, text.encode())


def names(view: SymbolView, name: str) -> list[tuple[str, str]]:
    return sorted((file.path, one.qualified_name) for file, one in view.definitions(name))


def test_definitions_are_found_by_name_and_by_file(tmp_path: Path) -> None:
    root = write_files(tmp_path, FILES).as_posix()
    with indexed(tmp_path) as view:
        assert names(view, "save") == [
            (f"{root}/app/models.py", "Model.save"),
            (f"{root}/app/views.py", "save"),
        ]
        assert [one.name for one in view.definitions_in(f"{root}/app/models.py")] == [
            "Model",
            "save",
        ]
        assert view.definitions_in(f"{root}/gone.py") == []
        assert view.file(f"{root}/lib/models.py") == File(f"{root}/lib/models.py", "python")
        assert view.file("/elsewhere.py") is None
        assert sorted(one.path for one in view.files_named("models.py")) == [
            f"{root}/app/models.py",
            f"{root}/lib/models.py",
        ]
        scope_table = view.scope_table(f"{root}/app/views.py")
        assert scope_table is not None
        assert scope_table.scopes[0].end == len(FILES["app/views.py"])
        assert view.roots() == [root]


def test_an_unsaved_document_hides_its_file(tmp_path: Path) -> None:
    root = write_files(tmp_path, FILES).as_posix()
    overlay = {
        f"{root}/app/views.py": symbols_of("views.py", "def send():\n    pass\n"),
        f"{root}/app/models.py": None,
        f"{root}/new.py": symbols_of("new.py", "def save():\n    pass\n"),
    }
    with indexed(tmp_path, overlay=overlay) as view:
        assert names(view, "save") == [(f"{root}/new.py", "save")]
        assert names(view, "send") == [(f"{root}/app/views.py", "send")]
        assert view.files_named("views.py") == [File(f"{root}/app/views.py", "python")]
        assert [one.path for one in view.files_named("models.py")] == [f"{root}/lib/models.py"]
        assert view.scope_table(f"{root}/app/models.py") is None
        assert view.definitions_in(f"{root}/app/models.py") == []
        assert view.file(f"{root}/app/models.py") is None


def test_several_folders_share_one_snapshot(tmp_path: Path) -> None:
    first = write_files(tmp_path / "a", FILES)
    second = write_files(tmp_path / "b", {"main.py": "def save(): ...\n"})
    with indexed(first, second) as view:
        assert [path for path, _ in names(view, "save")] == [
            f"{first.as_posix()}/app/models.py",
            f"{first.as_posix()}/app/views.py",
            f"{second.as_posix()}/main.py",
        ]
        assert view.definitions_in(f"{second.as_posix()}/main.py")[0].name == "save"


def test_files_are_found_by_the_end_of_their_path(tmp_path: Path) -> None:
    root = write_files(tmp_path / "app", {**FILES, "setup.py": "", "models.py": ""}).as_posix()
    overlay = {
        f"{root}/lib/models.py": None,
        f"{root}/new/app/models.py": symbols_of("models.py", "LIMIT = 2\n"),
    }
    with indexed(tmp_path / "app", overlay=overlay) as view:

        def ending(path: str) -> list[str]:
            return sorted(file.path.removeprefix(root) for file in view.files_ending(path))

        all_models = ["/app/models.py", "/models.py", "/new/app/models.py"]
        assert ending("models.py") == all_models
        # The root is called `app`, too.
        assert ending("app/models.py") == all_models
        assert ending("app/app/models.py") == ["/app/models.py"]
        assert ending("app/setup.py") == ["/setup.py"]
        assert ending("lib/models.py") == []
        assert ending("pp/models.py") == []


# --- while a thread reads ------------------------------------------------------------------


class Readers:
    """The readers of one store, and the connections that they have returned."""

    def __init__(self, root: Path) -> None:
        self.store = Store(root / "symbols.db")
        fill(self.store, root)
        self.handed_back: list[Connection] = []

    def reader(self) -> Reader:
        connection = self.store.reader().connection
        return Reader(connection, DecodedFiles(), self.store.segments, self.handed_back.append)

    def close(self) -> None:
        for connection in self.handed_back:
            connection.close()
        self.store.close()


async def test_a_cancelled_request_leaves_the_readers_to_its_thread(tmp_path: Path) -> None:
    readers = Readers(write_files(tmp_path, FILES))
    reader = readers.reader()
    view = Snapshot([tmp_path.as_posix()], [reader])
    reading, closed, ended = threading.Event(), threading.Event(), threading.Event()
    seen: list[object] = []

    def work() -> None:
        seen.append(len(names(view, "save")))
        reading.set()
        closed.wait(30)
        seen.append(list(readers.handed_back))
        try:
            names(view, "save")
        except ReaderStopped:
            seen.append("stopped")
            raise
        finally:
            ended.set()

    task = asyncio.create_task(view.read(work))
    await asyncio.to_thread(reading.wait, 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    view.close()
    assert readers.handed_back == []
    closed.set()
    await asyncio.to_thread(ended.wait, 30)
    await until(lambda: readers.handed_back)
    assert seen == [2, [], "stopped"]
    assert readers.handed_back == [reader.connection]
    readers.close()


async def test_a_closed_snapshot_returns_its_readers_once_and_is_not_read(tmp_path: Path) -> None:
    readers = Readers(write_files(tmp_path, FILES))
    first, second = readers.reader(), readers.reader()
    with Snapshot([f"{tmp_path}/app", f"{tmp_path}/lib"], [first, second]) as view:
        assert await view.read(view.roots) == [f"{tmp_path}/app", f"{tmp_path}/lib"]
        assert readers.handed_back == []
    view.close()
    assert readers.handed_back == [first.connection, second.connection]
    with pytest.raises(ReaderStopped):
        await view.read(view.roots)
    with pytest.raises(ReaderStopped):
        view.definitions_in(f"{tmp_path}/app/views.py")
    readers.close()


async def test_an_error_in_the_thread_reaches_the_caller(tmp_path: Path) -> None:
    readers = Readers(write_files(tmp_path, FILES))
    with Snapshot([tmp_path.as_posix()], [readers.reader()]) as view:
        with pytest.raises(ZeroDivisionError):
            await view.read(lambda: 1 // 0)
        assert len(await view.read(names, view, "save")) == 2
    readers.close()
