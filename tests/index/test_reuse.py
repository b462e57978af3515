"""A new clone reuses what the user's other indexes have of the same texts."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeWorkspace, aged, built, git, git_commit, write_files
from index.test_texts import FILES, holding, read_files
from indexed import fill, folder_of
from winnow.index.builder import other_indexes, reuse
from winnow.index.builder.other_indexes import sampled, similar_roots, write_sample
from winnow.index.store import rows
from winnow.index.store.copying import copy_texts
from winnow.index.store.file_record import FULL, NO_DEFINITIONS, TOO_LARGE, TOO_MUCH_MEMORY
from winnow.index.store.size_limits import SizeLimits
from winnow.index.store.store import Store
from winnow.storage import state_folder
from winnow.storage.state_folder import User
from winnow.workspace import EngineWorkspace

__all__ = ["read_files"]  # a fixture

MANY = {
    f"src/m{number}.py": f"from src.loader import Loader\n\n\ndef only_in_{number}(): ...\n"
    for number in range(30)
}
CHANGED = {"src/m7.py": "def changed_here(): ...\n", "src/new.py": "def new_here(): ...\n"}
NOT_REUSED = ["data.bin", "src/m7.py", "src/new.py"]  # a binary file has no text to index


async def two_clones(make_workspace: MakeWorkspace, folder: Path) -> tuple[Path, Path]:
    """Create two clones of a repository, one of which is indexed, and change the other."""
    origin = git_commit(folder / "origin", {**FILES, **MANY})
    clones = folder / "first", folder / "second"
    for clone in clones:
        git(origin, "clone", "-q", str(origin), str(clone))
    await make_workspace(clones[0]).index.build()
    write_files(clones[1], CHANGED)
    (clones[1] / "src/m8.py").rename(clones[1] / "src/renamed.py")
    aged(clones[1])  # otherwise its states depend on when they are read
    return clones


def import_nothing(*arguments: Any, **options: Any) -> bool:
    return False


async def facts(workspace: EngineWorkspace) -> dict[str, Any]:
    """Return what an index answers about every file, and which files have some texts."""
    found: dict[str, Any] = {}
    with (await folder_of(workspace).store()).read() as reader:
        for path, state in reader.files().items():
            definitions = reader.definitions_in(path)
            found[path] = state, definitions, reader.all_occurrences(path), reader.keys_of([path])
        found["subclasses"] = sorted(map(str, reader.subclasses("Loader")))
    for text in ("only_in_", "only_in_8", "changed_here", "Plugins"):
        found[f"text {text}"] = await holding(workspace, text)
    return found


async def test_a_clone_reuses_the_index_of_another_clone(
    make_workspace: MakeWorkspace, tmp_path: Path, read_files: list[str]
) -> None:
    _, second = await two_clones(make_workspace, tmp_path)
    read_files.clear()
    workspace = await built(make_workspace(second))
    assert sorted(read_files) == NOT_REUSED
    (await folder_of(workspace).store()).check()
    found = await facts(workspace)
    assert found["text only_in_8"] == ["src/renamed.py"]
    # Nothing is left of texts that no file has here.
    with (await folder_of(workspace).store()).read() as reader:
        assert reader.file_count() == reader._row("SELECT count(*) FROM file")[0]
    # A build from nothing stores the same.
    alone = make_workspace(second, environment={"XDG_STATE_HOME": str(tmp_path / "state")})
    await alone.index.build()
    assert len(read_files) > len(MANY)
    assert await facts(alone) == found


async def test_many_texts_are_copied_in_several_transactions(
    make_workspace: MakeWorkspace,
    tmp_path: Path,
    read_files: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, second = await two_clones(make_workspace, tmp_path)
    monkeypatch.setattr(reuse, "import_texts", import_nothing)
    monkeypatch.setattr("winnow.index.store.copying.COPIED_AT_ONCE", 4)
    monkeypatch.setattr("winnow.index.store.copying.MOST_DOCUMENTS", 10)
    read_files.clear()
    workspace = await built(make_workspace(second))
    assert sorted(read_files) == NOT_REUSED
    store = await folder_of(workspace).store()
    store.check()
    assert await holding(workspace, "only_in_9") == ["src/m9.py"]


@pytest.mark.parametrize("step", ["import_texts", "copy_texts"])
async def test_a_file_that_changes_before_its_data_is_reused_is_indexed_as_it_is(
    make_workspace: MakeWorkspace,
    tmp_path: Path,
    read_files: list[str],
    monkeypatch: pytest.MonkeyPatch,
    step: str,
) -> None:
    _, second = await two_clones(make_workspace, tmp_path)
    original = getattr(reuse, step)

    def late(*arguments: Any, **options: Any) -> Any:
        (second / "src/m3.py").unlink()
        write_files(second, {"src/m4.py": "def written_late(): ...\n"})
        return original(*arguments, **options)

    monkeypatch.setattr(reuse, "import_texts", import_nothing)
    monkeypatch.setattr(reuse, step, late)
    read_files.clear()
    workspace = await built(make_workspace(second))
    assert sorted(read_files) == sorted([*NOT_REUSED, "src/m3.py", "src/m4.py"])
    with (await folder_of(workspace).store()).read() as reader:
        assert "src/m3.py" not in reader.files()
        [definition] = reader.definitions_in("src/m4.py")
    assert definition.name == "written_late"


async def test_a_clone_reuses_the_trigrams_of_a_large_file(
    make_workspace: MakeWorkspace, tmp_path: Path, read_files: list[str]
) -> None:
    large = "value = 'large_text'\n" * 300_000
    for name in ("first", "second"):
        write_files(tmp_path / name, {**MANY, "large.py": large})
        aged(tmp_path / name)
    await make_workspace(tmp_path / "first").index.build()
    read_files.clear()
    workspace = await built(make_workspace(tmp_path / "second"))
    assert read_files == []
    assert await holding(workspace, "large_text") == ["large.py"]


@pytest.mark.parametrize(("kept", "is_imported"), [(60, True), (30, True), (25, False)])
async def test_all_texts_are_imported_only_from_an_index_that_is_not_much_larger(
    make_workspace: MakeWorkspace,
    tmp_path: Path,
    read_files: list[str],
    monkeypatch: pytest.MonkeyPatch,
    kept: int,
    is_imported: bool,
) -> None:
    files = {f"m{number}.py": f"def only_in_{number}(): ...\n" for number in range(60)}
    write_files(tmp_path / "first", files)
    # The index has a row of the last file before it has any text.
    more = {"vendor.min.js": "var only_in_vendor\n"}
    write_files(tmp_path / "second", dict(list(files.items())[:kept]) | more)
    await make_workspace(tmp_path / "first").index.build()
    imported = []
    import_all = Store.import_all

    def recorded(store: Store, other: Store, limits: SizeLimits) -> bool:
        imported.append(other.file.parent.parent.name)
        return import_all(store, other, limits)

    monkeypatch.setattr(Store, "import_all", recorded)
    read_files.clear()
    workspace = await built(make_workspace(tmp_path / "second"))
    assert read_files == []
    assert bool(imported) == is_imported
    assert await holding(workspace, "only_in_") == sorted(list(files)[:kept])


@pytest.mark.parametrize(
    ("problem", "is_reused"),
    [
        ("", True),
        ("its language is unknown", True),
        (f"{TOO_MUCH_MEMORY}: 1,001 bytes", True),
        (f"{TOO_MUCH_MEMORY}: 1,000 bytes", False),
        (f"{TOO_LARGE} 2,000 bytes", True),
        (f"{TOO_LARGE} 3,000 bytes", False),
        (NO_DEFINITIONS, False),
        (FULL, False),
    ],
)
def test_a_text_is_reused_only_if_it_has_the_same_problem_here(
    problem: str, is_reused: bool
) -> None:
    assert rows.is_reusable(problem, SizeLimits(2_000, 1_000)) == is_reused


def test_texts_are_only_imported_into_a_store_without_texts_with_the_same_name(
    tmp_path: Path,
) -> None:
    folder = write_files(tmp_path / "p", {"a.py": "def one(): ...\n"})
    for name in ("known", "new"):
        (tmp_path / name).mkdir()
    known, new = (Store(tmp_path / name / "index-1.db") for name in ("known", "new"))
    fill(known, folder)
    with known.read() as reader:
        states, keys = reader.files(), reader.keys_of(["a.py"])
    other_name = Store.temporary()
    assert not other_name.import_all(known)
    assert new.import_all(known)
    assert not new.import_all(known)
    with new.read() as reader:
        assert reader.files() == {}
    assert new.adopt({"a.py": (states["a.py"], keys["a.py"])}) == ["a.py"]
    with known.read() as one, new.read() as two:
        assert two.files() == one.files()
        assert two.definitions_in("a.py") == one.definitions_in("a.py")
        assert [file.path for file, _ in two.definitions("one")] == ["a.py"]
    new.check()
    for store in (known, new, other_name):
        store.close()


async def test_the_index_of_another_user_is_not_reused(
    make_workspace: MakeWorkspace, tmp_path: Path, read_files: list[str], user_state: Path
) -> None:
    _, second = await two_clones(make_workspace, tmp_path)
    # Even if that user's list names it.
    other = tmp_path / "state"
    (other / "winnow").mkdir(parents=True, mode=0o700)
    (user_state / "indexes").rename(other / "winnow/indexes")
    read_files.clear()
    await built(make_workspace(second, environment={"XDG_STATE_HOME": str(other)}))
    assert len(read_files) > len(MANY)


def delete_folder(first: Path) -> None:
    first.rename(first.with_name("moved"))


def damage(suffix: str) -> Callable[[Path], None]:
    def damaged(first: Path) -> None:
        for file in (first / ".winnow").glob(f"index-*{suffix}"):
            data = bytearray(file.read_bytes())
            for place in range(4096 if suffix == ".db" else 100, len(data), 512):
                data[place] ^= 0xFF
            file.write_bytes(data)

    return damaged


def delete_segments(first: Path) -> None:
    for file in (first / ".winnow").glob("*.seg"):
        file.unlink()


@pytest.mark.parametrize(
    "spoil",
    [delete_folder, damage(".db"), damage(".seg"), delete_segments],
    ids=["deleted", "damaged database", "damaged segments", "without segments"],
)
async def test_a_damaged_or_deleted_index_is_not_reused(
    make_workspace: MakeWorkspace,
    tmp_path: Path,
    read_files: list[str],
    spoil: Callable[[Path], None],
) -> None:
    origin = git_commit(tmp_path / "origin", {**FILES, **MANY})
    first, second = tmp_path / "first", tmp_path / "second"
    for clone in (first, second):
        git(origin, "clone", "-q", str(origin), str(clone))
    earlier = await built(make_workspace(first))
    await earlier.aclose()
    spoil(first)
    read_files.clear()
    workspace = await built(make_workspace(second))
    assert len(read_files) == len(FILES) + len(MANY)
    assert await holding(workspace, "only_in_8") == ["src/m8.py"]
    store = await folder_of(workspace).store()
    store.check()
    assert not folder_of(workspace).disk.damage


async def test_a_file_with_secrets_is_not_indexed_because_another_has_its_text(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    project = git_commit(tmp_path / "project", {**FILES, "data.json": '{"plugin": "seven"}\n'})
    workspace = await built(make_workspace(project))
    assert await holding(workspace, "seven") == ["data.json"]
    (project / "data.json").rename(project / "credentials.json")
    await workspace.index.build()
    assert await holding(workspace, "seven") == []


async def test_texts_that_no_file_has_anymore_are_removed_from_segments(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    project = git_commit(tmp_path / "project", {**FILES, **MANY})
    workspace = await built(make_workspace(project))
    store = await folder_of(workspace).store()
    for path in list(MANY)[8:]:
        (project / path).unlink()
    await workspace.index.build()
    with store.transaction() as connection:
        rows.forget_parked(connection, 0)
    with store.read() as reader:
        assert sum(reader.sizes().values()) == len(FILES) - 1 + len(MANY)
    store.merger.compact()
    with store.read() as reader:
        assert sum(reader.sizes().values()) == len(FILES) - 1 + 8
    store.check()
    assert await holding(workspace, "only_in_3") == ["src/m3.py"]


def test_a_text_without_its_definitions_is_not_reused(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "p", {"a.py": "def one(): ...\n"})
    unfinished, new = Store.temporary(), Store.temporary()
    fill(unfinished, folder, "text")
    with unfinished.read() as reader:
        states, keys = reader.files(), reader.keys_of(["a.py"])
    texts = {"a.py": (states["a.py"], keys["a.py"])}
    assert list(copy_texts(new, unfinished, texts)) == []
    assert unfinished.adopt({"b.py": texts["a.py"]}) == []
    fill(unfinished, folder)
    assert list(copy_texts(new, unfinished, texts)) == [["a.py"]]
    assert unfinished.adopt({"b.py": texts["a.py"]}) == ["b.py"]
    unfinished.close()
    new.close()


def test_samples_are_bounded_and_expire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other_indexes, "MOST_SAMPLES", 3)
    user = User(tmp_path / "state", None)
    keys = [bytes([number]) * 16 for number in range(10)]
    folder = tmp_path / "state/indexes"
    now = time.time()
    for number in range(5):
        write_sample(tmp_path / f"root{number}", keys[number:], user)
        for file in folder.iterdir():
            status = file.stat()
            os.utime(file, (now, status.st_mtime - 100))
    own = tmp_path / "own"
    found = similar_roots(own, keys, user)
    assert [root.name for root in found] == ["root2", "root3", "root4"]
    assert len(list(folder.iterdir())) == 3
    assert similar_roots(own, keys[:6], user) == [tmp_path / "root2"]
    assert similar_roots(tmp_path / "root2", keys[:6], user) == []
    for file in folder.iterdir():
        os.utime(file, (now, now - other_indexes.EXPIRY_SECONDS - 1))
    assert similar_roots(own, keys, user) == []
    write_sample(own, keys, user)
    assert len(list(folder.iterdir())) == 1


def test_a_sample_of_another_format_is_ignored(tmp_path: Path) -> None:
    user = User(tmp_path / "state", None)
    keys = [bytes([number]) * 16 for number in range(10)]
    write_sample(tmp_path / "root", keys, user)
    (tmp_path / "state/indexes/other").write_bytes(b"\xc1 no sample")
    (tmp_path / "state/indexes/link").symlink_to(tmp_path / "state/indexes/other")
    assert similar_roots(tmp_path / "own", keys, user) == [tmp_path / "root"]


def test_similar_folders_have_similar_samples() -> None:
    paths = [f"src/m{number}.py" for number in range(5_000)]
    changed = [*paths[200:], *(f"new/m{number}.py" for number in range(400))]
    assert len(set(sampled(paths)) & set(sampled(changed))) > 0.8 * other_indexes.SAMPLED
    part = paths[::3]
    assert len(set(sampled(paths)) & set(sampled(part))) > 0.2 * other_indexes.SAMPLED


def test_an_unfinished_index_is_not_reused(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    folder = state_folder.existing(tmp_path)
    assert folder is not None
    store.file.with_suffix(".building").touch()
    assert Store.open_existing(folder, "", None) is None
    store.file.with_suffix(".building").unlink()
    other = Store.open_existing(folder, "", None)
    assert other is not None
    other.close()
    store.close()
