"""The workspace: open folders, open documents, configuration and their state."""

from __future__ import annotations

import asyncio
import contextlib
import enum
import functools
import importlib
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from winnow.config import Config
from winnow.index.untracked_files import UntrackedFilesCache
from winnow.processes.children import Processes
from winnow.processes.programs import InstalledPrograms
from winnow.ranking.models import Models
from winnow.ranking.providers.editor import AskEditor
from winnow.storage.state_folder import User
from winnow.storage.user_folders import cache_folder
from winnow.text.ignore_files import IgnoreFiles
from winnow.text.links import with_links
from winnow.text.paths import shown_folder
from winnow.text.ripgrep import Ripgrep
from winnow.text.ripgrep import environment as rg_environment
from winnow.text.roots import is_indexable, refusal
from winnow.text.scope import Filters, Scope, search_scope, unusable_file_warnings
from winnow.text.search_roots import SearchRoots
from winnow.text.selection import Selector, file_type_globs

if TYPE_CHECKING:
    from winnow.documents.library.library import DocumentLibrary, Reporting
    from winnow.index.commits.git_log import ReadCommits
    from winnow.index.postings.corpus import Corpus
    from winnow.index.symbol_names import NameTables
    from winnow.index.workspace_index import WorkspaceIndex
    from winnow.processes.sandbox import ReadablePath
    from winnow.ranking.history.history import SearchHistory
    from winnow.symbols.resolve.resolver_cache import ResolverCache

# Time limit for listing the files of a large tree on a cold disk, which happens in the background.
LIST_SECONDS = 60.0
# How long ripgrep's place and environment stay known. To find them takes over a millisecond, and a
# request asks for them several times.
FOUND_SECONDS = 1.0
# Document searches that run at once.
DOCUMENT_SEARCHES = 3

StartIndexing = Callable[[bool], "asyncio.Task[Any] | None"]


def below(root: Path, paths: Iterable[Path]) -> list[str]:
    """Return the paths that are below a folder, relative to it."""
    return [path.relative_to(root).as_posix() for path in paths if path.is_relative_to(root)]


def _derive(corpus: Corpus) -> None:
    """Compute the data that all searches of a corpus share."""
    from winnow.ranking.semantic.search import derive

    derive(corpus)


class Lifetime(enum.Enum):
    """The lifetime of a workspace, and whether it works between requests."""

    SERVER = "server"  # a session with a client: the index is built in the background
    COMMAND = "command"  # one call or a few: nothing runs after the result is returned


class _FoundRipgrep(NamedTuple):
    """Where ripgrep is and its environment, ``until`` then and for these settings."""

    program: str
    environment: Mapping[str, str]
    depends_on: object
    until: float


class SearchSlots(asyncio.Semaphore):
    """Limits the number of searches that run at once.

    `ready` is awaited before a search gets its slot. A front end whose client does not read its
    answers waits there, so that no further answer is computed.
    """

    def __init__(self, count: int, ready: Callable[[], Awaitable[None]] | None = None) -> None:
        super().__init__(count)
        self._ready = ready

    async def acquire(self) -> Literal[True]:
        """Wait for a slot."""
        await super().acquire()
        try:
            if self._ready is not None:
                await self._ready()
        except BaseException:
            self.release()
            raise
        return True


