"""Scope: which folders and files a search covers, as arguments for ripgrep."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote_from_bytes

import msgspec
from msgspec import Struct

from winnow.config import OWN_FOLDER
from winnow.config.globs import InvalidGlob, escaped, glob_regex, name_pattern
from winnow.errors import InvalidParams, NotFound, NoWorkspace, PathOutsideWorkspace
from winnow.storage.paths import SYSTEM, is_below, real_path, shown_path
from winnow.storage.state_folder import state_root
from winnow.storage.untrusted import UnusableFile, read_untrusted
from winnow.text.paths import also_in, locate
from winnow.types import SearchParams

IGNORE_FILE = ".winnowignore"
# Of `.winnowignore` and `.gitmodules`; each line becomes a pattern that every path is held against.
MOST_LINES = 10_000
MODULES_FILE = ".gitmodules"
_SUBMODULE = re.compile(r"\s*path\s*=\s*(.+)$")
TYPE = "winnowinclude"  # the name under which ripgrep knows the patterns of `include`


class Rule(Struct, frozen=True):
    """A line of an ignore file; ``keeps`` if it takes an earlier one back."""

    pattern: re.Pattern[str]
    keeps: bool


class DisplayPath(Struct, frozen=True):
    """A path in a result: below the root, which is named where there are several, and as a URI
    where it cannot be shown as it is."""

    path: str
    root: str | None
    uri: str | None


class Scope(Struct, frozen=True):
    """What to search: ripgrep runs in ``root`` with ``arguments`` on ``paths``.

    ``roots`` are all roots that are searched, ``root`` the first of them; paths in results are
    relative to it, or absolute if they are below another one. What ripgrep cannot be told, since it
    would hold for the first root only or override ignore files, is checked by :meth:`covers`:
    ``include`` are patterns of which a path must match one, ``ignored`` the rules for each root.

    ``files`` confine the search to these, where ripgrep's arguments do not count (see
    :mod:`winnow.text.selection`). ``links`` are symlinks among the paths that are searched, each
    behind what it leads to; ``follows_links`` is True if symlinks are searched. ``warnings`` say
    what a reader should know of the scope. ``filters`` are the params it was made for.
    """

    roots: tuple[Path, ...]
    paths: tuple[str, ...]
    arguments: tuple[str, ...]
    include: tuple[re.Pattern[str], ...] = ()
    ignored: tuple[tuple[Rule, ...], ...] = ()
    files: tuple[str, ...] | None = None
    links: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    filters: SearchParams = SearchParams()
    follows_links: bool = False

    @property
    def is_filtered(self) -> bool:
        """True if a path, a glob or a file type restricts the scope."""
        filters = self.filters
        return bool(filters.path or filters.include or filters.exclude or filters.file_types)

    @property
    def root(self) -> Path:
        return self.roots[0]

    def covers(self, path: str) -> bool:
        """Whether a path, as ripgrep printed it but without `./`, is one that was asked for."""
        if self.include:
            below = self.locate(path)[1]
            if not any(pattern.fullmatch(below) for pattern in self.include):
                return False
        return not self.leaves_out(path)

    def leaves_out(self, path: str) -> bool:
        """Whether this is a file, or a folder with a slash behind it, that ripgrep could not be
        told to leave out."""
        if len(self.roots) == 1:
            return False
        # A root below another one is searched by itself, too: a file counts for the deepest.
        root, below = self.locate(path)
        whole = os.path.join(root, below)
        deeper = any(
            len(str(other)) > len(str(root)) and whole.startswith(f"{other}{os.sep}")
            for other in self.roots
        )
        return deeper or is_ignored(below, self.ignored[self.roots.index(root)])

    def covers_named(self, path: str, types: Sequence[re.Pattern[str]]) -> bool:
        """Whether a file that is named by itself is one that was asked for: what ripgrep sees to
        in a folder, ignore files of git and hidden names aside. ``types`` are the globs of the
        file types, of which one must match the name."""
        root, below = self.locate(path)
        if is_ignored(below, self.ignored[self.roots.index(root)]):
            return False
        name = below.rpartition("/")[2]
        return self.covers(path) and (not types or any(one.fullmatch(name) for one in types))

    def selects(self, place: int, below: str, types: Sequence[re.Pattern[str]]) -> bool:
        """Return True if a file below a root is in the scope; see :meth:`covers_named`."""
        path = self.prefix(place) + below
        return self.within_paths(place, below) and self.covers_named(path, types)

    def within_paths(self, place: int, below: str) -> bool:
        """Whether a path below a root is, or is below, the path that was asked for."""
        only = Path(self.paths[0]).as_posix() if place == 0 else "."
        return ".." not in below.split("/") and (
            only == "." or below == only or below.startswith(f"{only}/")
        )

    def shown(self, path: str) -> DisplayPath:
        """A path as ripgrep printed it, as results show it."""
        return shown_below(*self.locate(path), several=len(self.roots) > 1)

    def absolute(self, path: str) -> str:
        """A path as ripgrep printed it, absolute, with ``/``."""
        root, below = self.locate(path)
        return f"{root.as_posix().rstrip('/')}/{below}"

    def prefix(self, place: int) -> str:
        """What stands before a path below a root, in paths as ripgrep prints them."""
        return f"{self.roots[place]}{os.sep}" if place else ""

    def locate(self, path: str) -> tuple[Path, str]:
        """The root that holds a path as ripgrep printed it, and the path below that root."""
        if os.path.isabs(path):
            holding = [root for root in self.roots[1:] if path.startswith(f"{root}{os.sep}")]
            if holding:
                root = max(holding, key=lambda one: len(str(one)))
                return root, path[len(str(root)) + 1 :].replace(os.sep, "/")
        return self.root, path


def shown_below(root: Path, below: str, *, several: bool) -> DisplayPath:
    """A path below a root, which may be one of several, as results show it."""
    text, encoded = shown_path(below)
    named, changed = _shown_root(str(root))
    exact = None
    if encoded or changed:
        exact = f"{root.as_uri()}/{encoded or quote_from_bytes(os.fsencode(below))}"
    return DisplayPath(text, named if several else None, exact)


# One answer may have thousands of files of a root.
_shown_root = functools.lru_cache(16)(shown_path)


def is_ignored(below: str, rules: Sequence[Rule]) -> bool:
    """Whether the last rule for the path, or for a folder that holds it, ignores it."""
    parts = below.split("/")
    for count in range(1, len(parts) + 1):
        part = "/".join(parts[:count])
        last = next((rule for rule in reversed(rules) if rule.pattern.fullmatch(part)), None)
        if last and not last.keeps:
            return True
    return False


def ignore_rules(root: Path) -> Iterator[Rule]:
    """The rules of a root's own ignore file, for what ripgrep does not apply it to."""
    for line in _lines_of(root / IGNORE_FILE)[0]:
        pattern = line.strip()
        if pattern and not pattern.startswith("#"):
            with contextlib.suppress(InvalidGlob):
                yield Rule(glob_regex(pattern.removeprefix("!")), pattern.startswith("!"))


