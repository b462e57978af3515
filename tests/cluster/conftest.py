"""The cluster of a session."""

from __future__ import annotations

import asyncio
import shutil
import site
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.nodes import DATA_NODES, MANAGER, Cluster, installed, pushed
from conftest import CI, git_init, write_files
from winnow.search.symbols import references

REPOSITORIES = 25
# Larger packages would take minutes.
MOST_BYTES = 200_000


@pytest.fixture(scope="session")
def started_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Start the cluster once."""
    software = installed()
    if software is None:
        reason = "OpenSearch or Java is not installed: see install_cluster in scripts/environment"
        if CI:
            pytest.fail(reason)
        pytest.skip(reason)
    cluster = Cluster(software, tmp_path_factory.mktemp("cluster"))
    cluster.start(*DATA_NODES, MANAGER)
    try:
        cluster.wait()
        yield cluster
    finally:
        cluster.stop()


# A function-scoped fixture could not start a node again: see `leftovers`.
@pytest.fixture(scope="class")
def cluster(started_cluster: Cluster) -> Cluster:
    """Return an empty cluster; the nodes that the previous test has killed run again."""
    started_cluster.start_missing()
    started_cluster.clear()
    return started_cluster


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the folders of repositories: the Python files of installed packages."""
    found: dict[str, Path] = {}
    top = tmp_path_factory.mktemp("repositories")
    for package in sorted(Path(site.getsitepackages()[0]).iterdir()):
        files = sorted(package.rglob("*.py")) if (package / "__init__.py").exists() else []
        size = sum(file.stat().st_size for file in files)
        if len(files) < 4 or size > MOST_BYTES:
            continue
        folder = git_init(top / package.name)
        for file in files:
            target = folder / file.relative_to(package)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
        found[f"team/{package.name}"] = folder
        if len(found) == REPOSITORIES:
            break
    return found


@pytest.fixture(scope="module")
def filled(started_cluster: Cluster, repositories: dict[str, Path]) -> Cluster:
    """Return the cluster with all repositories."""
    started_cluster.start_missing()
    started_cluster.clear()

    async def push_all() -> None:
        for name, folder in repositories.items():
            await pushed(started_cluster, folder, name)

    asyncio.run(push_all())
    return started_cluster


@pytest.fixture(autouse=True)
def patient_parsing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the time limit: a busy machine may start no worker within it."""
    monkeypatch.setattr(references, "PARSE_SECONDS", 60.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_files(git_init(tmp_path / "here"), {"local.py": "needle = 1\n"})
