"""A `.winnow` in a cloned repository changes no answers, and Winnow does not change it (#21)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from commands import command
from conftest import MakeWorkspace, git, git_commit, git_init, write_files
from winnow.index.builder.disk_scan import content_keys
from winnow.index.store.store import Store
from winnow.ranking.history.store import HistoryStore, SearchEvent, SearchRecord
from winnow.storage.state_folder import User, existing
from winnow.tools import TOOLS
from winnow.types import no_progress

pytestmark = pytest.mark.process

HOSTILE = "src/installer.py"
FILES = {
    HOSTILE: "import os\n\n\ndef backdoor_function(command):\n    os.system(command)\n",
    **{
        f"src/part{number}.py": f"def part_{number}():\n    return 'install {number}'\n"
        for number in range(12)
    },
    "README.md": "# Installer\n\nInstalls parts.\n",
}
HARMLESS = {HOSTILE: "def install(command):\n    return command\n"}
# The last file in the ranking without a search history.
PUSHED = "src/part9.py"
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("grep", {"pattern": r"os\.system"}),
    ("grep", {"pattern": "backdoor_function"}),
    ("find_symbol", {"name": "backdoor_function"}),
    ("semantic_search", {"query": "install part"}),
    ("semantic_search", {"query": "backdoor function that runs a command"}),
    ("keyword_search", {"query": "install part", "search_terms": ["install", "part"]}),
]
# Their answers do not depend on the progress of the index.
EXACT = CALLS[:3]
# Scores depend on the segments, and thus on the order of reading files; cursors depend on file
# times.
VARYING = {"search_id", "updated_at", "elapsed_ms", "score", "cursor"}


def winnow(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return command(folder, *arguments, environment={**os.environ, **environment})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a forged `.winnow`, and the state folder of the user who created it."""
    folder = tmp_path_factory.mktemp("forged")
    make_forged(folder, folder / "state")
    return folder


def forged(made: Path, state: Path) -> Path:
    """Copy the user's state into a folder, and return the user's forged `.winnow`."""
    shutil.copytree(made / "state", state, dirs_exist_ok=True)
    return made / "twin/.winnow"


def make_forged(tmp_path: Path, state: Path) -> None:
    """Create a `.winnow` whose index has the content of a harmless file for the hostile one, and
    whose search history promotes another file."""
    real = write_files(tmp_path / "real", FILES)
    (_, key) = content_keys(real, [HOSTILE])[HOSTILE]
    twin = git_commit(tmp_path / "twin", {**FILES, **HARMLESS})
    done = winnow(twin, "index", "build", XDG_STATE_HOME=str(state))
    assert done.returncode == 0, done.stderr
    [file] = (twin / ".winnow").glob("index-*.db")
    store = Store(file, User(state / "winnow", None))
    with store.transaction() as connection:
        connection.execute("UPDATE file SET key=? WHERE path=?", (key, HOSTILE.encode()))
    store.close()
    learned = HistoryStore.open(twin, User(state / "winnow", None))
    now = time.time()
    for number in range(5):
        search = SearchRecord(f"s{number}", now, "grep", "install part", "words", 0.1, 1, (PUSHED,))
        learned.write([search], [SearchEvent(search.id, now, "up", PUSHED, 1)])
    learned.close()


def clones(tmp_path: Path, made: Path, state: Path) -> tuple[Path, Path]:
    """Return a clone of a repository with a forged `.winnow`, and a clone without it."""
    folder = forged(made, state)
    upstream = git_commit(tmp_path / "upstream", FILES)
    found = tmp_path / "brought/project", tmp_path / "plain/project"
    subprocess.run(["git", "clone", "-q", str(upstream), str(found[1])], check=True)
    shutil.copytree(folder, upstream / ".winnow")
    git(upstream, "add", "--force", "--all")
    git_commit(upstream)
    subprocess.run(["git", "clone", "-q", str(upstream), str(found[0])], check=True)
    assert list((found[0] / ".winnow").glob("index-*.db"))
    return found


def plain(value: Any, root: Path) -> Any:
    """Remove values that differ between calls from an answer, and the path of its root."""
    if isinstance(value, dict):
        return {key: plain(inner, root) for key, inner in value.items() if key not in VARYING}
    if isinstance(value, list):
        return [plain(inner, root) for inner in value]
    return value.replace(str(root), "ROOT") if isinstance(value, str) else value


@pytest.fixture(params=["same user", "another user"])
def folders(
    request: pytest.FixtureRequest, tmp_path: Path, made: Path, user_state: Path
) -> tuple[Path, Path]:
    state = user_state.parent if request.param == "same user" else tmp_path / "other"
    return clones(tmp_path, made, state)


