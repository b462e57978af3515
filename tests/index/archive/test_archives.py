"""Archives of an index: another user's build reuses them; whatever is wrong, they are rejected."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import socket
import sqlite3
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

from conftest import MakeWorkspace, aged, git, git_commit, requires_posix, write_files
from index.test_reuse import CHANGED, MANY, NOT_REUSED, facts
from index.test_texts import FILES, read_files
from indexed import folder_of
from planted import all_planted
from winnow.index.archive import manifest as manifests
from winnow.index.archive.manifest import (
    KEY_VARIABLE,
    ArchiveRejected,
    Manifest,
    Member,
    signed,
)
from winnow.index.archive.pulled import MOST_PULLED, pull
from winnow.index.archive.sources import pull_from
from winnow.index.store.store import Store
from winnow.search.index.archive import ArchiveError, export_index, pull_archives
from winnow.storage import state_folder
from winnow.storage.state_folder import User
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

__all__ = ["read_files"]  # a fixture

KEY = "the key of the team"
SECRET = all_planted(seed=5)[0]
SOURCES = {
    **FILES,
    **MANY,
    "src/zoo.py": (
        'def feed(first_argument, other):\n    """Feed the kangaroos."""\n'
        f"    # {SECRET.text}\n    return 1\n"
    ),
}


def environment(folder: Path, key: str | None = KEY) -> dict[str, str]:
    """Return the environment of a user whose state is in a folder."""
    state = {"XDG_STATE_HOME": str(folder / "state"), "XDG_CACHE_HOME": str(folder / "cache")}
    return {**os.environ, **state, **({KEY_VARIABLE: key} if key else {})}


def user_of(folder: Path) -> User:
    return User.of(environment(folder))


class Exported:
    """An archive, the clone that it is of, and another clone with changes."""

    def __init__(self, archive: Path, origin: Path, other: Path, variant: str) -> None:
        self.archive = archive
        self.origin = origin
        self.other = other
        self.variant = variant

    def pull(self, home: Path, archive: Path | None = None, key: str | None = KEY) -> None:
        pull(archive or self.archive, user_of(home), self.variant, key, may_be_unsigned=key is None)


async def built(
    make_workspace: MakeWorkspace, folder: Path, home: Path, **more: str
) -> EngineWorkspace:
    workspace = make_workspace(folder, environment={**environment(home), **more})
    await workspace.index.build()
    return workspace


@pytest.fixture
async def exported(
    make_workspace: MakeWorkspace, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Exported:
    """Return copies of a repository and its archive, which are made once."""
    made = tmp_path_factory.getbasetemp() / "exported"
    if not (made / "variant").exists():
        origin = git_commit(made / "origin", SOURCES)
        workspace = await built(make_workspace, origin, made)
        await export_index(workspace, made / "main.winnow")
        (made / "variant").write_text(workspace.index.variant)
    for name in ("origin", "other"):
        git(made, "clone", "-q", str(made / "origin"), str(tmp_path / name))
        aged(tmp_path / name)
    archive = tmp_path / "main.winnow"
    shutil.copyfile(made / "main.winnow", archive)
    variant = (made / "variant").read_text()
    return Exported(archive, tmp_path / "origin", tmp_path / "other", variant)


def everything_in(archive: Path, folder: Path) -> bytes:
    """Return all bytes of an archive, and what its database has compressed."""
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(folder)
        found = [opened.read(name) for name in opened.namelist()]
    [database] = folder.rglob("*.db")
    with contextlib.closing(sqlite3.connect(database)) as connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'"):
            for row in connection.execute(f"SELECT * FROM {table}"):
                for value in row:
                    with contextlib.suppress(TypeError, zlib.error):
                        found.append(zlib.decompress(value))
    return b"".join(found)


# --- what they are for ---------------------------------------------------------------------


async def test_another_user_reads_only_the_files_that_differ(
    make_workspace: MakeWorkspace, exported: Exported, tmp_path: Path, read_files: list[str]
) -> None:
    write_files(exported.other, CHANGED)
    aged(exported.other)
    exported.pull(tmp_path / "bob")
    read_files.clear()
    workspace = await built(make_workspace, exported.other, tmp_path / "bob")
    assert sorted(read_files) == NOT_REUSED
    (await folder_of(workspace).store()).check()
    alone = await built(make_workspace, exported.other, tmp_path / "carol")
    assert await facts(alone) == await facts(workspace)


async def test_an_archive_names_no_user_machine_or_folder_and_has_no_secrets(
    exported: Exported, tmp_path: Path
) -> None:
    with zipfile.ZipFile(exported.archive) as archive:
        manifest = json.loads(archive.read(manifests.NAME))
    assert manifest["commit"] == git(exported.origin, "rev-parse", "HEAD").strip()
    assert manifest["files"] == manifest["texts"] == len(SOURCES) - 1  # one is binary
    every = everything_in(exported.archive, tmp_path / "all")
    assert b"def feed(first_argument, other)" in every
    for private in (str(tmp_path), socket.gethostname(), SECRET.value, str(Path.home())):
        assert private.encode() not in every


async def test_an_archive_has_no_earlier_version_of_a_file(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    folder = git_commit(tmp_path / "p", {"a.py": "def before(): ...\n", "b.py": "kept = 1\n"})
    workspace = await built(make_workspace, folder, tmp_path)
    write_files(folder, {"a.py": "def afterwards(): ...\n"})
    await workspace.index.build()
    archive = tmp_path / "p.winnow"
    await export_index(workspace, archive)
    every = everything_in(archive, tmp_path / "all")
    assert b"afterwards" in every
    assert b"before" not in every
    [database] = (tmp_path / "all").rglob("*.db")
    with contextlib.closing(sqlite3.connect(database)) as connection:
        counts = "SELECT (SELECT sum(documents) FROM segment), (SELECT count(*) FROM file)"
        assert connection.execute(counts).fetchone() == (2, 2)


async def test_without_signatures_no_line_of_source_code_is_in_an_archive(
    make_workspace: MakeWorkspace, exported: Exported, tmp_path: Path
) -> None:
    workspace = await built(make_workspace, exported.origin, tmp_path / "alice")
    target = tmp_path / "bare.winnow"
    await export_index(workspace, target, signatures=False)
    every = everything_in(target, tmp_path / "all")
    assert b"first_argument, other" not in every
    assert b"the kangaroos" not in every
    exported.pull(tmp_path / "bob", target)
    found = await built(make_workspace, exported.other, tmp_path / "bob")
    with (await folder_of(found).store()).read() as reader:
        [definition] = reader.definitions_in("src/zoo.py")
    assert (definition.name, definition.signature, definition.doc) == ("feed", "", "")


async def test_a_delta_has_only_what_its_base_lacks_and_both_are_reused(
    make_workspace: MakeWorkspace, exported: Exported, tmp_path: Path, read_files: list[str]
) -> None:
    write_files(exported.origin, CHANGED)
    aged(exported.origin)
    workspace = await built(make_workspace, exported.origin, tmp_path / "alice")
    delta = tmp_path / "delta.winnow"
    manifest = await export_index(workspace, delta, base=exported.archive)
    assert manifest.texts == len(CHANGED)
    assert delta.stat().st_size < exported.archive.stat().st_size / 3
    write_files(exported.other, CHANGED)
    aged(exported.other)
    for archive in (exported.archive, delta):
        exported.pull(tmp_path / "bob", archive)
    read_files.clear()
    found = await built(make_workspace, exported.other, tmp_path / "bob")
    assert read_files == ["data.bin"]
    with (await folder_of(found).store()).read() as reader:
        assert [one.name for one in reader.definitions_in("src/m7.py")] == ["changed_here"]
    with pytest.raises(ArchiveError, match="it is a delta itself"):
        await export_index(workspace, tmp_path / "x.winnow", base=delta)


async def test_an_incomplete_index_is_not_exported(
    make_workspace: MakeWorkspace, exported: Exported, tmp_path: Path
) -> None:
    workspace = make_workspace(exported.other, environment=environment(tmp_path / "bob"))
    with pytest.raises(ArchiveError, match="run `winnow index build` first"):
        await export_index(workspace, tmp_path / "x.winnow")
    assert not (tmp_path / "x.winnow").exists()


async def test_a_key_is_needed_on_both_sides_unless_the_user_waives_it(
    make_workspace: MakeWorkspace, exported: Exported, tmp_path: Path
) -> None:
    target = tmp_path / "x.winnow"
    for key, problem in ((None, "set WINNOW_TEAM_KEY"), ("short", "fewer than 16 characters")):
        workspace = make_workspace(
            exported.origin, environment=environment(tmp_path / "alice", key)
        )
        await workspace.index.build()
        with pytest.raises(ArchiveError, match=problem):
            await export_index(workspace, target)
    workspace = make_workspace(exported.origin, environment=environment(tmp_path / "alice", None))
    await workspace.index.build()
    await export_index(workspace, target, may_be_unsigned=True)
    with pytest.raises(ArchiveRejected, match="it is not signed"):
        exported.pull(tmp_path / "bob", target)
    with pytest.raises(ArchiveRejected, match="set WINNOW_TEAM_KEY, or pass --unsigned"):
        pull(target, user_of(tmp_path / "bob"), exported.variant, None, may_be_unsigned=False)
    exported.pull(tmp_path / "bob", target, key=None)


def test_the_oldest_archives_are_deleted(
    exported: Exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bob/state/winnow/pulled"
    for number in range(MOST_PULLED + 3):
        copy = rewritten(exported.archive, tmp_path / "copy", commit=f"{number:040x}")
        exported.pull(tmp_path / "bob", copy)
        newest = max(folder.iterdir(), key=lambda root: root.stat().st_mtime)
        os.utime(newest, (number, number))
    assert len(list(folder.iterdir())) == MOST_PULLED


# --- what is wrong with them ---------------------------------------------------------------


def read(archive: Path) -> tuple[Manifest, dict[str, bytes]]:
    with zipfile.ZipFile(archive) as opened:
        members = {name: opened.read(name) for name in opened.namelist()}
    return msgspec.json.decode(members.pop(manifests.NAME), type=Manifest), members


def write(target: Path, manifest: bytes | Manifest, members: Mapping[str, bytes]) -> Path:
    data = manifest if isinstance(manifest, bytes) else msgspec.json.encode(manifest)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr(manifests.NAME, data)
        for name, content in members.items():
            opened.writestr(name, content)
    return target


def described(members: Mapping[str, bytes]) -> dict[str, Member]:
    import hashlib

    return {
        name: Member(max(1, len(data)), hashlib.sha256(data).hexdigest())
        for name, data in members.items()
    }


def rewritten(archive: Path, target: Path, key: str = KEY, **changes: Any) -> Path:
    """Write a copy of an archive with a changed manifest, signed again."""
    manifest, members = read(archive)
    changed = msgspec.structs.replace(manifest, signature=None, **changes)
    return write(target, signed(changed, key), members)


def with_members(archive: Path, target: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """Write a copy with changed members, described and signed as if they were right."""
    manifest, members = read(archive)
    change(members)
    bare = msgspec.structs.replace(manifest, members=described(members), signature=None)
    return write(target, signed(bare, KEY), members)


def database_of(members: Mapping[str, bytes]) -> str:
    return next(name for name in members if name.endswith(".db"))


def segment_of(members: Mapping[str, bytes]) -> str:
    return next(name for name in members if name.endswith(".seg"))


def edited(members: dict[str, bytes], statement: str, folder: Path) -> None:
    """Change the database of an archive with a statement."""
    from winnow.storage import database

    file = folder / "edited.db"
    file.write_bytes(members[database_of(members)])
    connection = database.connect(file, busy_seconds=1, cache_kb=100)
    connection.execute(statement).fetchall()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()
    members[database_of(members)] = file.read_bytes()


def forged(kind: str, archive: Path, target: Path, folder: Path) -> Path:
    """Write an archive that is wrong in one way."""
    manifest, members = read(archive)
    some = dict(manifest.members)
    database, segment = database_of(members), segment_of(members)
    if kind == "signed with another key":
        return rewritten(archive, target, key="another key, also long")
    if kind == "changed after it was signed":
        return write(target, msgspec.structs.replace(manifest, commit="0" * 40), members)
    if kind == "signature of the wrong form":
        return write(target, msgspec.structs.replace(manifest, signature="§" * 64), members)
    if kind == "another format":
        return rewritten(archive, target, format=2)
    if kind == "another version of Winnow":
        return rewritten(archive, target, kind="0" * 12)
    if kind == "an unknown field":
        data = json.loads(msgspec.json.encode(manifest)) | {"more": 1}
        return write(target, json.dumps(data).encode(), members)
    if kind == "a manifest that is not JSON":
        return write(target, b"{" * 100_000, members)
    if kind == "a manifest without end":
        return write(target, b" " * (manifests.MOST_BYTES + 1), members)
    if kind == "no manifest":
        with zipfile.ZipFile(target, "w") as opened:
            opened.writestr(database, members[database])
        return target
    if kind == "a path that leaves the folder":
        some["../evil.db"] = some.pop(database)
        return write(
            target,
            signed(msgspec.structs.replace(manifest, members=some, signature=None), KEY),
            {**members, "../evil.db": members[database]},
        )
    if kind == "an absolute path":
        some["/tmp/index-0.db"] = some.pop(database)
        return rewritten(archive, target, members=some)
    if kind == "no database":
        del some[database]
        return rewritten(archive, target, members=some)
    if kind == "a file that its manifest does not name":
        return write(target, manifest, {**members, "more.txt": b"more"})
    if kind == "a file that is missing":
        del members[segment]
        return write(target, manifest, members)
    if kind == "a file twice":
        write(target, manifest, members)
        with zipfile.ZipFile(target, "a") as opened, pytest.warns(UserWarning, match="Duplicate"):
            opened.writestr(segment, b"other")
        return target
    if kind == "a file that is larger than it says":
        return write(target, manifest, {**members, segment: members[segment] + b"\0" * 50_000_000})
    if kind == "a file that is smaller than it says":
        return write(target, manifest, {**members, segment: members[segment][:-1]})
    if kind == "other contents of the same size":
        changed = bytes([members[segment][0] ^ 1]) + members[segment][1:]
        return write(target, manifest, {**members, segment: changed})
    if kind == "an empty file":
        target.write_bytes(b"")
        return target
    if kind == "not an archive":
        target.write_bytes(b"<html>Sign in</html>" * 1000)
        return target
    if kind == "a member that is encrypted":
        data = bytearray(archive.read_bytes())
        at = data.find(b"PK\1\2")
        while at >= 0:
            data[at + 8] |= 1
            at = data.find(b"PK\1\2", at + 4)
        target.write_bytes(data)
        return target
    if kind == "a member before the start of the file":
        data = bytearray(archive.read_bytes())
        # Each member is sought from where the directory says that it is itself.
        at = data.rfind(b"PK\5\6") + 16
        (offset,) = struct.unpack_from("<I", data, at)
        struct.pack_into("<I", data, at, offset + 100)
        target.write_bytes(data)
        return target
    # Signed, but with an index that is wrong: a build machine that was broken into, or a defect.
    if kind == "a segment of garbage":
        return with_members(archive, target, lambda them: them.update({segment: b"x" * 5000}))
    if kind == "a segment with a flipped bit":
        middle = len(members[segment]) // 2
        data = bytearray(members[segment])
        data[middle] ^= 4
        return with_members(archive, target, lambda them: them.update({segment: bytes(data)}))
    if kind == "no segment":

        def remove(them: dict[str, bytes]) -> None:
            del them[segment]

        return with_members(archive, target, remove)
    if kind == "a database of garbage":
        return with_members(archive, target, lambda them: them.update({database: b"x" * 5000}))
    if kind == "a database of other tables":
        return with_members(
            archive, target, lambda them: edited(them, "CREATE TABLE evil (x)", folder)
        )
    if kind == "a database with a trigger":
        trigger = "CREATE TRIGGER t AFTER INSERT ON name BEGIN DELETE FROM file; END"
        return with_members(archive, target, lambda them: edited(them, trigger, folder))
    if kind == "texts of other files":
        swap = "UPDATE file SET document=0 WHERE document<>0"
        return with_members(archive, target, lambda them: edited(them, swap, folder))
    if kind == "a database without checksums":
        plain = folder / "plain.db"
        connection = apsw.Connection(str(plain))
        connection.execute("CREATE TABLE owner (mark TEXT NOT NULL)").fetchall()
        connection.close()
        return with_members(
            archive, target, lambda them: them.update({database: plain.read_bytes()})
        )
    raise AssertionError(kind)


FORGERIES = """\
signed with another key
changed after it was signed
signature of the wrong form
another format
another version of Winnow
an unknown field
a manifest that is not JSON
a manifest without end
no manifest
a path that leaves the folder
an absolute path
no database
a file that its manifest does not name
a file that is missing
a file twice
a file that is larger than it says
a file that is smaller than it says
other contents of the same size
an empty file
not an archive
a member that is encrypted
a member before the start of the file
a segment of garbage
a segment with a flipped bit
no segment
a database of garbage
a database of other tables
a database with a trigger
texts of other files
a database without checksums""".splitlines()


@pytest.mark.parametrize("kind", FORGERIES)
def test_a_forged_archive_is_rejected_as_a_whole(
    exported: Exported, tmp_path: Path, kind: str
) -> None:
    archive = forged(kind, exported.archive, tmp_path / "forged.winnow", tmp_path)
    with pytest.raises(ArchiveRejected) as error:
        exported.pull(tmp_path / "bob", archive)
    assert str(error.value)
    state = tmp_path / "bob/state/winnow"
    assert [path for path in state.rglob("*") if path.suffix in (".db", ".seg")] == []
    assert not (state / "indexes").exists()
    assert not list(tmp_path.rglob("evil*"))


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_archive_is_rejected_or_its_contents_are_whole(
    exported: Exported, tmp_path: Path, seed: int
) -> None:
    """A flipped bit in a name's second copy or in a time changes nothing."""
    chance = random.Random(seed)
    data = bytearray(exported.archive.read_bytes())
    if seed % 4 == 0:
        del data[chance.randrange(len(data)) :]
    else:
        for _ in range(chance.choice((1, 1, 3, 100))):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    damaged = tmp_path / "damaged.winnow"
    damaged.write_bytes(data)
    home = tmp_path / "bob"
    try:
        found = pull(damaged, user_of(home), exported.variant, KEY, may_be_unsigned=False)
    except ArchiveRejected:
        assert not list((home / "state/winnow").rglob("*.seg"))
        return
    assert found.manifest == read(exported.archive)[0]
    assert seed % 4
    own = state_folder.existing(found.root, user_of(home))
    assert own is not None
    store = Store.open_existing(own, exported.variant, user_of(home))
    assert store is not None
    store.check()
    store.close()