class EngineWorkspace:
    """The open folders and the engine's state for them; created inside a running event loop.

    :class:`winnow.frontends.python.Workspace` is the Python API to one.

    `environment` supplies API keys and is inherited by child processes. The other arguments come
    from the front end of a client:

    - `open_documents` returns the text of the open documents, by path.
    - `index_seconds` is how long a search of a command waits for the index that it has begun, in
      seconds; None for no limit. The search of a server never waits.
    - `ask_editor` sends a request to the editor's own language model.
    - `client_ready` waits until the client reads its answers, see `SearchSlots`.
    - `report_reading` reports the progress of documents that are read in the background.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        config: Config | None = None,
        environment: Mapping[str, str] | None = None,
        *,
        lifetime: Lifetime = Lifetime.COMMAND,
        open_documents: Callable[[], Mapping[Path, str]] = dict,
        index_seconds: float | None = None,
        ask_editor: AskEditor | None = None,
        client_ready: Callable[[], Awaitable[None]] | None = None,
        report_reading: Reporting | None = None,
    ) -> None:
        self.folders = list(folders)
        self.environment = dict(os.environ if environment is None else environment)
        self.config = config or Config()
        self.lifetime = lifetime
        self.open_documents = open_documents
        self.index_seconds = index_seconds
        self._start_indexing: StartIndexing | None = None
        self._indexing: asyncio.Task[Any] | None = None
        self._roots = SearchRoots(self.refusal)
        self.ignore_files = IgnoreFiles(self.roots, self.environment)
        self._also_readable: set[Path] = set()
        self.processes = Processes(self.config.limits.processes, self._readable)
        # More searches at once would slow each other down, and delay every other answer.
        self.search_slots = SearchSlots(self.config.limits.searches, client_ready)
        # Pipelines and document searches may take long: they wait for each other, not for searches.
        self.pipelines = asyncio.Semaphore(1)
        self.document_slots = asyncio.Semaphore(DOCUMENT_SEARCHES)
        # Files that searches list because the index excludes them.
        self.unindexed = UntrackedFilesCache()
        self._report_reading = report_reading
        self._ask_editor = ask_editor
        self._ripgrep: _FoundRipgrep | None = None
        self._opening: asyncio.Task[None] | None = None
        self.models = self._models()
        self._retired: list[Models] = []

    @property
    def buffers(self) -> Mapping[Path, str]:
        """The current text of the open documents, by path."""
        return self.open_documents()

    def change_folders(self, added: Iterable[Path], removed: Iterable[Path]) -> None:
        """Open and close folders."""
        gone = set(removed)
        remaining = [folder for folder in self.folders if folder not in gone]
        self.folders = list(dict.fromkeys([*remaining, *added]))

    def reconfigure(self, config: Config) -> None:
        """Change the configuration for later requests; running requests keep theirs."""
        if (config.llm, config.search.secrets) != (self.config.llm, self.config.search.secrets):
            self._retired.append(self.models)
            self.config = config
            self.models = self._models()
        self.config = config
        self._roots.forget()

    def _models(self) -> Models:
        rules = self.config.search.secrets
        return Models(self.config.llm, self.environment, self._ask_editor, self.roots, rules)

    def roots(self) -> list[Path]:
        """Return the repositories of the open folders, or an empty list if none can be searched."""
        return self._roots.existing(self.folders)

    @property
    def user(self) -> User:
        """The user whose state is stored, and where."""
        return User.of(self.environment, self.config.index.location)

    def search_roots(self, folders: Sequence[Path] | None = None) -> list[Path]:
        """Return the repositories to search: those of the open folders, or of `folders`.

        Raise NoWorkspace if no folder is open, RootRefused if none of them may be searched, and
        NotFound if none exists.
        """
        return self._roots.required(self.folders if folders is None else folders)

    @property
    def shown_root(self) -> str:
        """The first root, as answers show it. Raises as :meth:`search_roots` does."""
        return shown_folder(self.search_roots()[0])

    @property
    def has_no_folder(self) -> bool:
        """True if no open folder may be searched, whether or not it exists."""
        return all(map(self.refusal, self.folders))

    def refusal(self, folder: Path) -> str:
        """Return why a folder may not be searched, such as "is a home folder"; "" if it may be."""
        if self.config.workspace.allow_home_root:
            return ""
        return refusal(folder, self.environment)

    def _readable(self) -> Iterable[ReadablePath]:
        """Return the files and folders that sandboxed programs may read."""
        from winnow.text.readable_files import readable

        return readable([*self.roots(), *self._also_readable], self.environment)

    @contextlib.contextmanager
    def readable_meanwhile(self, folder: Path) -> Iterator[None]:
        """Let sandboxed programs read a folder of Winnow's own during the block."""
        self._also_readable.add(folder)
        try:
            yield
        finally:
            self._also_readable.remove(folder)

    def scope(self, filters: Filters, further: Sequence[Path] = ()) -> Scope:
        """Return the files that a search with these filters covers, and those of ``further``
        folders."""
        roots = self.search_roots()
        scope = search_scope(
            self.folders, filters, self.config.search.exclude, list(self.buffers), roots, further
        )
        warnings = [] if filters.path else self.unsearched_folders()
        if not filters.include_ignored:
            warnings += self.ignore_warnings(scope.roots)
        return msgspec.structs.replace(scope, warnings=(*scope.warnings, *warnings))

    def unsearched_folders(self) -> list[str]:
        """Return a warning for each open folder that searches leave out."""
        found = []
        for folder in self.folders:
            if self.refusal(folder):
                reason = "see workspace.allow_home_root"
            elif not folder.is_dir():
                reason = f"which {'is a file' if folder.exists() else 'does not exist'}"
            else:
                continue
            found.append(f"not searched: the workspace folder {shown_folder(folder)}, {reason}")
        return found

    def ignore_warnings(self, roots: Iterable[Path]) -> list[str]:
        """Return a warning for each ignore file that searches of these roots do not apply."""
        return [*unusable_file_warnings(roots), *self.ignore_files.warnings()]

    @property
    def ripgrep(self) -> str:
        """The path of ripgrep. Raises ProgramNotInstalled."""
        return self.installed.ripgrep(self.config.programs.rg)

    @property
    def installed(self) -> InstalledPrograms:
        """The programs on this machine, except those in folders that are searched.

        Programs below a home folder that is open but not searched may run.
        """
        searched = [folder for folder in self.folders if not self.refusal(folder)]
        return InstalledPrograms(self.environment, [*searched, *self.roots()])

    async def narrow_scope(
        self,
        scope: Scope,
        ripgrep: Ripgrep,
        *,
        files: Literal["workspace", "changed", "open"],
        follow_symlinks: bool,
    ) -> Scope:
        """Confine a scope to changed or open files, or extend it to the targets of symlinks.

        Raises InvalidParams for an unknown file type.
        """
        if files != "workspace":
            return await Selector(ripgrep, self.installed, self.buffers).select(scope, files)
        # ripgrep's own error would not suggest a type.
        await file_type_globs(ripgrep, scope.root, scope.filters.file_types)
        if follow_symlinks:
            return await with_links(ripgrep, scope, scope.filters.include_hidden)
        return scope

    def run_ripgrep(self, seconds: float | None = None) -> Ripgrep:
        """Return ripgrep with the deadline of a request that starts now.

        `seconds` defaults to `limits.search_seconds`. Raise ProgramNotInstalled.
        """
        seconds = seconds or self.config.limits.search_seconds
        program, environment = self._found_ripgrep()
        return Ripgrep(
            processes=self.processes,
            program=program,
            environment=environment,
            deadline=asyncio.get_running_loop().time() + seconds,
            seconds=seconds,
            ignore_files=self.ignore_files,
        )

    def _found_ripgrep(self) -> tuple[str, Mapping[str, str]]:
        """Return the path of ripgrep and the environment for it, as they were a moment ago. Raise
        ProgramNotInstalled."""
        setting = self.config.programs.rg
        depends_on = (setting, self.config.workspace, tuple(self.folders), dict(self.environment))
        known, now = self._ripgrep, time.monotonic()
        if known is None or known.depends_on != depends_on or now > known.until:
            installed = self.installed
            program = installed.ripgrep(setting)
            environment = rg_environment(installed.inherited_environment())
            known = _FoundRipgrep(program, environment, depends_on, now + FOUND_SECONDS)
            self._ripgrep = known
        return known.program, known.environment

    @functools.cached_property
    def index(self) -> WorkspaceIndex:
        """The index, loaded on first use."""
        from winnow.index.workspace_index import WorkspaceIndex

        return WorkspaceIndex(
            self.processes,
            self.environment,
            config=lambda: self.config,
            folders=lambda: self.folders,
            ripgrep=lambda: self.run_ripgrep(LIST_SECONDS),
            ordered=self._in_order,
            commits=self._read_commits,
            prepare=self._prepare,
            derive=_derive,
            roots_of=self.search_roots,
            has_begun=lambda: self.has_begun_index,
        )

    def index_in_background(self, start: StartIndexing) -> None:
        """Let `start` build the index from now on; without this, nothing runs in the background.

        It returns the task, or None if there is no need for one. Its argument is True if the user
        has consented to an index of any size.
        """
        self._start_indexing = start

    def start_indexing(self, consent: bool) -> asyncio.Task[Any] | None:
        """Build the index in the background. Return the task; None if none is needed.

        With `consent`, also index folders that are not indexed by default.
        """
        started = self._start_indexing(consent) if self._start_indexing else None
        if started is not None:
            self.record_build(started)
        return started

    def record_build(self, building: asyncio.Task[Any]) -> None:
        """Record that a search has begun the index, which this task builds."""
        self._indexing = building

    @property
    def has_background(self) -> bool:
        """True if work can continue in the background after an answer."""
        return self._start_indexing is not None

    @property
    def has_begun_index(self) -> bool:
        """True if a search has begun the index, and this or a later process completes it: the build
        is running, or was canceled when the search had waited for it."""
        if self.is_indexing:
            return True
        # A server cancels a build only to delete the index.
        is_canceled = self._indexing is not None and self._indexing.cancelled()
        return is_canceled and self.lifetime is not Lifetime.SERVER

    @property
    def is_indexing(self) -> bool:
        """True while a build that a search has started in the background is running."""
        return self._indexing is not None and not self._indexing.done()

    def opening(self) -> asyncio.Task[None]:
        """Return the task that opens the index on disk, see :meth:`WorkspaceIndex.open`."""
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._open())
        return self._opening

    async def _open(self) -> None:
        if not self.has_index:  # importing numpy would block the event loop
            await asyncio.to_thread(importlib.import_module, "winnow.index.workspace_index")
        await self.index.open()

    def _prepare(self) -> None:
        """Import the modules that index searches need."""
        importlib.import_module("winnow.index.corpus")
        from winnow.index.vectors.embeddings import load_model
        from winnow.ranking.semantic.search import load

        load(load_model(self.config.index.embeddings))

    async def _in_order(self, root: Path, paths: Sequence[str]) -> list[str]:
        """Sort the files of a folder in the order in which they are to be indexed."""
        from winnow.index.builder import index_order

        installed = self.installed
        git = installed.which("git")
        return index_order.in_index_order(
            paths,
            open_documents=below(root, self.buffers),
            touched=await index_order.touched_lately(
                root, self.processes, git, installed.inherited_environment()
            ),
            searched=below(root, map(Path, await self.history.useful_files())),
        )

    async def _read_commits(self, root: Path, known: Set[bytes]) -> ReadCommits | None:
        """Read the commits of a folder that are not ``known``; None if git fails."""
        from winnow.index.commits.git_log import read_commits

        installed = self.installed
        git, environment = installed.which("git"), installed.inherited_environment()
        return await read_commits(root, known, self.processes, git, environment)

    @property
    def has_index(self) -> bool:
        """True once the index has been used."""
        return "index" in self.__dict__

    @functools.cached_property
    def names(self) -> NameTables:
        """The in-memory table of all definition names in the index."""
        from winnow.index.symbol_names import NameTables

        return NameTables()

    @functools.cached_property
    def resolvers(self) -> ResolverCache:
        """The cache of what requests for symbols have resolved."""
        from winnow.symbols.resolve.resolver_cache import ResolverCache

        return ResolverCache()

    @functools.cached_property
    def library(self) -> DocumentLibrary:
        """The cache of extracted document texts, loaded on first use."""
        from winnow.documents.library.library import DocumentLibrary

        return DocumentLibrary(
            self.processes,
            self.environment,
            settings=lambda: self.config.documents,
            folder=cache_folder(self.environment, "documents"),
            reporting=self._report_reading,
        )

    @functools.cached_property
    def history(self) -> SearchHistory:
        """The search history, loaded on first use."""
        from winnow.ranking.history.history import SearchHistory

        return SearchHistory(
            root=self._history_root,
            enabled=lambda: self.config.learning.enabled,
            secret_rules=self._secret_rules,
            user=lambda: self.user,
        )

    def _secret_rules(self) -> Sequence[str] | None:
        """Return the added patterns of secrets; None if secrets are stored."""
        config = self.config
        return config.secret_rules if config.index.enable_sensitive_filtering else None

    def _history_root(self) -> Path | None:
        """Return the folder that stores the search history: the first root.

        Return None where no index is built either, such as a home folder or /tmp.
        """
        root = next(iter(self.roots()), None)
        return root if root is not None and is_indexable(root, self.environment) else None

    def files_changed(self, paths: Iterable[str | Path]) -> None:
        """Report that files were created, changed or deleted: the single entry point for this."""
        if "resolvers" in self.__dict__:
            self.resolvers.clear()
        if self.has_index:
            self.index.files_changed(paths)

    def sharing(self, folder: Path, config: Config) -> EngineWorkspace:
        """Return a workspace of another folder that shares this one's processes, slots and models.

        Close it with :meth:`close_shared`.
        """
        other = EngineWorkspace([folder], config, self.environment)
        other.processes, other.models = self.processes, self.models
        other.search_slots = self.search_slots
        return other

    async def close_shared(self) -> None:
        """Close a workspace made by :meth:`sharing`, without the shared parts."""
        self.ignore_files.close()
        if self.has_index:
            await self.index.aclose()

    async def aclose(self) -> None:
        """Stop child processes and close the index, the models and all files."""
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait({self._opening})
        if self.has_index:
            self.index.expect_end()
        self.processes.close()
        self.ignore_files.close()
        if "history" in self.__dict__:
            await self.history.aclose()
        if self.has_index:
            await self.index.aclose()
        if "library" in self.__dict__:
            await self.library.aclose()
        for models in (*self._retired, self.models):
            await models.aclose()
