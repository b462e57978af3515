"""The kernel confines programs to the workspace."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from conftest import RIPGREP, alive, git, git_commit, git_init, write_files
from winnow.errors import SearchFailed
from winnow.processes import sandbox
from winnow.processes.children import Child, Processes, SandboxedProcess
from winnow.text.readable_files import readable

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(
        not sandbox.is_available(), reason="the kernel has no Landlock, or it is off"
    ),
]
ENVIRONMENT = {"PATH": os.environ["PATH"]}


def sandboxed(*roots: Path, environment: Mapping[str, str] = ENVIRONMENT) -> Processes:
    return Processes(readable=lambda: readable(roots, environment))


async def run(
    processes: Processes, cwd: Path, *arguments: str, environment: Mapping[str, str] = ENVIRONMENT
) -> tuple[int, str, str]:
    """Return the exit code, the output and the error messages of a program."""
    deadline = asyncio.get_running_loop().time() + 20
    async with processes.start(
        arguments, cwd=cwd, deadline=deadline, environment=environment, sandboxed=True
    ) as child:
        output = b"".join([chunk async for chunk in child.chunks()])
        return await child.wait(), output.decode(), child.stderr


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_files(tmp_path, {"outside/secret.txt": "outside\n", "root/inside.txt": "inside\n"})
    (tmp_path / "root/file").symlink_to("../outside/secret.txt")
    (tmp_path / "root/folder").symlink_to("../outside")
    (tmp_path / "root/own").symlink_to("inside.txt")
    return tmp_path / "root"


async def test_files_outside_are_not_read_through_any_link(root: Path) -> None:
    processes = sandboxed(root)
    cat = str(shutil.which("cat"))
    assert await run(processes, root, cat, "inside.txt", "own") == (0, "inside\n" * 2, "")
    for path in ("file", "folder/secret.txt", "../outside/secret.txt", "/etc/hostname"):
        code, output, complaint = await run(processes, root, cat, path)
        assert (code, output) == (1, ""), path
        assert "Permission denied" in complaint
    code, output, complaint = await run(processes, root, str(shutil.which("ls")), "folder/")
    assert (output, "Permission denied" in complaint) == ("", True)


async def test_a_program_can_read_its_working_folder(root: Path) -> None:
    code, output, _ = await run(sandboxed(), root, str(shutil.which("cat")), "inside.txt")
    assert (code, output) == (0, "inside\n")


async def test_the_server_itself_is_not_restricted(root: Path) -> None:
    await run(sandboxed(root), root, str(shutil.which("true")))
    assert (root / "file").read_text() == "outside\n"
    assert await asyncio.to_thread((root / "file").read_text) == "outside\n"
    deadline = asyncio.get_running_loop().time() + 20
    cat = [str(shutil.which("cat")), "file"]
    async with sandboxed(root).start(cat, cwd=root, deadline=deadline) as child:
        assert [chunk async for chunk in child.chunks()] == [b"outside\n"]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Create a linked working tree, with files that ignore files elsewhere exclude."""
    write_files(tmp_path / "home", {"by_user": "*.user\n"})
    write_files(tmp_path / "home", {".gitconfig": "[core]\n\texcludesFile = ~/by_user\n"})
    write_files(tmp_path, {".ignore": "*.parent\n"})
    main = write_files(git_init(tmp_path / "main"), {"a.py": "\n"})
    git = ["git", "-C", str(main), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "a"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", str(tmp_path / "tree")], check=True)
    write_files(main, {".git/info/exclude": "*.shared\n"})
    return write_files(tmp_path / "tree", dict.fromkeys(("b.user", "c.shared", "d.parent"), "\n"))


async def test_ignore_files_apply_wherever_they_are(tree: Path) -> None:
    environment = {**ENVIRONMENT, "HOME": str(tree.parent / "home")}
    processes = sandboxed(tree, environment=environment)
    rg = RIPGREP
    listed = await run(processes, tree, rg, "--files", environment=environment)
    assert listed == (0, "a.py\n", "")


def shared(folder: Path) -> list[str]:
    """Return the files outside that a sandboxed program may read because of a folder's `.git`."""
    strict = (one for one in readable([folder], {}) if one.strict)
    return [one.path for one in strict if os.path.basename(one.path) in ("commondir", "exclude")]


def test_a_linked_working_tree_may_read_shared_files(tree: Path) -> None:
    main = tree.parent / "main/.git"
    assert shared(tree) == [f"{main}/worktrees/tree/commondir", f"{main}/info/exclude"]


def test_a_git_file_without_the_link_back_allows_nothing(tree: Path) -> None:
    """#21"""
    other = write_files(tree.parent / "other", {".git": (tree / ".git").read_text()})
    assert shared(other) == []


def test_a_git_file_that_names_another_common_folder_allows_nothing(tree: Path) -> None:
    common = tree.parent / "main/.git/worktrees/tree/commondir"
    for text in ("../../../../outside\n", "/\n", "."):
        common.write_text(text)
        assert shared(tree) == []


def test_a_submodule_allows_nothing(tmp_path: Path) -> None:
    """ripgrep reads nothing of its git folder."""
    library = git_commit(tmp_path / "library", {"a": "\n"})
    main = git_commit(tmp_path / "main")
    git(main, "submodule", "--quiet", "add", str(library), "dep")
    assert (main / "dep/.git").is_file()
    assert shared(main / "dep") == []


@pytest.mark.parametrize("kind", ["a folder", "a symlink to a folder", "below a symlink"])
async def test_an_invalid_shared_file_allows_nothing(tree: Path, kind: str) -> None:
    """A rule for a folder would allow everything below it (#21)."""
    secret = write_files(tree.parent / "outside", {"exclude/secret": "s", "exclude.txt": "s"})
    info = tree.parent / "main/.git/info"
    shutil.rmtree(info)
    if kind == "a folder":
        secret = write_files(info / "exclude", {"secret": "s"})
    elif kind == "a symlink to a folder":
        info.mkdir()
        (info / "exclude").symlink_to("/")
        secret /= "exclude"
    else:
        info.symlink_to(secret)
        secret /= "exclude"
    cat = str(shutil.which("cat"))
    code, output, complaint = await run(sandboxed(tree), tree, cat, f"{secret}/secret")
    assert (code, output, "Permission denied" in complaint) == (1, "", True)


@pytest.mark.parametrize("name", [".gitignore", ".ignore"])
async def test_a_parent_ignore_file_that_leads_elsewhere_allows_nothing(
    root: Path, name: str
) -> None:
    (root.parent / name).symlink_to("outside")
    cat = str(shutil.which("cat"))
    code, output, _ = await run(sandboxed(root), root, cat, "folder/secret.txt")
    assert (code, output) == (1, "")


async def test_the_ignore_file_of_the_user_may_be_a_symlink(tree: Path) -> None:
    home = tree.parent / "home"
    (home / "by_user").rename(home / "elsewhere")
    (home / "by_user").symlink_to("elsewhere")
    environment = {**ENVIRONMENT, "HOME": str(home)}
    processes = sandboxed(tree, environment=environment)
    rg = RIPGREP
    listed = await run(processes, tree, rg, "--files", environment=environment)
    assert listed == (0, "a.py\n", "")


async def test_starting_in_a_git_repository_leaks_no_descriptor(root: Path) -> None:
    """Each start left one open (#21)."""
    git_init(root)
    processes, cat = sandboxed(root), str(shutil.which("cat"))
    await run(processes, root, cat, "inside.txt")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        await run(processes, root, cat, "inside.txt")
    assert len(os.listdir("/proc/self/fd")) <= before


async def test_a_program_that_fails_in_the_sandbox_runs_without_it(
    root: Path, tmp_path: Path
) -> None:
    script = tmp_path / "elsewhere/cat"
    write_files(tmp_path, {"elsewhere/cat": "#!/bin/sh\n. ${0%/*}/more\nexec cat file\n"})
    write_files(tmp_path, {"elsewhere/more": "\n"})
    script.chmod(0o755)
    processes = sandboxed(root)
    assert await run(processes, root, str(script)) == (0, "outside\n", "")
    assert await run(processes, root, str(script)) == (0, "outside\n", "")


async def test_sandboxed_children_have_the_usual_limits(root: Path) -> None:
    processes = sandboxed(root)
    sh = str(shutil.which("sh"))
    loop = asyncio.get_running_loop()

    def start(script: str, seconds: float = 20, *, spooled: bool = False) -> Child:
        return processes.start(
            [sh, "-c", script],
            cwd=root,
            deadline=loop.time() + seconds,
            spooled=spooled,
            sandboxed=True,
        )

    for spooled in (False, True):
        async with start("echo a; echo b >&2; exit 3", spooled=spooled) as child:
            assert isinstance(child._process, SandboxedProcess)
            assert [chunk async for chunk in child.chunks()] == [b"a\n"]
            assert (await child.wait(), child.stderr) == (3, "b\n")
    async with start("echo a; sleep 60", 2.0) as child:
        assert [chunk async for chunk in child.chunks()] == [b"a\n"]
        assert child.timed_out
    descriptors = len(os.listdir("/proc/self/fd"))
    async with start("yes & yes") as child:
        pid = child.pid
    async with start("yes | head -c 1000000 >&2; sleep 60") as child:
        pass
    await asyncio.sleep(0)
    assert not alive(pid)
    assert len(os.listdir("/proc/self/fd")) <= descriptors
    with pytest.raises(SearchFailed, match="No such file"):
        async with processes.start(
            ["/usr/bin/no_such"], cwd=root, deadline=loop.time() + 9, sandboxed=True
        ):
            pass


@pytest.mark.parametrize("alone", [True, False])
async def test_a_program_that_runs_alone_can_start_no_other(root: Path, alone: bool) -> None:
    awk = str(shutil.which("awk"))
    commands = [[awk, 'BEGIN { print "first"; fflush(); system("echo second") }']]
    deadline = asyncio.get_running_loop().time() + 20
    async with sandboxed(root).pipeline(
        commands,
        cwd=root,
        deadline=deadline,
        environment=ENVIRONMENT,
        alone=[awk] if alone else [],
    ) as [child]:
        output = b"".join([chunk async for chunk in child.chunks()]).decode()
    assert output.split() == ["first", *["second"] * (not alone)]


@pytest.mark.skipif(not shutil.which("perl"), reason="perl is not installed")
async def test_a_program_cannot_write_or_truncate_a_file(root: Path) -> None:
    perl = str(shutil.which("perl"))
    for action in ("truncate($_, 0)", "open(my $f, '+<', $_)", "unlink($_)", "mkdir('x')"):
        script = f"$_ = 'inside.txt'; {action} or die $!;"
        code, _, complaint = await run(sandboxed(root), root, perl, "-e", script)
        assert code, action
        assert "Permission denied" in complaint, action
    assert (root / "inside.txt").read_text() == "inside\n"
    assert sorted(os.listdir(root)) == ["file", "folder", "inside.txt", "own"]
