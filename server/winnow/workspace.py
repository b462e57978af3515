"""The workspace: open folders, configuration, and what lives as long as they do."""

from __future__ import annotations

import asyncio
import functools
import importlib
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from winnow.config import Config
from winnow.errors import RootRefused, SearchError
from winnow.index.untracked_files import Unindexed
from winnow.processes.children import Processes
from winnow.processes.programs import InstalledPrograms
from winnow.ranking.models import Models
from winnow.ranking.providers.editor import AskEditor
from winnow.storage.paths import shown_path
from winnow.storage.state_folder import User
from winnow.storage.user_folders import cache_folder
from winnow.text.ignore_files import IgnoreFiles
from winnow.text.links import with_links
from winnow.text.ripgrep import Ripgrep
from winnow.text.ripgrep import environment as rg_environment
from winnow.text.roots import is_indexable, refusal
from winnow.text.scope import Scope, search_roots, search_scope, unused_files
from winnow.text.selection import Selector
from winnow.types import FileParams, ScopeParams, SearchParams

if TYPE_CHECKING:
    from winnow.documents.library.library import Library, Reporting
    from winnow.index.index import Index
    from winnow.index.postings.corpus import Corpus
    from winnow.index.symbol_names import NameTables
    from winnow.processes.sandbox import ReadablePath
    from winnow.ranking.history.learning import Learning

# Listing the files of a large tree on a cold disk; nobody waits for it.
LIST_SECONDS = 60.0


def below(root: Path, paths: Iterable[Path]) -> list[str]:
    """Of some files, those below a folder, as seen from there."""
    return [path.relative_to(root).as_posix() for path in paths if path.is_relative_to(root)]


def _derive(corpus: Corpus) -> None:
    """Derive what all searches of a corpus share."""
    from winnow.ranking.semantic.search import derive

    derive(corpus)


class SearchSlots(asyncio.Semaphore):
    """Bounds how many searches run at once.

    ``ready`` is awaited when a search has its turn: a front end whose client takes no answers holds
    the search back there, before it has made another one.
    """

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.ready: Callable[[], Awaitable[None]] | None = None

    async def acquire(self) -> Literal[True]:
        """Wait for a turn."""
        await super().acquire()
        try:
            if self.ready is not None:
                await self.ready()
        except BaseException:
            self.release()
            raise
        return True


