"""A hostile clone: an attacker's repository, and the files around it that must not be touched.

Real git creates and clones the repository. The `.winnow` in it comes from an attacker's Winnow,
with another home folder and modified code: it stores the index entry of a harmless text under the
key of the published text. Files that git cannot store (FIFOs, sockets, sparse files, a custom
`.git`) are added after cloning, as an archive or a synchronized folder would bring them.

The sources are constants, so the correct answers are known.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from conftest import child_environment, git, git_init, write_files
from offline.sitecustomize import REFUSED
from winnow.index.watch import inotify

Variant = Literal["cloned", "git_file", "ignore_files", "archive"]
VARIANTS: tuple[Variant, ...] = ("cloned", "git_file", "ignore_files", "archive")

NEEDLE = "backdoor_handler"
PLANTED = "planted_symbol"  # exists only in the forged index
TOPIC = "how are stored passwords hashed"
PROMOTED = "src/topic_5.py"  # the forged search history moves it to the top
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
SPARSE_BYTES = 3 * 1024**3
WATCHED = (
    # Opened, read, or changed in any way.
    *(0x20, 0x1, inotify.MODIFY, inotify.ATTRIB, inotify.CREATE, inotify.DELETE),
    *(inotify.MOVED_FROM, inotify.MOVED_TO),
)

SERVICE = "src/service.py"
REAL_SERVICE = (
    "import os\n"
    "\n\n"
    f"def {NEEDLE}(command):\n"
    '    """Run what a caller sends."""\n'
    "    return os.system(command)\n"
)
HARMLESS_SERVICE = f'def {PLANTED}(value):\n    """Return the value."""\n    return value\n'
CALLER = "src/caller.py"
# Files with unusual names; each contains this word.
ODD = "odd_needle"
ODD_NAMES: tuple[bytes, ...] = (
    b"new\nline.py",
    b"carriage\rreturn.py",
    b"esc\x1b[31mred\x1b]0;title\x07.py",
    b"quo\"te'.py",
    b"bad\xff\xfe.py",
    b"--pre=cat.py",
    b"-e.py",
    b"@option.py",
    b"a.py:1:1:match.py",
    b"$(touch x);`id`.py",
    b"tab\tname.py",
    "bidi\u202egpj.py".encode(),
    "csi\u009b31m.py".encode(),
    b"back\\slash.py",
    f"{TOKEN}.py".encode(),
    b" lead.py",
    b"trail .py",
)
SOURCES: dict[str, str] = {
    SERVICE: REAL_SERVICE,
    CALLER: f"from service import {NEEDLE}\n\n\ndef main():\n    return {NEEDLE}('ls')\n",
    "src/deep/nested/handler.py": f"from service import {NEEDLE}\n\nHANDLERS = [{NEEDLE}]\n",
    "docs/guide.md": f"# Guide\n\nCall `{NEEDLE}` to run a command.\n",
    "web/app.js": (
        "import { canary } from '../../outside/canary.js'\n"
        "import { other } from './linked.js'\n\n"
        f"export function appHandler() {{\n  return canary() + other() // {NEEDLE}\n}}\n"
    ),
    ".hidden/inner.py": f"{NEEDLE} = 'hidden'\n",
    "build/output.py": f"{NEEDLE} = 'ignored'\n",
    **{
        f"src/topic_{number}.py": (
            f"def hash_password_{number}(password):\n"
            f'    """Hash a stored password, way {number}."""\n'
            f"    return digest(password, rounds={number})\n"
        )
        for number in range(8)
    },
    **{
        f"lib/module_{number}.py": f"def helper_{number}(value):\n    return value + {number}\n"
        for number in range(120)
    },
}
GITIGNORE = "build/\n"
WITH_NEEDLE = frozenset(
    path for path, text in SOURCES.items() if NEEDLE in text and not path.startswith((".", "build"))
)
IGNORED_WITH_NEEDLE = frozenset(("build/output.py",))
MAIL = "docs/letter.eml"
MAIL_NEEDLE = "quicksilver"
MAIL_TEXT = (
    "From: a@example.org\nTo: b@example.org\nSubject: Order\nMIME-Version: 1.0\n"
    f"Content-Type: text/plain; charset=utf-8\n\nWe need more {MAIL_NEEDLE}.\n"
)

PROGRAMS = (
    *("rg", "git", "rga", "cat", "grep", "file", "find", "ls", "head", "wc", "python", "sh"),
    *("python3", "node", "tree", "tail", "pandoc", "pdftotext", "winnow", "ldconfig"),
)
PROGRAM_FOLDERS = (".", "bin", ".venv/bin", "node_modules/.bin")
MODULES = ("json", "sitecustomize", "usercustomize", "msgspec", "numpy", "logging", "tree_sitter")
# Names that Winnow, ripgrep, git or import resolution open automatically.
LINKED = {
    "README.md": "canary.md",
    "package.json": "package.json",
    "tsconfig.json": "package.json",
    "pyproject.toml": "settings.toml",
    "Cargo.toml": "settings.toml",
    "go.mod": "canary.md",
    "winnow.toml": "settings.toml",
    ".rgignore": "ignore",
    ".winnowignore": "ignore",
    ".ignore": "ignore",
    ".gitattributes": "ignore",
    "src/__init__.py": "canary.py",
    "src/linked.py": "canary.py",
    "src/.gitignore": "ignore",
    "web/linked.js": "canary.js",
    "docs/linked.eml": "canary.eml",
    "linked_folder": "folder",
    "pipe.py": "pipe",
    "absent.py": "absent",
}


@dataclass(frozen=True)
class Places:
    """The folders of a clone. Winnow may use ``root`` and ``home``; ``outside`` must not change.

    Programs of the workspace that run leave their names in ``marks``. Answers must contain the
    files in ``needles``, and may contain the files in ``allowed``.
    """

    base: Path
    root: Path
    variant: Variant
    canary: str
    needles: frozenset[str] = WITH_NEEDLE
    allowed: frozenset[str] = frozenset()

    @property
    def outside(self) -> Path:
        return self.base / "outside"

    @property
    def home(self) -> Path:
        return self.base / "home"

    @property
    def temporary(self) -> Path:
        return self.base / "temporary"

    @property
    def marks(self) -> Path:
        return self.base / "marks"

    @property
    def search_path(self) -> str:
        """A PATH with all kinds of entries in the workspace, followed by the real PATH."""
        entries = [
            *(".", "", "bin", "./node_modules/.bin", "/proc/self/cwd/bin"),
            *(str(self.root / folder) for folder in (".venv/bin", "node_modules/.bin", "bin")),
            str(self.root / "src/../bin"),
            str(self.base / "linked_bin"),  # a symlink to a folder of the workspace
            str(self.base / "programs"),  # symlinks to programs of the workspace
        ]
        return os.pathsep.join([*entries, os.environ["PATH"]])

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a front end that a user starts in the clone."""
        return child_environment(
            self.home,
            PATH=self.search_path,
            TMPDIR=str(self.temporary),
            XDG_CACHE_HOME=str(self.home / ".cache"),
            XDG_STATE_HOME=str(self.home / ".local/state"),
            XDG_CONFIG_HOME=str(self.home / ".config"),
            RIPGREP_CONFIG_PATH=".ripgreprc",
            RGA_CONFIG="rga.json",
            **{name: os.environ[name] for name in (REFUSED,) if name in os.environ},
        )


