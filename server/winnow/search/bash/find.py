"""Check the arguments of find: paths, then an expression of tests and actions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from winnow.errors import NotAllowed
from winnow.search.bash.allowed_paths import AllowedPaths
from winnow.storage.paths import shown_path

_RUNS = "runs programs"
_WRITES = "writes files"
_FOLLOWS = "follows symlinks, which may lead out of the workspace"

_ALONE = frozenset(
    "( ) ! , -a -and -o -or -not -true -false -empty -print -print0 -ls -prune -quit -depth -mount"
    " -xdev -daystart -noleaf -warn -nowarn -ignore_readdir_race -noignore_readdir_race -nouser"
    " -nogroup -readable -writable -executable --help -help --version -version".split()
)
_WITH_TEXT = frozenset(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type -xtype"
    " -size -perm -user -group -uid -gid -mtime -mmin -atime -amin -ctime -cmin -used -links -inum"
    " -fstype -regextype -printf".split()
)
_WITH_NUMBER = frozenset(("-maxdepth", "-mindepth"))
_WITH_PATH = frozenset(("-newer", "-anewer", "-cnewer", "-samefile"))
_NEWER = re.compile(r"-newer[aBcm](?:(?P<path>[aBcm])|t)")
REFUSED = {
    "-exec": _RUNS,
    "-execdir": _RUNS,
    "-ok": _RUNS,
    "-okdir": _RUNS,
    "-delete": "deletes files",
    "-fprint": _WRITES,
    "-fprint0": _WRITES,
    "-fprintf": _WRITES,
    "-fls": _WRITES,
    "-files0-from": "reads its paths from a file, where they cannot be checked",
    "-f": "names paths, which must come first",
    "-follow": _FOLLOWS,
    "-L": _FOLLOWS,
    "-H": _FOLLOWS,
    "-D": "prints debug output, not files",
}


def read(words: Sequence[str], allowed: AllowedPaths) -> list[str]:
    """Return find's arguments. Raise NotAllowed for what is not read-only."""
    rest = list(words)
    while rest and rest[0] == "-P":  # never follows symlinks, the default
        rest.pop(0)
    paths = []
    while rest and not _begins_expression(rest[0]):
        allowed.check(rest[0])
        paths.append(rest.pop(0))
    arguments = paths or ["."]
    while rest:
        arguments += _part(rest, allowed)
    return arguments


def _begins_expression(word: str) -> bool:
    return word.startswith("-") or word in ("(", ")", "!", ",")


def _part(rest: list[str], allowed: AllowedPaths) -> list[str]:
    """Remove the next test, action or operator with its value from `rest`, and return it."""
    name = rest.pop(0)
    if name in _ALONE:
        return [name]
    newer = _NEWER.fullmatch(name)
    is_path = name in _WITH_PATH or (newer is not None and newer["path"] is not None)
    if not (is_path or newer or name in _WITH_TEXT or name in _WITH_NUMBER):
        raise NotAllowed(shown_path(name)[0], _why_not(name))
    if not rest:
        raise NotAllowed(name, "its value is missing")
    value = rest.pop(0)
    if is_path:
        allowed.check(value)
    if name in _WITH_NUMBER and not re.fullmatch(r"\d{1,7}", value):
        raise NotAllowed(shown_path(f"{name} {value}")[0], "it must be a number")
    return [name, value]


def _why_not(name: str) -> str:
    if name in REFUSED:
        return f"`find {name}` {REFUSED[name]}"
    if not _begins_expression(name):
        return "paths must come before tests; quote a pattern that is meant for find"
    return "it is not an allowed test or action of find"
