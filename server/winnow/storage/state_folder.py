"""Find or create the folder for the state of a root, and decide whether to trust it.

A repository may contain a `.winnow` folder that answers every search as its author likes. So Winnow
marks each folder that it creates: the file `owner` in it holds a code (HMAC) of the folder's
identity under a secret of the user. A clone, a copy or an unpacked archive is a different folder,
for which only this user could compute the code; a moved folder keeps its mark. Single files of a
trusted folder can still be replaced, by `git checkout` for example: :func:`file_mark` returns a
similar code for a file, to be stored in that file and compared when it is opened.

An untrusted folder is neither read nor changed, and the state goes to the user's cache folder.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import hmac
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from winnow.storage.git_index import UnreadableIndex, is_tracked
from winnow.storage.identity import identities
from winnow.storage.paths import is_below, shown_path
from winnow.storage.secret import is_own, is_private, make_secret, read_secret
from winnow.storage.untrusted import read_untrusted
from winnow.storage.user_folders import state_folder, user_cache
from winnow.storage.writing import create_file, private_folder

# The folder of Winnow's own files in a workspace; no search covers it.
OWN_FOLDER = ".winnow"
FORMAT = "1"
MARK = "owner"
MARK_BYTES = 200
# A file in the cache with the path of the root.
ROOT = "root"
ROOT_BYTES = 64 * 1024
# The state of a deleted root is removed when nothing was created in it for this time: a drive may
# be mounted again.
GONE_SECONDS = 30 * 24 * 3600.0
# A folder in the user's state folder with an empty file for each notice that was shown.
SHOWN = "notices"
IGNORE = ".gitignore"
NEW = f"{OWN_FOLDER}-new-"
# A process creates its folder within some milliseconds.
LEFTOVER_SECONDS = 60.0
# Errors if writing is not allowed, as opposed to a full disk, which may have room again.
REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS)
# Entries of a folder that are searched for leftovers.
MAX_ENTRIES = 10_000

Location = Literal["workspace", "user"]


class User(Struct, frozen=True):
    """The owner of the state: the folder of the user's secret, the cache folder, and the setting
    `index.location`."""

    state: Path | None
    cache: Path | None
    location: Location = "workspace"

    @classmethod
    def of(cls, environment: Mapping[str, str], location: Location = "workspace") -> User:
        """Return the user whose environment this is."""
        return cls(state_folder(environment), user_cache(environment), location)


class StateFolder(Struct, frozen=True):
    """The folder for the state of a root, existing or not; None if there is no place for it.

    ``trusted`` is True if the folder exists and Winnow created it for this user. ``notice`` tells
    the user what is ignored, and why.
    """

    path: Path | None
    trusted: bool
    notice: str | None = None


def examine(root: Path, user: User | None = None) -> StateFolder:
    """Return where the state of a root is kept; creates nothing. ``user`` is by default the one who
    runs this process."""
    user = user or User.of(os.environ)
    elsewhere = _user_folder(root, user)
    at_user = StateFolder(elsewhere, elsewhere is not None and _is_user_state(root, user))
    if user.location == "user":
        return at_user
    own = root / OWN_FOLDER
    problem = _problem(root, user)
    if problem is None:
        return StateFolder(own, trusted=True)
    if os.path.lexists(own):
        notice = _notice(root, problem, has_cache=elsewhere is not None)
        return StateFolder(at_user.path, at_user.trusted, notice)
    # If the root cannot be written, an earlier process has used the cache.
    return at_user if at_user.trusted else StateFolder(own, trusted=False)


def existing(root: Path, user: User | None = None) -> Path | None:
    """Return the folder in which Winnow keeps the state of a root; None if it has none."""
    found = examine(root, user)
    return found.path if found.trusted else None


def create(root: Path, user: User | None = None) -> Path:
    """Return the folder for the state of a root, which exists and is trusted then.

    Raises OSError where there can be none.
    """
    user = user or User.of(os.environ)
    if user.location == "workspace":
        if _problem(root, user) is None:
            return root / OWN_FOLDER
        if not os.path.lexists(root / OWN_FOLDER) or _is_empty(root / OWN_FOLDER):
            with _refusals_ignored():
                _create_own(root, user)
        if _problem(root, user) is None:
            return root / OWN_FOLDER
    return _create_at_user(root, user)


def is_indexed(root: Path, user: User | None = None) -> bool:
    """Return True if a process has left an index of a root."""
    folder = existing(root, user)
    return folder is not None and any(folder.glob("index-*.db"))


def notices(roots: Iterable[Path], user: User | None = None) -> list[str]:
    """Return what people should know of the folders `.winnow` of some roots that are ignored."""
    found = [examine(root, user).notice for root in roots]
    return [notice for notice in found if notice is not None]


def new_notices(roots: Iterable[Path], user: User) -> list[str]:
    """Return the notices of :func:`notices` of roots for which no command has shown any yet."""
    found = [(root, examine(root, user).notice) for root in roots]
    return [notice for root, notice in found if notice is not None and _is_first(root, user)]


def _is_first(root: Path, user: User) -> bool:
    if user.state is None:
        return True
    folder = user.state / SHOWN
    digest = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()
    try:
        private_folder(folder)
        create_file(folder / digest[:32], b"")
    except FileExistsError:
        return False
    except OSError:
        return True
    return True


def file_mark(folder: Path, file: Path, user: User | None = None) -> str:
    """Return the code by which a file that Winnow created in a folder is recognized.

    It holds for this file only: not for a copy, and not for what `git checkout` writes in its
    place. Raises OSError if the file or the user's secret does not exist.
    """
    user = user or User.of(os.environ)
    secret = read_secret(user.state)
    if secret is None:
        raise FileNotFoundError("the user has no private secret")
    parts = (identities(folder)[0], os.fsencode(file.name), identities(file)[0])
    return _code(secret, b"file", *parts)


def mark_of(folder: Path, file: Path, user: User | None = None) -> str:
    """Return the mark of a file as :func:`file_mark` does; an empty one is created if need be."""
    user = user or User.of(os.environ)
    make_secret(user.state)
    with contextlib.suppress(FileExistsError):
        create_file(file, b"")
    return file_mark(folder, file, user)


def state_root(folder: Path, user: User | None = None) -> Path | None:
    """Return the folder or its nearest ancestor that has state; None if there is none.

    A home folder and its ancestors are never the root of their contents.
    """
    user = user or User.of(os.environ)
    home = os.path.realpath(os.path.expanduser("~"))
    for candidate in (folder, *folder.parents):
        real = os.path.realpath(candidate)
        if os.path.dirname(real) == real or is_below(home, real):
            return None
        if existing(candidate, user) is not None:
            return candidate
    return None


# --- trust ---------------------------------------------------------------------------------


def _problem(root: Path, user: User) -> str | None:
    """Return why the `.winnow` of a root is not trusted; None if it is."""
    folder = root / OWN_FOLDER
    # Most folders have none, and reading the secret takes longer.
    if not os.path.lexists(folder):
        return "it does not exist"
    problem = _unmarked(folder, read_secret(user.state), b"workspace")
    if problem is None:
        try:
            if is_tracked(root, OWN_FOLDER):
                problem = "git tracks files in it"
        except UnreadableIndex as error:
            problem = f"git's index cannot be read: {error}"
    return problem


def _unmarked(folder: Path, secret: bytes | None, *binding: bytes) -> str | None:
    """Return why a folder is not one that was created and marked for this user."""
    try:
        status = os.lstat(folder)
        if not stat.S_ISDIR(status.st_mode):
            return "it is not a folder"
        if not is_own(status):
            return "it belongs to another user"
        if not is_private(status):
            return "other users may write there"
        if secret is None:
            return "it was made by another user, or with another home folder"
        mark = read_untrusted(folder / MARK, MARK_BYTES)
        known = _marks(folder, secret, *binding)
    except FileNotFoundError:
        return "it has no mark"
    except OSError as error:
        return f"its mark cannot be read: {error}"
    if not any(hmac.compare_digest(mark, known_mark) for known_mark in known):
        return "it was copied from another folder, or made by another user"
    return None


def _marks(folder: Path, secret: bytes, *binding: bytes) -> list[bytes]:
    """Return the contents of the file `owner` for a folder, the one to write first."""
    return [
        f"{FORMAT} {_code(secret, b'folder', *binding, identity)}\n".encode("ascii")
        for identity in identities(folder)
    ]


def _code(secret: bytes, *parts: bytes) -> str:
    # No part contains a NUL: numbers, names, paths.
    message = b"\0".join((b"winnow", FORMAT.encode("ascii"), *parts))
    return hmac.digest(secret, message, hashlib.sha256).hex()


def _notice(root: Path, problem: str, *, has_cache: bool) -> str:
    shown = shown_path(str(root))[0]
    now = ", not in Winnow's cache" if has_cache else "; now it ends with this process"
    return f"{OWN_FOLDER} in {shown} is ignored: {problem}. Delete it to keep the index there{now}."


# --- in the workspace ----------------------------------------------------------------------


def _create_own(root: Path, user: User) -> None:
    """Create the `.winnow` folder of a root, completely or not at all. If another process was
    faster, its folder stays. Raises OSError."""
    secret = make_secret(user.state)
    place = root / OWN_FOLDER
    _remove_leftovers(root, secret)
    new = Path(tempfile.mkdtemp(prefix=NEW, dir=root))
    try:
        if not is_private(os.lstat(new)):
            raise PermissionError(errno.EACCES, "the file system keeps no owners or permissions")
        create_file(new / MARK, _first_mark(new, place, secret, b"workspace"))
        create_file(new / IGNORE, b"*\n", 0o644)
        os.rename(new, place)
    except OSError:
        _remove_new(new)
        if not os.path.lexists(place):
            raise


def _first_mark(new: Path, place: Path, secret: bytes, *binding: bytes) -> bytes:
    """Return the mark of a folder that is about to be renamed."""
    own = identities(new)[0]
    if own.startswith(b"path "):
        inode = own.split(b" ")[1]
        path = os.path.join(os.path.realpath(place.parent), place.name)
        own = b"path %s " % inode + os.fsencode(path)
    return f"{FORMAT} {_code(secret, b'folder', *binding, own)}\n".encode("ascii")


def _remove_leftovers(root: Path, secret: bytes) -> None:
    """Remove unfinished folders of processes that were killed."""
    with contextlib.suppress(OSError), os.scandir(root) as entries:
        names = [entry.name for _, entry in zip(range(MAX_ENTRIES), entries, strict=False)]
        for folder in [root / name for name in names if name.startswith(NEW)]:
            if _is_leftover(folder, root / OWN_FOLDER, secret):
                _remove_new(folder)


def _is_leftover(folder: Path, place: Path, secret: bytes) -> bool:
    """Return True if an old folder was created to become that at ``place``: a repository may bring
    some of such a name."""
    with contextlib.suppress(OSError):
        status = os.lstat(folder)
        is_old = status.st_mtime < time.time() - LEFTOVER_SECONDS
        if not (is_old and stat.S_ISDIR(status.st_mode) and is_own(status)):
            return False
        if not any(folder.iterdir()):
            return True
        mark = read_untrusted(folder / MARK, MARK_BYTES)
        return hmac.compare_digest(mark, _first_mark(folder, place, secret, b"workspace"))
    return False


def _remove_new(folder: Path) -> None:
    """Remove a folder that has only the files that this module puts into a new one."""
    with contextlib.suppress(OSError):
        if not {entry.name for entry in folder.iterdir()} <= {MARK, IGNORE}:
            return
        for name in (MARK, IGNORE):
            (folder / name).unlink(missing_ok=True)
        folder.rmdir()


def _is_empty(folder: Path) -> bool:
    """Return True if a path is an empty folder, which says nothing of who created it."""
    try:
        return not folder.is_symlink() and not any(folder.iterdir())
    except OSError:
        return False


@contextlib.contextmanager
def _refusals_ignored() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in REFUSED:
            raise


# --- in the user's cache folder ------------------------------------------------------------


def _user_folder(root: Path, user: User) -> Path | None:
    """Return where the state of a root is, or would be, in the user's cache folder."""
    if user.cache is None or user.state is None:
        return None
    digest = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()
    return user.cache / "winnow" / "index" / digest[:32]