# --- the attacker ---------------------------------------------------------------------------

# An attacker's modified Winnow: it stores the index entry of a text under the key of another text.
FORGER = """
import json, sys
import msgspec
from winnow.index.store.file_record import content_key, language_at
from winnow.index.store.store import Store

forged = {path: text.encode() for path, text in json.loads(sys.argv[1]).items()}
write = Store.write

def write_forged(self, batch, *more):
    batch = dict(batch)
    for path in forged.keys() & batch.keys():
        key = content_key(path, forged[path], language_at(path, forged[path]))
        batch[path] = msgspec.structs.replace(batch[path], key=key)
    write(self, batch, *more)

Store.write = write_forged
from winnow.frontends.cli.main import main
sys.exit(main(sys.argv[2:]))
"""
# The attacker searches and gives feedback until the search history promotes a file.
LEARNER = """
import asyncio, sys
from winnow import Workspace

async def main(query, path):
    async with Workspace(".") as workspace:
        for _ in range(6):
            found = await workspace.semantic_search(query, top_k=50)
            for action in ("kept", "up"):
                await workspace.feedback(found.search_id, path, action)

asyncio.run(main(*sys.argv[1:]))
"""


def attackers_winnow(folder: Path, home: Path, *arguments: str) -> dict[str, Any]:
    """Run a command of the attacker's Winnow in a folder, and return its answer."""
    forged = json.dumps({SERVICE: REAL_SERVICE})
    home.mkdir(exist_ok=True)
    run = subprocess.run(
        [sys.executable, "-c", FORGER, forged, *arguments, "--json"],
        cwd=folder,
        env=child_environment(home),
        capture_output=True,
        text=True,
    )
    assert run.returncode in (0, 1), run.stderr
    answer: dict[str, Any] = json.loads(run.stdout)
    return answer


