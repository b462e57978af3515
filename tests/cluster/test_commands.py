"""`winnow cluster` at the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cluster.nodes import Cluster
from commands import command
from conftest import git_init, write_files

pytestmark = [pytest.mark.cluster, pytest.mark.process]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_files(git_init(tmp_path / "project"), {"a.py": "def first():\n    pass\n"})


def winnow(folder: Path, addresses: list[str], *arguments: str) -> tuple[int, str, str]:
    """Run `winnow cluster` with these addresses in the user's settings."""
    settings = folder.parent / "config.toml"
    settings.write_text(f"[cluster]\naddresses = {json.dumps(addresses)}\n")
    environment = {"HOME": str(folder.parent), "PATH": "/usr/bin:/bin"}
    environment["WINNOW_CONFIG"] = str(settings)
    done = command(folder, "cluster", *arguments, environment=environment)
    return done.returncode, done.stdout, done.stderr


def test_push_status_and_remove(cluster: Cluster, folder: Path) -> None:
    def run(*arguments: str) -> tuple[int, str, str]:
        return winnow(folder, list(cluster.addresses), *arguments)

    name = ("--repository", "team/a")
    code, output, errors = run("push", *name, "--commit", "c1")
    assert (code, errors) == (0, "")
    assert output.startswith("team/a at c1, pushed 20")
    assert "1 files, 0.0 MB: 1 new texts" in output
    code, output, _ = run("push", *name, "--commit", "c2", "--branch", "b", "--json")
    assert (code, json.loads(output)["new"]) == (0, 0)
    cluster.wait()  # until the copies of the new texts are complete
    code, output, _ = run("status")
    first, *branches = output.splitlines()
    assert (code, first[:13]) == (0, "OpenSearch 2.")
    assert "green, 2 data nodes, " in first
    assert [line.split(",")[0] for line in branches] == ["team/a at c1", "team/a@b at c2"]
    assert run("remove", *name, "--branch", "b")[:2] == (0, "1 texts removed\n")
    assert run("remove", *name, "--branch", "b")[0] == 1
    code, output, _ = run("status", "--json")
    status = json.loads(output)
    assert (status["data_nodes"], [one["ref"] for one in status["branches"]]) == (2, ["team/a"])


@pytest.mark.parametrize(
    ("addresses", "arguments", "why"),
    [
        ([], ["status"], "no cluster is configured: set `cluster.addresses`"),
        (["http://search.example.com:9200"], ["status"], "must begin with https://"),
        (["https://u:p@search.example.com"], ["status"], "without a password"),
        (["http://127.0.0.1:9"], ["status"], "the cluster cannot be reached"),
        (["http://127.0.0.1:9"], ["push"], "pass the name of the repository"),
        (["http://127.0.0.1:9"], ["push", "--repository", "team/*"], "--repository is a name"),
        (["http://127.0.0.1:9"], ["push", "--repository", "a"], "no git commit: pass --commit"),
    ],
)
def test_what_is_wrong(folder: Path, addresses: list[str], arguments: list[str], why: str) -> None:
    code, output, errors = winnow(folder, addresses, *arguments)
    assert (code, output) == (2, "")
    assert errors.startswith(f"winnow cluster {arguments[0]}: ")
    assert why in errors


def test_a_workspace_cannot_name_a_cluster(folder: Path) -> None:
    write_files(folder, {"winnow.toml": '[cluster]\naddresses = ["http://127.0.0.1:9"]\n'})
    _, _, errors = winnow(folder, [], "status")
    assert "`cluster` is ignored" in errors
    assert "no cluster is configured" in errors