def unused_files(roots: Iterable[Path]) -> list[str]:
    """Return a warning for each file of the roots that Winnow reads itself, and does not use."""
    files = [root / name for root in roots for name in (IGNORE_FILE, MODULES_FILE)]
    problems = ((file.name, _lines_of(file)[1]) for file in files)
    return [f"not applied: {name}, {problem}" for name, problem in problems if problem]


def _lines_of(file: Path) -> tuple[list[str], str | None]:
    """Return the lines of a file of the repository, and why they are not used if they are not."""
    try:
        lines = read_untrusted(file).decode("utf-8", "replace").splitlines()
    except UnusableFile as error:
        return [], error.reason
    except OSError:
        return [], None
    if len(lines) > MOST_LINES:
        return [], f"it has more than {MOST_LINES:,} lines"
    return lines, None


def repository_root(folder: Path) -> Path:
    """The git working tree that holds the folder; outside of git, the nearest folder above that
    has an index, or the folder itself (REQ-KWS-002).

    ``.git`` is a file in worktrees and submodules.
    """
    for spelled in (str(folder), real_path(folder)):
        above, candidate = "", spelled
        while candidate != above:
            if os.path.lexists(os.path.join(candidate, ".git")):
                return Path(candidate)
            above, candidate = candidate, os.path.dirname(candidate)
    return state_root(folder) or folder


def joined(folder: str, path: str) -> str:
    """What ``os.path.join`` makes of a folder and the path of a file, in a quarter of the time: it
    is asked of thousands."""
    return path if os.path.isabs(path) else f"{folder}{os.sep}{path}"


def plain(path: str) -> str:
    """The path as results show it: without a leading `./`, with `/`."""
    if os.sep != "/":
        path = path.replace(os.sep, "/")
    return path.removeprefix("./")