def make_forged_state(twin: Path, home: Path) -> None:
    """Let the attacker's Winnow index a harmless twin, and write a forged search history."""
    attackers_winnow(twin, home, "index", "build")
    command = [sys.executable, "-c", LEARNER, TOPIC, PROMOTED]
    subprocess.run(command, cwd=twin, env=child_environment(home), check=True)


# --- the repository -------------------------------------------------------------------------


def make_upstream(folder: Path, places: Places, forged: Path) -> Path:
    """Commit all files that git can store, with a forged `.winnow` from a twin."""
    git_init(folder)
    write_files(folder, SOURCES)
    write_files(folder, {".gitignore": GITIGNORE, MAIL: MAIL_TEXT})
    write_files(folder, settings_files(folder))
    for name in ODD_NAMES:
        odd = os.fsencode(folder / "odd") + b"/" + name
        os.makedirs(os.path.dirname(odd), exist_ok=True)
        with open(odd, "wb") as file:
            file.write(f"{ODD} = 1\n".encode())
    plant_links(folder, places.outside)
    plant_programs(folder, places.marks)
    plant_git_folder(folder / "gitdata", places)
    if forged.is_dir():
        shutil.copytree(forged, folder / ".winnow", symlinks=True)
        plant_links_in_state(folder / ".winnow", places.outside)
        # Another tree in the clone, which is in the repository's list of working trees.
        shutil.copytree(forged, folder / "twin/.winnow", symlinks=True)
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--message=x")
    return folder


def settings_files(folder: Path) -> dict[str, str]:
    """Return settings files of other programs that name programs, servers and the user's files."""
    program = "bin/cat"
    return {
        ".ripgreprc": f"--pre={program}\n--hidden\n--no-ignore\n--follow\n",
        ".config/ripgrep-all/config.json": json.dumps(
            {
                "custom_adapters": [
                    {"name": "x", "binary": program, "args": [], "extensions": ["eml"]}
                ]
            }
        ),
        "rga.json": json.dumps({"accurate": True, "adapters": ["+pandoc"]}),
        ".vscode/settings.json": json.dumps({"winnow.server.command": [program]}),
        ".mcp.json": json.dumps({"mcpServers": {"x": {"command": program}}}),
        ".gitmodules": (
            '[submodule "x"]\n\tpath = ../outside/repository\n\turl = ext::bin/git\n'
            '[submodule "y"]\n\tpath = linked_folder\n\turl = ./y\n\tupdate = !bin/git\n'
            '[submodule "z"]\n\tpath = gitdata\n\turl = ./z\n'
        ),
        ".git-blame-ignore-revs": "",
        ".editorconfig": "root = true\n",
        "pyvenv.cfg": f"home = {folder}/bin\n",
    }


def plant_links(folder: Path, outside: Path) -> None:
    """Create symlinks to outside files and folders, to `/`, and in loops, with names that programs
    open."""
    links = {name: outside / target for name, target in LINKED.items()}
    links |= {
        "all": Path("/"),
        "up": Path(".."),
        "self": Path("."),
        "loop": Path("loop"),
        "src/passwd.py": Path("/etc/passwd"),
        "src/proc.py": Path("/proc/self/environ"),
        "src/zero.py": Path("/dev/zero"),
        "relative.py": Path("../outside/canary.py"),
    }
    for name, target in links.items():
        link = folder / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)