def _binding(root: Path) -> tuple[bytes, bytes]:
    """Return what the mark of a folder in the cache says of its root."""
    real = os.path.realpath(root)
    return os.fsencode(real), b"%d" % os.stat(real).st_ino


def _is_user_state(root: Path, user: User) -> bool:
    folder = _user_folder(root, user)
    if folder is None or not folder.is_dir():
        return False
    try:
        return _unmarked(folder, read_secret(user.state), b"user", *_binding(root)) is None
    except OSError:
        return False


def _create_at_user(root: Path, user: User) -> Path:
    """Return the folder for the state of a root in the user's cache folder. Raises OSError."""
    folder = _user_folder(root, user)
    if folder is None:
        raise FileNotFoundError("there is no folder for the user's caches: HOME is not set")
    if _is_user_state(root, user):
        return folder
    secret = make_secret(user.state)
    _remove_gone(folder.parent)
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not is_private(os.stat(folder.parent)):
        raise PermissionError(f"other users may write in {folder.parent}")
    new = Path(tempfile.mkdtemp(prefix="new-", dir=folder.parent))
    try:
        create_file(new / MARK, _first_mark(new, folder, secret, b"user", *_binding(root)))
        create_file(new / ROOT, os.fsencode(os.path.realpath(root)))
        if not _is_user_state(root, user):
            _put_in_place(new, folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    if not _is_user_state(root, user):
        raise PermissionError(f"the file system of {folder} does not keep owners or permissions")
    return folder


def _remove_gone(parent: Path) -> None:
    """Remove the state in the cache of roots that were deleted long ago."""
    limit = time.time() - GONE_SECONDS
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        names = [entry.name for _, entry in zip(range(MAX_ENTRIES), entries, strict=False)]
        for folder in [parent / name for name in names]:
            with contextlib.suppress(OSError):
                root = os.fsdecode(read_untrusted(folder / ROOT, ROOT_BYTES))
                if os.lstat(folder).st_mtime < limit and not os.path.lexists(root):
                    shutil.rmtree(folder, ignore_errors=True)


def _put_in_place(new: Path, folder: Path) -> None:
    """Rename a folder to a name that the state of an earlier root may have."""
    if os.path.lexists(folder):
        with contextlib.suppress(OSError):  # another process does the same
            old = tempfile.mkdtemp(prefix="old-", dir=folder.parent)
            os.rename(folder, os.path.join(old, "state"))
            shutil.rmtree(old, ignore_errors=True)
    with contextlib.suppress(OSError):
        os.rename(new, folder)
