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

from winnow.config.globs import InvalidGlob, escaped, glob_regex, name_pattern
from winnow.errors import InvalidParams, NotFound, PathOutsideWorkspace
from winnow.storage.paths import SYSTEM, is_below, real_path, shown_path
from winnow.storage.state_folder import OWN_FOLDER
from winnow.storage.untrusted import UnusableFile, read_untrusted
from winnow.text.paths import is_in_later_root, lines_of_part, locate
from winnow.text.search_roots import search_roots
from winnow.types import InRepository

IGNORE_FILE = ".winnowignore"
# Of `.winnowignore` and `.gitmodules`. Each line becomes a pattern to match with every path.
MOST_LINES = 10_000
MODULES_FILE = ".gitmodules"
_SUBMODULE = re.compile(r"\s*path\s*=\s*(.+)$")
TYPE = "winnowinclude"  # ripgrep's name for the patterns of `include`


class Rule(Struct, frozen=True):
    """A line of an ignore file; ``keeps`` is True if it negates earlier lines."""

    pattern: re.Pattern[str]
    keeps: bool


class Filters(Struct, frozen=True):
    """The request for a scope: a file or folder, globs, ripgrep's file types, and the files to
    include that are excluded by default."""

    path: str = ""
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    file_types: Sequence[str] = ()
    include_ignored: bool = False
    include_hidden: bool = False
    include_submodules: bool = False


class Scope(Struct, frozen=True):
    """The files of a search: ripgrep runs in ``root`` with ``arguments`` on ``paths``.

    ``root`` is the first of all ``roots``. Paths in results are relative to it, or absolute below
    another root. :meth:`covers` checks what ripgrep's arguments cannot express, because they would
    apply to the first root only or override ignore files: a path must match a pattern of
    ``include``, if there are any, and must not match the rules of its root in ``ignored``.

    If ``files`` is given, it lists the files of the scope, and ripgrep's arguments do not count
    (see :mod:`winnow.text.selection`). ``lines`` are the first and the last line of a part of a
    file (`a.py:12-40`), to which `grep` is confined. ``links`` are pairs of a target and the
    symlink in ``paths`` that leads to it; ``follows_links`` is True if symlinks are searched.
    ``warnings`` are for the reader of results, ``filters`` the request for the scope.
    """

    roots: tuple[Path, ...]
    paths: tuple[str, ...]
    arguments: tuple[str, ...]
    include: tuple[re.Pattern[str], ...] = ()
    ignored: tuple[tuple[Rule, ...], ...] = ()
    files: tuple[str, ...] | None = None
    lines: tuple[int, int] | None = None
    links: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    filters: Filters = Filters()
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
        """Return True if a path is in the scope; it is as ripgrep prints it, without `./`."""
        if self.include:
            below = self.locate(path)[1]
            if not any(pattern.fullmatch(below) for pattern in self.include):
                return False
        return not self.excludes(path)

    def excludes(self, path: str) -> bool:
        """Return True if the scope excludes a file, or a folder with a trailing slash, that
        ripgrep's arguments could not exclude."""
        if len(self.roots) == 1:
            return False
        # A root below another one is a path of its own: a file belongs to the deepest root.
        root, below = self.locate(path)
        absolute = os.path.join(root, below)
        is_deeper = any(
            len(str(other)) > len(str(root)) and absolute.startswith(f"{other}{os.sep}")
            for other in self.roots
        )
        return is_deeper or is_ignored(below, self.ignored[self.roots.index(root)])

    def covers_file(self, path: str, types: Sequence[re.Pattern[str]]) -> bool:
        """Return True if a file that ripgrep gets by name is in the scope.

        ripgrep applies these rules only in folders, except git's ignore files and hidden names. The
        name must match a glob of ``types``, if there are any.
        """
        root, below = self.locate(path)
        if is_ignored(below, self.ignored[self.roots.index(root)]):
            return False
        name = below.rpartition("/")[2]
        return self.covers(path) and (not types or any(glob.fullmatch(name) for glob in types))

    def selects(self, place: int, below: str, types: Sequence[re.Pattern[str]]) -> bool:
        """Return True if a file below a root is in the scope; see :meth:`covers_file`."""
        path = self.prefix(place) + below
        return self.is_in_paths(place, below) and self.covers_file(path, types)

    def selector(self, types: Sequence[re.Pattern[str]]) -> Callable[[int, str], bool]:
        """Return :meth:`selects` for many files: the rules are applied to each folder once."""
        folders: dict[tuple[int, str], bool] = {}
        searched = [self._searched(place) for place in range(len(self.roots))]

        def is_ignored_in(place: int, below: str) -> bool:
            parent = below.rpartition("/")[0]
            if parent and (place, parent) not in folders:
                folders[place, parent] = is_ignored_in(place, parent)
            if parent and folders[place, parent]:
                return True
            return _is_ignored_itself(below, self.ignored[place])

        def selects(place: int, below: str) -> bool:
            return (
                not is_ignored_in(place, below)
                and _is_in(below, searched[place])
                and self.covers(self.prefix(place) + below)
                and (not types or any(glob.fullmatch(below.rpartition("/")[2]) for glob in types))
            )

        return selects

    def is_in_paths(self, place: int, below: str) -> bool:
        """Return True if a path below a root is the path of the request or is below it."""
        return _is_in(below, self._searched(place))

    def _searched(self, place: int) -> str:
        """Return the path of the request below a root."""
        return Path(self.paths[0]).as_posix() if place == 0 else "."

    def shown(self, path: str) -> InRepository:
        """Return a path as results show it."""
        return display_path(*self.locate(path), several=len(self.roots) > 1)

    def absolute(self, path: str) -> str:
        """Return the absolute path, with ``/``."""
        root, below = self.locate(path)
        return f"{root.as_posix().rstrip('/')}/{below}"

    def prefix(self, place: int) -> str:
        """Return the prefix of ripgrep's paths for a root: paths below the first have none."""
        return f"{self.roots[place]}{os.sep}" if place else ""

    def locate(self, path: str) -> tuple[Path, str]:
        """Return the root that contains a path as ripgrep prints it, and the path below it."""
        if os.path.isabs(path):
            roots = [root for root in self.roots[1:] if path.startswith(f"{root}{os.sep}")]
            if roots:
                root = max(roots, key=lambda root: len(str(root)))
                return root, path[len(str(root)) + 1 :].replace(os.sep, "/")
        return self.root, path