def order(scope: Scope) -> Callable[[str], tuple[int, bytes]]:
    """The key by which files are ordered as ripgrep's ``--sort=path`` does: by the path that was
    asked for, then by name, folder by folder."""
    places = {plain(path): place for place, path in enumerate(scope.paths)}

    def key(path: str) -> tuple[int, bytes]:
        place = 0
        if len(places) > 1:
            end = len(path)
            while end > 0:
                place = max(place, places.get(path[:end], 0))
                end = path.rfind("/", 0, end)
        # NUL is in no name, and is less than anything that is.
        return place, os.fsencode(path).replace(b"/", b"\0")

    return key


def path_matcher(field: str, pattern: str, scope: Scope) -> Callable[[str], bool]:
    """Whether a path, as ripgrep printed it, matches a glob: seen from its root or from the path
    that was asked for. Raises InvalidParams, with the ``field``, and PathOutsideWorkspace."""
    pattern = pattern.removeprefix("./")
    if ".." in pattern.split("/"):
        raise PathOutsideWorkspace(pattern)
    try:
        # An absolute pattern, as seen from each root that it begins with.
        absolute = [
            (folder, glob_regex(pattern[len(folder) - 1 :]))
            for folder in (f"{root.as_posix().rstrip('/')}/" for root in scope.roots)
            if pattern.startswith(folder)
        ]
        regex = glob_regex(pattern)
    except InvalidGlob as error:
        raise InvalidParams(field, str(error)) from None
    asked = os.path.normpath(scope.paths[0]).replace(os.sep, "/") + "/"

    def matches(path: str) -> bool:
        root, below = scope.locate(path)
        whole = f"{root.as_posix().rstrip('/')}/{below}" if absolute else ""
        for folder, one in absolute:
            if whole.startswith(folder) and one.fullmatch(whole, len(folder)):
                return True
        if regex.fullmatch(below):
            return True
        return below.startswith(asked) and bool(regex.fullmatch(below[len(asked) :]))

    return matches


def search_roots(
    folders: Sequence[Path], is_refused: Callable[[Path], object] = lambda folder: False
) -> list[Path]:
    """The repositories of the folders, each once, without those that are gone. A folder whose
    repository ``is_refused`` counts by itself, as one below a home folder that is a repository.

    Raises NotFound if all folders are gone, and NoWorkspace.
    """
    distinct: dict[str, Path] = {}
    for folder in folders:
        root = repository_root(folder)
        root = folder if root != folder and is_refused(root) else root
        distinct.setdefault(real_path(root), root)
    roots = list(distinct.values())
    if not roots:
        raise NoWorkspace
    there = [root for root in roots if root.is_dir()]
    if not there:
        raise NotFound(shown_path(str(roots[0]))[0])
    return there


def search_scope(
    folders: Sequence[Path],
    params: SearchParams,
    exclude: Sequence[str] = (),
    unsaved: Sequence[Path] = (),
    roots: Sequence[Path] | None = None,
) -> Scope:
    """The scope of a search in the repositories of these folders, which are the ``roots``, if they
    are known.

    ``exclude`` are further globs to leave out, ``unsaved`` documents that need not be on disk.
    Raises NoWorkspace, NotFound, PathOutsideWorkspace and, for a bad glob, InvalidParams.
    """
    roots = list(search_roots(folders) if roots is None else roots)
    filters = params
    warnings = [
        f"not searched: {shown_path(str(folder))[0]}, a workspace folder that is gone"
        for folder in folders
        if not folder.is_dir()
    ]
    paths = [".", *map(str, roots[1:])]
    if params.path:
        located = locate(params.path, roots, unsaved)
        if not _searchable(located.real, unsaved):
            raise NotFound(params.path)
        if also_in(params.path, located, roots):
            warnings.append(
                f"{params.path} is in several workspace folders: that of {roots[located.place]} is"
                " meant; an absolute path says which"
            )
        roots = [roots[located.place]]
        paths = [located.below if located.below == "." else os.path.join(".", located.below)]
    left_out: list[list[str]] = [[] for _ in roots]
    if not params.include_submodules:
        left_out = [
            checked_out_submodules(root, paths[0] if params.path else ".") for root in roots
        ]
    if names := [name for some in left_out for name in some]:
        warnings.append(
            f"not searched: the submodules {', '.join(names[:5])}{' …' * (len(names) > 5)};"
            " pass include_submodules"
        )
    if exclude:
        warnings.append(f"not searched: what search.exclude names ({', '.join(exclude)[:200]})")
    params = msgspec.structs.replace(
        params,
        include=[_below_root("include", one, roots) for one in params.include],
        exclude=[_below_root("exclude", one, roots) for one in params.exclude],
    )
    excluded = [_glob("exclude", place, one) for place, one in enumerate(params.exclude)]
    hidden = [*exclude, *(f"/{escaped(name)}" for name in left_out[0]), *_system(roots[0])]
    arguments = _arguments(roots, params, hidden)
    include = tuple(_glob("include", place, one) for place, one in enumerate(params.include))
    rules = tuple(Rule(one, False) for one in (*map(glob_regex, exclude), *excluded))
    ignored = tuple(
        (
            *(() if params.include_ignored else ignore_rules(root)),
            *(Rule(glob_regex(f"/{escaped(name)}"), False) for name in names),
            *rules,
        )
        for root, names in zip(roots, left_out, strict=True)
    )
    return Scope(
        tuple(roots),
        tuple(paths),
        tuple(arguments),
        include,
        ignored,
        warnings=tuple(warnings),
        filters=filters,
    )


