"""The names under which the uses of a symbol are searched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from winnow.symbols.file_symbols import Numbers
from winnow.symbols.resolve.names import Name, Target, exported
from winnow.symbols.resolve.session import ResolverFile, Session
from winnow.symbols.scopes import projects
from winnow.symbols.view import IMPORT_OF

DEFAULT = "default"
# The names of files that an import leaves out.
FRONTS = frozenset(("index", "main", "mod", "lib"))


class SearchedNames:
    """The names to search for: the symbol's own, and aliases given by imports."""

    def __init__(self, session: Session, name: str) -> None:
        self._session = session
        # The files to search, by name; None means all.
        self._files: dict[str, set[str] | None] = {name: None}
        self._todo = [name]
        self._seen: set[tuple[str, int]] = set()
        # Files that may export a target as their default, and what to read for its uses.
        self._checked: set[str] = set()
        self._of_default: dict[str, None] = {}

    def __iter__(self) -> Iterator[str]:
        while self._todo:
            yield self._todo.pop(0)

    def add_renamed(self, file: ResolverFile, name: str, at: int) -> None:
        """Add the alias that an import or export at this offset gives."""
        for alias in file.scope_table.imports:
            if alias.at == at and alias.local != name and alias.name in (name, DEFAULT):
                self._add(alias.local, None if alias.exported and alias.scope == 0 else file.path)

    def uses(self, name: str, path: str | None) -> Iterator[tuple[ResolverFile, Iterable[Numbers]]]:
        """Yield the files that contain a name, with its occurrences; only ``path``, if given."""
        only = self._files[name] if path is None else {path}
        read = self._of_default if name == DEFAULT else ()
        for file, numbers in self._session.uses(name, [*read]):
            if only is None or file.path in only:
                yield file, numbers

    def is_new(self, file: ResolverFile, at: int) -> bool:
        place = (file.path, at)
        if place in self._seen:
            return False
        self._seen.add(place)
        return True

    def add_defaults(self, targets: Iterable[Target]) -> None:
        """Also search for `default` if the file of a target exports it under that name."""
        for target in targets:
            file = self._session.file(target.path) if isinstance(target, Name) else None
            if file is not None:
                self.add_default(file, [target])

    def add_default(self, file: ResolverFile, targets: Iterable[Target]) -> None:
        """Also search for `default` if a file exports a target under that name.

        Nearly every file of JavaScript imports a default. Those that import this one name its file,
        except by the name of a folder or a package.
        """
        if file.path in self._checked or not file.rules.renames:
            return
        self._checked.add(file.path)
        if not set(targets).isdisjoint(exported(self._session, file.path, DEFAULT)):
            read = self._read_for_default(file.path)
            self._of_default[read] = None
            self._session.searched[read] = None
            self._add(DEFAULT)

    def _add(self, name: str, path: str | None = None) -> None:
        paths = self._files.get(name, set())
        if paths is None or (path is not None and path in paths):
            return
        self._files[name] = None if path is None else {*paths, path}
        if name not in self._todo:
            self._todo.append(name)

    def _read_for_default(self, path: str) -> str:
        """Return what to read for the files that import the default export of a file."""
        stem = path.rpartition("/")[2].partition(".")[0]
        if stem in FRONTS or projects.may_be_alias(self._session.view, stem):
            return DEFAULT
        return f"{IMPORT_OF}{stem}"