def display_path(root: Path, below: str, *, several: bool) -> InRepository:
    """Return a path below a root as results show it; ``several`` if there are other roots."""
    text, encoded = shown_path(below)
    named, changed = _shown_root(str(root))
    exact = None
    if encoded or changed:
        exact = f"{root.as_uri()}/{encoded or quote_from_bytes(os.fsencode(below))}"
    return InRepository(path=text, root=named if several else None, uri=exact)


# An answer may have thousands of files of a root.
_shown_root = functools.lru_cache(16)(shown_path)


def _is_in(below: str, folder: str) -> bool:
    return ".." not in below.split("/") and (
        folder == "." or below == folder or below.startswith(f"{folder}/")
    )


def is_ignored(below: str, rules: Sequence[Rule]) -> bool:
    """Return True if the last rule for the path, or for a parent folder, ignores it."""
    parts = below.split("/")
    return any(
        _is_ignored_itself("/".join(parts[:count]), rules) for count in range(1, len(parts) + 1)
    )


def _is_ignored_itself(below: str, rules: Sequence[Rule]) -> bool:
    last = next((rule for rule in reversed(rules) if rule.pattern.fullmatch(below)), None)
    return last is not None and not last.keeps


def ignore_rules(root: Path) -> Iterator[Rule]:
    """Yield the rules of a root's ignore file, for paths to which ripgrep does not apply it."""
    for line in _lines_of(root / IGNORE_FILE)[0]:
        pattern = line.strip()
        if pattern and not pattern.startswith("#"):
            with contextlib.suppress(InvalidGlob):
                yield Rule(glob_regex(pattern.removeprefix("!")), pattern.startswith("!"))


def unusable_file_warnings(roots: Iterable[Path]) -> list[str]:
    """Return a warning for each file of the roots that Winnow should read and cannot use."""
    files = [root / name for root in roots for name in (IGNORE_FILE, MODULES_FILE)]
    problems = ((file.name, _lines_of(file)[1]) for file in files)
    return [f"not applied: {name}, {problem}" for name, problem in problems if problem]