def checked_out_submodules(root: Path, path: str = ".") -> list[str]:
    """The submodules of a repository that are checked out below a path of it."""
    lines, _ = _lines_of(root / MODULES_FILE)
    wanted = os.path.normpath(path).replace(os.sep, "/")
    real = real_path(root)
    found = filter(None, map(_SUBMODULE.match, lines))
    names = [one[1].strip().strip('"').rstrip("/") for one in found]
    return [
        name
        for name in dict.fromkeys(names)
        if (wanted == "." or name.startswith(f"{wanted}/"))
        and os.path.lexists(root / name / ".git")
        and real_path(root / name) == f"{real}/{name}".replace("/", os.sep)
    ]


def _system(root: Path) -> list[str]:
    """The globs of the system's own folders below a root."""
    return [f"/{escaped(os.path.relpath(one, root))}" for one in SYSTEM if is_below(one, str(root))]


def _below_root(field: str, pattern: str, roots: Sequence[Path]) -> str:
    """A glob as ripgrep takes it, of one that begins with `./` or with a root. Raises InvalidParams
    for a negated one, which would turn the field into its opposite."""
    if pattern.startswith("!"):
        other = "exclude" if field == "include" else "include"
        raise InvalidParams(field, f"{pattern!r} is negated: use `{other}`")
    for root in roots:
        if pattern.startswith(f"{root}{os.sep}"):
            return pattern[len(str(root)) :].replace(os.sep, "/")
    return pattern.removeprefix(".") if pattern.startswith("./") else pattern


def _glob(field: str, place: int, pattern: str) -> re.Pattern[str]:
    try:
        return glob_regex(pattern)
    except InvalidGlob as error:
        raise InvalidParams(f"{field}[{place}]", str(error)) from None


def _arguments(roots: Sequence[Path], params: SearchParams, exclude: Sequence[str]) -> list[str]:
    # Not --glob for what to include: it overrides ignore files, as types do not.
    arguments = [f"--type-add={TYPE}:{name_pattern(pattern)}" for pattern in params.include]
    types = params.file_types or ([TYPE] if params.include else [])
    arguments += [f"--type={name}" for name in types]
    alone = len(roots) == 1
    if alone:  # for several roots, ripgrep would take what holds for the first
        arguments += [f"--glob=!{pattern}" for pattern in (*exclude, *params.exclude)]
    else:  # a root below another one would be searched twice
        nested = [
            one
            for one in roots
            if any(one != other and is_below(str(one), str(other)) for other in roots)
        ]
        arguments += [f"--glob=!**{escaped(one.as_posix())}" for one in nested]
    if params.include_hidden:
        arguments += ["--hidden", "--glob=!.git", f"--glob=!{OWN_FOLDER}"]
    elif types:
        # A file of a type that was asked for is searched even if it is hidden.
        arguments.append("--glob=!.*")
    if params.include_ignored:
        arguments.append("--no-ignore")
    elif alone and _lines_of(roots[0] / IGNORE_FILE)[0]:
        arguments.append(f"--ignore-file={roots[0] / IGNORE_FILE}")
    return arguments


def _searchable(path: str, unsaved: Sequence[Path]) -> bool:
    """Whether ripgrep may be given the path: it would wait for ever on a FIFO."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return any(real_path(one) == path for one in unsaved)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)