async def test_a_foreign_state_folder_does_not_change_answers_of_the_engine(
    make_workspace: MakeWorkspace, folders: tuple[Path, Path]
) -> None:
    found: list[list[Any]] = []
    notices: list[list[str]] = []
    for folder in folders:
        workspace, answers = make_workspace(folder), []
        for calls in (EXACT, CALLS):
            for name, params in calls:
                result = await TOOLS[name].call(workspace, params, no_progress)
                answers.append(plain(msgspec.to_builtins(result), folder))
            await workspace.index.build()  # reads and checks all files
            assert workspace.index.state().state == "ready"
        assert [answer["total_found"] > 0 for answer in answers] == [True] * len(answers)
        found.append(answers)
        notices.append(workspace.index.notices())
        await workspace.aclose()
    assert found[0] == found[1]
    assert [len(texts) for texts in notices] == [1, 0]
    assert git(folders[0], "status", "--porcelain") == ""


def test_a_state_folder_from_git_pull_is_ignored(
    tmp_path: Path, made: Path, user_state: Path
) -> None:
    folder = forged(made, user_state.parent)
    upstream = git_commit(tmp_path / "upstream", FILES)
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(upstream), str(clone)], check=True)
    assert winnow(clone, "index", "build").returncode == 0
    assert winnow(clone, "find-symbol", "backdoor_function").returncode == 0
    shutil.copytree(folder, upstream / ".winnow")
    git(upstream, "add", "--force", "--all")
    git_commit(upstream)
    git(clone, "pull", "--quiet")
    done = winnow(clone, "find-symbol", "backdoor_function")
    assert done.returncode == 0
    assert f".winnow in {clone} is ignored: " in done.stderr
    again = winnow(clone, "find-symbol", "backdoor_function")  # the notice appears only once
    assert (again.returncode, again.stderr) == (0, "")


def test_a_project_that_moves_keeps_its_index(tmp_path: Path) -> None:
    project = git_init(tmp_path / "project")
    write_files(project, FILES)
    assert winnow(project, "index", "build").returncode == 0
    [file] = (project / ".winnow").glob("index-*.db")
    before = file.stat().st_ino
    moved = project.rename(tmp_path / "moved")
    done = winnow(moved, "find-symbol", "backdoor_function")
    assert (done.returncode, done.stderr) == (0, "")
    [file] = (moved / ".winnow").glob("index-*.db")
    assert file.stat().st_ino == before


# --- where `.winnow` is created ------------------------------------------------------------


def test_a_command_without_an_index_leaves_nothing(tmp_path: Path) -> None:
    """#21: also outside git, and in an empty folder."""
    project = write_files(tmp_path / "project", FILES)
    empty = tmp_path / "empty"
    empty.mkdir()
    for folder in (project, empty):
        before = sorted(folder.rglob("*"))
        winnow(folder, "grep", "backdoor_function")
        winnow(folder, "read", "README.md")
        assert winnow(folder, "index-status").returncode in (0, 1)
        assert sorted(folder.rglob("*")) == before


def test_a_subfolder_outside_git_uses_the_index_of_its_parent(tmp_path: Path) -> None:
    """#21: the subfolder gets no `.winnow`."""
    project = write_files(tmp_path / "project", FILES)
    assert winnow(project, "index", "build").returncode == 0
    done = winnow(project / "src", "find-symbol", "backdoor_function", "--format=json")
    assert json.loads(done.stdout)["completeness"]["index"]["state"] == "ready"
    assert [folder.parent for folder in project.rglob(".winnow")] == [project]


def test_without_a_home_no_index_is_trusted_and_searches_work(tmp_path: Path) -> None:
    project = git_commit(tmp_path / "project", FILES)
    nowhere = {"HOME": "/dev/null/none", "XDG_STATE_HOME": "", "XDG_CACHE_HOME": ""}
    done = winnow(project, "find-symbol", "backdoor_function", **nowhere)
    assert done.returncode == 0, done.stderr
    assert not (project / ".winnow").exists()


@pytest.mark.parametrize("location", ["workspace", "user"])
def test_the_setting_selects_the_location_of_the_index(tmp_path: Path, location: str) -> None:
    project = git_commit(tmp_path / "project", FILES)
    settings = write_files(tmp_path, {"c.toml": f'[index]\nlocation = "{location}"\n'}) / "c.toml"
    done = winnow(project, "index", "build", WINNOW_CONFIG=str(settings))
    assert done.returncode == 0, done.stderr
    assert (project / ".winnow").exists() == (location == "workspace")
    user = User.of(os.environ, location)  # type: ignore[arg-type]
    folder = existing(project, user)
    assert folder is not None
    assert len(list(folder.glob("index-*.db"))) == 1
    done = winnow(project, "find-symbol", "backdoor_function", WINNOW_CONFIG=str(settings))
    assert done.returncode == 0
