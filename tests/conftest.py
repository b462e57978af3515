"""Fixtures: small projects on disk, workspaces, and the fake server for remote models."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, settings

# Several test modules use its assertions; rewriting makes them report differences.
pytest.register_assert_rewrite("symbols.references")

from frontends.lsp.fork_server import PATIENT, PATIENT_SECONDS  # noqa: E402
from model_server import ModelServer  # noqa: E402
from offline import sitecustomize  # noqa: E402
from winnow.config import Config, ModelSettings, merge_layer  # noqa: E402
from winnow.index.builder import state  # noqa: E402
from winnow.index.builder.throttle import Machine  # noqa: E402
from winnow.index.store.file_record import CLOCK_NS  # noqa: E402
from winnow.processes.programs import InstalledPrograms  # noqa: E402
from winnow.storage import user_folders  # noqa: E402
from winnow.types import Progress, Result  # noqa: E402
from winnow.workspace import EngineWorkspace  # noqa: E402

pytest_plugins = ["hazard_table", "leftovers", "process_marks", "shared_workers"]

# The ripgrep that Winnow runs if no folder is open.
RIPGREP = InstalledPrograms(os.environ, ()).ripgrep()

CI = os.environ.get("CI") == "true"
FAKE_KEY = "sk-fake-0123456789abcdef"

FILES = {
    "src/loader.py": (
        "class Loader:\n"
        "    def load_plugins(self, names):\n"
        "        return [self.load_plugin(name) for name in names]\n"
        "\n"
        "    def load_plugin(self, name):\n"
        "        return registry[name]\n"
    ),
    "src/registry.py": (
        "registry = {}\n\ndef register_plugin(name, plugin):\n    registry[name] = plugin\n"
    ),
    "src/main.py": "from loader import Loader\n\nLoader().load_plugins(['a'])\n",
    "tests/test_loader.py": "def test_load_plugin():\n    assert Loader().load_plugin('a')\n",
    "docs/plugins.md": "# Plugins\n\nCall `register_plugin` to add one.\n",
    "ignored/cache.py": "load_plugin_from_cache = 1\n",
    ".hidden/secret.py": "hidden_plugin = 1\n",
    ".gitignore": "ignored/\n",
}


def child_environment(home: Path, **variables: str) -> dict[str, str]:
    """Return the environment of a program under test, without the settings of the current user."""
    passed_on = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    return {**passed_on, "HOME": str(home), "WINNOW_BACKGROUND": "0", **variables}


def write_files(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return folder


def git_init(folder: Path) -> Path:
    """Create an empty repository like `git init` without templates, but without a process."""
    for name in ("objects", "refs/heads", "info"):
        (folder / ".git" / name).mkdir(parents=True, exist_ok=True)
    (folder / ".git/HEAD").write_text("ref: refs/heads/master\n")
    (folder / ".git/config").write_text("[core]\n\trepositoryformatversion = 0\n")
    return folder


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder, with an author, and return its output."""
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    run = subprocess.run(command, check=True, capture_output=True)
    return run.stdout.decode("utf-8", "surrogateescape")


def git_commit(folder: Path, files: dict[str, str] | None = None, message: str = "x") -> Path:
    """Commit these files and all existing files; create the repository if needed."""
    if not (folder / ".git").exists():
        git_init(folder)
    write_files(folder, files or {})
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", f"--message={message}")
    return folder


def aged(folder: Path) -> Path:
    """Wait until all files are older than the clock's resolution. The index reads newer files
    again, because another change could have the same timestamp."""
    changed = max(file.lstat().st_ctime_ns for file in folder.rglob("*"))
    while time.time_ns() - changed <= CLOCK_NS:
        time.sleep(0.01)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Create a git repository without commits, with sources, tests, ignored and hidden files."""
    return write_files(git_init(tmp_path / "project"), FILES)


@pytest.fixture(scope="session", autouse=True)
def user_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Use a temporary folder as the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        # Commands leave no process behind, except in the tests of background processes.
        patch.setenv("WINNOW_BACKGROUND", "0")
        yield


@pytest.fixture(autouse=True)
def user_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use a new folder for the audit log and the consents of each test, and return it."""
    base = tmp_path_factory.getbasetemp() / "state" / uuid.uuid4().hex
    monkeypatch.setenv("XDG_STATE_HOME", str(base))
    state_folder = user_folders.state_folder

    def of_tests(environment: Mapping[str, str]) -> Path | None:
        elsewhere = "HOME" in environment or "XDG_STATE_HOME" in environment
        return state_folder(environment) if elsewhere else base / "winnow"

    for module in ("winnow.privacy.outbound", "winnow.storage.state_folder"):
        monkeypatch.setattr(f"{module}.state_folder", of_tests)
    return base / "winnow"