def _lines_of(file: Path) -> tuple[list[str], str | None]:
    """Return the lines of a file of the repository, and the reason if they cannot be used."""
    try:
        lines = read_untrusted(file).decode("utf-8", "replace").splitlines()
    except UnusableFile as error:
        return [], error.reason
    except OSError:
        return [], None
    if len(lines) > MOST_LINES:
        return [], f"it has more than {MOST_LINES:,} lines"
    return lines, None


def join_path(folder: str, path: str) -> str:
    """Join a folder and a file's path like ``os.path.join``, in a quarter of the time, because
    there are thousands."""
    return path if os.path.isabs(path) else f"{folder}{os.sep}{path}"


def clean_path(path: str) -> str:
    """Return the path as results show it: without a leading `./`, with `/`."""
    if os.sep != "/":
        path = path.replace(os.sep, "/")
    return path.removeprefix("./")


def path_order(scope: Scope) -> Callable[[str], tuple[int, bytes]]:
    """Return a sort key that orders files like ripgrep's ``--sort=path``: by the paths of the
    scope, then folder by folder and name by name."""
    places = {clean_path(path): place for place, path in enumerate(scope.paths)}

    def key(path: str) -> tuple[int, bytes]:
        place = 0
        if len(places) > 1:
            end = len(path)
            while end > 0:
                place = max(place, places.get(path[:end], 0))
                end = path.rfind("/", 0, end)
        # NUL occurs in no name, and is less than any other character.
        return place, os.fsencode(path).replace(b"/", b"\0")

    return key


def path_matcher(field: str, pattern: str, scope: Scope) -> Callable[[str], bool]:
    """Return a function that matches paths with a glob, as seen from their root or from the path
    of the request. Raises InvalidParams for the ``field``, and PathOutsideWorkspace."""
    pattern = pattern.removeprefix("./")
    if ".." in pattern.split("/"):
        raise PathOutsideWorkspace(pattern)
    try:
        # An absolute pattern, relative to each root that it starts with.
        absolute = [
            (folder, glob_regex(pattern[len(folder) - 1 :]))
            for folder in (f"{root.as_posix().rstrip('/')}/" for root in scope.roots)
            if pattern.startswith(folder)
        ]
        regex = glob_regex(pattern)
    except InvalidGlob as error:
        raise InvalidParams(field, str(error)) from None
    start = os.path.normpath(scope.paths[0]).replace(os.sep, "/") + "/"

    def matches(path: str) -> bool:
        root, below = scope.locate(path)
        full = f"{root.as_posix().rstrip('/')}/{below}" if absolute else ""
        for folder, glob in absolute:
            if full.startswith(folder) and glob.fullmatch(full, len(folder)):
                return True
        if regex.fullmatch(below):
            return True
        return below.startswith(start) and bool(regex.fullmatch(below[len(start) :]))

    return matches


