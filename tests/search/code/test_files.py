"""Finding files by name: the matches of a query, and their order."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import MakeWorkspace, git_init, write_files
from winnow.errors import InvalidParams
from winnow.search.code.files import files_named, is_meant
from winnow.text.scope import Filters
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

PATHS = [
    "README.md",
    "src/agent/engine.rs",
    "src/agent/context.rs",
    "src/agent/executor.py",
    "src/auth/session_store.py",
    "src/auth/__init__.py",
    "src/models/user.py",
    "src/models/query.py",
    "src/models/sql/query.py",
    "src/models.py",
    "lib/src_models.py",
    "tests/test_executor.py",
    "Makefile",
    ".env",
    "größe.py",
    "app/[id]/page.tsx",
]

IN_MODELS = ["src/models/query.py", "src/models/user.py", "src/models/sql/query.py"]


@pytest.fixture
def files(make_workspace: MakeWorkspace, tmp_path: Path) -> EngineWorkspace:
    folder = write_files(git_init(tmp_path / "files"), dict.fromkeys(PATHS, "x\n"))
    return make_workspace(folder)


async def found(files: EngineWorkspace, name: str, path: str = "") -> list[str]:
    hits = (await files_named(files, files.scope(Filters(path=path)), name, no_progress)).hits
    return [hit.path for hit in hits]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("executor.py", ["src/agent/executor.py", "tests/test_executor.py"]),
        ("src/agent/executor.py", ["src/agent/executor.py"]),
        ("./src/agent/executor.py", ["src/agent/executor.py"]),
        (r"src\agent\executor.py", ["src/agent/executor.py"]),
        ("agent/executor.py", ["src/agent/executor.py"]),
        # A path on another machine is longer.
        ("vendor/app/src/agent/executor.py", ["src/agent/executor.py"]),
        ("/home/them/app/agent/executor.py", ["src/agent/executor.py"]),
        ("vendor/app/src/other/executor.py", []),
        ("models/query.py", ["src/models/query.py", "src/models/sql/query.py"]),
        ("sql/query.py", ["src/models/sql/query.py"]),
        ("executor", ["src/agent/executor.py", "tests/test_executor.py"]),
        ("EXECUTOR", ["src/agent/executor.py", "tests/test_executor.py"]),
        ("exec", ["src/agent/executor.py", "tests/test_executor.py"]),
        ("sesstor", ["src/auth/session_store.py"]),
        ("ss", ["src/auth/session_store.py"]),
        ("agent engine", ["src/agent/engine.rs"]),
        ("auth", ["src/auth/__init__.py", "src/auth/session_store.py"]),
        ("src/auth", ["src/auth/__init__.py", "src/auth/session_store.py"]),
        ("src/models", ["src/models.py", *IN_MODELS]),
        ("src/auth/", ["src/auth/__init__.py", "src/auth/session_store.py"]),
        ("makefile", ["Makefile"]),
        ("GRÖSSE.py", []),
        ("GRÖßE.py", ["größe.py"]),
        ("*.rs", ["src/agent/context.rs", "src/agent/engine.rs"]),
        ("src/**/q*.py", ["src/models/query.py", "src/models/sql/query.py"]),
        ("**/*.{md,rs}", ["README.md", "src/agent/context.rs", "src/agent/engine.rs"]),
        ("app/[id]/page.tsx", ["app/[id]/page.tsx"]),
        ("[id]/*.tsx", []),
        ("egn", ["src/agent/engine.rs"]),
        ("zzz", []),
        ("C:\\zz", []),
    ],
)
async def test_a_name_finds_files_best_first(
    files: EngineWorkspace, name: str, expected: list[str]
) -> None:
    assert await found(files, name) == expected


async def test_an_absolute_path_and_a_uri_are_seen_from_the_root(files: EngineWorkspace) -> None:
    path = files.folders[0] / "src/models/user.py"
    assert await found(files, str(path)) == ["src/models/user.py"]
    assert await found(files, path.as_uri()) == ["src/models/user.py"]


async def test_hidden_files_are_not_searched(files: EngineWorkspace) -> None:
    assert await found(files, ".env") == []


async def test_the_scope_limits_the_documents(files: EngineWorkspace) -> None:
    assert await found(files, "query", path="src/models/sql") == ["src/models/sql/query.py"]


async def test_unsaved_documents_that_are_not_on_disk_are_found(files: EngineWorkspace) -> None:
    files.open_documents = lambda: {files.folders[0] / "src/brand_new.py": "x"}
    assert await found(files, "brand_new.py") == ["src/brand_new.py"]


async def test_a_line_is_added_once(files: EngineWorkspace) -> None:
    (hit,) = (await files_named(files, files.scope(Filters()), "user.py", no_progress, 12)).hits
    assert (hit.path, hit.kind, hit.first, hit.score) == ("src/models/user.py", "file", 12, 0.99)


async def test_letters_in_their_order_alone_do_not_mean_a_file(files: EngineWorkspace) -> None:
    for name, meant in [("engine.rs", True), ("sess", True), ("egn", False), ("zzz", False)]:
        assert (
            is_meant(await files_named(files, files.scope(Filters()), name, no_progress)) is meant
        )


async def test_a_bad_glob_is_reported(files: EngineWorkspace) -> None:
    with pytest.raises(InvalidParams, match=r"^`query`: '\{a' is not a glob"):
        await found(files, "{a")