@pytest.fixture(scope="session", autouse=True)
def undefined_transitions() -> Iterator[None]:
    """An event that should not happen in the state of an index raises; users get it in the log."""

    def fail(message: str) -> None:
        raise AssertionError(message)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state, "report_undefined", fail)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Block network access of the tests and their child processes; fail at the end if any tried."""
    here = Path(sitecustomize.__file__).parent
    refused = tmp_path_factory.mktemp("network") / "refused"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(here), prepend=os.pathsep)
        patch.setenv(sitecustomize.REFUSED, str(refused))
        yield
    assert not refused.exists(), refused.read_text()


@pytest.fixture(autouse=True)
def time_to_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the time limits after which a search stops counting, reading and repeating searches.

    A busy machine would reach them, and the answer would report it.
    """
    for module, names in PATIENT.items():
        for name in names:
            monkeypatch.setattr(f"{module}.{name}", PATIENT_SECONDS)


@pytest.fixture
def time_to_catch_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let searches wait longer for pending index updates: on a busy machine, answers would report
    a stale index."""
    for module in ("search", "requests"):
        monkeypatch.setattr(f"winnow.search.symbols.{module}.CATCH_UP_SECONDS", 30.0)


MakeWorkspace = Callable[..., EngineWorkspace]


def pytest_collection() -> None:
    gc.disable()


def pytest_collection_finish() -> None:
    """Exclude the collected tests from garbage collection: traversing thousands of them repeatedly
    takes a third of the collection time."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that open a workspace, and run slow modules first.

    Otherwise a parallel run can end with one slow module while the other processes are idle.
    """
    for item in items:
        if isinstance(item, pytest.Function) and "shared_workers" in item.fixturenames:
            item.add_marker("workspace")
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest_asyncio.fixture
async def make_workspace(shared_workers: None) -> AsyncIterator[MakeWorkspace]:
    """Create workspaces, and close them after the test; they have no API key by default."""
    made: list[EngineWorkspace] = []

    def make(
        *folders: Path, config: Config | None = None, environment: dict[str, str] | None = None
    ) -> EngineWorkspace:
        environment = environment or {}
        if "HOME" not in environment:
            environment = {"XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"], **environment}
        workspace = EngineWorkspace(list(folders), config, environment)
        made.append(workspace)
        return workspace

    yield make
    for workspace in made:
        await workspace.aclose()


async def built(workspace: EngineWorkspace) -> EngineWorkspace:
    """Build the index of a workspace, and return the workspace."""
    await workspace.index.build()
    return workspace


def with_limits(rg: str = "", **limits: Any) -> Config:
    """Return a configuration with some limits, and another ripgrep."""
    layer = {"limits": limits, "programs": {"rg": rg} if rg else {}}
    config, problems = merge_layer(Config(), layer, "test")
    assert not problems
    return config


@pytest.fixture
def workspace(make_workspace: MakeWorkspace, project: Path) -> EngineWorkspace:
    return make_workspace(project)


@pytest.fixture
async def indexed(make_workspace: MakeWorkspace, project: Path) -> EngineWorkspace:
    return await built(make_workspace(project))


IndexFiles = Callable[[dict[str, str]], Awaitable[EngineWorkspace]]


@pytest.fixture
def index_files(make_workspace: MakeWorkspace, tmp_path: Path) -> IndexFiles:
    """Return a function that writes files, and returns a workspace with their index."""

    async def index(files: dict[str, str]) -> EngineWorkspace:
        return await built(make_workspace(write_files(tmp_path, files)))

    return index


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    server = ModelServer()
    yield server
    server.stop()


def models_config(server: ModelServer, *names: str, **llm: object) -> Config:
    """Return a configuration whose only models are those of the fake server, by wire format."""
    models = {}
    for name in names:
        provider = "anthropic" if name.startswith("anthropic") else "openai"
        base_url = server.address + ("" if provider == "anthropic" else "/v1")
        models[name] = ModelSettings(
            provider=provider,  # type: ignore[arg-type]
            model=name,
            base_url=base_url,
            key_env="FAKE_API_KEY",
        )
    config, problems = merge_layer(Config(), {"llm": llm}, "test")
    assert problems == []
    import msgspec

    return msgspec.structs.replace(
        config, llm=msgspec.structs.replace(config.llm, preferred=names, models=models)
    )


class Recorder(Progress):
    """Progress that records its messages and partial results."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.partials: list[Result] = []

    def __call__(
        self, message: str, *, percentage: int | None = None, partial: Result | None = None
    ) -> None:
        self.messages.append(message)
        if partial is not None:
            self.partials.append(partial)


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def slow_project(tmp_path: Path) -> Path:
    """Create a file in which a search for :data:`SLOW_TERM` takes ripgrep many seconds."""
    folder = tmp_path / "slow"
    folder.mkdir()
    # Non-ASCII text and a word boundary in the pattern: this needs ripgrep's slowest engine.
    line = "the quick brown fox jumps over the lazy dög and runs away " * 2 + "\n"
    (folder / "big.txt").write_text(line * 200_000, "utf-8")
    return folder