def plant_programs(folder: Path, marks: Path) -> None:
    """Create programs and modules that leave a mark when they run."""
    for place in PROGRAM_FOLDERS:
        (folder / place).mkdir(parents=True, exist_ok=True)
        for name in PROGRAMS:
            program = folder / place / name
            if program.name == "winnow" and place == ".":  # a package with this name exists
                continue
            program.write_text(f"#!/bin/sh\n: > '{marks}/'$$.{name}\nexit 0\n")
            program.chmod(0o755)
    mark = f"import os\nopen({str(marks)!r} + '/%d.module' % os.getpid(), 'w').close()\n"
    write_files(folder, {f"{name}.py": mark for name in MODULES})
    write_files(folder, {"winnow/__init__.py": mark, "winnow/__main__.py": mark})


def plant_git_folder(folder: Path, places: Places) -> None:
    """Create a git folder whose settings run programs and whose paths lead outside."""
    program = places.root / "bin/git"
    config = (
        "[core]\n\trepositoryformatversion = 1\n\tbare = false\n"
        f"\tfsmonitor = {program}\n\thooksPath = bin\n\tsshCommand = {program}\n"
        f"\tpager = {program}\n\teditor = {program}\n\tattributesFile = {places.outside}/ignore\n"
        f"\texcludesFile = {places.outside}/ignore\n\taskPass = {program}\n"
        f"\talternateRefsCommand = {program}\n\tgitProxy = {program}\n"
        "[extensions]\n\tpartialClone = origin\n"
        f'[remote "origin"]\n\turl = ext::{program}\n\tpromisor = true\n\tuploadpack = {program}\n'
        '[protocol "ext"]\n\tallow = always\n'
        f'[filter "evil"]\n\tclean = {program}\n\tprocess = {program}\n\tsmudge = {program}\n'
        "\trequired = true\n"
        f'[diff "evil"]\n\ttextconv = {program}\n\tcommand = {program}\n'
        f"[diff]\n\texternal = {program}\n"
        f"[alias]\n\tstatus = !{program}\n\tconfig = !{program}\n"
        f"[include]\n\tpath = {places.outside}/settings.toml\n"
        f"[credential]\n\thelper = !{program}\n[gpg]\n\tprogram = {program}\n"
        "[status]\n\tshowUntrackedFiles = no\n"
        f"[trace2]\n\teventTarget = {places.outside}/trace\n"
    )
    write_files(
        folder,
        {
            "HEAD": "ref: refs/heads/main\n",
            "config": config,
            "commondir": ".\n",
            "info/attributes": "*.py filter=evil diff=evil\n",
            "objects/info/alternates": f"{places.outside}/repository/.git/objects\n",
            "refs/heads/README": "",
            "worktrees/other/gitdir": f"{places.root}/twin/.git\n",
            "worktrees/outside/gitdir": f"{places.outside}/repository/.git\n",
        },
    )
    (folder / "info/exclude").symlink_to("/")
    hook = folder / "hooks/post-index-change"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\n: > '{places.marks}/'$$.hook\n")
    hook.chmod(0o755)


def plant_links_in_state(folder: Path, outside: Path) -> None:
    """Create symlinks in `.winnow`, where Winnow may write."""
    for database in list(folder.glob("index-*.db")):
        for ending in ("-journal", "-wal", "-shm"):
            link = Path(f"{database}{ending}")
            if not link.exists():
                link.symlink_to(outside / "victim")
        for number in range(1, 200):
            (folder / f"{database.stem}.sum.{number}").symlink_to(outside / "victim")
    for name in ("owner", "learning.db-wal", "learning.db-journal", "new-owner"):
        if not os.path.lexists(folder / name):
            (folder / name).symlink_to(outside / "victim")


# --- outside the clone ----------------------------------------------------------------------