class Workspace:
    """Folders and the state of the engine for them; made inside a running event loop.

    ``environment`` is where keys are looked up and what children inherit.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        config: Config | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.folders = list(folders)
        self.environment = dict(os.environ if environment is None else environment)
        self.config = config or Config()
        # The text of open documents, by path; whoever knows the editor keeps it up to date.
        self.buffers: Mapping[Path, str] = {}
        self.ignore_files = IgnoreFiles(self.roots, self.environment)
        self.processes = Processes(self.config.limits.processes, self._readable)
        # More searches at once would all be slower, and the server slow to answer anything else.
        self.search_slots = SearchSlots(self.config.limits.searches)
        # A pipeline may take long: it keeps others of its kind waiting, and no searches.
        self.pipelines = asyncio.Semaphore(1)
        # So may a search of documents.
        self.document_slots = asyncio.Semaphore(3)
        # What searches by the index have listed besides.
        self.unindexed = Unindexed()
        # Whom to tell of documents that are read in the background.
        self.reporting: Reporting | None = None
        # How an index is begun in the background, perhaps with consent to whatever it takes; None
        # where nothing goes on behind an answer.
        self.start_indexing: Callable[[bool], None] | None = None
        self._opening: asyncio.Task[None] | None = None
        self._ask_editor: AskEditor | None = None
        self.models = self._models()
        self._retired: list[Models] = []

    def reconfigure(self, config: Config) -> None:
        """Go on with another configuration; requests under way keep theirs."""
        if (config.llm, config.search.secrets) != (self.config.llm, self.config.search.secrets):
            self._retired.append(self.models)
            self.config = config
            self.models = self._models()
        self.config = config

    def offer_model(self, ask_editor: AskEditor) -> None:
        """Take the editor's own model among those that rank."""
        self._ask_editor = ask_editor
        self._retired.append(self.models)
        self.models = self._models()

    def _models(self) -> Models:
        rules = self.config.search.secrets
        return Models(self.config.llm, self.environment, self._ask_editor, self.roots, rules)

    def roots(self) -> list[Path]:
        """The repositories of the folders; none where no folder is open."""
        try:
            return self.search_roots()
        except SearchError:
            return []

    @property
    def user(self) -> User:
        """Whose state is kept, and where."""
        return User.of(self.environment, self.config.index.location)

    def search_roots(self, folders: Sequence[Path] | None = None) -> list[Path]:
        """The repositories that are searched, of the open folders or of some others.

        Raises NoWorkspace, RootRefused where only folders are open that are not to be searched as a
        whole, and NotFound where all are gone.
        """
        folders = self.folders if folders is None else folders
        allowed = [folder for folder in folders if not self.refusal(folder)]
        if folders and not allowed:
            first = folders[0]
            raise RootRefused(shown_path(str(first))[0], self.refusal(first))
        return search_roots(allowed, self.refusal)

    @property
    def has_no_folder(self) -> bool:
        """Whether no folder is open that may be searched, there or not."""
        return all(map(self.refusal, self.folders))

    def refusal(self, folder: Path) -> str:
        """Why a folder is not searched as a whole, as a predicate; empty if it is."""
        if self.config.workspace.allow_home_root:
            return ""
        return refusal(folder, self.environment)

    def _readable(self) -> Iterable[ReadablePath]:
        """Return what programs that search may read."""
        from winnow.text.readable_files import readable

        return readable(self.roots(), self.environment)

    def scope(self, params: ScopeParams) -> Scope:
        """What a search with these params covers."""
        if not isinstance(params, SearchParams):
            params = SearchParams(
                path=params.path,
                include=params.include,
                exclude=params.exclude,
                file_types=params.file_types,
            )
        roots = self.search_roots()
        scope = search_scope(
            self.folders, params, self.config.search.exclude, list(self.buffers), roots
        )
        refused = [shown_path(str(one))[0] for one in self.folders if self.refusal(one)]
        warnings = [f"not searched: {one}, see workspace.allow_home_root" for one in refused]
        if not params.include_ignored:
            warnings += self.ignore_warnings(scope.roots)
        return msgspec.structs.replace(scope, warnings=(*scope.warnings, *warnings))

    def ignore_warnings(self, roots: Iterable[Path]) -> list[str]:
        """Return a warning for each ignore file that is not applied in searches of these roots."""
        return [*unused_files(roots), *self.ignore_files.warnings()]

    @property
    def ripgrep(self) -> str:
        """The ripgrep program; raises ProgramNotInstalled."""
        return self.installed.ripgrep(self.config.programs.rg)

    @property
    def installed(self) -> InstalledPrograms:
        """The programs of this machine, outside of the folders that are searched now. A home folder
        that is open and not searched may well hold some."""
        searched = [folder for folder in self.folders if not self.refusal(folder)]
        return InstalledPrograms(self.environment, [*searched, *self.roots()])

    async def narrow_scope(self, scope: Scope, params: FileParams, ripgrep: Ripgrep) -> Scope:
        """The scope as `scope` and `follow_symlinks` of the params change it."""
        if params.scope != "workspace":
            return await Selector(ripgrep, self.installed, self.buffers).select(scope, params)
        if params.follow_symlinks:
            return await with_links(ripgrep, scope, params.include_hidden)
        return scope

    def run_ripgrep(self, seconds: float | None = None) -> Ripgrep:
        """How ripgrep is run for a request that begins now, and may take so long; raises
        ProgramNotInstalled."""
        seconds = seconds or self.config.limits.search_seconds
        installed = self.installed
        return Ripgrep(
            processes=self.processes,
            program=installed.ripgrep(self.config.programs.rg),
            environment=rg_environment(installed.inherited()),
            deadline=asyncio.get_running_loop().time() + seconds,
            seconds=seconds,
            ignore_files=self.ignore_files,
        )

    @functools.cached_property
    def index(self) -> Index:
        """The index of symbols; loaded when it is first used."""
        from winnow.index.index import Index

        return Index(
            self.processes,
            self.environment,
            config=lambda: self.config,
            folders=lambda: self.folders,
            ripgrep=lambda: self.run_ripgrep(LIST_SECONDS),
            ordered=self._in_order,
            prepare=self._prepare,
            derive=_derive,
            roots_of=self.search_roots,
        )

    def opening(self) -> asyncio.Task[None]:
        """The task that opens what earlier processes have left of the index; see
        :meth:`Index.open`."""
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._open())
        return self._opening

    async def _open(self) -> None:
        if not self.has_index:  # numpy takes time to load, and the loop has others to serve
            await asyncio.to_thread(importlib.import_module, "winnow.index.index")
        await self.index.open()

    def _prepare(self) -> None:
        """Load what searches of the index need."""
        importlib.import_module("winnow.index.corpus")
        from winnow.index.vectors.embeddings import model_at
        from winnow.ranking.semantic.search import load

        load(model_at(self.config.index.embeddings).model)

    async def _in_order(self, root: Path, paths: Sequence[str]) -> list[str]:
        """Files of a folder in the order in which they are to be indexed."""
        from winnow.index.build import index_order

        installed = self.installed
        git = installed.located("git")
        return index_order.ordered(
            paths,
            open_documents=below(root, self.buffers),
            touched=await index_order.touched_lately(
                root, self.processes, git, installed.inherited()
            ),
            asked=below(root, map(Path, await self.learning.asked())),
        )

    @property
    def has_index(self) -> bool:
        """Whether anybody has used the index yet."""
        return "index" in self.__dict__

    @functools.cached_property
    def names(self) -> NameTables:
        """The names of all definitions in the index, in memory."""
        from winnow.index.symbol_names import NameTables

        return NameTables()

    @functools.cached_property
    def library(self) -> Library:
        """The texts of documents; loaded when they are first used."""
        from winnow.documents.library.library import Library

        return Library(
            self.processes,
            self.environment,
            config=lambda: self.config,
            folder=cache_folder(self.environment, "documents"),
            reporting=self.reporting,
        )

    @functools.cached_property
    def learning(self) -> Learning:
        """What is learned of searches; loaded when the first one is answered."""
        from winnow.ranking.history.learning import Learning

        return Learning(
            root=self._learning_root,
            enabled=lambda: self.config.learning.enabled,
            masked=self._masked,
            user=lambda: self.user,
        )

    def _masked(self, query: str) -> str:
        """A query as it may be kept."""
        from winnow.privacy.secrets import masked

        if not self.config.index.enable_sensitive_filtering:
            return query
        raw = query.encode("utf-8", "replace")
        return masked(raw, self.config.secret_rules)[0].decode("utf-8", "replace")

    def _learning_root(self) -> Path | None:
        """The folder in which it is kept: the first one; nothing is left where no index is made
        either, as in a home folder, or in /tmp, which would be the root of all that is in there."""
        root = next(iter(self.roots()), None)
        return root if root is not None and is_indexable(root, self.environment) else None

    def files_changed(self, paths: Iterable[str | Path]) -> None:
        """Take note that files were changed, made or removed: the one door for all who know."""
        if self.has_index:
            self.index.files_changed(paths)

    @property
    def ripgrep_environment(self) -> dict[str, str]:
        return rg_environment(self.installed.inherited())

    def sharing(self, folder: Path, config: Config) -> Workspace:
        """A workspace of another folder with this one's processes, turns and models; to be closed
        with :meth:`close_shared`."""
        other = Workspace([folder], config, self.environment)
        other.processes, other.search_slots, other.models = self.processes, self.search_slots, self.models
        return other

    async def close_shared(self) -> None:
        """End what a workspace has that shares the rest with another one."""
        self.ignore_files.close()
        if self.has_index:
            await self.index.aclose()

    async def aclose(self) -> None:
        """End children and connections."""
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait({self._opening})
        self.processes.close()
        self.ignore_files.close()
        if "learning" in self.__dict__:
            await self.learning.aclose()
        if self.has_index:
            await self.index.aclose()
        if "library" in self.__dict__:
            await self.library.aclose()
        for models in (*self._retired, self.models):
            await models.aclose()