async def test_what_is_wrong_is_said_with_the_place(
    make_workspace: MakeWorkspace, exported: Exported, tmp_path: Path
) -> None:
    workspace = make_workspace(exported.other, environment=environment(tmp_path / "bob"))
    with pytest.raises(ArchiveError, match=r"nowhere\.winnow: No such file or directory"):
        await pull_archives(workspace, [str(tmp_path / "nowhere.winnow")], no_progress)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ArchiveError, match=r"empty: no file there ends with \.winnow"):
        await pull_archives(workspace, [str(empty)], no_progress)
    found = pull_from(
        str(tmp_path), user_of(tmp_path / "bob"), exported.variant, {KEY_VARIABLE: KEY}, print
    )
    assert [one.is_new for one in found] == [True]


# --- index.source --------------------------------------------------------------------------


async def test_a_new_index_reuses_the_archives_of_the_settings_and_says_so(
    make_workspace: MakeWorkspace, exported: Exported, tmp_path: Path, read_files: list[str]
) -> None:
    from winnow.config import Config, IndexSettings

    config = Config(index=IndexSettings(source=(str(exported.archive),)))
    home = environment(tmp_path / "bob")
    read_files.clear()
    workspace = make_workspace(exported.other, config=config, environment=home)
    await workspace.index.build()
    assert read_files == ["data.bin"]
    commit = git(exported.origin, "rev-parse", "HEAD")[:12]
    [notice] = workspace.index.notices()
    assert f"the index reuses an archive of commit {commit} from {exported.archive}" in notice
    exported.archive.unlink()
    again = make_workspace(exported.other, config=config, environment=home)
    await again.index.build()
    assert again.index.notices() == []