def make_outside(folder: Path, canary: str) -> None:
    """Create files of the user, each with a text that no answer may contain."""
    write_files(
        folder,
        {
            "canary.py": f"def {canary}_function():\n    return '{NEEDLE}'\n",
            "canary.js": f"export function canary() {{ return '{canary}' }}\n",
            "canary.md": f"# {canary} {NEEDLE}\n",
            "canary.eml": f"Subject: x\n\n{canary} {NEEDLE} {MAIL_NEEDLE}\n",
            "package.json": json.dumps({"name": canary, "main": "canary.js", "extends": canary}),
            "settings.toml": f'[llm]\nenabled = "on"\n[search]\nexclude = ["**"] # {canary}\n',
            "ignore": f"*\n# {canary}\n",
            "folder/inner.py": f"{canary} = '{NEEDLE}'\n",
            "victim": f"{canary}\n",
        },
    )
    os.mkfifo(folder / "pipe")
    repository = git_init(folder / "repository")
    write_files(repository, {"private.py": f"def {canary}_private():\n    return '{NEEDLE}'\n"})
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message=x")


def make_home(places: Places, settings: str) -> None:
    write_files(
        places.home,
        {
            ".config/winnow/config.toml": settings,
            ".ssh/id_rsa": f"-----BEGIN OPENSSH PRIVATE KEY-----\n{places.canary}\n",
            ".netrc": f"machine example.org login a password {places.canary}\n",
            ".bashrc": f"# {places.canary}\n",
        },
    )
    for folder in (places.temporary, places.marks, places.base / "programs"):
        folder.mkdir()
    (places.base / "linked_bin").symlink_to(places.root / "bin")
    for name in PROGRAMS:
        (places.base / "programs" / name).symlink_to(places.root / "bin" / name)


# --- files that git cannot store ------------------------------------------------------------


def add_git_file(root: Path) -> None:
    """Create a `.git` file that names a folder of committed files."""
    shutil.rmtree(root / ".git")
    (root / ".git").write_text("gitdir: gitdata\n")
    (root / "twin/.git").write_text("gitdir: ../gitdata/worktrees/other\n")


def add_ignore_files(root: Path) -> None:
    """Create ignore and settings files that block their readers or exhaust the memory."""
    (root / ".git/info").mkdir(parents=True, exist_ok=True)
    for name in (
        ".gitignore",
        ".winnowignore",
        "src/deep/.ignore",
        "winnow.toml",
        "docs/.rgignore",
    ):
        with contextlib.suppress(FileNotFoundError):
            (root / name).unlink()
        os.mkfifo(root / name)
    for name in (".gitmodules", ".ignore", "lib/.gitignore", ".git/info/exclude", "src/.rgignore"):
        with contextlib.suppress(FileNotFoundError):
            (root / name).unlink()
        make_sparse(root / name)
    os.mkfifo(root / "web/package.json")
    make_sparse(root / "src/pyproject.toml")
    make_sparse(root / ".git/info/attributes")


def make_sparse(file: Path) -> None:
    with open(file, "wb") as opened:
        opened.truncate(SPARSE_BYTES)


def add_archive(root: Path, places: Places) -> None:
    """Add everything: sources that are FIFOs and sockets, and a `.git` whose settings run
    programs."""
    for name in ("src/blocks.py", "docs/blocks.eml", "src/deep/blocks.js", ".winnow/index.lock"):
        if not os.path.lexists(root / name):
            os.mkfifo(root / name)
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as opened:
        inside = os.open(root / "src", os.O_PATH)  # the complete path may be too long for a socket
        opened.bind(f"/proc/self/fd/{inside}/socket.py")
        os.close(inside)
    make_sparse(root / "lib/sparse.py")
    shutil.copytree(root / "gitdata/hooks", root / ".git/hooks", dirs_exist_ok=True)
    shutil.copytree(root / "gitdata/worktrees", root / ".git/worktrees", dirs_exist_ok=True)
    config = (root / "gitdata/config").read_text()
    (root / ".git/config").write_text(config)
    (root / "twin/.git").write_text("gitdir: ../.git/worktrees/other\n")
    add_ignore_files(root)


# --- the complete clone ---------------------------------------------------------------------


@dataclass(frozen=True)
class Attack:
    """The forged state, which all clones of a session share, and the folder and home for which the
    attacker created it."""

    state: Path
    twin: Path
    home: Path