def search_scope(
    folders: Sequence[Path],
    filters: Filters,
    exclude: Sequence[str] = (),
    unsaved: Sequence[Path] = (),
    roots: Sequence[Path] | None = None,
    further: Sequence[Path] = (),
) -> Scope:
    """Return the scope of a search in the repositories of these folders.

    ``exclude`` are further globs, ``unsaved`` documents that need not be on disk. ``roots`` are the
    repositories, if the caller has them. ``further`` are roots after these, of which the path of
    the filters excludes nothing. Raises NoWorkspace, NotFound, PathOutsideWorkspace and,
    for an invalid glob, InvalidParams.
    """
    roots = list(search_roots(folders) if roots is None else roots)
    warnings: list[str] = []
    paths = [".", *map(str, roots[1:])]
    lines = None
    if filters.path:
        located = locate(filters.path, roots, unsaved)
        if not _searchable(located.real, unsaved):
            raise NotFound(filters.path)
        if is_in_later_root(filters.path, located, roots):
            warnings.append(
                f"{filters.path} is in several workspace folders: searched in"
                f" {roots[located.place]}; pass an absolute path to choose"
            )
        lines = lines_of_part(located)
        roots = [roots[located.place]]
        paths = [located.below if located.below == "." else os.path.join(".", located.below)]
    roots = [*roots, *further]
    paths += map(str, further)
    left_out: list[list[str]] = [[] for _ in roots]
    if not filters.include_submodules:
        left_out = [
            checked_out_submodules(root, paths[0] if filters.path and root == roots[0] else ".")
            for root in roots
        ]
    if names := [name for submodules in left_out for name in submodules]:
        warnings.append(
            f"not searched: the submodules {', '.join(names[:5])}{' …' * (len(names) > 5)};"
            " `grep` with include_submodules searches them"
        )
    if exclude:
        warnings.append(f"not searched: files in search.exclude ({', '.join(exclude)[:200]})")
    below = msgspec.structs.replace(
        filters,
        include=[_below_root("include", pattern, roots) for pattern in filters.include],
        exclude=[_below_root("exclude", pattern, roots) for pattern in filters.exclude],
    )
    excluded = [_glob("exclude", place, glob) for place, glob in enumerate(below.exclude)]
    hidden = [*exclude, *(f"/{escaped(name)}" for name in left_out[0]), *_system(roots[0])]
    arguments = _arguments(roots, below, hidden)
    include = tuple(_glob("include", place, glob) for place, glob in enumerate(below.include))
    rules = tuple(Rule(glob, False) for glob in (*map(glob_regex, exclude), *excluded))
    ignored = tuple(
        (
            *(() if filters.include_ignored else ignore_rules(root)),
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
        lines=lines,
        warnings=tuple(warnings),
        filters=filters,
    )


def checked_out_submodules(root: Path, path: str = ".") -> list[str]:
    """Return the submodules of a repository that are checked out below a path."""
    lines, _ = _lines_of(root / MODULES_FILE)
    folder = os.path.normpath(path).replace(os.sep, "/")
    real = real_path(root)
    found = filter(None, map(_SUBMODULE.match, lines))
    names = [match[1].strip().strip('"').rstrip("/") for match in found]
    return [
        name
        for name in dict.fromkeys(names)
        if (folder == "." or name.startswith(f"{folder}/"))
        and os.path.lexists(root / name / ".git")
        and real_path(root / name) == f"{real}/{name}".replace("/", os.sep)
    ]


def _system(root: Path) -> list[str]:
    """Return globs of the system's own folders below a root."""
    folders = [folder for folder in SYSTEM if is_below(folder, str(root))]
    return [f"/{escaped(os.path.relpath(folder, root))}" for folder in folders]


def _below_root(field: str, pattern: str, roots: Sequence[Path]) -> str:
    """Return a glob that starts with `./` or a root in ripgrep's form. Raises InvalidParams for a
    negated glob, which would turn the field into its opposite."""
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


def _arguments(roots: Sequence[Path], filters: Filters, exclude: Sequence[str]) -> list[str]:
    # `--glob` would override ignore files, file types do not.
    arguments = [f"--type-add={TYPE}:{name_pattern(pattern)}" for pattern in filters.include]
    types = filters.file_types or ([TYPE] if filters.include else [])
    arguments += [f"--type={name}" for name in types]
    alone = len(roots) == 1
    if alone:  # with several roots, ripgrep would apply globs of the first to all
        arguments += [f"--glob=!{pattern}" for pattern in (*exclude, *filters.exclude)]
    else:  # ripgrep would search a root below another one twice
        nested = [
            root
            for root in roots
            if any(root != other and is_below(str(root), str(other)) for other in roots)
        ]
        arguments += [f"--glob=!**{escaped(root.as_posix())}" for root in nested]
    if filters.include_hidden:
        arguments += ["--hidden", "--glob=!.git", f"--glob=!{OWN_FOLDER}"]
    elif types:
        # ripgrep searches a file of a requested type even if it is hidden.
        arguments.append("--glob=!.*")
    if filters.include_ignored:
        arguments.append("--no-ignore")
    elif alone and _lines_of(roots[0] / IGNORE_FILE)[0]:
        arguments.append(f"--ignore-file={roots[0] / IGNORE_FILE}")
    return arguments


def _searchable(path: str, unsaved: Sequence[Path]) -> bool:
    """Return True if ripgrep can search the path: it would wait forever for a FIFO."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return any(real_path(document) == path for document in unsaved)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)