async def test_an_archive_of_the_settings_that_cannot_be_used_is_reported_and_the_index_is_built(
    make_workspace: MakeWorkspace, exported: Exported, tmp_path: Path, read_files: list[str]
) -> None:
    from winnow.config import Config, IndexSettings

    config = Config(index=IndexSettings(source=(str(exported.archive),)))
    home = environment(tmp_path / "bob", "the key of other teams")
    read_files.clear()
    workspace = make_workspace(exported.other, config=config, environment=home)
    await workspace.index.build()
    assert sorted(read_files) == sorted(SOURCES)
    [notice] = workspace.index.notices()
    assert notice.startswith(f"index.source is not used: {exported.archive}: its signature")
    assert workspace.index.state().knows_all


def test_a_workspace_cannot_name_archives(tmp_path: Path) -> None:
    from winnow.frontends import config_files

    write_files(tmp_path, {"winnow.toml": '[index]\nsource = ["https://example.com/x"]\n'})
    config, problems = config_files.load(environment(tmp_path / "bob"), tmp_path)
    assert config.index.source == ()
    assert len(problems) == 1


@requires_posix
def test_a_fifo_is_rejected_and_a_symlink_is_followed(exported: Exported, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo.winnow"
    os.mkfifo(fifo)
    user, key = user_of(tmp_path / "bob"), {KEY_VARIABLE: KEY}
    with pytest.raises(ArchiveRejected, match="not a regular file"):
        pull_from(str(fifo), user, exported.variant, key, print)
    latest = tmp_path / "latest.winnow"
    latest.symlink_to(exported.archive)
    assert pull_from(str(latest), user, exported.variant, key, print)