def make_attack(base: Path) -> Attack:
    twin = write_files(
        git_init(base / "twin"), {**SOURCES, ".gitignore": GITIGNORE, MAIL: MAIL_TEXT}
    )
    write_files(twin, {SERVICE: HARMLESS_SERVICE})
    attack = Attack(base / "state", twin, base / "attacker")
    make_forged_state(twin, attack.home)
    shutil.copytree(twin / ".winnow", attack.state, symlinks=True)
    return attack


def make_clone(base: Path, variant: Variant, attack: Attack | None, settings: str = "") -> Places:
    """Publish the repository, clone it, and add the files of the variant. Without an attack, the
    clone has no `.winnow`."""
    base.mkdir(parents=True, exist_ok=True)
    allowed = IGNORED_WITH_NEEDLE if variant in ("ignore_files", "archive") else frozenset()
    canary = f"canary_{uuid.uuid4().hex}"
    places = Places(base, base / "clone", variant, canary, allowed=allowed)
    make_outside(places.outside, places.canary)
    make_home(places, settings)
    state = attack.state if attack is not None else base / "none"
    upstream = make_upstream(base / "upstream", places, state)
    git(base, "clone", "--quiet", str(upstream), str(places.root))
    shutil.rmtree(upstream)
    if variant == "git_file":
        add_git_file(places.root)
    elif variant == "ignore_files":
        add_ignore_files(places.root)
    elif variant == "archive":
        add_archive(places.root, places)
    with open(places.root / CALLER, "a") as changed:
        changed.write(f"# {NEEDLE}\n")
    return places


# --- detecting harm -------------------------------------------------------------------------


class Watch:
    """A watcher that detects opened or changed outside files, and programs of the workspace that
    run."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self._queue = inotify.Inotify()
        self._names: dict[int, Path] = {}
        folders = [places.outside, places.home / ".ssh"]
        self._before = {folder: digests(folder) for folder in folders}
        self._settings = (places.home / ".bashrc").read_bytes()
        self._sources = digests(places.root)
        for below in [below for folder in folders for below, _, _ in os.walk(folder)]:
            self._names[self._queue.add(below, sum(WATCHED))] = Path(below)

    def harm(self) -> list[str]:
        """Describe the harm since the last call."""
        found = [
            f"outside: {self._names[event.watch] / event.name} {event.mask:#x}"
            for event in self._queue.read()
        ]
        for mark in self.places.marks.iterdir():
            found.append(f"a program of the workspace ran: {mark.name}")
            mark.unlink()
        return found

    def changes(self) -> list[str]:
        """Describe changed files outside and in the clone, except files that Winnow may write."""
        found = [
            f"changed: {path}"
            for folder, before in self._before.items()
            for path in different(before, digests(folder))
        ]
        self._queue.read()  # discard the events of this comparison
        if (self.places.home / ".bashrc").read_bytes() != self._settings:
            found.append("changed: .bashrc")
        found += [
            f"changed: {path}" for path in different(self._sources, digests(self.places.root))
        ]
        return found

    def close(self) -> None:
        self._queue.close()


def digests(folder: Path) -> dict[str, str]:
    """Return the type and digest of each file, without Winnow's folder and without opening
    FIFOs."""
    return dict(_digests(folder))


def _digests(folder: Path) -> Iterator[tuple[str, str]]:
    for below, folders, files in os.walk(os.fsencode(folder)):
        folders[:] = [name for name in folders if name != b".winnow"]
        for name in (*files, *folders):
            path = os.path.join(below, name)
            status = os.lstat(path)
            digest = f"{stat.S_IFMT(status.st_mode):o}"
            if stat.S_ISLNK(status.st_mode):
                digest += os.fsdecode(os.readlink(path))
            elif stat.S_ISREG(status.st_mode) and status.st_size < 1_000_000:
                with open(path, "rb") as file:
                    digest += hashlib.sha256(file.read()).hexdigest()
            elif stat.S_ISREG(status.st_mode):
                digest += str(status.st_size)
            yield os.fsdecode(os.path.relpath(path, os.fsencode(folder))), digest


def different(before: Mapping[str, str], now: Mapping[str, str]) -> Sequence[str]:
    return sorted(path for path in before.keys() | now.keys() if before.get(path) != now.get(path))