SLOW_TERM = r"\b(\w+\W+){5,30}\b[0-9]{4}\b"


def requires(*programs: str) -> pytest.MarkDecorator:
    """Skip a test if a program is missing. In CI, the test fails instead."""
    missing = [program for program in programs if shutil.which(program) is None]
    return pytest.mark.skipif(bool(missing) and not CI, reason=f"needs {', '.join(missing)}")


# No deadline: a busy machine makes examples slow. Every run tries the same examples, so that no run
# fails by chance; `--hypothesis-profile random` tries more and random ones.
settings.register_profile(
    "random", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=2_000
)
settings.register_profile(
    "winnow",
    settings.get_profile("random"),
    derandomize=True,
    database=None,
    max_examples=100 if CI else 50,
)
settings.load_profile("winnow")


@pytest.fixture(autouse=True)
def ignore_test_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count this process's memory as 0: hundreds of tests have used more memory than a server, and
    building an index in this process would be throttled. Modules that measure this memory override
    the fixture."""
    memory_of = Machine.memory_of

    def without_pytest(machine: Machine, pid: int) -> int:
        return 0 if pid == os.getpid() else memory_of(machine, pid)

    monkeypatch.setattr(Machine, "memory_of", without_pytest)


def _permissions_hold() -> bool:
    """Return True if file permissions apply to this user. They don't apply to root, unless
    `scripts/test` has dropped this right."""
    if os.name == "nt":
        return False
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o500)
        return not os.access(folder, os.W_OK)


requires_permissions = pytest.mark.skipif(
    not _permissions_hold(), reason="file permissions don't apply to this user"
)
without_coverage = pytest.mark.skipif(
    "coverage" in sys.modules, reason="coverage imports modules and writes files"
)
requires_linux = pytest.mark.skipif(
    sys.platform != "linux", reason="only inotify confirms that all changes were reported"
)
requires_posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX only")


T = TypeVar("T")


def timed(turn: Callable[[], T], seconds: float, turns: int = 3) -> tuple[float, T]:
    """Call `turn` until it takes less than `seconds`, at most `turns` times. Return the duration
    and the result of the last call. On a busy machine, a single call may take longer."""
    while True:
        started = time.monotonic()
        result = turn()
        duration = time.monotonic() - started
        turns -= 1
        if duration < seconds or not turns:
            return duration, result


def alive(pid: int) -> bool:
    """Return True if a process is running; a zombie is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
